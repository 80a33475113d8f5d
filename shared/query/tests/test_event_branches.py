"""The branch form of event patterns: slots in a partial order, one branch for each choice in their ORs."""

from __future__ import annotations

import pytest
from graphtide_core import predicate
from graphtide_core.errors import InvalidPatternError
from graphtide_core.event_expression import And, Not, Or, QueryEvent, Repeat, Seq
from graphtide_core.event_pattern import EventPattern, Selection
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.plans.events import Absence, NameOfType, Slot, SubPattern
from graphtide_core.predicate import Attribute, Compare, Comparison, Expression, Literal
from graphtide_core.time import Duration
from graphtide_query.families.events.branches import MOST_BRANCHES, branches

A, B, C, D, E = (QueryEvent(name.lower(), name) for name in "ABCDE")
SECOND = Duration(1, "s")


def pattern(root: Seq | And | Or, *predicates: Expression, selection: Selection = Selection.ANY) -> EventPattern:
    return EventPattern(PatternName("p"), root, SECOND, StreamName("s"), predicates, selection=selection, partition=("who",))


def fast(name: str) -> Expression:
    return Compare(Comparison.GREATER, Attribute(name, "speed"), Literal(9))


def slots(text: str) -> tuple[Slot, ...]:
    return tuple(Slot(tuple(types)) for types in text.split())


def test_a_sequence_of_groups_puts_each_slot_before_those_of_later_groups() -> None:
    (branch,) = branches(pattern(Seq((A, And((B, C)), D))))
    order = frozenset({(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)})
    assert branch.sub_pattern == SubPattern(slots("A B C D"), order, SECOND, partition=("who",))
    assert branch.events == ("a", "b", "c", "d")


def test_groups_of_an_and_keep_their_own_order() -> None:
    (branch,) = branches(pattern(And((Seq((A, B)), Seq((C, D))))))
    assert branch.sub_pattern.order == {(0, 1), (2, 3)}


def test_an_or_of_events_that_nothing_reads_is_one_slot_with_a_name_for_each_type() -> None:
    (branch,) = branches(pattern(Seq((A, Or((D, B, C))))))
    assert branch.sub_pattern.slots == slots("A BCD")
    assert branch.events == ("a", "b")
    assert branch.by_type == (NameOfType(1, "C", "c"), NameOfType(1, "D", "d"))


@pytest.mark.parametrize(
    "choice",
    [
        Or((B, Seq((C, D)))),
        Or((B, QueryEvent("c"))),
        Or((B, QueryEvent("c", "B"))),
        Or((B, QueryEvent("c", "C", Repeat(2)))),
    ],
)
def test_any_other_or_makes_a_branch_for_each_part(choice: Or) -> None:
    first, second = branches(pattern(Seq((A, choice))))
    assert first.events == ("a", "b")
    assert second.events[:2] == ("a", "c")


def test_predicates_about_what_is_not_taken_are_dropped_as_a_whole() -> None:
    both = predicate.Conjunction((fast("b"), fast("a")))
    first, second = branches(pattern(Seq((A, Or((B, C)))), both, fast("c"), fast("a")))
    assert first.events == ("a", "b")
    assert first.sub_pattern.predicates == (fast("s1"), fast("s0"), fast("s0"))
    assert second.events == ("a", "c")
    assert second.sub_pattern.predicates == (fast("s1"), fast("s0"))


def test_the_first_or_is_chosen_from_first() -> None:
    root = Seq((Or((A, Seq((B, C)))), Or((D, Seq((E, QueryEvent("f", "F")))))))
    assert [branch.events for branch in branches(pattern(root))] == [
        ("a", "d"),
        ("a", "e", "f"),
        ("b", "c", "d"),
        ("b", "c", "e", "f"),
    ]


def test_more_branches_than_engines_take_are_refused() -> None:
    groups = [Or((QueryEvent(f"x{i}", "A"), QueryEvent(f"y{i}", "A"))) for i in range(9)]
    assert len(branches(pattern(And(tuple(groups[:8]))))) == MOST_BRANCHES
    with pytest.raises(InvalidPatternError, match="the ORs of 'p' make 512 branches; a pattern may have 256"):
        branches(pattern(And(tuple(groups))))


def test_what_must_not_come_is_bounded_by_its_neighbours() -> None:
    x, y, z = (Not((QueryEvent(name, name.upper()),)) for name in "xyz")
    (branch,) = branches(pattern(Seq((x, And((A, B)), y, C, z)), fast("y")))
    all_slots = (0, 1, 2)
    assert branch.sub_pattern.absences == (
        Absence(("X",), (), (0, 1), all_slots),
        Absence(("Y",), (0, 1), (2,), all_slots),
        Absence(("Z",), (2,), (), all_slots),
    )
    assert branch.sub_pattern.predicates == (fast("n1"),)


def test_what_must_not_come_within_an_and_is_bounded_by_its_events() -> None:
    (branch,) = branches(pattern(Seq((C, And((A, Not((D, QueryEvent("any"))), B))))))
    assert branch.sub_pattern.absences == (
        Absence(("D",), (), (), (1, 2), is_inner=True),
        Absence((), (), (), (1, 2), is_inner=True),
    )


def test_only_branches_with_lists_have_a_selection() -> None:
    choice = Or((QueryEvent("b", "B", Repeat(1)), C))
    listed, single = branches(pattern(Seq((A, choice)), selection=Selection.NEXT))
    assert (listed.sub_pattern.slots[1], listed.sub_pattern.selection) == (Slot(("B",), Repeat(1)), Selection.NEXT)
    assert (single.sub_pattern.slots[1], single.sub_pattern.selection) == (Slot(("C",)), Selection.ANY)
