"""What a server says of patterns, streams, matches and dead letters, as types of Python.

Bodies of answers are those of `graphtide_wire.bodies`; here is what a client makes of them beyond that.
"""

from __future__ import annotations

import base64
from datetime import datetime  # noqa: TC003 - msgspec reads annotations while the program runs
from typing import Any, NamedTuple

import msgspec
from graphtide_core.match import Completeness, MatchKind
from graphtide_wire.bodies.dead_letters import DeadLetter
from graphtide_wire.bodies.patterns import Limits, PartOfPattern, Pattern, Placement, PlanCounts
from graphtide_wire.bodies.sent import RejectedEdge
from graphtide_wire.bodies.streams import (
    AttributeSchema,
    Stream,
    StreamDetails,
    StreamProgressOut,
    StreamSchema,
    StreamStatement,
)

__all__ = [
    "AttributeSchema",
    "DeadLetterAt",
    "Event",
    "Limits",
    "MatchAt",
    "MatchRecord",
    "PartOfPattern",
    "PathEdge",
    "Pattern",
    "Placement",
    "PlanCounts",
    "RejectedEdge",
    "Results",
    "Stream",
    "StreamDetails",
    "StreamProgressOut",
    "StreamSchema",
    "StreamStatement",
]


class DeadLetterAt(DeadLetter, frozen=True):
    """A record that could not be used, and its place: why, when, and its bytes as they came."""

    time: datetime  # type: ignore[assignment]  # a server writes the time as it is in the letter

    @property
    def data(self) -> bytes:
        """The record as it came."""
        return base64.b64decode(self.raw_base64) if self.raw_base64 is not None else (self.raw or "").encode()


class PathEdge(msgspec.Struct, frozen=True):
    """An edge of a path that the query derives."""

    label: str
    src: str
    dst: str


Ids = str | tuple[str, ...]
"""An id, or several where a part of a pattern stands for several."""


class MatchRecord(msgspec.Struct, frozen=True):
    """A match as it was reported, of any family; times are as the stream counts them. Hashable, and equal by value.

    A match of edges has `edges` and `vertices` by name, one of events `events`, and `count` where it counts. A result of a
    graph query has `label`, the interval `valid`, and `src` and `dst`, or `bindings` where it is not an edge. It has `path`
    where the query returns one.
    """

    match_id: str
    query: str
    kind: MatchKind
    detected_at: int
    first_ts: int
    last_ts: int
    edges: dict[str, Ids] = {}
    vertices: dict[str, Ids] = {}
    completeness: Completeness = Completeness.EXACT
    events: dict[str, Ids] = {}
    fields: dict[str, Any] = {}
    count: int | None = None
    src: str | None = None
    dst: str | None = None
    bindings: dict[str, str] = {}
    label: str | None = None
    valid: tuple[int, int | None] | None = None
    nth: int = 0
    path: tuple[str | PathEdge, ...] | None = None

    def __hash__(self) -> int:
        """Return a hash; equal records have equal ones, though mappings have none."""
        return hash((self.match_id, self.kind, self.detected_at, self.nth))


class Event(NamedTuple):
    """A match that was reported: its place, and its record as JSON."""

    place: str
    record: str

    @property
    def match(self) -> MatchRecord:
        """The record, read."""
        return msgspec.json.decode(self.record, type=MatchRecord)


class MatchAt(msgspec.Struct, frozen=True):
    """A match that was reported, and its place."""

    place: str
    match: MatchRecord


class Results(msgspec.Struct, frozen=True):
    """Results of a version of a graph query that are valid at one instant.

    Attributes:
        version: of the query.
        at: the instant; None where none was given, and the query has not read its stream.
        read_to: time of the newest edge that the query is known to have read; None if there is none.
        results: by `match_id`, each of kind `match`, or `extend` where it may have been valid before `valid` begins.
        complete: whether these are all, and stay so.
        notes: why they may not be.
    """

    version: int
    at: int | None
    read_to: int | None
    results: list[MatchRecord]
    complete: bool
    notes: tuple[str, ...]


class DeadLettersPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some dead letters."""

    dead_letters: list[DeadLetterAt]
    next: str | None = None
