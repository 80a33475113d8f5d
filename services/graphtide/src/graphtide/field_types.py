"""Types of what patterns return, one for each column of a table, by the kinds of all values that it has.

They are integer, number, boolean, text, or lists of one of these. Integers among numbers are numbers, and all else that does
not fit together is a text, as in JSON. Cost: a look at every value, outside of Python; values that are written as texts and
were none become objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from graphtide_native.match_tables import BOOLEAN, IN_LIST, INTEGER, LARGE, LIST, NESTED, NUMBER, TEXT

from graphtide.matches import write_as_texts

if TYPE_CHECKING:
    from collections.abc import Iterable

_SCALARS: Final = BOOLEAN | INTEGER | NUMBER | TEXT

_TYPES: Final = {0: "null", BOOLEAN: "boolean", INTEGER: "integer", NUMBER: "number", TEXT: "text"}

_ARROW: Final = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "text": pa.string(),
}


class FieldTypes:
    """The types of the columns of fields, as far as values have shown them."""

    def __init__(self, count: int) -> None:
        """Begin without types of so many fields."""
        self._kinds = [0] * count

    def widen(self, kinds: Iterable[int]) -> None:
        """Take the kinds of the next values of each field, as bits."""
        self._kinds = [before | found for before, found in zip(self._kinds, kinds, strict=True)]

    @property
    def names(self) -> list[str]:
        """The names of the types; that of a column without a value is `null`."""
        return [name_type(kinds) for kinds in self._kinds]

    @property
    def names_in_files(self) -> list[str]:
        """The same; that of a column without a value is `text`."""
        return ["text" if name == "null" else name for name in self.names]


def name_type(kinds: int) -> str:
    """Return the type that fits values of these kinds; `text` where none does."""
    scalars, listed = kinds & _SCALARS, kinds >> IN_LIST & _SCALARS
    if kinds & NESTED or (scalars and kinds & LIST):
        return "text"
    found = listed if kinds & LIST else scalars
    if found == INTEGER | NUMBER and not kinds & LARGE:
        found = NUMBER
    name = _TYPES.get(found)
    if name is None:
        return "text"
    return f"list {name}" if kinds & LIST else name


def is_exact_as(name: str, kinds: int) -> bool:
    """Return whether a column of a type has values of these kinds as they are: no integer is a number, nothing else a text."""
    if name == "text":
        return not kinds & ~TEXT
    return kinds & (INTEGER | NUMBER) != INTEGER | NUMBER and kinds >> IN_LIST & (INTEGER | NUMBER) != INTEGER | NUMBER


def arrow_type(name: str) -> pa.DataType:
    """Return the type of pyarrow."""
    return pa.list_(_ARROW[name.removeprefix("list ")]) if name.startswith("list ") else _ARROW[name]


def convert(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows that were written before as those of a schema with the types that are known now."""
    columns = [
        column if column.type == field.type else as_texts(column) if pa.types.is_string(field.type) else column.cast(field.type)
        for column, field in zip(table.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def as_texts(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return values as texts, numbers and lists as JSON."""
    if pa.types.is_integer(column.type) or pa.types.is_string(column.type) or pa.types.is_dictionary(column.type):
        return column.cast(pa.string())
    return write_as_texts(column.to_pylist())
