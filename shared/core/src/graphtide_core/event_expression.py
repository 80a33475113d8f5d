"""Event expressions: what an event pattern asks for, as a tree of SEQ, AND, OR and NOT over named events.

Reference: paper 002, section 2.1, with iteration.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    """Each event of a part is no later than any of the next part; a NOT applies between its neighbours."""

    parts: tuple[Part, ...]
    word: ClassVar[str] = "SEQ"


@dataclass(frozen=True, slots=True)
class And:
    """All parts, in whatever order (`AND` in the language)."""

    parts: tuple[Part, ...]
    word: ClassVar[str] = "AND"


@dataclass(frozen=True, slots=True)
class Or:
    """One of the parts; the first where the same events fill several (`OR` in the language)."""

    parts: tuple[Part, ...]
    word: ClassVar[str] = "OR"


@dataclass(frozen=True, slots=True)
class Not:
    """No event that is one of these, between the bounds that its place gives it (`NOT` in the language)."""

    events: tuple[QueryEvent, ...]
    location: Location | None = field(default=None, compare=False, repr=False)


Group = Seq | And | Or
"""What holds other parts; `word` is its operator in the language."""

OPERATORS: Final[Mapping[str, type[Group]]] = {each.word: each for each in (Seq, And, Or)}
"""The operators by their words."""

Part = QueryEvent | Group | Not
"""An event expression, or a part of one."""


R = TypeVar("R")


class Visitor(ABC, Generic[R]):
    """A function of a part, by its kind; everything that differs by the kind of an event expression is one of these.

    A new operator is a new method here, and mypy then names each visitor that has no answer for it.
    """

    def visit(self, part: Part) -> R:
        """Return what is made of a part."""
        match part:
            case QueryEvent():
                return self.event(part)
            case Not():
                return self.absent(part)
            case Seq():
                return self.sequence(part)
            case And():
                return self.conjunction(part)
            case Or():  # pragma: no branch - mypy knows that no case is left
                return self.choice(part)

    @abstractmethod
    def event(self, event: QueryEvent, /) -> R:
        """Return what is made of a wanted event."""

    @abstractmethod
    def absent(self, absent: Not, /) -> R:
        """Return what is made of a NOT."""

    @abstractmethod
    def sequence(self, group: Seq, /) -> R:
        """Return what is made of a SEQ."""

    @abstractmethod
    def conjunction(self, group: And, /) -> R:
        """Return what is made of an AND."""

    @abstractmethod
    def choice(self, group: Or, /) -> R:
        """Return what is made of an OR."""


def walk(part: Part) -> Iterator[Part]:
    """Yield a part, then the parts below it, in the order of the text; the events of a NOT are not parts."""
    yield part
    if isinstance(part, Group):
        for each in part.parts:
            yield from walk(each)


def events(part: Part) -> Iterator[QueryEvent]:
    """Yield the events of a part, those that must not come included, in the order of the text."""
    for each in walk(part):
        if isinstance(each, QueryEvent):
            yield each
        elif isinstance(each, Not):
            yield from each.events


def positive_events(part: Part) -> tuple[QueryEvent, ...]:
    """Return the events of a part that must come, in the order of the text."""
    return tuple(each for each in walk(part) if isinstance(each, QueryEvent))


def absences(part: Part) -> Iterator[Not]:
    """Yield the NOTs of a part, in the order of the text."""
    return (each for each in walk(part) if isinstance(each, Not))


def choices(part: Part) -> Iterator[Or]:
    """Yield the ORs of a part, each before those in its branches."""
    return (each for each in walk(part) if isinstance(each, Or))


def looks_before_its_span(part: Part) -> bool:
    """Whether the part is, or holds, a SEQ that begins with a NOT, which looks at events before those of its SEQ."""
    return any(isinstance(each, Seq) and isinstance(each.parts[0], Not) for each in walk(part))


def looks_beyond_its_span(part: Part) -> bool:
    """Whether the part is, or holds, a SEQ that begins or ends with a NOT, which looks beyond the events of its SEQ."""
    sequences = (each for each in walk(part) if isinstance(each, Seq))
    return any(isinstance(end, Not) for each in sequences for end in (each.parts[0], each.parts[-1]))
