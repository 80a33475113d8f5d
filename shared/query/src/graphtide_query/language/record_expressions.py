"""Bind expressions over a record: nodes to those of `graphtide_core.record_expression`, with every function checked.

Nesting is bounded before the recursion starts, so neither this nor a later walk over an expression overflows the stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core import predicate
from graphtide_core.record_expression import FieldPath

from graphtide_query.language import ast, stream_ast
from graphtide_query.language.calls import bind_call
from graphtide_query.language.clauses import place_errors
from graphtide_query.language.expressions import MAX_DEPTH, bind_constant, too_deep

if TYPE_CHECKING:
    from graphtide_core.errors import Location
    from graphtide_core.record_expression import RecordExpression

    from graphtide_query.language.stream_ast import RecordNode


def bind_record(expression: RecordNode) -> RecordExpression:
    """Return the expression.

    Raises:
        InvalidPatternError: an unknown function or arguments that it does not take, an integer beyond 64 bits, or nesting past
            `MAX_DEPTH`.
    Complexity: linear in the nodes.
    """
    level = [expression]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in stream_ast.children(node)]
        if not level:
            return _bind(expression)
    raise too_deep(place_of(level[0]))


def place_of(node: RecordNode) -> Location:
    """Return the place of the first constant, field or function in an expression."""
    while not isinstance(node, ast.Constant | stream_ast.FieldNode | ast.Call):
        node = stream_ast.children(node)[0]
    return node.function.location if isinstance(node, ast.Call) else node.location


def _bind(expression: RecordNode) -> RecordExpression:
    match expression:
        case ast.Constant():
            return predicate.Literal(bind_constant(expression))
        case stream_ast.FieldNode(steps, location, outer):
            with place_errors(location):
                return FieldPath(steps, outer)
        case ast.Call(function, arguments):
            return bind_call(function, tuple(map(_bind, arguments)))
        case ast.Parenthesized(operand):
            return _bind(operand)
        case predicate.In(operand, options):
            return predicate.In(_bind(operand), tuple(map(bind_constant, options)))
        case _:
            return predicate.map_operands(expression, _bind)
