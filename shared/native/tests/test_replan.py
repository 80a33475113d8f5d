"""Plans that change while the stream runs: no match is lost, none comes twice."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime
from graphtide_native.spec import Concurrency, Limits
from graphtide_query import parse_subgraphs
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.planner_options import some_plan
from graphtide_testing.strategies import StreamShape, edge_streams, patterns
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern

SEEDS = st.integers(0, 2**32)


@given(pattern=patterns(), edges=edge_streams(), seed=SEEDS)
def test_changing_the_plan_between_any_two_records_changes_no_match(
    pattern: SubgraphPattern, edges: tuple[Edge, ...], seed: int
) -> None:
    rng = Random(seed)
    oracle, feed = SubgraphOracle(pattern), Feed(some_plan(pattern, rng), adaptive=True)
    for edge in edges:
        if rng.random() < 0.3:
            assert feed.matcher.replan(0, some_plan(pattern, rng))
        assert feed.push(edge) == sorted(oracle.push(edge))


@given(first=patterns(), second=patterns(), edges=edge_streams(StreamShape(duplicates=False)), seed=SEEDS)
def test_a_change_leaves_other_patterns_alone(
    first: SubgraphPattern, second: SubgraphPattern, edges: tuple[Edge, ...], seed: int
) -> None:
    rng = Random(seed)
    oracles = [SubgraphOracle(first), SubgraphOracle(second)]
    feed = Feed(some_plan(first, rng), some_plan(second, rng), adaptive=True)
    for edge in edges:
        if rng.random() < 0.3:
            number = rng.randrange(2)
            assert feed.matcher.replan(number, some_plan((first, second)[number], rng))
        assert feed.push(edge) == sorted(found for oracle in oracles for found in oracle.push(edge))


def edge(number: int, source: object, target: object) -> Edge:
    return Edge(EdgeId(f"e{number}"), EventTime(number), VertexId(str(source)), VertexId(str(target)), "k")


CHAIN = "PATTERN p MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y ON s WINDOW 1000"


@pytest.mark.parametrize("engine", ["re-search", "filtering"])
def test_a_plan_that_would_reach_a_limit_is_refused_and_the_old_one_goes_on(engine: str) -> None:
    (pattern,) = parse_subgraphs(CHAIN)
    feed = Feed(plan(pattern, engine), limits=Limits(partial_matches=3), adaptive=True)
    feed.push(*(edge(number, f"s{number}", "hub") for number in range(10)))
    assert not feed.matcher.replan(0, plan(pattern, "timing"))
    assert len(feed.push(edge(10, "hub", "end"))) == 10


def test_a_matcher_that_is_not_adaptive_says_so() -> None:
    (pattern,) = parse_subgraphs(CHAIN)
    with pytest.raises(ValueError, match="keeps no edges to replay"):
        Feed(plan(pattern, "timing")).matcher.replan(0, plan(pattern, "re-search"))


def test_a_plan_may_move_to_several_threads() -> None:
    (pattern,) = parse_subgraphs(CHAIN)
    feed = Feed(plan(pattern, "re-search"), concurrency=Concurrency(2), adaptive=True)
    feed.push(edge(1, "a", "b"))
    assert feed.matcher.replan(0, plan(pattern, "timing"))
    assert [found.vertices for found in feed.push(edge(2, "b", "c"))] == [(("a", "a"), ("b", "b"), ("c", "c"))]


def test_counts_go_on_over_a_change() -> None:
    (pattern,) = parse_subgraphs(CHAIN)
    feed = Feed(plan(pattern, "timing"), adaptive=True)
    feed.push(edge(1, "a", "b"), edge(2, "b", "c"))
    feed.matcher.replan(0, plan(pattern, "sj-tree"))
    feed.push(edge(3, "c", "d"))
    (report,) = feed.matcher.patterns()
    assert (report.matches, feed.matcher.totals().matches) == (2, 2)
