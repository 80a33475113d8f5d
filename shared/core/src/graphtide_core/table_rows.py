"""The rows of a reference table as a stream of events: the statement that reads them, so that tables have every format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_core.ids import StreamName
from graphtide_core.predicate import Literal
from graphtide_core.record_expression import FieldPath, field_paths
from graphtide_core.record_time import RecordTime
from graphtide_core.stream_definition import EventClause, SetAttribute, StreamDefinition
from graphtide_core.stream_joins import columns_read
from graphtide_core.time import TimeUnit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.stream_joins import ReferenceTable

_COLUMN: Final = "column."
"""What begins the names of attributes: a column may be called as a field of a record is."""


@dataclass(frozen=True, slots=True)
class TableRows:
    """How the rows of a table are read for a statement.

    Attributes:
        table: as the statement has it.
        columns: that the statement reads, in their order in the table.
        statement: gives an event for each row, with the key as its id, the time from which it holds, and the columns.
        attributes: of the events, those of the columns in their order.
    """

    table: ReferenceTable
    columns: tuple[str, ...]
    statement: StreamDefinition
    attributes: tuple[str, ...]

    def lacking(self, fields: Sequence[str]) -> str | None:
        """Return the first column that rows with these fields lack; None if they have all that the statement reads."""
        time = () if self.table.time is None else field_paths(self.table.time.value)
        needed = (self.table.key, *self.columns, *(str(path.steps[0]) for path in time))
        return next((each for each in needed if each not in fields), None)


def rows_of(definition: StreamDefinition) -> tuple[TableRows, ...]:
    """Return how the rows of each table of a definition are read, in the order of the tables."""
    return tuple(_rows_of(definition, table) for table in definition.tables)


def check_rows(table: ReferenceTable) -> None:
    """Check that rows can be read as a table says.

    Raises:
        InvalidPatternError: what is read of a row is none of its fields.
    """
    _statement_of(table, {}, TimeUnit.MILLISECOND)


def _rows_of(definition: StreamDefinition, table: ReferenceTable) -> TableRows:
    columns = columns_read(definition, table.name)
    named = {_COLUMN + each: each for each in columns}
    return TableRows(table, columns, _statement_of(table, named, definition.unit), tuple(named))


def _statement_of(table: ReferenceTable, columns: Mapping[str, str], unit: TimeUnit) -> StreamDefinition:
    """Return the statement that reads the rows of a table; `columns` are columns by names of attributes."""
    return StreamDefinition(
        name=StreamName(table.name),
        format=table.format,
        clauses=(EventClause(Literal("row")),),
        time=RecordTime(Literal(0)) if table.time is None else table.time,
        unit=unit,
        id=FieldPath((table.key,)),
        sets=tuple(SetAttribute(name, FieldPath((column,))) for name, column in columns.items()),
        where=table.where,
        nulls=table.nulls,
    )
