"""What a server says of patterns, streams, matches and dead letters: answers of its routes, as types.

What an answer has beyond these members is passed over, so that a newer server may say more.
"""

from __future__ import annotations

import base64
from datetime import datetime  # noqa: TC003 - msgspec reads annotations while the program runs
from typing import Any, NamedTuple

import msgspec
from graphtide_core.match import Completeness, MatchKind


class Placement(msgspec.Struct, frozen=True):
    """Which plan a pattern has, and who runs it."""

    engine: str
    service: str
    shard: int
    epoch: int


class Figures(msgspec.Struct, frozen=True):
    """What a pattern's host counted; `suppressed` are matches left untold since one of their key was told."""

    matches: int
    partial_matches: int
    state_bytes: int
    position: int | None
    work: int | None = None
    suppressed: int = 0


class Limits(msgspec.Struct, frozen=True):
    """Bounds on a pattern's state and work, and what happens at them."""

    partial_matches: int | None
    state_bytes: int | None
    policy: str
    work: int | None = None


class Pattern(msgspec.Struct, frozen=True):
    """A pattern of the server: what was asked, and how it stands."""

    name: str
    version: int
    text: str
    stream: str
    engine: str
    limits: Limits
    wanted: str
    state: str
    reason: str | None
    start: int | None
    created_at: datetime
    updated_at: datetime
    etag: str
    placement: Placement | None
    figures: Figures | None
    warnings: tuple[str, ...] = ()


class StreamStanding(msgspec.Struct, frozen=True):
    """How far a stream was put in order, and what is odd about it."""

    epoch: int
    watermark: int | None
    newest: int | None
    read: int
    late: int
    future: int
    note: str | None
    lateness: int | None = None


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """A stream: where it begins and ends, and the names of its patterns. Dead letters are counted by offsets, about."""

    name: str
    partitions: int
    first: int
    end: int
    dead_letters: int
    patterns: tuple[str, ...] = ()


class StreamDetails(Stream, frozen=True, kw_only=True):
    """A stream and how it stands; `standing` is None until a part of it was put in order."""

    standing: StreamStanding | None = None


class AttributeSchema(msgspec.Struct, frozen=True):
    """An attribute of a stream: its `type`, and by what `source` that is known, `declared` or `seen`.

    The type is `string`, `integer`, `number` or `boolean`, or `any` where values of several types were seen.
    """

    name: str
    type: str
    source: str


class StreamSchema(msgspec.Struct, frozen=True):
    """What is known of a stream's attributes, by their names."""

    stream: str
    attributes: list[AttributeSchema]


class DeadLetterAt(msgspec.Struct, frozen=True):
    """A record that could not be used, and its place: why, when, and its bytes as they came."""

    stream: str
    place: str
    code: str
    reason: str
    time: datetime
    raw: str | None = None
    raw_base64: str | None = None
    content_type: str | None = None
    producer: str | None = None
    source_topic: str | None = None
    source_partition: int | None = None
    source_offset: int | None = None
    source_line: int | None = None

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
    """What was told of a match, of any family; times are as the stream counts them. Hashable, and equal by value.

    A match of edges has `edges` and `vertices` by name, one of events `events`, and `count` where it counts. A result of
    a graph query has `label`, the interval `valid`, and `src` and `dst`, or `bindings` where it is no edge; `path` where
    it tells one.
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


class RejectedEdge(msgspec.Struct, frozen=True):
    """An edge that could not be used: its number among those sent, from 1 on, and why."""

    line: int
    code: str
    reason: str


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Part of a list; `next` is the cursor of the part that follows, if one does."""

    next: str | None = None


class PatternsPage(Page, frozen=True, kw_only=True):
    """Some patterns."""

    patterns: list[Pattern]


class StreamsPage(Page, frozen=True, kw_only=True):
    """Some streams."""

    streams: list[Stream]


class MatchesPage(Page, frozen=True, kw_only=True):
    """Some matches."""

    matches: list[MatchAt]


class ResultsPage(Page, frozen=True, kw_only=True):
    """Some results that are valid at an instant, as their server writes them."""

    version: int
    at: int | None
    read_to: int | None
    results: list[msgspec.Raw]
    complete: bool
    notes: tuple[str, ...]


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


class DeadLettersPage(Page, frozen=True, kw_only=True):
    """Some dead letters."""

    dead_letters: list[DeadLetterAt]


class SentPage(msgspec.Struct, frozen=True):
    """What became of the edges of a request.

    Attributes:
        accepted: edges that the log keeps.
        rejected: edges that could not be used.
        errors: the first of these.
        created: whether the stream was made for them.
        similar: streams that are called much the same, where it was.
    """

    accepted: int
    rejected: int
    errors: list[RejectedEdge]
    created: bool = False
    similar: tuple[str, ...] = ()


class Behind(msgspec.Struct, frozen=True):
    """How many edges wait for a pattern; None if nobody runs it."""

    behind: int | None
