"""The branch form of event patterns: each way to match a pattern, as slots in a partial order.

SEQ puts each slot of a part before each of the later parts, AND says nothing of its parts' order. An OR of events that differ
in their types, and that no predicate reads and no other part could be, is one slot of several types. Any other OR makes a
branch for each of its parts.
The branches of several ORs come in the order of the text, where the choice in the first OR counts most.

Reference: paper 002, sections 2.1 and 4.2.3 (nested operators are left to its Appendix A, which is unpublished).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Final

from graphtide_core.arrangement import choices
from graphtide_core.errors import InvalidPatternError
from graphtide_core.event_pattern import Absent, All, Any, QueryEvent, Selection, Seq, events, positive_events
from graphtide_core.plans.events import Absence, NameOfType, Slot, SubPattern
from graphtide_core.predicate import conjuncts, renamed, variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.event_pattern import EventPattern, Part
    from graphtide_core.plans.events import SlotIndex
    from graphtide_core.predicate import Expression

MOST_BRANCHES: Final = 256
"""Branches that a pattern may have: each is a sub-pattern of its own to engines."""


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
    """Return the ways to match a pattern, the preferred first.

    A predicate that reads an event of a part of an OR which a branch does not take is none of the branch.

    Raises:
        InvalidPatternError: there are more than `MOST_BRANCHES`.
    Complexity: O(branches * (slots^2 + predicates)).
    """
    predicates = [(predicate, variables(predicate)) for predicate in pattern.predicates]
    if next(choices(pattern.root), None) is None:
        return (_form(pattern, frozenset(), pattern.root, predicates),)
    read = frozenset[str]().union(*(names for _, names in predicates), _mistakable(pattern.root))
    count = _count(pattern.root, read)
    if count > MOST_BRANCHES:
        message = f"the ORs of {pattern.name!r} make {count:,} branches; a pattern may have {MOST_BRANCHES}"
        raise InvalidPatternError(message)
    optional = frozenset(event.name for choice in choices(pattern.root) for event in events(choice))
    return tuple(_form(pattern, optional, chosen, predicates) for chosen in _choices(pattern.root, read))


def _mistakable(root: Part) -> Iterator[str]:
    """Yield the events of ORs that are of a type which another part, to come beside them, takes as well.

    As one slot such an OR would find the same events twice where two branches of it have them; a match is told under the first.
    """
    positive = positive_events(root)
    for choice in choices(root):
        own = {part.name: part.type for part in choice.parts if isinstance(part, QueryEvent)}
        others = {event.type for event in positive if event.name not in own}
        if None in others or not others.isdisjoint(own.values()):
            yield from own


def _is_one_slot(choice: Any, read: frozenset[str]) -> bool:
    """Whether an OR is a slot of several types, so that the type of an event tells its name."""
    parts = [part for part in choice.parts if isinstance(part, QueryEvent) and part.type is not None and part.repeat is None]
    types = {part.type for part in parts}
    return len(types) == len(choice.parts) and read.isdisjoint(part.name for part in parts)


def _count(part: Part, read: frozenset[str]) -> int:
    match part:
        case QueryEvent() | Absent():
            return 1
        case Seq(parts) | All(parts):
            return prod(_count(each, read) for each in parts)
        case Any(parts):  # pragma: no branch - mypy knows that no case is left
            return 1 if _is_one_slot(part, read) else sum(_count(each, read) for each in parts)


def _chooses(part: Part, read: frozenset[str]) -> bool:
    """Whether some OR in the part is not one slot."""
    if isinstance(part, QueryEvent | Absent):
        return False
    return (isinstance(part, Any) and not _is_one_slot(part, read)) or any(_chooses(each, read) for each in part.parts)


def _choices(part: Part, read: frozenset[str]) -> Iterator[Part]:
    """Yield the part once for each choice in its ORs; what stays of these are slots of several types."""
    match part:
        case QueryEvent() | Absent():
            yield part
        case Seq() | All() if not _chooses(part, read):
            yield part
        case Seq(parts):
            yield from map(Seq, product(*(_choices(each, read) for each in parts)))
        case All(parts):
            yield from map(All, product(*(_choices(each, read) for each in parts)))
        case Any(parts):  # pragma: no branch - mypy knows that no case is left
            if _is_one_slot(part, read):
                yield part
            else:
                for each in parts:
                    yield from _choices(each, read)


_Predicates = list[tuple["Expression", frozenset[str]]]
"""Predicates, each with the events that it reads."""


def _form(pattern: EventPattern, optional: frozenset[str], chosen: Part, predicates: _Predicates) -> BranchForm:
    """Return the form of a branch; `optional` are the events of ORs, of which it takes some."""
    placed = _Placed()
    placed.place(chosen)
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
class _Placed:
    """The parts of a branch that have their places."""

    slots: list[Slot] = field(default_factory=list)
    order: set[tuple[SlotIndex, SlotIndex]] = field(default_factory=set)
    absences: list[Absence] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    by_type: list[NameOfType] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)

    def place(self, part: Part) -> tuple[SlotIndex, ...]:
        """Give places to a part, and return its slots; that of an `Absent` is its neighbours' to know, who place it."""
        match part:
            case QueryEvent(name, kind, repeat):
                return (self._slot(Slot(() if kind is None else (kind,), repeat), name),)
            case Any(parts):
                names = {each.type: each.name for each in parts if isinstance(each, QueryEvent) and each.type is not None}
                types = tuple(sorted(names))
                slot = self._slot(Slot(types), names[types[0]])
                self.by_type += [NameOfType(slot, kind, names[kind]) for kind in types[1:]]
                return (slot,)
            case Seq(parts) | All(parts):
                return self._group(part, [() if isinstance(each, Absent) else self.place(each) for each in parts])
            case Absent():  # pragma: no cover - an arrangement refuses it where it has no neighbours
                return ()

    def _slot(self, slot: Slot, name: str) -> SlotIndex:
        self.slots.append(slot)
        self.events.append(name)
        self.variables[name] = f"s{len(self.slots) - 1}"
        return len(self.slots) - 1

    def _group(self, group: Seq | All, places: list[tuple[SlotIndex, ...]]) -> tuple[SlotIndex, ...]:
        within = tuple(slot for place in places for slot in place)
        is_inner = isinstance(group, All)
        earlier: tuple[SlotIndex, ...] = ()
        last: tuple[SlotIndex, ...] = ()
        for index, (part, place) in enumerate(zip(group.parts, places, strict=True)):
            if isinstance(part, Absent):
                following = next((each for each in places[index:] if each), ())
                after, before = ((), ()) if is_inner else (last, following)
                self._absent(part, Absence((), after, before, within, is_inner))
            elif not is_inner:
                self.order |= set(product(earlier, place))
                earlier, last = earlier + place, place
        return within

    def _absent(self, part: Absent, bounds: Absence) -> None:
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
                yield from conjuncts(renamed(predicate, self.variables))
