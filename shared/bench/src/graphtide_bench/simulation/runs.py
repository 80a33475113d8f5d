"""Measures cases of dual simulation with the window full.

The window is filled under another engine and handed over, which is not timed. Then records are timed in chunks that grow, until
the stream ends or patience does. Each way is timed by a run of its own for every repeat, and once more with a probe that
measures the share of verification. Ways that came less far are compared with the others as far as they came.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Final

from graphtide.readers import ReaderOptions
from graphtide.readers.memory import from_edges
from graphtide_core.errors import FatalError
from graphtide_core.plans import ColoringPlan, Plan, SignaturePlan
from graphtide_core.time import TimeUnit
from graphtide_native.matcher import Matcher
from graphtide_native.spec import Limits
from graphtide_query import parse_subgraphs

from graphtide_bench.frame.runs import Timed
from graphtide_bench.simulation.experiments import edges_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphtide_core.edge import Edge
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_native.records import EdgeBatch, Symbols
    from graphtide_native.simulation import SimulationWork

    from graphtide_bench.simulation.experiments import EngineVariant, Experiment, ExperimentCase

_FIRST, _LARGEST = 64, 4_096
"""Records of the first chunk, which a slow engine is patient for, and of the largest."""
_MOST_TO_FILL: Final = 0.6
"""Share of a stream that may go into filling the window."""
STRETCHES: Final = 10


@dataclass(frozen=True, slots=True)
class SimulationRun(Timed):
    """A case under one way.

    Attributes:
        experiment: name of its experiment.
        value: on its axis.
        at: the same as a number.
        query: name of the pattern.
        query_edges: how many it has.
        way: name of the way.
        window_edges: records that the window holds.
        held: of these, the edges that can be a query edge and are not consumed, at the end.
        edges: records that were timed.
        seconds: of the processor, for every run.
        probed_seconds: of the wall clock, for the run with a probe.
        verifying_seconds: of these, what verification took.
        matches: found in them.
        taken: records that can be a query edge.
        whole_ends: of these, edges whose ends had all the edges that the query asks for there.
        signature_checks: comparisons of the window's signature with the query's.
        signature_passed: comparisons that allowed a match.
        signature_false: of these, edges that had none.
        verified: edges that were verified.
        fixpoints: computed for that.
        steps: of work.
        verifying_steps: of these, steps of verification.
        stretches: steps a record in each tenth of them, by chunks; nothing where there are fewer chunks.
    """

    experiment: str
    value: str
    at: float
    query: str
    query_edges: int
    way: str
    window_edges: int
    held: int
    edges: int
    seconds: tuple[float, ...]
    probed_seconds: float
    verifying_seconds: float
    matches: int
    taken: int
    whole_ends: int
    signature_checks: int
    signature_passed: int
    signature_false: int
    verified: int
    fixpoints: int
    steps: int
    verifying_steps: int
    stretches: tuple[float, ...]

    @property
    def density(self) -> float:
        """Matches in 10,000 records."""
        return self.matches * 10_000 / self.edges

    @property
    def verifying(self) -> float:
        """Share of the time that verification took."""
        return min(1.0, self.verifying_seconds / self.probed_seconds)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A case in memory: records to fill the window with, and chunks to time."""

    pattern: SubgraphPattern
    symbols: Symbols
    before: tuple[EdgeBatch, ...]
    chunks: tuple[EdgeBatch, ...]


@dataclass(frozen=True, slots=True)
class _Timed:
    """What one run did: seconds of the processor and of the wall, records, matches and steps up to each chunk it came to."""

    seconds: float
    wall: float
    records: tuple[int, ...]
    matches: tuple[int, ...]
    steps: tuple[int, ...]
    work: SimulationWork
    held: int


def run(
    experiments: Sequence[Experiment],
    *,
    records: int | None = None,
    repeats: int = 3,
    patience: float = 1.0,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[SimulationRun, ...]:
    """Measure all cases of experiments.

    Args:
        experiments: which.
        records: of each stream; its own length if not given.
        repeats: timed runs of each way.
        patience: seconds after which a run ends, with the chunk that it is at.
        progress: called with what is measured next.

    Raises:
        FatalError: ways find other matches in the same records.
    """
    streams: dict[str, tuple[Edge, ...]] = {}
    found: list[SimulationRun] = []
    for experiment in experiments:
        if experiment.stream not in streams:
            progress(f"stream {experiment.stream}")
            streams[experiment.stream] = edges_of(experiment.stream, records)
        for case in experiment.cases:
            progress(f"{experiment.title}: {case.value} {experiment.axis}")
            found += _measure(experiment, case, streams[experiment.stream], repeats, patience)
    return tuple(found)


def check(runs: Sequence[SimulationRun]) -> str:
    """Return what was checked, in a sentence."""
    cases = len({(each.experiment, each.value) for each in runs})
    return f"Matches checked: {cases} cases, equally many in all ways after every chunk of records."


def _measure(
    experiment: Experiment, case: ExperimentCase, edges: Sequence[Edge], repeats: int, patience: float
) -> list[SimulationRun]:
    loaded, window = _load(case.text, edges)
    found: list[SimulationRun] = []
    furthest: _Found = ((), ())
    for way in case.ways:
        timed = [_time(loaded, way, patience, is_probed=way.is_from_scratch) for _ in range(repeats)]
        probed = _time(loaded, way, patience, is_probed=True)
        for each in (*timed, probed):
            furthest = _compare(furthest, (each.records, each.matches), f"{loaded.pattern.name} under {way.name}")
        found.append(_run(experiment, case, way, loaded, (window, timed, probed)))
    return found


def _load(text: str, edges: Sequence[Edge]) -> tuple[_Loaded, int]:
    """Read a pattern and the records; return also how many of them its window holds."""
    (pattern,) = parse_subgraphs(text)
    last_before = edges[0].ts + pattern.duration.ticks(TimeUnit.MILLISECOND) if edges else 0
    window = bisect_left(edges, last_before, key=lambda edge: edge.ts)
    fill = min(window, int(_MOST_TO_FILL * len(edges)))
    options = ReaderOptions(keep_raw=False)
    before = tuple(from_edges(edges[:fill], options).batches())
    chunks: list[EdgeBatch] = []
    start, size = fill, _FIRST
    while start < len(edges):
        chunks += from_edges(edges[start : start + size], options).batches()
        start, size = start + size, min(2 * size, _LARGEST)
    return _Loaded(pattern, options.symbols, before, tuple(chunks)), window


def _time(loaded: _Loaded, way: EngineVariant, patience: float, *, is_probed: bool) -> _Timed:
    """Time a way over the chunks."""
    plan = Plan(loaded.pattern, way.physical)
    other = Plan(loaded.pattern, SignaturePlan(seed=2) if isinstance(way.physical, ColoringPlan) else ColoringPlan())
    matcher = Matcher([], loaded.symbols, adaptive=True)
    matcher.add(other, Limits(), unreported=loaded.before, reported=())
    matcher.replan(0, plan)
    if is_probed:
        matcher.probe(is_from_scratch=way.is_from_scratch)
    begun = _work(matcher)
    seconds = wall = 0.0
    records, matches, steps = [0], [0], [begun.steps]
    for chunk in loaded.chunks:
        start, cpu_start, found = perf_counter(), thread_time(), 0
        for part in matcher.push(chunk):
            found += len(part)
        seconds, wall = seconds + thread_time() - cpu_start, wall + perf_counter() - start
        records.append(records[-1] + len(chunk))
        matches.append(matches[-1] + found)
        steps.append(_work(matcher).steps)
        if seconds > patience:
            break
    held = matcher.patterns()[0].partial_matches
    return _Timed(seconds, wall, tuple(records), tuple(matches), tuple(steps), _since(begun, _work(matcher)), held)


def _work(matcher: Matcher) -> SimulationWork:
    work = matcher.simulation_work(0)
    if work is None:
        message = "the pattern is not matched by an engine of dual simulation"
        raise FatalError(message)
    return work


def _since(begun: SimulationWork, now: SimulationWork) -> SimulationWork:
    return type(now)(*(getattr(now, name) - getattr(begun, name) for name in now.__slots__))


_Found = tuple[tuple[int, ...], tuple[int, ...]]


def _compare(one: _Found, other: _Found, name: str) -> _Found:
    """Return which of two lists of matches reaches further; the shorter one must agree with it.

    Raises:
        FatalError: it does not.
    """
    common = min(len(one[0]), len(other[0]))
    if one[1][:common] != other[1][:common]:
        message = f"{name}: {other[1][:common]} matches after {other[0][:common]} records, in another way {one[1][:common]}"
        raise FatalError(message)
    return max(one, other, key=lambda found: len(found[0]))


def _run(
    experiment: Experiment, case: ExperimentCase, way: EngineVariant, loaded: _Loaded, ran: tuple[int, list[_Timed], _Timed]
) -> SimulationRun:
    window, timed, probed = ran
    # Runs that were cut at other chunks count as if all had come as far as the one with the probe.
    edges, work = probed.records[-1], probed.work
    return SimulationRun(
        experiment=experiment.name,
        value=case.value,
        at=case.at,
        query=loaded.pattern.name,
        query_edges=len(loaded.pattern.edges),
        way=way.name,
        window_edges=window,
        held=probed.held,
        edges=edges,
        seconds=tuple(each.seconds * edges / each.records[-1] for each in timed),
        probed_seconds=probed.wall,
        verifying_seconds=work.verifying_nanoseconds / 1e9,
        matches=probed.matches[-1],
        taken=work.taken,
        whole_ends=work.whole_ends,
        signature_checks=work.signature_checks,
        signature_passed=work.signature_passed,
        signature_false=work.signature_false,
        verified=work.verifications_due,
        fixpoints=work.verifications_run,
        steps=work.steps,
        verifying_steps=work.verifying_steps,
        stretches=_stretches(probed),
    )


def _stretches(timed: _Timed) -> tuple[float, ...]:
    """Return the steps a record in each stretch; stretches have equally many chunks."""
    chunks = len(timed.records) - 1
    if chunks < STRETCHES:
        return ()
    ends = [chunks * place // STRETCHES for place in range(STRETCHES + 1)]
    return tuple(
        (timed.steps[to] - timed.steps[since]) / (timed.records[to] - timed.records[since]) for since, to in pairwise(ends)
    )
