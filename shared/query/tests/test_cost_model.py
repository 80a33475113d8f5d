"""Estimated cardinalities against what there is."""

from __future__ import annotations

from itertools import permutations
from math import factorial, isclose

import pytest
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.order import TimingOrder
from graphtide_core.pattern import QueryEdge, QueryVertex, SubgraphPattern
from graphtide_core.statistics import Direction, EdgeEnd, EdgeType, PathType, StatisticsSnapshot
from graphtide_core.time import Duration, EventTime
from graphtide_core.window import EdgeCount
from graphtide_query.estimates.cost_model import CostModel
from graphtide_query.families.isomorphism import search_order
from graphtide_testing.strategies import PatternShape, patterns
from hypothesis import given

IN, OUT = Direction.IN, Direction.OUT
A, B = EdgeType(None, "a", None), EdgeType(None, "b", None)


def pattern(edges: str, *order: tuple[str, str]) -> SubgraphPattern:
    """Read `a: x->y, b: y->z`; an edge's label is the first letter of its name."""
    parsed = []
    for part in edges.split(", "):
        name, ends = part.split(": ")
        source, target = ends.split("->")
        parsed.append(QueryEdge(name, source, target, name[0]))
    names = dict.fromkeys(end for one in parsed for end in (one.source, one.target))
    vertices = tuple(QueryVertex(name) for name in names)
    timing = TimingOrder.of(order)
    return SubgraphPattern(PatternName("p"), vertices, tuple(parsed), Duration(1_000), StreamName("s"), order=timing)


def count(types: dict[EdgeType, int], vertices: int, paths: dict[PathType, int], last: int = 1_000) -> StatisticsSnapshot:
    edges = sum(types.values())
    return StatisticsSnapshot(
        first_ts=EventTime(0), last_ts=EventTime(last), edges=edges, vertices=vertices, types=types, paths=paths
    )


HUB = count({A: 100, B: 100}, 201, {PathType.of(EdgeEnd(A, IN), EdgeEnd(B, OUT)): 10_000})
"""A hundred edges `a` into one vertex, a hundred edges `b` out of it."""


@given(patterns(PatternShape()))
def test_the_order_keeps_no_smaller_share_of_permutations_than_estimated(pattern: SubgraphPattern) -> None:
    model = CostModel(pattern)
    edges = range(len(pattern.edges))
    agreeing = sum(
        not any(model.precedes(late, early) for at, late in enumerate(row) for early in row[:at]) for row in permutations(edges)
    )
    estimated = model.consistent(edges)
    assert 1 / factorial(len(pattern.edges)) * (1 - 1e-9) <= estimated <= agreeing / factorial(len(pattern.edges)) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("order", "share"),
    [((), 1), ((("a1", "a2"),), 1 / 2), ((("a1", "a2"), ("a2", "a3")), 1 / 6), ((("a1", "a2"), ("a1", "a3")), 1 / 3)],
)
def test_of_an_order_that_is_a_forest_the_share_is_exact(order: tuple[tuple[str, str], ...], share: float) -> None:
    star = pattern("a1: v->w, a2: v->x, a3: v->y", *order)
    assert isclose(CostModel(star).consistent((0, 1, 2)), share)


def test_edges_that_meet_at_a_hub_make_as_many_paths_as_were_counted() -> None:
    through = CostModel(pattern("a: x->y, b: y->z"), HUB, 1_000)
    assert isclose(through.occurrences((0, 1)), 10_000, rel_tol=0.02)


def test_edges_that_were_never_seen_to_meet_make_few_paths() -> None:
    backwards = CostModel(pattern("a: y->x, b: y->z"), HUB, 1_000)
    assert 0 < backwards.occurrences((0, 1)) < 10


def test_where_paths_were_not_counted_edges_spread_evenly() -> None:
    evenly = StatisticsSnapshot(edges=200, vertices=100, types={A: 100, B: 100})
    assert isclose(CostModel(pattern("a: x->y, b: y->z"), evenly).occurrences((0, 1)), 100 * 100 / 100)


def test_two_edges_of_one_kind_at_a_vertex_count_both_ways_round() -> None:
    star = count({A: 100}, 101, {PathType.of(EdgeEnd(A, OUT), EdgeEnd(A, OUT)): 100 * 99 // 2})
    model = CostModel(pattern("a1: v->w, a2: v->x"), star, 1_000)
    assert isclose(model.occurrences((0, 1)), 100 * 99, rel_tol=0.02)


def test_a_sample_shorter_than_the_window_speaks_for_the_whole_window() -> None:
    sample = count({A: 50}, 60, {}, last=100)
    assert CostModel(pattern("a: x->y"), sample, 1_000).edges_in_window == 500


def test_a_window_of_edges_has_so_many_whatever_the_rate() -> None:
    sample = count({A: 50}, 60, {}, last=100)
    assert CostModel(pattern("a: x->y"), sample, EdgeCount(20)).edges_in_window == 20
    assert CostModel(pattern("a: x->y"), extent=EdgeCount(20)).edges_in_window == 20


def test_a_search_from_an_edge_that_another_must_follow_opens_nothing() -> None:
    model = CostModel(pattern("a: x->y, b: y->z", ("a", "b")), HUB, 1_000)
    assert search_order.fan_outs(model, (0, 1)) == (1.0, 0.0)
    assert search_order.fan_outs(model, (1, 0))[1] > 0


def test_query_edges_that_ask_for_the_same_are_one_kind() -> None:
    model = CostModel(pattern("a1: x->y, a2: y->z, b: z->w"), HUB, 1_000)
    assert model.kinds() == (0.5, 0.5)
