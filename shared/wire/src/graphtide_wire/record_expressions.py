"""Expressions over a record as JSON: an object for each constant, path, function and operator, tagged by what it `is`.

Reading undoes writing. JSON has no infinity and no NaN, and the language has no constant of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from graphtide_core import predicate
from graphtide_core.operator_signs import OperatorSign, sign_of
from graphtide_core.predicate import Arithmetic, Comparison, FunctionCall
from graphtide_core.record_expression import FieldPath, ItemWhere, check_levels
from msgspec import Meta

from graphtide_wire.json_form import Int64

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.record_expression import RecordExpression

ConstantValue = bool | Int64 | float | str | None


class ItemForm(msgspec.Struct, frozen=True):
    """The first item of a list that is an object whose field is a text."""

    field: str
    text: str


Step = str | Annotated[int, Meta(ge=0)] | ItemForm


class ConstantForm(msgspec.Struct, frozen=True, tag_field="is", tag="constant"):
    """A constant."""

    value: ConstantValue


class PathForm(msgspec.Struct, frozen=True, tag_field="is", tag="path", omit_defaults=True):
    """Names of fields, positions in lists and conditions on items; from the record, or so many objects further out."""

    steps: tuple[Step, ...]
    outer: Annotated[int, Meta(ge=0)] = 0


class CallForm(msgspec.Struct, frozen=True, tag_field="is", tag="call"):
    """A function of the language, and its arguments."""

    function: str
    arguments: tuple[ExpressionForm, ...]


class OperatorForm(msgspec.Struct, frozen=True, tag_field="is", tag="operator"):
    """An operator, as the language spells it, and its operands; `-` of one operand negates it."""

    operator: OperatorSign
    operands: tuple[ExpressionForm, ...]


class AmongForm(msgspec.Struct, frozen=True, tag_field="is", tag="in"):
    """`operand IN options`."""

    operand: ExpressionForm
    options: tuple[ConstantValue, ...]


class PrefixForm(msgspec.Struct, frozen=True, tag_field="is", tag="starts-with"):
    """`operand STARTS WITH prefix`."""

    operand: ExpressionForm
    prefix: str


ExpressionForm = ConstantForm | PathForm | CallForm | OperatorForm | AmongForm | PrefixForm

_COMPARISONS: Final = {each.value: each for each in Comparison}
_ARITHMETIC: Final = {each.value: each for each in Arithmetic}
_OF_ONE: Final[dict[str, Callable[[RecordExpression], RecordExpression]]] = {
    "-": predicate.Negate,
    "NOT": predicate.Negation,
    "IS NULL": predicate.IsNull,
}
_OF_SEVERAL: Final[dict[str, Callable[[tuple[RecordExpression, ...]], RecordExpression]]] = {
    "AND": predicate.Conjunction,
    "OR": predicate.Disjunction,
}


def expression_form(expression: RecordExpression) -> ExpressionForm:
    """Return the form of an expression."""
    match expression:
        case predicate.Literal(value):
            return ConstantForm(value)
        case FieldPath(steps, outer):
            return PathForm(tuple(ItemForm(s.field, s.text) if isinstance(s, ItemWhere) else s for s in steps), outer)
        case FunctionCall(function, arguments):
            return CallForm(function, tuple(map(expression_form, arguments)))
        case predicate.In(operand, options):
            return AmongForm(expression_form(operand), options)
        case predicate.StartsWith(operand, prefix):
            return PrefixForm(expression_form(operand), prefix)
        case _:
            return OperatorForm(sign_of(expression), tuple(map(expression_form, predicate.operands(expression))))


def expression_of(form: ExpressionForm) -> RecordExpression:
    """Return the expression of a form.

    Raises:
        InvalidPatternError: a function does not exist or does not take its arguments, a path is none, or nesting is too deep.
        ValueError: an operator does not take so many operands.
    """
    found = _read(form)
    check_levels(found)
    return found


def _read(form: ExpressionForm) -> RecordExpression:
    match form:
        case ConstantForm(value):
            return predicate.Literal(value)
        case PathForm(steps, outer):
            return FieldPath(tuple(ItemWhere(s.field, s.text) if isinstance(s, ItemForm) else s for s in steps), outer)
        case CallForm(function, arguments):
            return FunctionCall(function, tuple(map(_read, arguments)))
        case AmongForm(operand, options):
            return predicate.In(_read(operand), options)
        case PrefixForm(operand, prefix):
            return predicate.StartsWith(_read(operand), prefix)
        case OperatorForm(operator, operands):  # pragma: no branch - mypy knows that no case is left
            return _operate(operator, tuple(map(_read, operands)))


def _operate(operator: str, operands: tuple[RecordExpression, ...]) -> RecordExpression:
    match operands:
        case _ if operator in _OF_SEVERAL:
            return _OF_SEVERAL[operator](operands)
        case (only,) if operator in _OF_ONE:
            return _OF_ONE[operator](only)
        case (left, right) if operator in _COMPARISONS:
            return predicate.Compare(_COMPARISONS[operator], left, right)
        case (left, right) if operator in _ARITHMETIC:
            return predicate.Compute(_ARITHMETIC[operator], left, right)
    message = f"{operator} does not take {len(operands)} operands"
    raise ValueError(message)
