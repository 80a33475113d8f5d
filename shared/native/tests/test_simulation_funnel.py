"""The match funnel of dual simulation adds up, for every engine and report policy, and says what happened."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.funnel import Part, Reason, Step, Store
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.pattern import OF_SIMULATION, Report
from graphtide_core.time import EventTime
from graphtide_native.spec import Limits
from graphtide_query import parse_subgraphs
from graphtide_query.explain import explain
from graphtide_query.families import FAMILIES
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import PatternShape, StreamShape, edge_streams, patterns, random_pattern, random_stream
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_core.funnel import Funnel
    from graphtide_core.pattern import SubgraphPattern

ENGINES = FAMILIES["simulation"].names

CALLS = """
PATTERN payout
MATCH (gang)-[calls:call *2]->(mule), (mule)-[pays:pay]->(drop)
WHERE pays.n > 1
ORDER calls < pays
UNDER DUAL SIMULATION {report}
ON phone WINDOW 10
"""


def edge(ts: int, source: str, label: str, target: str, n: int = 5) -> Edge:
    """An edge whose id says when it comes: `e7`."""
    return Edge(EdgeId(f"e{ts}"), EventTime(ts), VertexId(source), VertexId(target), label, attributes={"n": n})


RECORDS = (
    edge(1, "ann", "call", "bob"),
    edge(2, "bob", "pay", "eve"),  # one call is not enough
    edge(3, "ann", "call", "bob"),
    edge(4, "bob", "pay", "eve", n=1),  # its predicate
    edge(5, "bob", "pay", "eve"),  # the match
    edge(6, "ann", "call", "dan"),
    Edge(EdgeId("e6"), EventTime(7), VertexId(""), VertexId(""), "", operation=Operation.DELETE),
    edge(30, "ann", "call", "dan"),
)


def measure_funnel(engine: str, *records: Edge, report: str = "", limits: Limits | None = None) -> Funnel:
    (pattern,) = parse_subgraphs(CALLS.format(report=report))
    feed = Feed(plan(pattern, engine), traced=3, limits=limits)
    feed.push(*records)
    (funnel,) = feed.matcher.funnels()
    return funnel


def assert_adds_up(funnel: Funnel, pattern: SubgraphPattern, engine: str, reported: int) -> None:
    for step in (*funnel.edges.values(), *funnel.steps.values()):
        assert step.looked_at == step.passed + sum(step.refused.values())
    whole = {node: step for (node, part, _), step in funnel.steps.items() if part is Part.WHOLE}
    nothing = Step()
    for name, step in funnel.edges.items():
        assert whole.get(f"{name}.kept", nothing).looked_at == step.passed, "what fits is kept"
    held = whole.get("held", nothing)
    for store in funnel.stores.values():
        assert store.created == held.passed
        assert store.created == store.alive + store.expired + store.deleted + store.given_up + store.consumed
    verify = whole.get("verify", nothing)
    if engine != "ddst-baseline":
        assert whole.get("filter", nothing).passed == verify.looked_at
    if pattern.report is not Report.CHANGES:
        assert verify.passed == reported
    nearby, connected = (funnel.steps.get(("verify", part, None), nothing) for part in (Part.NEARBY, Part.CONNECTED))
    refuted = sum(step.refused.get(Reason.UNMATCHED, 0) for step in (nearby, connected))
    assert verify.refused.get(Reason.UNMATCHED, 0) == refuted
    assert connected.passed == verify.passed
    nodes = {node.name for node in explain(plan(pattern, engine)).nodes}
    assert {node for node, _, _ in funnel.steps} | funnel.stores.keys() <= nodes


def check(pattern: SubgraphPattern, edges: tuple[Edge, ...], engine: str) -> int:
    """Compare a traced run with one that is not, and check that the funnel adds up; return how much was reported."""
    traced, plain = Feed(plan(pattern, engine), traced=3), Feed(plan(pattern, engine))
    found = traced.one_by_one(edges)
    assert found == plain.one_by_one(edges)
    (funnel,) = traced.matcher.funnels()
    reported = sum(len(each) for each in found)
    assert_adds_up(funnel, pattern, engine, reported)
    return reported


@pytest.mark.parametrize("engine", ENGINES)
@given(
    pattern=st.sampled_from(OF_SIMULATION).flatmap(lambda report: patterns(PatternShape(report=report, deduplication=False))),
    edges=edge_streams(),
)
def test_a_traced_engine_reports_the_same_and_its_funnel_adds_up(
    engine: str, pattern: SubgraphPattern, edges: tuple[Edge, ...]
) -> None:
    check(pattern, edges, engine)


@pytest.mark.parametrize("report", OF_SIMULATION)
def test_the_funnels_of_many_random_streams_add_up(report: Report) -> None:
    reported = 0
    for seed in seeds(50):
        rng = random.Random(seed)
        pattern, edges = (
            random_pattern(rng, PatternShape(max_edges=4, report=report, deduplication=False)),
            random_stream(rng, StreamShape()),
        )
        reported += check(pattern, edges, ENGINES[seed % len(ENGINES)])
    assert reported > 50, "the cases must have matches"


@pytest.mark.parametrize("engine", ENGINES)
def test_what_each_query_edge_took_and_what_became_of_it(engine: str) -> None:
    funnel = measure_funnel(engine, *RECORDS)
    assert funnel.edges["pays"] == Step(7, {Reason.LABEL: 4, Reason.PREDICATE: 1}, 2)
    assert funnel.steps["calls_1.kept", Part.WHOLE, None] == Step(4, {}, 4)
    assert funnel.steps["pays.kept", Part.WHOLE, None] == Step(2, {}, 2)
    assert funnel.stores == {"held": Store(created=6, alive=1, expired=4, deleted=1, given_up=0, consumed=0)}


def test_coloring_verifies_where_the_ends_of_an_edge_have_all() -> None:
    funnel = measure_funnel("ddst-coloring", *RECORDS)
    # The deletion asks for the component of its edge, too.
    assert funnel.steps["filter", Part.WHOLE, None] == Step(7, {Reason.ENDS: 5, Reason.ORDER: 1}, 1)
    assert funnel.steps["verify", Part.WHOLE, None] == Step(1, {}, 1)
    assert ("verify", Part.NEARBY, None) not in funnel.steps
    assert funnel.steps["verify", Part.PAIRS, None] == Step(6, {}, 6)


def test_signature_verifies_where_the_window_has_all_factors_too() -> None:
    funnel = measure_funnel("ddst-signature", *RECORDS)
    assert funnel.steps["filter", Part.WHOLE, None] == Step(7, {Reason.ENDS: 5, Reason.ORDER: 1}, 1)
    assert funnel.steps["verify", Part.WHOLE, None] == Step(1, {}, 1)


def test_baseline_verifies_every_edge() -> None:
    funnel = measure_funnel("ddst-baseline", *RECORDS)
    assert ("filter", Part.WHOLE, None) not in funnel.steps
    assert funnel.steps["verify", Part.WHOLE, None] == Step(7, {Reason.UNMATCHED: 6}, 1)


def test_what_is_consumed_has_left() -> None:
    funnel = measure_funnel("ddst-coloring", *RECORDS, report="REPORT INSTANCES")
    assert funnel.stores["held"] == Store(created=6, alive=1, expired=3, deleted=1, given_up=0, consumed=1)


def test_remaining_components_are_found_under_report_changes() -> None:
    funnel = measure_funnel("ddst-coloring", *RECORDS, report="REPORT CHANGES")
    assert funnel.steps["verify", Part.REMAINDER, None].looked_at == 1, "with its oldest edge all of it leaves"


def test_an_edge_beyond_a_limit_is_looked_at_and_refused() -> None:
    funnel = measure_funnel("ddst-coloring", *RECORDS[:3], limits=Limits(partial_matches=2, policy="pause"))
    assert funnel.steps["calls_1.kept", Part.WHOLE, None] == Step(2, {Reason.LIMIT: 1}, 1)
    assert funnel.stores["held"] == Store(created=2, alive=0, expired=0, deleted=0, given_up=2)
