"""Bind expressions: nodes to the predicates of `graphtide_core`, with every name resolved.

Nesting is bounded before the recursion starts, so neither this nor a later walk over a predicate overflows the stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from graphtide_core import predicate
from graphtide_core.errors import InvalidPatternError

from graphtide_query.language import ast
from graphtide_query.language.functions import function_of_lists
from graphtide_query.language.spelling import MAX_INTEGER, MIN_INTEGER, beyond_64_bits

if TYPE_CHECKING:
    from graphtide_core.edge import Value
    from graphtide_core.errors import Location

MAX_DEPTH = 200
"""Levels of an expression; parentheses and each sign of a sum or product count."""


class Names(Protocol):
    """The names that an expression may use."""

    def read(self, attribute: ast.Attribute) -> predicate.Attribute:
        """Return the attribute that `variable.name` reads.

        Raises:
            InvalidPatternError: nothing has that name, or it has no such attribute.
        """
        ...

    def compute(self, aggregate: ast.Aggregate) -> predicate.Aggregate:
        """Return what a function computes.

        Raises:
            InvalidPatternError: there is no such function, or nothing that it could read.
        """
        ...

    def not_a_value(self, name: ast.Name) -> InvalidPatternError:
        """Word the error of a name where a value is needed."""
        ...


def bind_expression(expression: ast.Expression, names: Names) -> predicate.Expression:
    """Return the predicate.

    Raises:
        InvalidPatternError: an unknown name, attribute or function, an integer beyond 64 bits, or nesting past `MAX_DEPTH`.
    Complexity: linear in the nodes.
    """
    _refuse_depth(expression)
    return _bind(expression, names)


def bind_constant(constant: ast.Constant) -> Value:
    """Return the value.

    Raises:
        InvalidPatternError: an integer beyond 64 bits.
    """
    value = constant.value
    if isinstance(value, int) and not MIN_INTEGER <= value <= MAX_INTEGER:
        raise beyond_64_bits(constant.location)
    return value


def _bind(expression: ast.Expression, names: Names) -> predicate.Expression:
    def bind(operand: ast.Expression) -> predicate.Expression:
        return _bind(operand, names)

    match expression:
        case ast.Constant() | ast.Attribute() | ast.Aggregate() | ast.BareName():
            return _bind_leaf(expression, names)
        case ast.Parenthesized(operand):
            return bind(operand)
        case ast.Call(function, arguments):
            return _bind_call(function, tuple(map(bind, arguments)))
        case predicate.In(operand, options):
            return predicate.In(bind(operand), tuple(map(bind_constant, options)))
        case _:
            return predicate.map_operands(expression, bind)


def _bind_leaf(expression: ast.Constant | ast.Attribute | ast.Aggregate | ast.BareName, names: Names) -> predicate.Expression:
    match expression:
        case ast.Constant():
            return predicate.Literal(bind_constant(expression))
        case ast.Attribute():
            return names.read(expression)
        case ast.Aggregate(function, variable, attribute):
            if function_of_lists(function) is not None or not _is_of_values(function):
                return names.compute(expression)
            if attribute is None or expression.takes_one:
                raise names.not_a_value(variable)
            return _bind_call(function, (names.read(ast.Attribute(variable, attribute)),))
        case ast.BareName(name):
            raise names.not_a_value(name)


def _is_of_values(function: ast.Name) -> bool:
    from graphtide_query.language.calls import is_function  # noqa: PLC0415 - most patterns call no function

    return is_function(function)


def _bind_call(function: ast.Name, arguments: tuple[predicate.Expression, ...]) -> predicate.Expression:
    from graphtide_query.language.calls import bind_call  # noqa: PLC0415 - as above

    if (of_lists := function_of_lists(function)) is not None:
        message = f"{of_lists.value} takes one attribute"
        hint = f"write {of_lists.value}(a.x), and compute with what it returns"
        raise InvalidPatternError(message, function.location, hint=hint)
    return bind_call(function, arguments)


def _refuse_depth(expression: ast.Expression) -> None:
    level: list[ast.Expression] = [expression]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.children(node)]
        if not level:
            return
    raise too_deep(first_place(level[0]))


def too_deep(location: Location) -> InvalidPatternError:
    """Word the error of nesting past `MAX_DEPTH`."""
    message = f"the expression is nested more than {MAX_DEPTH} levels deep"
    hint = "remove parentheses, NOTs and signs that change nothing; compute long sums before they reach the stream"
    return InvalidPatternError(message, location, hint=hint)


def first_place(node: ast.Expression) -> Location:
    """Return the place of the first constant or name in an expression."""
    while not isinstance(node, ast.Constant | ast.Attribute | ast.Aggregate | ast.BareName | ast.Call):
        node = ast.children(node)[0]
    match node:
        case ast.Constant():
            return node.location
        case ast.Attribute(variable):
            return variable.location
        case ast.Aggregate(function) | ast.Call(function):
            return function.location
        case ast.BareName(name):
            return name.location
