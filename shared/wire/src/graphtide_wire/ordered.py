"""Ordered edges: many a record, column by column, as one Arrow IPC stream.

The headers say what a reader decides by, so that it need not open the body. Times never go back within an epoch. A record
without edges says that another has begun, or how far the watermark is while no edge comes. The reference of the body is
`graphtide_wire.ordered_body`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import PoisonRecordError
from graphtide_core.ports.log import Message
from graphtide_core.time import MIN_EVENT_TIME, EventTime, TimeUnit

from graphtide_wire import headers as names
from graphtide_wire.headers import CONTENT_TYPE, EPOCH, TRACEPARENT

if TYPE_CHECKING:
    from graphtide_core.ports.log import Headers

ARROW_STREAM: Final = "application/vnd.apache.arrow.stream"
FIRST_TS: Final = "graphtide-first-ts"
LAST_TS: Final = "graphtide-last-ts"
RECORDS: Final = "graphtide-records"
ORDINAL: Final = "graphtide-ordinal"
NUMBER: Final = "graphtide-number"
WATERMARK: Final = "graphtide-watermark"
UNIT: Final = "graphtide-unit"
SOURCE_EPOCH: Final = "graphtide-source-epoch"
TRACES: Final = "graphtide-traces"
"""Which edges belong to traces that are sampled: `first+rows=traceparent`, with commas between them."""

MADE: Final = "graphtide.made"
"""Column that says which ids were made of places in the stream, because the sender gave none."""

EVENT: Final = "graphtide.event"
"""Column that says which records are events."""

STREAM: Final = "graphtide.stream"
"""Column with the stream of each edge, if there are several."""

MARKS: Final = frozenset({MADE, EVENT, STREAM})
"""Columns beside those of an edge that are not attributes; each is present only if it has values."""

MOST_TRACES: Final = 64
"""Runs of edges that a record names the traces of; the edges of further ones are in no trace from there on."""

_UNITS: Final = {each.value: each for each in TimeUnit}
_TRACED = re.compile(rf"([0-9]{{1,9}})\+([0-9]{{1,9}})=({names.TRACEPARENT_FORM.pattern})")


@dataclass(frozen=True, slots=True)
class TracedRows:
    """Edges next to each other that belong to one trace: 0-based place of the first, how many, span that they come from."""

    first: int
    rows: int
    traceparent: str


@dataclass(frozen=True, slots=True)
class OrderedHeader:
    """The headers of a record of ordered edges.

    Attributes:
        first_ts: time of its first edge; where it has none, of the last edge of the epoch before it, or the least time.
        last_ts: time of its last edge; likewise.
        records: how many edges there are.
        ordinal: 0-based place of the first in the ordered stream.
        watermark: no edge earlier than this will follow in the epoch.
        unit: what one tick of a time counts.
        traceparent: span that put them in order, if one of them is in a trace that is sampled.
        epoch: of the stream; from record to record (epoch, time) never goes back.
        traces: which edges belong to traces that are sampled, in their order; of those given, a record names `MOST_TRACES`.
        number: of its first edge, or of the next where it has none. It is how many edges of the stream came before, also such
            as were left out, but no deletions. None if they were not counted. It never decreases from record to record.
        source_epoch: of the stream that the edges follow from, if they are results of a view; None otherwise.
    """

    first_ts: EventTime
    last_ts: EventTime
    records: int
    ordinal: int
    watermark: EventTime
    unit: TimeUnit
    traceparent: str | None = None
    epoch: int = 0
    traces: tuple[TracedRows, ...] = ()
    number: int | None = None
    source_epoch: int | None = None


def encode(topic: str, header: OrderedHeader, body: bytes) -> Message:
    """Return the message that carries the edges, for the topic's one partition."""
    named = ",".join(f"{each.first}+{each.rows}={each.traceparent}" for each in header.traces[:MOST_TRACES])
    headers = names.drop_empty(
        (CONTENT_TYPE, ARROW_STREAM),
        (FIRST_TS, header.first_ts),
        (LAST_TS, header.last_ts),
        (RECORDS, header.records),
        (ORDINAL, header.ordinal),
        (NUMBER, header.number),
        (WATERMARK, header.watermark),
        (UNIT, header.unit.value),
        (TRACEPARENT, header.traceparent),
        (TRACES, named or None),
        (EPOCH, header.epoch or None),
        (SOURCE_EPOCH, header.source_epoch),
    )
    return Message(topic, None, body, headers, partition=0)


def encode_beginning(
    topic: str, epoch: int, ordinal: int, unit: TimeUnit, body: bytes, *, number: int | None = None
) -> Message:
    """Return the message that announces an epoch, before the edge of this ordinal; `body` is one without edges."""
    first = MIN_EVENT_TIME
    begun = OrderedHeader(first, first, records=0, ordinal=ordinal, watermark=first, unit=unit, epoch=epoch, number=number)
    return encode(topic, begun, body)


def header(given: Headers) -> OrderedHeader:
    """Return what the headers say; the body is not needed. Where that of traces is damaged there are none: edges matter more.

    Raises:
        PoisonRecordError: another header is missing or damaged.
    """
    headers = names.by_name(given)
    declared = names.require(headers, CONTENT_TYPE)
    if declared != ARROW_STREAM:
        reason = f"ordered edges as {declared[:100]!r}"
        raise PoisonRecordError(reason)
    unit = names.require(headers, UNIT)
    if unit not in _UNITS:
        reason = f"the header {UNIT} is not a unit of time: {unit[:40]!r}"
        raise PoisonRecordError(reason)
    found = OrderedHeader(
        first_ts=EventTime(names.required_integer(headers, FIRST_TS)),
        last_ts=EventTime(names.required_integer(headers, LAST_TS)),
        records=names.required_integer(headers, RECORDS),
        ordinal=names.required_integer(headers, ORDINAL),
        watermark=EventTime(names.required_integer(headers, WATERMARK)),
        unit=_UNITS[unit],
        traceparent=names.text(headers, TRACEPARENT),
        epoch=names.integer(headers, EPOCH) or 0,
        traces=_traces(names.readable(headers, TRACES)),
        number=names.integer(headers, NUMBER),
        source_epoch=names.integer(headers, SOURCE_EPOCH),
    )
    if found.epoch < 0:
        reason = f"there is no epoch {found.epoch}"
        raise PoisonRecordError(reason)
    if found.records < 0 or found.ordinal < 0 or (found.number or 0) < 0 or found.first_ts > found.last_ts:
        reason = "the headers of ordered edges contradict each other"
        raise PoisonRecordError(reason)
    return found


def _traces(named: str | None) -> tuple[TracedRows, ...]:
    if named is None:
        return ()
    found = [_TRACED.fullmatch(each) for each in named.split(",")[:MOST_TRACES]]
    return tuple(TracedRows(int(each[1]), int(each[2]), each[3]) for each in found if each is not None)
