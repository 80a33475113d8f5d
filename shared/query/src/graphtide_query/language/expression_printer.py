"""Expressions to text: parentheses stand only where they must."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.predicate import (
    Aggregate,
    Aggregation,
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
    from collections.abc import Sequence

    from graphtide_core.edge import Value

# How tightly an expression binds; an operand that binds less tightly than its place asks for is put in parentheses.
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGN, _PRIMARY = range(8)


def write_conditions(predicates: Sequence[Expression]) -> str:
    """Spell conditions that must all be true, of which there is one at least."""
    least = _NOT if len(predicates) > 1 else _OR
    return " AND ".join(_expression(predicate, least) for predicate in predicates)


def write_value(expression: Expression) -> str:
    """Spell an expression where a value stands: a comparison or a condition is in parentheses."""
    return _expression(expression, _SUM)


def write_aggregate(aggregate: Aggregate) -> str:
    """Spell an aggregate; that of times, which counts all events, without the attribute."""
    variable, name = aggregate.operand.variable, aggregate.operand.name
    counts = aggregate.function is Aggregation.COUNT and name == "ts"
    operand = write_name(variable) if counts else f"{write_name(variable)}.{write_name(name)}"
    return f"{aggregate.function.value}({operand})"


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
        case Aggregate():
            return write_aggregate(expression), _PRIMARY
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


def _tested(test: In[Expression, Value] | StartsWith[Expression] | IsNull[Expression], negation: str) -> str:
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
