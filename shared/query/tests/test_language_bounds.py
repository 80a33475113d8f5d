"""Hostile and enormous texts are refused in good order, large honest ones are read."""

from __future__ import annotations

import time

import graphtide_query
import pytest
from graphtide_core.errors import InvalidPatternError
from graphtide_query.language import parser

HEAD = "PATTERN p MATCH (v)-[a]->(w) ON s WINDOW 10m WHERE "
DEEP = "nested more than 200 levels deep"


@pytest.mark.parametrize("depth", [201, 1_000, 10_000])
@pytest.mark.parametrize(
    ("opening", "closing"), [("(", ")"), ("NOT ", ""), ("- ", ""), ("-(", ")"), ("1 + ", ""), ("NOT (", ")")]
)
def test_deep_nesting_is_refused(opening: str, closing: str, depth: int) -> None:
    with pytest.raises(InvalidPatternError, match=DEEP) as caught:
        graphtide_query.parse(HEAD + opening * depth + "a.x" + closing * depth)
    assert caught.value.location is not None


@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("NOT ", ""), ("- ", ""), ("1 + ", "")])
def test_nesting_up_to_the_bound_is_read_and_printed(opening: str, closing: str) -> None:
    (pattern,) = graphtide_query.parse(HEAD + opening * 199 + "a.x" + closing * 199)
    assert graphtide_query.parse(graphtide_query.print_pattern(pattern)) == (pattern,)


def test_depth_counts_every_kind_of_expression() -> None:
    level = "NOT a.x = 1 OR a.y = 1 AND a.z < 2 + 3 * -("
    (_,) = graphtide_query.parse(HEAD + level * 20 + "1" + ")" * 20)
    with pytest.raises(InvalidPatternError, match=DEEP):
        graphtide_query.parse(HEAD + level * 300 + "1" + ")" * 300)


@pytest.mark.parametrize("innermost", ["1 IN []", "a.x = 1", "a"])
def test_deep_nesting_is_located_at_the_first_thing_too_deep(innermost: str) -> None:
    with pytest.raises(InvalidPatternError, match=DEEP) as caught:
        graphtide_query.parse(HEAD + "(" * 250 + innermost + ")" * 250)
    assert (caught.value.line, caught.value.column) == (1, len(HEAD) + 251)


def test_long_conjunctions_are_not_deep() -> None:
    (pattern,) = graphtide_query.parse(HEAD + " AND ".join(f"a.x <> {number}" for number in range(10_000)))
    assert len(pattern.predicates) == 10_000


def test_a_text_past_the_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "MAX_BYTES", 100)
    with pytest.raises(InvalidPatternError, match="more than the 100 allowed"):
        graphtide_query.parse("é" * 51)


def test_half_a_surrogate_pair_is_refused_at_its_place() -> None:
    with pytest.raises(InvalidPatternError, match="half a surrogate pair") as caught:
        graphtide_query.parse("PATTERN p\nMATCH (v\ud800)")
    assert (caught.value.line, caught.value.column) == (2, 9)
    assert str(caught.value).encode()


def test_nul_bytes_are_refused_outside_quotes_and_kept_inside() -> None:
    with pytest.raises(InvalidPatternError, match="unexpected"):
        graphtide_query.parse("PATTERN p\x00 MATCH (v)-->(w) ON s WINDOW 1")
    (pattern,) = graphtide_query.parse("PATTERN `p\x00` MATCH (v)-->(w) ON s WINDOW 1")
    assert pattern.name == "p\x00"


@pytest.mark.parametrize("digits", ["9" * 401, "9" * 100_000])
def test_endless_integers_are_refused(digits: str) -> None:
    with pytest.raises(InvalidPatternError, match="does not fit into 64 bits"):
        graphtide_query.parse(HEAD + "a.x = " + digits)


def test_leading_zeros_change_nothing() -> None:
    assert graphtide_query.parse(HEAD + "a.x = " + "0" * 10_000 + "7") == graphtide_query.parse(HEAD + "a.x = 7")


def test_messages_stay_short_whatever_the_names() -> None:
    name = "x" * 100_000
    for text in (f"PATTERN p MATCH (v)-[{name}]->(w) ON s WINDOW 1 WHERE {name}y.z = 1", f"{name} {name}", HEAD + name):
        with pytest.raises(InvalidPatternError) as caught:
            graphtide_query.parse(text)
        assert len(str(caught.value)) < 1_000


def test_ten_thousand_patterns_are_read_quickly() -> None:
    path = "(v:ip)-[a:http]->(w:ip)<-[b]-(x)"
    text = "".join(
        f"PATTERN p{number} MATCH {path} WHERE b.bytes > 10 ORDER a < b ON s WINDOW 10m\n" for number in range(10_000)
    )
    start = time.process_time()
    patterns = graphtide_query.parse(text)
    assert len(patterns) == 10_000
    # Some 3 s of processor time; the bound only catches a loss of linearity.
    assert time.process_time() - start < 15
