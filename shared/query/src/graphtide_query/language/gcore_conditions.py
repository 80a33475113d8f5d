"""Split WHERE of a G-CORE query by what each condition reads: equal vertices, edges, and ids of vertices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core import predicate
from graphtide_core.errors import InvalidPatternError
from graphtide_core.graph_query import EDGE
from graphtide_core.ids import VertexId
from graphtide_core.suggestion import show

from graphtide_query.language import ast
from graphtide_query.language.expressions import bind_expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_core.errors import Location

    from graphtide_query.language.gcore_scope import Scope


MAX_CONDITIONS = 1_000
"""The most conditions that WHERE may join by AND: every branch checks each of them."""


@dataclass(frozen=True, slots=True)
class Same:
    """`u = v`, or `u.id = v.id`: one vertex."""

    one: str
    other: str
    location: Location


@dataclass(frozen=True, slots=True)
class Fixed:
    """`u.id = "x"`."""

    vertex: str
    key: VertexId
    location: Location


@dataclass(frozen=True, slots=True)
class OnEdge:
    """A condition on an edge, called `EDGE` in it."""

    edge: str
    condition: predicate.Expression


@dataclass(frozen=True, slots=True)
class OnVertices:
    """A condition on ids of vertices."""

    vertices: frozenset[str]
    condition: predicate.Expression


Condition = Same | Fixed | OnEdge | OnVertices


def bind_conditions(clauses: Iterable[ast.Where], scope: Scope) -> list[Condition]:
    """Return the conditions of the clauses, which must all be true.

    Raises:
        InvalidPatternError: as `bind_expression`, or a condition relates attributes of two edges, or of an edge and a vertex.
    """
    found: list[Condition] = []
    for clause in clauses:
        for part in _split(clause.condition):
            found += _bind(part, scope)
        if len(found) > MAX_CONDITIONS:
            message = f"a query may have at most {MAX_CONDITIONS:,} conditions; this one has {len(found):,}"
            raise InvalidPatternError(message, clause.location, hint="for one of several values, write IN [1, 2, 3]")
    return found


def _split(expression: ast.Expression) -> Iterator[ast.Expression]:
    """Split at the outermost ANDs, with any grouping."""
    waiting = [expression]
    while waiting:
        match waiting.pop():
            case predicate.Conjunction(operands):
                waiting += reversed(operands)
            case ast.Parenthesized(operand) if isinstance(
                operand, predicate.Conjunction | ast.Parenthesized | predicate.Compare
            ):
                waiting.append(operand)
            case part:
                yield part


def _bind(part: ast.Expression, scope: Scope) -> Iterator[Condition]:
    match part:
        case predicate.Compare(predicate.Comparison.EQUAL, left, right):
            one, other = _read_vertex(left, scope), _read_vertex(right, scope)
            if one is not None and other is not None:
                yield Same(one.text, other.text, other.location)
                return
    for condition in predicate.conjuncts(bind_expression(part, scope)):
        yield _classify(condition, scope)


def _read_vertex(expression: ast.Expression, scope: Scope) -> ast.Name | None:
    while isinstance(expression, ast.Parenthesized):
        expression = expression.operand
    is_vertex = isinstance(expression, ast.BareName) and expression.name.text in scope.vertices
    return expression.name if is_vertex and isinstance(expression, ast.BareName) else None


def _classify(condition: predicate.Expression, scope: Scope) -> Condition:
    match condition:
        case predicate.Compare(
            predicate.Comparison.EQUAL, predicate.Attribute(one, "id", place), predicate.Attribute(other, "id")
        ) if place is not None and one in scope.vertices and other in scope.vertices:
            return Same(one, other, place)
        case predicate.Compare(
            predicate.Comparison.EQUAL, predicate.Attribute(vertex, "id", place), predicate.Literal(str(key))
        ) | predicate.Compare(
            predicate.Comparison.EQUAL, predicate.Literal(str(key)), predicate.Attribute(vertex, "id", place)
        ) if place is not None and vertex in scope.vertices:
            return Fixed(vertex, VertexId(key), place)
    read = predicate.variables(condition)
    edges = sorted(read & scope.edges.keys())
    if not edges:
        return OnVertices(read, condition)
    if len(read) == 1:
        return OnEdge(edges[0], predicate.rename(condition, {edges[0]: EDGE}))
    first, second = sorted(read)[:2] if len(edges) > 1 else (edges[0], min(read - scope.edges.keys()))
    kind = "edge" if second in scope.edges else "vertex"
    message = f"a condition relates the edge {show(first)} to the {kind} {show(second)}"
    place = next((each.location for each in predicate.attributes(condition) if each.variable == second), None)
    hint = "a condition reads one edge, or ids of vertices: equal edges are one tuple, whatever their attributes"
    raise InvalidPatternError(message, place, hint=hint)
