"""Hostile and enormous texts are refused in good order, large honest ones are read."""

from __future__ import annotations

from contextlib import suppress

import graphtide_query
import pytest
from graphtide_core.errors import InvalidPatternError
from graphtide_query.language import parser
from graphtide_testing import work

HEAD = "PATTERN p MATCH (v)-[a]->(w) ON s WINDOW 10m WHERE "
DEEP = "nested more than 200 levels deep"


def calls(text: str) -> int:
    """Return how many functions are called while a text is parsed or refused."""

    def parse() -> None:
        with suppress(InvalidPatternError):
            graphtide_query.parse(text)

    return work.calls(parse, most=10**9)


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
    (pattern,) = graphtide_query.parse_subgraphs(HEAD + " AND ".join(f"a.x <> {number}" for number in range(10_000)))
    assert len(pattern.predicates) == 10_000


def test_a_text_past_the_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "MAX_BYTES", 100)
    with pytest.raises(InvalidPatternError, match="more than the 100 allowed") as caught:
        graphtide_query.parse("é" * 10 + "\n" + "é" * 41)
    assert (caught.value.line, caught.value.column) == (2, 40)


def test_a_pattern_of_too_many_words_is_refused_where_it_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "MAX_TOKENS", 40)
    short = "PATTERN p{} MATCH (v)-[a]->(w) ON s WINDOW 10m WHERE a.x = 1\n"
    assert len(graphtide_query.parse("".join(map(short.format, range(10))))) == 10

    with pytest.raises(InvalidPatternError, match="more than 40 words and signs") as caught:
        graphtide_query.parse(short.format(1) + "PATTERN q MATCH (v)-[a]->(w) ON s WINDOW 10m WHERE a.x IN [" + "1, " * 99)
    assert (caught.value.line, caught.value.column) == (2, 87)


@pytest.mark.parametrize(
    ("clause", "part"),
    [
        ("WHERE {}", "a.x <> {0} AND "),
        ("WHERE {}", "(a.x > {0} OR NOT a.y < {0}) AND "),
        ("WHERE {}", "a.x > {0} OR "),
        ("WHERE a.x IN [{} 1]", "{0}, "),
        ("ORDER {}", "a < b, "),
    ],
)
def test_ten_times_the_terms_take_ten_times_the_work(clause: str, part: str) -> None:
    def text(terms: int) -> str:
        filled = clause.format("".join(part.format(number) for number in range(terms)))
        whole = "PATTERN p MATCH (v)-[a]->(w), (w)-[b]->(v) ON s WINDOW 10m " + filled.removesuffix("AND ").removesuffix("OR ")
        return whole.removesuffix(", ")

    (_,) = graphtide_query.parse(text(2_000))
    # What is quadratic would take a hundred times.
    assert calls(text(1_000)) < 11 * calls(text(100))


@pytest.mark.parametrize(
    ("head", "part", "many"),
    [(HEAD, "a.x <> {} AND ", 100_000), (HEAD + "a.x IN [", "{}, ", 300_000)],
    ids=["terms", "constants"],
)
def test_a_condition_of_very_many_terms_is_refused_soon(
    head: str, part: str, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def text(terms: int) -> str:
        return head + "".join(part.format(number) for number in range(terms))

    with pytest.raises(InvalidPatternError, match="more than 80,000 words and signs") as caught:
        graphtide_query.parse(text(many))

    assert caught.value.line == 1
    assert len(str(caught.value)) < 1_000
    assert "split it into several patterns" in str(caught.value)

    # What comes after the last word that may be is not looked at; a tenth of the bound shows it as well.
    monkeypatch.setattr(parser, "MAX_TOKENS", 8_000)
    few = many // 10
    assert calls(text(few)) == calls(text(2 * few))


@pytest.mark.parametrize(("part", "many"), [("a.x <> {} AND ", 13_000), ("a.x > {} OR ", 13_000)])
def test_a_condition_of_ten_thousand_terms_and_more_is_read(part: str, many: int) -> None:
    (pattern,) = graphtide_query.parse(HEAD + "".join(part.format(number) for number in range(many)) + "a.x = 1")
    assert graphtide_query.print_pattern(pattern).count("a.x") == many + 1


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


def test_ten_times_the_patterns_take_ten_times_the_work() -> None:
    path = "(v:ip)-[a:http]->(w:ip)<-[b]-(x)"

    def text(patterns: int) -> str:
        return "".join(
            f"PATTERN p{number} MATCH {path} WHERE b.bytes > 10 ORDER a < b ON s WINDOW 10m\n" for number in range(patterns)
        )

    assert len(graphtide_query.parse(text(3_000))) == 3_000
    assert calls(text(300)) < 11 * calls(text(30))


QUERY = "SELECT u, v MATCH {} ON s WINDOW(1h)"
RULE = "r(x, y) <- {}. ON s WINDOW(1h)"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("".join(f"PATH p{n} = (a)-[:x]->(b) " for n in range(65)) + QUERY.format("(u)-/~p1/->(v)"), "64 PATH clauses"),
        (QUERY.format("(u)-[:x]->(v)" + " OPTIONAL (u)-[:y]->(w)" * 65), "64 OPTIONAL blocks"),
        (QUERY.format("(u)-[:x]->(v)" + "-[:x]->(v)" * 256), "may draw at most 256 edges and paths"),
        (QUERY.format("(u)-[:x]->(v), " + "(u), " * 511), "may mention at most 512 vertices"),
        (QUERY.format("(u)-[e:x]->(v)") + " WHERE e.n = 1" + " AND e.n = 1" * 1_000, "1,000 conditions; this one has 1,001"),
        (QUERY.format("(u)-/:x" + " | :x" * 256 + "/->(v)"), "may have at most 256 labels"),
        (QUERY.format("(u)-/" + "(:a :b)?" * 60 + "/->(v)").replace("(u)-", "(u:person)-"), "more than 256 labels"),
        (RULE.format("a(x, y)" + ", a(x, y)" * 64), "64 atoms"),
        (
            "CONSTRUCT " + ", ".join(["(u)-[:r]->(v)"] * 65) + " MATCH (u)-[:x]->(v) ON s WINDOW(1h)",
            "may CONSTRUCT at most 64 edges",
        ),
        (QUERY.format("(u)-[:x]->(v)").replace("u, v", ", ".join(f"u AS c{n}" for n in range(65)), 1), "64 columns"),
        (QUERY.format("(u)-/" + ":a? " * 200 + "/->(v:person)"), "more than 256 labels"),
        ("r(x, y) <- a(x, y). " * 65 + "ON s WINDOW(1h)", "64 rules"),
        (RULE.format("/" + " | ".join(f":a{n}" for n in range(65)) + "/(x, y)"), "64 inputs"),
        ("".join(f"INPUT a{n} = ()-->() ON s WINDOW(1) " for n in range(65)) + RULE.format("a1(x, y)"), "64 inputs"),
        (RULE.format("a(x, y)") + " OUTPUT r(x, y)" * 65, "64 outputs"),
        (QUERY.format("(u)-/" + "(" * 101 + ":a" + "+)" * 101 + "/->(v)"), "nested more than 100 levels"),
        (QUERY.format("(u)-/" + "(" * 10_000 + ":a"), "nested more than"),
        (RULE.format("/" + "^(" * 5_000 + ":a"), "nested more than"),
    ],
)
def test_what_a_query_may_not_have_is_refused_at_its_place(text: str, reason: str) -> None:
    with pytest.raises(InvalidPatternError, match=reason) as caught:
        graphtide_query.parse(text)
    assert caught.value.location is not None


@pytest.mark.parametrize(
    "query",
    [
        "PATH p = (u)-[:a]->(v) CONSTRUCT (u)-[:r{}]->(v) MATCH (u)-/~p :b*/->(v) OPTIONAL (u)-[:c]->(v) ON s WINDOW(1h)\n",
        "r(x, y) <- a+(x, y), b(y, x). q{}(x, y) <- r+(x, y) AS p. ON s WINDOW(1h) RETURN p\n",
        "GRAPH VIEW v{} AS ( r(x, y) <- a(x, y). ON t WINDOW(1h) )\n",
    ],
)
def test_ten_times_the_queries_take_ten_times_the_work(query: str) -> None:
    def text(queries: int) -> str:
        return "".join(query.replace("{}", str(number)) for number in range(queries))

    assert len(graphtide_query.parse(text(1_000))) == 1_000
    assert calls(text(200)) < 11 * calls(text(20))


@pytest.mark.parametrize(
    ("head", "part", "tail"),
    [
        ("SELECT u, v MATCH (u)-[e:a]->(v) ON s WINDOW(1h) WHERE ", "e.n > 1 AND ", "TRUE"),
        ("SELECT v0, v1 MATCH ", "(v0)-[:a]->(v1), ", "ON s WINDOW(1h)"),
        ("SELECT u, v MATCH (u)-/", ":a ", "/->(v) ON s WINDOW(1h)"),
    ],
)
def test_ten_times_the_parts_of_a_query_take_ten_times_the_work(head: str, part: str, tail: str) -> None:
    def text(parts: int) -> str:
        return head + part * parts + tail

    assert len(graphtide_query.parse(text(60))) == 1
    assert calls(text(60)) < 11 * calls(text(6))


def test_a_chain_of_views_is_followed_and_a_circle_of_many_is_found() -> None:
    def text(last: str) -> str:
        views = "".join(f"GRAPH VIEW v{n} AS ( r(x, y) <- a(x, y). ON v{n + 1} WINDOW(1) ) " for n in range(1_000))
        return views + f"GRAPH VIEW v1000 AS ( r(x, y) <- a(x, y). ON {last} WINDOW(1) )"

    assert len(graphtide_query.parse(text("t"))) == 1_001
    with pytest.raises(InvalidPatternError, match="views depend on each other in a circle: 'v0' reads 'v1'"):
        graphtide_query.parse(text("v0"))
