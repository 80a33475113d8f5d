"""Rows of reference tables, and which of them a JOIN finds, the plain way: a list of rows, looked through from its beginning.

What the statement leaves open is decided here.

* A row without a key, with an empty one or without a readable time makes the table unreadable. So no row is lost unseen.
* Keys are texts, as ends are: a field as it is written, or else the text of the value.
* Of rows with equal keys the last one counts. If rows have times, it is the last one of the latest time that is not after the
  record's. A record without a readable time has no such row.
* Columns of a row are values: `007` of a text is what `decode_field` makes of it, also as an end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.predicate import Literal, map_operands
from graphtide_core.record_expression import FieldPath
from graphtide_core.stream_joins import Aliases, is_end

from graphtide_testing.oracles.record_texts import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.edge import Value
    from graphtide_core.record_expression import RecordExpression
    from graphtide_core.stream_definition import EdgeClause, EventClause, StreamDefinition


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row: its key, from when on it holds, and its fields."""

    key: str
    since: int | None
    fields: Mapping[str, Value]


Tables = dict[str, list[TableRow]]
"""Rows of tables by their names, in the order of the file."""


def find_row(rows: Iterable[TableRow], key: str | None, ts: int | None) -> TableRow | None:
    """Return the row of a key at a time."""
    found = None
    for row in rows:
        if row.key != key or (row.since is not None and (ts is None or row.since > ts)):
            continue
        if found is None or row.since is None or found.since is None or row.since >= found.since:
            found = row
    return found


def is_by_edge(definition: StreamDefinition, alias: str) -> bool:
    """Return whether the row of a JOIN depends on the edge."""
    return alias in Aliases(definition.joins, has_clauses=bool(definition.clauses)).by_edge


def key_for(key: RecordExpression, clause: EdgeClause | EventClause | None) -> RecordExpression:
    """Return the key of a JOIN with the ends of the clause in place of `src` and `dst`; an event has none."""
    match key:
        case FieldPath() if clause is not None and is_end(key):
            return dict(clause.values_of_fields()).get(str(key), Literal(None))
        case FieldPath() | Literal():
            return key
        case _:
            return map_operands(key, lambda each: key_for(each, clause))


def with_rows(expression: RecordExpression, rows: Mapping[str, TableRow | None]) -> RecordExpression:
    """Return an expression with the columns of rows in place of the paths to them."""
    match expression:
        case FieldPath() if is_column(expression, rows):
            return Literal(column_of(expression, rows))
        case FieldPath() | Literal():
            return expression
        case _:
            return map_operands(expression, lambda each: with_rows(each, rows))


def is_column(path: FieldPath, rows: Mapping[str, TableRow | None]) -> bool:
    """Return whether a path is a column of a table."""
    return path.outer == 0 and path.steps[0] in rows


def column_of(path: FieldPath, rows: Mapping[str, TableRow | None]) -> Value:
    """Return the column that a path is."""
    alias, name = map(str, path.steps)
    row = rows[alias]
    return None if row is None else plain(row.fields.get(name))
