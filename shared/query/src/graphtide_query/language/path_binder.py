"""Bind regular path expressions: nodes to the expressions of `graphtide_core`.

Cost: linear in the nodes. Nesting is bounded before the recursion starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.graph_query_rules import MAX_SYMBOLS
from graphtide_core.path_expression import (
    MAX_NESTING,
    Maybe,
    Plus,
    Star,
    Symbol,
    make_alternation,
    make_concatenation,
    reversed_expression,
    without_empty,
)

from graphtide_query.language import graph_ast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from graphtide_core.errors import Location
    from graphtide_core.path_expression import PathExpression


def bind_path(node: graph_ast.PathNode, predicate: Callable[[graph_ast.Step], str]) -> PathExpression:
    """Return the expression of a whole path, which is not empty: `a*` is `a+`.

    Args:
        node: of the text.
        predicate: returns the predicate that a step reads.

    Raises:
        InvalidPatternError: more than `MAX_NESTING` levels or `MAX_SYMBOLS` labels, or as `predicate`.
    """
    _refuse_large(node)
    return without_empty(_bind(node, predicate))


def steps(node: graph_ast.PathNode) -> Iterator[graph_ast.Step]:
    """Yield the steps of an expression, at any depth, from left to right."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, graph_ast.Step):
            yield each
        waiting += reversed(graph_ast.children(each))


def first_place(node: graph_ast.PathNode) -> Location:
    """Return the place of the first step, at any depth."""
    while not isinstance(node, graph_ast.Step):
        node = graph_ast.children(node)[0]
    return node.location


def _bind(node: graph_ast.PathNode, predicate: Callable[[graph_ast.Step], str]) -> PathExpression:
    match node:
        case graph_ast.Step():
            return Symbol(predicate(node), node.is_inverse)
        case graph_ast.Inverse(operand):
            return reversed_expression(_bind(operand, predicate))
        case graph_ast.Sequence(parts):
            return make_concatenation(_bind(part, predicate) for part in parts)
        case graph_ast.Choice(options):
            return make_alternation(_bind(option, predicate) for option in options)
        case graph_ast.Repeated(operand, times):  # pragma: no branch - mypy knows that no case is left
            return _bind_repetition(_bind(operand, predicate), times)


def _bind_repetition(operand: PathExpression, times: str) -> PathExpression:
    match times:
        case "*":
            return Star(operand)
        case "+":
            return Plus(operand)
        case _:
            return Maybe(operand)


def _refuse_large(node: graph_ast.PathNode) -> None:
    level: list[graph_ast.PathNode] = [node]
    found = 0
    for _ in range(MAX_NESTING):
        found += sum(isinstance(each, graph_ast.Step) for each in level)
        level = [child for each in level for child in graph_ast.children(each)]
        if not level:
            break
    else:
        message = f"the path expression is nested more than {MAX_NESTING} levels deep"
        hint = "remove parentheses and repetitions that change nothing"
        raise InvalidPatternError(message, first_place(level[0]), hint=hint)
    if found > MAX_SYMBOLS:
        message = f"a path expression may have at most {MAX_SYMBOLS} labels; this one has {found:,}"
        raise InvalidPatternError(message, first_place(node), hint="PATH name = … gives a part of it a name of its own")
