"""How operators are spelled in forms of expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar

from graphtide_core import predicate

if TYPE_CHECKING:
    from graphtide_core.predicate import Operator

_X = TypeVar("_X")
_V = TypeVar("_V")

OperatorSign = Literal["=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "AND", "OR", "NOT", "IS NULL"]


def sign_of(operator: Operator[_X, _V]) -> OperatorSign:
    """Return the sign or word of an operator that has nothing but operands; `-` is also that of one operand."""
    match operator:
        case predicate.Compare(comparison):
            return comparison.value
        case predicate.Compute(arithmetic):
            return arithmetic.value
        case predicate.Negate():
            return "-"
        case predicate.Negation():
            return "NOT"
        case predicate.IsNull():
            return "IS NULL"
        case predicate.Conjunction():
            return "AND"
        case _:
            return "OR"
