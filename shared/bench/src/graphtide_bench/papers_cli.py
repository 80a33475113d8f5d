"""Defines the commands that measure what the papers claim: selectivity, change of the stream, statistics."""

# No deferred annotations here: typer reads them when a command runs.
from pathlib import Path
from typing import Annotated

import typer
from graphtide.plot import to_svg

from graphtide_bench import adaptation, contrast, counting, figures, from_scratch, selectivity
from graphtide_bench.arguments import Cache, Markdown, Output, Repeats, hand_out, known_names, numbers, running, split
from graphtide_bench.cache import DEFAULT_CACHE
from graphtide_bench.report import Report, this_machine
from graphtide_bench.workload import FLOWS, SWAPPING, TYPED, WORKLOADS

_TYPED = {workload.name: workload for workload in (FLOWS, TYPED)}
_GENERATED_RECORDS = 50_000


def adaptation_command(
    *,
    edges: Annotated[int, typer.Option("--edges", min=16, help="Of the stream; labels swap after half of them.")] = 1_000_000,
    window: Annotated[int, typer.Option("--window", min=1, help="Of the patterns, in ticks.")] = SWAPPING.windows[0],
    repeats: Repeats = 3,
    output: Output = None,
    markdown: Markdown = None,
    cache: Cache = Path(DEFAULT_CACHE),
) -> None:
    """Match over a stream whose label frequencies swap half-way."""
    with running() as progress:
        runs = adaptation.run(adaptation.swapping(edges), window, repeats, cache, progress)
        report = Report("adaptation", this_machine(), adaptation.check(runs), adaptation=runs)
    hand_out(report, output, markdown)


def selectivity_command(
    *,
    workload: Annotated[str, typer.Option("--workload", help=f"Streams: any of {','.join(_TYPED)}.")] = ",".join(_TYPED),
    size: Annotated[str, typer.Option("--size", help="Edges of the patterns.")] = "3,4,5,6",
    patterns: Annotated[int, typer.Option("--patterns", min=1, help="Patterns of each shape and size.")] = 5,
    edges: Annotated[int | None, typer.Option("--edges", min=1, help="Of the streams; their own if not given.")] = None,
    repeats: Repeats = 3,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw Figures 9 and 10 of paper 003 as SVG.")] = None,
    output: Output = None,
    markdown: Markdown = None,
    cache: Cache = Path(DEFAULT_CACHE),
) -> None:
    """Compare the strategies of sj-tree over selectivity, and engines where they differ."""
    chosen = tuple(_TYPED[name] for name in known_names(split(workload), _TYPED, "--workload"))
    streams = chosen if edges is None else tuple(each.of_length(edges) for each in chosen)
    sizes = numbers(size, "--size")
    with running() as progress:
        runs = selectivity.run(streams, sizes, taken=patterns, repeats=repeats, cache=cache, progress=progress)
        relative = selectivity.distributions(streams, cache, edges or _GENERATED_RECORDS, progress)
        contrasts = contrast.run(contrast.cases(edges), repeats, cache, progress)
        checked = selectivity.check(runs)
        report = Report("selectivity", this_machine(), checked, selectivity=runs, relative=relative, contrasts=contrasts)
    if plot is not None:
        plot.write_text(to_svg([*figures.runtimes(runs), figures.selectivities(relative)]), encoding="utf-8")
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
        report = Report("from-scratch", this_machine(), from_scratch.check(runs), from_scratch=runs)
    hand_out(report, output, markdown)


def statistics_command(
    *,
    workload: Annotated[str, typer.Option("--workload", help=f"Streams: any of {','.join(WORKLOADS)}.")] = ",".join(WORKLOADS),
    edges: Annotated[int | None, typer.Option("--edges", min=1, help="Of the streams; their own if not given.")] = None,
    repeats: Repeats = 5,
    output: Output = None,
    markdown: Markdown = None,
    cache: Cache = Path(DEFAULT_CACHE),
) -> None:
    """Count the statistics of streams, 2-edge paths too."""
    chosen = tuple(WORKLOADS[name] for name in known_names(split(workload), WORKLOADS, "--workload"))
    streams = chosen if edges is None else tuple(each.of_length(edges) for each in chosen)
    with running() as progress:
        runs = counting.run(streams, repeats, cache, progress)
        report = Report("statistics", this_machine(), counting.check(runs), counting=runs)
    hand_out(report, output, markdown)
