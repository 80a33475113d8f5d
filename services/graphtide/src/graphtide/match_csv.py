"""Matches as rows of CSV, quoted as RFC 4180 says: one header, then a row a match, with the columns of its table.

Times are ticks of the stream, as in match records. What a pattern returns is written as it is, lists as JSON. A missing value
is an empty field, an empty text a quoted one. Cost: some calls a batch for each column; lists are written one by one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence


class CsvRows:
    """Writes tables of matches to an open file."""

    def __init__(self, file: pa.NativeFile, schema: pa.Schema) -> None:
        """Write the header."""
        self._file = file
        header = _quote(pa.array(schema.names, pa.string())).to_pylist()
        file.write((",".join(header) + "\n").encode())

    def write_table(self, table: pa.Table) -> None:
        """Write rows."""
        for batch in table.combine_chunks().to_batches():
            columns = [_quote(_as_text(column)) for column in batch.columns]
            columns[-1] = pc.binary_join_element_wise(columns[-1], "", "\n")
            self._file.write(_join_texts(pc.binary_join_element_wise(*columns, ",")))

    def close(self) -> None:
        """Do nothing: the file is its owner's."""


def csv_rows(file: pa.NativeFile, schema: pa.Schema, _: Sequence[str]) -> CsvRows:
    """Return a writer of CSV."""
    return CsvRows(file, schema)


def _join_texts(rows: pa.StringArray) -> pa.Buffer:
    """Return texts one after the other, as they lie in memory."""
    _, offsets, texts = rows.buffers()
    ends = memoryview(offsets).cast("i")
    start = ends[rows.offset]
    return texts.slice(start, ends[rows.offset + len(rows)] - start)


def _as_text(column: pa.Array) -> pa.Array:
    if pa.types.is_list(column.type):
        texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in column.to_pylist()]
        return pa.array(texts, pa.string())
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return column.cast(pa.string())


def _quote(column: pa.Array) -> pa.Array:
    """Return texts as fields: those with a comma, a quote or a line end, and empty ones, in quotes, missing ones empty."""
    is_special = pc.fill_null(pc.match_substring_regex(column, '[",\r\n]|^$'), False)
    if pc.any(is_special).as_py():
        doubled = pc.replace_substring(column, '"', '""')
        column = pc.if_else(is_special, pc.binary_join_element_wise('"', doubled, '"', ""), column)
    return pc.fill_null(column, "")
