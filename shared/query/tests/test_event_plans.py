"""Plans of event patterns: what is shared is contained in each match below it, and equal sub-patterns are one vertex."""

from __future__ import annotations

import gc
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from graphtide_core import predicate
from graphtide_core.event_expression import And, QueryEvent, Seq
from graphtide_core.event_pattern import EventPattern
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.plans.events import AggregationPlan, Branch, Parent, SubPattern
from graphtide_core.predicate import Attribute, Compare, Comparison, Expression, Literal
from graphtide_core.statistics import EdgeType, StatisticsSnapshot, TimeRange
from graphtide_core.time import Duration, EventTime
from graphtide_query.families.events.branches import branches
from graphtide_query.families.events.budget import AggregationBudget
from graphtide_query.families.events.builders import BUILDERS, aggregate
from graphtide_query.families.events.collector import pause_collector
from graphtide_testing.event_workloads import random_events, random_fillings, random_patterns
from graphtide_testing.oracles.sub_patterns import Filling, Happening, matches
from graphtide_testing.strategies import event_patterns
from hypothesis import given
from hypothesis import strategies as st

SHARING = [builder for builder in BUILDERS if builder != "none"]


def event_pattern(
    name: str, root: Seq | And, within: int = 10, predicates: tuple[Expression, ...] = (), partition: tuple[str, ...] = ()
) -> EventPattern:
    return EventPattern(PatternName(name), root, Duration(within), StreamName("s"), predicates, partition=partition)


def seq(name: str, types: str, within: int = 10, *predicates: Expression) -> EventPattern:
    """A SEQ of events of these types, named a0, a1 and so on."""
    return event_pattern(name, Seq(tuple(QueryEvent(f"a{i}", kind) for i, kind in enumerate(types))), within, predicates)


def equal(name: str, value: int) -> Expression:
    return Compare(Comparison.EQUAL, Attribute(name, "x"), Literal(value))


def types_of(sub_pattern: SubPattern) -> str:
    return "".join("|".join(slot.types) for slot in sub_pattern.slots)


def draw(plan: AggregationPlan) -> dict[str, set[str]]:
    """The types of each vertex, with those of its parents."""
    return {
        types_of(vertex.sub_pattern): {types_of(plan.vertices[parent.vertex].sub_pattern) for parent in vertex.parents}
        for vertex in plan.vertices
    }


@pytest.mark.parametrize("builder", BUILDERS)
@given(seed=st.integers(0, 2**32))
def test_events_that_match_a_vertex_match_its_parents(builder: str, seed: int) -> None:
    random = Random(seed)
    assert_matches_contain_those_of_parents(random, aggregate(random_patterns(random, 5), builder, seed=seed))


@pytest.mark.parametrize("builder", ["rw", "casem+dce"])
@given(drawn_patterns=st.lists(event_patterns(), min_size=2, max_size=5), random=st.randoms(use_true_random=False))
def test_so_it_is_with_aggregates_alternatives_and_conditions_of_every_kind(
    builder: str, drawn_patterns: list[EventPattern], random: Random
) -> None:
    patterns = [replace(each, name=PatternName(f"p{number}")) for number, each in enumerate(drawn_patterns)]
    assert_matches_contain_those_of_parents(random, aggregate(patterns, builder))


def assert_matches_contain_those_of_parents(random: Random, plan: AggregationPlan) -> None:
    for index, vertex in enumerate(plan.vertices):
        assert all(parent.vertex < index for parent in vertex.parents)
        filled = [slot for parent in vertex.parents for slot in parent.slots]
        assert len(filled) == len(set(filled)), "parents fill different slots"
        for parent in vertex.parents:
            above = plan.vertices[parent.vertex].sub_pattern
            assert len(above.slots) == len(parent.slots) >= 2
            for fillings, stream in random_matches(random, vertex.sub_pattern, 12):
                assert matches(above, [fillings[slot] for slot in parent.slots], stream)


@pytest.mark.parametrize("builder", BUILDERS)
@given(seed=st.integers(0, 2**32))
def test_the_vertices_of_branches_match_what_the_branches_do(builder: str, seed: int) -> None:
    random = Random(seed)
    patterns = random_patterns(random, 4)
    plan = aggregate(patterns, builder, seed=seed)
    for pattern, found in zip(patterns, plan.branches, strict=True):
        for own, branch in zip(branches(pattern), found, strict=True):
            vertex = plan.vertices[branch.vertex].sub_pattern
            places = [branch.events.index(name) for name in own.events]
            assert [vertex.slots[place] for place in places] == list(own.sub_pattern.slots)
            for fillings, stream in random_matches(random, own.sub_pattern, 4):
                moved: list[Filling] = [()] * len(places)
                for place, filling in zip(places, fillings, strict=True):
                    moved[place] = filling
                assert matches(vertex, moved, stream)


def random_matches(random: Random, sub_pattern: SubPattern, tries: int) -> list[tuple[list[Filling], list[Happening]]]:
    found = []
    for _ in range(tries):
        fillings = random_fillings(random, sub_pattern)
        stream = [*random_events(random, random.randrange(4)), *(event for filling in fillings for event in filling)]
        if matches(sub_pattern, fillings, stream):
            found.append((fillings, stream))
    return found


@pytest.mark.parametrize("builder", SHARING)
def test_what_two_sequences_begin_with_is_matched_once(builder: str) -> None:
    plan = aggregate([seq("p", "ABC", 10), seq("q", "ABD", 20)], builder)
    assert draw(plan) == {"AB": set(), "ABC": {"AB"}, "ABD": {"AB"}}
    shared = plan.vertices[0]
    assert shared.sub_pattern.order == {(0, 1)}
    assert shared.sub_pattern.within == Duration(20)
    assert plan.vertices[1].parents == (Parent(0, (0, 1)),)
    assert plan.vertices[1].differential == (2,)
    assert plan.builder == builder


def test_without_sharing_every_pattern_is_alone() -> None:
    plan = aggregate([seq("p", "ABC"), seq("q", "ABD")], "none")
    assert draw(plan) == {"ABC": set(), "ABD": set()}


@pytest.mark.parametrize("builder", BUILDERS)
def test_equal_patterns_are_one_vertex_under_their_own_names(builder: str) -> None:
    first = event_pattern("p", And((QueryEvent("x", "A"), QueryEvent("y", "B"))))
    second = event_pattern("q", And((QueryEvent("b", "B"), QueryEvent("a", "A"))))
    plan = aggregate([first, second], builder)
    assert len(plan.vertices) == 1
    assert plan.branches == ((Branch(0, ("x", "y")),), (Branch(0, ("a", "b")),))


@pytest.mark.parametrize("builder", [builder for builder in SHARING if builder != "casem-2"])
def test_a_pattern_that_others_contain_is_their_parent_itself(builder: str) -> None:
    plan = aggregate([seq("p", "AB"), seq("q", "ABC"), seq("r", "ABD")], builder)
    assert draw(plan) == {"AB": set(), "ABC": {"AB"}, "ABD": {"AB"}}


def test_clusters_of_clusters_share_on_several_levels() -> None:
    patterns = [seq(f"p{i}", types) for i, types in enumerate(("ABCD", "ABCE", "ABFG", "ABFH"))]
    assert draw(aggregate(patterns, "casem")) == {
        "AB": set(),
        "ABC": {"AB"},
        "ABF": {"AB"},
        "ABCD": {"ABC"},
        "ABCE": {"ABC"},
        "ABFG": {"ABF"},
        "ABFH": {"ABF"},
    }


def test_clusters_of_two_levels_are_merged_only_where_one_keeps_its_mark() -> None:
    """Figure 7, where the depth is bounded: ABF would leave A, B only to those that share A, B, C."""
    patterns = [seq(f"p{i}", types) for i, types in enumerate(("ABCD", "ABCE", "ABF", "XYZ", "XYW", "XYV"))]
    plan = draw(aggregate(patterns, "casem-2"))
    assert [plan[each] for each in ("ABCD", "ABCE", "ABF")] == [{"ABC"}, {"ABC"}, set()]
    assert all(plan[each] == {"XY"} for each in ("XYZ", "XYW", "XYV"))


def test_differential_parts_get_a_parent_of_their_own() -> None:
    """Figure 8: clusters that share A, B and C, D; a member of each continues with E, F."""
    patterns = [seq(f"p{i}", types) for i, types in enumerate(("ABEF", "ABGH", "CDEF", "CDIJ"))]
    alone, compensated = (draw(aggregate(patterns, builder)) for builder in ("casem", "casem+dce"))
    shared = {parent for parents in compensated.values() for parent in parents}
    assert len({parent for parents in alone.values() for parent in parents}) < len(shared)
    assert sum(map(len, compensated.values())) > sum(map(len, alone.values()))
    assert {"EF", "AB", "CD"} == shared
    assert compensated["ABEF"] == {"AB", "EF"}


def test_predicates_of_what_is_shared_are_joined_by_or() -> None:
    patterns = [seq("p", "ABC", 10, equal("a0", 1)), seq("q", "ABD", 10, equal("a0", 2)), seq("r", "ABE", 10, equal("a0", 1))]
    plan = aggregate(patterns, "casem-2")
    (shared,) = (vertex.sub_pattern for vertex in plan.vertices if types_of(vertex.sub_pattern) == "AB")
    assert shared.predicates == (predicate.Disjunction((equal("s0", 1), equal("s0", 2))),)


def conditions(values: tuple[int, ...]) -> list[Expression]:
    return [equal(f"a{place}", value) for place, value in enumerate(values)]


@pytest.mark.parametrize("builder", ["casem-2", "casem", "casem+dce"])
def test_where_conditions_differ_too_much_the_slots_that_agree_are_shared(builder: str) -> None:
    alike = [seq("p", "ABCDX", 10, *conditions((1, 2, 3, 4))), seq("q", "ABCDY", 10, *conditions((5, 6, 3, 4)))]
    plan = aggregate(alike, builder)
    assert draw(plan) == {"CD": set(), "ABCDX": {"CD"}, "ABCDY": {"CD"}}
    assert plan.vertices[0].sub_pattern.predicates == (equal("s0", 3), equal("s1", 4))
    other = [alike[0], seq("q", "ABCDY", 10, *conditions((5, 6, 7, 8)))]
    assert draw(aggregate(other, builder)) == {"ABCDX": set(), "ABCDY": set()}


def test_a_time_that_is_much_longer_is_not_shared_where_rates_are_known() -> None:
    patterns = [seq("p", "ABCDX", 10), seq("q", "ABCDY", 12), seq("r", "EFGHX", 1), seq("s", "EFGHYZ", 90)]
    types = {EdgeType(None, kind, None): 50 for kind in "ABCDEFGHXYZ"}
    statistics = StatisticsSnapshot(window=TimeRange(EventTime(0), EventTime(100)), edges=550, types=types)
    shared = {parent for parents in draw(aggregate(patterns, "casem", statistics=statistics)).values() for parent in parents}
    assert shared == {"ABCD", "EFGH"}


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_collector_is_afterwards_as_it_was(is_enabled: bool) -> None:
    try:
        (gc.enable if is_enabled else gc.disable)()
        aggregate([seq("p", "AB")])
        assert gc.isenabled() is is_enabled
        with pause_collector():
            assert not gc.isenabled()
        assert gc.isenabled() is is_enabled
    finally:
        gc.enable()


def test_a_plan_is_the_same_at_every_build() -> None:
    patterns = random_patterns(Random(3), 12)
    for builder in BUILDERS:
        assert aggregate(patterns, builder, seed=5) == aggregate(patterns, builder, seed=5)


@pytest.mark.parametrize("builder", SHARING)
def test_with_less_work_less_is_shared(builder: str) -> None:
    patterns = random_patterns(Random(1), 14)
    budgets = (0, 4, 1000)
    plans = [aggregate(patterns, builder, budget=AggregationBudget(each)) for each in budgets]
    shares = [sum(len(parent.slots) for vertex in plan.vertices for parent in vertex.parents) for plan in plans]
    assert shares[0] == 0
    assert all(less_work <= more_work for less_work, more_work in pairwise(shares))
    assert shares[-1] > 0


def test_instances_are_estimated_from_the_rates_of_types() -> None:
    window = TimeRange(EventTime(0), EventTime(100))
    types = {EdgeType(None, "A", None): 50, EdgeType(None, "B", None): 20}
    known = StatisticsSnapshot(window=window, edges=70, types=types)
    plan = aggregate([seq("p", "AB", 10), event_pattern("q", And(seq("q", "AB").root.parts))], "none", statistics=known)
    assert [vertex.instances for vertex in plan.vertices] == [pytest.approx(5 * 2 / 2), pytest.approx(5 * 2)]


def test_patterns_of_two_streams_share_no_plan() -> None:
    other = EventPattern(PatternName("q"), seq("q", "AB").root, Duration(1), StreamName("t"))
    with pytest.raises(ValueError, match="several streams"):
        aggregate([seq("p", "AB"), other])


def test_an_unknown_builder_is_refused_with_those_that_are() -> None:
    with pytest.raises(LookupError, match="no builder 'best'; one of none, rw, spass, casem-2, casem, casem\\+dce"):
        aggregate([seq("p", "AB")], "best")
