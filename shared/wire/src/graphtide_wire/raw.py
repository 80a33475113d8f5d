"""Raw edges: what producers send, one or more a record, before anybody has looked inside.

A record says in `content-type` how its edges are written; one that does not is JSON, an edge a line. CloudEvents are understood
in both modes: in binary mode the value is an edge, in structured mode `data` is one or a list of them. Events come as edges do;
one in a CloudEvent that does not say its type has that of the CloudEvent.

Edges that were decoded before are a batch, an Arrow IPC stream with the bytes of each edge beside its columns (ADR 37).

A record may be a command in place of edges: a header names it, and it has no value. Bodies are never looked at for commands.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec
from graphtide_core import formats
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ports.log import Message
from graphtide_core.time import MAX_EVENT_TIME, MIN_EVENT_TIME

from graphtide_wire import headers as names
from graphtide_wire.headers import CONTENT_TYPE, EPOCH, TRACEPARENT
from graphtide_wire.json_form import decode as decode_json
from graphtide_wire.ordered import ARROW_STREAM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.formats import StreamFormat
    from graphtide_core.ports.log import Headers, Record

PRODUCER: Final = "graphtide-producer"
"""Name of who sent the edges, if it wants a watermark of its own."""

LINE: Final = "graphtide-line"
"""1-based line of the record's first edge in what its sender sent."""

COLUMNS: Final = "graphtide-columns"
"""Names of the columns, as a header line of CSV."""

TYPES: Final = "graphtide-types"
"""What attributes are, as a JSON object: `string`, `integer`, `number` or `boolean` by their names."""

FORMAT: Final = "graphtide-format"
"""Of a batch, the media type of what its sender sent."""

STATEMENT: Final = "graphtide-statement"
"""The version of the stream's statement that the sender knew: this or a later one reads the record."""

NEWEST: Final = "graphtide-newest"
"""The greatest time that the sender knows of, also of edges that are elsewhere; the stream has come so far with the record."""

RECEIPT: Final = "graphtide-receipt"
"""What the sender knows the record by while it waits for its verdict; nothing is reported of a record without one."""

COMMAND: Final = "graphtide-command"
"""What is to be done with the stream, in a record without edges."""

REQUESTED_BY: Final = "graphtide-requested-by"
"""Who asked for a command."""

RESET_WATERMARK: Final = "reset-watermark"

ALL_DIVIDED: Final = "all-divided"
"""The command that says to a part: all of a raw partition of the stream is divided, so who is silent there has sent nothing."""

LONGEST_TRACEPARENT: Final = 100
"""Characters of a trace's name; a longer one is none."""

LONGEST_RECEIPT: Final = 64
"""Characters of a receipt; a longer one is none."""

DeclaredType = Literal["string", "integer", "number", "boolean"]
"""What an attribute can be declared to be."""

_CLOUD_EVENTS: Final = "application/cloudevents+json"
_BINARY_MODE: Final = "ce_specversion"
_EVENT_TYPE: Final = "ce_type"
_TYPE_FIELDS: Final = frozenset({"src", "dst", "label", "type"})
"""Fields that mark an object as an edge or event."""


_MOST_REMEMBERED_BYTES: Final = 1024
"""Longer headers are read anew each time: senders must not fill memory with them."""


class Reset(NamedTuple):
    """The command that ends an epoch of a stream: what waits goes out, and times begin anew.

    It names the epoch, so that the same command sent again does nothing.
    """

    ends: int
    requested_by: str | None = None


class RawOrigin(NamedTuple):
    """The facts of a record without its edges; all fields but the last two, which are commands, are those of `RawEdges`."""

    format: StreamFormat = formats.DEFAULT
    columns: str | None = None
    types: str | None = None
    producer: str | None = None
    is_batch: bool = False
    statement: int | None = None
    receipt: str | None = None
    line: int | None = None
    traceparent: str | None = None
    newest: int | None = None
    is_all_divided: bool = False
    reset: Reset | None = None

    @property
    def is_command(self) -> bool:
        """Whether the record is a command in place of edges."""
        return self.is_all_divided or self.reset is not None


@dataclass(frozen=True, slots=True)
class RawEdges:
    """Edges as bytes, and what is known of them.

    Attributes:
        body: the edges.
        format: how to read them; of a batch, how their sender wrote them.
        columns: the header line of a format that has one, which the body lacks; None for others, and for a batch.
        types: what attributes are, as `types_of` reads it; None declares nothing.
        producer: who sent them, if it said so.
        is_batch: whether the body is a batch, which is read without the format.
        statement: the version of the stream's statement that the sender knew; None if it knew of none.
        receipt: what the sender waits for the verdict by; None if it does not wait.
        line: 1-based line of the first in what the sender sent.
        traceparent: trace they belong to.
        newest: the time that the stream has come to with them, if that may be later than theirs.
    """

    body: bytes
    format: StreamFormat = formats.DEFAULT
    columns: str | None = None
    types: str | None = None
    producer: str | None = None
    is_batch: bool = False
    statement: int | None = None
    receipt: str | None = None
    line: int | None = None
    traceparent: str | None = None
    newest: int | None = None


class _Envelope(msgspec.Struct, frozen=True):
    """A CloudEvent in structured mode, as far as edges need it."""

    specversion: str
    data: msgspec.Raw
    type: str | None = None


def encode(topic: str, edges: RawEdges, key: bytes | None = None) -> Message:
    """Return the message that carries the edges."""
    headers = names.drop_empty(
        (CONTENT_TYPE, ARROW_STREAM if edges.is_batch else edges.format.media_type),
        (FORMAT, edges.format.media_type if edges.is_batch else None),
        (COLUMNS, edges.columns),
        (TYPES, edges.types),
        (PRODUCER, edges.producer),
        (STATEMENT, edges.statement),
        (LINE, edges.line),
        (TRACEPARENT, edges.traceparent),
        (RECEIPT, edges.receipt),
        (NEWEST, edges.newest),
    )
    return Message(topic, key, edges.body, headers)


def encode_reset(topic: str, reset: Reset) -> Message:
    """Return the message that carries the command, for the topic's first partition."""
    headers = names.drop_empty((COMMAND, RESET_WATERMARK), (EPOCH, reset.ends), (REQUESTED_BY, reset.requested_by))
    return Message(topic, None, b"", headers, partition=0)


def encode_all_divided(topic: str, partition: int) -> Message:
    """Return the message that says that all of a raw partition is divided, for that partition of a part."""
    return Message(topic, None, b"", names.drop_empty((COMMAND, ALL_DIVIDED)), partition=partition)


def decode(record: Record) -> RawEdges:
    """Return the edges of a record; their bytes are looked at only in a CloudEvent in structured mode.

    Raises:
        PoisonRecordError: the record has no value, a type of content that is not edges, or damaged headers, or is a command.
    """
    origin, body = parts(record)
    if origin.is_command:
        reason = "a command in place of edges"
        raise PoisonRecordError(reason, body)
    return RawEdges(body, *origin[:-2])


def parts(record: Record) -> tuple[RawOrigin, bytes]:
    """Return what is known of a record, and its edges; where short headers are the same, there is mostly one origin for all.

    Raises:
        PoisonRecordError: as `decode`; or the headers cannot be read; or the record is a command that is not known, is damaged
            or comes with edges.
    """
    value, headers = record.value, record.headers
    if record.flaw:
        raise PoisonRecordError(record.flaw, value or b"")
    if value is None:
        reason = "a record without a value"
        raise PoisonRecordError(reason)
    kind, event, is_rewritten, origin = _read_cached(headers) if _are_short(headers) else _read_declared(headers)
    if origin.is_command:
        if value:
            reason = "a command with a value: it must have none"
            raise PoisonRecordError(reason, value)
        return origin, value
    if origin.columns is None and origin.format.has_header and not origin.is_batch:
        reason = f"edges as {kind} without the header {COLUMNS}"
        raise PoisonRecordError(reason, value)
    return origin, _body(value, kind, event) if is_rewritten else value


class _Declared(NamedTuple):
    """The content of a record's headers.

    `event` is the type of a CloudEvent in binary mode, empty if it has none. `is_rewritten` says that the value is JSON in
    which edges must be found, not a format of edges.
    """

    kind: str
    event: str | None
    is_rewritten: bool
    origin: RawOrigin


def _are_short(headers: Headers) -> bool:
    size = 0
    for _, value in headers:
        size += len(value)
    return size <= _MOST_REMEMBERED_BYTES


@lru_cache(maxsize=1024)
def _read_cached(headers: Headers) -> _Declared:
    """Return what headers say; most records of a stream say the same."""
    return _read_declared(headers)


def _read_declared(given: Headers) -> _Declared:
    """Return what headers say.

    Raises:
        PoisonRecordError: one is damaged.
    """
    headers = names.by_name(given)
    kind = (names.text(headers, CONTENT_TYPE) or formats.DEFAULT.media_type).partition(";")[0].strip().lower()
    is_batch = kind == ARROW_STREAM
    format = _read_format(headers) if is_batch else formats.on_log(kind)
    columns, traceparent = names.text(headers, COLUMNS), names.text(headers, TRACEPARENT)
    receipt = names.text(headers, RECEIPT)
    origin = RawOrigin(
        format=format or formats.DEFAULT,
        columns=columns if format is not None and format.has_header and not is_batch else None,
        types=_check(names.text(headers, TYPES)),
        producer=names.text(headers, PRODUCER),
        is_batch=is_batch,
        statement=names.integer(headers, STATEMENT),
        line=names.integer(headers, LINE),
        traceparent=traceparent if traceparent is None or len(traceparent) <= LONGEST_TRACEPARENT else None,
        receipt=receipt if receipt is None or len(receipt) <= LONGEST_RECEIPT else None,
        newest=_clamp(names.integer(headers, NEWEST)),
        is_all_divided=names.text(headers, COMMAND) == ALL_DIVIDED,
        reset=_reset(headers),
    )
    is_event = names.text(headers, _BINARY_MODE) is not None
    return _Declared(kind, names.text(headers, _EVENT_TYPE) or "" if is_event else None, format is None, origin)


def _read_format(headers: Mapping[str, bytes]) -> StreamFormat:
    """Return the format in which the edges of a batch were sent; JSON by default.

    Raises:
        PoisonRecordError: in no format that edges are sent in.
    """
    kind = names.text(headers, FORMAT)
    format = formats.DEFAULT if kind is None else formats.on_log(kind)
    if format is None:
        reason = f"the header {FORMAT} names no format of edges: {(kind or '')[:100]!r}"
        raise PoisonRecordError(reason)
    return format


def _clamp(ts: int | None) -> int | None:
    return None if ts is None else max(MIN_EVENT_TIME, min(ts, MAX_EVENT_TIME))


@lru_cache(maxsize=256)
def types_of(text: str | None) -> Mapping[str, str]:
    """Return types of attributes by their names; none of nothing.

    Raises:
        PoisonRecordError: the text declares none.
    """
    if text is None:
        return {}
    try:
        declared: dict[str, DeclaredType] = msgspec.json.decode(text.encode(), type=dict[str, DeclaredType])
    except (msgspec.DecodeError, RecursionError) as error:
        reason = f"the header {TYPES} does not declare types: {error}"
        raise PoisonRecordError(reason) from error
    return declared


def _check(text: str | None) -> str | None:
    types_of(text)
    return text


def _reset(headers: Mapping[str, bytes]) -> Reset | None:
    """Return the command; None if there is none.

    Raises:
        PoisonRecordError: it is another, or damaged.
    """
    command = names.text(headers, COMMAND)
    if command is None or command == ALL_DIVIDED:
        return None
    if command != RESET_WATERMARK:
        reason = f"there is no command {command[:40]!r}"
        raise PoisonRecordError(reason)
    ends = names.required_integer(headers, EPOCH)
    if ends < 0:
        reason = f"there is no epoch {ends}"
        raise PoisonRecordError(reason)
    return Reset(ends, names.text(headers, REQUESTED_BY))


def _body(value: bytes, kind: str, event: str | None) -> bytes:
    """Return the edges one a line."""
    if kind == _CLOUD_EVENTS:
        return _data(value)
    if kind == "application/json" or (event is not None and kind.endswith("+json")):
        return _one_line(_add_type(value, event))
    reason = f"the content type {kind[:100]!r} is not one of edges"
    raise PoisonRecordError(reason, value)


def _data(value: bytes) -> bytes:
    envelope = decode_json(value, _Envelope, "CloudEvent in structured mode")
    data = bytes(envelope.data)
    if not data.startswith(b"["):
        return _one_line(_add_type(data, envelope.type))
    listed = decode_json(data, list[msgspec.Raw], "list of edges")
    return b"\n".join(_one_line(_add_type(bytes(each), envelope.type)) for each in listed)


def _add_type(value: bytes, event: str | None) -> bytes:
    """Return a JSON object with the type of its CloudEvent, unless its fields show what it is."""
    if not event:
        return value
    try:
        given = msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return value
    return value if _TYPE_FIELDS & given.keys() else msgspec.json.encode({"type": event, **given})


def _one_line(value: bytes) -> bytes:
    """Return the JSON without line breaks; a value that has none, or is several lines of JSON, is left as it is."""
    if b"\n" not in value.strip() and b"\r" not in value.strip():
        return value.strip()
    try:
        json.loads(value)
        return msgspec.json.format(value, indent=-1)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return value
