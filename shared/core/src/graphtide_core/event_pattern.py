"""An event pattern: what the event-pattern family matches.

Reference: paper 002, section 2.1, with iteration, partitions and timeouts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.pattern import Report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ids import PatternName, StreamName
    from graphtide_core.predicate import Expression
    from graphtide_core.time import Duration, TimeUnit

MAX_EVENTS: Final = 64
"""Events a pattern may name: engines keep sets of them as one machine word."""

OF_EVENTS: Final = (Report.ALL, Report.EXISTS)
"""What may be reported of an event pattern."""


class Selection(Enum):
    """Which events an iteration takes of those that it could."""

    ANY = "any"
    """Skip till any match: every non-empty subset of them, in the order of time."""

    NEXT = "next"
    """Skip till next match: from each start, those that follow, as many as may be."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """How often an event is repeated; `most` None for as often as there are events."""

    least: int
    most: int | None = None


@dataclass(frozen=True, slots=True)
class QueryEvent:
    """An event of a type, or of any where `type` is None; with `repeat` a list of them."""

    name: str
    type: str | None = None
    repeat: Repeat | None = None


@dataclass(frozen=True, slots=True)
class Seq:
    """Each event of a part is no later than any of the next part; a NOT stands between those on its sides."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class All:
    """All parts, in whatever order (`AND` in the language)."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """One of the parts; the first where the same events fill several (`OR` in the language)."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """No event that is one of these, between the bounds that its place gives it (`NOT` in the language)."""

    events: tuple[QueryEvent, ...]


Part = QueryEvent | Seq | All | Any | Absent
"""A pattern, or a part of one."""


@dataclass(frozen=True, slots=True)
class EventPattern:
    """Events in a given arrangement, predicates (all must be true), and the longest time from the first to the last.

    A predicate that reads an event of a branch of `Any` holds where another branch was taken; one that reads an event of an
    `Absent` says which events must not be. `partition` names attributes that all events of a match share.
    """

    name: PatternName
    root: Seq | All | Any
    within: Duration
    stream: StreamName
    predicates: tuple[Expression, ...] = ()
    report: Report = Report.ALL
    selection: Selection = Selection.ANY
    partition: tuple[str, ...] = ()
    tells_timeouts: bool = False
    version: int = 1

    def __post_init__(self) -> None:
        """Refuse what no engine could match.

        Raises:
            InvalidPatternError: no events or too many, a name twice.
        """
        names = [event.name for event in events(self.root)]
        if not positive_events(self.root):
            message = "an event pattern needs at least one event that is to come"
            raise InvalidPatternError(message)
        if len(names) > MAX_EVENTS:
            message = f"a pattern may name {MAX_EVENTS} events, this one names {len(names)}"
            raise InvalidPatternError(message)
        for name in names:
            if names.count(name) > 1:
                message = f"{name!r} names two events of the pattern"
                raise InvalidPatternError(message)

    def reach(self, unit: TimeUnit) -> int:
        """Return how many ticks an event can be of use: with `now` the newest time, while ts > now - reach."""
        return self.within.ticks(unit) // 1 + 1


def events(part: Part) -> Iterator[QueryEvent]:
    """Yield the events of a part, those that must not come included, in the order of the text."""
    match part:
        case QueryEvent():
            yield part
        case Absent(absent):
            yield from absent
        case Seq(parts) | All(parts) | Any(parts):  # pragma: no branch - mypy knows that no case is left
            for each in parts:
                yield from events(each)


def positive_events(part: Part) -> tuple[QueryEvent, ...]:
    """Return the events of a part that are to come, in the order of the text."""
    match part:
        case QueryEvent():
            return (part,)
        case Absent():
            return ()
        case Seq(parts) | All(parts) | Any(parts):  # pragma: no branch - mypy knows that no case is left
            return tuple(event for each in parts for event in positive_events(each))
