"""Bind the JOIN clauses of a STREAM statement, and check at its place every rule of what reads the columns of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.errors import InvalidPatternError
from graphtide_core.predicate import Compare, Comparison
from graphtide_core.record_expression import FieldPath
from graphtide_core.stream_joins import MOST_JOINS, Aliases, Join, check_added, check_join, check_key
from graphtide_core.suggestion import show

from graphtide_query.language import ast, stream_ast
from graphtide_query.language.clauses import place_errors
from graphtide_query.language.record_expressions import bind_record, place_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from graphtide_core.stream_definition import SetAttribute
    from graphtide_core.stream_joins import ReferenceTable

    from graphtide_query.language.stream_ast import FieldNode, JoinNode, RecordNode, SetNode


class JoinClause(NamedTuple):
    """A JOIN with the SET right behind it: its nodes, and what it states."""

    node: JoinNode
    set_node: SetNode | None
    sets: tuple[SetAttribute, ...]


class Reading(NamedTuple):
    """An expression that reads records: its node, the keyword of its clause, and whether the clause is of a whole record."""

    node: RecordNode
    clause: str
    of_record: bool


def bind_joins(
    clauses: Iterable[JoinClause], tables: Mapping[str, ReferenceTable], stated: Collection[str]
) -> tuple[Join, ...]:
    """Return what JOIN clauses state.

    Args:
        clauses: in the order of the text.
        tables: by their names.
        stated: names of attributes that another SET states.

    Raises:
        InvalidPatternError: a table is unknown, a name is taken, or a condition is not that a value is the key; with its place.
    Complexity: linear in the nodes.
    """
    found: list[Join] = []
    taken = set(stated)
    for place, each in enumerate(clauses):
        if place == MOST_JOINS:
            message = f"a stream has at most {MOST_JOINS} JOIN clauses"
            raise InvalidPatternError(message, each.node.location)
        bound = _bind(each, tables, [one.alias for one in found])
        if each.set_node is not None:
            for (name, _), one in zip(each.set_node.values, each.sets, strict=True):
                with place_errors(name.location):
                    check_added((one,), taken)
        taken |= {one.name for one in each.sets}
        found.append(bound)
    return tuple(found)


def check_readings(
    clauses: Iterable[JoinClause], joins: tuple[Join, ...], readings: Iterable[Reading], *, has_clauses: bool
) -> None:
    """Check what reads the columns of tables.

    Args:
        clauses: in the order of the text.
        joins: that they state.
        readings: what the other clauses of the statement read.
        has_clauses: whether the statement has EDGE or EVENT clauses.

    Raises:
        InvalidPatternError: a column is read where it is not known, or nothing reads a JOIN; with its place.
    """
    aliases = Aliases(joins, has_clauses=has_clauses)
    read: set[object] = set()
    for place, (each, join) in enumerate(zip(clauses, joins, strict=True)):
        key, _ = _sides(each.node, join.alias)
        for field in _fields(key):
            with place_errors(field.location):
                check_key(Join(join.table, FieldPath(field.steps, field.outer), join.alias), joins[place:], aliases)
            read |= set() if field.outer else {field.steps[0]}
    for reading in readings:
        for field in _fields(reading.node):
            with place_errors(field.location):
                aliases.check_path(FieldPath(field.steps, field.outer), reading.clause, of_record=reading.of_record)
            read |= set() if field.outer else {field.steps[0]}
    for each, join in zip(clauses, joins, strict=True):
        if join.alias not in read:
            message = f"nothing reads the row of JOIN {join.alias}"
            raise InvalidPatternError(message, each.node.location, hint=f"read a column of it: SET score = {join.alias}.score")


def _bind(clause: JoinClause, tables: Mapping[str, ReferenceTable], taken: Collection[str]) -> Join:
    node = clause.node
    name = node.table if node.alias is None else node.alias
    # Whether there is such a table, before anything of the condition.
    probe = Join(node.table.text, FieldPath(("key",)), name.text or "?")
    with place_errors(node.table.location if node.table.text not in tables else name.location):
        check_join(probe, tables, taken)
    key, column = _sides(node, name.text)
    stated = tables[node.table.text].key
    if column.steps[1:] != (stated,):
        message = f"rows of {show(node.table.text)} are looked up by their key, {stated}"
        raise InvalidPatternError(message, column.location, hint=f"write ON … = {name.text}.{stated}, or state another KEY")
    with place_errors(place_of(key)):
        return Join(node.table.text, bind_record(key), name.text, clause.sets)


def _sides(node: JoinNode, alias: str) -> tuple[RecordNode, FieldNode]:
    """Return what is looked up, and the column of the table that it equals.

    Raises:
        InvalidPatternError: the condition is another; with its place.
    """
    match node.condition:
        case Compare(Comparison.EQUAL, left, right):
            for key, column in ((left, right), (right, left)):
                if isinstance(column, stream_ast.FieldNode) and not column.outer and column.steps[0] == alias:
                    return key, column
    message = f"ON says which value is the key of {alias}"
    raise InvalidPatternError(message, place_of(node.condition), hint=f"one equation: ON src = {alias}.id")


def _fields(node: RecordNode) -> Iterator[FieldNode]:
    """Yield the fields that an expression reads."""
    open_nodes = [node]
    while open_nodes:
        each = open_nodes.pop()
        if isinstance(each, stream_ast.FieldNode):
            yield each
        elif not isinstance(each, ast.Constant):
            open_nodes += reversed(stream_ast.children(each))
