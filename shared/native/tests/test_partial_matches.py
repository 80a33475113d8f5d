"""The partial matches that a matcher shows are those of the definition, under every engine that stores some."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.partial_matches import BoundEdge, PartialMatch, PartialMatches
from graphtide_core.predicate import Attribute, IsNull, Negation
from graphtide_core.time import EventTime
from graphtide_native.spec import Concurrency
from graphtide_query import parse, parse_subgraphs
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.oracles.partial_matches import PartialMatchOracle
from graphtide_testing.planner_options import describe, planner_options_of
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import StreamShape, edge_streams, patterns, random_pattern, random_stream
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.pattern import SubgraphPattern
    from graphtide_query.families import PlannerOptions

OPTIONS = planner_options_of("isomorphism")
STORING = [each for each in OPTIONS if each.engine in {"timing", "sj-tree"}]
STREAM = StreamShape(max_records=14, nameless=False)
"""Ids of edges are different as texts."""
SEARCHING = [each for each in OPTIONS if each not in STORING]


def view(feed: Feed, most: int = 10_000, budget: int = 1_000_000) -> PartialMatches:
    return msgspec.json.decode(feed.matcher.partial_matches(0, most, budget), type=PartialMatches)


def edges_of(partial: PartialMatch) -> frozenset[tuple[str, str]]:
    return frozenset((name, edge.id) for name, edge in partial.edges.items())


def assert_equal_to_the_oracle(oracle: PartialMatchOracle, feed: Feed, *, has_deletions: bool) -> int:
    """Compare the whole view with the definition; return how many partial matches there are."""
    seen = view(feed)
    by_step = {step.name: oracle.partial_matches(step.edges) for step in seen.steps}
    want = [each for found in by_step.values() for each in found]
    found = [edges_of(partial) for partial in seen.nearest]
    assert sorted(map(sorted, found)) == sorted(map(sorted, want))
    assert (seen.stored or not seen.nearest, seen.truncated) == (True, False)
    ranks = [oracle.rank(each) for each in found]
    assert ranks == sorted(ranks, reverse=True)
    for step in seen.steps:
        assert step.alive >= len(by_step[step.name])
        assert has_deletions or step.alive == len(by_step[step.name])
    return len(want)


def assert_nearest(oracle: PartialMatchOracle, feed: Feed, most: int, budget: int) -> None:
    """Compare a part of the view with the whole: the nearest come first, and a bound that cuts them is reported."""
    whole, part = view(feed), view(feed, most, budget)
    ranks = [oracle.rank(edges_of(each)) for each in whole.nearest]
    assert {edges_of(each) for each in part.nearest} <= {edges_of(each) for each in whole.nearest}
    if not part.truncated:
        assert [oracle.rank(edges_of(each)) for each in part.nearest] == ranks[:most]
    assert len(part.nearest) <= most


@pytest.mark.parametrize("planner_options", STORING, ids=describe)
@given(
    pattern=patterns(),
    edges=edge_streams(STREAM),
    bounds=st.tuples(st.integers(0, 5), st.integers(0, 30)),
    is_adaptive=st.booleans(),
)
def test_the_view_is_what_the_definition_says_after_every_record(
    planner_options: PlannerOptions,
    pattern: SubgraphPattern,
    edges: tuple[Edge, ...],
    bounds: tuple[int, int],
    is_adaptive: bool,
) -> None:
    oracle, feed = PartialMatchOracle(pattern), Feed(plan(pattern, planner_options), adaptive=is_adaptive)
    has_deletions = any(edge.operation is Operation.DELETE for edge in edges)
    for edge in edges:
        oracle.push(edge)
        feed.push(edge)
        assert_equal_to_the_oracle(oracle, feed, has_deletions=has_deletions)
        assert_nearest(oracle, feed, *bounds)


@pytest.mark.parametrize("concurrency", [Concurrency(2), Concurrency(3, "all")], ids=str)
@given(pattern=patterns(), edges=edge_streams(STREAM), most=st.integers(0, 5), budget=st.integers(0, 30))
def test_several_threads_show_the_same(
    concurrency: Concurrency, pattern: SubgraphPattern, edges: tuple[Edge, ...], most: int, budget: int
) -> None:
    oracle, feed = PartialMatchOracle(pattern), Feed(plan(pattern, "timing"), concurrency=concurrency)
    for edge in edges:
        oracle.push(edge)
    feed.push(*edges)
    assert_equal_to_the_oracle(oracle, feed, has_deletions=any(edge.operation is Operation.DELETE for edge in edges))
    assert_nearest(oracle, feed, most, budget)


@pytest.mark.parametrize("planner_options", STORING, ids=describe)
def test_looking_at_random_points_of_dense_streams_changes_no_match(planner_options: PlannerOptions) -> None:
    total = 0
    for seed in seeds(40):
        rng = random.Random(seed)
        pattern = random_pattern(rng)
        edges = random_stream(rng, replace(STREAM, max_records=24, deletions=False, duplicates=False, gaps=(0, 1, 0, 0, 1)))
        oracle = PartialMatchOracle(pattern)
        feed, unseen = (Feed(plan(pattern, planner_options), deletions=False) for _ in range(2))
        for edge in edges:
            oracle.push(edge)
            assert feed.push(edge) == unseen.push(edge)
            if rng.random() < 0.3:
                total += assert_equal_to_the_oracle(oracle, feed, has_deletions=False)
    assert total > 100, "the cases must have partial matches"


@pytest.mark.parametrize("planner_options", SEARCHING, ids=describe)
@given(pattern=patterns(), edges=edge_streams(STREAM))
def test_engines_that_search_say_that_they_store_none(
    planner_options: PlannerOptions, pattern: SubgraphPattern, edges: tuple[Edge, ...]
) -> None:
    feed = Feed(plan(pattern, planner_options))
    feed.push(*edges)
    seen = view(feed)
    assert (seen.stored, seen.truncated, seen.nearest) == (False, False, ())


def edge(id: str, ts: int, source: str, target: str, label: str = "e") -> Edge:
    return Edge(EdgeId(id), EventTime(ts), VertexId(source), VertexId(target), label)


def feed_all(text: str, engine: str, edges: Sequence[Edge]) -> Feed:
    feed = Feed(plan(parse(text)[0], engine))
    feed.push(*edges)
    return feed


PATH = "PATTERN p MATCH (a)-[x]->(b)-[y]->(c)-[z]->(d) ORDER x < y < z ON s WINDOW 10ms"


@pytest.mark.parametrize("engine", ["timing", "sj-tree"])
def test_a_view_says_what_is_bound_what_is_awaited_and_until_when(engine: str) -> None:
    seen = view(feed_all(PATH, engine, [edge("1", 1, "u", "v"), edge("2", 3, "v", "w")]), most=1)
    assert (seen.time, seen.stored, seen.truncated) == (3, True, False)
    assert seen.nearest == (
        PartialMatch(
            edges={"x": BoundEdge("1", 1), "y": BoundEdge("2", 3)},
            vertices={"a": "u", "b": "v", "c": "w"},
            awaited=("z",),
            until=11,
        ),
    )


@pytest.mark.parametrize("engine", ["timing", "sj-tree"])
def test_a_condition_that_no_vertex_satisfies_is_decided_before_the_vertex_is_bound(engine: str) -> None:
    pattern = replace(parse_subgraphs(PATH)[0], predicates=(Negation(IsNull(Attribute("d", "n"))),))
    oracle, feed = PartialMatchOracle(pattern), Feed(plan(pattern, engine))
    for each in (edge("1", 1, "u", "v"), edge("2", 3, "v", "w")):
        oracle.push(each)
        feed.push(each)
        assert assert_equal_to_the_oracle(oracle, feed, has_deletions=False) == 0


def test_counts_are_by_step_of_the_plan() -> None:
    seen = view(feed_all(PATH, "timing", [edge("1", 1, "u", "v"), edge("2", 3, "v", "w"), edge("3", 4, "o", "p")]))
    assert [(step.name, step.edges, step.alive) for step in seen.steps] == [("L1.1", ("x",), 3), ("L1.2", ("x", "y"), 1)]


def test_what_left_the_window_is_not_shown_although_no_edge_came_for_the_pattern() -> None:
    feed = feed_all(PATH, "timing", [edge("1", 1, "u", "v"), edge("2", 3, "v", "w")])
    list(feed.matcher.pass_time(11))
    list(feed.matcher.advance(11))
    seen = view(feed)
    assert [sorted(each.edges) for each in seen.nearest] == [["x"]]
    assert sum(step.alive for step in seen.steps) == 1


def test_a_spent_budget_is_reported_and_the_nearest_come_first_all_the_same() -> None:
    edges = [edge(str(number), number // 100, f"u{number}", "v") for number in range(900)]
    feed = feed_all(PATH, "timing", [*edges, edge("last", 9, "v", "w")])
    seen = view(feed, most=5, budget=50)
    assert seen.truncated
    assert {len(each.edges) for each in seen.nearest} == {2}
    whole = view(feed, most=5)
    assert not whole.truncated
    assert [each.edges["x"].ts for each in whole.nearest] == [8] * 5


def test_before_the_first_record_there_is_nothing() -> None:
    seen = view(Feed(plan(parse(PATH)[0], "timing")))
    assert (seen.time, seen.stored, seen.nearest) == (None, True, ())


def test_a_number_that_no_pattern_has_is_refused() -> None:
    with pytest.raises(LookupError, match="no pattern has the number 7"):
        Feed(plan(parse(PATH)[0], "timing")).matcher.partial_matches(7)


def test_families_that_store_something_else_show_its_size() -> None:
    simulation = "PATTERN p MATCH (a)-[x]->(b)-[y]->(c) UNDER DUAL SIMULATION ON s WINDOW 10ms"
    seen = view(feed_all(simulation, "ddst-coloring", [edge("1", 1, "u", "v"), edge("2", 3, "v", "w")]))
    assert (seen.stored, seen.nearest) == (False, ())
    assert [(step.name, step.edges) for step in seen.steps] == [("held", ())]
