"""An answer to whether events that were asked about are a match of an event pattern, and if not, why."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.edge import Value
    from graphtide_core.ids import EdgeId, PatternName
    from graphtide_core.time import EventTime


class Obstacle(Enum):
    """Why events are not a match: the first reason that applies, in this order."""

    UNKNOWN = "unknown"
    """No record that was matched has the id: it is not there, or was bad, late or a duplicate."""

    TYPE = "type"
    """An event is of another type."""

    NUMBER = "number"
    """An iteration has another number of events."""

    PREDICATE = "predicate"
    """A condition is not true: of one event, or, where all else that is asked before holds, of several."""

    SAME = "same"
    """One event would be in two places."""

    ORDER = "order"
    """A sequence forbids it."""

    WITHIN = "within"
    """The events are too far apart."""

    PARTITION = "partition"
    """The events do not share an attribute."""

    MISSING = "missing"
    """Nothing is there to go with the events, in the places that were not asked about."""

    ABSENT = "absent"
    """An event came that must not."""

    DELETED = "deleted"
    """An event was deleted before the match could be emitted."""

    SELECTION = "selection"
    """An iteration takes other events."""

    ALIKE = "alike"
    """The same events are a match under other names."""

    UNDECIDED = "undecided"
    """Finding it out takes too much work."""


@dataclass(frozen=True, slots=True)
class AskedEvent:
    """An event that an answer speaks of; `name` is None where it has no place in the pattern, `ts` where it is unknown."""

    name: str | None
    id: EdgeId
    ts: EventTime | None = None


@dataclass(frozen=True, slots=True)
class EventAnswer:
    """Whether events are a match.

    Attributes:
        pattern: its name.
        asked: ids by the names of events, several of an iteration.
        matched_at: when a match with them was detected first; None if there is none.
        obstacle: why there is none.
        name: of the event of the pattern that the obstacle is about: of what must not come, of what is missing.
        events: those that it is about.
        condition: as it is written; of a partition the attribute, of a number of events the iteration.
        values: what the condition reads, as `event.attribute`; of an iteration in a function of all its events, outside of the
            first that fails.
        excess: by how many ticks they are too far apart.
    """

    pattern: PatternName
    asked: Mapping[str, tuple[EdgeId, ...]]
    matched_at: EventTime | None = None
    obstacle: Obstacle | None = None
    name: str | None = None
    events: tuple[AskedEvent, ...] = ()
    condition: str | None = None
    values: Mapping[str, Value | tuple[Value, ...]] = field(default_factory=dict)
    excess: int | None = None
