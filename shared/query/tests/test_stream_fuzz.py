"""Whatever the text, reading statements gives definitions or `InvalidPatternError`; hostile texts are refused in good order."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import graphtide_query
import pytest
from graphtide_core.errors import InvalidPatternError
from graphtide_query.language import parser
from graphtide_testing import work
from graphtide_testing.hostile_texts import ANY_TEXTS, change_texts, check_refusal, fuzzed, join_tokens, some_tokens
from hypothesis import given, settings
from hypothesis import strategies as st

VALID = [path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parent / "fixtures" / "streams").glob("*.gts"))]
WORDS = (
    "STREAM FORMAT EDGE EVENT AT ZONE UNIT ID SET WHERE DELETE UPDATE NULL LATENESS DUPLICATES CLOCK PARTITION BY "
    "IN OR AND NOT STARTS WITH IS TRUE FALSE "
    "PATTERN MATCH ON WINDOW SEQ CONSTRUCT DELIMITER HEADER COLUMNS COMMENT QUOTE DECIMAL ENCODING "
    "UNNEST "
    "MESSAGE none tab csv json zeek regex parquet xml reject live data s ms us auto lower( round( split( date_part( "
    "(a)-[b]->(c) (a:x)-->(b) ( ) [ ] -[ ]-> --> -> <- <-[ "
    "{ } , : . .a [0] < <= = <> + - * / % ; | & ! ` `` 'x' \"y\" ' \" \\ // # "
    "/* */ p a b ts id 0 7 1.5 1e9 1e999 10m 99999999999999999999 '%Y-%m-%d' 'UTC' '(?P<a>.)' é \x00 \ufeff \ud800 \u2028 \n"
)
TOKENS = WORDS.split(" ")
HEAD = "STREAM s SET x = "
DEEP = "nested more than 200 levels deep"


def parse_anyhow(text: str) -> None:
    check_refusal(text, refusal(text))


def refusal(text: str) -> InvalidPatternError | None:
    """Parse; return the error, or None after a round trip of what was read."""
    try:
        streams, patterns = graphtide_query.parse_streams_and_patterns(text)
    except InvalidPatternError as error:
        return error
    for stream in streams:
        assert graphtide_query.parse_streams(graphtide_query.print_stream(stream)) == (stream,)
    if not streams:
        assert graphtide_query.parse(text) == patterns
    return None


def calls(text: str) -> int:
    """Return how many functions are called while a text is parsed or refused."""

    def parse() -> None:
        with suppress(InvalidPatternError):
            graphtide_query.parse_streams(text)

    return work.calls(parse, most=10**9)


@settings(fuzzed, max_examples=3 * fuzzed.max_examples)
@given(ANY_TEXTS | join_tokens(TOKENS) | change_texts(VALID, TOKENS))
def test_texts_like_statements(text: str) -> None:
    parse_anyhow(text)


@fuzzed
@given(some_tokens(TOKENS))
def test_random_clauses(clauses: str) -> None:
    parse_anyhow(f"STREAM s EDGE (a)-[b]->(c) {clauses}")


@fuzzed
@given(some_tokens(TOKENS))
def test_random_expressions(expression: str) -> None:
    parse_anyhow(f"{HEAD}{expression} AT ts")


@fuzzed
@given(some_tokens(TOKENS, 10))
def test_random_options(options: str) -> None:
    parse_anyhow(f"STREAM s FORMAT csv ({options}) AT ts")


@fuzzed
@given(st.text(st.sampled_from(r"ab\dDwWsSbBAZzpx0u{}[]()?:P<n>=!*+^$.,|-&~1 i" + "\n"), max_size=20))
def test_random_regular_expressions(pattern: str) -> None:
    escaped = pattern.replace("\\", "\\\\").replace("\n", "\\n")
    parse_anyhow(f"STREAM s FORMAT regex '{escaped}' ID regexp_extract(a, '{escaped}')")


@fuzzed
@given(st.text(st.sampled_from("%YymdHIMSpfzjbBaA: -/%q"), max_size=24))
def test_random_formats_of_times(text: str) -> None:
    parse_anyhow(f"STREAM s AT ts FORMAT '{text}'")


def test_every_prefix_of_a_valid_text() -> None:
    for text in VALID:
        for end in range(len(text)):
            parse_anyhow(text[:end])


@pytest.mark.parametrize("depth", [201, 1_000, 10_000])
@pytest.mark.parametrize(
    ("opening", "closing"), [("(", ")"), ("NOT ", ""), ("- ", ""), ("lower(", ")"), ("1 + ", ""), ("coalesce(a, ", ")")]
)
def test_deep_nesting_is_refused(opening: str, closing: str, depth: int) -> None:
    with pytest.raises(InvalidPatternError, match=DEEP) as caught:
        graphtide_query.parse_streams(HEAD + opening * depth + "a.x" + closing * depth)
    assert caught.value.location is not None


@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("NOT ", ""), ("lower(", ")"), ("1 + ", "")])
def test_nesting_up_to_the_bound_is_read_and_printed(opening: str, closing: str) -> None:
    (stream,) = graphtide_query.parse_streams(HEAD + opening * 199 + "a.x" + closing * 199)
    assert graphtide_query.parse_streams(graphtide_query.print_stream(stream)) == (stream,)


@pytest.mark.parametrize(
    ("head", "part", "tail"),
    [
        ("STREAM s WHERE a = 0", " AND a <> {0}", ""),
        ("STREAM s WHERE a IN [0", ", {0}", "]"),
        ("STREAM s NULL ''", ", '{0}'", ""),
        ("STREAM s SET a = x", ", a{0} = f{0}.g[{0}]", ""),
        ("STREAM s FORMAT csv COLUMNS (a", ", c{0}", ")"),
        ("", "STREAM s{0} EDGE (a)-[b]->(c) AT ts IN s\n", ""),
    ],
)
def test_ten_times_the_terms_take_ten_times_the_work(head: str, part: str, tail: str) -> None:
    def text(terms: int) -> str:
        return head + "".join(part.format(number) for number in range(terms)) + tail

    assert graphtide_query.parse_streams(text(900))
    # What is quadratic would take a hundred times.
    assert calls(text(900)) < 11 * calls(text(90))


def test_a_statement_of_too_many_words_is_refused_where_it_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "MAX_TOKENS", 40)
    short = "STREAM s{} EDGE (a)-[b]->(c) AT ts IN s WHERE x = 1 AND y = 2\n"
    assert len(graphtide_query.parse_streams("".join(map(short.format, range(10))))) == 10

    with pytest.raises(InvalidPatternError, match="the statement has more than 40 words and signs") as caught:
        graphtide_query.parse_streams(short.format(1) + "STREAM q WHERE a IN [" + "1, " * 99)
    assert caught.value.line == 2


def test_messages_stay_short_whatever_the_names() -> None:
    name = "x" * 100_000
    for text in (f"STREAM s SET a = {name}(b)", f"STREAM s FORMAT {name}", f"STREAM s {name}", f"STREAM s AT a ZONE '{name}'"):
        with pytest.raises(InvalidPatternError) as caught:
            graphtide_query.parse_streams(text)
        assert len(str(caught.value)) < 1_000
