"""Columns that the folders of a file say, as Hive names them: `year=2026/month=01/…`. Every record of the file has them.

A value of digits is an integer. A column of that name in the file stays as it is. Texts are given the columns byte by byte, so
that all that reads them sees the columns: patterns, options and statements. Cost: a copy of a text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from graphtide_core.formats import CSV, JSON_LINES
from graphtide_core.record_format import RecordFormat
from graphtide_native.records import AddedFields

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    import pyarrow as pa
    from graphtide_core.formats import StreamFormat

    from graphtide.readers.reader import ReaderOptions

LABELS: Final = ("label", "src_label", "dst_label", "op", "type")
"""Fields of a record that are texts of few words."""

_MISSING: Final = "__HIVE_DEFAULT_PARTITION__"
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")

PartitionValue = int | str | None


def partition_of(path: str, root: str) -> dict[str, PartitionValue]:
    """Return the columns that the folders of a path say, those below a root alone if the path is below it."""
    folders = path.removeprefix(root).split("/")[:-1]
    named = (folder.split("=", 1) for folder in folders if "=" in folder)
    return {unquote(name): _read(unquote(value)) for name, value in named if name}


def _read(text: str) -> PartitionValue:
    if text == _MISSING:
        return None
    return int(text) if _INTEGER.fullmatch(text) else text


def add_to_text(blocks: Iterator[bytes], kind: StreamFormat, options: ReaderOptions) -> Iterator[bytes]:
    """Yield the blocks of a text with the columns of its file: of JSON Lines, and of CSV with a header line."""
    added = _added_fields(kind, options)
    if added is None:
        yield from blocks
        return
    for block in blocks:
        yield added.feed(block)
    if rest := added.finish():
        yield rest


def _added_fields(kind: StreamFormat, options: ReaderOptions) -> AddedFields | None:
    values = _values(options)
    if kind is JSON_LINES and values:
        return AddedFields.json(json.dumps(values, separators=(",", ":"))[1:-1])
    if kind is not CSV or not values:
        return None
    written = options.record_options
    stated = (options.definition.format if options.definition is not None else None) or RecordFormat(CSV.value)
    if options.definition is None:
        header, delimiter = written.has_header and not written.header, written.delimiter
        quote, comment = '"', written.comment or ""
    else:
        header = stated.header is not False and (stated.columns is None or stated.header is True)
        header = header and stated.encoding in {None, "utf-8"}
        quote, comment = '"' if stated.quote is None else stated.quote, stated.comment or ""
        delimiter = stated.delimiter or ","
    if not header:
        return None
    fields = [(name, "" if value is None else str(value)) for name, value in values.items()]
    return AddedFields.csv(" " if delimiter == "whitespace" else delimiter, quote or None, comment, fields)


def _values(options: ReaderOptions) -> dict[str, PartitionValue]:
    """Return the columns of a file; those that are read as labels are texts."""
    labels = {options.columns.get(name, name) for name in LABELS} if options.definition is None else set[str]()
    return {name: str(value) if name in labels and value is not None else value for name, value in options.partition.items()}


def add_to_schema(schema: pa.Schema, options: ReaderOptions) -> pa.Schema:
    """Return the columns of a table with those of its file."""
    import pyarrow as pa  # noqa: PLC0415 - texts do without

    for name, value in _values(options).items():
        if name not in schema.names:
            schema = schema.append(pa.field(name, pa.int64() if isinstance(value, int) else pa.string()))
    return schema


def add_to_rows(
    batches: Iterable[pa.RecordBatch], known: Collection[str], schema: pa.Schema, options: ReaderOptions
) -> Iterator[pa.RecordBatch]:
    """Yield rows with the columns that their file says; `known` are its own columns, `schema` has both."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    values = _values(options)
    for batch in batches:
        rows = batch
        for name, value in values.items():
            # One that the file has is read from it, or not at all.
            if name not in known:
                rows = rows.append_column(name, pa.repeat(pa.scalar(value, schema.field(name).type), len(batch)))
        yield rows
