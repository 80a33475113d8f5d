"""Defines `graphtide bench simulation`."""

# No deferred annotations here: typer reads them when a command runs.
from pathlib import Path
from typing import Annotated

import typer
from graphtide.plot import to_svg

from graphtide_bench.frame.arguments import Markdown, Output, Repeats, hand_out, known_names, running, split
from graphtide_bench.frame.report import Report
from graphtide_bench.simulation import charts
from graphtide_bench.simulation import runs as cases
from graphtide_bench.simulation.experiments import BY_NAME
from graphtide_bench.simulation.tables import SIMULATION

_ALL = ",".join(BY_NAME)


def simulation_command(
    *,
    experiment: Annotated[str, typer.Option("--experiment", help=f"Figures of paper 000, and others: any of {_ALL}.")] = _ALL,
    records: Annotated[int | None, typer.Option("--records", min=1_000, help="Of each stream; its own if not given.")] = None,
    repeats: Repeats = 3,
    patience: Annotated[float, typer.Option("--patience", min=0.0, help="Seconds after which a run ends.")] = 1.0,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the charts as SVG.")] = None,
    output: Output = None,
    markdown: Markdown = None,
) -> None:
    """Match components under dual simulation, as the paper's experiments do."""
    chosen = [BY_NAME[name] for name in known_names(split(experiment), BY_NAME, "--experiment")]
    with running() as progress:
        runs = cases.run(chosen, records=records, repeats=repeats, patience=patience, progress=progress)
        report = Report.of("simulation", cases.check(runs), (SIMULATION, runs))
    if plot is not None:
        plot.write_text(to_svg(charts.charts(runs)), encoding="utf-8")
    hand_out(report, output, markdown)
