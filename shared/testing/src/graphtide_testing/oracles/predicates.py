"""Predicates in three-valued logic, evaluated the plain way.

Follows the docstring of `graphtide_core.predicate` word by word; None is both a missing value and *unknown*. Python compares
integers with floating-point numbers by their exact values, which is what the language asks for.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

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
    FunctionCall,
    In,
    IsNull,
    Literal,
    Negate,
    Negation,
    StartsWith,
)
from graphtide_core.time import TimeUnit

from graphtide_testing.oracles.functions import call
from graphtide_testing.oracles.values import compare, compute, drop_nan, in_64_bits, is_number, negate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from graphtide_core.edge import Edge, Value
    from graphtide_core.predicate import Expression

    Lookup = Callable[[Attribute], Value]
    Computed = Callable[[Aggregate], Value]


def evaluate(  # noqa: PLR0912 - a case for each class of expressions
    expression: Expression, lookup: Lookup, computed: Computed | None = None, unit: TimeUnit = TimeUnit.MILLISECOND
) -> Value:
    """Return the value of `expression`; `lookup` gives the value of an attribute, `computed` that of an aggregate.

    None stands for what is missing; where nothing is repeated, there is nothing to compute over. `unit` is that of the stream's
    ticks.
    """

    def value_of(operand: Expression) -> Value:
        return evaluate(operand, lookup, computed, unit)

    match expression:
        case Literal(value):
            return drop_nan(value)
        case Attribute():
            return drop_nan(lookup(expression))
        case Aggregate():
            return None if computed is None else computed(expression)
        case Compare(comparison, left, right):
            return compare(comparison, value_of(left), value_of(right))
        case Compute(operator, left, right):
            return compute(operator, value_of(left), value_of(right))
        case Negate(operand):
            return negate(value_of(operand))
        case Conjunction(operands):
            return _all([_truth(value_of(operand)) for operand in operands])
        case Disjunction(operands):
            return _any([_truth(value_of(operand)) for operand in operands])
        case Negation(operand):
            truth = _truth(value_of(operand))
            return None if truth is None else not truth
        case In(operand, options):
            value = value_of(operand)
            return _any([compare(Comparison.EQUAL, value, drop_nan(option)) for option in options])
        case StartsWith(operand, prefix):
            value = value_of(operand)
            return value.startswith(prefix) if isinstance(value, str) else None
        case IsNull(operand):
            return value_of(operand) is None
        case FunctionCall(function, arguments):
            return call(function, [value_of(argument) for argument in arguments], unit)


def aggregate(function: Aggregation, values: Sequence[Value]) -> Value:
    """Return what `function` computes from the values of an attribute, in the order of (ts, arrival)."""
    given = [drop_nan(value) for value in values]
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
    if not values or not all(is_number(value) for value in values):
        return None
    if all(isinstance(value, int) for value in values):
        return in_64_bits(sum(value for value in values if isinstance(value, int)))
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
