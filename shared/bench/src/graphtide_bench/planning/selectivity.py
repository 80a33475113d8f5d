"""Compares the strategies of `sj-tree` on patterns of rising size, as Figures 9 and 10 of paper 003 do.

Figure 9: paths and trees of several sizes, drawn by edge types, under the four strategies. Time is the mean over the patterns
of a group, in processor seconds for the whole stream. Figure 10: the distribution of Relative Selectivity over paths of four
edges.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import geometric_mean, mean, median
from typing import TYPE_CHECKING, Final

from graphtide.readers import ReaderOptions
from graphtide.readers.memory import from_edges
from graphtide_core.errors import FatalError
from graphtide_core.plans import SjTreeStrategy
from graphtide_generate import GENERATORS
from graphtide_generate.stream import Recipe
from graphtide_native.statistics import StreamStatistics
from graphtide_query.families import PlannerOptions
from graphtide_query.planner import plan

from graphtide_bench.frame.kinds import Kind
from graphtide_bench.frame.table import Table, ratio
from graphtide_bench.workloads.passes import load, run_once
from graphtide_bench.workloads.typed import SHAPES, draw_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import Plan
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_native.records import EdgeBatch, Symbols

    from graphtide_bench.workloads.passes import Pass
    from graphtide_bench.workloads.typed import TypedPattern
    from graphtide_bench.workloads.workload import Workload

STRATEGIES: Final = tuple(strategy.value for strategy in SjTreeStrategy)
OTHERS: Final = ("timing", "re-search", "filtering")
"""Engines beside the strategies of `sj-tree`."""

_DRAWN = 50
"""Patterns drawn for a group; the paper draws 100."""
_SAMPLED, _SAMPLED_SIZE = 25, 4
"""Of Figure 10: how many patterns are taken, and their edges, as in the paper."""


@dataclass(frozen=True, slots=True)
class SelectivityRun:
    """A pattern under one strategy or engine.

    Attributes:
        workload: name of the stream's workload.
        shape: one of `typed.SHAPES`.
        size: edges of the pattern.
        pattern: its name.
        relative: its Relative Selectivity.
        way: a strategy of `sj-tree`, or another engine.
        cpu_seconds: processor time of every run.
        matches: found.
        created: partial matches made.
        peak: most partial matches alive at once.
        state_bytes: most bytes of partial matches and the windowed store.
    """

    workload: str
    shape: str
    size: int
    pattern: str
    relative: float
    way: str
    cpu_seconds: tuple[float, ...]
    matches: int
    created: int
    peak: int
    state_bytes: int

    @property
    def seconds(self) -> float:
        """Processor seconds of the median run."""
        return median(self.cpu_seconds)


@dataclass(frozen=True, slots=True)
class RelativeSelectivities:
    """The Relative Selectivity of paths of four edges on one stream, ascending."""

    stream: str
    values: tuple[float, ...]


def run(
    workloads: Sequence[Workload],
    sizes: Sequence[int],
    *,
    taken: int,
    repeats: int,
    cache: Path,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[SelectivityRun, ...]:
    """Measure `taken` patterns of every shape and size under every strategy and engine."""
    found: list[SelectivityRun] = []
    for workload in workloads:
        progress(f"stream {workload.name}")
        stream = load(workload, cache)
        known = count(stream.batches, stream.symbols)
        for shape in SHAPES:
            for size in sizes:
                seed = workload.recipe.seed + size
                group = draw_group(known, shape, size, workload.windows[0], drawn=_DRAWN, taken=taken, seed=seed)
                for typed in group:
                    progress(f"stream {workload.name}: {typed.pattern.name}")
                    plans = _plans(typed.pattern, known)
                    repetitions = [{way: run_once([made], stream) for way, made in plans.items()} for _ in range(repeats)]
                    found += [
                        _run(workload.name, shape, typed, way, [repetition[way] for repetition in repetitions]) for way in plans
                    ]
    return tuple(found)


def distributions(
    workloads: Sequence[Workload], cache: Path, records: int, progress: Callable[[str], None] = lambda _: None
) -> tuple[RelativeSelectivities, ...]:
    """Return the Relative Selectivities on the workloads, and on generated network flows of `records` records."""
    found = []
    for workload in workloads:
        progress(f"selectivities on stream {workload.name}")
        stream = load(workload, cache)
        found.append(_relative(workload.name, count(stream.batches, stream.symbols), workload.recipe.seed))
    progress("selectivities on generated flows")
    options = ReaderOptions()
    edges = GENERATORS["network"](Recipe(records=records)).edges
    found.append(_relative("generated network", count(from_edges(edges, options).batches(), options.symbols), 1))
    return tuple(found)


def check(runs: Sequence[SelectivityRun]) -> str:
    """Return what was checked, in a sentence.

    Raises:
        FatalError: two ways of finding a pattern differ in the number of matches.
    """
    matches: dict[tuple[str, str], int] = {}
    for each in runs:
        first = matches.setdefault((each.workload, each.pattern), each.matches)
        if first != each.matches:
            message = f"{each.pattern} on stream {each.workload}: {each.way} finds {each.matches} matches, another way {first}"
            raise FatalError(message)
    return f"Matches checked: {len(matches)} patterns, equally many in each of {len({each.way for each in runs})} ways."


def times(runs: Sequence[SelectivityRun]) -> Table:
    """Return the mean processor time of every group, in milliseconds, with a column for each way."""
    return _by_group("Processor time of a stream, milliseconds", runs, lambda group: f"{_mean_time(group) * 1000:.1f}")


def partial_matches(runs: Sequence[SelectivityRun]) -> Table:
    """Return the mean of the most partial matches alive at once of every group, with a column for each way that has any."""
    storing = [each for each in runs if each.way in (*STRATEGIES, "timing")]
    return _by_group("Partial matches alive at most", storing, lambda group: f"{mean(each.peak for each in group):,.0f}")


def gains(runs: Sequence[SelectivityRun]) -> Table:
    """Return how many times as much an eager strategy takes as its lazy one: geometric mean over patterns, and the most."""
    by_case = {(each.workload, each.pattern, each.way): each for each in runs}
    rows = []
    for workload in dict.fromkeys(each.workload for each in runs):
        for eager, lazy in (("single", "single-lazy"), ("path", "path-lazy")):
            pairs = [
                (each, by_case[workload, each.pattern, lazy])
                for each in runs
                if each.workload == workload and each.way == eager
            ]
            rows.append(
                (
                    workload,
                    f"{eager} : {lazy}",
                    _factors([(one.seconds, other.seconds) for one, other in pairs]),
                    _factors([(one.created, other.created) for one, other in pairs]),
                    _factors([(one.peak, other.peak) for one, other in pairs]),
                    _factors([(one.state_bytes, other.state_bytes) for one, other in pairs]),
                )
            )
    header = ("stream", "strategies", "time", "partial matches made", "alive at most", "state")
    return Table("Eager against lazy: mean factor, and the greatest", header, tuple(rows), names=2)


def count(batches: Iterable[EdgeBatch], symbols: Symbols) -> StatisticsSnapshot:
    """Return the statistics of a stream, 2-edge paths too."""
    statistics = StreamStatistics(symbols)
    for batch in batches:
        statistics.push(batch)
    return statistics.snapshot()


def mean_times(runs: Sequence[SelectivityRun], way: str) -> tuple[tuple[int, float], ...]:
    """Return the mean processor seconds of each size that the way was measured on."""
    groups: defaultdict[int, list[SelectivityRun]] = defaultdict(list)
    for each in runs:
        if each.way == way:
            groups[each.size].append(each)
    return tuple((size, _mean_time(group)) for size, group in sorted(groups.items()))


def _plans(pattern: SubgraphPattern, known: StatisticsSnapshot) -> dict[str, Plan]:
    plans = {each.value: plan(pattern, PlannerOptions.of("sj-tree", each.value), statistics=known) for each in SjTreeStrategy}
    return plans | {engine: plan(pattern, engine, statistics=known) for engine in OTHERS}


def _run(workload: str, shape: str, typed: TypedPattern, way: str, passes: Sequence[Pass]) -> SelectivityRun:
    first = passes[0]
    return SelectivityRun(
        workload=workload,
        shape=shape,
        size=len(typed.pattern.edges),
        pattern=typed.pattern.name,
        relative=typed.relative,
        way=way,
        cpu_seconds=tuple(each.cpu_seconds for each in passes),
        matches=first.matches,
        created=first.created,
        peak=first.totals.peak_partial_matches,
        state_bytes=max(each.totals.peak_state_bytes for each in passes),
    )


def _relative(stream: str, known: StatisticsSnapshot, seed: int) -> RelativeSelectivities:
    window = max(1, known.span)
    group = draw_group(known, "path", _SAMPLED_SIZE, window, drawn=_DRAWN, taken=_SAMPLED, seed=seed)
    return RelativeSelectivities(stream, tuple(sorted(each.relative for each in group)))


def _by_group(title: str, runs: Sequence[SelectivityRun], cell: Callable[[Sequence[SelectivityRun]], str]) -> Table:
    ways = list(dict.fromkeys(each.way for each in runs))
    groups: defaultdict[tuple[str, str, int], defaultdict[str, list[SelectivityRun]]] = defaultdict(lambda: defaultdict(list))
    for each in runs:
        groups[each.workload, each.shape, each.size][each.way].append(each)
    rows = tuple(
        (workload, shape, str(size), *(cell(group[way]) for way in ways)) for (workload, shape, size), group in groups.items()
    )
    return Table(title, ("stream", "shape", "edges", *ways), rows, names=2)


def _mean_time(group: Sequence[SelectivityRun]) -> float:
    return mean(each.seconds for each in group)


def _factors(pairs: Sequence[tuple[float, float]]) -> str:
    """Return the geometric mean and the greatest of ratios; a count of zero counts as one."""
    factors = [(one or 1) / (other or 1) for one, other in pairs]
    return f"{ratio(geometric_mean(factors))}, {ratio(max(factors))}"


SELECTIVITY: Final = Kind("selectivity", SelectivityRun, lambda found: (times(found), partial_matches(found), gains(found)))
RELATIVE: Final = Kind("relative", RelativeSelectivities)
