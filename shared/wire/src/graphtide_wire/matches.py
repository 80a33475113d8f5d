"""Matches as CloudEvents 1.0 in binary mode: the event's attributes in headers, the match record as the engine wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal, NamedTuple
from urllib.parse import quote

import msgspec
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ids import MatchId, PatternName
from graphtide_core.match import MatchKind
from graphtide_core.ports.log import Message

from graphtide_wire import headers as names
from graphtide_wire.headers import CONTENT_TYPE, TRACEPARENT
from graphtide_wire.json_form import Int64
from graphtide_wire.json_form import decode as decode_json

if TYPE_CHECKING:
    from graphtide_core.ports.log import Headers, Record
    from graphtide_core.time import TimeUnit

PATTERN_VERSION: Final = "graphtide-pattern-version"
BACKFILLED: Final = "graphtide-backfilled"
"""Header of what was found in history, not when it happened; `true`."""

TYPES: Final = {
    MatchKind.MATCH: "io.graphtide.match",
    MatchKind.EXTEND: "io.graphtide.extension",
    MatchKind.RETRACT: "io.graphtide.retraction",
    MatchKind.TIMEOUT: "io.graphtide.timeout",
}

_SPECIFICATION: Final = ("ce_specversion", b"1.0")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class _Head(msgspec.Struct, frozen=True):
    """The members of a match record that its event repeats."""

    match_id: str
    query: str
    kind: Literal["match", "extend", "retract", "timeout"]
    detected_at: Int64
    component: str | msgspec.UnsetType = msgspec.UNSET
    valid: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    nth: Int64 = 0


class MatchHead(NamedTuple):
    """The members of a match record that its CloudEvent repeats, and the version of the pattern.

    `has_change` is whether the record reports a change of a component or of a result of a graph query. The same change may come
    again at another time. `nth` is how many records of the instant brought about something else of the query before.
    """

    match_id: str
    pattern: str
    version: int
    kind: MatchKind
    detected_at: int
    has_change: bool = False
    nth: int = 0


@dataclass(frozen=True, slots=True)
class MatchEvent:
    """A match, or a change of one, as consumers get it; `body` is the match record, one JSON object.

    `is_backfilled` is whether it was found in history, so that it does not stand in the order of detection.
    """

    match_id: MatchId
    pattern: PatternName
    version: int
    kind: MatchKind
    body: bytes
    traceparent: str | None = None
    is_backfilled: bool = False


def encode(topic: str, line: bytes, version: int, unit: TimeUnit | None, traceparent: str | None = None) -> Message:
    """Return the message for a match record as an engine wrote it, with or without its line feed; the body is not rewritten.

    Raises:
        PoisonRecordError: the line is not a match record.
    """
    body = line.removesuffix(b"\n")
    reported = decode_json(body, _Head, "match record")
    has_change = reported.component is not msgspec.UNSET or reported.valid is not msgspec.UNSET
    head = MatchHead(
        reported.match_id, reported.query, version, MatchKind(reported.kind), reported.detected_at, has_change, reported.nth
    )
    return encode_known(topic, body, head, unit, traceparent)


def encode_known(topic: str, body: bytes, head: MatchHead, unit: TimeUnit | None, traceparent: str | None = None) -> Message:
    """Return the message for a match record with known contents, so that it need not be decoded.

    `unit` None means that nobody knows what the stream's times count. Then the event has no time, as where its time lies
    outside the years that can be written.
    """
    key, source, version = _common(head.pattern, head.version, head.kind)
    id = ("ce_id", _event_id(head).encode())
    instant = None if unit is None else _instant(head.detected_at, unit)
    time = () if instant is None else (("ce_time", instant.encode()),)
    trace = () if traceparent is None else ((TRACEPARENT, traceparent.encode()),)
    return Message(topic, key, body, (_SPECIFICATION, id, *source, *time, *version, *trace))


def _event_id(head: MatchHead) -> str:
    if head.has_change:
        reported = f"{head.match_id}-{head.kind.value}-{head.detected_at}"
        return f"{reported}-{head.nth}" if head.nth else reported
    return head.match_id if head.kind is MatchKind.MATCH else f"{head.match_id}-{head.kind.value}"


@lru_cache(maxsize=4096)
def _common(pattern: str, version: int, kind: MatchKind) -> tuple[bytes, Headers, Headers]:
    """Return the key and headers that all records of a kind have that a version reports: before the time, and after it."""
    source = names.drop_empty(
        ("ce_source", f"/graphtide/patterns/{quote(pattern, safe='')}"),
        ("ce_type", TYPES[kind]),
        ("ce_subject", pattern),
    )
    return pattern.encode(), source, names.drop_empty((CONTENT_TYPE, "application/json"), (PATTERN_VERSION, version))


def as_backfilled(message: Message) -> Message:
    """Return the message of a match that was found in history; its body stays."""
    return message._replace(headers=(*message.headers, *names.drop_empty((BACKFILLED, "true"))))


def decode(record: Record) -> MatchEvent:
    """Return the match of a record.

    Raises:
        PoisonRecordError: it is none.
    """
    head = decode_json(record.value, _Head, "match record")
    kind = MatchKind(head.kind)
    headers = names.by_name(record.headers)
    if names.require(headers, "ce_type") != TYPES[kind]:
        reason = f"the event's type is not that of a {kind.value}"
        raise PoisonRecordError(reason, record.value or b"")
    return MatchEvent(
        match_id=MatchId(head.match_id),
        pattern=PatternName(head.query),
        version=names.required_integer(headers, PATTERN_VERSION),
        kind=kind,
        body=record.value or b"",
        traceparent=names.text(headers, TRACEPARENT),
        is_backfilled=BACKFILLED in headers,
    )


class _Participants(msgspec.Struct, frozen=True):
    """The members of a match record that name records of the stream, whatever its family."""

    edges: dict[str, str | list[str]] = {}
    events: dict[str, str | list[str]] = {}
    path: list[str | dict[str, str]] = []


PATH: Final = "path"
"""The name under which `participants` has the steps of a path."""


def participants(body: bytes) -> dict[str, str | tuple[str, ...]]:
    """Return the ids of the edges or events that a match record of any family names, by their names in the pattern.

    An edge of a component, an iteration of events and a path have several ids. Derived edges of a path have none. A result
    without a path names no edge.

    Raises:
        PoisonRecordError: the record is not a match record.
    """
    found = decode_json(body, _Participants, "match record")
    named = [*found.edges.items(), *found.events.items()]
    several = {name: ids if isinstance(ids, str) else tuple(ids) for name, ids in named}
    steps = tuple(step for step in found.path if isinstance(step, str))
    return several | ({PATH: steps} if steps else {})


class _Vertices(msgspec.Struct, frozen=True):
    """The members of a match record that name vertices, whatever its family."""

    vertices: dict[str, str | list[str]] = {}
    bindings: dict[str, str] = {}
    src: str | msgspec.UnsetType = msgspec.UNSET
    dst: str | msgspec.UnsetType = msgspec.UNSET


def bound_vertices(body: bytes) -> frozenset[str]:
    """Return the vertices that a match record binds; none of a match of events, and of a record that cannot be read.

    The ends of the result of a graph query count, too. A component binds several for one name.
    """
    try:
        found = decode_json(body, _Vertices, "match record")
    except PoisonRecordError:
        return frozenset()
    ends = (each for each in (found.src, found.dst) if not isinstance(each, msgspec.UnsetType))
    several = (ids for ids in found.vertices.values() if not isinstance(ids, str))
    one = (id for id in found.vertices.values() if isinstance(id, str))
    return frozenset((*ends, *found.bindings.values(), *one, *chain.from_iterable(several)))


def _instant(ts: int, unit: TimeUnit) -> str | None:
    """Return the time as RFC 3339 writes it, to the microsecond below; None outside the years 1 to 9999."""
    try:
        return (_EPOCH + timedelta(microseconds=ts * unit.nanoseconds // 1000)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return None
