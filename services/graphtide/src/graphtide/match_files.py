"""Matches written to a Parquet, an Arrow or a CSV file: a row a match, in the order of detection.

Columns are those of `graphtide.matches`, the same for every file of the same patterns; what a pattern returns has one type in a
file (`graphtide.field_types`), and is a text in CSV. Rows are written some ten thousand at once. Where later ones show that a
type is wider than those before did, what was written becomes a part beside the file, and the parts are joined at the end: their
number follows from the fields, not from the rows. A file is whole once it is closed. Results of graph queries become columns
without becoming objects of Python.
"""

from __future__ import annotations

from dataclasses import replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from graphtide_core.errors import FatalError
from graphtide_core.formats import PARQUET
from graphtide_core.match import Completeness, MatchKind
from graphtide_query.families import family_of

from graphtide.field_types import FieldTypes
from graphtide.match_columns import SubgraphColumns
from graphtide.matches import columns_of_patterns, schema_of, to_arrow, write_as_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.graph_query import Output
    from graphtide_core.returns import FieldValue
    from graphtide_core.time import TimeUnit
    from graphtide_native.match_batch import MatchBatch, NumberedWords

    from graphtide.matches import Columns

ROWS: Final = 1 << 17
"""Rows that are written at once, about."""

_BYTES: Final = 1 << 26
"""Bytes of rows past which they are written, though they are fewer."""

_WORDS: Final = ("query", "kind", "completeness", "label")
"""Columns of few words."""


_RowsAndValues = tuple["Iterable[pa.RecordBatch]", "dict[str, list[FieldValue]]"]


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
        self._rows = _Rows(patterns, unit)
        self._make: Callable[[pa.NativeFile, pa.Schema, Sequence[str]], _Writer] = resolve_name(writer)
        self._pending: list[pa.RecordBatch] = []
        self._values: dict[str, list[FieldValue]] = {name: [] for name in self._rows.fields}
        self._count = self._bytes = 0
        self._writer: _Writer | None = None
        self._parts: list[Path] = []
        try:
            self._file = pa.OSFile(str(path), "wb")
        except OSError as error:
            raise self._unwritable(error) from error
        # What is no plain file, such as a pipe, cannot be written anew.
        self._types = FieldTypes(self._rows.fields) if typed and path.is_file() else None
        self._schema = self._rows.schema_with(None if self._types is None else self._types.types)

    def take(self, matches: MatchBatch) -> None:
        """Take matches; they are written with those that follow.

        Raises:
            FatalError: the file cannot be written: a full disk.
        """
        batches, values = self._rows.of(matches)
        for batch in batches:
            self._pending.append(batch)
            self._count += batch.num_rows
            self._bytes += batch.nbytes
        for name, own in values.items():
            self._values[name] += own
            self._bytes += sum(len(value) if isinstance(value, str | tuple | list) else 8 for value in own)
        if self._count >= ROWS or self._bytes >= _BYTES:
            self._write()

    def _write(self) -> None:
        if not self._count:
            return
        table = pa.Table.from_batches(self._pending, self._rows.schema).combine_chunks()
        values, self._values = self._values, {name: [] for name in self._rows.fields}
        self._pending, self._count, self._bytes = [], 0, 0
        if self._types is None:
            fields = [write_as_texts(values[name]) for name in self._rows.fields]
        else:
            fields = self._types.widen(values)
            if (schema := self._rows.schema_with(self._types.types)) != self._schema:
                self._begin_anew(schema)
        try:
            self._writer_now().write_table(pa.Table.from_arrays([*table.columns, *fields], schema=self._schema))
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
        types = self._types
        if types is None:
            return
        with pa.OSFile(str(part)) as file:
            for batch in _batches_of(file):
                rows = types.convert(pa.Table.from_batches([batch]), self._schema)
                self._writer_now().write_table(rows)

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


def _batches_of(file: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file of matches that was written here."""
    if file.read(len(PARQUET.magic)) == PARQUET.magic:
        file.seek(0)
        yield from pq.ParquetFile(file).iter_batches()
        return
    file.seek(0)
    reader = pa.ipc.open_file(file)
    yield from (reader.get_batch(number) for number in range(reader.num_record_batches))


class _Rows:
    """Makes matches rows whose columns of words have the same words in every batch: an Arrow file has one list of them."""

    def __init__(self, patterns: Sequence[AnyPattern], unit: TimeUnit) -> None:
        columns = columns_of_patterns(patterns)
        # What patterns return is beside the rows, as values, until it is written.
        self.fields = columns.fields
        self._columns, self._unit = replace(columns, fields=()), unit
        self.schema = schema_of(self._columns, unit, [])
        outputs = {str(each.name): found for each in patterns if (found := family_of(each).layout(each).outputs)}
        self._words = {
            "query": _distinct(str(each.name) for each in patterns),
            "kind": _distinct(each.value for each in MatchKind),
            "completeness": _distinct(each.value for each in Completeness),
            "label": _distinct(output.label for each in outputs.values() for output in each),
        }
        self._names = pa.array([str(each.name) for each in patterns], pa.string())
        self._records = SubgraphColumns.of(columns)
        self._versions = pa.array([each.version for each in patterns], pa.int32())
        is_fast = len(outputs) == len(patterns) and not self.fields
        self._numbered = _number_words(outputs, self._columns, self._words) if is_fast else None

    def schema_with(self, types: Sequence[pa.DataType] | None) -> pa.Schema:
        """Return the columns of the file, with fields of these types, or of text."""
        own = [pa.string()] * len(self.fields) if types is None else types
        return pa.schema(
            [*self.schema, *(pa.field(f"fields.{name}", type) for name, type in zip(self.fields, own, strict=True))]
        )

    def of(self, matches: MatchBatch) -> _RowsAndValues:
        """Return matches as rows, and beside them what they return, by fields."""
        found: Any = None if self._numbered is None else matches.interval_columns(self._numbered)
        if found is not None:
            return [pa.record_batch([self._of_results(found, field) for field in self.schema], schema=self.schema)], {}
        if self._records is not None:
            return self._of_records(self._records, matches)
        each = list(matches)
        table = to_arrow(each, self._columns, self._unit)
        columns = [
            self._coded(column.cast(pa.string()), name) if name in self._words else column
            for name, column in zip(table.schema.names, table.columns, strict=True)
        ]
        batches: list[pa.RecordBatch] = pa.Table.from_arrays(columns, schema=self.schema).to_batches()
        return batches, {name: [match.fields.get(name) for match in each] for name in self.fields}

    def _of_records(self, records: SubgraphColumns, matches: MatchBatch) -> _RowsAndValues:
        """Return matches of subgraphs as rows by their records, without an object for each."""
        batches: list[pa.RecordBatch] = []
        values: dict[str, list[FieldValue]] = {name: [] for name in self.fields}
        for lines, _ in matches.json_lines():
            found = records.read(lines)
            columns = [self._of_record(found, field) for field in self.schema]
            batches.append(pa.record_batch(columns, schema=self.schema))
            for name, own in records.read_fields(lines).items():
                values[name] += own
        return batches, values

    def _of_record(self, found: Mapping[str, pa.Array], field: pa.Field) -> pa.Array:
        """Return a column of the table from those of records."""
        if field.name == "version":
            return self._versions.take(pc.index_in(found["query"], value_set=self._names))
        column = found[field.name]
        if field.name in self._words:
            return pa.DictionaryArray.from_arrays(
                pc.index_in(column, value_set=self._words[field.name]), self._words[field.name]
            )
        return column if column.type == field.type else column.cast(field.type)

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
