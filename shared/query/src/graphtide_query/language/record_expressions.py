"""Bind expressions over a record: nodes to those of `graphtide_core.record_expression`, with every function checked.

Nesting is bounded before the recursion starts, so neither this nor a later walk over an expression overflows the stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core import predicate
from graphtide_core.record_expression import FieldPath, FunctionCall

from graphtide_query.language import ast, stream_ast
from graphtide_query.language.clauses import place_errors
from graphtide_query.language.expressions import MAX_DEPTH, bind_constant, too_deep
from graphtide_query.language.known_zones import refuse_unknown_zone

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
    while not isinstance(node, ast.Constant | stream_ast.FieldNode | stream_ast.CallNode):
        node = stream_ast.children(node)[0]
    return node.function.location if isinstance(node, stream_ast.CallNode) else node.location


def _bind(expression: RecordNode) -> RecordExpression:
    match expression:
        case ast.Constant():
            return predicate.Literal(bind_constant(expression))
        case stream_ast.FieldNode(steps, location):
            with place_errors(location):
                return FieldPath(steps)
        case stream_ast.CallNode():
            return _bind_call(expression)
        case ast.Parenthesized(operand):
            return _bind(operand)
        case predicate.In(operand, options):
            return predicate.In(_bind(operand), tuple(map(bind_constant, options)))
        case _:
            return predicate.map_operands(expression, _bind)


def _bind_call(call: stream_ast.CallNode) -> FunctionCall:
    arguments = tuple(map(_bind, call.arguments))
    with place_errors(call.function.location):
        bound = FunctionCall(call.function.text.lower(), arguments)
        if bound.function == "date_part" and len(arguments) > 2:
            zone = arguments[2]
            refuse_unknown_zone(str(zone.value) if isinstance(zone, predicate.Literal) else "")
    return bound
