"""Plans of the engine that filters: where searches start, and how many candidates are expected."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from graphtide_core.statistics import EdgeType, StatisticsSnapshot
from graphtide_core.time import EventTime
from graphtide_query import parse_subgraphs
from graphtide_query.estimates.cost_model import CostModel
from graphtide_query.explain import explain, to_dot, to_json, to_text
from graphtide_query.families.isomorphism.candidates import candidates, plan_filtering
from graphtide_query.planner import plan
from graphtide_testing.strategies import patterns
from hypothesis import given

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern

# A thousand edges a window of 100 ticks between a hundred vertices, half of them of each label.
KNOWN = StatisticsSnapshot(
    edges=10_000,
    vertices=100,
    first_ts=EventTime(0),
    last_ts=EventTime(1000),
    types={EdgeType("", "k", ""): 5_000, EdgeType("", "l", ""): 5_000},
)


def pattern(text: str) -> SubgraphPattern:
    (parsed,) = parse_subgraphs(f"PATTERN p MATCH {text} ON s WINDOW 100")
    return parsed


def model(text: str) -> CostModel:
    return CostModel(pattern(text), KNOWN, 100)


@pytest.mark.parametrize(
    ("order", "starts"),
    [
        ("", ("a", "b", "c")),
        ("ORDER a < b", ("b", "c")),
        ("ORDER a < b < c", ("c",)),
        ("ORDER a < b, a < c", ("b", "c")),
        ("ORDER c < a", ("a", "b")),
    ],
)
def test_searches_start_from_the_edges_that_nothing_must_follow(order: str, starts: tuple[str, ...]) -> None:
    planned = plan_filtering(model(f"(u)-[a:k]->(v)-[b:k]->(w)-[c:l]->(x) {order}"))
    assert tuple("abc"[start] for start in planned.starts) == starts


def test_an_edge_is_a_candidate_where_those_before_it_left_one() -> None:
    half, vertices = 500.0, 100
    free = candidates(model("(u)-[a:k]->(v)-[b:k]->(w)"))
    assert free == pytest.approx((half, half))
    # Five candidates a vertex: nearly every vertex has one.
    ordered = candidates(model("(u)-[a:k]->(v)-[b:k]->(w) ORDER a < b"))
    assert ordered == pytest.approx((half, half * -math.expm1(-half / vertices)))
    # The same two vertices: one pair in twenty has one.
    back = candidates(model("(u)-[a:k]->(v)-[b:k]->(u) ORDER a < b"))
    assert back == pytest.approx((half, half * -math.expm1(-half / vertices**2)))
    # An earlier edge that does not touch it leaves nothing at its vertices to look for.
    apart = candidates(model("(u)-[a:k]->(v)-[b:k]->(w)-[c:k]->(x) ORDER a < c"))
    assert apart == pytest.approx((half, half, half))


def test_a_filter_works_on_what_the_filter_before_it_left() -> None:
    first, second, third = candidates(model("(u)-[a:k]->(v)-[b:k]->(u)-[c:k]->(v) ORDER a < b < c"))
    pairs = 100**2
    assert second == pytest.approx(first * -math.expm1(-first / pairs))
    assert third == pytest.approx(first * -math.expm1(-first / pairs) * -math.expm1(-second / pairs))


@given(patterns())
def test_some_search_starts_and_no_start_must_come_before_another_edge(any_pattern: SubgraphPattern) -> None:
    planned = plan_filtering(CostModel(any_pattern, KNOWN, 100))
    names = [edge.name for edge in any_pattern.edges]
    assert planned.starts
    for start in planned.starts:
        assert not any(any_pattern.order.precedes(names[start], other) for other in names)
        assert sorted(planned.orders[start]) == list(range(len(names)))


def test_the_plan_is_laid_open_with_what_it_keeps_and_how_it_searches() -> None:
    text = to_text([explain(plan(pattern("(u)-[a:k]->(v)-[b:l]->(u) ORDER a < b"), "filtering", statistics=KNOWN))])
    assert "a.kept" in text
    assert "keep (v)-[b:l]->(u) after a" in text
    assert "arrives: (v)-[b:l]->(u)" in text
    assert "look up (u)-[a:k]->(v)" in text
    assert "a.1" not in text
    assert "estimated 500" in text


def test_programs_get_the_same() -> None:
    explanation = explain(plan(pattern("(u)-[a:k]->(v)-[b:l]->(u) ORDER a < b"), "filtering", statistics=KNOWN))
    assert '"name": "b.kept"' in to_json([explanation])
    assert '"0/a.kept" -> "0/b.kept"' in to_dot([explanation])
