"""The nodes of a parsed streaming graph query, each with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_query.language import ast
from graphtide_query.language.node import node

if TYPE_CHECKING:
    from graphtide_core.errors import Location

# ---- regular path expressions


@node
class Step:
    """`:label`, `~derived`, or in a rule the plain predicate; `^:label` and `:label-` are inverse."""

    name: ast.Name
    sign: str
    is_inverse: bool
    location: Location


@node
class Inverse:
    """`^(operand)`."""

    operand: PathNode


@node
class Sequence:
    """Two or more parts, one after the other."""

    parts: tuple[PathNode, ...]


@node
class Choice:
    """Two or more options."""

    options: tuple[PathNode, ...]


@node
class Repeated:
    """The operand followed by `*`, `+` or `?`."""

    operand: PathNode
    times: str


PathNode = Step | Inverse | Sequence | Choice | Repeated


def children(node: PathNode) -> tuple[PathNode, ...]:
    """Return the direct operands."""
    match node:
        case Step():
            return ()
        case Sequence(several) | Choice(several):
            return several
        case Inverse(operand) | Repeated(operand):  # pragma: no branch - mypy knows that no case is left
            return (operand,)


# ---- G-CORE


@node
class StreamOn:
    """`ON stream WINDOW(length) SLIDE(slide) INTERNAL`; the length is None for NOW."""

    stream: ast.Name
    length: ast.Time | None
    slide: ast.Time | None
    is_internal: bool
    location: Location


@node
class PathClause:
    """`PATH name = paths`, with its clauses."""

    name: ast.Name
    paths: tuple[ast.Path, ...]
    options: tuple[StreamOn | ast.Where, ...]


@node
class Construct:
    """`CONSTRUCT paths`."""

    paths: tuple[ast.Path, ...]
    location: Location


@node
class Column:
    """`vertex AS name`."""

    vertex: ast.Name
    name: ast.Name | None


@node
class Select:
    """`SELECT columns`."""

    columns: tuple[Column, ...]
    location: Location


@node
class Match:
    """`MATCH paths`."""

    paths: tuple[ast.Path, ...]


@node
class Option:
    """`OPTIONAL paths`."""

    paths: tuple[ast.Path, ...]
    location: Location


Clause = Match | Option | StreamOn | ast.Where | ast.Returning | ast.Annotation


@node
class Query:
    """A query of G-CORE, with its clauses in the order of the text."""

    paths: tuple[PathClause, ...]
    result: Construct | Select
    clauses: tuple[Clause, ...]


# ---- rules


@node
class Input:
    """`INPUT name = path`, with its clauses."""

    name: ast.Name
    path: ast.Path
    options: tuple[StreamOn | ast.Where, ...]


@node
class End:
    """An end of an atom, or a column of a head: a variable, a constant, or neither: `_`."""

    variable: ast.Name | None
    constant: ast.Constant | None
    location: Location


@node
class Atom:
    """`relation(source, target) as name`, with any number of ends."""

    relation: PathNode
    ends: tuple[End, ...]
    name: ast.Name | None
    location: Location


@node
class Rule:
    """`head(columns) <- body WHERE condition`, and a dot."""

    head: ast.Name
    columns: tuple[End, ...]
    body: tuple[Atom, ...]
    where: ast.Where | None


@node
class Output:
    """`OUTPUT head(columns) AS label`."""

    head: ast.Name
    columns: tuple[ast.Name, ...]
    label: ast.Name | None


@node
class Program:
    """A query of rules."""

    inputs: tuple[Input, ...]
    rules: tuple[Rule, ...]
    clauses: tuple[StreamOn | Output | ast.Returning | ast.Annotation, ...]


@node
class View:
    """`GRAPH VIEW name AS ( body )`."""

    name: ast.Name
    body: Query | Program
