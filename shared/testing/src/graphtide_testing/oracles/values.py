"""Comparison and arithmetic of values, the plain way: the docstring of `graphtide_core.predicate` word by word."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeGuard

from graphtide_core.predicate import Arithmetic, Comparison

if TYPE_CHECKING:
    from graphtide_core.edge import Value

_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**63 - 1


def compare(comparison: Comparison, left: Value, right: Value) -> bool | None:
    """Compare two values of one kind; None (unknown) where they are of different kinds, missing, or cannot be ordered."""
    if isinstance(left, bool) and isinstance(right, bool):
        if comparison is Comparison.EQUAL:
            return left is right
        return left is not right if comparison is Comparison.NOT_EQUAL else None
    if is_number(left) and is_number(right):
        return _holds_in_order(comparison, (left > right) - (left < right))
    if isinstance(left, str) and isinstance(right, str):
        return _holds_in_order(comparison, (left > right) - (left < right))
    return None


def compute(operator: Arithmetic, left: Value, right: Value) -> int | float | None:
    """Combine two numbers; None (unknown) where the result is not finite, leaves 64 bits or is a division by zero."""
    if not (is_number(left) and is_number(right)):
        return None
    if operator in (Arithmetic.DIVIDE, Arithmetic.REMAINDER) and right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int) and operator is not Arithmetic.DIVIDE:
        return in_64_bits(_integers(operator, left, right))
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


def negate(value: Value) -> int | float | None:
    """Return a number with the other sign; None (unknown) for what is no number, not finite, or leaves 64 bits."""
    if not is_number(value):
        return None
    if isinstance(value, int):
        return in_64_bits(-value)
    return -value if math.isfinite(value) else None


def in_64_bits(number: int) -> int | None:
    """Return an integer that fits into 64 bits; None (unknown) for another."""
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


def is_number(value: Value) -> TypeGuard[int | float]:
    """Return whether a value is a number; a truth value is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def drop_nan(value: Value) -> Value:
    """Return a value, or None for not-a-number, which is no value of the language and counts as missing."""
    return None if isinstance(value, float) and math.isnan(value) else value
