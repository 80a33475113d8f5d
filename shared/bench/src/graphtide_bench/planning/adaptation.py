"""Measures what a change of the stream costs: patterns over a stream whose label frequencies swap half-way.

Each pattern is matched in several ways. One is `auto` as it runs in the pipeline, which samples the stream and changes its
plan; another is `auto` held to its first plan. The others are every engine with a plan made for the second half: the fastest of
those is the best fixed plan. Time is processor time of the pipeline's own thread. Sampling, planning and the replay of the
window into a new engine are in it; reading and decoding are not. A repetition runs every way once, so that a slow spell of the
machine meets all of them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from graphtide.options import MatchOptions
from graphtide.pipeline import Pipeline
from graphtide.readers import ReaderOptions, open_stream
from graphtide.run import tune_reader
from graphtide_core.errors import FatalError
from graphtide_core.plans import Plan, SjTreePlan, TimingPlan
from graphtide_native.statistics import StreamStatistics
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES

from graphtide_bench.frame.kinds import Kind
from graphtide_bench.frame.runs import Timed
from graphtide_bench.frame.table import Table, percent, rate
from graphtide_bench.workloads.cache import arrow_file
from graphtide_bench.workloads.workload import SWAPPING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from graphtide.readers import Reader
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_native.match_batch import MatchBatch
    from graphtide_native.records import EdgeBatch

    from graphtide_bench.workloads.workload import Workload

ADAPTIVE: Final = "auto"
HELD: Final = "auto, first plan kept"

PATHS: Final[Mapping[str, tuple[int, ...]]] = {
    "rare_middle": (0, 0, 5, 5, 0),
    "rare_start": (5, 4, 0, 0, 0),
    "rare_ends": (5, 0, 0, 0, 5),
    "falling": (0, 1, 2, 4, 5),
    "mixed": (0, 5, 1, 4, 0),
}
"""Paths of five edges by their edge labels: 0 is the most frequent label of the first half, 5 its rarest."""

_LARGEST_BATCH, _FEWEST_BATCHES = 1 << 14, 8


@dataclass(frozen=True, slots=True)
class Stretch(Timed):
    """A part of the stream: its edges, and processor seconds for it in every run."""

    edges: int
    seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class AdaptationRun:
    """A pattern matched in one way.

    Attributes:
        pattern: its name.
        way: `ADAPTIVE`, `HELD`, or the name of the engine whose plan was made for the second half.
        plans: the plan at the start, and every later one after the number of records it came.
        before: the first half.
        after: the second half.
        settled: the second half's own second half.
        wall_seconds: of every run, for the whole stream.
        matches: of the whole stream.
    """

    pattern: str
    way: str
    plans: tuple[tuple[int, str], ...]
    before: Stretch
    after: Stretch
    settled: Stretch
    wall_seconds: tuple[float, ...]
    matches: int

    @property
    def is_fixed(self) -> bool:
        """Whether the plan was made for the second half."""
        return self.way not in {ADAPTIVE, HELD}


def run(
    workload: Workload, window: int, repeats: int, cache: Path, progress: Callable[[str], None] = lambda _: None
) -> tuple[AdaptationRun, ...]:
    """Measure every pattern in every way.

    Raises:
        FatalError: two ways do not find the same matches.
    """
    progress("stream")
    stream = _Stream(arrow_file(workload, cache), workload.recipe.edges, workload.recipe.swap_after or 0)
    second = stream.statistics_of_second_half()
    ways = {ADAPTIVE: MatchOptions(), HELD: MatchOptions(adapt=False)}
    ways |= {engine: MatchOptions(engine=engine, statistics=second) for engine in FAMILIES["isomorphism"].names}
    found: list[AdaptationRun] = []
    for name, labels in PATHS.items():
        text = path(name, labels, window)
        agreed: set[str] | None = None
        for way, options in ways.items():
            progress(f"{name}: matches of {way}")
            matches = stream.matches(text, options)
            if agreed is not None and matches != agreed:
                message = f"{name}: {way} finds {len(matches - agreed)} matches more and {len(agreed - matches)} less"
                raise FatalError(message)
            agreed = matches
        repetitions: dict[str, list[_Timed]] = {way: [] for way in ways}
        for repetition in range(repeats):
            progress(f"{name}: repetition {repetition + 1} of {repeats}")
            for way, options in ways.items():
                repetitions[way].append(stream.time(text, options))
        found += [_add_up(name, way, timed, len(agreed or ())) for way, timed in repetitions.items()]
    return tuple(found)


def swapping(edges: int) -> Workload:
    """Return the stream of `SWAPPING` with that length; labels swap after half of it."""
    return replace(SWAPPING, recipe=replace(SWAPPING.recipe, edges=edges, swap_after=edges // 2))


def path(name: str, labels: Sequence[int], window: int) -> str:
    """Return the text of a path with these edge labels."""
    edges = ", ".join(f"(v{place})-[e{place}:E{label}]->(v{place + 1})" for place, label in enumerate(labels))
    return f"PATTERN {name}\nMATCH {edges}\nON stream WINDOW {window}\n"


def check(runs: Sequence[AdaptationRun]) -> str:
    """Return what was checked and what it came to, in two sentences."""
    shares = [_of_best(each, runs) for each in runs if each.way == ADAPTIVE]
    ways = len({each.way for each in runs})
    return (
        f"Matches checked: the same sets, by match id, in {ways} ways for each of {len(shares)} patterns. "
        f"Settled, {ADAPTIVE} has {percent(min(shares))} to {percent(max(shares))} of the best fixed plan's rate."
    )


def by_way(runs: Sequence[AdaptationRun]) -> Table:
    """Return a row for each pattern and way; rates are edges a processor second."""
    rows = tuple(
        (
            each.pattern,
            each.way,
            " → ".join(f"{text} at {records:,}" if records else text for records, text in each.plans),
            rate(each.before.rate),
            rate(each.after.rate),
            rate(each.settled.rate),
            percent(_of_best(each, runs)),
            f"{each.matches:,}",
        )
        for each in runs
    )
    header = ("pattern", "way", "plans", "first half", "second half", "settled", "of best", "matches")
    return Table("A stream that changes, edges a processor second", header, rows, names=3)


def _of_best(run: AdaptationRun, runs: Sequence[AdaptationRun]) -> float:
    """Return the settled rate as a share of that of the best plan for the second half."""
    return run.settled.rate / max(each.settled.rate for each in runs if each.pattern == run.pattern and each.is_fixed)


class _Timed(NamedTuple):
    plans: tuple[tuple[int, str], ...]
    ends: list[int]
    seconds: list[float]
    wall_seconds: float
    swap: int


@dataclass(frozen=True, slots=True)
class _Stream:
    """A stream file and where its labels swap."""

    file: Path
    edges: int
    swap: int

    @property
    def _batch(self) -> int:
        return min(_LARGEST_BATCH, self.edges // _FEWEST_BATCHES)

    def statistics_of_second_half(self) -> StatisticsSnapshot:
        options = ReaderOptions(block_rows=self._batch)
        counted, seen = StreamStatistics(options.symbols), 0
        for batch in open_stream(self.file, options).batches():
            if seen >= self.swap:
                counted.push(batch)
            seen += len(batch)
        return counted.snapshot()

    def matches(self, text: str, options: MatchOptions) -> set[str]:
        pipeline, reader, batches = self._opened(text, options)
        found = [each for batch in batches for each in pipeline.push(batch, reader)]
        found += pipeline.finish(reader)
        return {match_id for each in found for match_id in match_ids(each)}

    def time(self, text: str, options: MatchOptions) -> _Timed:
        pipeline, reader, batches = self._opened(text, options)
        plans: list[tuple[int, Plan]] = []
        ends, seconds, seen = [], [], 0
        began = time.perf_counter()
        for batch in batches:
            started = time.thread_time()
            for _ in pipeline.push(batch, reader):
                pass
            seconds.append(time.thread_time() - started)
            first = pipeline.plans[0]
            assert isinstance(first, Plan)  # noqa: S101 - its patterns are of edges
            if not plans or plans[-1][1] is not first:
                plans.append((seen, first))
            seen += len(batch)
            ends.append(seen)
        wall = time.perf_counter() - began
        return _Timed(tuple((at, describe(plan)) for at, plan in plans), ends, seconds, wall, self.swap)

    def _opened(self, text: str, options: MatchOptions) -> tuple[Pipeline, Reader, list[EdgeBatch]]:
        pipeline = Pipeline(parse_subgraphs(text), options)
        reader = open_stream(self.file, tune_reader(ReaderOptions(block_rows=self._batch), pipeline, options))
        return pipeline, reader, list(reader.batches())


def describe(plan: Plan) -> str:
    """Return the engine, and for one that stores partial matches what it joins, in that order."""
    match plan.physical:
        case SjTreePlan(leaves=parts, strategy=strategy):
            return f"{strategy.value} {_describe(plan, parts)}"
        case TimingPlan(subqueries=parts):
            return f"{plan.engine} {_describe(plan, parts)}"
        case _:
            return plan.engine


def _describe(plan: Plan, parts: Sequence[Sequence[int]]) -> str:
    return " ".join("+".join(plan.pattern.edges[edge].name for edge in part) for part in parts)


class _Identity(msgspec.Struct):
    match_id: str


_IDENTITIES: Final = msgspec.json.Decoder(_Identity)


def match_ids(found: MatchBatch) -> Iterator[str]:
    """Yield the identities of matches."""
    return (each.match_id for each in _IDENTITIES.decode_lines(found.to_json_lines()))


def _add_up(pattern: str, way: str, repetitions: Sequence[_Timed], matches: int) -> AdaptationRun:
    (first, *_) = repetitions
    settled = (first.swap + first.ends[-1]) // 2

    def stretch(start: int, end: int) -> Stretch:
        starts = [0, *first.ends[:-1]]
        places = [place for place, at in enumerate(starts) if start <= at < end]
        edges = sum(first.ends[place] - starts[place] for place in places)
        return Stretch(edges, tuple(sum(repetition.seconds[place] for place in places) for repetition in repetitions))

    return AdaptationRun(
        pattern=pattern,
        way=way,
        plans=first.plans,
        before=stretch(0, first.swap),
        after=stretch(first.swap, first.ends[-1]),
        settled=stretch(settled, first.ends[-1]),
        wall_seconds=tuple(repetition.wall_seconds for repetition in repetitions),
        matches=matches,
    )


ADAPTATION: Final = Kind("adaptation", AdaptationRun, lambda found: (by_way(found),))
