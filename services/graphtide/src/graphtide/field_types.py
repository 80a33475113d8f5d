"""Types of what patterns return, one for each column of a file, found while its rows are written.

A column begins without a type and takes that of its first values: integer, number, boolean, text, or lists of one of these.
Values of another type widen it: integers among numbers are numbers, and all else that does not fit together is a text, as in
JSON. Cost: a look at every value, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from graphtide.matches import build_column, write_as_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphtide_core.returns import FieldValue

EXACT: Final = 1 << 53
"""Integers up to this are floating-point numbers without loss."""


class FieldTypes:
    """The types of the columns of fields, as far as values have shown them.

    Attributes:
        names: of the fields.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Begin without types."""
        self.names = tuple(names)
        self._types: dict[str, pa.DataType] = {name: pa.null() for name in self.names}
        self._large: set[str] = set()

    def widen(self, values: Mapping[str, Sequence[FieldValue]]) -> list[pa.Array]:
        """Take the next values of each field; return them as columns of the types that are known now."""
        columns = {name: build_column(values[name]) for name in self.names}
        for name, column in columns.items():
            if _has_large(column):
                self._large.add(name)
            self._types[name] = _common(self._types[name], column.type, is_exact=name not in self._large)
        return [_as_type(values[name], columns[name], type) for name, type in zip(self.names, self.types, strict=True)]

    @property
    def types(self) -> list[pa.DataType]:
        """The types; that of a column without a value is text."""
        return [pa.string() if pa.types.is_null(type) else type for type in self._types.values()]

    def convert(self, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """Return rows that were written before as those of a schema with the types that are known now."""
        columns = [
            column if column.type == field.type else _convert(column, field.type)
            for column, field in zip(table.columns, schema, strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=schema)


def _has_large(column: pa.Array) -> bool:
    """Return whether a column has integers that no floating-point number is."""
    while pa.types.is_list(column.type):
        column = column.flatten()
    if not pa.types.is_integer(column.type) or not len(column):
        return False
    ends = pc.min_max(column).as_py()
    return ends["min"] is not None and (ends["min"] < -EXACT or ends["max"] > EXACT)


def _common(one: pa.DataType, other: pa.DataType, *, is_exact: bool) -> pa.DataType:
    """Return the type that has the values of two."""
    found = _common_or_none(one, other, is_exact=is_exact)
    return pa.string() if found is None else found


def _common_or_none(one: pa.DataType, other: pa.DataType, *, is_exact: bool) -> pa.DataType | None:
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if pa.types.is_list(one) and pa.types.is_list(other):
        inner = _common_or_none(one.value_type, other.value_type, is_exact=is_exact)
        return None if inner is None else pa.list_(inner)
    if is_exact and {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    return None


def _as_type(values: Sequence[FieldValue], column: pa.Array, type: pa.DataType) -> pa.Array:
    if column.type == type:
        return column
    return write_as_texts(values) if pa.types.is_string(type) else column.cast(type)


def _convert(column: pa.ChunkedArray, type: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_string(type) and not pa.types.is_dictionary(column.type):
        return pa.chunked_array([write_as_texts(column.to_pylist())])
    return column.cast(type)
