"""Plans of event patterns while patterns come and go, and how they are drawn."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from graphtide_core import predicate
from graphtide_core.event_expression import And, Not, QueryEvent, Repeat, Seq
from graphtide_core.event_pattern import EventPattern
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.plans.events import AggregationPlan, Parent
from graphtide_core.predicate import Attribute, Compare, Comparison, Expression, Literal
from graphtide_core.statistics import EdgeType, StatisticsSnapshot, TimeRange
from graphtide_core.time import Duration, EventTime, TimeUnit
from graphtide_query.explain import to_dot, to_json, to_mermaid, to_text
from graphtide_query.families.events.adaptation import RebuildPolicy, deserves_rebuild, with_pattern, without_pattern
from graphtide_query.families.events.branches import branches
from graphtide_query.families.events.builders import aggregate
from graphtide_query.families.events.explaining import explain_events
from graphtide_query.nodes import Actual
from graphtide_testing.event_workloads import random_events, random_fillings, random_patterns
from graphtide_testing.oracles.sub_patterns import matches
from hypothesis import given
from hypothesis import strategies as st

NOTHING_KNOWN = StatisticsSnapshot()
UNIT = TimeUnit.MILLISECOND


def seq(name: str, types: str, within: int = 10) -> EventPattern:
    parts = tuple(QueryEvent(f"a{i}", kind) for i, kind in enumerate(types))
    return EventPattern(PatternName(name), Seq(parts), Duration(within), StreamName("s"))


def draw(plan: AggregationPlan) -> dict[str, set[str]]:
    """The types of each vertex, with those of its parents."""
    names = ["".join("|".join(slot.types) for slot in vertex.sub_pattern.slots) for vertex in plan.vertices]
    return {
        name: {names[parent.vertex] for parent in vertex.parents} for name, vertex in zip(names, plan.vertices, strict=True)
    }


def test_a_new_pattern_goes_below_what_it_contains() -> None:
    """Figure 9."""
    plan = aggregate([seq("p", "CDE"), seq("q", "CDF")], "casem")
    grown = with_pattern(plan, seq("r", "CDM"), UNIT, NOTHING_KNOWN)
    assert draw(grown) == draw(plan) | {"CDM": {"CD"}}
    assert [branch.events for (branch,) in grown.branches] == [("a0", "a1", "a2")] * 3


def test_what_a_new_pattern_shares_with_one_that_was_alone_becomes_a_parent_of_both() -> None:
    plan = aggregate([seq("p", "ABC")], "casem")
    grown = with_pattern(plan, seq("q", "XABD", 20), UNIT, NOTHING_KNOWN)
    assert draw(grown) == {"AB": set(), "ABC": {"AB"}, "XABD": {"AB"}}
    assert grown.vertices[0].sub_pattern.within == Duration(20)
    assert grown.vertices[-1].parents == (Parent(0, (1, 2)),)


def test_a_new_pattern_may_be_a_vertex_that_is_there() -> None:
    plan = aggregate([seq("p", "ABC"), seq("q", "ABD")], "casem")
    grown = with_pattern(plan, seq("r", "AB"), UNIT, NOTHING_KNOWN)
    assert grown.vertices == plan.vertices
    assert grown.branches[2][0].vertex == 0


def equal(name: str, value: int) -> Expression:
    return Compare(Comparison.EQUAL, Attribute(name, "x"), Literal(value))


def test_a_new_pattern_goes_below_conditions_that_were_joined_by_or() -> None:
    asked = [
        replace(seq(name, types), predicates=(equal("a0", value),)) for name, types, value in (("p", "ABC", 1), ("q", "ABD", 2))
    ]
    plan = aggregate(asked, "casem")
    grown = with_pattern(plan, replace(seq("r", "ABE"), predicates=(equal("a0", 2), equal("a1", 3))), UNIT, NOTHING_KNOWN)
    assert grown.vertices[:3] == plan.vertices
    assert draw(grown) == draw(plan) | {"ABE": {"AB"}}
    wider = with_pattern(plan, replace(seq("r", "ABE"), predicates=(equal("a0", 3),)), UNIT, NOTHING_KNOWN)
    assert [vertex.sub_pattern.predicates for vertex in wider.vertices[:2]] == [
        (predicate.Disjunction((equal("s0", 1), equal("s0", 2), equal("s0", 3))),),
        (predicate.Disjunction((equal("s0", 1), equal("s0", 2))),),
    ]


def test_who_leaves_takes_along_what_nobody_else_shares() -> None:
    plan = aggregate([seq("p", "ABC"), seq("q", "ABD"), seq("r", "XY")], "casem")
    assert draw(without_pattern(plan, 1)) == {"ABC": set(), "XY": set()}
    assert draw(without_pattern(without_pattern(plan, 0), 0)) == {"XY": set()}


def test_the_parents_of_what_leaves_stay_with_its_child() -> None:
    plan = aggregate([seq("p", "ABCD"), seq("q", "ABCE"), seq("r", "ABF")], "casem")
    assert draw(plan)["ABC"] == {"AB"}
    left = without_pattern(plan, 1)
    assert draw(left) == {"AB": set(), "ABCD": {"AB"}, "ABF": {"AB"}}


@given(seed=st.integers(0, 2**32))
def test_adapted_plans_share_only_what_matches_contain(seed: int) -> None:
    random = Random(seed)
    patterns = random_patterns(random, 5)
    plan = aggregate(patterns[:2], "casem+dce")
    for pattern in patterns[2:]:
        plan = with_pattern(plan, pattern, UNIT, NOTHING_KNOWN)
    gone = random.randrange(5)
    plan, patterns = without_pattern(plan, gone), patterns[:gone] + patterns[gone + 1 :]
    for index, vertex in enumerate(plan.vertices):
        filled = [slot for parent in vertex.parents for slot in parent.slots]
        assert len(filled) == len(set(filled)), "parents fill different slots"
        for parent in vertex.parents:
            assert parent.vertex < index
            for _ in range(10):
                fillings = random_fillings(random, vertex.sub_pattern)
                stream = [*random_events(random, 2), *(event for filling in fillings for event in filling)]
                if matches(vertex.sub_pattern, fillings, stream):
                    above = plan.vertices[parent.vertex].sub_pattern
                    assert matches(above, [fillings[slot] for slot in parent.slots], stream)
    for pattern, own in zip(patterns, plan.branches, strict=True):
        for form, branch in zip(branches(pattern), own, strict=True):
            places = [branch.events.index(name) for name in form.events]
            slots = plan.vertices[branch.vertex].sub_pattern.slots
            assert [slots[place] for place in places] == list(form.sub_pattern.slots)


def count(a: int, b: int) -> StatisticsSnapshot:
    types = {EdgeType(None, "a", None): a, EdgeType(None, "b", None): b}
    return StatisticsSnapshot(window=TimeRange(EventTime(0), EventTime(1000)), edges=a + b, types=types)


@pytest.mark.parametrize(
    ("now", "changes", "deserves"),
    [(count(9000, 1000), 25, False), (count(9000, 1000), 26, True), (count(1000, 9000), 0, True)],
)
def test_a_plan_is_built_anew_for_another_stream_or_after_many_changes(
    now: StatisticsSnapshot, changes: int, deserves: bool
) -> None:
    assert deserves_rebuild(count(9000, 1000), now, 100, changes, RebuildPolicy()) is deserves


def test_a_plan_is_drawn_as_text_with_estimates_and_actual_counts() -> None:
    explained = explain_events(small_plan(), ["p", "q"], {"v0": Actual(7, 30, 4)})
    assert to_text([explained]) == (
        "event patterns: engine aggregation\n"
        "  builder: casem\n"
        "  patterns: 2\n"
        "  slots from parents: 4\n"
        "  v0  SEQ(A, B) within 10ms                  estimated 50  actual alive 4, peak 7, created 30\n"
        "  v1  SEQ(A, B, C) within 10ms, adds C => p  estimated 167  <- v0\n"
        "  v2  SEQ(A, B, D) within 10ms, adds D => q  estimated 167  <- v0\n"
    )
    assert '"inputs": [\n          "v0"\n        ]' in to_json([explained])


def test_a_plan_is_drawn_as_a_graph_for_graphviz_and_mermaid() -> None:
    explained = explain_events(small_plan(), ['p "1"', "q#2"])
    dot = to_dot([explained])
    assert '"0/v0" -> "0/v1";' in dot
    assert 'adds C => p \\"1\\"' in dot
    assert to_mermaid([explained]).splitlines() == [
        "flowchart BT",
        '  subgraph g0["event patterns (aggregation)"]',
        '    n0_0["v0<br/>SEQ(A, B) within 10ms<br/>estimated 50"]',
        '    n0_1["v1<br/>SEQ(A, B, C) within 10ms, adds C =#gt; p #quot;1#quot;<br/>estimated 167"]',
        "    n0_0 --> n0_1",
        '    n0_2["v2<br/>SEQ(A, B, D) within 10ms, adds D =#gt; q#35;2<br/>estimated 167"]',
        "    n0_0 --> n0_2",
        "  end",
    ]


def small_plan() -> AggregationPlan:
    patterns = [
        EventPattern(each.name, each.root, Duration(10, "ms"), each.stream) for each in (seq("p", "ABC"), seq("q", "ABD"))
    ]
    return aggregate(patterns, "casem")


def test_what_is_no_plain_sequence_is_drawn_with_what_comes_before_what() -> None:
    root = And(
        (
            Seq((QueryEvent("a", "A"), Not((QueryEvent("x", "X"),)), QueryEvent("b", "B", Repeat(2)), QueryEvent("c"))),
            QueryEvent("d", "D", Repeat(1, 3)),
        )
    )
    condition: Expression = Compare(Comparison.LESS, Attribute("a", "x"), Literal(1))
    pattern = EventPattern(PatternName("p"), root, Duration(5, "m"), StreamName("s"), (condition,))
    text = to_text([explain_events(aggregate([pattern], "none"), ["p"])])
    assert "AND(A, B{2,}, any, D{1,3}, A <= B{2,}, B{2,} <= any, NOT X) within 5m where 1 => p" in text
