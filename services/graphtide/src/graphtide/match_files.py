"""Matches written to a Parquet or an Arrow file: a row a match, in the order of detection.

Columns are those of `graphtide.matches`, the same for every file of the same patterns: what a pattern returns is a text there,
a number or a list as JSON, for its type would be known with the last match alone. Rows are written some ten thousand at once; a
file is whole once it is closed. Results of graph queries become columns without becoming objects of Python.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from graphtide_core.errors import FatalError
from graphtide_core.match import Completeness, MatchKind
from graphtide_query.families import family_of

from graphtide.matches import columns_of_patterns, schema_of, to_arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.formats import Tables
    from graphtide_core.graph_query import Output
    from graphtide_core.time import TimeUnit
    from graphtide_native.match_batch import MatchBatch, NumberedWords

    from graphtide.matches import Columns

ROWS: Final = 1 << 17
"""Rows that are written at once, about."""

_BYTES: Final = 1 << 26
"""Bytes of rows past which they are written, though they are fewer."""

_WORDS: Final = ("query", "kind", "completeness", "label")
"""Columns of few words."""


class _Writer(Protocol):
    def write_table(self, table: pa.Table) -> None: ...
    def close(self) -> None: ...


class MatchTableFile:
    """A file of matches as a table, in a columnar format. A context manager: leaving its block writes the rest and closes."""

    def __init__(self, path: Path, format: Tables, patterns: Sequence[AnyPattern], unit: TimeUnit) -> None:
        """Create the file.

        Args:
            path: of the file.
            format: the code of a columnar format.
            patterns: of all matches.
            unit: what times of the stream count.

        Raises:
            FatalError: it cannot be written.
        """
        self._path, self._unit = path, unit
        self._rows = _Rows(patterns, unit)
        self._pending: list[pa.RecordBatch] = []
        self._count = self._bytes = 0
        try:
            self._file = pa.OSFile(str(path), "wb")
            schema = self._rows.schema
            write: Callable[[pa.NativeFile, pa.Schema, Sequence[str]], _Writer] = resolve_name(format.matches)
            self._writer = write(self._file, schema, [name for name in _WORDS if name in schema.names])
        except OSError as error:
            raise self._unwritable(error) from error

    def take(self, matches: MatchBatch) -> None:
        """Take matches; they are written with those that follow.

        Raises:
            FatalError: the file cannot be written: a full disk.
        """
        for batch in self._rows.of(matches):
            self._pending.append(batch)
            self._count += batch.num_rows
            self._bytes += batch.nbytes
        if self._count >= ROWS or self._bytes >= _BYTES:
            self._write()

    def _write(self) -> None:
        if not self._count:
            return
        table = pa.Table.from_batches(self._pending, self._rows.schema)
        self._pending, self._count, self._bytes = [], 0, 0
        try:
            self._writer.write_table(table.combine_chunks())
        except OSError as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        """Write what is left and make the file whole.

        Raises:
            FatalError: it cannot be written.
        """
        try:
            self._write()
            self._writer.close()
        except OSError as error:
            raise self._unwritable(error) from error
        finally:
            self._file.close()

    def _unwritable(self, error: OSError) -> FatalError:
        return FatalError(f"{self._path} cannot be written: {error.strerror or error}")

    def __enter__(self) -> Self:
        """Return the file itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        """Close."""
        self.close()


def parquet_writer(file: pa.NativeFile, schema: pa.Schema, words: Sequence[str]) -> _Writer:
    """Return a writer of Parquet; columns of few words are written as codes."""
    writer: _Writer = pq.ParquetWriter(file, schema, use_dictionary=words)
    return writer


def arrow_writer(file: pa.NativeFile, schema: pa.Schema, _: Sequence[str]) -> _Writer:
    """Return a writer of an Arrow IPC file, whose schema says which columns are codes."""
    writer: _Writer = pa.ipc.new_file(file, schema)
    return writer


class _Rows:
    """Makes matches rows whose columns of words have the same words in every batch: an Arrow file has one list of them."""

    def __init__(self, patterns: Sequence[AnyPattern], unit: TimeUnit) -> None:
        self._columns, self._unit = columns_of_patterns(patterns), unit
        self.schema = schema_of(self._columns, unit, [pa.string()] * len(self._columns.fields))
        outputs = {str(each.name): found for each in patterns if (found := family_of(each).layout(each).outputs)}
        self._words = {
            "query": _distinct(str(each.name) for each in patterns),
            "kind": _distinct(each.value for each in MatchKind),
            "completeness": _distinct(each.value for each in Completeness),
            "label": _distinct(output.label for each in outputs.values() for output in each),
        }
        self._versions = pa.array([each.version for each in patterns], pa.int32())
        self._numbered = _number_words(outputs, self._columns, self._words) if len(outputs) == len(patterns) else None

    def of(self, matches: MatchBatch) -> Iterable[pa.RecordBatch]:
        """Return matches as rows."""
        found: Any = None if self._numbered is None else matches.interval_columns(self._numbered)
        if found is not None:
            return [pa.record_batch([self._of_results(found, field) for field in self.schema], schema=self.schema)]
        table = to_arrow(matches, self._columns, self._unit, texts=True)
        columns = [
            self._coded(column.cast(pa.string()), name) if name in self._words else column
            for name, column in zip(table.schema.names, table.columns, strict=True)
        ]
        batches: list[pa.RecordBatch] = pa.Table.from_arrays(columns, schema=self.schema).to_batches()
        return batches

    def _of_results(self, found: pa.RecordBatch, field: pa.Field) -> pa.Array:
        """Return a column of the table from those of results of graph queries."""
        if field.name in self._words:
            return pa.DictionaryArray.from_arrays(found.column(field.name), self._words[field.name])
        if field.name == "version":
            return self._versions.take(found.column("pattern"))
        if field.name.startswith("vertices."):
            place = list(self._columns.vertices).index(field.name.removeprefix("vertices."))
            return found.column(f"vertices.{place}")
        column = found.column(field.name)
        return column if column.type == field.type else column.cast(field.type)

    def _coded(self, column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        words = self._words[name]
        codes = pc.index_in(column, value_set=words)
        arrays = [pa.DictionaryArray.from_arrays(chunk, words) for chunk in codes.chunks]
        return pa.chunked_array(arrays, pa.dictionary(pa.int32(), pa.string()))


def _distinct(words: Iterable[str]) -> pa.Array:
    return pa.array(dict.fromkeys(words), pa.string())


def _number_words(outputs: Mapping[str, Sequence[Output]], columns: Columns, words: dict[str, pa.Array]) -> NumberedWords:
    """Return the columns of results of each query, as the engine takes them."""
    names, labels = words["query"].to_pylist(), words["label"].to_pylist()
    places = [
        (
            names.index(query),
            [
                (
                    labels.index(output.label),
                    [output.columns.index(name) if name in output.columns else None for name in columns.vertices],
                )
                for output in own
            ],
        )
        for query, own in outputs.items()
    ]
    return len(columns.vertices), places
