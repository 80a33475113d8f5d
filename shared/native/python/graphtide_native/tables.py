"""Reference tables from files: the rows that a statement joins, read whole into memory.

A table is read as a stream of events is (`graphtide_core.table_rows`), so it may have every format of files, and be compressed.
A row that cannot be read makes the table unreadable: a row that is missing would give nulls, and nobody would know.
Cost: one pass of the decoder. Memory: the rows, up to the limits, and one block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.errors import UnreadableStreamError
from graphtide_core.formats import COMPRESSED_SUFFIXES, StreamFormat, by_suffix, stated_format, suffixes
from graphtide_core.stream_fields import fields_read
from graphtide_core.suggestion import did_you_mean
from graphtide_core.table_rows import rows_of

from graphtide_native._native import LookupTable, TableBuilder
from graphtide_native.decoders import statement_decoder
from graphtide_native.records import Symbols, take_dead_letters
from graphtide_native.unpacking import PackedBytes, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from graphtide_core.formats import Tables
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_core.table_rows import TableRows

    from graphtide_native.records import EdgeBatch, StatementDecoder

__all__ = ["LookupTable", "TableBuilder", "TableFile", "load_tables", "read_rows", "table_files"]

MOST_ROWS: Final = 20_000_000
MOST_BYTES: Final = 1 << 30
"""Rows of a table, and bytes of memory that they take, at most."""

_BLOCK: Final = 4 << 20
_ROWS: Final = 1 << 16
_KEPT: Final = 16
"""Tables that a process keeps for statements that come again."""


class FileVersion(NamedTuple):
    """What a file is known by, until it changes."""

    changed_ns: int
    size: int
    inode: int


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table of a statement, and the file that has its rows.

    Attributes:
        name: of the table.
        path: of the file.
        statement: by which rows are read, as `graphtide_wire.stream_definition` encodes it; it names the columns.
        rows: what that is.
    """

    name: str
    path: Path
    statement: bytes
    rows: TableRows = field(compare=False)

    def version(self) -> FileVersion:
        """Return what the file is known by now.

        Raises:
            UnreadableStreamError: there is no such file.
        """
        try:
            found = self.path.stat()
        except OSError as error:
            message = f"{self.path}: {error.strerror or error}, for the table {self.name}"
            raise UnreadableStreamError(message) from error
        return FileVersion(found.st_mtime_ns, found.st_size, found.st_ino)

    def empty(self) -> LookupTable:
        """Return the table without rows."""
        return LookupTable(self.rows.columns)


def table_files(
    definition: StreamDefinition, encode: Callable[[StreamDefinition], bytes], folder: Path | None = None
) -> tuple[TableFile, ...]:
    """Return the tables of a definition with their files.

    Args:
        definition: of the stream.
        encode: returns a definition as JSON (`graphtide_wire.stream_definition.encode_definition`).
        folder: of the files; None for the folder of the statement.
    """
    return tuple(
        TableFile(
            rows.table.name,
            Path(rows.table.folder if folder is None else folder) / rows.table.file,
            encode(rows.statement),
            rows,
        )
        for rows in rows_of(definition)
    )


def load_tables(
    definition: StreamDefinition, encode: Callable[[StreamDefinition], bytes], folder: Path | None = None
) -> dict[str, LookupTable]:
    """Return the tables of a definition by their names, read from their files; arguments are those of `table_files`.

    A file that has not changed is not read again.

    Raises:
        UnreadableStreamError: a file cannot be read, is no table with these columns, or is too large.
    """
    return {each.name: _load(each, each.version()) for each in table_files(definition, encode, folder)}


@lru_cache(maxsize=_KEPT)
def _load(file: TableFile, _version: FileVersion) -> LookupTable:
    table = file.empty()
    table.replace(read_rows(file))
    return table


def read_rows(file: TableFile, *, most_rows: int = MOST_ROWS, most_bytes: int = MOST_BYTES) -> TableBuilder:
    """Read the rows of a table.

    Raises:
        UnreadableStreamError: as `load_tables`.
    """
    rows, path = file.rows, file.path
    kind = _format_of(file)
    decoder = statement_decoder(Symbols(), rows.attributes, file.statement, kind.value, rows.statement.zones())
    builder = TableBuilder(len(rows.columns), rows.table.time is not None, most_rows, most_bytes)
    place = "row" if kind.tables is not None else "line" if kind.is_of_lines else "record"
    try:
        for batch in _batches(file, decoder, kind):
            _refuse_first(decoder, place)
            builder.add(batch)
    except (OSError, UnreadableStreamError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        message = f"{path}: {reason.removeprefix(f'{path}: ')}, for the table {file.name}"
        raise UnreadableStreamError(message) from error
    return builder


def _refuse_first(decoder: StatementDecoder, place: str) -> None:
    """Do nothing if all rows so far can be read.

    Raises:
        UnreadableStreamError: one cannot; the first.
    """
    for letter in take_dead_letters(decoder):
        message = f"{place} {letter.line}: {letter.reason}"
        raise UnreadableStreamError(message)


def _format_of(file: TableFile) -> StreamFormat:
    stated = file.rows.table.format
    if stated is not None:
        return stated_format(stated.name)
    name = file.path
    suffix = name.suffix.lower()
    if suffix in COMPRESSED_SUFFIXES:
        suffix = Path(name.stem).suffix.lower()
    found = by_suffix(suffix)
    if found is None:
        message = f"{file.path}: its name does not show its format; end it in one of {', '.join(suffixes())}, or state FORMAT"
        raise UnreadableStreamError(message)
    return found


def _batches(file: TableFile, decoder: StatementDecoder, kind: StreamFormat) -> Iterator[EdgeBatch]:
    if kind.tables is not None:
        yield from _decode_tables(file, decoder, kind.tables)
        return
    with file.path.open("rb") as opened:
        is_checked = False
        for block in chain(unpack(PackedBytes(opened, str(file.path)), _BLOCK, _BLOCK), [b""]):
            batch = decoder.decode(block) if block else decoder.finish()
            if not is_checked and (columns := decoder.columns()) is not None:
                _check_columns(file.rows, columns)
                is_checked = True
            yield batch


def _decode_tables(file: TableFile, decoder: StatementDecoder, tables: Tables) -> Iterator[EdgeBatch]:
    import pyarrow as pa  # noqa: PLC0415 - other files do without

    read: Callable[[Path], Iterator[pa.RecordBatch]] = resolve_name(tables.rows)
    try:
        for batch in read(file.path):
            _check_columns(file.rows, batch.schema.names)
            wanted = batch.select(fields_read(file.rows.statement, file.rows.attributes, batch.schema.names))
            wanted.validate(full=True)
            decoder.check_columns(wanted.schema)
            for start in range(0, wanted.num_rows, _ROWS):
                yield decoder.decode_rows(wanted.slice(start, _ROWS))
    except pa.ArrowException as error:
        message = f"cannot be read ({str(error).strip().partition(chr(10))[0]})"
        raise UnreadableStreamError(message) from error


def _check_columns(rows: TableRows, columns: list[str]) -> None:
    """Do nothing if rows with these columns have what the statement reads.

    Raises:
        UnreadableStreamError: one is not there.
    """
    lacking = rows.lacking(columns)
    if lacking is None:
        return
    hint = did_you_mean(lacking, columns)
    message = f"no column {lacking!r}; the columns are {', '.join(map(repr, columns[:40]))}" + (f"; {hint}" if hint else "")
    raise UnreadableStreamError(message)
