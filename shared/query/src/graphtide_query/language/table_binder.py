"""Bind the TABLE and STREAM statements of a text: each stream gets the tables that it joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.stream_joins import ReferenceTable
from graphtide_core.suggestion import show
from graphtide_core.table_rows import check_rows

from graphtide_query.language import stream_ast
from graphtide_query.language.clauses import bind_time, place_errors, require_text
from graphtide_query.language.stream_binder import (
    ClauseScope,
    bind_nulls,
    bind_record_time,
    bind_stream,
    bind_value,
    refuse_second_streams,
)
from graphtide_query.language.stream_formats import bind_format

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.stream_definition import StreamDefinition

_HINT: Final = "TABLE risk FROM 'risk.csv' KEY id"


def bind_statements(
    tables: Iterable[stream_ast.TableNode], streams: Iterable[stream_ast.StreamNode]
) -> tuple[StreamDefinition, ...]:
    """Return the definitions of the streams, in the order of the text.

    Raises:
        InvalidPatternError: a statement is wrong, two have one name, or no stream joins a table; with its place.
    Complexity: linear in the nodes.
    """
    nodes, known = list(tables), dict[str, ReferenceTable]()
    for node in nodes:
        table = bind_table(node)
        if known.setdefault(table.name, table) != table:
            message = f"the text has two TABLE statements named {show(table.name)}"
            raise InvalidPatternError(message, node.name.location, hint="give the second one another name")
    bound = [(node.name, bind_stream(node, known)) for node in streams]
    refuse_second_streams(bound)
    joined = {join.table for _, stream in bound for join in stream.joins}
    for node in nodes:
        if node.name.text not in joined:
            message = f"no STREAM joins the table {show(node.name.text)}"
            hint = f"write JOIN {node.name.text} ON src = {node.name.text}.{known[node.name.text].key} in a STREAM statement"
            raise InvalidPatternError(message, node.name.location, hint=hint)
    return tuple(stream for _, stream in bound)


def bind_table(node: stream_ast.TableNode) -> ReferenceTable:
    """Return the table that a statement states.

    Raises:
        InvalidPatternError: it has no KEY, a clause is stated twice, or a value is wrong; with its place.
    Complexity: linear in the nodes.
    """
    require_text(node.name)
    scope = ClauseScope("the table")
    for each in node.clauses:
        scope.add(each)
    key, reload = scope.get(stream_ast.KeyNode), scope.get(stream_ast.ReloadNode)
    if key is None:
        message = f"table {show(node.name.text)} has no KEY"
        raise InvalidPatternError(message, node.name.location, hint=f"name the column that identifies a row: {_HINT}")
    require_text(key.column)
    stated = scope.get(stream_ast.FormatNode)
    with place_errors(node.file.location):
        table = ReferenceTable(
            name=node.name.text,
            file=str(node.file.value),
            key=key.column.text,
            format=None if stated is None else bind_format(stated),
            time=bind_record_time(scope).get("time"),
            where=bind_value(scope.get(stream_ast.FilterNode)),
            nulls=bind_nulls(scope.get(stream_ast.NullNode)),
            reload=None if reload is None else bind_time(reload.time.amount, reload.time.unit, "RELOAD"),
        )
    with place_errors(node.name.location):
        check_rows(table)
    return table
