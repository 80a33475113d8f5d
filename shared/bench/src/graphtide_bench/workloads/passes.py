"""Measures one case: a pattern, an engine and a stream, run several times.

The time of a run is that of `Matcher.push` over all batches, up to the hand-over of every match as a `MatchBatch`. Matches are
counted, not written. Planning and the making of the matcher come before. Batches lie decoded in memory, or come from a reader,
whose time then counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter, thread_time
from typing import TYPE_CHECKING

from graphtide.readers import ReaderOptions, open_stream
from graphtide_core.errors import FatalError
from graphtide_native.matcher import Matcher
from graphtide_native.records import Symbols

from graphtide_bench.workloads.cache import arrow_file, csv_file, statistics_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from graphtide_core.plans import Plan
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_native.records import EdgeBatch
    from graphtide_native.reports import Totals
    from graphtide_native.spec import Concurrency

    from graphtide_bench.workloads.workload import Workload

SOURCES = ("memory", "csv", "arrow")
"""Where batches come from: decoded beforehand, or read from a file within the time."""


@dataclass(frozen=True, slots=True)
class LoadedStream:
    """A stream in memory, its files, and what a planner knows of it."""

    csv: Path
    arrow: Path
    symbols: Symbols
    batches: tuple[EdgeBatch, ...]
    statistics: StatisticsSnapshot

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return sum(len(batch) for batch in self.batches)


@dataclass(frozen=True, slots=True)
class Pass:
    """One run of a matcher over a stream.

    Attributes:
        seconds: of the wall clock.
        cpu_seconds: processor time of the thread that pushed.
        matches: found.
        created: partial matches made.
        totals: counts of the whole pass.
    """

    seconds: float
    cpu_seconds: float
    matches: int
    created: int
    totals: Totals


def load(workload: Workload, cache: Path) -> LoadedStream:
    """Return a workload's stream, generated if it is not in the cache.

    Raises:
        FatalError: the stream read is not the stream generated.
    """
    symbols = Symbols()
    path = csv_file(workload, cache)
    batches = tuple(open_stream(path, ReaderOptions(symbols=symbols, keep_raw=False)).batches())
    stream = LoadedStream(path, arrow_file(workload, cache), symbols, batches, statistics_of(path))
    if stream.edges != workload.recipe.edges:
        message = f"{path}: {stream.edges} edges in place of {workload.recipe.edges}; remove the file to make it again"
        raise FatalError(message)
    return stream


def run_once(
    plans: Sequence[Plan], stream: LoadedStream, source: str = "memory", concurrency: Concurrency | None = None
) -> Pass:
    """Match a whole stream from one of `SOURCES`."""
    if source == "memory":
        return _pass(Matcher(plans, stream.symbols, concurrency=concurrency), stream.batches)
    options = ReaderOptions()
    matcher = Matcher(plans, options.symbols, concurrency=concurrency)
    return _pass(matcher, open_stream(stream.csv if source == "csv" else stream.arrow, options).batches())


def run_repeatedly(
    plans: Sequence[Plan],
    stream: LoadedStream,
    repeats: int,
    *,
    source: str = "memory",
    concurrency: Concurrency | None = None,
) -> tuple[Pass, ...]:
    """Match a whole stream a few times, each with a new matcher.

    Raises:
        FatalError: the runs do not find equally many matches.
    """
    passes = tuple(run_once(plans, stream, source, concurrency) for _ in range(repeats))
    found = {run.matches for run in passes}
    if len(found) > 1:
        message = f"runs of {plans[0].pattern.name} under {plans[0].engine} differ: {sorted(found)} matches"
        raise FatalError(message)
    return passes


def _pass(matcher: Matcher, batches: Iterable[EdgeBatch]) -> Pass:
    matches = 0
    start, cpu_start = perf_counter(), thread_time()
    for batch in batches:
        for found in matcher.push(batch):
            matches += len(found)
    seconds, cpu_seconds = perf_counter() - start, thread_time() - cpu_start
    created = sum(item.created for report in matcher.patterns() for item in report.items)
    return Pass(seconds, cpu_seconds, matches, created, matcher.totals())
