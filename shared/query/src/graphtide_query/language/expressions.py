"""Expressions bound: nodes to the predicates of `graphtide_core`, every name resolved.

Nesting is bounded before the recursion starts, so that neither this nor any later walk over a predicate overflows the stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from graphtide_core import predicate
from graphtide_core.errors import InvalidPatternError
from graphtide_core.suggestion import did_you_mean

from graphtide_query.language import ast
from graphtide_query.language.spelling import MAX_INTEGER, MIN_INTEGER, beyond_64_bits, brief, listed, show

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.edge import Value
    from graphtide_core.errors import Location
    from graphtide_core.pattern import QueryEdge, QueryVertex

MAX_DEPTH = 200
"""Levels of an expression, parentheses and each sign of a sum or product counted."""


class Names(Protocol):
    """What an expression may speak of."""

    @property
    def vertices(self) -> tuple[QueryVertex, ...]:
        """Vertices of the pattern."""

    @property
    def edges(self) -> tuple[QueryEdge, ...]:
        """Edges of the pattern."""

    @property
    def copies(self) -> Mapping[str, tuple[str, ...]]:
        """Names that stand for several edges, and which."""


def bind_expression(expression: ast.Expression, names: Names) -> predicate.Expression:
    """Return the predicate.

    Raises:
        InvalidPatternError: an unknown name or attribute, an integer beyond 64 bits, or nesting past `MAX_DEPTH`.
    Complexity: linear in the nodes.
    """
    _refuse_depth(expression)
    return _Binding(names).bind(expression)


def bind_constant(constant: ast.Constant) -> Value:
    """Return the value.

    Raises:
        InvalidPatternError: an integer beyond 64 bits.
    """
    value = constant.value
    if isinstance(value, int) and not MIN_INTEGER <= value <= MAX_INTEGER:
        raise beyond_64_bits(constant.location)
    return value


class _Binding:
    """Binds under the names of one pattern."""

    def __init__(self, names: Names) -> None:
        self._edges = {edge.name for edge in names.edges} | names.copies.keys()
        self._vertices = {vertex.name for vertex in names.vertices}

    def bind(self, expression: ast.Expression) -> predicate.Expression:
        match expression:
            case ast.Constant():
                return predicate.Literal(bind_constant(expression))
            case ast.Attribute() | ast.BareName():
                return self._read(expression)
            case ast.Group(operand):
                return self.bind(operand)
            case ast.Compare(comparison, left, right):
                return predicate.Compare(comparison, self.bind(left), self.bind(right))
            case ast.Compute(operator, left, right):
                return predicate.Compute(operator, self.bind(left), self.bind(right))
            case ast.Negate(operand):
                return predicate.Negate(self.bind(operand))
            case ast.And(operands):
                return predicate.And(tuple(self.bind(operand) for operand in operands))
            case ast.Or(operands):
                return predicate.Or(tuple(self.bind(operand) for operand in operands))
            case ast.Not(operand):
                return predicate.Not(self.bind(operand))
            case ast.In(operand, options):
                return predicate.In(self.bind(operand), tuple(bind_constant(option) for option in options))
            case ast.StartsWith(operand, prefix):
                return predicate.StartsWith(self.bind(operand), prefix)
            case ast.IsNull(operand):  # pragma: no branch - mypy knows that no case is left
                return predicate.IsNull(self.bind(operand))

    def _read(self, expression: ast.Attribute | ast.BareName) -> predicate.Attribute:
        if isinstance(expression, ast.BareName):
            raise self._bare(expression.name)
        variable, name = expression.variable, expression.name
        if variable.text in self._vertices and name.text != "id":
            message = f"vertex {show(variable.text)} has no attribute {show(name.text)}"
            hint = "a vertex has only `id`; attributes are of edges, and a label is stated in MATCH"
            raise InvalidPatternError(message, name.location, hint=hint)
        if variable.text not in self._vertices and variable.text not in self._edges:
            known = self._edges | self._vertices
            message = f"the pattern has no edge or vertex {show(variable.text)}"
            hint = did_you_mean(variable.text, sorted(known)) or f"it has {listed(known)}"
            raise InvalidPatternError(message, variable.location, hint=hint)
        if variable.text in self._edges and name.text == "op":
            message = "`op` cannot be read"
            hint = "matches have inserted edges alone: a deletion retracts those that have its edge"
            raise InvalidPatternError(message, name.location, hint=hint)
        return predicate.Attribute(variable.text, name.text, variable.location)

    def _bare(self, name: ast.Name) -> InvalidPatternError:
        spelled = brief(name.text)
        if name.text in self._vertices:
            return InvalidPatternError(f"{show(name.text)} is a vertex, not a value", name.location, hint=f"write {spelled}.id")
        if name.text in self._edges:
            message = f"{show(name.text)} is an edge, not a value"
            return InvalidPatternError(message, name.location, hint=f"write {spelled}.bytes, or another of its attributes")
        message = f"{show(name.text)} is not a value: an attribute is read from an edge or a vertex"
        hint = f"write {brief(min(self._edges))}.{spelled} for an attribute, or put quotes around a string"
        return InvalidPatternError(message, name.location, hint=hint)


def _refuse_depth(expression: ast.Expression) -> None:
    level: list[ast.Expression] = [expression]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.children(node)]
        if not level:
            return
    raise too_deep(_first_place(level))


def too_deep(location: Location) -> InvalidPatternError:
    """Word the error of nesting past `MAX_DEPTH`."""
    message = f"the expression is nested more than {MAX_DEPTH} levels deep"
    hint = "remove parentheses, NOTs and signs that change nothing; compute long sums before they reach the stream"
    return InvalidPatternError(message, location, hint=hint)


def _first_place(nodes: Sequence[ast.Expression]) -> Location:
    """Return the place of the first constant or name in the nodes."""
    node = nodes[0]
    while not isinstance(node, ast.Constant | ast.Attribute | ast.BareName):
        node = ast.children(node)[0]
    if isinstance(node, ast.Constant):
        return node.location
    return (node.variable if isinstance(node, ast.Attribute) else node.name).location
