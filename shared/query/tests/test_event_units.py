"""Units of event patterns: who shares is planned together where that is estimated cheaper, and what estimates go by."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random
from typing import TYPE_CHECKING

import pytest
from graphtide_core.event_expression import And, Not, Or, QueryEvent, Repeat, Seq
from graphtide_core.event_pattern import EventPattern
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.pattern import Report
from graphtide_core.plans import Grouping
from graphtide_core.predicate import Attribute, Compare, Comparison, Expression, Literal
from graphtide_core.statistics import EdgeType, StatisticsSnapshot, TimeRange
from graphtide_core.time import Duration, EventTime, TimeUnit
from graphtide_query.families.events.branches import branches
from graphtide_query.families.events.builders import BUILDERS, aggregate
from graphtide_query.families.events.costs import cost, sizes
from graphtide_query.families.events.explaining import explain_units
from graphtide_query.families.events.planning import plan_events
from graphtide_query.families.events.units import estimate_sharing, units
from graphtide_query.families.planner_options import PlannerOptions
from graphtide_testing.event_workloads import random_patterns
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_core.plans.events import AggregationPlan

UNIT = TimeUnit.MILLISECOND


def seq(name: str, types: str, *predicates: Expression, report: Report = Report.ALL) -> EventPattern:
    parts = tuple(QueryEvent(f"a{i}", kind) for i, kind in enumerate(types))
    return EventPattern(PatternName(name), Seq(parts), Duration(10), StreamName("s"), predicates, report)


def less(name: str, value: int) -> Expression:
    return Compare(Comparison.LESS, Attribute(name, "x"), Literal(value))


def make_statistics(types: str, each: int) -> StatisticsSnapshot:
    """As many events of each type come in 10 ticks."""
    window = TimeRange(EventTime(0), EventTime(1_000))
    counts = {EdgeType(None, kind, None): 100 * each for kind in types}
    return StatisticsSnapshot(window=window, edges=100 * each * len(types), types=counts)


def draw(plan: AggregationPlan) -> list[str]:
    return sorted("".join("|".join(slot.types) for slot in vertex.sub_pattern.slots) for vertex in plan.vertices)


def test_who_shares_nothing_has_a_unit_alone() -> None:
    patterns = [seq("p", "ABC"), seq("q", "XY"), seq("r", "ABD"), seq("s", "XY")]
    found = units(patterns, "casem")
    assert [each.patterns for each in found] == [(0, 2), (1, 3)]
    assert [draw(each.plan) for each in found] == [["AB", "ABC", "ABD"], ["XY"]]
    assert [len(each.plan.branches) for each in found] == [2, 2]


def test_branches_of_one_pattern_are_in_its_unit() -> None:
    either = Or((Seq((QueryEvent("a", "A"), QueryEvent("b", "B"))), Seq((QueryEvent("x", "X"), QueryEvent("y", "Y")))))
    pattern = EventPattern(PatternName("p"), Seq((either, QueryEvent("c", "C"))), Duration(10), StreamName("s"))
    (found,) = units([pattern, seq("q", "AB"), seq("r", "XY")], "casem")
    assert found.patterns == (0, 1, 2)


def test_sharing_that_saves_more_than_it_stores_is_taken() -> None:
    types = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    patterns = [seq(f"p{last}", f"ABCD{last}") for last in types[4:]]
    (together,) = units(patterns, statistics=make_statistics(types, 6))
    assert together.patterns == tuple(range(22))
    assert "ABCD" in draw(together.plan)
    alone = units(patterns, "none", statistics=make_statistics(types, 6))
    assert together.cost.nanoseconds < sum(each.cost.nanoseconds for each in alone)


def test_sharing_that_stores_more_than_it_saves_is_not() -> None:
    patterns = [seq("p", "ABE"), seq("q", "ABF")]
    statistics = replace(
        make_statistics("ABEF", 40), types={**make_statistics("AB", 40).types, **make_statistics("EF", 1).types}
    )
    assert [each.patterns for each in units(patterns, statistics=statistics)] == [(0,), (1,)]
    assert [each.patterns for each in units(patterns, "casem", statistics=statistics)] == [(0, 1)]


def test_equal_patterns_stay_together_when_others_leave() -> None:
    statistics = replace(
        make_statistics("ABEF", 40), types={**make_statistics("AB", 40).types, **make_statistics("EF", 1).types}
    )
    patterns = [seq("p", "ABE"), seq("q", "ABF"), seq("r", "ABE")]
    assert [each.patterns for each in units(patterns, statistics=statistics)] == [(0, 2), (1,)]


def test_patterns_that_count_are_counted_in_their_events() -> None:
    lists, counts = (seq("p", "ABCDEF", report=report) for report in (Report.ALL, Report.EXISTS))
    across = Compare(Comparison.LESS, Attribute("a0", "x"), Attribute("a1", "x"))
    dear, cheap, related = (
        units([pattern], statistics=make_statistics("ABCDEF", 20))[0].cost.nanoseconds
        for pattern in (lists, counts, replace(counts, predicates=(across,)))
    )
    assert cheap < dear / 10
    assert related < dear / 10


@pytest.mark.parametrize(
    "root",
    [
        Seq((QueryEvent("a", "A"), QueryEvent("b", "B", Repeat(2)))),
        Seq((QueryEvent("a", "A"), QueryEvent("b", "A"))),
        Seq((QueryEvent("a", "A"), And((QueryEvent("b", "B"), QueryEvent("c", "C"))))),
        Seq((QueryEvent("a", "A"), QueryEvent("b"))),
    ],
)
def test_patterns_counted_by_listing_are_distinguished(root: Seq) -> None:
    pattern = EventPattern(PatternName("p"), root, Duration(10), StreamName("s"), report=Report.EXISTS)
    assert is_counted(pattern)
    assert not is_counted(replace(pattern, root=Seq((*root.parts, Not((QueryEvent("x", "X"),)), QueryEvent("z", "Z")))))
    assert not is_counted(replace(pattern, is_distinct=True))
    assert not is_counted(replace(pattern, report=Report.ALL))


def is_counted(pattern: EventPattern) -> bool:
    (size,) = sizes(aggregate([pattern], "none"), [pattern], UNIT, StatisticsSnapshot())
    return size.is_counted


def test_a_dearer_stream_makes_a_dearer_plan_with_a_reason() -> None:
    pattern = seq("p", "ABC")
    costs = [units([pattern], statistics=make_statistics("ABC", each))[0].cost for each in (1, 10, 100)]
    assert costs[0].nanoseconds < costs[1].nanoseconds < costs[2].nanoseconds
    assert "looked at" in costs[2].reason
    assert [each.partial_matches for each in costs] == [0.0, 0.0, 0.0]


def test_nothing_is_known_of_an_empty_stream_and_all_is_finite() -> None:
    long = seq("p", "ABC" * 21)
    assert units([long], statistics=make_statistics("ABC", 10**9))[0].cost.nanoseconds < float("inf")
    assert units([long])[0].cost.nanoseconds < float("inf")


@pytest.mark.parametrize("builder", ["auto", *BUILDERS])
@given(seed=st.integers(0, 2**32))
def test_units_part_the_patterns_and_match_what_each_of_them_does(builder: str, seed: int) -> None:
    patterns = random_patterns(Random(seed), 6)
    found = units(patterns, builder)
    assert sorted(place for each in found for place in each.patterns) == list(range(6))
    for each in found:
        alive = sizes(each.plan, [patterns[place] for place in each.patterns], UNIT, StatisticsSnapshot())
        assert cost(each.plan, alive).nanoseconds == pytest.approx(each.cost.nanoseconds)
        for (index, vertex), place in product(enumerate(each.plan.vertices), each.patterns):
            assert all(parent.vertex < index for parent in vertex.parents), patterns[place].name
        for place, own in zip(each.patterns, each.plan.branches, strict=True):
            asked = [sorted(branch.sub_pattern.slots, key=repr) for branch in branches(patterns[place])]
            assert [sorted(each.plan.vertices[one.vertex].sub_pattern.slots, key=repr) for one in own] == asked


def test_only_the_sub_patterns_that_pay_are_stored() -> None:
    """ABC serves twenty patterns, XY two whose third event is rare."""
    types = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    many = [seq(f"p{last}", f"ABC{last}") for last in types[4:22]]
    few = [seq("one", "XYV"), seq("other", "XYW")]
    statistics = replace(
        make_statistics(types, 6),
        types={**make_statistics(types, 6).types, **make_statistics("XY", 40).types, **make_statistics("VW", 1).types},
    )
    found = units([*many, *few], statistics=statistics)
    assert [each.patterns for each in found] == [tuple(range(18)), (18,), (19,)]
    assert draw(found[0].plan).count("ABC") == 1
    assert all(not vertex.parents for each in found[1:] for vertex in each.plan.vertices)


def test_the_estimates_of_sharing_and_of_each_alone_are_considered() -> None:
    types = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    patterns = [seq(f"p{last}", f"ABCD{last}") for last in types[4:]]
    found = estimate_sharing(units(patterns, statistics=make_statistics(types, 6)))
    assert [each.physical for each in found] == [Grouping("auto"), Grouping("none")]
    assert found[0].nanoseconds < found[1].nanoseconds
    assert found[0].reason == "22 patterns share sub-patterns"
    (plan, *_) = plan_events(patterns, PlannerOptions(), unit=UNIT, statistics=make_statistics(types, 6))
    (explained,) = explain_units([plan], [None], lambda _: None)
    assert explained.considered == found
    assert explained.settings["considered"].startswith(f"auto {found[0].nanoseconds:,.0f} ns an event, none ")
