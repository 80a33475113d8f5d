"""Defines the commands of `graphtide bench`. An option that takes several values takes them separated by commas."""

# No deferred annotations here: typer reads them when a command runs.
from pathlib import Path
from typing import Annotated

import typer
from graphtide_core.plans import SjTreeStrategy, Storage

from graphtide_bench import concurrency as on_threads
from graphtide_bench import known, subgraph
from graphtide_bench import many as at_once
from graphtide_bench import memory as in_memory
from graphtide_bench.algebra.command import algebra_command
from graphtide_bench.arguments import (
    ALL_ENGINES,
    WITH_AUTO,
    Cache,
    Engines,
    Markdown,
    Output,
    Repeats,
    hand_out,
    known_names,
    numbers,
    running,
    split,
    wide_console,
)
from graphtide_bench.cache import DEFAULT_CACHE
from graphtide_bench.compare import compare as compare_reports
from graphtide_bench.measure import SOURCES
from graphtide_bench.papers_cli import adaptation_command, from_scratch_command, selectivity_command, statistics_command
from graphtide_bench.report import Report, read, this_machine
from graphtide_bench.scaling_cli import scaling_command
from graphtide_bench.simulation.command import simulation_command
from graphtide_bench.summary import by_pattern
from graphtide_bench.workload import WORKLOADS

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

_STORAGES = tuple(storage.value for storage in Storage)


@app.command("subgraph")
def subgraph_command(
    *,
    workload: Annotated[str, typer.Option("--workload", help=f"Streams: any of {','.join(WORKLOADS)}.")] = "B",
    window: Annotated[str, typer.Option("--window", help="Windows in ticks; the workload's own if not given.")] = "",
    drawn_from: Annotated[
        int | None, typer.Option("--drawn-from", min=1, help="Edges to draw patterns from; as many as the window if not given.")
    ] = None,
    engine: Engines = ALL_ENGINES,
    storage: Annotated[str, typer.Option("--storage", help=f"Any of {','.join(_STORAGES)}.")] = Storage.MS_DAG.value,
    pattern: Annotated[str, typer.Option("--pattern", help="Only patterns with one of these in their names.")] = "",
    repeats: Repeats = 3,
    output: Output = None,
    markdown: Markdown = None,
    with_reader: Annotated[
        bool, typer.Option("--with-reader", help="Also read the stream, as CSV and Arrow, in the time.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Every workload, window, engine, storage and strategy.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Stream B, window 20,000, one run.")] = False,
    details: Annotated[bool, typer.Option("--details", help="Show every pattern too.")] = False,
    cache: Cache = Path(DEFAULT_CACHE),
) -> None:
    """Match one pattern at a time."""
    names, windows, engines, storages = split(workload), numbers(window, "--window"), split(engine), split(storage)
    if everything:
        names, windows, engines, storages = tuple(WORKLOADS), (), WITH_AUTO, _STORAGES
    if quick:
        names, windows, repeats = ("B",), (20_000,), 1
    settings = subgraph.Settings(
        workloads=tuple(WORKLOADS[name] for name in known_names(names, WORKLOADS, "--workload")),
        cache=cache,
        windows=windows,
        drawn_from=drawn_from,
        engines=known_names(engines, WITH_AUTO, "--engine"),
        storages=tuple(Storage(name) for name in known_names(storages, _STORAGES, "--storage")),
        strategies=tuple(SjTreeStrategy) if everything else (None,),
        sources=SOURCES if with_reader else SOURCES[:1],
        pattern=split(pattern),
        repeats=repeats,
    )
    with running() as progress:
        found = subgraph.run(settings, progress)
        if not found:
            message = f"no pattern has {pattern!r} in its name"
            raise typer.BadParameter(message, param_hint="--pattern")
        report = Report("subgraph", this_machine(), known.check(found), measurements=found)
    if details:
        wide_console().print(by_pattern(found).to_rich())
    hand_out(report, output, markdown)


@app.command("memory")
def memory_command(
    *,
    edges: Annotated[str, typer.Option("--edges", help="Lengths of stream E.")] = "200000,1000000",
    engine: Engines = ALL_ENGINES,
    repeats: Repeats = 3,
    output: Output = None,
    markdown: Markdown = None,
    cache: Cache = Path(DEFAULT_CACHE),
) -> None:
    """Measure resident memory as the stream gets longer, and the state of each storage."""
    lengths, engines = numbers(edges, "--edges"), known_names(split(engine), WITH_AUTO, "--engine")
    with running() as progress:
        resident = in_memory.resident(lengths, engines, cache, progress=progress)
        storages = in_memory.storages(repeats, cache, progress)
        checked = f"{in_memory.check(resident)} {known.check(storages)}"
        report = Report("memory", this_machine(), checked, measurements=storages, resident=resident)
    hand_out(report, output, markdown)


@app.command("many")
def many_command(
    *,
    patterns: Annotated[str, typer.Option("--patterns", help="How many patterns in one pass.")] = "1,1000,10000",
    engine: Engines = ALL_ENGINES,
    repeats: Repeats = 3,
    output: Output = None,
    markdown: Markdown = None,
    cache: Cache = Path(DEFAULT_CACHE),
) -> None:
    """Match many patterns in one pass."""
    sizes, engines = numbers(patterns, "--patterns"), known_names(split(engine), WITH_AUTO, "--engine")
    with running() as progress:
        runs = at_once.run(sizes, engines, repeats, cache, progress)
        report = Report("many", this_machine(), at_once.check(runs), many=runs)
    hand_out(report, output, markdown)


@app.command("concurrency")
def concurrency_command(
    *,
    threads: Annotated[str, typer.Option("--threads", help="Numbers of threads.")] = "1,2,4",
    pattern: Annotated[str, typer.Option("--pattern", help="Only patterns with one of these in their names.")] = ",".join(
        on_threads.PATTERNS
    ),
    repeats: Repeats = 3,
    output: Output = None,
    markdown: Markdown = None,
    cache: Cache = Path(DEFAULT_CACHE),
) -> None:
    """Match one pattern on several threads."""
    counts = numbers(threads, "--threads")
    with running() as progress:
        found = on_threads.run(counts, split(pattern), repeats, cache, progress)
        report = Report("concurrency", this_machine(), known.check(found), measurements=found)
    hand_out(report, output, markdown)


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
