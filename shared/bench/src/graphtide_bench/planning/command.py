"""Defines the commands of `graphtide bench` that measure what the planner chooses."""

# No deferred annotations here: typer reads them when a command runs.
from pathlib import Path
from typing import Annotated

import typer
from graphtide.plot import to_svg

from graphtide_bench.frame.arguments import Cache, Markdown, Output, Repeats, hand_out, known_names, numbers, running, split
from graphtide_bench.frame.report import Report
from graphtide_bench.planning import adaptation, charts, contrast, selectivity
from graphtide_bench.workloads.cache import DEFAULT_CACHE
from graphtide_bench.workloads.workload import FLOWS, SWAPPING, TYPED

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
        report = Report.of("adaptation", adaptation.check(runs), (adaptation.ADAPTATION, runs))
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
        results = ((selectivity.SELECTIVITY, runs), (selectivity.RELATIVE, relative), (contrast.CONTRASTS, contrasts))
        report = Report.of("selectivity", checked, *results)
    if plot is not None:
        plot.write_text(to_svg([*charts.runtimes(runs), charts.selectivities(relative)]), encoding="utf-8")
    hand_out(report, output, markdown)
