"""Defines `graphtide bench statistics`."""

# No deferred annotations here: typer reads them when a command runs.
from pathlib import Path
from typing import Annotated

import typer

from graphtide_bench.frame.arguments import Cache, Markdown, Output, Repeats, hand_out, known_names, running, split
from graphtide_bench.frame.report import Report
from graphtide_bench.statistics import counting
from graphtide_bench.workloads.cache import DEFAULT_CACHE
from graphtide_bench.workloads.workload import WORKLOADS


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
        report = Report.of("statistics", counting.check(runs), (counting.COUNTING, runs))
    hand_out(report, output, markdown)
