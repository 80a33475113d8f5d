"""Plans of many patterns of one pass: what planning them costs, and which plans the planner chooses for them together."""

from __future__ import annotations

import sys

import graphtide_query
import pytest
from graphtide_core.plans import Plan
from graphtide_core.statistics import EdgeType, PathCounts, StatisticsSnapshot
from graphtide_core.time import EventTime
from graphtide_query.estimates.colocation import NO_OTHERS, ColocatedLoad, EngineLoad
from graphtide_query.families import AUTO, FAMILIES
from graphtide_query.families.family import PlanningContext, ReplanPolicy
from graphtide_query.families.isomorphism.family import ISOMORPHISM
from graphtide_query.planner import plan

WINDOW = 20_000


def stream(labels: int) -> StatisticsSnapshot:
    """A stream with so many labels, each as frequent as the others, and every one beside every other somewhere."""
    kinds = [EdgeType(None, f"l{number}", None) for number in range(labels)]
    ends = range(2 * labels)
    return StatisticsSnapshot(
        first_ts=EventTime(0),
        last_ts=EventTime(10 * WINDOW),
        edges=100 * labels,
        vertices=10 * labels,
        types=dict.fromkeys(kinds, 100),
        paths=PathCounts.of_rows(kinds, [(one, other, 3) for one in ends for other in ends if one <= other]),
    )


def texts(first: int, number: int) -> list[str]:
    """Return patterns that differ in their labels."""
    shape = "(a)-[x:l{}]->(b)-[y:l{}]->(c)-[z:l{}]->(d), (b)-[w:l{}]->(e)"
    return [
        f"PATTERN p{each} MATCH {shape.format(each, each + 1, each + 2, each + 3)} ORDER x < y ON s WINDOW {WINDOW}ms"
        for each in range(first, first + number)
    ]


def calls(patterns: list[str], known: StatisticsSnapshot) -> int:
    """Return how many functions are called to plan the patterns."""
    parsed = graphtide_query.parse_subgraphs("\n".join(patterns))
    counted = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event == "call"

    sys.setprofile(count)
    try:
        for each in parsed:
            plan(each, AUTO, statistics=known, colocated=ColocatedLoad.of(len(parsed)))
    finally:
        sys.setprofile(None)
    return counted


def test_planning_does_not_grow_with_the_labels_of_the_stream() -> None:
    found = []
    for labels in (100, 400):
        known = stream(labels)
        # The first pattern pays for what is put together of the stream once.
        calls(texts(0, 1), known)
        before = known.path_counts.steps
        found.append((calls(texts(10, 20), known), known.path_counts.steps - before))
    (few, few_steps), (many, many_steps) = found
    assert many_steps == few_steps
    assert many <= 1.01 * few


@pytest.mark.parametrize("patterns", [1_000, 10_000])
def test_auto_chooses_what_shares_most_where_patterns_are_many(patterns: int) -> None:
    (pattern,) = graphtide_query.parse_subgraphs(texts(5, 1)[0])
    known = stream(400)
    alone, in_colocated = (
        plan(pattern, AUTO, statistics=known, colocated=ColocatedLoad.of(number)) for number in (1, patterns)
    )
    assert in_colocated.engine in {"re-search", "filtering"}
    assert alone.engine in FAMILIES["isomorphism"].names
    by_engine = {each.physical.name: each.nanoseconds for each in in_colocated.considered}
    # They ask a table of all patterns first; the others use memory of their own for every edge.
    assert max(by_engine["re-search"], by_engine["filtering"]) < 0.7 * min(by_engine["timing"], by_engine["sj-tree"])


def test_lists_are_out_of_cache_among_patterns_of_one_engine_alone() -> None:
    (pattern,) = graphtide_query.parse_subgraphs(texts(5, 1)[0])
    known = stream(400)
    beside_others, alike = (
        {each.physical.name: each.nanoseconds for each in plan(pattern, AUTO, statistics=known, colocated=colocated).considered}
        for colocated in (ColocatedLoad(otherwise=EngineLoad(1_000, 1)), ColocatedLoad.of(1_000))
    )
    assert {engine for engine, cost in alike.items() if cost > beside_others[engine]} == {"timing", "sj-tree"}
    assert {engine for engine, cost in alike.items() if cost == beside_others[engine]} == {"re-search", "filtering"}


def test_what_an_edge_costs_that_nobody_wants_is_shared() -> None:
    (pattern,) = graphtide_query.parse_subgraphs(texts(5, 1)[0])
    known = stream(400)
    # What a lone pattern costs is hardly more than that: few edges are of its labels.
    assert plan(pattern, AUTO, statistics=known).considered[0].nanoseconds > 5
    assert plan(pattern, AUTO, statistics=known, colocated=ColocatedLoad.of(1_000)).considered[0].nanoseconds * 1_000 < 2_000


def test_a_plan_is_worth_a_change_among_many_that_is_not_alone() -> None:
    (pattern,) = graphtide_query.parse_subgraphs(texts(5, 1)[0])
    known = stream(400)
    old, new = (Plan(pattern, plan(pattern, engine, statistics=known).physical) for engine in ("sj-tree", "filtering"))
    policy = ReplanPolicy(margin=0.8)
    alone, among = (
        PlanningContext(statistics=known, colocated=colocated) for colocated in (NO_OTHERS, ColocatedLoad.of(1_000))
    )
    assert not ISOMORPHISM.is_better(pattern, new.physical, old.physical, alone, policy)
    assert ISOMORPHISM.is_better(pattern, new.physical, old.physical, among, policy)
