"""Defines the commands of `graphtide bench` that match subgraph patterns."""

# No deferred annotations here: typer reads them when a command runs.
from pathlib import Path
from typing import Annotated

import typer
from graphtide_core.plans import SjTreeStrategy, Storage

from graphtide_bench.frame.arguments import (
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
from graphtide_bench.frame.report import Report
from graphtide_bench.subgraphs import concurrency as on_threads
from graphtide_bench.subgraphs import from_scratch, known
from graphtide_bench.subgraphs import many as at_once
from graphtide_bench.subgraphs import memory as in_memory
from graphtide_bench.subgraphs import single as subgraph
from graphtide_bench.subgraphs.measurement import PATTERNS, STORAGES, THREADS
from graphtide_bench.subgraphs.summary import by_pattern
from graphtide_bench.workloads.cache import DEFAULT_CACHE
from graphtide_bench.workloads.passes import SOURCES
from graphtide_bench.workloads.workload import WORKLOADS

_STORAGES = tuple(storage.value for storage in Storage)


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
    settings = subgraph.RunMatrix(
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
        report = Report.of("subgraph", known.check(found), (PATTERNS, found))
    if details:
        wide_console().print(by_pattern(found).to_rich())
    hand_out(report, output, markdown)


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
        report = Report.of("memory", checked, (in_memory.RESIDENT, resident), (STORAGES, storages))
    hand_out(report, output, markdown)


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
        report = Report.of("many", at_once.check(runs), (at_once.MANY, runs))
    hand_out(report, output, markdown)


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
        report = Report.of("concurrency", known.check(found), (THREADS, found))
    hand_out(report, output, markdown)


def from_scratch_command(
    *,
    edges: Annotated[int, typer.Option("--edges", min=1, help="Of the stream.")] = 1_000,
    window: Annotated[int, typer.Option("--window", min=1, help="Of the patterns, in ticks.")] = 150,
    size: Annotated[str, typer.Option("--size", help="Edges of the patterns.")] = "3,4",
    repeats: Repeats = 3,
    output: Output = None,
    markdown: Markdown = None,
    cache: Cache = Path(DEFAULT_CACHE),
) -> None:
    """Compare with VF2 of networkx, run anew on the window after every edge."""
    sizes = numbers(size, "--size")
    with running() as progress:
        runs = from_scratch.run(from_scratch.small(edges, window), sizes, repeats, cache, progress)
        report = Report.of("from-scratch", from_scratch.check(runs), (from_scratch.FROM_SCRATCH, runs))
    hand_out(report, output, markdown)
