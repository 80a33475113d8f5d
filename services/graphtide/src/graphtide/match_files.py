"""Matches written to a Parquet, an Arrow or a CSV file: a row a match, in the order of detection.

Columns are those of `graphtide.matches`, the same for every file of the same patterns. What a pattern returns has one type in a
file (`graphtide.field_types`), and is a text in CSV. Rows are written some ten thousand at once. If later rows show that a type
is wider than those before did, what was written becomes a part beside the file. The parts are joined at the end: their number
follows from the fields, not from the rows. A file is whole once it is closed. Matches become columns without becoming objects
of Python; until then they wait as the engine gave them.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, Protocol, Self

import pyarrow as pa
import pyarrow.parquet as pq
from graphtide_core.errors import FatalError
from graphtide_core.formats import PARQUET

from graphtide.field_types import FieldTypes, convert
from graphtide.match_columns import MatchRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.time import TimeUnit
    from graphtide_native.match_batch import MatchBatch

ROWS: Final = 1 << 17
"""Rows that are written at once, about."""

_BYTES: Final = 1 << 26
"""Bytes of rows past which they are written, though they are fewer."""

_MOST_CHUNKS: Final = 8
"""Batches that are written as they are; more become one."""

_WORDS: Final = ("query", "kind", "completeness", "label")
"""Columns of few words."""


class _Writer(Protocol):
    def write_table(self, table: pa.Table) -> None: ...
    def close(self) -> None: ...


class MatchTableFile:
    """A file of matches as a table. A context manager: leaving its block writes the rest and closes."""

    def __init__(self, path: Path, writer: str, patterns: Sequence[AnyPattern], unit: TimeUnit, *, typed: bool = True) -> None:
        """Create the file.

        Args:
            path: of the file.
            writer: the code that writes rows, as `package.module:name`: see `graphtide_core.formats`.
            patterns: of all matches.
            unit: what times of the stream count.
            typed: whether what patterns return has a type other than text.

        Raises:
            FatalError: it cannot be written.
        """
        self._path = path
        self._rows = MatchRows(patterns, unit)
        self._make: Callable[[pa.NativeFile, pa.Schema, Sequence[str]], _Writer] = resolve_name(writer)
        self._pending: list[MatchBatch] = []
        self._count = self._bytes = 0
        self._writer: _Writer | None = None
        self._parts: list[Path] = []
        try:
            self._file = pa.OSFile(str(path), "wb")
        except OSError as error:
            raise self._unwritable(error) from error
        # What is no plain file, such as a pipe, cannot be written anew.
        self._types = FieldTypes(len(self._rows.fields)) if typed and path.is_file() else None
        self._schema = self._rows.schema(self._names)

    @property
    def _names(self) -> list[str]:
        """The types of fields that are known now."""
        return ["text"] * len(self._rows.fields) if self._types is None else self._types.names_in_files

    def take(self, matches: MatchBatch) -> None:
        """Take matches; they are written with those that follow.

        Raises:
            FatalError: the file cannot be written: a full disk.
        """
        if not len(matches):
            return
        self._pending.append(matches)
        self._count += len(matches)
        self._bytes += matches.held_bytes
        if self._count >= ROWS or self._bytes >= _BYTES:
            self._write()

    def _write(self) -> None:
        if not self._count:
            return
        pending, self._pending = self._pending, []
        self._count = self._bytes = 0
        kinds = [self._rows.kinds(matches) for matches in pending]
        if self._types is not None:
            for found in kinds:
                self._types.widen(found)
            if (schema := self._rows.schema(self._names)) != self._schema:
                self._begin_anew(schema)
        batches = [self._rows.rows(matches, found, self._names) for matches, found in zip(pending, kinds, strict=True)]
        table = pa.Table.from_batches(batches, self._schema)
        try:
            self._writer_now().write_table(table.combine_chunks() if len(batches) > _MOST_CHUNKS else table)
        except OSError as error:
            raise self._unwritable(error) from error

    def _writer_now(self) -> _Writer:
        if self._writer is None:
            self._writer = self._make(self._file, self._schema, [name for name in _WORDS if name in self._schema.names])
        return self._writer

    def _begin_anew(self, schema: pa.Schema) -> None:
        """Make what was written a part, if anything was, and go on with other types."""
        try:
            if self._writer is not None:
                self._writer.close()
                self._file.close()
                self._parts.append(self._path.with_name(f".{self._path.name}.{len(self._parts)}.part"))
                self._path.replace(self._parts[-1])
                self._writer = None
                self._file = pa.OSFile(str(self._path), "wb")
        except OSError as error:
            raise self._unwritable(error) from error
        self._schema = schema

    def close(self) -> None:
        """Write what is left and make the file whole.

        Raises:
            FatalError: it cannot be written.
        """
        try:
            self._write()
            if self._parts:
                self._begin_anew(self._schema)
                for part in self._parts:
                    self._join(part)
            self._writer_now().close()
        except OSError as error:
            raise self._unwritable(error) from error
        finally:
            self._file.close()
        for part in self._parts:
            part.unlink()

    def _join(self, part: Path) -> None:
        """Write the rows of a part with the types that all have."""
        with pa.OSFile(str(part)) as file:
            for batch in _batches_of(file):
                self._writer_now().write_table(convert(pa.Table.from_batches([batch]), self._schema))

    def _unwritable(self, error: OSError) -> FatalError:
        return FatalError(f"{self._path} cannot be written: {error.strerror or error}")

    def __enter__(self) -> Self:
        """Return the file itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        """Close."""
        self.close()


def parquet_writer(file: pa.NativeFile, schema: pa.Schema, words: Sequence[str]) -> _Writer:
    """Return a writer of Parquet; columns of few words are written as codes, times as differences.

    Match ids are hashes, which nothing compresses; readers skip row groups by times, so those alone have statistics.
    """
    timed = [field.name for field in schema if pa.types.is_timestamp(field.type)]
    writer: _Writer = pq.ParquetWriter(
        file,
        schema,
        use_dictionary=words,
        compression={name: "none" if name == "match_id" else "snappy" for name in schema.names},
        column_encoding=dict.fromkeys(timed, "DELTA_BINARY_PACKED"),
        write_statistics=timed,
    )
    return writer


def arrow_writer(file: pa.NativeFile, schema: pa.Schema, _: Sequence[str]) -> _Writer:
    """Return a writer of an Arrow IPC file, whose schema says which columns are codes."""
    writer: _Writer = pa.ipc.new_file(file, schema)
    return writer


def _batches_of(file: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file of matches that was written here."""
    if file.read(len(PARQUET.magic)) == PARQUET.magic:
        file.seek(0)
        yield from pq.ParquetFile(file).iter_batches()
        return
    file.seek(0)
    reader = pa.ipc.open_file(file)
    yield from (reader.get_batch(number) for number in range(reader.num_record_batches))
