"""Print expressions as text, with parentheses only where they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

from graphtide_core.predicate import (
    Aggregate,
    Aggregation,
    Arithmetic,
    Attribute,
    Compare,
    Compute,
    Conjunction,
    Disjunction,
    FunctionCall,
    In,
    IsNull,
    Literal,
    Negate,
    Negation,
    StartsWith,
)

from graphtide_query.language.spelling import write_constant, write_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.edge import Value
    from graphtide_core.predicate import Expression, Operator


@dataclass(frozen=True, slots=True)
class SpelledLeaf:
    """What an expression of another kind reads, already spelled; it binds as tightly as a name."""

    text: str


SpelledExpression = Union[Literal, SpelledLeaf, "Operator[SpelledExpression, Value]"]
_Printed = Union[Literal, Attribute, Aggregate, SpelledLeaf, "Operator[_Printed, Value]"]

# How tightly an expression binds; an operand that binds less tightly than its place requires gets parentheses.
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGN, _PRIMARY = range(8)


def write_conditions(predicates: Sequence[Expression]) -> str:
    """Spell conditions that must all be true: at least one."""
    least = _NOT if len(predicates) > 1 else _OR
    return " AND ".join(_write_expression(predicate, least) for predicate in predicates)


def write_value(expression: Expression | SpelledExpression) -> str:
    """Spell an expression as a value: a comparison or a condition gets parentheses."""
    return _write_expression(expression, _SUM)


def write_condition(expression: SpelledExpression) -> str:
    """Spell an expression for a place that takes any."""
    return _write_expression(expression, _OR)


def write_aggregate(aggregate: Aggregate) -> str:
    """Spell an aggregate; `count` of `ts`, which counts all events, is spelled without the attribute."""
    variable, name = aggregate.operand.variable, aggregate.operand.name
    counts = aggregate.function is Aggregation.COUNT and name == "ts"
    operand = write_name(variable) if counts else f"{write_name(variable)}.{write_name(name)}"
    return f"{aggregate.function.value}({operand})"


def _write_expression(expression: _Printed, least: int) -> str:
    """Spell an expression for a place that takes expressions that bind at least as tightly as `least`."""
    text, level = _spell(expression)
    return text if level >= least else f"({text})"


def _spell(expression: _Printed) -> tuple[str, int]:
    """Spell an expression; also return how tightly the text binds."""
    match expression:
        case Literal() | Attribute() | Aggregate() | SpelledLeaf():
            return _write_leaf(expression), _PRIMARY
        case FunctionCall(function, arguments):
            return f"{function}({', '.join(_write_expression(each, _OR) for each in arguments)})", _PRIMARY
        case Negate(Literal(value)):
            # A sign right before a number would become part of the number.
            return f"-({write_constant(value)})", _SIGN
        case Negate(operand):
            return f"-{_write_expression(operand, _SIGN)}", _SIGN
        case Compute(operator, left, right):
            level = _SUM if operator in (Arithmetic.ADD, Arithmetic.SUBTRACT) else _PRODUCT
            return f"{_write_expression(left, level)} {operator.value} {_write_expression(right, level + 1)}", level
        case Compare(comparison, left, right):
            return f"{_write_expression(left, _SUM)} {comparison.value} {_write_expression(right, _SUM)}", _COMPARISON
        case In() | StartsWith() | IsNull():
            return _write_test(expression, ""), _COMPARISON
        case Negation(In() | IsNull() as operand):
            return _write_test(operand, "NOT "), _COMPARISON
        case Negation(operand):
            return f"NOT {_write_expression(operand, _NOT)}", _NOT
        case Conjunction(operands):
            return _join(operands, "AND", _AND)
        case Disjunction(operands):  # pragma: no branch - mypy knows that no case is left
            return _join(operands, "OR", _OR)


def _write_leaf(leaf: Literal | Attribute | Aggregate | SpelledLeaf) -> str:
    match leaf:
        case Literal(value):
            return write_constant(value)
        case Attribute(variable, name):
            return f"{write_name(variable)}.{write_name(name)}"
        case Aggregate():
            return write_aggregate(leaf)
        case SpelledLeaf(text):  # pragma: no branch - mypy knows that no case is left
            return text


def _write_test(test: In[_Printed, Value] | StartsWith[_Printed] | IsNull[_Printed], negation: str) -> str:
    operand = _write_expression(test.operand, _SUM)
    match test:
        case In(_, options):
            return f"{operand} {negation}IN [{', '.join(map(write_constant, options))}]"
        case StartsWith(_, prefix):
            return f"{operand} STARTS WITH {write_constant(prefix)}"
        case IsNull():  # pragma: no branch - mypy knows that no case is left
            return f"{operand} IS {negation}NULL"


def _join(operands: tuple[_Printed, ...], word: str, level: int) -> tuple[str, int]:
    """Join conditions; a single condition stays as it is, and none is the word's neutral element."""
    match operands:
        case ():
            return write_constant(word == "AND"), _PRIMARY
        case (only,):
            return _spell(only)
        case _:
            return f" {word} ".join(_write_expression(operand, level + 1) for operand in operands), level
