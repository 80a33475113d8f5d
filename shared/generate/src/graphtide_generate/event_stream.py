"""Holds a generated stream of events with its ground truth, and collects the drafts that it is made from.

Invariant: as in `stream`: events are numbered in the order of time, and equal times keep the order of drafting.
Cost: O(n log n) for n events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.event import Event
from graphtide_core.ids import EdgeId
from graphtide_core.time import EventTime

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.edge import Value

Named = Mapping[str, EdgeId | tuple[EdgeId, ...]]
"""Ids of events by their names in a pattern; those of an iteration in the order of the stream."""


@dataclass(frozen=True, slots=True)
class PlantedEvents:
    """An instance that the pattern must find."""

    pattern: str
    events: Named


@dataclass(frozen=True, slots=True)
class EventDecoy:
    """A near miss that the pattern must not find, and the condition it breaks."""

    pattern: str
    flaw: str
    events: Named


@dataclass(frozen=True, slots=True)
class GeneratedEvents:
    """Events in the order of time, what is hidden in them, and the text of a pattern that finds exactly what is planted."""

    events: tuple[Event, ...]
    planted: tuple[PlantedEvents, ...]
    decoys: tuple[EventDecoy, ...]
    patterns: str


class EventDraft(NamedTuple):
    """An event that has no id yet."""

    ts: int
    type: str
    attributes: Mapping[str, Value]


Drafted = Mapping[str, EventDraft | list[EventDraft]]
"""Drafts by the names that they have in a pattern; those of an iteration in the order of time."""


@dataclass(slots=True)
class EventDrafts:
    """Collects events in any order of time; `finish` sorts and numbers them."""

    pattern: str
    _background: list[EventDraft] = field(default_factory=list)
    _planted: list[Drafted] = field(default_factory=list)
    _decoys: list[tuple[Drafted, str]] = field(default_factory=list)

    def add(self, drafts: Iterable[EventDraft]) -> None:
        """Take events of the background."""
        self._background.extend(drafts)

    def plant(self, events: Drafted) -> None:
        """Take an instance of the pattern."""
        self._planted.append(events)

    def decoy(self, events: Drafted, flaw: str) -> None:
        """Take a near miss, and what is wrong with it."""
        self._decoys.append((events, flaw))

    def finish(self, prefix: str, patterns: str) -> GeneratedEvents:
        """Sort everything by time and give ids `prefix` + number, with leading zeros to a common width of at least 6."""
        hidden = [draft for events in (*self._planted, *(events for events, _ in self._decoys)) for draft in _all(events)]
        ordered = sorted([*self._background, *hidden], key=lambda draft: draft.ts)
        width = max(6, len(str(len(ordered))))
        ids = {id(draft): EdgeId(f"{prefix}{number:0{width}d}") for number, draft in enumerate(ordered)}

        def named(events: Drafted) -> Named:
            return {
                name: tuple(ids[id(each)] for each in own) if isinstance(own, list) else ids[id(own)]
                for name, own in events.items()
            }

        return GeneratedEvents(
            events=tuple(Event(ids[id(draft)], EventTime(draft.ts), draft.type, draft.attributes) for draft in ordered),
            planted=tuple(PlantedEvents(self.pattern, named(events)) for events in self._planted),
            decoys=tuple(EventDecoy(self.pattern, flaw, named(events)) for events, flaw in self._decoys),
            patterns=patterns,
        )


def _all(events: Drafted) -> Iterable[EventDraft]:
    for own in events.values():
        yield from own if isinstance(own, list) else (own,)
