"""The nodes of a parsed text, each with its place.

Nothing is resolved here: names may be unknown, clauses missing or stated twice. The binder checks them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, Union

from graphtide_core.predicate import Operator, operands

from graphtide_query.language.node import node

if TYPE_CHECKING:
    from graphtide_core.edge import Value
    from graphtide_core.errors import Location
    from graphtide_core.pattern import Morphism, Report

    from graphtide_query.language.graph_ast import PathNode

_X_co = TypeVar("_X_co", covariant=True)


@node
class Name:
    """A name, without the backticks it may have been written in."""

    text: str
    location: Location


@node
class Constant:
    """A constant; an integer is not yet checked against 64 bits."""

    value: Value
    location: Location


@node
class Property:
    """`name: value` in the braces of a vertex or an edge."""

    name: Name
    value: Constant


@node
class Vertex:
    """One mention of a vertex."""

    name: Name | None
    label: Name | None
    properties: tuple[Property, ...]
    location: Location


@node
class Edge:
    """An edge between the vertices written to its left and right; `forward` if it points to the right one.

    `times` is the stated number of parallel edges, if any.
    """

    name: Name | None
    label: Name | None
    properties: tuple[Property, ...]
    forward: bool
    location: Location
    times: Constant | None = None


@node
class PathEdge:
    """Paths of a regular expression in the place of an edge; only in streaming graph queries."""

    name: Name | None
    expression: PathNode
    forward: bool
    location: Location


@node
class Path:
    """A vertex, and steps over an edge to the next vertex; without steps, only a vertex."""

    start: Vertex
    steps: tuple[tuple[Edge | PathEdge, Vertex], ...]


@node
class Where:
    """`WHERE condition`."""

    condition: Expression
    location: Location


@node
class Order:
    """`ORDER chain, chain`; a chain is the names between its `<` signs."""

    chains: tuple[tuple[Name, ...], ...]
    location: Location


@node
class Under:
    """`UNDER morphism`."""

    morphism: Morphism
    location: Location


@node
class Time:
    """`amount unit`, of time."""

    amount: Constant
    unit: Name | None


@node
class Period:
    """A clause that states a time: `WITHIN 10m`."""

    time: Time
    location: Location


@node
class OnePer:
    """`ONE PER keys EVERY time`."""

    keys: tuple[Expression, ...]
    every: Time


@node
class Reporting:
    """`REPORT DISTINCT what ONE PER …`; any part may be missing."""

    report: Report | None
    is_distinct: bool
    one_per: OnePer | None
    location: Location


@node
class On:
    """`ON stream`."""

    stream: Name
    location: Location


@node
class Window:
    """`WINDOW amount unit`; the unit is one of time, or edges."""

    amount: Constant
    unit: Name | None
    location: Location


@node
class Returned:
    """`value AS name`."""

    value: Expression
    name: Name | None


@node
class Everything:
    """`*`."""

    location: Location


@node
class Returning:
    """`RETURN items`."""

    items: tuple[Returned | Everything, ...]
    location: Location


@node
class Description:
    """`DESCRIPTION 'text'`."""

    text: Constant
    location: Location


@node
class SeverityLevel:
    """`SEVERITY level`."""

    level: Name
    location: Location


@node
class Tags:
    """`TAGS 'a', 'b'`."""

    tags: tuple[Constant, ...]
    location: Location


@node
class MessageTemplate:
    """`MESSAGE 'template'`."""

    template: Constant
    location: Location


Annotation = Description | SeverityLevel | Tags | MessageTemplate

Clause = Where | Order | Under | Reporting | Returning | On | Window | Annotation


@node
class PatternNode:
    """One pattern of a file, with its clauses in the order of the text."""

    name: Name
    paths: tuple[Path, ...]
    clauses: tuple[Clause, ...]


@node
class Attribute:
    """`variable.name`."""

    variable: Name
    name: Name


@node
class Aggregate:
    """`function(variable.attribute)`, or without the attribute; with `takes_one`, `function(variable).attribute`."""

    function: Name
    variable: Name
    attribute: Name | None
    takes_one: bool = False


@node
class BareName:
    """A name where a value is needed: always an error, which the binder words because it knows the edges."""

    name: Name


@node
class Parenthesized(Generic[_X_co]):
    """An expression in parentheses."""

    operand: _X_co


@node
class Call(Generic[_X_co]):
    """`function(arguments)`."""

    function: Name
    arguments: tuple[_X_co, ...]


Expression = Union[
    Constant,
    Attribute,
    Aggregate,
    BareName,
    "Call[Expression]",
    "Parenthesized[Expression]",
    "Operator[Expression, Constant]",
]
"""An expression of the text: the operators of predicates, over leaves with their places."""


def children(expression: Expression) -> tuple[Expression, ...]:
    """Return the direct operands."""
    match expression:
        case Constant() | Attribute() | Aggregate() | BareName():
            return ()
        case Call(_, arguments):
            return arguments
        case Parenthesized(operand):
            return (operand,)
        case _:
            return operands(expression)
