"""Defines the commands of `graphtide bench`. An option that takes several values takes them separated by commas."""

# No deferred annotations here: typer reads them when a command runs.
from pathlib import Path
from typing import Annotated

import typer

from graphtide_bench.algebra.command import algebra_command
from graphtide_bench.frame.arguments import Markdown, running, wide_console
from graphtide_bench.frame.compare import compare as compare_reports
from graphtide_bench.frame.report import read
from graphtide_bench.planning.command import adaptation_command, selectivity_command
from graphtide_bench.scaling.command import scaling_command
from graphtide_bench.simulation.command import simulation_command
from graphtide_bench.statistics.command import statistics_command
from graphtide_bench.subgraphs.command import (
    concurrency_command,
    from_scratch_command,
    many_command,
    memory_command,
    subgraph_command,
)

app = typer.Typer(
    help="Measure the engines over seeded workloads; every run checks its matches.", no_args_is_help=True, rich_markup_mode=None
)
app.command("adaptation")(adaptation_command)
app.command("selectivity")(selectivity_command)
app.command("from-scratch")(from_scratch_command)
app.command("statistics")(statistics_command)
app.command("scaling")(scaling_command)
app.command("simulation")(simulation_command)
app.command("algebra")(algebra_command)
app.command("subgraph")(subgraph_command)
app.command("memory")(memory_command)
app.command("many")(many_command)
app.command("concurrency")(concurrency_command)


@app.command("compare")
def compare_command(
    before: Annotated[Path, typer.Argument(help="A JSON file of an earlier run.")],
    after: Annotated[Path, typer.Argument(help="A JSON file of a later run.")],
    markdown: Markdown = None,
) -> None:
    """Compare two runs."""
    with running():
        earlier, later = read(before), read(after)
        table = compare_reports(earlier, later)
    console = wide_console()
    console.print(table.to_rich())
    console.print(f"before: {earlier.machine}\nafter:  {later.machine}", highlight=False)
    if markdown is not None:
        markdown.write_text(f"Before: {earlier.machine}\n\nAfter: {later.machine}\n\n{table.to_markdown()}", encoding="utf-8")
