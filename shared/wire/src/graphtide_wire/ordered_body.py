"""The body of a record of ordered edges: columns as one Arrow IPC stream, for readers and writers that have pyarrow.

This is the form's reference. Services write and read it in native code, without pyarrow and the memory that it takes. They
write what `encode` writes, except for the order of a dictionary's labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from graphtide_core.errors import PoisonRecordError

from graphtide_wire.ordered import EVENT, MADE, MARKS, STREAM

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from graphtide_core.edge import Value

__all__ = ["EVENT", "MADE", "STREAM", "decode", "encode", "encode_none", "last_rows", "rows", "rows_of_vertex"]

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
    EVENT: pa.field(EVENT, pa.bool_(), nullable=False),
    STREAM: pa.field(STREAM, _LABEL),
}
"""The columns that mean something, in their order. Attributes follow."""

_AT_TIMES: Final = MARKS | {"op"}
"""Columns that are there where something is deleted, an id was made, a record is an event, or edges are of several streams."""


def encode(columns: Mapping[str, Sequence[Value]]) -> bytes:
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


def encode_none() -> bytes:
    """Return the body of a record without edges.

    No constant: the first array that pyarrow makes of Python values imports pandas, most of a second, where that is installed.
    """
    return encode({name: () for name in _COLUMNS if name not in _AT_TIMES})


def decode(body: bytes) -> pa.Table:
    """Return the edges of a record.

    Raises:
        PoisonRecordError: the bytes are not an Arrow IPC stream of ordered edges.
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


def rows(body: bytes, ids: Collection[str]) -> list[dict[str, Value]]:
    """Return the rows with these ids by their columns, in their order.

    Raises:
        PoisonRecordError: as `decode`.
    """
    table = decode(body)
    is_one = pc.is_in(table.column("id"), value_set=pa.array(list(ids), pa.utf8()))
    found: list[dict[str, Value]] = table.filter(is_one).to_pylist()
    return found


def rows_of_vertex(body: bytes, vertex: str) -> list[dict[str, Value]]:
    """Return the rows of edges that begin or end at a vertex by their columns, in their order.

    Raises:
        PoisonRecordError: as `decode`.
    """
    table = decode(body)
    is_one = pc.or_(pc.equal(table.column("src"), vertex), pc.equal(table.column("dst"), vertex))
    found: list[dict[str, Value]] = table.filter(is_one).to_pylist()
    return found


def last_rows(body: bytes, most: int) -> list[dict[str, Value]]:
    """Return up to so many of the last rows that delete nothing by their columns, in their order.

    Raises:
        PoisonRecordError: as `decode`.
    """
    table = decode(body)
    if "op" in table.column_names:
        operation = pc.fill_null(table.column("op").cast(pa.utf8()), "")
        table = table.filter(pc.not_equal(operation, "delete"))
    found: list[dict[str, Value]] = table.slice(max(0, table.num_rows - most)).to_pylist()
    return found


def _fits(given: pa.DataType, asked: pa.DataType) -> bool:
    """Return whether the types are one, but for how a dictionary numbers its labels."""
    if pa.types.is_dictionary(given) and pa.types.is_dictionary(asked):
        return bool(given.value_type == asked.value_type)
    return bool(given == asked)
