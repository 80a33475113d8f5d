"""Whatever the text, parsing gives patterns or `InvalidPatternError`, and the error can be rendered."""

from __future__ import annotations

from pathlib import Path

import graphtide_query
from graphtide_core.errors import InvalidPatternError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

VALID = [path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parent / "fixtures" / "valid").glob("*.gtp"))]
WORDS = (
    "PATTERN MATCH WHERE ORDER UNDER EDGE ISOMORPHISM ON WINDOW OR AND NOT IN STARTS WITH IS NULL TRUE FALSE DUAL SEQ "
    "( ) [ ] { } , : . < <= > >= = <> != + - * / % -> <- --> <-- -[ ]-> <-[ ]- ; | & ! ` `` 'x' \"y\" ' \" \\ // # /* */ "
    "p a b v w id 0 7 1.5 1e9 1e999 10m 99999999999999999999 \\u0041 é \x00 \ufeff \ud800 \u2028 \n"
)
TOKENS = WORDS.split(" ")

fuzzed = settings(max_examples=600, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def refusal(text: str) -> InvalidPatternError | None:
    """Parse; return the error, or None after a round trip of what was read."""
    try:
        patterns = graphtide_query.parse(text)
    except InvalidPatternError as error:
        return error
    for pattern in patterns:
        assert graphtide_query.parse(graphtide_query.print_pattern(pattern)) == (pattern,)
    return None


def parse_anyhow(text: str) -> None:
    error = refusal(text)
    if error is not None:
        assert str(error).encode()
        assert error.location is not None
        assert error.location.line <= text.count("\n") + 1


@fuzzed
@given(st.text(st.characters()))
def test_random_text(text: str) -> None:
    parse_anyhow(text)


@fuzzed
@given(st.lists(st.sampled_from(TOKENS)), st.sampled_from(["", " "]))
def test_random_tokens(tokens: list[str], separator: str) -> None:
    parse_anyhow(separator.join(tokens))


@fuzzed
@given(
    st.sampled_from(VALID),
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 6), st.sampled_from(TOKENS) | st.text(st.characters(), max_size=3)),
        max_size=4,
    ),
)
def test_mutated_patterns(text: str, edits: list[tuple[float, int, str]]) -> None:
    for place, length, insertion in edits:
        start = int(place * len(text))
        text = text[:start] + insertion + text[start + length :]
    parse_anyhow(text)


@fuzzed
@given(st.lists(st.sampled_from(TOKENS), max_size=30))
def test_random_expressions(tokens: list[str]) -> None:
    parse_anyhow(f"PATTERN p MATCH (v)-[a]->(w) ON s WINDOW 1 WHERE a.x = {' '.join(tokens)}")


def test_every_prefix_of_a_valid_text() -> None:
    for text in VALID:
        for end in range(len(text)):
            parse_anyhow(text[:end])
