"""Measures how fast the statistics of a stream, 2-edge paths included, are counted over decoded batches."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError
from graphtide_native.statistics import StreamStatistics

from graphtide_bench.frame.kinds import Kind
from graphtide_bench.frame.table import Table, rate
from graphtide_bench.workloads.passes import load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from graphtide_bench.workloads.passes import LoadedStream
    from graphtide_bench.workloads.workload import Workload

KINDS: Final = ("everything", "sliding", "tumbling")
"""Windows: all since the start, one that slides, windows side by side; the latter two as long as the workload's longest."""


@dataclass(frozen=True, slots=True)
class CountingRun:
    """The statistics of one stream over one kind of window.

    Attributes:
        workload: name of the stream's workload.
        kind: one of `KINDS`.
        window: in ticks; None for everything.
        edges: of the stream.
        counted: edges of the windows that ended and of the last one.
        types: edge types, in the window that had most.
        paths: types of 2-edge paths likewise.
        cpu_seconds: processor time of every run.
        wall_seconds: of every run.
    """

    workload: str
    kind: str
    window: int | None
    edges: int
    counted: int
    types: int
    paths: int
    cpu_seconds: tuple[float, ...]
    wall_seconds: tuple[float, ...]


def run(
    workloads: Sequence[Workload], repeats: int, cache: Path, progress: Callable[[str], None] = lambda _: None
) -> tuple[CountingRun, ...]:
    """Count every stream over every kind of window."""
    found = []
    for workload in workloads:
        progress(f"stream {workload.name}")
        stream = load(workload, cache)
        for kind in KINDS:
            progress(f"stream {workload.name}, {kind}")
            found.append(_measure(workload, kind, stream, repeats))
    return tuple(found)


def check(runs: Sequence[CountingRun]) -> str:
    """Return what was checked, in a sentence.

    Raises:
        FatalError: edges were lost.
    """
    for each in runs:
        if each.kind != "sliding" and each.counted != each.edges:
            message = f"stream {each.workload}, {each.kind}: {each.counted} edges counted of {each.edges}"
            raise FatalError(message)
    return "Edges checked: whole and tumbling windows hold every edge of their streams."


def counted_rates(runs: Sequence[CountingRun]) -> Table:
    """Return a row for each stream and kind of window, with the rates of the best run."""
    columns: dict[str, Callable[[CountingRun], str]] = {
        "stream": lambda each: each.workload,
        "windows": lambda each: each.kind,
        "window": lambda each: "" if each.window is None else f"{each.window:,}",
        "types": lambda each: f"{each.types:,}",
        "path types": lambda each: f"{each.paths:,}",
        "best, processor": lambda each: rate(each.edges / min(each.cpu_seconds)),
        "best, wall": lambda each: rate(each.edges / min(each.wall_seconds)),
        "slowest, wall": lambda each: rate(each.edges / max(each.wall_seconds)),
    }
    return Table.of("Statistics with 2-edge paths, edges a second", runs, columns, names=2)


def _measure(workload: Workload, kind: str, stream: LoadedStream, repeats: int) -> CountingRun:
    window = None if kind == "everything" else max(workload.windows)
    cpu_seconds, wall_seconds = [], []
    for _ in range(repeats):
        statistics = StreamStatistics(stream.symbols, window, tumbling=kind == "tumbling")
        start, cpu_start = perf_counter(), thread_time()
        ended = []
        for batch in stream.batches:
            ended += statistics.push(batch)
        cpu_seconds.append(thread_time() - cpu_start)
        wall_seconds.append(perf_counter() - start)
    windows = [*ended, statistics.snapshot()]
    return CountingRun(
        workload=workload.name,
        kind=kind,
        window=window,
        edges=stream.edges,
        counted=sum(each.edges for each in windows),
        types=max(len(each.types) for each in windows),
        paths=max(len(each.paths or ()) for each in windows),
        cpu_seconds=tuple(cpu_seconds),
        wall_seconds=tuple(wall_seconds),
    )


COUNTING: Final = Kind("counting", CountingRun, lambda found: (counted_rates(found),))
