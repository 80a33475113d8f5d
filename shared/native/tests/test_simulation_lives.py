"""A pattern of dual simulation that begins, crashes, moves and is replanned reports what it would have reported in one life."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from graphtide_core.pattern import OF_SIMULATION, Report
from graphtide_core.time import TimeUnit
from graphtide_native.matcher import Matcher
from graphtide_native.records import ArrowDecoder, JsonLinesDecoder, Symbols
from graphtide_native.spec import Limits, columns
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES
from graphtide_query.planner import plan
from graphtide_query.reads import match_lookback
from graphtide_testing.components import by_text, make_expected, read_report
from graphtide_testing.found import keys
from graphtide_testing.oracles.simulation import SimulationOracle
from graphtide_testing.records import to_json_lines
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import PatternShape, StreamShape, random_pattern, random_stream
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.consumption import ConsumptionCursor
    from graphtide_core.edge import Edge
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import Plan
    from graphtide_native.records import EdgeBatch
    from graphtide_testing.components import Emitted

(OTHER,) = parse_subgraphs("PATTERN other MATCH (v)-[e]->(w) ON s WINDOW 2")
STREAM = StreamShape(duplicates=False)


class Life:
    """A matcher in which the pattern is, and another."""

    def __init__(self, pattern: SubgraphPattern, rng: random.Random, edges: Sequence[Edge]) -> None:
        self._pattern, self._rng, self._edges = pattern, rng, edges
        self._symbols, self._names = Symbols(), columns([pattern, OTHER])
        self._window = match_lookback(pattern, TimeUnit.MILLISECOND)
        self._number = 0

    def begun(self, start: int, position: int, consumption: ConsumptionCursor | None) -> Life:
        """Begin in a matcher that is made for the pattern, at `start`, or at `position` where it consumed so much before."""
        self._matcher = self._made(self._pattern, OTHER)
        begins = start if consumption is None else position
        self._matcher.wait(0, consumption)
        past = self._lookback(begins)
        cut = self._rng.randint(past, begins)
        self._take(self._selected(past, cut) if self._rng.random() < 0.5 else self._decoded(past, cut))
        self._take(self._decoded(cut, begins))
        self._matcher.begin(0)
        self._take(self._decoded(begins, position))
        return self

    def joined(self, start: int, position: int, consumption: ConsumptionCursor | None) -> Life:
        """Join a matcher that is there already, with what a small one beside it knows."""
        beside = Life(self._pattern, self._rng, self._edges).begun(start, position, consumption)
        self._matcher = self._made(OTHER)
        past = self._lookback(position)
        self._take(self._decoded(past, position))
        cut = self._rng.randint(past, position)
        self._number = self._matcher.add(
            self._planned(),
            Limits(),
            unreported=[self._decoded(past, cut)],
            reported=[self._decoded(cut, position)],
            consumption=beside.consumption,
        )
        beside.hand_over(self._matcher, self._number)
        return self

    def waiting(self, start: int, position: int) -> Life:
        """Join before the beginning."""
        assert position <= start
        self._matcher = self._made(OTHER)
        past = self._lookback(position)
        self._take(self._decoded(past, position))
        unreported = [self._decoded(past, position)]
        self._number = self._matcher.add(self._planned(), Limits(), unreported=unreported, reported=[], has_begun=False)
        self._take(self._decoded(position, start))
        self._matcher.begin(self._number)
        return self

    @property
    def consumption(self) -> ConsumptionCursor | None:
        return self._matcher.consumption(self._number)

    def hand_over(self, matcher: Matcher, number: int) -> None:
        """Let a matcher continue from what this one reported of the pattern."""
        matcher.take_deduplication(number, self._matcher, self._number)

    def replan(self) -> None:
        assert self._matcher.replan(self._number, self._planned())

    def push(self, place: int) -> list[Emitted]:
        return self._take(self._decoded(place, place + 1))

    def _made(self, *patterns: SubgraphPattern) -> Matcher:
        plans = [self._planned() if each is self._pattern else plan(each, "timing") for each in patterns]
        return Matcher(plans, self._symbols, self._names, deletions=True, adaptive=True)

    def _planned(self) -> Plan:
        return plan(self._pattern, self._rng.choice(FAMILIES["simulation"].names))

    def _lookback(self, position: int) -> int:
        """Return a place from which on the edges of the window are there, or one before."""
        if not position:
            return 0
        newest = self._edges[position - 1].ts
        first = next(place for place, edge in enumerate(self._edges) if edge.ts > newest - self._window)
        return self._rng.choice([first, self._rng.randint(0, first)])

    def _decoded(self, start: int, stop: int) -> EdgeBatch:
        decoder = JsonLinesDecoder(self._symbols, self._names, {})
        # Ids that are made go by the place in the stream.
        decoder.decode(to_json_lines(self._edges[:start]))
        return decoder.decode(to_json_lines(self._edges[start:stop]))

    def _selected(self, start: int, stop: int) -> EdgeBatch:
        other, batch = self._made(self._pattern, OTHER), self._decoded(start, stop)
        for _ in other.push(batch):
            pass
        return ArrowDecoder(self._symbols, self._names, {}).decode(other.selected(batch).to_arrow())

    def _take(self, batch: EdgeBatch) -> list[Emitted]:
        found = (match for matches in self._matcher.push(batch) for match in matches if match.query == self._pattern.name)
        return by_text([read_report(each) for each in keys(found)])


def compare_lives(pattern: SubgraphPattern, edges: Sequence[Edge], rng: random.Random) -> int:
    """Compare after each record, through several lives; return the number of reports."""
    start, count = rng.randint(0, len(edges)), 0
    oracle, life = SimulationOracle(pattern), Life(pattern, rng, edges)
    for edge in edges[:start]:
        oracle.push(edge)
    oracle.begin()
    early = rng.randint(0, start)
    life = life.waiting(start, early) if rng.random() < 0.3 else life.begun(start, start, None)
    for place in range(start, len(edges)):
        if rng.random() < 0.3:
            life.replan()
        if rng.random() < 0.2:
            next_life, consumption = Life(pattern, rng, edges), life.consumption
            life = rng.choice([next_life.begun, next_life.joined])(start, place, consumption)
        emitted = [make_expected(each) for each in oracle.push(edges[place])]
        assert life.push(place) == by_text(emitted)
        count += len(emitted)
    return count


@given(seed=st.integers(0, 2**32), report=st.sampled_from(OF_SIMULATION))
def test_one_life_or_many(seed: int, report: Report) -> None:
    rng = random.Random(seed)
    compare_lives(random_pattern(rng, PatternShape(max_edges=3, report=report)), random_stream(rng, STREAM), rng)


@pytest.mark.parametrize("report", OF_SIMULATION)
def test_many_lives(report: Report) -> None:
    emitted = 0
    for seed in seeds(30):
        rng = random.Random(seed)
        emitted += compare_lives(random_pattern(rng, PatternShape(max_edges=3, report=report)), random_stream(rng, STREAM), rng)
    assert emitted > 30, "the cases must have matches"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1_000, 6_000, 1_000))
@pytest.mark.parametrize("report", OF_SIMULATION)
def test_very_many_lives(first: int, report: Report) -> None:
    for seed in range(first, first + 1_000):
        rng = random.Random(seed)
        compare_lives(random_pattern(rng, PatternShape(max_edges=3, report=report)), random_stream(rng, STREAM), rng)
