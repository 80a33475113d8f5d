"""The plan of event patterns: one graph of sub-patterns for all of them.

A sub-pattern is in *branch form*: slots, a partial order over them, predicates and a time. Every combination of SEQ and AND is
a partial order. SEQ says that each slot of a part is no later than each of the next; AND says nothing. OR of events that no
predicate reads is a slot of several types; any other OR gives several branches, in their order. So one form serves all
operators, and a common sub-pattern is one of common slots with an order that both imply.

Invariant: each vertex comes after its parents, and whatever events match a vertex, some of them match each of its parents. A
vertex says all that its instances have to fulfil: what a parent has checked may be asked again, and never needs to be.

Reference: paper 002, Definition 1 and section 4.2.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from graphtide_core.event_pattern import Selection
from graphtide_core.plans.assigned import AssignedPlan, Count
from graphtide_core.plans.engines import AGGREGATION

if TYPE_CHECKING:
    from graphtide_core.event_expression import Repeat
    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.plans.assigned import Candidate
    from graphtide_core.predicate import Expression
    from graphtide_core.time import Duration

SlotIndex = int
"""Position of a slot in `SubPattern.slots`; a predicate calls slot 0 `s0`, and the event of absence 0 `n0`."""

VertexIndex = int
"""Position of a vertex in `AggregationPlan.vertices`."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place of a match that one event fills, or with `repeat` a list of them; of any type where `types` is empty."""

    types: tuple[str, ...]
    repeat: Repeat | None = None


@dataclass(frozen=True, slots=True)
class Absence:
    """Events that must not come between two bounds, closed both.

    The interval begins at the latest of the slots in `after`, or, where there are none, T before the latest of `within`. It
    ends at the earliest of `before`, or T after the earliest of `within`. That of an AND has both sides empty and `is_inner`:
    then the interval is from the earliest to the latest of `within`.
    """

    types: tuple[str, ...]
    after: tuple[SlotIndex, ...]
    before: tuple[SlotIndex, ...]
    within: tuple[SlotIndex, ...]
    is_inner: bool = False


@dataclass(frozen=True, slots=True)
class SubPattern:
    """The structure that the instances of a vertex have in common.

    Attributes:
        slots: in a fixed order.
        order: pairs of slots, the first no later than the second; closed under transitivity.
        within: longest time from the first to the last event.
        predicates: over the slots, all true; those that read `n<i>` say which events absence i speaks of.
        absences: what must not come.
        partition: attributes that all events share, those that must not come too.
        selection: what the lists of repeated slots take; ANY where there are none.
    """

    slots: tuple[Slot, ...]
    order: frozenset[tuple[SlotIndex, SlotIndex]]
    within: Duration
    predicates: tuple[Expression, ...] = ()
    absences: tuple[Absence, ...] = ()
    partition: tuple[str, ...] = ()
    selection: Selection = Selection.ANY


@dataclass(frozen=True, slots=True)
class Parent:
    """A vertex whose instances are parts of another's: slot i of the parent is slot `slots[i]` of the child.

    Parents of one vertex have no slot in common.
    """

    vertex: VertexIndex
    slots: tuple[SlotIndex, ...]


@dataclass(frozen=True, slots=True)
class Vertex:
    """A sub-pattern whose instances are stored once, from those of all its parents; `instances` estimates how many live."""

    sub_pattern: SubPattern
    parents: tuple[Parent, ...] = ()
    instances: float = 0.0

    @property
    def differential(self) -> tuple[SlotIndex, ...]:
        """The slots that no parent fills, ascending."""
        filled = {slot for parent in self.parents for slot in parent.slots}
        return tuple(slot for slot in range(len(self.sub_pattern.slots)) if slot not in filled)


@dataclass(frozen=True, slots=True)
class NameOfType:
    """The name of the event in a slot, where it is of this type."""

    slot: SlotIndex
    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Branch:
    """A way in which a pattern is matched: by the instances of a vertex.

    Attributes:
        vertex: whose instances.
        events: names of the events, by slot; of a slot of several types that of the first of them.
        by_type: names of the events of the other types of such slots.
    """

    vertex: VertexIndex
    events: tuple[str, ...]
    by_type: tuple[NameOfType, ...] = ()


@dataclass(frozen=True, slots=True)
class AggregationPlan:
    """Vertices, each after its parents, and for each pattern of the unit, in their order, its branches, the first preferred."""

    vertices: tuple[Vertex, ...]
    branches: tuple[tuple[Branch, ...], ...]
    builder: str = "none"


@dataclass(frozen=True, slots=True)
class EventRates:
    """How many events of each type came in so many ticks, and how many of any type; with 0 ticks nothing is known."""

    ticks: Count = 0
    events: Count = 0
    types: tuple[tuple[str, Count], ...] = ()


@dataclass(frozen=True, slots=True)
class Grouping(AssignedPlan):
    """How an event pattern is matched if its host makes the units: by a plan that a builder makes for all of them.

    Attributes:
        builder: of the plan; `auto` is the one estimated best.
        rates: of the events that the pattern asks for, as they were when this was decided.
    """

    builder: str = "auto"
    rates: EventRates = EventRates()
    engines: ClassVar[tuple[str, ...]] = (AGGREGATION,)


@dataclass(frozen=True, slots=True)
class EventUnit:
    """Event patterns that one plan matches; those of its branches are in their order.

    `considered` are the estimated costs of sharing and of each pattern alone, the cheaper first; empty if there was no choice.
    """

    patterns: tuple[EventPattern, ...]
    aggregation: AggregationPlan
    considered: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class EventPlan:
    """An event pattern and how it is matched: as one of a unit, at its place there."""

    unit: EventUnit
    place: int
    kind: ClassVar[Literal["events"]] = "events"

    @property
    def native(self) -> Self:
        """The plan itself."""
        return self

    @property
    def pattern(self) -> EventPattern:
        """The pattern."""
        return self.unit.patterns[self.place]

    @property
    def branches(self) -> tuple[Branch, ...]:
        """The ways in which it is matched, the first preferred."""
        return self.unit.aggregation.branches[self.place]

    @property
    def engine(self) -> str:
        """Name of the engine that runs the plan."""
        return AGGREGATION
