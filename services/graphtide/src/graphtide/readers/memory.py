"""Readers of what is in memory already: tables, and iterables of edges.

Edges travel as JSON Lines and tables as Arrow, so that a record means the same wherever it comes from. A table is there as a
whole, so none of its records is late. One that is not in order of time is put in order first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from graphtide_core.edge import Edge
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.formats import JSON_LINES
from graphtide_core.ports.dead_letter_sink import DeadLetter
from graphtide_core.record_expression import FieldPath
from graphtide_core.time import MAX_EVENT_TIME, MIN_EVENT_TIME
from graphtide_native.record_form import TICKS
from graphtide_native.records import SUBSTITUTE, JsonLinesDecoder

from graphtide.readers.decoding import DecodingReader
from graphtide.readers.pacing import read_in_chunks, whole
from graphtide.readers.reader import Reader, ReaderOptions
from graphtide.readers.times import Clock, ticks
from graphtide.record import RECORD_COLUMNS, is_nowhere

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from graphtide_native.records import Decoder

_CHUNK = 4096
"""Edges that are decoded at once, unless the options want them as they come."""

_TABLE = "the table"


def from_table(table: object, options: ReaderOptions | None = None) -> Reader:
    """Read a table of pyarrow, pandas or polars, a dataset, a lazy frame, or anything else that gives an Arrow stream.

    Records come in order of time, in any order of the rows, except from a reader of record batches, which is a stream. What
    need not fit into memory is read batch by batch: see `graphtide.readers.scans`.

    Raises:
        UnreadableStreamError: it is not a table, or a column of it has values that no Arrow type holds.
    """
    import pyarrow as pa  # noqa: PLC0415 - records by themselves do without

    from graphtide.readers.columnar import read_batches  # noqa: PLC0415 - as above
    from graphtide.readers.scans import open_arrow_stream, open_scan  # noqa: PLC0415 - as above

    options = (options or ReaderOptions()).for_stream(None)
    if isinstance(table, pa.RecordBatchReader):
        return read_batches(table, table.schema, options, _TABLE)
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if (scan := open_scan(table, options)) is not None:
        return scan
    if not isinstance(table, pa.Table) and not hasattr(table, "__arrow_c_stream__"):
        message = f"a {type(table).__name__} is not a table of pyarrow, pandas or polars"
        raise UnreadableStreamError(message)
    # pyarrow loads pandas to look whether a table is one of it, if it may.
    is_known = isinstance(table, pa.Table) or type(table).__module__.startswith("pandas")
    if not is_known and not type(table).__module__.startswith("polars"):
        return open_arrow_stream(table, options)
    try:
        arrow = pa.table(table) if is_known else pa.RecordBatchReader.from_stream(table).read_all()
    except (pa.ArrowException, TypeError, ValueError) as error:
        message = f"the table cannot be read as Arrow ({str(error).strip().partition(chr(10))[0]})"
        raise UnreadableStreamError(message) from error
    rows = None if _is_ordered(arrow, _time_column(options)) else arrow.num_rows * _most_of_a_record(options)
    return read_batches(arrow.to_batches(max_chunksize=options.block_rows), arrow.schema, options, _TABLE, to_order=rows)


def _time_column(options: ReaderOptions) -> str | None:
    """Return the name of the column with times; None if a statement computes them."""
    if options.definition is None:
        return options.columns.get("ts", "ts")
    value = options.definition.time.value
    return str(value.steps[0]) if isinstance(value, FieldPath) and len(value.steps) == 1 else None


def _most_of_a_record(options: ReaderOptions) -> int:
    """Return how many edges, events and deletions a record gives at most."""
    return 1 if options.definition is None else 2 * max(1, len(options.definition.clauses))


def _is_ordered(table: pa.Table, name: str | None) -> bool:
    """Return whether the times of a table ascend. The reader reports values that are not times."""
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415

    if name is None:
        return False
    if table.schema.names.count(name) != 1:
        return True
    kind = table.schema.field(name).type
    if not (pa.types.is_temporal(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        # Texts ascend in another way than the times that they say.
        return False
    times = table.column(name).drop_null()
    try:
        # Of none it is null.
        return pc.all(pc.less_equal(times.slice(0, max(0, len(times) - 1)), times.slice(1))).as_py() is not False
    except pa.ArrowException:
        return True


def from_edges(edges: Iterable[Edge | Mapping[str, object]], options: ReaderOptions | None = None) -> Reader:
    """Read edges, or dictionaries with the keys of a record (`ts src dst label …`; every other key is an attribute).

    A `ts` is an integer, or a datetime or ISO text that is a whole number of ticks, or what the options say; see
    `graphtide.readers.times`. An item that is not a record is rejected like any bad record. What iterating raises is raised.
    """
    options = (options or ReaderOptions()).for_stream(None)
    decoder, columns = _decoder(options)
    lines = Lines(options)

    # What has a length is there already.
    is_live = options.live and not hasattr(edges, "__len__")
    chunks = read_in_chunks if is_live else whole

    def blocks() -> Iterator[bytes]:
        for chunk in chunks(edges, _CHUNK):
            yield lines.block(chunk)

    return DecodingReader(
        decoder, blocks, name="the edges", columns=columns, place="record", refused=lines.refused, is_live=is_live
    )


def _decoder(options: ReaderOptions) -> tuple[Decoder, list[str] | None]:
    """Return a decoder of lines, and the columns of what it gives; None where every record has its own."""
    if options.definition is not None:
        from graphtide_core.stream_fields import columns_of  # noqa: PLC0415 - records with names of their own do without

        from graphtide.readers.statements import decoder_by_statement  # noqa: PLC0415 - as above

        decoder = decoder_by_statement(options.definition, JSON_LINES.value, options, substitutes=True)
        return decoder, columns_of(options.definition)
    plain = JsonLinesDecoder(
        options.symbols,
        options.attributes,
        dict(options.columns),
        types=options.declared,
        keep_raw=options.keep_raw,
        substitutes=True,
        form=replace(options.form, times=None, path=None, comment=""),
    )
    plain.accept_until(options.latest)
    return plain, None


class Lines:
    """Writes items as JSON Lines, and a substitute for each that is not a record.

    Attributes:
        refused: letters of the items that are not records; the caller that takes them empties the list.
    """

    def __init__(self, options: ReaderOptions) -> None:
        """Write for a reader with these options."""
        self.refused: list[DeadLetter] = []
        self._names = {name: options.columns.get(name, name) for name in RECORD_COLUMNS}
        # By a statement a time may be anywhere, and is read where it is.
        self._ts = None if options.definition is not None else self._names["ts"]
        self._left_out = [name for name in self._names.values() if is_nowhere(name)]
        self._unit = options.time_unit
        written, zone = options.record_options.time_format, options.record_options.time_zone
        self._clock = Clock(written, zone) if written != TICKS or zone else None
        self._written = 0

    def block(self, items: Sequence[object]) -> bytes:
        """Return a line for each item."""
        lines = [self._line(item, place) for place, item in enumerate(items, start=self._written + 1)]
        self._written += len(items)
        lines.append(b"")
        return b"\n".join(lines)

    def _line(self, item: object, place: int) -> bytes:
        try:
            record = item if type(item) is dict else self._record(item)
            if self._ts is not None:
                ts = record.get(self._ts)
                if (type(ts) is not int or self._clock is not None) and (known := ticks(ts, self._unit, self._clock)) is not ts:
                    record = {**record, self._ts: known}
            return _ENCODER.encode(record)
        except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
            return self._second_look(item, place)

    def _second_look(self, item: object, place: int) -> bytes:
        """Write an item that could not be written at once, or say why it cannot be at all."""
        try:
            record = dict(self._record(item))
            if self._ts is not None and self._ts in record:
                record[self._ts] = ticks(record[self._ts], self._unit, self._clock)
            return b"{%s}" % b",".join(self._member(name, value) for name, value in record.items())
        except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
            raw = repr(item).encode(errors="backslashreplace")
            self.refused.append(DeadLetter(place, str(error) or type(error).__name__, raw))
            return SUBSTITUTE

    def _record(self, item: object) -> Mapping[str, object]:
        """Return an item as a dictionary.

        Raises:
            ValueError: it is not a record.
        """
        if isinstance(item, Edge):
            fields = _fields(item, self._names)
            for name in self._left_out:
                del fields[name]
            return fields
        if isinstance(item, Mapping):
            return dict(item)
        if hasattr(item, "_asdict"):
            named: dict[str, object] = item._asdict()
            return named
        try:
            built = msgspec.to_builtins(item, builtin_types=_KEPT, enc_hook=_plain)
        except (TypeError, ValueError, OverflowError, RecursionError):
            built = None
        if not isinstance(built, dict):
            keys = "ts, src, dst, label, or ts, type"
            message = f"a {type(item).__name__} is not a record: give an Edge, or a dictionary with the keys {keys}"
            raise ValueError(message)  # noqa: TRY004 - caught as what is wrong with a record, not with the call
        return built

    def _member(self, name: str, value: object) -> bytes:
        """Write a member of a record. An attribute past 64 bits is the nearest number, as it is in files."""
        if isinstance(value, int) and not MIN_EVENT_TIME <= value <= MAX_EVENT_TIME:
            if name == self._ts:
                message = f'ts "{value}" does not fit in 64 bits'
                raise ValueError(message)
            value = value if name in self._names.values() else float(value)
        try:
            return _ENCODER.encode(str(name)) + b":" + _ENCODER.encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            message = f"{name}: {error}"
            raise ValueError(message) from error


def _fields(edge: Edge, names: Mapping[str, str]) -> dict[str, object]:
    fields: dict[str, object] = {
        names["ts"]: edge.ts,
        names["src"]: edge.source,
        names["dst"]: edge.target,
        names["label"]: edge.label,
        names["src_label"]: edge.source_label,
        names["dst_label"]: edge.target_label,
        names["id"]: None if edge.made else edge.id,
        names["op"]: edge.operation.value,
    }
    if edge.attributes:
        fields["attributes"] = dict(edge.attributes)
    return fields


def _plain(value: Any) -> object:
    """Return a number of numpy as Python's own; refuse other values."""
    if hasattr(value, "item"):
        return value.item()
    message = f"a {type(value).__name__} is not a value of a record"
    raise TypeError(message)


_KEPT = (datetime,)
"""What stays itself in an item that is made a dictionary."""

_ENCODER = msgspec.json.Encoder(enc_hook=_plain, decimal_format="number")
