"""Convert sub-patterns to the form that plan builders compare: slots, orders and predicates are numbers, equal in all patterns.

A slot's *key* stands for what it takes: its types, how often, and its number among the slots that take the same. Sub-patterns
then have in common what their sets have in common. No slots have to be matched up, and an examination is a few operations on
sets. A *term* stands for a predicate over keys. Predicates over the same keys are a disjunction of conjunctions of terms, where
none implies another. So what several patterns ask for, joined by OR, stays small and has one form. Of two limits of one
attribute the closer implies the wider: `speed < 30 OR speed < 40` is `speed < 40`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.event_pattern import Selection
from graphtide_core.plans.events import Absence, Slot, SubPattern
from graphtide_core.predicate import (
    Attribute,
    Compare,
    Comparison,
    Conjunction,
    Disjunction,
    Literal,
    conjuncts,
    rename,
    variables,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from graphtide_core.predicate import Expression
    from graphtide_core.time import Duration, TimeUnit

Key = int
"""Number of a slot among those of all patterns; a set of them is an integer with these bits."""

Term = int
"""Number of a predicate over keys."""

NormalForm = frozenset[frozenset[Term]]
"""Of these sets of terms all of one are true."""

MOST_DISJUNCTS: Final = 8
"""Conjunctions that predicates over the same slots may have; with more, nothing is asked, which all patterns below fulfil."""

_NOTHING: Final[NormalForm] = frozenset([frozenset()])
"""What is always true."""

_KEY_BITS: Final = 24
"""A pair of keys is one number: the first, shifted by so many bits, and the second."""

_FORBIDDEN: Final = "n"
"""The variable of the event that must not come, in terms of an absence."""


class _Limit(NamedTuple):
    """The range of values that a comparison with a constant accepts.

    Attributes:
        of: the variable, the attribute, whether the limit is the upper one, and whether it is a text.
        value: the constant.
        is_closed: whether it is let through itself.
    """

    of: tuple[str, str, bool, bool]
    value: int | float | str
    is_closed: bool


class Forbidden(NamedTuple):
    """Events that must not come: see `Absence`; with the terms that say which, all true."""

    types: tuple[str, ...]
    after: int
    before: int
    within: int
    is_inner: bool
    terms: frozenset[Term]


@dataclass(frozen=True, slots=True)
class Form:
    """A sub-pattern. Equal forms are one sub-pattern.

    Attributes:
        slots: its keys.
        order: pairs of keys of which the first is no later.
        within: ticks from the first event to the last.
        predicates: by the keys that they read.
        absences: what must not come.
        partition: attributes that all events share.
    """

    slots: int
    order: frozenset[int]
    within: int
    predicates: Mapping[int, NormalForm]
    absences: frozenset[Forbidden]
    partition: frozenset[str]

    def identity(self) -> tuple[object, ...]:
        """Return what equal forms have in common, as a key of dictionaries."""
        return self.slots, self.order, self.within, frozenset(self.predicates.items()), self.absences, self.partition

    @property
    def size(self) -> int:
        """How many slots it has."""
        return self.slots.bit_count()


class Forms:
    """The numbers of keys and terms, and the way to forms and back. All patterns are of one stream, whose unit is given."""

    def __init__(self, unit: TimeUnit) -> None:
        """Begin without any."""
        self._unit = unit
        self.keys: list[tuple[Slot, int]] = []
        self.private = 0
        self.loose = 0
        self._key_of: dict[tuple[object, ...], Key] = {}
        self._terms: list[tuple[Expression, int]] = []
        self._limits: list[_Limit | None] = []
        self._term_of: dict[object, Term] = {}
        self._durations: dict[int, Duration] = {}

    def key(self, slot: Slot, occurrence: int, selection: Selection = Selection.ANY) -> Key:
        """Return the number of a slot: of the `occurrence`-th of its pattern that takes the same."""
        # Slots and selections have hashes of their own, which take longer than those of what they are made of.
        takes = slot.types, occurrence, None if slot.repeat is None else (slot.repeat, selection)
        known = self._key_of.get(takes)
        if known is not None:
            return known
        key = self._key_of[takes] = len(self.keys)
        self.keys.append((slot, occurrence))
        if slot.repeat is not None and selection is Selection.NEXT:
            # How many events such a list takes depends on all that its pattern asks of them.
            self.private |= 1 << key
        if len(slot.types) > 1:
            self.loose |= 1 << key
        return key

    def term(self, expression: Expression, names: Mapping[str, str]) -> Term:
        """Return the number of a predicate, given the names of its variables over keys."""
        shape = _shape(expression, names)
        known = self._term_of.get(shape)
        if known is None:
            over = rename(expression, names)
            known = self._term_of[shape] = len(self._terms)
            self._limits.append(_limit(over))
            self._terms.append((over, _mask(int(name[1:]) for name in variables(over) if name != _FORBIDDEN)))
        return known

    def reads(self, term: Term) -> int:
        """Return the keys that a predicate reads."""
        return self._terms[term][1]

    def moved(self, term: Term, keys: Mapping[Key, Key]) -> Term:
        """Return the predicate over other keys; those that are not given stay."""
        expression, read = self._terms[term]
        return self.term(expression, {f"k{key}": f"k{keys.get(key, key)}" for key in bits(read)})

    def joined(self, one: NormalForm, other: NormalForm) -> NormalForm:
        """Return what is true where one of two disjunctions is."""
        return one if one == other else self._weakest(one | other)

    def _weakest(self, conjunctions: Iterable[frozenset[Term]]) -> NormalForm:
        """Return a disjunction without the conjunctions that imply another of it; of equals the first stays."""
        kept: list[frozenset[Term]] = []
        for terms in sorted(map(self._closest, conjunctions), key=sorted):
            if not any(self._implies(terms, other) for other in kept):
                kept = [other for other in kept if not self._implies(other, terms)] + [terms]
        return frozenset(kept)

    def _closest(self, terms: frozenset[Term]) -> frozenset[Term]:
        """Return a conjunction without the terms that others of it imply."""
        kept: list[Term] = []
        for term in sorted(terms):
            if not any(_is_closer(self._limits[other], self._limits[term]) for other in kept):
                kept = [other for other in kept if not _is_closer(self._limits[term], self._limits[other])] + [term]
        return frozenset(kept)

    def _implies(self, terms: frozenset[Term], others: frozenset[Term]) -> bool:
        """Return whether a conjunction plainly implies another."""
        limits = [self._limits[term] for term in terms]
        return all(other in terms or any(_is_closer(each, self._limits[other]) for each in limits) for other in others)

    def of(self, sub_pattern: SubPattern) -> tuple[Form, tuple[Key, ...]]:
        """Return the form of a sub-pattern, and the key of each of its slots.

        Complexity: O(pairs of the order + size of the predicates).
        """
        keys = self._keys_of(sub_pattern)
        within = sub_pattern.within.ticks(self._unit) // 1
        self._durations.setdefault(within, sub_pattern.within)
        names = {f"s{slot}": f"k{key}" for slot, key in enumerate(keys)}
        absent = {f"n{index}": _FORBIDDEN for index in range(len(sub_pattern.absences))}
        asked: dict[int, NormalForm] = {}
        of_absences: list[set[Term]] = [set() for _ in sub_pattern.absences]
        for predicate in sub_pattern.predicates:
            index = next((int(name[1:]) for name in variables(predicate) if name in absent), None) if absent else None
            if index is None:
                self._ask(asked, predicate, names)
            else:
                of_absences[index].add(self.term(predicate, names | absent))
        form = Form(
            slots=_mask(keys),
            order=frozenset([keys[first] << _KEY_BITS | keys[second] for first, second in sub_pattern.order]),
            within=within,
            predicates=asked,
            absences=strongest(map(_forbidden, sub_pattern.absences, [keys] * len(of_absences), of_absences)),
            partition=frozenset(sub_pattern.partition),
        )
        return form, keys

    def _ask(self, asked: dict[int, NormalForm], predicate: Expression, names: Mapping[str, str]) -> None:
        """Note what a predicate asks beside others, by the keys that it reads.

        An OR of what reads the same is split, unless there would be too many conjunctions. So the sub-pattern of a vertex,
        whose predicates were joined, has the form again that it was written from.
        """
        if isinstance(predicate, Disjunction):
            split = [frozenset([self.term(each, names) for each in conjuncts(option)]) for option in predicate.operands]
            reads = {self.reads(term) for terms in split for term in terms}
            if len(reads) == 1:
                (read,) = reads
                either = self._weakest(terms | others for terms in asked.get(read, _NOTHING) for others in split)
                if len(either) <= MOST_DISJUNCTS:
                    asked[read] = either
                    return
        term = self.term(predicate, names)
        read = self.reads(term)
        asked[read] = frozenset([terms | {term} for terms in asked.get(read, _NOTHING)])

    def _keys_of(self, sub_pattern: SubPattern) -> tuple[Key, ...]:
        seen: dict[tuple[object, ...], int] = {}
        keys = []
        for slot in sub_pattern.slots:
            known = Slot(tuple(sorted(slot.types)), slot.repeat) if len(slot.types) > 1 else slot
            takes = known.types, known.repeat
            occurrence = seen[takes] = seen.get(takes, -1) + 1
            keys.append(self.key(known, occurrence, sub_pattern.selection if slot.repeat is not None else Selection.ANY))
        return tuple(keys)

    def sub_pattern(self, form: Form) -> tuple[SubPattern, tuple[Key, ...]]:
        """Return the sub-pattern that a form is of, and the keys of its slots, which come in an order that agrees with its own.

        Complexity: O(pairs of the order + size of the predicates).
        """
        pairs = [find_pair(each) for each in form.order]
        earlier = dict.fromkeys(bits(form.slots), 0)
        for _, second in pairs:
            earlier[second] += 1
        keys = tuple(sorted(earlier, key=lambda key: (earlier[key], key)))
        place = {key: slot for slot, key in enumerate(keys)}
        names = {f"k{key}": f"s{slot}" for key, slot in place.items()}
        predicates = [self._expression(form.predicates[read], names) for read in sorted(form.predicates)]
        absences = []
        for index, absence in enumerate(sorted(form.absences, key=lambda each: (*each[:-1], sorted(each.terms)))):
            after, before, within = (
                tuple(sorted(place[key] for key in bits(mask))) for mask in (absence.after, absence.before, absence.within)
            )
            absences.append(Absence(absence.types, after, before, within, absence.is_inner))
            own = names | {_FORBIDDEN: f"n{index}"}
            predicates.append(tuple(rename(self._terms[term][0], own) for term in sorted(absence.terms)))
        selection = Selection.NEXT if form.slots & self.private else Selection.ANY
        made = SubPattern(
            slots=tuple(self.keys[key][0] for key in keys),
            order=frozenset((place[first], place[second]) for first, second in pairs),
            within=self._durations[form.within],
            predicates=tuple(each for conjuncts in predicates for each in conjuncts),
            absences=tuple(absences),
            partition=tuple(sorted(form.partition)),
            selection=selection,
        )
        return made, keys

    def _expression(self, disjunction: NormalForm, names: Mapping[str, str]) -> tuple[Expression, ...]:
        """Return what must be true: the terms of all disjuncts, and one of what is left of them."""
        shared = frozenset.intersection(*disjunction)
        alone = tuple(rename(self._terms[term][0], names) for term in sorted(shared))
        if len(disjunction) == 1:
            return alone
        rest = sorted(sorted(terms - shared) for terms in disjunction)
        options = [tuple(rename(self._terms[term][0], names) for term in terms) for terms in rest]
        return (*alone, Disjunction(tuple(option[0] if len(option) == 1 else Conjunction(option) for option in options)))


def pair(first: Key, second: Key) -> int:
    """Return the number of a pair of an order."""
    return first << _KEY_BITS | second


def find_pair(number: int) -> tuple[Key, Key]:
    """Return the pair that has a number."""
    return number >> _KEY_BITS, number & (1 << _KEY_BITS) - 1


def count_followers(order: Iterable[int]) -> dict[Key, int]:
    """Return of how many pairs of an order each key is the first, where it is of some."""
    found: dict[Key, int] = {}
    for each in order:
        first = each >> _KEY_BITS
        found[first] = found.get(first, 0) + 1
    return found


def inside(order: frozenset[int], slots: int) -> frozenset[int]:
    """Return the pairs of an order whose keys are both among some."""
    low = (1 << _KEY_BITS) - 1
    return frozenset([each for each in order if slots >> (each >> _KEY_BITS) & slots >> (each & low) & 1])


def bits(mask: int) -> Iterator[Key]:
    """Yield the keys of a set, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _limit(expression: Expression) -> _Limit | None:
    """Return the limit that a predicate is, if it is one: numbers are compared with numbers, and texts with texts."""
    if not (
        isinstance(expression, Compare) and isinstance(expression.left, Attribute) and isinstance(expression.right, Literal)
    ):
        return None
    value, is_upper = expression.right.value, expression.comparison in (Comparison.LESS, Comparison.LESS_OR_EQUAL)
    if isinstance(value, bool) or not isinstance(value, int | float | str) or value != value:  # noqa: PLR0124 - not a number
        return None
    if not is_upper and expression.comparison not in (Comparison.GREATER, Comparison.GREATER_OR_EQUAL):
        return None
    is_closed = expression.comparison in (Comparison.LESS_OR_EQUAL, Comparison.GREATER_OR_EQUAL)
    read = expression.left
    return _Limit((read.variable, read.name, is_upper, isinstance(value, str)), value, is_closed)


def _is_closer(one: _Limit | None, other: _Limit | None) -> bool:
    """Return whether what a limit lets through another does, too."""
    if one is None or other is None or one.of != other.of:
        return False
    if one.value == other.value:
        return other.is_closed or not one.is_closed
    return bool((one.value < other.value) is one.of[2])  # type: ignore[operator] # both are numbers, or both are texts


def strongest(absences: Iterable[Forbidden]) -> frozenset[Forbidden]:
    """Return the absences without those that another one says, and more: each set of them then has one form."""
    found = frozenset(absences)
    if len(found) < 2:
        return found
    return frozenset(
        one
        for one in found
        if not any(one[:-1] == other[:-1] and other.terms < one.terms for other in found if other is not one)
    )


def _mask(keys: Iterable[Key]) -> int:
    mask = 0
    for key in keys:
        mask |= 1 << key
    return mask


def _forbidden(absence: Absence, keys: tuple[Key, ...], terms: set[Term]) -> Forbidden:
    after, before, within = (_mask(keys[slot] for slot in slots) for slots in (absence.after, absence.before, absence.within))
    # Between two neighbours the rest of the group says nothing.
    within = after | before if after and before else within
    return Forbidden(absence.types, after, before, within, absence.is_inner, frozenset(terms))


def _shape(value: object, names: Mapping[str, str]) -> object:
    """Return what two expressions have in common that are the same over the same names: 1, 1.0 and TRUE are three."""
    if isinstance(value, Compare) and isinstance(value.left, Attribute) and isinstance(value.right, Literal):
        # Nearly all predicates are such; the rest says the same of them, in four times the time.
        constant, variable = value.right.value, value.left.variable
        return value.comparison.value, names.get(variable, variable), value.left.name, type(constant), constant
    if is_dataclass(value) and not isinstance(value, type):
        own = type(value)
        read = _FIELDS.get(own)
        if read is None:
            read = _FIELDS[own] = tuple(each.name for each in fields(own) if each.compare)
        values = [getattr(value, name) for name in read]
        return (own, *[_shape(names.get(v, v) if f == "variable" else v, names) for f, v in zip(read, values, strict=True)])
    if isinstance(value, tuple):
        return tuple([_shape(each, names) for each in value])
    return value if isinstance(value, Enum) else (type(value), value)


_FIELDS: Final[dict[type, tuple[str, ...]]] = {}
"""Fields by which expressions are compared, by their class."""


def fresh(forms: Forms, slot: Slot, taken: int) -> Key:
    """Return a key of a slot that is not among those taken."""
    return next(key for key in (forms.key(slot, occurrence) for occurrence in count()) if not taken >> key & 1)
