"""The engine `sj-tree` equals the oracle after every record, under all strategies and for any tree."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from graphtide_core.plans import Plan, SjTreePlan, SjTreeStrategy
from graphtide_core.time import Duration, EventTime
from graphtide_native.matcher import Matcher
from graphtide_native.records import Duplicates, JsonLinesDecoder, Symbols
from graphtide_native.spec import columns
from graphtide_query.families import PlannerOptions
from graphtide_query.planner import plan
from graphtide_testing.found import keys
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.records import to_json_lines
from graphtide_testing.strategies import PatternShape, StreamShape, edge_streams, patterns
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.edge import Edge
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_testing.found import Found
    from hypothesis.strategies import DrawFn

Leaves = tuple[tuple[int, ...], ...]

# Small gaps keep windows full, so that most patterns have matches and few edges expire one by one.
STREAM = StreamShape(gaps=(0, 1, 0, 0, 1, 2, 0, 1, 5))
SHAPE = PatternShape(stream=STREAM)


class Engine:
    """A matcher of one pattern, fed record by record."""

    def __init__(self, planned: Plan) -> None:
        projected = columns([planned.pattern])
        symbols = Symbols()
        self._matcher = Matcher([planned], symbols, projected, deletions=True)
        self._decoder = JsonLinesDecoder(symbols, projected, {})
        self._duplicates = Duplicates(planned.pattern.duration.amount)

    def push(self, record: Edge) -> list[Found]:
        batch = self._duplicates.filter(self._decoder.decode(to_json_lines([record])))
        return keys(match for part in self._matcher.push(batch) for match in part)


def assert_equal_to_the_oracle(query: SubgraphPattern, records: Sequence[Edge], plans: Iterable[Plan]) -> None:
    engines = [Engine(planned) for planned in plans]
    oracle = SubgraphOracle(query)
    for record in records:
        want = sorted(oracle.push(record))
        assert [engine.push(record) for engine in engines] == [want] * len(engines)


@st.composite
def decompose(draw: DrawFn, shape: PatternShape) -> tuple[SubgraphPattern, Leaves]:
    """A pattern with any leaves in any join order that the engine takes."""
    query = draw(patterns(shape))

    def ends(edges: Sequence[int]) -> set[str]:
        return {end for edge in edges for end in (query.edges[edge].source, query.edges[edge].target)}

    left = list(range(len(query.edges)))
    leaves: list[tuple[int, ...]] = []
    frontier: set[str] = set()
    while left:
        pairs = [pair for pair in combinations(left, 2) if ends(pair[:1]) & ends(pair[1:])]
        swapped = [(second, first) for first, second in pairs]
        primitives: list[tuple[int, ...]] = [(edge,) for edge in left] + [*pairs, *swapped]
        leaf = draw(st.sampled_from([one for one in primitives if not frontier or frontier & ends(one)]))
        leaves.append(leaf)
        frontier |= ends(leaf)
        left = [edge for edge in left if edge not in leaf]
    return query, tuple(leaves)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(query=patterns(SHAPE), records=edge_streams(STREAM))
def test_planned_trees(query: SubgraphPattern, records: tuple[Edge, ...]) -> None:
    assert_equal_to_the_oracle(
        query, records, [plan(query, PlannerOptions.of("sj-tree", strategy.value)) for strategy in SjTreeStrategy]
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=decompose(replace(SHAPE, min_edges=2, keys=False)), records=edge_streams(STREAM))
def test_any_tree(case: tuple[SubgraphPattern, Leaves], records: tuple[Edge, ...]) -> None:
    query, leaves = case
    strategies = (SjTreeStrategy.PATH, SjTreeStrategy.PATH_LAZY)
    assert_equal_to_the_oracle(query, records, [Plan(query, SjTreePlan(leaves, strategy)) for strategy in strategies])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=decompose(replace(SHAPE, min_edges=2, keys=False)), records=edge_streams(STREAM))
def test_windows_too_long_for_exact_slots(case: tuple[SubgraphPattern, Leaves], records: tuple[Edge, ...]) -> None:
    query, leaves = case
    query = replace(query, window=Duration(query.duration.amount * 997))
    records = tuple(replace(record, ts=EventTime(record.ts * 997)) for record in records)
    strategies = (SjTreeStrategy.PATH, SjTreeStrategy.PATH_LAZY)
    assert_equal_to_the_oracle(query, records, [Plan(query, SjTreePlan(leaves, strategy)) for strategy in strategies])
