"""Convert event patterns to branch form: each way to match a pattern, as slots in a partial order.

SEQ puts each slot of a part before each of the later parts, AND says nothing of its parts' order. An OR of events becomes one
slot of several types in one case. The events differ in their types, no predicate reads them, and no other part could be one of
them. Any other OR makes a branch for each of its parts. The branches of several ORs come in the order of the text, where the
choice in the first OR counts most.

Reference: paper 002, sections 2.1 and 4.2.3 (nested operators are left to its Appendix A, which is unpublished).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, product
from math import prod
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.event_expression import And, Not, QueryEvent, Seq, Visitor, choices, events, positive_events
from graphtide_core.event_pattern import Selection
from graphtide_core.plans.events import Absence, NameOfType, Slot, SubPattern
from graphtide_core.predicate import conjuncts, rename, variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.event_expression import Or, Part
    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.plans.events import SlotIndex
    from graphtide_core.predicate import Expression

MOST_BRANCHES: Final = 256
"""The most branches of a pattern: each is a sub-pattern for engines."""


@dataclass(frozen=True, slots=True)
class BranchForm:
    """One way to match a pattern.

    Attributes:
        sub_pattern: what is matched.
        events: names of the events, by slot; of a slot of several types that of the first of them.
        by_type: names of the events of the other types of such slots.
    """

    sub_pattern: SubPattern
    events: tuple[str, ...]
    by_type: tuple[NameOfType, ...] = ()


def branches(pattern: EventPattern) -> tuple[BranchForm, ...]:
    """Return the branches of a pattern, the preferred first.

    A predicate that reads an event of a part of an OR which a branch does not take is none of the branch.

    Raises:
        InvalidPatternError: there are more than `MOST_BRANCHES`.
    Complexity: O(branches * (slots^2 + predicates)).
    """
    predicates = [(predicate, variables(predicate)) for predicate in pattern.predicates]
    if next(choices(pattern.root), None) is None:
        return (_form(pattern, frozenset(), pattern.root, predicates),)
    read = frozenset[str]().union(*(names for _, names in predicates), _mistakable(pattern.root))
    count = _Branches(read).visit(pattern.root)
    if count > MOST_BRANCHES:
        message = f"the ORs of {pattern.name!r} make {count:,} branches; a pattern may have {MOST_BRANCHES}"
        raise InvalidPatternError(message)
    optional = frozenset(event.name for choice in choices(pattern.root) for event in events(choice))
    return tuple(_form(pattern, optional, chosen, predicates) for chosen in _Choices(read).visit(pattern.root))


def _mistakable(root: Part) -> Iterator[str]:
    """Yield the events of ORs that are of a type which another part, to come beside them, takes as well.

    As one slot, such an OR would find the same events twice if two branches have them; a match is reported under the first.
    """
    positive = positive_events(root)
    for choice in choices(root):
        own = {part.name: part.type for part in choice.parts if isinstance(part, QueryEvent)}
        others = {event.type for event in positive if event.name not in own}
        if None in others or not others.isdisjoint(own.values()):
            yield from own


def _is_one_slot(choice: Or, read: frozenset[str]) -> bool:
    """Return whether an OR is a slot of several types, so that the type of an event gives its name."""
    parts = [part for part in choice.parts if isinstance(part, QueryEvent) and part.type is not None and part.repeat is None]
    types = {part.type for part in parts}
    return len(types) == len(choice.parts) and read.isdisjoint(part.name for part in parts)


@dataclass(frozen=True, slots=True)
class _Branches(Visitor[int]):
    """How many branches a part makes; `read` are events that make an OR several slots."""

    read: frozenset[str]

    def event(self, _event: QueryEvent, /) -> int:
        return 1

    def absent(self, _absent: Not, /) -> int:
        return 1

    def sequence(self, group: Seq, /) -> int:
        return prod(map(self.visit, group.parts))

    def conjunction(self, group: And, /) -> int:
        return prod(map(self.visit, group.parts))

    def choice(self, group: Or, /) -> int:
        return 1 if _is_one_slot(group, self.read) else sum(map(self.visit, group.parts))


@dataclass(frozen=True, slots=True)
class _Choices(Visitor["Iterator[Part]"]):
    """A part once for each choice in its ORs; what stays of these are slots of several types."""

    read: frozenset[str]

    def event(self, event: QueryEvent, /) -> Iterator[Part]:
        yield event

    def absent(self, absent: Not, /) -> Iterator[Part]:
        yield absent

    def sequence(self, group: Seq, /) -> Iterator[Part]:
        yield from (group,) if not self._chooses(group) else map(Seq, product(*map(self.visit, group.parts)))

    def conjunction(self, group: And, /) -> Iterator[Part]:
        yield from (group,) if not self._chooses(group) else map(And, product(*map(self.visit, group.parts)))

    def choice(self, group: Or, /) -> Iterator[Part]:
        yield from (group,) if _is_one_slot(group, self.read) else chain.from_iterable(map(self.visit, group.parts))

    def _chooses(self, part: Part) -> bool:
        """Whether some OR in the part is not one slot."""
        return not all(_is_one_slot(each, self.read) for each in choices(part))


_Predicates = list[tuple["Expression", frozenset[str]]]
"""Predicates, each with the events that it reads."""


def _form(pattern: EventPattern, optional: frozenset[str], chosen: Part, predicates: _Predicates) -> BranchForm:
    """Return the form of a branch; `optional` are the events of ORs, of which it takes some."""
    placed = _Placed()
    placed.visit(chosen)
    return BranchForm(
        SubPattern(
            tuple(placed.slots),
            frozenset(placed.order),
            pattern.within,
            tuple(placed.predicates(predicates, optional)),
            tuple(placed.absences),
            pattern.partition,
            pattern.selection if any(slot.repeat is not None for slot in placed.slots) else Selection.ANY,
        ),
        tuple(placed.events),
        tuple(placed.by_type),
    )


@dataclass(slots=True)
class _Placed(Visitor[tuple["SlotIndex", ...]]):
    """The parts of a branch that have their places; a part has the slots that it was given."""

    slots: list[Slot] = field(default_factory=list)
    order: set[tuple[SlotIndex, SlotIndex]] = field(default_factory=set)
    absences: list[Absence] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    by_type: list[NameOfType] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)

    def event(self, event: QueryEvent, /) -> tuple[SlotIndex, ...]:
        return (self._slot(Slot(() if event.type is None else (event.type,), event.repeat), event.name),)

    def absent(self, _absent: Not, /) -> tuple[SlotIndex, ...]:
        """Return nothing: only its neighbours know its bounds, and their group places it."""
        return ()

    def choice(self, group: Or, /) -> tuple[SlotIndex, ...]:
        names = {each.type: each.name for each in group.parts if isinstance(each, QueryEvent) and each.type is not None}
        types = tuple(sorted(names))
        slot = self._slot(Slot(types), names[types[0]])
        self.by_type += [NameOfType(slot, kind, names[kind]) for kind in types[1:]]
        return (slot,)

    def sequence(self, group: Seq, /) -> tuple[SlotIndex, ...]:
        return self._group(group, [self.visit(each) for each in group.parts])

    def conjunction(self, group: And, /) -> tuple[SlotIndex, ...]:
        return self._group(group, [self.visit(each) for each in group.parts])

    def _slot(self, slot: Slot, name: str) -> SlotIndex:
        self.slots.append(slot)
        self.events.append(name)
        self.variables[name] = f"s{len(self.slots) - 1}"
        return len(self.slots) - 1

    def _group(self, group: Seq | And, places: list[tuple[SlotIndex, ...]]) -> tuple[SlotIndex, ...]:
        within = tuple(slot for place in places for slot in place)
        is_inner = isinstance(group, And)
        earlier: tuple[SlotIndex, ...] = ()
        last: tuple[SlotIndex, ...] = ()
        for index, (part, place) in enumerate(zip(group.parts, places, strict=True)):
            if isinstance(part, Not):
                following = next((each for each in places[index:] if each), ())
                after, before = ((), ()) if is_inner else (last, following)
                self._absent(part, Absence((), after, before, within, is_inner))
            elif not is_inner:
                self.order |= set(product(earlier, place))
                earlier, last = earlier + place, place
        return within

    def _absent(self, part: Not, bounds: Absence) -> None:
        """Note that none of some events may come: each for itself, as each may have predicates."""
        for event in part.events:
            self.variables[event.name] = f"n{len(self.absences)}"
            types = () if event.type is None else (event.type,)
            self.absences.append(Absence(types, bounds.after, bounds.before, bounds.within, bounds.is_inner))

    def predicates(self, of_pattern: _Predicates, optional: frozenset[str]) -> Iterator[Expression]:
        """Yield the predicates that read nothing of what was not taken, over the slots."""
        not_taken = optional - self.variables.keys()
        for predicate, read in of_pattern:
            if not_taken.isdisjoint(read):
                yield from conjuncts(rename(predicate, self.variables))
