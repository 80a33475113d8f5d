"""The match funnel adds up and says what happened, and near misses are what they claim to be, for every engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.funnel import Part, Reason, Step, Store
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.plans import Plan, SearchPlan, SjTreePlan, TimingPlan
from graphtide_core.time import EventTime
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES, PlannerOptions
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.planner_options import describe, planner_options_of
from graphtide_testing.strategies import PatternShape, StreamShape, edge_streams, patterns
from hypothesis import given

if TYPE_CHECKING:
    from graphtide_core.funnel import Funnel
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_native.reports import PatternReport

PLANNER_OPTIONS = planner_options_of("isomorphism")
ENGINES = [PlannerOptions(engine) for engine in FAMILIES["isomorphism"].names]
STORING, SEARCHING = (
    [PlannerOptions("timing"), PlannerOptions("sj-tree")],
    [PlannerOptions("re-search"), PlannerOptions("filtering")],
)
STREAM = StreamShape(gaps=(0, 1, 0, 0, 1, 2, 0, 1, 5))
UNIQUE = replace(STREAM, nameless=False, duplicates=False, deletions=False)


def edge(ts: int, source: str, label: str, target: str, n: int = 0) -> Edge:
    """An edge whose id says when it comes: `e7`."""
    return Edge(EdgeId(f"e{ts}"), EventTime(ts), VertexId(source), VertexId(target), label, attributes={"n": n})


def deletion(ts: int, of: str) -> Edge:
    return Edge(EdgeId(of), EventTime(ts), VertexId(""), VertexId(""), "", operation=Operation.DELETE)


def measure_funnel(text: str, planner_options: PlannerOptions, *records: Edge, misses: int = 3) -> Funnel:
    (pattern,) = parse_subgraphs(text)
    feed = Feed(plan(pattern, planner_options), traced=misses)
    feed.push(*records)
    (funnel,) = feed.matcher.funnels()
    return funnel


def whole(funnel: Funnel, node: str) -> Step:
    return funnel.steps[node, Part.WHOLE, None]


def assert_adds_up(funnel: Funnel, report: PatternReport, used: Plan) -> None:
    for step in (*funnel.edges.values(), *funnel.steps.values()):
        assert step.looked_at == step.passed + sum(step.refused.values())
    for store in funnel.stores.values():
        assert store.created == store.alive + store.expired + store.deleted + store.given_up
    assert tuple(step.passed for step in funnel.edges.values()) == report.hits
    assert sum(funnel.discarded.values()) == report.discarded
    # The union of one subquery is the subquery again.
    items = {item.name: item for item in report.items if item.created and item.name != "L0.1"}
    assert {node: store.created for node, store in funnel.stores.items()} == {n: i.created for n, i in items.items()}
    for node, store in funnel.stores.items():
        assert store.alive <= items[node].live, "what the engine gave up is not alive"
        if isinstance(used.physical, TimingPlan):
            assert whole(funnel, node).passed == store.created
    found = last_passed(funnel, used)
    assert found is None or found == report.matches + report.suppressed


def last_passed(funnel: Funnel, used: Plan) -> int | None:
    """What passed the last steps; None for `filtering`, whose searches may take the edges in another order than planned."""
    match used.physical:
        case TimingPlan(subqueries=[only]):
            ends = {f"L1.{len(only)}"}
        case TimingPlan(subqueries=subqueries):
            ends = {f"L0.{len(subqueries)}"}
        case SjTreePlan(leaves=[[_]]):
            ends = {"P1"}
        case SjTreePlan(leaves=[_]):
            return sum(step.passed for (_, part, _), step in funnel.steps.items() if part is Part.LOOK_UP)
        case SjTreePlan(leaves=leaves):
            ends = {f"J{len(leaves)}"}
        case SearchPlan(orders=orders):
            ends = {f"{edge}.{len(orders)}" for edge in funnel.edges}
        case _:
            return None
    return sum(step.passed for (node, _, _), step in funnel.steps.items() if node in ends)


@pytest.mark.parametrize("planner_options", PLANNER_OPTIONS, ids=describe)
@given(pattern=patterns(PatternShape(stream=STREAM)), edges=edge_streams(STREAM))
def test_a_traced_engine_reports_the_same_matches_and_its_funnel_adds_up(
    planner_options: PlannerOptions, pattern: SubgraphPattern, edges: tuple[Edge, ...]
) -> None:
    used = plan(pattern, planner_options)
    feed, oracle = Feed(used, traced=3), SubgraphOracle(pattern)
    for record in edges:
        assert feed.push(record) == sorted(oracle.push(record))
    (funnel,), (report,) = feed.matcher.funnels(), feed.matcher.patterns()
    assert_adds_up(funnel, report, used)


@pytest.mark.parametrize("planner_options", PLANNER_OPTIONS, ids=describe)
@given(pattern=patterns(PatternShape(min_edges=2, stream=UNIQUE)), edges=edge_streams(UNIQUE))
def test_a_near_miss_expired_is_in_no_match_and_in_no_other(
    planner_options: PlannerOptions, pattern: SubgraphPattern, edges: tuple[Edge, ...]
) -> None:
    feed = Feed(plan(pattern, planner_options), traced=3)
    matches = [dict(found.edges) for found in feed.push(*edges)]
    (funnel,) = feed.matcher.funnels()
    bound: list[dict[str, str]] = [{name: found for name, (found, _) in miss.edges.items()} for miss in funnel.misses]
    assert [len(parts) for parts in bound] == sorted((len(parts) for parts in bound), reverse=True)
    known = {record.id: record for record in edges}
    ends = {part.name: (part.source, part.target) for part in pattern.edges}
    for miss, parts in zip(funnel.misses, bound, strict=True):
        assert len(parts) < len(pattern.edges)
        assert not any(parts.items() <= other.items() for other in (*bound, *matches) if other is not parts)
        # An id that was deleted and came again is another edge of a match of the same ids.
        if len({record.id for record in edges}) == len(edges):
            assert not any(parts.items() <= match.items() for match in matches)
        assert miss.expired_at == min(ts for _, ts in miss.edges.values()) + pattern.duration.amount <= edges[-1].ts
        assert set(miss.waited_for).isdisjoint(parts)
        assert miss.waited_for
        for name, (found, ts) in miss.edges.items():
            data, at = known[found], tuple(miss.vertices[end] for end in ends[name])
            assert (ts, *at) == (data.ts, data.source, data.target)


@pytest.mark.parametrize("planner_options", PLANNER_OPTIONS, ids=describe)
@given(pattern=patterns(PatternShape(stream=STREAM)), edges=edge_streams(STREAM))
def test_the_counts_do_not_depend_on_the_batches(
    planner_options: PlannerOptions, pattern: SubgraphPattern, edges: tuple[Edge, ...]
) -> None:
    together, apart = (Feed(plan(pattern, planner_options), traced=3) for _ in range(2))
    together.push(*edges)
    apart.one_by_one(edges)
    (first,), (second,) = together.matcher.funnels(), apart.matcher.funnels()
    assert (first.edges, first.discarded, first.stores) == (second.edges, second.discarded, second.stores)
    assert first.misses == second.misses


@given(edges=edge_streams(replace(UNIQUE, self_loops=False)))
def test_near_misses_are_those_that_came_furthest(edges: tuple[Edge, ...]) -> None:
    """Under a total order every prefix is stored, so that the oracle's matches of the prefixes are the partial matches."""
    path = [f"(v{number})-[e{number}:{label}]->(v{number + 1})" for number, label in enumerate("xyx")]
    found = []
    for length in range(1, len(path) + 1):
        order = f"ORDER {' < '.join(f'e{number}' for number in range(length))}" if length > 1 else ""
        (prefix,) = parse_subgraphs(f"PATTERN p MATCH {', '.join(path[:length])} {order} ON s WINDOW 4")
        found.append([set(match.edges) for match in SubgraphOracle(prefix).run(edges)])
    *partial, whole_matches = found
    times = {record.id: record.ts for record in edges}
    gone = [
        parts
        for matches in partial
        for parts in matches
        if min(times[EdgeId(name)] for _, name in parts) + 4 <= max(times.values())
        and not any(parts <= match for match in whole_matches)
    ]
    furthest = [parts for parts in gone if not any(parts < other for other in gone)]

    def rank(names: set[EdgeId]) -> tuple[int, int, int]:
        return len(names), max(times[name] for name in names), min(times[name] for name in names)

    (pattern,) = parse_subgraphs(f"PATTERN p MATCH {', '.join(path)} ORDER e0 < e1 < e2 ON s WINDOW 4")
    feed = Feed(Plan(pattern, TimingPlan(((0, 1, 2),))), traced=3)
    feed.push(*edges)
    (funnel,) = feed.matcher.funnels()
    shown = [rank({found for found, _ in miss.edges.values()}) for miss in funnel.misses]
    expected = sorted((rank({EdgeId(name) for _, name in parts}) for parts in furthest), reverse=True)
    assert shown == expected[:3]


def test_an_untraced_matcher_has_no_funnel() -> None:
    (pattern,) = parse_subgraphs("PATTERN p MATCH (a)-[x]->(b) ON s WINDOW 10")
    assert Feed(plan(pattern, "timing")).matcher.funnels() == ()


PATH = "PATTERN p MATCH (a)-[x:k]->(b)-[y:l]->(c)-[z:m]->(d) WHERE y.n > 0 AND x.n < z.n ORDER x < y, y < z ON s WINDOW 10"
RECORDS = (
    edge(1, "a", "k", "b", n=5),
    edge(2, "b", "l", "b", n=1),  # a loop
    edge(3, "b", "l", "c", n=0),  # y's own predicate
    edge(4, "b", "l", "a", n=1),  # back to a
    edge(5, "b", "l", "c", n=1),
    edge(6, "c", "m", "d", n=3),  # not above x.n
    edge(7, "c", "m", "b", n=9),  # back to b
    edge(8, "c", "m", "e", n=9),  # the match
    edge(30, "q", "k", "r"),
)


@pytest.mark.parametrize("planner_options", ENGINES, ids=describe)
def test_why_a_record_could_not_be_a_query_edge(planner_options: PlannerOptions) -> None:
    funnel = measure_funnel(PATH, planner_options, *RECORDS)
    assert funnel.edges == {
        "x": Step(9, {Reason.LABEL: 7}, 2),
        "y": Step(9, {Reason.LABEL: 5, Reason.ENDS: 1, Reason.PREDICATE: 1}, 2),
        "z": Step(9, {Reason.LABEL: 6}, 3),
    }


def test_what_each_step_of_timing_refused() -> None:
    funnel = measure_funnel(PATH, PlannerOptions("timing"), *RECORDS)
    assert whole(funnel, "L1.1") == Step(2, {}, 2)
    assert whole(funnel, "L1.2") == Step(2, {Reason.DISTINCT: 1}, 1)
    assert whole(funnel, "L1.3") == Step(3, {Reason.PREDICATE: 1, Reason.DISTINCT: 1}, 1)
    assert funnel.stores == {"L1.1": Store(2, 1, 1, 0, 0), "L1.2": Store(1, 0, 1, 0, 0)}
    assert funnel.discarded == {"x": 0, "y": 1, "z": 2}
    assert funnel.misses == (), "what expired is part of the match"


def test_what_each_step_of_a_join_tree_refused() -> None:
    (pattern,) = parse_subgraphs(PATH)
    feed = Feed(Plan(pattern, SjTreePlan(((0,), (1,), (2,)))), traced=3)
    feed.push(*RECORDS)
    (funnel,) = feed.matcher.funnels()
    assert funnel.steps["P1", Part.ARRIVAL, "x"] == Step(2, {}, 2)
    assert whole(funnel, "J2") == Step(2, {Reason.DISTINCT: 1}, 1)
    assert whole(funnel, "J3") == Step(3, {Reason.PREDICATE: 1, Reason.DISTINCT: 1}, 1)
    assert funnel.stores == {"P1": Store(2, 1, 1, 0, 0), "J2": Store(1, 0, 1, 0, 0)}


def test_what_each_step_of_the_searches_refused() -> None:
    (pattern,) = parse_subgraphs(PATH)
    order = ((0, 1, 2), (1, 0, 2), (2, 1, 0))
    feed = Feed(Plan(pattern, SearchPlan(order)), traced=3)
    feed.push(*RECORDS)
    (funnel,) = feed.matcher.funnels()
    assert funnel.steps["z.1", Part.ARRIVAL, "z"] == Step(3, {}, 3)
    assert funnel.steps["z.2", Part.LOOK_UP, "y"] == Step(3, {Reason.DISTINCT: 1}, 2)
    assert funnel.steps["z.3", Part.LOOK_UP, "x"] == Step(2, {Reason.PREDICATE: 1}, 1)
    assert funnel.steps["y.2", Part.LOOK_UP, "x"] == Step(2, {Reason.DISTINCT: 1}, 1)


def test_filtering_says_what_it_does_not_keep_and_does_not_search() -> None:
    funnel = measure_funnel(PATH, PlannerOptions("filtering"), edge(1, "b", "l", "c", n=1), edge(2, "c", "m", "d", n=1))
    assert whole(funnel, "y.kept") == Step(1, {Reason.PARTNER: 1}, 0)
    assert funnel.steps["z.1", Part.ARRIVAL, "z"] == Step(1, {Reason.PARTNER: 1}, 0)


@pytest.mark.parametrize("planner_options", ENGINES, ids=describe)
def test_the_order_the_window_and_deletions_refuse(planner_options: PlannerOptions) -> None:
    text = "PATTERN p MATCH (a)-[x:k]->(b)-[y:l]->(c) ORDER x < y ON s WINDOW 10"
    tie = measure_funnel(
        text, planner_options, edge(1, "a", "k", "b"), Edge(EdgeId("t"), EventTime(1), VertexId("b"), VertexId("c"), "l")
    )
    gone = measure_funnel(text, planner_options, edge(1, "a", "k", "b"), deletion(2, "e1"), edge(3, "b", "l", "c"))
    reasons = [{reason for step in funnel.steps.values() for reason in step.refused} for funnel in (tie, gone)]
    assert reasons == [{Reason.ORDER}, {Reason.DELETED}]
    for store in gone.stores.values():
        assert store == Store(1, 0, 0, 1, 0)


NEAR = (edge(20, "a", "k", "b", n=5), edge(22, "b", "l", "c", n=1), edge(24, "c", "m", "d", n=5))
"""A match but for the predicate over x and z."""


@pytest.mark.parametrize("planner_options", STORING, ids=describe)
def test_the_stored_partial_match_that_came_furthest_is_named_with_what_it_waited_for(planner_options: PlannerOptions) -> None:
    funnel = measure_funnel(PATH, planner_options, edge(1, "o", "k", "p"), *NEAR, edge(50, "q", "k", "r"), misses=1)
    (miss,) = funnel.misses
    assert dict(miss.edges) == {"x": ("e20", 20), "y": ("e22", 22)}
    assert dict(miss.vertices) == {"a": "a", "b": "b", "c": "c"}
    assert (miss.waited_for, miss.expired_at, miss.searched_at) == (("z",), 30, None)
    assert miss.refused == {Reason.PREDICATE: 1}


@pytest.mark.parametrize("planner_options", SEARCHING, ids=describe)
def test_the_search_that_came_furthest_is_named_with_what_it_did_not_find(planner_options: PlannerOptions) -> None:
    funnel = measure_funnel(PATH, planner_options, edge(1, "o", "k", "p"), *NEAR, edge(50, "q", "k", "r"), misses=1)
    (miss,) = funnel.misses
    assert dict(miss.edges) == {"y": ("e22", 22), "z": ("e24", 24)}
    assert dict(miss.vertices) == {"b": "b", "c": "c", "d": "d"}
    assert (miss.waited_for, miss.expired_at, miss.searched_at) == (("x",), 32, 24)
    assert miss.refused == {Reason.PREDICATE: 1}


@pytest.mark.parametrize("planner_options", ENGINES, ids=describe)
def test_a_near_miss_is_named_though_the_store_let_its_edges_go_long_ago(planner_options: PlannerOptions) -> None:
    noise = [edge(ts, "n", "other", "n") for ts in range(40, 10_000)]
    (late,) = measure_funnel(PATH, planner_options, *NEAR, *noise, misses=1).misses
    (soon,) = measure_funnel(PATH, planner_options, *NEAR, noise[0], misses=1).misses
    assert late == soon


def test_a_partial_match_with_a_deleted_edge_is_no_near_miss() -> None:
    funnel = measure_funnel(PATH, PlannerOptions("timing"), edge(1, "a", "k", "b"), deletion(2, "e1"), edge(50, "q", "k", "r"))
    assert funnel.misses == ()
