"""Writes a generated stream to files: its records, its ground truth, its pattern.

The stream's format follows from the suffix: `.csv`, `.jsonl` or `.ndjson` (each also with `.gz`), `.parquet`, `.arrow`. Equal
streams give equal bytes in the text formats, also when compressed.
"""

from __future__ import annotations

import csv
import gzip
import io
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

import msgspec
from graphtide_core.edge import Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import IO

    import pyarrow as pa
    from graphtide_core.edge import Edge, Value

    from graphtide_generate.stream import GeneratedStream

    _File = IO[bytes] | gzip.GzipFile

_COLUMNS = ("ts", "src", "dst", "label", "src_label", "dst_label", "id", "op")
_CHUNK = 8_192


def write_stream(path: Path, edges: Sequence[Edge]) -> None:
    """Write the records in their order.

    Raises:
        ValueError: no format has this suffix.
        OSError: the file cannot be written.
    """
    suffix = path.suffix
    if suffix == ".gz":
        suffix = path.with_suffix("").suffix
        if suffix in (".parquet", ".arrow"):
            suffix = ".gz"
    writer = _WRITERS.get(suffix)
    if writer is None:
        message = f"cannot tell the format of {path.name!r}: use {', '.join(_WRITERS)}; the text formats also with .gz"
        raise ValueError(message)
    with _opened(path) as file:
        writer(file, edges)


def write_ground_truth(path: Path, stream: GeneratedStream) -> None:
    """Write the planted instances and the decoys as one JSON object.

    `{"planted": [{"pattern", "edges", "vertices"}], "decoys": [{"pattern", "flaw", "edges"}]}`; edges and vertices by name.

    Raises:
        OSError: the file cannot be written.
    """
    truth = {"planted": stream.planted, "decoys": stream.decoys}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(truth), indent=2) + b"\n")


def write_patterns(path: Path, stream: GeneratedStream) -> None:
    """Write the pattern text.

    Raises:
        OSError: the file cannot be written.
    """
    path.write_text(stream.patterns, encoding="utf-8")


@contextmanager
def _opened(path: Path) -> Iterator[_File]:
    with path.open("wb") as file:
        if path.suffix != ".gz":
            yield file
            return
        # Neither name nor time of the file goes into its header, so that equal streams give equal bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed:
            yield packed


def _write_csv(file: _File, edges: Sequence[Edge]) -> None:
    columns, names = _columns(edges), _attribute_names(edges)
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, *names])
    for edge in edges:
        own = [_csv_value(edge.attributes.get(name)) for name in names]
        writer.writerow([*_fields(edge)[: len(columns)], *own])
    text.flush()
    text.detach()


def _write_json_lines(file: _File, edges: Sequence[Edge]) -> None:
    encoder = msgspec.json.Encoder()
    remaining = iter(edges)
    while chunk := list(islice(remaining, _CHUNK)):
        file.write(encoder.encode_lines([_record(edge) for edge in chunk]))


def _write_parquet(file: _File, edges: Sequence[Edge]) -> None:
    from pyarrow import parquet  # noqa: PLC0415 - texts do without

    parquet.write_table(_table(edges), file)


def _write_arrow(file: _File, edges: Sequence[Edge]) -> None:
    import pyarrow as pa  # noqa: PLC0415 - as above

    table = _table(edges)
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=_CHUNK)


_WRITERS: dict[str, Callable[[_File, Sequence[Edge]], None]] = {
    ".csv": _write_csv,
    ".jsonl": _write_json_lines,
    ".ndjson": _write_json_lines,
    ".parquet": _write_parquet,
    ".arrow": _write_arrow,
}


def _table(edges: Sequence[Edge]) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - as above

    columns = dict(zip(_COLUMNS, zip(*map(_fields, edges), strict=True), strict=True)) if edges else dict.fromkeys(_COLUMNS, ())
    types = dict.fromkeys(_COLUMNS, pa.string()) | {"ts": pa.int64()}
    arrays = {name: pa.array(columns[name], types[name]) for name in _columns(edges)}
    arrays |= {name: pa.array([edge.attributes.get(name) for edge in edges]) for name in _attribute_names(edges)}
    return pa.table(arrays)


def _columns(edges: Sequence[Edge]) -> tuple[str, ...]:
    """Return the columns of the stream: `op`, the last one, only where something is deleted."""
    return _COLUMNS if any(edge.operation is Operation.DELETE for edge in edges) else _COLUMNS[:-1]


def _attribute_names(edges: Sequence[Edge]) -> list[str]:
    return sorted(set().union(*(edge.attributes for edge in edges)))


def _fields(edge: Edge) -> tuple[int | str | None, ...]:
    operation = None if edge.operation is Operation.INSERT else edge.operation.value
    return (edge.ts, edge.source, edge.target, edge.label, edge.source_label, edge.target_label, edge.id, operation)


def _record(edge: Edge) -> dict[str, Value]:
    named = zip(_COLUMNS, _fields(edge), strict=True)
    return {**edge.attributes, **{name: value for name, value in named if value is not None}}


def _csv_value(value: Value) -> Value:
    return ("true" if value else "false") if isinstance(value, bool) else value
