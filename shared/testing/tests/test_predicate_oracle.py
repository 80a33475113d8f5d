"""Three-valued logic, case by case."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from graphtide_core.predicate import (
    Arithmetic,
    Attribute,
    Compare,
    Comparison,
    Compute,
    Conjunction,
    Disjunction,
    Expression,
    In,
    IsNull,
    Literal,
    Negate,
    Negation,
    StartsWith,
)
from graphtide_testing.oracles.predicates import evaluate

if TYPE_CHECKING:
    from graphtide_core.edge import Value

ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER = Arithmetic
TRUE, FALSE, UNKNOWN = Literal(value=True), Literal(value=False), Literal(None)


def value(expression: Expression) -> Value:
    """Evaluate over one edge `e` with n = 1 and no other attribute."""
    return evaluate(expression, lambda attribute: {"n": 1}.get(attribute.name))


@pytest.mark.parametrize(
    ("left", "comparison", "right", "expected"),
    [
        (1, "=", 1.0, True),
        (2**53 + 1, "=", float(2**53), False),
        (2**53 + 1, ">", float(2**53), True),
        (2**63 - 1, "<", 2.0**63, True),
        (0.0, "=", -0.0, True),
        ("a", "<", "b", True),
        ("Z", "<", "a", True),
        ("\uffff", "<", "\U00010000", True),
        (True, "=", True, True),
        (True, "<>", False, True),
        (True, "<", False, None),
        (True, "=", 1, None),
        ("1", "=", 1, None),
        ("1", "<>", 1, None),
        (None, "=", None, None),
        (1, ">=", None, None),
        (math.nan, "<>", 1.0, None),
    ],
)
def test_comparison(left: Value, comparison: str, right: Value, expected: bool | None) -> None:
    assert value(Compare(Comparison(comparison), Literal(left), Literal(right))) is expected


@pytest.mark.parametrize(
    ("left", "operator", "right", "expected"),
    [
        (7, DIVIDE, 2, 3.5),
        (2**63 - 1, DIVIDE, 1, 2.0**63),
        (2**63 - 1, ADD, 1, None),
        (-(2**63), SUBTRACT, 1, None),
        (2**62, MULTIPLY, 2, None),
        (2**62, MULTIPLY, 2.0, 2.0**63),
        (-(2**63), REMAINDER, -1, 0),
        (7, REMAINDER, -3, 1),
        (-7, REMAINDER, 3, -1),
        (-7.5, REMAINDER, 2, -1.5),
        (1, DIVIDE, 0, None),
        (1, REMAINDER, 0, None),
        (1.0, DIVIDE, 0.0, None),
        (1.0, REMAINDER, 0, None),
        (1e308, MULTIPLY, 10, None),
        (math.inf, ADD, 1, None),
        (math.inf, REMAINDER, 2, None),
        (1, ADD, None, None),
        (1, ADD, "1", None),
        (1, ADD, True, None),
    ],
)
def test_arithmetic(left: Value, operator: Arithmetic, right: Value, expected: float | None) -> None:
    computed = value(Compute(operator, Literal(left), Literal(right)))
    assert computed == expected
    assert type(computed) is type(expected)


@pytest.mark.parametrize(
    ("operand", "expected"), [(3, -3), (2.5, -2.5), (-(2**63), None), (True, None), ("a", None), (None, None)]
)
def test_negation(operand: Value, expected: Value) -> None:
    assert value(Negate(Literal(operand))) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (Conjunction((TRUE, TRUE)), True),
        (Conjunction((UNKNOWN, TRUE)), None),
        (Conjunction((UNKNOWN, FALSE)), False),
        (Disjunction((FALSE, FALSE)), False),
        (Disjunction((UNKNOWN, FALSE)), None),
        (Disjunction((UNKNOWN, TRUE)), True),
        (Negation(TRUE), False),
        (Negation(FALSE), True),
        (Negation(UNKNOWN), None),
        (Negation(Literal(1)), None),
        (Conjunction((Literal("yes"), TRUE)), None),
    ],
)
def test_connectives_follow_kleene(expression: Expression, expected: bool | None) -> None:
    assert value(expression) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (In(Literal(1), (2, 1.0)), True),
        (In(Literal(1), (2, 3)), False),
        (In(Literal(1), (2, "a")), None),
        (In(Literal(1), ("a", 1)), True),
        (In(UNKNOWN, (1, 2)), None),
        (StartsWith(Literal("10.0.0.7"), "10."), True),
        (StartsWith(Literal("110."), "10."), False),
        (StartsWith(Literal(10), "1"), None),
        (StartsWith(UNKNOWN, ""), None),
        (IsNull(Attribute("e", "absent")), True),
        (IsNull(Attribute("e", "n")), False),
        (IsNull(Compute(DIVIDE, Literal(1), Literal(0))), True),
        (Attribute("e", "n"), 1),
    ],
)
def test_tests_of_one_value(expression: Expression, expected: Value) -> None:
    assert value(expression) == expected
    assert type(value(expression)) is type(expected)
