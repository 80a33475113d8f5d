"""Matches as CloudEvents 1.0 in binary mode: the event's attributes in headers, the match record as the engine wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal
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
    from graphtide_core.ports.log import Record
    from graphtide_core.time import TimeUnit

PATTERN_VERSION: Final = "graphtide-pattern-version"
BACKFILLED: Final = "graphtide-backfilled"
"""Header of what was found in history, not when it happened; `true`."""

TYPES: Final = {MatchKind.MATCH: "io.graphtide.match", MatchKind.RETRACT: "io.graphtide.retraction"}

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_RETRACT: Final = "-retract"


class _Head(msgspec.Struct, frozen=True):
    """What a match record tells of itself that the event repeats."""

    match_id: str
    query: str
    kind: Literal["match", "retract"]
    detected_at: Int64


@dataclass(frozen=True, slots=True)
class MatchEvent:
    """A match or a retraction, as consumers get it; `body` is the match record, one JSON object."""

    match_id: MatchId
    pattern: PatternName
    version: int
    kind: MatchKind
    body: bytes
    traceparent: str | None = None


def encode(topic: str, line: bytes, version: int, unit: TimeUnit | None, traceparent: str | None = None) -> Message:
    """Return the message for a match record as an engine wrote it, with or without its line feed; the body is not rewritten.

    `unit` None means that nobody knows what the stream's times count: the event has no time then, as where it lies outside the
    years that can be written.

    Raises:
        PoisonRecordError: the line is no match record.
    """
    body = line.removesuffix(b"\n")
    head = decode_json(body, _Head, "match record")
    kind = MatchKind(head.kind)
    headers = names.given(
        ("ce_specversion", "1.0"),
        ("ce_id", head.match_id + (_RETRACT if kind is MatchKind.RETRACT else "")),
        ("ce_source", f"/graphtide/patterns/{quote(head.query, safe='')}"),
        ("ce_type", TYPES[kind]),
        ("ce_subject", head.query),
        ("ce_time", None if unit is None else _instant(head.detected_at, unit)),
        (CONTENT_TYPE, "application/json"),
        (PATTERN_VERSION, version),
        (TRACEPARENT, traceparent),
    )
    return Message(topic, head.query.encode(), body, headers)


def as_backfilled(message: Message) -> Message:
    """Return the message of a match that was found in history; its body stays."""
    return message._replace(headers=(*message.headers, *names.given((BACKFILLED, "true"))))


def decode(record: Record) -> MatchEvent:
    """Return the match of a record.

    Raises:
        PoisonRecordError: it is none.
    """
    head = decode_json(record.value, _Head, "match record")
    kind = MatchKind(head.kind)
    headers = names.by_name(record.headers)
    if names.required(headers, "ce_type") != TYPES[kind]:
        reason = f"the event's type is not that of a {kind.value}"
        raise PoisonRecordError(reason, record.value or b"")
    return MatchEvent(
        match_id=MatchId(head.match_id),
        pattern=PatternName(head.query),
        version=names.required_integer(headers, PATTERN_VERSION),
        kind=kind,
        body=record.value or b"",
        traceparent=names.text(headers, TRACEPARENT),
    )


def _instant(ts: int, unit: TimeUnit) -> str | None:
    """Return the time as RFC 3339 writes it, to the microsecond below; None outside the years 1 to 9999."""
    try:
        return (_EPOCH + timedelta(microseconds=ts * unit.nanoseconds // 1000)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return None
