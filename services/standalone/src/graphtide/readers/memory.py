"""Readers of what is in memory already: tables, and iterables of edges.

Edges travel as JSON Lines and tables as Arrow, so that a record means the same wherever it comes from.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
from graphtide_core.edge import Edge
from graphtide_core.errors import UnreadableStreamError
from graphtide_native.records import JsonLinesDecoder

from graphtide.readers.columnar import read_batches
from graphtide.readers.decoding import DecodingReader
from graphtide.readers.reader import Reader, ReaderOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_CHUNK = 4096
"""Edges that are decoded at once: few enough that an iterable which is a slow stream is not waited for too long."""

_TABLE = "the table"


def from_table(table: object, options: ReaderOptions | None = None) -> Reader:
    """Read a table of pyarrow, pandas or polars, or anything else that gives an Arrow stream.

    Raises:
        UnreadableStreamError: it is no table, or a column of it has values that no Arrow type holds.
    """
    options = options or ReaderOptions()
    if isinstance(table, pa.RecordBatchReader):
        return read_batches(table, table.schema, options, _TABLE)
    if isinstance(table, pa.RecordBatch):
        return read_batches([table], table.schema, options, _TABLE)
    if not isinstance(table, pa.Table) and not hasattr(table, "__arrow_c_stream__"):
        message = f"a {type(table).__name__} is not a table of pyarrow, pandas or polars"
        raise UnreadableStreamError(message)
    try:
        arrow = pa.table(table)
    except (pa.ArrowException, TypeError, ValueError) as error:
        message = f"the table cannot be read as Arrow ({str(error).strip().partition(chr(10))[0]})"
        raise UnreadableStreamError(message) from error
    return read_batches(arrow.to_batches(max_chunksize=options.block_rows), arrow.schema, options, _TABLE)


def from_edges(edges: Iterable[Edge | Mapping[str, object]], options: ReaderOptions | None = None) -> Reader:
    """Read edges, or dictionaries with the keys of a record (`ts src dst label …`; every other key is an attribute).

    An item that is no record is put aside like any bad record. What iterating raises is raised.
    """
    options = options or ReaderOptions()
    decoder = JsonLinesDecoder(options.symbols, options.attributes, dict(options.columns), keep_raw=options.keep_raw)
    names = {
        name: options.columns.get(name, name) for name in ("ts", "src", "dst", "label", "src_label", "dst_label", "id", "op")
    }

    def blocks() -> Iterator[bytes]:
        items = iter(edges)
        while chunk := list(islice(items, _CHUNK)):
            yield b"".join(_line(item, names) + b"\n" for item in chunk)

    decoder.accept_until(options.latest)
    return DecodingReader(decoder, blocks, name="the edges")


def _line(item: object, names: Mapping[str, str]) -> bytes:
    record: object = _fields(item, names) if isinstance(item, Edge) else item
    try:
        return _ENCODER.encode(record)
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError):
        # A text is no record either, so the decoder puts it aside with its place.
        return _ENCODER.encode(repr(item))


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
    """Return a number of numpy as Python's own; refuse what is none."""
    if hasattr(value, "item"):
        return value.item()
    message = f"a {type(value).__name__} is no value of a record"
    raise TypeError(message)


_ENCODER = msgspec.json.Encoder(enc_hook=_plain, decimal_format="number")
