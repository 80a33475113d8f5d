"""Writes a generated stream to files: its records, its ground truth, its pattern.

The stream's format follows from the suffix, as `graphtide_core.formats` has it; text formats also with `.gz`. Equal streams
give equal bytes in the text formats, also when compressed.
"""

from __future__ import annotations

import csv
import gzip
import io
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pkgutil import resolve_name
from typing import TYPE_CHECKING

import msgspec
from graphtide_core.edge import Operation
from graphtide_core.formats import written_suffixes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import IO

    import pyarrow as pa
    from graphtide_core.edge import Edge, Value
    from graphtide_core.event import Event

    from graphtide_generate.event_stream import GeneratedEvents
    from graphtide_generate.stream import GeneratedStream

    _File = IO[bytes] | gzip.GzipFile
    _Fields = tuple[int | str | None, ...]
    _Row = tuple[_Fields, Mapping[str, Value]]

_OF_EDGES = ("ts", "src", "dst", "label", "src_label", "dst_label", "id", "op")
_OF_EVENTS = ("ts", "type", "id", "op")
_CHUNK = 8_192


@dataclass(frozen=True, slots=True)
class Table:
    """Records by column.

    Attributes:
        columns: names of the fields; `op`, the last one, only where something is deleted.
        names: of the attributes, in order.
        rows: fields and attributes of each record.
    """

    columns: tuple[str, ...]
    names: tuple[str, ...]
    rows: list[_Row]

    @classmethod
    def of(cls, columns: tuple[str, ...], records: Sequence[Edge] | Sequence[Event], rows: Iterable[_Fields]) -> Table:
        """Return the table of records whose fields, but for `op`, are `rows`."""
        names = sorted(set[str]().union(*(record.attributes for record in records)))
        operations = [None if record.operation is Operation.INSERT else record.operation.value for record in records]
        if any(operations):
            rows = ((*row, operation) for row, operation in zip(rows, operations, strict=True))
        else:
            columns = columns[:-1]
        attributes = (record.attributes for record in records)
        return cls(columns, tuple(names), list(zip(rows, attributes, strict=True)))


def write_stream(path: Path, edges: Sequence[Edge]) -> None:
    """Write the edges in their order.

    Raises:
        ValueError: no format has this suffix.
        OSError: the file cannot be written.
    """
    fields = ((one.ts, one.source, one.target, one.label, one.source_label, one.target_label, one.id) for one in edges)
    _write(path, Table.of(_OF_EDGES, edges, fields))


def write_events(path: Path, events: Sequence[Event]) -> None:
    """Write the events in their order.

    Raises:
        ValueError: no format has this suffix.
        OSError: the file cannot be written.
    """
    _write(path, Table.of(_OF_EVENTS, events, ((one.ts, one.type, one.id) for one in events)))


def write_ground_truth(path: Path, stream: GeneratedStream | GeneratedEvents) -> None:
    """Write the planted instances and the decoys as one JSON object.

    `{"planted": [{"pattern", "edges", "vertices"}], "decoys": [{"pattern", "flaw", "edges"}]}`; edges and vertices by name. Of
    events `events` by name, in place of both; a list of them under the name of an iteration.

    Raises:
        OSError: the file cannot be written.
    """
    truth = {"planted": stream.planted, "decoys": stream.decoys}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(truth), indent=2) + b"\n")


def write_patterns(path: Path, stream: GeneratedStream | GeneratedEvents) -> None:
    """Write the pattern text.

    Raises:
        OSError: the file cannot be written.
    """
    path.write_text(stream.patterns, encoding="utf-8")


def _write(path: Path, table: Table) -> None:
    suffixes = {suffix: each for suffix, each in written_suffixes().items() if each.generated is not None}
    format = suffixes.get(path.suffix)
    if path.suffix == ".gz":
        format = suffixes.get(path.with_suffix("").suffix)
        format = format if format is not None and format.is_text else None
    if format is None or format.generated is None:
        message = f"{path.name!r} has no suffix of a known format: use {', '.join(suffixes)}; the text formats also with .gz"
        raise ValueError(message)
    writer: Callable[[_File, Table], None] = resolve_name(format.generated)
    with _open_file(path) as file:
        writer(file, table)


@contextmanager
def _open_file(path: Path) -> Iterator[_File]:
    with path.open("wb") as file:
        if path.suffix != ".gz":
            yield file
            return
        # Neither name nor time of the file goes into its header, so that equal streams give equal bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed:
            yield packed


def write_csv(file: _File, table: Table) -> None:
    """Write a header line and a line a record."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*table.columns, *table.names])
    for fields, attributes in table.rows:
        writer.writerow([*fields, *(_csv_value(attributes.get(name)) for name in table.names)])
    text.flush()
    text.detach()


def write_json_lines(file: _File, table: Table) -> None:
    """Write an object a line."""
    encoder = msgspec.json.Encoder()
    remaining = iter(table.rows)
    while chunk := list(islice(remaining, _CHUNK)):
        file.write(encoder.encode_lines([_record(table.columns, *row) for row in chunk]))


def write_parquet(file: _File, table: Table) -> None:
    """Write a Parquet file."""
    from pyarrow import parquet  # noqa: PLC0415 - texts do without

    parquet.write_table(_arrow(table), file)


def write_arrow(file: _File, table: Table) -> None:
    """Write an Arrow IPC file."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    arrow = _arrow(table)
    with pa.ipc.new_file(file, arrow.schema) as writer:
        writer.write_table(arrow, max_chunksize=_CHUNK)


def _arrow(table: Table) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - as above

    types = dict.fromkeys(table.columns, pa.string()) | {"ts": pa.int64()}
    fields = zip(*(fields for fields, _ in table.rows), strict=True) if table.rows else [()] * len(table.columns)
    arrays = {name: pa.array(values, types[name]) for name, values in zip(table.columns, fields, strict=True)}
    arrays |= {name: pa.array([attributes.get(name) for _, attributes in table.rows]) for name in table.names}
    return pa.table(arrays)


def _record(columns: tuple[str, ...], fields: _Fields, attributes: Mapping[str, Value]) -> dict[str, Value]:
    named = zip(columns, fields, strict=True)
    return {**attributes, **{name: value for name, value in named if value is not None}}


def _csv_value(value: Value) -> Value:
    return ("true" if value else "false") if isinstance(value, bool) else value
