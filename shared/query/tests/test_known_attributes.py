"""A pattern is refused if an attribute that the stream does not have keeps it from ever matching, and only then."""

from __future__ import annotations

import pytest
from graphtide_core.errors import InvalidPatternError
from graphtide_query import parse_subgraphs
from graphtide_query.known_attributes import refuse_unknown_attributes
from graphtide_testing.raising import raises_nothing

KNOWN = ("ts", "src", "dst", "label", "amount")


def refuse(condition: str) -> None:
    text = f"PATTERN p MATCH (a)-[x]->(b)-[y]->(c)\nWHERE {condition}\nON s WINDOW 10"
    refuse_unknown_attributes(parse_subgraphs(text), KNOWN)


@pytest.mark.parametrize(
    "condition",
    [
        "x.amount > 3 AND x.ts < y.ts AND x.id <> y.id AND x.label = 'a' AND a.id STARTS WITH '1'",
        "x.note IS NULL",
        "NOT x.note IS NOT NULL",
        "x.note IS NULL OR x.note = 'paid'",
        "x.amount > 3 OR x.note = 'paid'",
        "(x.note > 3) IS NULL",
        "NOT (x.note > 3 AND x.amount > 3)",
    ],
)
def test_what_can_match_without_the_attribute_is_no_error(condition: str) -> None:
    with raises_nothing():
        refuse(condition)


@pytest.mark.parametrize(
    "condition",
    [
        "x.note = 'paid'",
        "x.note <> 'paid'",
        "NOT x.note = 'paid'",
        "x.note IS NOT NULL",
        "x.note IN ['paid']",
        "x.note STARTS WITH 'p'",
        "x.amount + x.note > 3",
        "-x.note < 3",
        "x.amount > 3 AND x.note > 3",
        "(x.amount > 3 OR x.amount IS NULL) AND (x.note = 1 OR y.note = 2)",
        "x.note > 3 OR FALSE",
    ],
)
def test_what_can_never_match_is_refused(condition: str) -> None:
    with pytest.raises(InvalidPatternError, match="pattern 'p': the stream has no attribute 'note'"):
        refuse(condition)


def test_the_error_says_where_the_attribute_stands_and_what_there_is() -> None:
    with pytest.raises(InvalidPatternError) as refused:
        refuse("x.amount > 3 AND y.note = 1")
    assert (refused.value.line, refused.value.column) == (2, 24)
    assert refused.value.hint == "the stream's columns are ts, src, dst, label, amount"
    with pytest.raises(InvalidPatternError) as misspelt:
        refuse("x.amonut > 3")
    assert misspelt.value.hint == "did you mean 'amount'?"


def test_the_attribute_is_named_that_keeps_the_pattern_from_matching() -> None:
    with pytest.raises(InvalidPatternError, match="no attribute 'note'"):
        refuse("x.state IS NULL AND y.note = 1")
