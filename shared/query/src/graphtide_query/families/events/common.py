"""Find the common sub-pattern of two sub-patterns: each match of either one contains it.

* AND, SEQ and their mixture: the slots that both have, with the order that both imply.
* OR: slots of which each may take what the other may not, but both some type, are one slot of all their types.
* Time: the longer one. Attributes that all events share: those of both.
* Predicates: joined by OR, those over the same slots with each other; where one side asks nothing of them, nothing is asked.
* NOT: everything is reversed. What is forbidden in common is what both forbid, so predicates are joined by AND. It is kept only
  where it speaks of the same stretch of time. That is, its neighbours are the same, and all that it is bounded by is in common.
  With a side open, or in an AND, the times are equal, too. An event of a match blocks nothing, so no slot that is left out may
  be able to take one that is forbidden. With other partitions other events are forbidden. What is not kept is checked at the
  children.
* Lists: as slots, if they are as long. Those under skip till next depend on their whole pattern, and are never common.

Reference: paper 002, section 4.2.3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.plans.events import Slot

from graphtide_query.families.events.forms import (
    MOST_DISJUNCTS,
    Forbidden,
    Form,
    bits,
    find_pair,
    fresh,
    inside,
    pair,
    strongest,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphtide_query.families.events.forms import Forms, Key, NormalForm

FEWEST_SLOTS: Final = 2
"""Slots of a sub-pattern that is worth a vertex: single events are shared in the buffers of their types."""


class Common(NamedTuple):
    """A common sub-pattern, with the key in either side of each of its keys that has another there."""

    form: Form
    in_first: Mapping[Key, Key]
    in_second: Mapping[Key, Key]


_SAME: Final[Mapping[Key, Key]] = {}


def may_share(forms: Forms, first: Form, second: Form) -> bool:
    """Return whether two sub-patterns can have one in common: `common` finds none where this says no."""
    both = first.slots & second.slots & ~forms.private
    return both.bit_count() >= FEWEST_SLOTS or (forms.loose != 0 and bool((first.slots | second.slots) & forms.loose))


def common(forms: Forms, first: Form, second: Form) -> Common | None:
    """Return the largest sub-pattern that the rules find in both; None if it has fewer than two slots.

    Complexity: O(slots + pairs of the orders + predicates), times slots where one may take several types.
    """
    shared = first.slots & second.slots & ~forms.private
    in_first = in_second = _SAME
    if (first.slots | second.slots) & forms.loose:
        matched = list(_overlapping(forms, first.slots & ~shared, second.slots & ~shared, shared))
        if matched:
            in_first = {key: one for key, one, _ in matched}
            in_second = {key: other for key, _, other in matched}
            first = _move(forms, first, {one: key for key, one in in_first.items()})
            second = _move(forms, second, {other: key for key, other in in_second.items()})
            shared |= first.slots & second.slots & ~forms.private
    if shared.bit_count() < FEWEST_SLOTS:
        return None
    order = first.order & second.order
    if first.slots & second.slots != shared:
        order = inside(order, shared)
    form = Form(
        slots=shared,
        order=order,
        within=max(first.within, second.within),
        predicates=dict(_either(forms, first, second, shared)),
        absences=_neither(forms, first, second, shared) if first.absences and second.absences else frozenset(),
        partition=first.partition & second.partition,
    )
    return Common(form, in_first, in_second)


def restrict(forms: Forms, form: Form, slots: int) -> Form:
    """Return what a form says of some of its slots alone: each match of it contains one of that."""
    outside = form.slots & ~slots
    return replace(
        form,
        slots=slots,
        order=inside(form.order, slots),
        predicates={read: asked for read, asked in form.predicates.items() if not read & ~slots},
        absences=frozenset(
            each
            for each in form.absences
            if not (each.after | each.before | each.within) & ~slots
            and all(not forms.reads(term) & ~slots for term in each.terms)
            and _is_apart(forms, each.types, outside)
        ),
    )


def implies(forms: Forms, form: Form, parent: Form) -> bool:
    """Return whether the rules see that each match of a form contains one of the parent, in the slots of the same keys."""
    if parent.slots & ~form.slots or parent.within < form.within:
        return False
    found = common(forms, form, parent)
    return found is not None and found.form.identity() == parent.identity()


def _either(forms: Forms, first: Form, second: Form, shared: int) -> Iterator[tuple[int, NormalForm]]:
    """Yield what is asked of slots in either pattern."""
    for read, asked in first.predicates.items():
        other = second.predicates.get(read)
        if other is None or read & ~shared:
            continue
        either = forms.joined(asked, other)
        if len(either) <= MOST_DISJUNCTS:
            yield read, either


def _neither(forms: Forms, first: Form, second: Form, shared: int) -> frozenset[Forbidden]:
    """Return what both patterns forbid."""
    if first.partition != second.partition:
        return frozenset()
    outside = (first.slots | second.slots) & ~shared
    found = []
    for one in first.absences:
        for other in second.absences:
            terms = one.terms | other.terms
            has_two_neighbours = one.after and one.before
            if (
                one[:-1] == other[:-1]
                and not (one.after | one.before | one.within) & ~shared
                and (has_two_neighbours or first.within == second.within)
                and all(not forms.reads(term) & ~shared for term in terms)
                and _is_apart(forms, one.types, outside)
            ):
                found.append(one._replace(terms=terms))
    return strongest(found)


def _is_apart(forms: Forms, types: tuple[str, ...], slots: int) -> bool:
    """Return whether none of some slots can take an event of some types; no types are any."""
    taken = [forms.keys[key][0].types for key in bits(slots)]
    return not taken or (bool(types) and all(each and set(types).isdisjoint(each) for each in taken))


def _overlapping(forms: Forms, first: int, second: int, taken: int) -> Iterator[tuple[Key, Key, Key]]:
    """Yield for slots with some types in common a key for all their types, and their own; each slot once."""
    taken |= first | second
    for one in bits(first & ~forms.private):
        slot = forms.keys[one][0]
        for other in bits(second & ~forms.private):
            beside = forms.keys[other][0]
            if slot.repeat == beside.repeat and not set(slot.types).isdisjoint(beside.types):
                union = Slot(tuple(sorted({*slot.types, *beside.types})), slot.repeat)
                key = fresh(forms, union, taken & ~(1 << one | 1 << other))
                taken |= 1 << key
                second ^= 1 << other
                yield key, one, other
                break


def _move(forms: Forms, form: Form, keys: Mapping[Key, Key]) -> Form:
    """Return a form with other keys; those that are not given stay."""

    def moved(mask: int) -> int:
        return sum(1 << keys.get(key, key) for key in bits(mask))

    def moved_pair(number: int) -> int:
        first, second = find_pair(number)
        return pair(keys.get(first, first), keys.get(second, second))

    def moved_terms(terms: frozenset[int]) -> frozenset[int]:
        return frozenset(forms.moved(term, keys) for term in terms)

    return replace(
        form,
        slots=moved(form.slots),
        order=frozenset(map(moved_pair, form.order)),
        predicates={moved(read): frozenset(map(moved_terms, asked)) for read, asked in form.predicates.items()},
        absences=frozenset(
            Forbidden(
                each.types,
                moved(each.after),
                moved(each.before),
                moved(each.within),
                each.is_inner,
                moved_terms(each.terms),
            )
            for each in form.absences
        ),
    )


def common_of_all(forms: Forms, members: Sequence[Form]) -> tuple[Form, list[Mapping[Key, Key]]] | None:
    """Return what several sub-patterns have in common, with the key in each of those of its keys that have another there.

    Complexity: of `common`, for each sub-pattern.
    """
    form = members[0]
    in_members: list[Mapping[Key, Key]] = [_SAME]
    for member in members[1:]:
        found = common(forms, form, member)
        if found is None:
            return None
        if found.in_first:
            in_members = [_through(found.in_first, each) for each in in_members]
        form = found.form
        in_members.append(found.in_second)
    return form, in_members


def _through(inner: Mapping[Key, Key], outer: Mapping[Key, Key]) -> dict[Key, Key]:
    """Return where keys come that are first moved by the one and then by the other."""
    moved = {key: outer.get(own, own) for key, own in inner.items()}
    return {**outer, **moved}
