"""The nodes of a parsed STREAM statement, each with its place; nothing is resolved or checked here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from graphtide_core.predicate import operands

from graphtide_query.language import ast
from graphtide_query.language.node import node

if TYPE_CHECKING:
    from graphtide_core.errors import Location
    from graphtide_core.predicate import Operator
    from graphtide_core.record_expression import PathStep


@node
class FieldNode:
    """`a.b[0]`, or `OUTER.a.b[0]`."""

    steps: tuple[PathStep, ...]
    location: Location
    outer: int = 0


RecordNode = Union[
    ast.Constant, FieldNode, "ast.Call[RecordNode]", "ast.Parenthesized[RecordNode]", "Operator[RecordNode, ast.Constant]"
]
"""An expression over a record."""


@node
class OptionNode:
    """`DELIMITER ';'`, `UNNEST a.b`, `COLUMNS (a, b)`: an option of a format, and its value."""

    option: ast.Name
    value: ast.Constant | FieldNode | tuple[ast.Name, ...]


@node
class FormatNode:
    """`FORMAT name 'pattern' options`."""

    name: ast.Name
    pattern: ast.Constant | None
    options: tuple[OptionNode, ...]
    location: Location


@node
class EndNode:
    """`(value:label)`."""

    value: RecordNode
    label: RecordNode | None


@node
class EdgeNode:
    """`EDGE (source)-[label]->(target)`."""

    source: EndNode
    label: RecordNode | None
    target: EndNode
    location: Location


@node
class TimeNode:
    """`AT value IN unit`."""

    value: RecordNode
    unit: ast.Name | None
    location: Location


@node
class TextClause:
    """A keyword with a text."""

    text: ast.Constant
    location: Location


class TimeFormatNode(TextClause):
    """`FORMAT '…'`, of times."""

    __slots__ = ()


class ZoneNode(TextClause):
    """`ZONE '…'`."""

    __slots__ = ()


class BeforeNode(TextClause):
    """`BEFORE '…'`."""

    __slots__ = ()


@node
class ChoiceClause:
    """A keyword with a name that the language knows."""

    choice: ast.Name
    location: Location


class UnitNode(ChoiceClause):
    """`UNIT unit`."""

    __slots__ = ()


class DuplicatesNode(ChoiceClause):
    """`DUPLICATES policy`."""

    __slots__ = ()


class ClockNode(ChoiceClause):
    """`CLOCK clock`."""

    __slots__ = ()


@node
class ValueClause:
    """A keyword with an expression over the record."""

    value: RecordNode
    location: Location


class EventNode(ValueClause):
    """`EVENT type`."""

    __slots__ = ()


class IdNode(ValueClause):
    """`ID value`."""

    __slots__ = ()


@node
class PartitionNode:
    """`PARTITION BY value PARTS n`; without a value by VERTEX, without a number one part."""

    value: RecordNode | None
    parts: ast.Constant | None
    location: Location


class FilterNode(ValueClause):
    """`WHERE condition`."""

    __slots__ = ()


class DeleteNode(ValueClause):
    """`DELETE WHERE condition`."""

    __slots__ = ()


class UpdateNode(ValueClause):
    """`UPDATE WHERE condition`."""

    __slots__ = ()


class HavingNode(ValueClause):
    """`HAVING condition`."""

    __slots__ = ()


class LatenessNode(ast.Period):
    """`LATENESS time`."""

    __slots__ = ()


@node
class AggregateNode:
    """`count(*)`, or `count(DISTINCT of)`."""

    function: ast.Name
    of: ast.Name | None
    is_distinct: bool


@node
class SetNode:
    """`SET name = value, …`."""

    values: tuple[tuple[ast.Name, RecordNode | AggregateNode], ...]
    location: Location


@node
class FeatureNode:
    """`FEATURE name = function(DISTINCT of) PER keys OVER over AGAINST against EXCLUDE CURRENT`."""

    name: ast.Name
    function: ast.Name
    of: ast.Name | None
    is_distinct: bool
    keys: tuple[ast.Name, ...]
    over: ast.Time
    against: ast.Time | None
    excludes_current: bool
    location: Location


@node
class EmitNode:
    """`EMIT EDGE (source)-[:label]->(target) PER keys EVERY every`, or `EMIT EVENT 'type' PER keys EVERY every`."""

    given: EdgeNode | EventNode
    keys: tuple[tuple[ast.Name, ast.Name | None], ...]
    every: ast.Time
    location: Location


@node
class NullNode:
    """`NULL 'x', …`."""

    texts: tuple[ast.Constant, ...]
    location: Location


@node
class JoinNode:
    """`JOIN table AS alias ON condition`."""

    table: ast.Name
    alias: ast.Name | None
    condition: RecordNode
    location: Location


@node
class KeyNode:
    """`KEY column`."""

    column: ast.Name
    location: Location


class ReloadNode(ast.Period):
    """`RELOAD time`."""

    __slots__ = ()


TableClause = FormatNode | KeyNode | TimeNode | TimeFormatNode | ZoneNode | BeforeNode | FilterNode | NullNode | ReloadNode


@node
class TableNode:
    """`TABLE name FROM 'file' clauses`, with its clauses in the order of the text."""

    name: ast.Name
    file: ast.Constant
    clauses: tuple[TableClause, ...]


StreamClause = (
    FormatNode
    | EdgeNode
    | EventNode
    | TimeNode
    | TimeFormatNode
    | ZoneNode
    | UnitNode
    | IdNode
    | SetNode
    | FilterNode
    | DeleteNode
    | UpdateNode
    | NullNode
    | LatenessNode
    | DuplicatesNode
    | ClockNode
    | PartitionNode
    | FeatureNode
    | EmitNode
    | HavingNode
    | JoinNode
)


@node
class StreamNode:
    """One statement of a text, with its clauses in the order of the text."""

    name: ast.Name
    clauses: tuple[StreamClause, ...]


def children(expression: RecordNode) -> tuple[RecordNode, ...]:
    """Return the direct operands and arguments."""
    match expression:
        case ast.Constant() | FieldNode():
            return ()
        case ast.Call(_, arguments):
            return arguments
        case ast.Parenthesized(operand):
            return (operand,)
        case _:
            return operands(expression)
