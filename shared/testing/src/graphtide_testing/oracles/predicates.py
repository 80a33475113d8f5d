"""Predicates in three-valued logic, evaluated the plain way.

Follows the docstring of `graphtide_core.predicate` word by word; None is both a missing value and *unknown*. Python compares
integers with floating-point numbers by their exact values, which is what the language asks for.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeGuard

from graphtide_core.predicate import (
    Aggregate,
    Aggregation,
    Arithmetic,
    Attribute,
    Compare,
    Comparison,
    Compute,
    Conjunction,
    Disjunction,
    In,
    IsNull,
    Literal,
    Negate,
    Negation,
    StartsWith,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from graphtide_core.edge import Edge, Value
    from graphtide_core.predicate import Expression

    Lookup = Callable[[Attribute], Value]
    Computed = Callable[[Aggregate], Value]

_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**63 - 1


def evaluate(expression: Expression, lookup: Lookup, computed: Computed | None = None) -> Value:
    """Return the value of `expression`; `lookup` gives the value of an attribute, `computed` that of an aggregate.

    None stands for what is missing; where nothing is repeated, there is nothing to compute over.
    """
    match expression:
        case Literal(value):
            return _drop_nan(value)
        case Attribute():
            return _drop_nan(lookup(expression))
        case Aggregate():
            return None if computed is None else computed(expression)
        case Compare(comparison, left, right):
            return compare(comparison, evaluate(left, lookup, computed), evaluate(right, lookup, computed))
        case Compute(operator, left, right):
            return compute(operator, evaluate(left, lookup, computed), evaluate(right, lookup, computed))
        case Negate(operand):
            return _negate(evaluate(operand, lookup, computed))
        case Conjunction(operands):
            return _all([_truth(evaluate(operand, lookup, computed)) for operand in operands])
        case Disjunction(operands):
            return _any([_truth(evaluate(operand, lookup, computed)) for operand in operands])
        case Negation(operand):
            truth = _truth(evaluate(operand, lookup, computed))
            return None if truth is None else not truth
        case In(operand, options):
            value = evaluate(operand, lookup, computed)
            return _any([compare(Comparison.EQUAL, value, _drop_nan(option)) for option in options])
        case StartsWith(operand, prefix):
            value = evaluate(operand, lookup, computed)
            return value.startswith(prefix) if isinstance(value, str) else None
        case IsNull(operand):
            return evaluate(operand, lookup, computed) is None


def aggregate(function: Aggregation, values: Sequence[Value]) -> Value:
    """Return what `function` computes from the values of an attribute, in the order of (ts, arrival)."""
    given = [_drop_nan(value) for value in values]
    known = [value for value in given if value is not None]
    match function:
        case Aggregation.COUNT:
            return len(known)
        case Aggregation.SUM:
            return _sum(known)
        case Aggregation.AVERAGE:
            return compute(Arithmetic.DIVIDE, _sum(known), len(known))
        case Aggregation.LEAST:
            return _extreme(Comparison.LESS, known)
        case Aggregation.GREATEST:
            return _extreme(Comparison.GREATER, known)
        case Aggregation.FIRST:
            return given[0]
        case Aggregation.LAST:
            return given[-1]


def _sum(values: Sequence[Value]) -> int | float | None:
    """Return the exact sum of integers, if it fits into 64 bits; with others among them, their sum in floating point."""
    if not values or not all(_is_number(value) for value in values):
        return None
    if all(isinstance(value, int) for value in values):
        return _in_64_bits(sum(value for value in values if isinstance(value, int)))
    total = 0.0
    for value in values:
        total += value if isinstance(value, int | float) else 0.0
    return total if math.isfinite(total) else None


def _extreme(comparison: Comparison, values: Sequence[Value]) -> Value:
    """Return the first value that no other beats; None where some cannot be compared."""
    if not values or any(compare(comparison, one, other) is None for one in values for other in values):
        return None
    return next(one for one in values if not any(compare(comparison, other, one) for other in values))


def edge_attribute(edge: Edge, name: str) -> Value:
    """Return what `edge.name` reads: a field of the record, but for its operation; every other name is an attribute or None."""
    fields: dict[str, Value] = {
        "ts": edge.ts,
        "id": edge.id,
        "src": edge.source,
        "dst": edge.target,
        "label": edge.label,
        "src_label": edge.source_label,
        "dst_label": edge.target_label,
    }
    return fields[name] if name in fields else edge.attributes.get(name)


def compare(comparison: Comparison, left: Value, right: Value) -> bool | None:
    """Compare two values of one kind; None (unknown) where they are of different kinds, missing, or cannot be ordered."""
    if isinstance(left, bool) and isinstance(right, bool):
        if comparison is Comparison.EQUAL:
            return left is right
        return left is not right if comparison is Comparison.NOT_EQUAL else None
    if _is_number(left) and _is_number(right):
        return _holds_in_order(comparison, (left > right) - (left < right))
    if isinstance(left, str) and isinstance(right, str):
        return _holds_in_order(comparison, (left > right) - (left < right))
    return None


def compute(operator: Arithmetic, left: Value, right: Value) -> int | float | None:
    """Combine two numbers; None (unknown) where the result is not finite, leaves 64 bits or is a division by zero."""
    if not (_is_number(left) and _is_number(right)):
        return None
    if operator in (Arithmetic.DIVIDE, Arithmetic.REMAINDER) and right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int) and operator is not Arithmetic.DIVIDE:
        return _in_64_bits(_integers(operator, left, right))
    return _finite(operator, float(left), float(right))


def _integers(operator: Arithmetic, left: int, right: int) -> int:
    match operator:
        case Arithmetic.ADD:
            return left + right
        case Arithmetic.SUBTRACT:
            return left - right
        case Arithmetic.MULTIPLY:
            return left * right
        case _:
            remainder = abs(left) % abs(right)
            return -remainder if left < 0 else remainder


def _finite(operator: Arithmetic, left: float, right: float) -> float | None:
    match operator:
        case Arithmetic.ADD:
            result = left + right
        case Arithmetic.SUBTRACT:
            result = left - right
        case Arithmetic.MULTIPLY:
            result = left * right
        case Arithmetic.DIVIDE:
            result = left / right
        case Arithmetic.REMAINDER:
            result = math.fmod(left, right) if math.isfinite(left) else math.nan
    return result if math.isfinite(result) else None


def _negate(value: Value) -> int | float | None:
    if not _is_number(value):
        return None
    if isinstance(value, int):
        return _in_64_bits(-value)
    return -value if math.isfinite(value) else None


def _in_64_bits(number: int) -> int | None:
    return number if _MIN_INTEGER <= number <= _MAX_INTEGER else None


def _holds_in_order(comparison: Comparison, sign: int) -> bool:
    match comparison:
        case Comparison.EQUAL:
            return sign == 0
        case Comparison.NOT_EQUAL:
            return sign != 0
        case Comparison.LESS:
            return sign < 0
        case Comparison.LESS_OR_EQUAL:
            return sign <= 0
        case Comparison.GREATER:
            return sign > 0
        case Comparison.GREATER_OR_EQUAL:
            return sign >= 0


def _is_number(value: Value) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _drop_nan(value: Value) -> Value:
    """Not-a-number is not a value of the language: it counts as missing."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _truth(value: Value) -> bool | None:
    return value if isinstance(value, bool) else None


def _all(truths: Iterable[bool | None]) -> bool | None:
    known = set(truths)
    if False in known:
        return False
    return None if None in known else True


def _any(truths: Iterable[bool | None]) -> bool | None:
    known = set(truths)
    if True in known:
        return True
    return None if None in known else False
