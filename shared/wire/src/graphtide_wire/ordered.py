"""Ordered edges: many a record, column by column, as one Arrow IPC stream.

The headers say what a reader decides by, so that it need not open the body. Times never go back within an epoch; a record
without edges tells that another has begun. This is the form's reference; whoever writes it
faster must write what `encode_body` does, but for the order of a dictionary's labels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ports.log import Message
from graphtide_core.time import MIN_EVENT_TIME, EventTime, TimeUnit

from graphtide_wire import headers as names
from graphtide_wire.headers import CONTENT_TYPE, EPOCH, TRACEPARENT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.edge import Value
    from graphtide_core.ports.log import Headers

ARROW_STREAM: Final = "application/vnd.apache.arrow.stream"
FIRST_TS: Final = "graphtide-first-ts"
LAST_TS: Final = "graphtide-last-ts"
RECORDS: Final = "graphtide-records"
ORDINAL: Final = "graphtide-ordinal"
WATERMARK: Final = "graphtide-watermark"
UNIT: Final = "graphtide-unit"
TRACES: Final = "graphtide-traces"
"""Which edges belong to traces that are sampled: `first+rows=traceparent`, with commas between them."""

MOST_TRACES: Final = 64
"""Runs of edges that a record names the traces of; the edges of further ones are in no trace from there on."""

_TRACED = re.compile(rf"([0-9]{{1,9}})\+([0-9]{{1,9}})=({names.TRACEPARENT_FORM.pattern})")

MADE: Final = "graphtide.made"
"""Column that says which ids were made of places in the stream, because the sender gave none."""

_LABEL: Final = pa.dictionary(pa.int32(), pa.utf8())
_COLUMNS: Final = {
    "ts": pa.field("ts", pa.int64(), nullable=False),
    "src": pa.field("src", pa.utf8(), nullable=False),
    "dst": pa.field("dst", pa.utf8(), nullable=False),
    "label": pa.field("label", _LABEL),
    "src_label": pa.field("src_label", _LABEL),
    "dst_label": pa.field("dst_label", _LABEL),
    "id": pa.field("id", pa.utf8(), nullable=False),
    "op": pa.field("op", _LABEL),
    MADE: pa.field(MADE, pa.bool_(), nullable=False),
}
"""The columns that mean something, in their order. Attributes follow."""

_AT_TIMES: Final = frozenset({"op", MADE})
"""Columns that are there only where something is deleted, and where an id was made."""


@dataclass(frozen=True, slots=True)
class OrderedFigures:
    """What the headers of a record of ordered edges say.

    Attributes:
        first_ts: time of its first edge.
        last_ts: time of its last edge.
        records: how many edges there are.
        ordinal: 0-based place of the first in the ordered stream.
        watermark: no edge earlier than this will follow in the epoch.
        unit: what one tick of a time counts.
        traceparent: span that put them in order, if one of them is in a trace that is sampled.
        epoch: of the stream; from record to record (epoch, time) never goes back.
    """

    first_ts: EventTime
    last_ts: EventTime
    records: int
    ordinal: int
    watermark: EventTime
    unit: TimeUnit
    traceparent: str | None = None
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class TracedRows:
    """Edges next to each other that belong to one trace: 0-based place of the first, how many, span that they come from."""

    first: int
    rows: int
    traceparent: str


def encode_body(columns: Mapping[str, Sequence[Value]]) -> bytes:
    """Return the columns as one Arrow IPC stream of one batch; types of attributes are those of their values.

    Raises:
        ValueError: a column is missing or of the wrong type, or columns differ in length.
    """
    missing = [name for name in _COLUMNS if name not in columns and name not in _AT_TIMES]
    if missing:
        message = f"ordered edges without {', '.join(missing)}"
        raise ValueError(message)
    fields, arrays = [], []
    for name, field in _COLUMNS.items():
        if name in columns:
            fields.append(field)
            arrays.append(pa.array(columns[name], field.type))
    for name in columns:
        if name not in _COLUMNS:
            arrays.append(pa.array(columns[name]))
            fields.append(pa.field(name, arrays[-1].type))
    batch = pa.record_batch(arrays, schema=pa.schema(fields))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def decode_body(body: bytes) -> pa.Table:
    """Return the edges of a record.

    Raises:
        PoisonRecordError: the bytes are no Arrow IPC stream, or not one of ordered edges.
    """
    try:
        with pa.ipc.open_stream(body) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        reason = f"no Arrow IPC stream: {error}"
        raise PoisonRecordError(reason, body) from error
    for name, field in _COLUMNS.items():
        if name not in table.column_names:
            if name in _AT_TIMES:
                continue
            reason = f"ordered edges without the column {name}"
            raise PoisonRecordError(reason, body)
        if table.column_names.count(name) != 1 or not _fits(table.schema.field(name).type, field.type):
            reason = f"the column {name} of ordered edges is not one of {field.type}"
            raise PoisonRecordError(reason, body)
        if not field.nullable and table.column(name).null_count:
            reason = f"the column {name} of ordered edges has missing values"
            raise PoisonRecordError(reason, body)
    return table


def encode(topic: str, figures: OrderedFigures, body: bytes, traces: Sequence[TracedRows] = ()) -> Message:
    """Return the message that carries the edges, for the topic's one partition; of the traces, those that it may name."""
    named = ",".join(f"{each.first}+{each.rows}={each.traceparent}" for each in traces[:MOST_TRACES])
    headers = names.given(
        (CONTENT_TYPE, ARROW_STREAM),
        (FIRST_TS, figures.first_ts),
        (LAST_TS, figures.last_ts),
        (RECORDS, figures.records),
        (ORDINAL, figures.ordinal),
        (WATERMARK, figures.watermark),
        (UNIT, figures.unit.value),
        (TRACEPARENT, figures.traceparent),
        (TRACES, named or None),
        (EPOCH, figures.epoch or None),
    )
    return Message(topic, None, body, headers, partition=0)


def encode_beginning(topic: str, epoch: int, ordinal: int, unit: TimeUnit) -> Message:
    """Return the message without edges that tells that an epoch has begun, before the edge of this ordinal."""
    first = MIN_EVENT_TIME
    begun = OrderedFigures(first, first, records=0, ordinal=ordinal, watermark=first, unit=unit, epoch=epoch)
    return encode(topic, begun, encode_body({name: () for name in _COLUMNS if name not in _AT_TIMES}))


def epoch_of(headers: Headers) -> int:
    """Return the epoch that a record belongs to.

    Raises:
        PoisonRecordError: the header is damaged.
    """
    epoch = names.integer(headers, EPOCH) or 0
    if epoch < 0:
        reason = f"there is no epoch {epoch}"
        raise PoisonRecordError(reason)
    return epoch


def figures(headers: Headers) -> OrderedFigures:
    """Return what the headers say; the body is not needed.

    Raises:
        PoisonRecordError: a header is missing or damaged.
    """
    declared = names.required(headers, CONTENT_TYPE)
    if declared != ARROW_STREAM:
        reason = f"ordered edges as {declared[:100]!r}"
        raise PoisonRecordError(reason)
    unit = names.required(headers, UNIT)
    if unit not in {each.value for each in TimeUnit}:
        reason = f"the header {UNIT} is no unit of time: {unit[:40]!r}"
        raise PoisonRecordError(reason)
    found = OrderedFigures(
        first_ts=EventTime(names.required_integer(headers, FIRST_TS)),
        last_ts=EventTime(names.required_integer(headers, LAST_TS)),
        records=names.required_integer(headers, RECORDS),
        ordinal=names.required_integer(headers, ORDINAL),
        watermark=EventTime(names.required_integer(headers, WATERMARK)),
        unit=TimeUnit(unit),
        traceparent=names.text(headers, TRACEPARENT),
        epoch=epoch_of(headers),
    )
    if found.records < 0 or found.ordinal < 0 or found.first_ts > found.last_ts:
        reason = "the headers of ordered edges contradict each other"
        raise PoisonRecordError(reason)
    return found


def traced_rows(headers: Headers) -> tuple[TracedRows, ...]:
    """Return which edges belong to traces, in their order; none where the header is damaged, for edges matter more."""
    try:
        named = names.text(headers, TRACES)
    except PoisonRecordError:
        return ()
    if named is None:
        return ()
    found = [_TRACED.fullmatch(each) for each in named.split(",")[:MOST_TRACES]]
    return tuple(TracedRows(int(each[1]), int(each[2]), each[3]) for each in found if each is not None)


def _fits(given: pa.DataType, asked: pa.DataType) -> bool:
    """Return whether the types are one, but for how a dictionary numbers its labels."""
    if pa.types.is_dictionary(given) and pa.types.is_dictionary(asked):
        return bool(given.value_type == asked.value_type)
    return bool(given == asked)
