"""What two event patterns have in common: the rules for AND, SEQ, OR, NOT, lists, predicates, times and partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_core import predicate
from graphtide_core.event_expression import And, Not, Or, QueryEvent, Repeat, Seq
from graphtide_core.event_pattern import EventPattern, Selection
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.plans.events import Absence, Slot, SubPattern
from graphtide_core.predicate import Attribute, Compare, Comparison, Expression, Literal
from graphtide_core.time import Duration, TimeUnit
from graphtide_query.families.events.branches import branches
from graphtide_query.families.events.common import common, common_of_all, implies, may_share, restrict
from graphtide_query.families.events.forms import MOST_DISJUNCTS, Form, Forms

if TYPE_CHECKING:
    from graphtide_core.edge import Value

A, B, C, D, E, F = (QueryEvent(name.lower(), name) for name in "ABCDEF")


def no(kind: str, name: str = "x") -> Not:
    return Not((QueryEvent(name, kind),))


def event_pattern(
    root: Seq | And,
    *predicates: Expression,
    within: str = "10",
    partition: tuple[str, ...] = (),
    selection: Selection = Selection.ANY,
) -> EventPattern:
    name, stream = PatternName("p"), StreamName("s")
    return EventPattern(name, root, Duration.of(within), stream, predicates, selection=selection, partition=partition)


def form_of(forms: Forms, pattern: EventPattern) -> Form:
    (branch,) = branches(pattern)
    return forms.of(branch.sub_pattern)[0]


def find_shared(first: EventPattern, second: EventPattern) -> SubPattern | None:
    forms = Forms(TimeUnit.SECOND)
    one, other = form_of(forms, first), form_of(forms, second)
    found = common(forms, one, other)
    assert (found is None) == (common(forms, other, one) is None)
    if found is None:
        return None
    assert may_share(forms, one, other)
    return forms.sub_pattern(found.form)[0]


def seq(*parts: QueryEvent | Not | Or | And) -> Seq:
    return Seq(parts)


def both(*parts: QueryEvent | Not | Or | Seq) -> And:
    return And(parts)


def types(sub_pattern: SubPattern | None) -> list[str]:
    return [] if sub_pattern is None else ["|".join(slot.types) for slot in sub_pattern.slots]


def x(name: str, value: int) -> Expression:
    return Compare(Comparison.EQUAL, Attribute(name, "x"), Literal(value))


@pytest.mark.parametrize(
    ("first", "second", "slots", "order"),
    [
        (both(A, B, C), both(A, B, D), ["A", "B"], set()),
        (seq(A, B, C, D), seq(B, C, E), ["B", "C"], {(0, 1)}),
        (seq(B, C, E), both(B, C, E), ["B", "C", "E"], set()),
        (seq(A, B, C), seq(C, A, B), ["A", "C", "B"], {(0, 2)}),
        (seq(A, both(B, C)), both(seq(A, B), C), ["A", "C", "B"], {(0, 2)}),
        (seq(B, C, E), both(C, D, Or((E, F))), ["C", "E|F"], set()),
        (both(A, Or((B, C))), both(A, Or((C, D))), ["A", "B|C|D"], set()),
        (seq(A, B), seq(A, C), [], set()),
    ],
)
def test_slots_and_the_order_that_both_imply_are_common(
    first: Seq | And, second: Seq | And, slots: list[str], order: set[tuple[int, int]]
) -> None:
    found = find_shared(event_pattern(first), event_pattern(second))
    assert sorted(types(found)) == sorted(slots)
    if found is not None:
        named = {(types(found)[one], types(found)[other]) for one, other in found.order}
        assert named == {(slots[one], slots[other]) for one, other in order}


def test_slots_of_one_type_are_common_as_often_as_both_have_them() -> None:
    again = QueryEvent("again", "A")
    found = find_shared(event_pattern(seq(A, B, again)), event_pattern(seq(A, again, C)))
    assert types(found) == ["A", "A"]
    assert found is not None
    assert found.order == {(0, 1)}


def test_the_keys_of_a_slot_of_several_types_lead_to_those_of_either_side() -> None:
    forms = Forms(TimeUnit.SECOND)
    one, other = (form_of(forms, event_pattern(root)) for root in (both(A, B), both(A, Or((B, C)))))
    found = common(forms, one, other)
    assert found is not None
    (moved,) = found.in_first
    assert forms.keys[moved][0] == Slot(("B", "C"))
    assert forms.keys[found.in_first[moved]][0] == Slot(("B",))
    assert found.in_second == {moved: moved}


def test_the_longer_time_is_kept_whatever_its_unit_and_what_all_events_share_in_both() -> None:
    first = event_pattern(seq(A, B), within="2m", partition=("who", "where"))
    found = find_shared(first, event_pattern(seq(A, B), within="100", partition=("where",)))
    assert found is not None
    assert found.within == Duration(2, "m")
    assert found.partition == ("where",)


@pytest.mark.parametrize(
    ("first", "second", "asked"),
    [
        ([x("a", 1)], [x("a", 1)], (x("s0", 1),)),
        ([x("a", 1)], [x("a", 2)], (predicate.Disjunction((x("s0", 1), x("s0", 2))),)),
        ([x("a", 1)], [], ()),
        ([x("a", 1)], [x("b", 1)], ()),
        ([x("a", 1), x("a", 2)], [x("a", 1)], (x("s0", 1),)),
        ([x("a", 1), x("a", 2)], [x("a", 1), x("a", 3)], (x("s0", 1), predicate.Disjunction((x("s0", 2), x("s0", 3))))),
        (
            [x("a", 1), x("a", 2)],
            [x("a", 3)],
            (predicate.Disjunction((predicate.Conjunction((x("s0", 1), x("s0", 2))), x("s0", 3))),),
        ),
    ],
)
def test_predicates_over_the_same_slots_are_joined_by_or(
    first: list[Expression], second: list[Expression], asked: tuple[Expression, ...]
) -> None:
    found = find_shared(event_pattern(seq(A, B), *first), event_pattern(seq(A, B), *second))
    assert found is not None
    assert found.predicates == asked


def test_a_form_is_that_of_its_sub_pattern_again() -> None:
    forms = Forms(TimeUnit.SECOND)
    either = predicate.Disjunction((x("a", 1), predicate.Conjunction((x("a", 2), x("a", 3)))))
    one, other = (form_of(forms, event_pattern(seq(A, B, C), each, x("a", 9), x("c", 1))) for each in (either, x("a", 4)))
    found = common(forms, one, other)
    assert found is not None
    assert forms.of(forms.sub_pattern(found.form)[0])[0] == found.form
    assert implies(forms, one, found.form)


def test_an_or_that_reads_several_slots_or_has_too_many_parts_is_one_condition() -> None:
    forms = Forms(TimeUnit.SECOND)
    across, long = (
        predicate.Disjunction((x("a", 1), x("b", 1))),
        predicate.Disjunction(tuple(x("a", value) for value in range(MOST_DISJUNCTS + 1))),
    )
    short = predicate.Disjunction((x("a", 1), x("a", 2)))
    form = form_of(forms, event_pattern(seq(A, B), across, long, short))
    assert sorted(map(len, form.predicates.values())) == [1, 2]
    assert forms.of(forms.sub_pattern(form)[0])[0] == form


def test_predicates_across_slots_are_joined_with_those_across_the_same() -> None:
    def less(one: str, other: str) -> Expression:
        return Compare(Comparison.LESS, Attribute(one, "x"), Attribute(other, "x"))

    found = find_shared(
        event_pattern(seq(A, B, C), less("a", "b"), less("b", "c")), event_pattern(seq(A, B, D), less("b", "a"))
    )
    assert found is not None
    assert found.predicates == (predicate.Disjunction((less("s0", "s1"), less("s1", "s0"))),)


def test_one_and_true_are_two_conditions() -> None:
    conditions: list[Expression] = [Compare(Comparison.EQUAL, Attribute("a", "x"), Literal(value)) for value in (1, True)]
    found = find_shared(*(event_pattern(seq(A, B), condition) for condition in conditions))
    assert found is not None
    assert isinstance(found.predicates[0], predicate.Disjunction)


def test_of_too_many_conditions_nothing_is_asked() -> None:
    forms = Forms(TimeUnit.SECOND)
    members = [form_of(forms, event_pattern(seq(A, B), x("a", value))) for value in range(MOST_DISJUNCTS + 1)]
    few, many = (common_of_all(forms, members[:count]) for count in (MOST_DISJUNCTS, MOST_DISJUNCTS + 1))
    assert few is not None
    assert len(few[0].predicates) == 1
    assert many is not None
    assert not many[0].predicates


@pytest.mark.parametrize(
    ("first", "second", "is_shared"),
    [
        (seq(A, no("X"), C, D), seq(A, no("X"), C, E), True),
        (seq(A, no("X"), B, C), seq(A, no("X"), C), False),
        (seq(A, C, no("X"), D), seq(A, C, no("Y"), D), False),
        (seq(no("X"), A, B), seq(no("X"), A, B), True),
        (seq(no("X"), A, B, C), seq(no("X"), A, B), False),
        (both(A, no("X"), B), both(A, no("X"), B), True),
        (both(A, no("X"), B, C), both(A, no("X"), B, D), False),
        (seq(A, no("C"), B, C), seq(A, no("C"), B, D), False),
        (seq(A, no("C"), B, QueryEvent("any")), seq(A, no("C"), B, D), False),
    ],
)
def test_what_must_not_come_is_shared_between_the_same_neighbours(first: Seq | And, second: Seq | And, is_shared: bool) -> None:
    found = find_shared(event_pattern(first), event_pattern(second))
    assert found is not None
    assert bool(found.absences) is is_shared


@pytest.mark.parametrize(
    ("root", "is_shared"),
    [(seq(A, no("X"), B), True), (seq(no("X"), A, B), False), (seq(A, B, no("X")), False), (both(A, no("X"), B), False)],
)
def test_other_times_keep_what_is_bounded_on_both_sides_alone(root: Seq | And, is_shared: bool) -> None:
    found = find_shared(event_pattern(root, within="10"), event_pattern(root, within="20"))
    assert found is not None
    assert bool(found.absences) is is_shared


def test_what_must_not_come_in_another_partition_is_not_shared() -> None:
    root = seq(A, no("X"), B)
    found = find_shared(event_pattern(root, partition=("who",)), event_pattern(root))
    assert found is not None
    assert found.absences == ()


def test_conditions_of_what_must_not_come_are_joined_by_and() -> None:
    root = seq(A, no("X"), B, C)
    found = find_shared(event_pattern(root, x("x", 1)), event_pattern(root, x("x", 2)))
    assert found is not None
    assert found.absences == (Absence(("X",), (0,), (1,), (0, 1)),)
    assert found.predicates == (x("n0", 1), x("n0", 2))


def test_conditions_of_what_must_not_come_that_read_other_slots_are_not_shared() -> None:
    condition = Compare(Comparison.LESS, Attribute("x", "x"), Attribute("c", "x"))
    first = event_pattern(seq(A, no("X"), B, C), condition)
    for second, is_shared in ((seq(A, no("X"), B, C), True), (seq(A, no("X"), B, D), False)):
        found = find_shared(first, event_pattern(second))
        assert found is not None
        assert bool(found.absences) is is_shared


@pytest.mark.parametrize(
    ("first", "second", "selection", "is_shared"),
    [
        (Repeat(2), Repeat(2), Selection.ANY, True),
        (Repeat(2), Repeat(2, 3), Selection.ANY, False),
        (Repeat(2), None, Selection.ANY, False),
        (Repeat(2), Repeat(2), Selection.NEXT, False),
    ],
)
def test_lists_as_long_are_shared_unless_they_depend_on_their_whole_pattern(
    first: Repeat, second: Repeat | None, selection: Selection, is_shared: bool
) -> None:
    one, other = (
        event_pattern(seq(A, B, QueryEvent("l", "L", repeat), last), selection=selection)
        for repeat, last in ((first, C), (second, D))
    )
    assert ("L" in types(find_shared(one, other))) is is_shared


def test_a_form_implies_what_it_has_in_common_with_others() -> None:
    forms = Forms(TimeUnit.SECOND)
    one, other = (form_of(forms, event_pattern(seq(A, B, last), x("a", 1))) for last in (C, D))
    found = common(forms, one, other)
    assert found is not None
    assert implies(forms, one, found.form)
    assert not implies(forms, found.form, one)
    assert implies(forms, form_of(forms, event_pattern(seq(A, B, C), x("a", 1), within="9")), found.form)
    assert not implies(forms, form_of(forms, event_pattern(seq(A, B, C))), found.form)
    assert not implies(forms, form_of(forms, event_pattern(seq(A, B, C), x("a", 1), within="11")), found.form)


def test_a_part_of_a_form_says_what_it_says_of_its_slots() -> None:
    forms = Forms(TimeUnit.SECOND)
    whole = form_of(forms, event_pattern(seq(A, no("X"), B, no("Y", "y"), C), x("a", 1), x("c", 1)))
    part = restrict(forms, whole, form_of(forms, event_pattern(seq(A, B))).slots)
    sub_pattern, _ = forms.sub_pattern(part)
    assert types(sub_pattern) == ["A", "B"]
    assert sub_pattern.order == {(0, 1)}
    assert sub_pattern.predicates == (x("s0", 1),)
    assert [absence.types for absence in sub_pattern.absences] == [("X",)]


def test_a_part_forbids_nothing_that_a_slot_it_leaves_out_may_take() -> None:
    forms = Forms(TimeUnit.SECOND)
    whole = form_of(forms, event_pattern(seq(A, no("C"), B, QueryEvent("last", "C"))))
    part = restrict(forms, whole, form_of(forms, event_pattern(seq(A, B))).slots)
    assert (len(whole.absences), len(part.absences)) == (1, 0)


def test_a_part_forbids_nothing_by_a_condition_that_reads_a_slot_it_leaves_out() -> None:
    forms = Forms(TimeUnit.SECOND)
    condition = Compare(Comparison.LESS, Attribute("x", "x"), Attribute("c", "x"))
    whole = form_of(forms, event_pattern(seq(A, no("X"), B, C), condition))
    part = restrict(forms, whole, form_of(forms, event_pattern(seq(A, B))).slots)
    assert (len(whole.absences), len(part.absences)) == (1, 0)


LESS, UP_TO, MORE, FROM = Comparison.LESS, Comparison.LESS_OR_EQUAL, Comparison.GREATER, Comparison.GREATER_OR_EQUAL


@pytest.mark.parametrize(
    ("first", "second", "wider"),
    [
        ((LESS, 30), (LESS, 40), (LESS, 40)),
        ((MORE, 30), (MORE, 40), (MORE, 30)),
        ((LESS, 30), (UP_TO, 30), (UP_TO, 30)),
        ((FROM, 30), (MORE, 30), (FROM, 30)),
        ((FROM, 3), (MORE, 2.5), (MORE, 2.5)),
        ((LESS, "a"), (LESS, "b"), (LESS, "b")),
        ((LESS, 30), (LESS, "a"), None),
        ((LESS, 30), (MORE, 40), None),
        ((LESS, True), (LESS, 30), None),
    ],
)
def test_of_two_limits_the_wider_is_common(
    first: tuple[Comparison, Value], second: tuple[Comparison, Value], wider: tuple[Comparison, Value] | None
) -> None:
    limits: list[Expression] = [
        Compare(comparison, Attribute("a", "x"), Literal(value)) for comparison, value in (first, second)
    ]
    found = find_shared(*(event_pattern(seq(A, B), limit) for limit in limits))
    assert found is not None
    (read,) = found.predicates
    if wider is None:
        assert isinstance(read, predicate.Disjunction)
    else:
        assert read == Compare(wider[0], Attribute("s0", "x"), Literal(wider[1]))


def test_limits_of_other_attributes_are_others_and_of_several_the_closest_counts() -> None:
    def limit(name: str, value: int) -> Expression:
        return Compare(LESS, Attribute("a", name), Literal(value))

    apart = find_shared(event_pattern(seq(A, B), limit("x", 1)), event_pattern(seq(A, B), limit("y", 2)))
    assert apart is not None
    assert isinstance(apart.predicates[0], predicate.Disjunction)
    several = find_shared(event_pattern(seq(A, B), limit("x", 9), limit("x", 1)), event_pattern(seq(A, B), limit("x", 2)))
    assert several is not None
    assert [each.right for each in several.predicates if isinstance(each, Compare)] == [Literal(2)]
