"""How the events of an event pattern are arranged: a tree of SEQ, AND, OR and NOT over named events.

Reference: paper 002, section 2.1, with iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.errors import Location

MAX_EVENTS: Final = 64
"""Events a pattern may name: engines keep sets of them as one machine word."""

MAX_NESTING: Final = 64
"""Levels of SEQ, AND and OR; more would hold a single part each."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """How often an event is repeated; `most` None for as often as there are events."""

    least: int
    most: int | None = None


@dataclass(frozen=True, slots=True)
class QueryEvent:
    """An event of a type, or of any where `type` is None; with `repeat` a list of them, ordered by (ts, arrival)."""

    name: str
    type: str | None = None
    repeat: Repeat | None = None
    location: Location | None = field(default=None, compare=False, repr=False)


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
    location: Location | None = field(default=None, compare=False, repr=False)


Group = Seq | All | Any
"""What holds other parts."""

Part = QueryEvent | Group | Absent
"""An arrangement, or a part of one."""


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


def absences(part: Part) -> Iterator[Absent]:
    """Yield the NOTs of a part, in the order of the text."""
    match part:
        case QueryEvent():
            return
        case Absent():
            yield part
        case Seq(parts) | All(parts) | Any(parts):  # pragma: no branch - mypy knows that no case is left
            for each in parts:
                yield from absences(each)


def choices(part: Part) -> Iterator[Any]:
    """Yield the ORs of a part, each before those in its branches."""
    if isinstance(part, Any):
        yield part
    if isinstance(part, Group):
        for each in part.parts:
            yield from choices(each)


def looks_before_its_span(part: Part) -> bool:
    """Whether the part is, or holds, a SEQ that begins with a NOT, which looks at events before those of its SEQ."""
    if isinstance(part, Seq) and isinstance(part.parts[0], Absent):
        return True
    return isinstance(part, Group) and any(looks_before_its_span(each) for each in part.parts)


def looks_beyond_its_span(part: Part) -> bool:
    """Whether the part is, or holds, a SEQ that begins or ends with a NOT, which looks beyond the events of its SEQ."""
    if isinstance(part, Seq) and (isinstance(part.parts[0], Absent) or isinstance(part.parts[-1], Absent)):
        return True
    return isinstance(part, Group) and any(looks_beyond_its_span(each) for each in part.parts)
