"""The nodes of a parsed streaming graph query, each with its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_query.language import ast

if TYPE_CHECKING:
    from graphtide_core.errors import Location

# ---- regular path expressions


@dataclass(frozen=True, slots=True)
class Step:
    """`:label`, `~derived`, or in a rule the plain predicate; `^:label` and `:label-` are inverse."""

    name: ast.Name
    sign: str
    is_inverse: bool
    location: Location


@dataclass(frozen=True, slots=True)
class Inverse:
    """`^(operand)`."""

    operand: PathNode


@dataclass(frozen=True, slots=True)
class Sequence:
    """Two or more parts, one after the other."""

    parts: tuple[PathNode, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Two or more options."""

    options: tuple[PathNode, ...]


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class StreamOn:
    """`ON stream WINDOW(length) SLIDE(slide) INTERNAL`; the length is None for NOW."""

    stream: ast.Name
    length: ast.Time | None
    slide: ast.Time | None
    is_internal: bool
    location: Location


@dataclass(frozen=True, slots=True)
class PathClause:
    """`PATH name = paths`, with its clauses."""

    name: ast.Name
    paths: tuple[ast.Path, ...]
    options: tuple[StreamOn | ast.Where, ...]


@dataclass(frozen=True, slots=True)
class Construct:
    """`CONSTRUCT paths`."""

    paths: tuple[ast.Path, ...]
    location: Location


@dataclass(frozen=True, slots=True)
class Column:
    """`vertex AS name`."""

    vertex: ast.Name
    name: ast.Name | None


@dataclass(frozen=True, slots=True)
class Select:
    """`SELECT columns`."""

    columns: tuple[Column, ...]
    location: Location


@dataclass(frozen=True, slots=True)
class Match:
    """`MATCH paths`."""

    paths: tuple[ast.Path, ...]


@dataclass(frozen=True, slots=True)
class Option:
    """`OPTIONAL paths`."""

    paths: tuple[ast.Path, ...]
    location: Location


Clause = Match | Option | StreamOn | ast.Where | ast.Returning


@dataclass(frozen=True, slots=True)
class Query:
    """A query of G-CORE, with its clauses in the order of the text."""

    paths: tuple[PathClause, ...]
    result: Construct | Select
    clauses: tuple[Clause, ...]


# ---- rules


@dataclass(frozen=True, slots=True)
class Input:
    """`INPUT name = path`, with its clauses."""

    name: ast.Name
    path: ast.Path
    options: tuple[StreamOn | ast.Where, ...]


@dataclass(frozen=True, slots=True)
class End:
    """An end of an atom, or a column of a head: a variable, a constant, or neither: `_`."""

    variable: ast.Name | None
    constant: ast.Constant | None
    location: Location


@dataclass(frozen=True, slots=True)
class Atom:
    """`relation(source, target) as name`, with any number of ends."""

    relation: PathNode
    ends: tuple[End, ...]
    name: ast.Name | None
    location: Location


@dataclass(frozen=True, slots=True)
class Rule:
    """`head(columns) <- body WHERE condition`, and a dot."""

    head: ast.Name
    columns: tuple[End, ...]
    body: tuple[Atom, ...]
    where: ast.Where | None


@dataclass(frozen=True, slots=True)
class Output:
    """`OUTPUT head(columns) AS label`."""

    head: ast.Name
    columns: tuple[ast.Name, ...]
    label: ast.Name | None


@dataclass(frozen=True, slots=True)
class Program:
    """A query of rules."""

    inputs: tuple[Input, ...]
    rules: tuple[Rule, ...]
    clauses: tuple[StreamOn | Output | ast.Returning, ...]


@dataclass(frozen=True, slots=True)
class View:
    """`GRAPH VIEW name AS ( body )`."""

    name: ast.Name
    body: Query | Program
