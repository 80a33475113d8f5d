"""Check patterns against the attributes of a stream: reject conditions that cannot be true and fields that cannot have a value.

A missing attribute makes results unknown (`graphtide_core.predicate`), and unknown is not true. So each
condition is evaluated over sets of outcomes: an attribute that no record has is missing, any other may be anything. A condition
that can still be true, such as `x.state IS NULL`, is not an error, nor is a field that can have a value. Cost: O(size of both).
"""

from __future__ import annotations

import difflib
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, Final

from graphtide_core import predicate as p
from graphtide_core.errors import InvalidPatternError

from graphtide_query.families import family_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from graphtide_core.any_pattern import AnyPattern

    Outcomes = frozenset[bool | None]
    """The possible values of an expression; None is unknown, or missing."""

_ANY: Final[Outcomes] = frozenset({True, False, None})
_MISSING: Final[Outcomes] = frozenset({None})


def refuse_unknown_attributes(patterns: Iterable[AnyPattern], known: Sequence[str], *, stream: str | None = None) -> None:
    """Reject patterns with a condition that cannot be true, or a field that is always missing, for these attributes.

    Args:
        patterns: to be matched.
        known: the attributes of records.
        stream: their stream, if patterns are graph queries over several; None for a single stream.

    Raises:
        InvalidPatternError: the first missing attribute of such a condition or field, with its place in the text.
    """
    for pattern in patterns:
        family = family_of(pattern)
        columns = {*known, *family.record_fields}
        for condition in (part for predicate in family.conditions(pattern, stream) for part in p.conjuncts(predicate)):
            missing = _missing(pattern, condition, columns)
            if missing and True not in _outcomes(condition, frozenset(missing)):
                raise _unknown(pattern, missing[0], known, stream)
        for field in family.fields(pattern):
            missing = _missing(pattern, field.value, columns)
            if missing and _outcomes(field.value, frozenset(missing)) == _MISSING:
                raise _unknown(pattern, missing[0], known)


def _missing(pattern: AnyPattern, expression: p.Expression, columns: Container[str]) -> list[p.Attribute]:
    parts = family_of(pattern).readable(pattern)
    return [each for each in p.attributes(expression) if each.variable in parts and each.name not in columns]


def _unknown(
    pattern: AnyPattern, attribute: p.Attribute, known: Sequence[str], stream: str | None = None
) -> InvalidPatternError:
    close = difflib.get_close_matches(attribute.name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"the stream's columns are {', '.join(known)}"
    which = "the stream" if stream is None else f"stream {stream!r}"
    message = f"pattern {pattern.name!r}: {which} has no attribute {attribute.name!r}"
    return InvalidPatternError(message, attribute.location, hint=hint)


def attributes_but_texts(patterns: Iterable[AnyPattern]) -> frozenset[str]:
    """Return the attributes of edges and events that are used as numbers or Booleans, which a text never is."""
    return frozenset(
        attribute.name
        for pattern in patterns
        for predicate in family_of(pattern).conditions(pattern, None)
        for attribute in _taken_for_others(predicate)
        if attribute.name not in p.RECORD_FIELDS and attribute.variable in family_of(pattern).readable(pattern)
    )


def attributes_as_texts(pattern: AnyPattern) -> frozenset[str]:
    """Return the attributes of edges and events that are compared only with texts, which a number never equals."""
    return frozenset(
        attribute.name
        for predicate in family_of(pattern).conditions(pattern, None)
        for attribute in _taken_for_texts(predicate)
        if attribute.name not in p.RECORD_FIELDS and attribute.variable in family_of(pattern).readable(pattern)
    )


def _taken_for_others(expression: p.Expression) -> Iterator[p.Attribute]:
    operands: tuple[p.Expression, ...]
    match expression:
        case p.Compare(_, left, right):
            operands = tuple(one for one, other in ((left, right), (right, left)) if _is_no_text(other))
        case (
            p.Compute() | p.Negate() | p.Aggregate(p.Aggregation.SUM | p.Aggregation.AVERAGE) | p.FunctionCall("abs" | "round")
        ):
            operands = p.children(expression)
        case p.In(operand, options) if not any(isinstance(option, str) for option in options):
            operands = (operand,)
        case _:
            operands = ()
    yield from (operand for operand in operands if isinstance(operand, p.Attribute))
    for child in p.children(expression):
        yield from _taken_for_others(child)


def _taken_for_texts(expression: p.Expression) -> Iterator[p.Attribute]:
    operands: tuple[p.Expression, ...]
    match expression:
        case p.Compare(comparison, left, right) if comparison is not p.Comparison.NOT_EQUAL:
            operands = tuple(one for one, other in ((left, right), (right, left)) if _is_text(other))
        case p.StartsWith(operand) | p.FunctionCall(
            "lower" | "upper" | "trim" | "length" | "substring" | "split" | "replace" | "regexp_extract", (operand, *_)
        ):
            operands = (operand,)
        case p.In(operand, options) if options and all(isinstance(option, str) for option in options):
            operands = (operand,)
        case p.Negation():
            # A condition that is not true of a number may still be true.
            return
        case _:
            operands = ()
    yield from (operand for operand in operands if isinstance(operand, p.Attribute))
    for child in p.children(expression):
        yield from _taken_for_texts(child)


def _is_text(expression: p.Expression) -> bool:
    return isinstance(expression, p.Literal) and isinstance(expression.value, str)


def _is_no_text(expression: p.Expression) -> bool:
    match expression:
        case p.Literal(value):
            return value is not None and not isinstance(value, str)
        case _:
            return isinstance(expression, p.Compute | p.Negate)


def _outcomes(expression: p.Expression, missing: frozenset[p.Attribute]) -> Outcomes:
    """Return a superset of the possible values of the expression."""
    match expression:
        case p.Literal(value):
            return frozenset({value}) if value is None or isinstance(value, bool) else _ANY
        case p.Attribute():
            return _MISSING if expression in missing else _ANY
        case p.Aggregate(p.Aggregation.COUNT):
            return _ANY
        case p.FunctionCall("coalesce", arguments):
            return _MISSING if all(_outcomes(each, missing) == _MISSING for each in arguments) else _ANY
        case p.IsNull(operand):
            return frozenset({True}) if _outcomes(operand, missing) == _MISSING else frozenset({True, False})
        case p.Negation(operand):
            return _negate(_outcomes(operand, missing))
        case p.Conjunction(operands):
            return _all_of(_outcomes(operand, missing) for operand in operands)
        case p.Disjunction(operands):
            return _negate(_all_of(_negate(_outcomes(operand, missing)) for operand in operands))
        case _:
            parts = [_outcomes(child, missing) for child in p.children(expression)]
            return _MISSING if _MISSING in parts else _ANY


def _negate(outcomes: Outcomes) -> Outcomes:
    return frozenset(None if each is None else not each for each in outcomes)


def _all_of(operands: Iterable[Outcomes]) -> Outcomes:
    return reduce(lambda one, other: frozenset(_both(*pair) for pair in product(one, other)), operands)


def _both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True
