"""Parquet and Arrow files as history: pieces of about a million rows, read as the columns that are wanted.

A Parquet piece is a run of row groups; the footer says how many rows come before. An Arrow file is one piece.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

import pyarrow as pa
import pyarrow.parquet as pq
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.formats import ARROW
from graphtide_native.records import ArrowDecoder, ticks_per_second
from graphtide_native.table_batches import read_arrow, read_parquet

from graphtide_backfill.adapters.table_history import TableHistory
from graphtide_backfill.application.pieces import PieceFacts, explain_first

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping
    from pathlib import Path

    from graphtide_native.records import EdgeBatch

    from graphtide_backfill.application.pieces import Reading

_ROWS: Final = 1 << 16
_PIECE_ROWS: Final = 1 << 20
_NAMES: Final = ("ts", "src", "dst", "label", "src_label", "dst_label", "id", "op", "type")
_LABELS: Final = ("label", "src_label", "dst_label", "op", "type")


@dataclass(slots=True)
class ParquetPiece:
    """Row groups of a file, `first` to before `last`."""

    path: str
    columns: Mapping[str, str]
    types: Mapping[str, str]
    first: int
    last: int
    _facts: PieceFacts = field(default=PieceFacts(0, 0, has_ids=False, has_operations=False))
    stream: ClassVar[str] = ""

    def batches(self, reading: Reading) -> Iterator[EdgeBatch]:
        """See `Piece.batches`."""
        try:
            with pq.ParquetFile(self.path) as plain:
                texts = [name for name in plain.schema_arrow.names if pa.types.is_string(plain.schema_arrow.field(name).type)]
            labels = [name for name in (self.columns.get(each, each) for each in _LABELS) if name in texts]
            # Labels repeat: read as codes, they are looked up once each.
            with pq.ParquetFile(self.path, read_dictionary=labels) as file:
                wanted = _select_columns(file.schema_arrow, self.columns, (*reading.attributes, *self.types))
                groups = (file.read_row_group(group, columns=wanted) for group in range(self.first, self.last))
                where = f"{self.path}, from row group {self.first} on" if self.first else self.path
                self._facts = yield from _decode(groups, file.schema_arrow, self.columns, self.types, reading, path=where)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(self.path, error) from error
        except UnreadableStreamError as error:
            raise _unreadable(self.path, error) from error

    def facts(self) -> PieceFacts:
        """See `Piece.facts`."""
        return self._facts


@dataclass(slots=True)
class ArrowPiece:
    """An Arrow IPC file or stream."""

    path: str
    columns: Mapping[str, str]
    types: Mapping[str, str]
    _facts: PieceFacts = field(default=PieceFacts(0, 0, has_ids=False, has_operations=False))
    stream: ClassVar[str] = ""

    def batches(self, reading: Reading) -> Iterator[EdgeBatch]:
        """See `Piece.batches`."""
        try:
            with pa.OSFile(self.path) as opened:
                schema, given = _arrow(opened)
                wanted = _select_columns(schema, self.columns, (*reading.attributes, *self.types))
                tables = (each.select(wanted) for each in given)
                self._facts = yield from _decode(tables, schema, self.columns, self.types, reading, path=self.path)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(self.path, error) from error
        except UnreadableStreamError as error:
            raise _unreadable(self.path, error) from error

    def facts(self) -> PieceFacts:
        """See `Piece.facts`."""
        return self._facts


def parquet_pieces(path: str, columns: Mapping[str, str], types: Mapping[str, str]) -> Iterator[ParquetPiece]:
    """Yield the pieces of a Parquet file.

    Raises:
        UnreadableStreamError: it is not a Parquet file.
    """
    try:
        footer = pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error
    first = rows = 0
    for group in range(footer.num_row_groups):
        rows += footer.row_group(group).num_rows
        if rows >= _PIECE_ROWS or group == footer.num_row_groups - 1:
            yield ParquetPiece(path, columns, types, first, group + 1)
            first, rows = group + 1, 0


def parquet_columns(path: str) -> list[str]:
    """Return the names of a Parquet file's columns. Raises as `parquet_pieces`."""
    try:
        names: list[str] = pq.read_schema(path).names
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error
    return names


def arrow_columns(path: str) -> list[str]:
    """Return the names of the columns of an Arrow IPC file or stream.

    Raises:
        UnreadableStreamError: it is not an Arrow file.
    """
    try:
        with pa.OSFile(path) as opened:
            names: list[str] = _arrow(opened)[0].names
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error
    return names


def _arrow_pieces(path: str, columns: Mapping[str, str], types: Mapping[str, str]) -> Iterator[ArrowPiece]:
    yield ArrowPiece(path, columns, types)


def _write_parquet(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)


def _write_arrow(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    # Between the batches of an Arrow file no dictionary may change.
    in_full = pa.schema([field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field for field in schema])
    with pa.ipc.new_file(str(path), in_full) as writer:
        for batch in batches:
            writer.write_batch(batch.cast(in_full))


PARQUET_HISTORY: Final = TableHistory(parquet_columns, parquet_pieces, read_parquet, _write_parquet)
ARROW_HISTORY: Final = TableHistory(arrow_columns, _arrow_pieces, read_arrow, _write_arrow)


def _arrow(opened: pa.NativeFile) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """Return the schema of an Arrow IPC file or stream, and its batches."""
    is_file = opened.read(len(ARROW.magic)) == ARROW.magic
    opened.seek(0)
    if not is_file:
        stream = pa.ipc.open_stream(opened)
        return stream.schema, (pa.Table.from_batches([batch]) for batch in stream)
    file = pa.ipc.open_file(opened)
    return file.schema, (pa.Table.from_batches([file.get_batch(n)]) for n in range(file.num_record_batches))


def _decode(
    tables: Iterator[pa.Table],
    schema: pa.Schema,
    columns: Mapping[str, str],
    types: Mapping[str, str],
    reading: Reading,
    *,
    path: str,
) -> Generator[EdgeBatch, None, PieceFacts]:
    """Yield the batches of tables, and return their facts."""
    ticks = ticks_per_second(reading.unit)
    decoder = ArrowDecoder(reading.symbols, reading.attributes, dict(columns), ticks, types=types)
    decoder.start_at(reading.ordinal)
    rejected, example = 0, ""
    for table in tables:
        for start in range(0, table.num_rows, _ROWS):
            for part in table.slice(start, _ROWS).combine_chunks().to_batches():
                batch = decoder.decode_rows(part)
                letters = decoder.take_dead_letters()
                rejected += len(letters)
                example = example or explain_first(letters, "row", path)
                if len(batch):
                    yield batch
    records, has_ids = decoder.ordinal() - reading.ordinal, columns.get("id", "id") in schema.names
    return PieceFacts(records, rejected, has_ids, columns.get("op", "op") in schema.names, example)


def _select_columns(schema: pa.Schema, columns: Mapping[str, str], attributes: tuple[str, ...]) -> list[str]:
    names = {columns.get(name, name) for name in _NAMES} | set(attributes)
    return [name for name in schema.names if name in names]


def _unreadable(path: str, error: Exception) -> UnreadableStreamError:
    return UnreadableStreamError(f"{path}: {str(error).strip().partition(chr(10))[0]}")
