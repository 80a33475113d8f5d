"""Patterns to text: the canonical form.

Parsing what is printed gives an equal pattern, for every pattern that parsing can give. Edges stand in their order, each as
a path of its own; a vertex's label and key stand at its first mention; ORDER states the transitive reduction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.pattern import Morphism, Report
from graphtide_core.predicate import (
    And,
    Arithmetic,
    Attribute,
    Compare,
    Compute,
    Expression,
    In,
    IsNull,
    Literal,
    Negate,
    Not,
    Or,
    StartsWith,
)

from graphtide_query.language.spelling import write_constant, write_name

if TYPE_CHECKING:
    from graphtide_core.pattern import QueryEdge, QueryVertex, SubgraphPattern

# How tightly an expression binds; an operand that binds less tightly than its place asks for is put in parentheses.
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGN, _PRIMARY = range(8)


def print_pattern(pattern: SubgraphPattern) -> str:
    """Return the text of a pattern, without its version, which the language does not state.

    Raises:
        InvalidPatternError: a predicate holds an infinity or NaN.
    Complexity: linear in vertices, edges and predicates; cubic in the edges that ORDER names.
    """
    lines = [f"PATTERN {write_name(pattern.name)}", f"MATCH {', '.join(_paths(pattern))}"]
    least = _NOT if len(pattern.predicates) > 1 else _OR
    if pattern.predicates:
        lines.append("WHERE " + " AND ".join(_expression(predicate, least) for predicate in pattern.predicates))
    if pattern.order.before:
        lines.append("ORDER " + ", ".join(" < ".join(map(write_name, chain)) for chain in pattern.order.chains()))
    if pattern.morphism is not Morphism.ISOMORPHISM:
        lines.append(f"UNDER {pattern.morphism.value.upper()}")
    if pattern.report not in (Report.ALL, Report.MAXIMAL):
        lines.append(f"REPORT {pattern.report.value.upper()}")
    lines.append(f"ON {write_name(pattern.stream)} WINDOW {pattern.window}")
    return "\n".join(lines) + "\n"


def _paths(pattern: SubgraphPattern) -> list[str]:
    """Return one path an edge, so that the vertices are first mentioned in their order.

    An edge is drawn backward, or a vertex mentioned alone, only where that order needs it.
    """
    unseen = list(pattern.vertices)
    paths: list[str] = []

    def mention(name: str) -> str:
        return _stated(unseen.pop(0)) if unseen and unseen[0].name == name else f"({write_name(name)})"

    for edge in pattern.edges:
        ends = (edge.source, edge.target)
        while (new := [vertex.name for vertex in unseen if vertex.name in ends]) and [
            v.name for v in unseen[: len(new)]
        ] != new:
            paths.append(_stated(unseen.pop(0)))
        if new == [edge.target, edge.source]:
            left, right = mention(edge.target), mention(edge.source)
            paths.append(f"{left}<-{_brackets(edge)}-{right}")
        else:
            left, right = mention(edge.source), mention(edge.target)
            paths.append(f"{left}-{_brackets(edge)}->{right}")
    return paths


def _stated(vertex: QueryVertex) -> str:
    label = "" if vertex.label is None else f":{write_name(vertex.label)}"
    key = "" if vertex.key is None else f" {{id: {write_constant(vertex.key)}}}"
    return f"({write_name(vertex.name)}{label}{key})"


def _brackets(edge: QueryEdge) -> str:
    label = "" if edge.label is None else f":{write_name(edge.label)}"
    return f"[{write_name(edge.name)}{label}]"


def _expression(expression: Expression, least: int) -> str:
    """Spell an expression for a place that takes whatever binds at least as tightly as `least`."""
    text, level = _spelled(expression)
    return text if level >= least else f"({text})"


def _spelled(expression: Expression) -> tuple[str, int]:
    """Spell an expression; return how tightly the text binds, too."""
    match expression:
        case Literal(value):
            return write_constant(value), _PRIMARY
        case Attribute(variable, name):
            return f"{write_name(variable)}.{write_name(name)}", _PRIMARY
        case Negate(Literal(value)):
            # A sign right before a number would become part of the number.
            return f"-({write_constant(value)})", _SIGN
        case Negate(operand):
            return f"-{_expression(operand, _SIGN)}", _SIGN
        case Compute(operator, left, right):
            level = _SUM if operator in (Arithmetic.ADD, Arithmetic.SUBTRACT) else _PRODUCT
            return f"{_expression(left, level)} {operator.value} {_expression(right, level + 1)}", level
        case Compare(comparison, left, right):
            return f"{_expression(left, _SUM)} {comparison.value} {_expression(right, _SUM)}", _COMPARISON
        case In() | StartsWith() | IsNull():
            return _tested(expression, ""), _COMPARISON
        case Not(In() | IsNull() as operand):
            return _tested(operand, "NOT "), _COMPARISON
        case Not(operand):
            return f"NOT {_expression(operand, _NOT)}", _NOT
        case And(operands):
            return _joined(operands, "AND", _AND)
        case Or(operands):  # pragma: no branch - mypy knows that no case is left
            return _joined(operands, "OR", _OR)


def _tested(test: In | StartsWith | IsNull, negation: str) -> str:
    operand = _expression(test.operand, _SUM)
    match test:
        case In(_, options):
            return f"{operand} {negation}IN [{', '.join(map(write_constant, options))}]"
        case StartsWith(_, prefix):
            return f"{operand} STARTS WITH {write_constant(prefix)}"
        case IsNull():  # pragma: no branch - mypy knows that no case is left
            return f"{operand} IS {negation}NULL"


def _joined(operands: tuple[Expression, ...], word: str, level: int) -> tuple[str, int]:
    """Join conditions; one alone is itself, none is the word's neutral element."""
    match operands:
        case ():
            return write_constant(word == "AND"), _PRIMARY
        case (only,):
            return _spelled(only)
        case _:
            return f" {word} ".join(_expression(operand, level + 1) for operand in operands), level
