"""What the text of an event pattern means: event expressions, clauses and what is computed over iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import graphtide_query
import pytest
from graphtide_core.errors import InvalidPatternError, Location
from graphtide_core.event_expression import And, Not, Or, Part, QueryEvent, Repeat, Seq
from graphtide_core.event_pattern import EventPattern, Selection
from graphtide_core.one_per import OnePer
from graphtide_core.pattern import Report, SubgraphPattern
from graphtide_core.predicate import Aggregate, Aggregation, Attribute, Compare, Comparison, Compute, Expression, Literal
from graphtide_core.predicate import Arithmetic as Sign
from graphtide_core.returns import Field, Returns
from graphtide_core.time import Duration
from graphtide_query.language import parser

if TYPE_CHECKING:
    from graphtide_core.edge import Value

A, B, C, D = (QueryEvent(name, name.upper()) for name in "abcd")


def parse_one(text: str) -> EventPattern:
    (pattern,) = graphtide_query.parse(text)
    assert isinstance(pattern, EventPattern)
    return pattern


def parse_expression(text: str) -> Part:
    return parse_one(f"PATTERN p {text} ON s WITHIN 10m").root


def with_clauses(clauses: str, root: str = "SEQ(a:A, m:M+)") -> EventPattern:
    return parse_one(f"PATTERN p {root} ON s WITHIN 10m {clauses}")


def condition(text: str) -> tuple[Expression, ...]:
    return with_clauses(f"WHERE {text}").predicates


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("SEQ(a:A)", Seq((A,))),
        ("SEQ(a:A, b:B)", Seq((A, B))),
        ("and(a:A, b:B)", And((A, B))),
        ("OR(a:A, b:B)", Or((A, B))),
        ("SEQ(a, `b c`:`D-E`)", Seq((QueryEvent("a"), QueryEvent("b c", "D-E")))),
        ("SEQ(:A, e1:B, :C)", Seq((QueryEvent("e2", "A"), QueryEvent("e1", "B"), QueryEvent("e3", "C")))),
        ("SEQ(a:A, NOT b:B, c:C)", Seq((A, Not((B,)), C))),
        ("SEQ(a:A, NOT OR(b:B, c:C))", Seq((A, Not((B, C))))),
        ("SEQ(a:A, NOT OR(b:B, OR(c:C, d:D)))", Seq((A, Not((B, C, D))))),
        ("AND(SEQ(a:A, b:B), SEQ(c:C, d:D))", And((Seq((A, B)), Seq((C, D))))),
        ("SEQ(a:A, b:B, OR(c:C, AND(d:D)))", Seq((A, B, Or((C, And((D,))))))),
    ],
)
def test_event_expressions(text: str, root: Part) -> None:
    assert parse_expression(text) == root


@pytest.mark.parametrize(
    ("text", "repeat"),
    [("+", Repeat(1)), ("{3}", Repeat(3, 3)), ("{3,}", Repeat(3)), ("{2,5}", Repeat(2, 5)), (" { 2 , 5 } ", Repeat(2, 5))],
)
def test_iterations(text: str, repeat: Repeat) -> None:
    assert parse_expression(f"SEQ(a:A{text}, b{text})") == Seq((QueryEvent("a", "A", repeat), QueryEvent("b", None, repeat)))


def test_braces_say_what_attributes_equal() -> None:
    pattern = parse_one("PATTERN p SEQ(a:A {x: 1}, m:M{2} {y: 'z', n: -2}) WHERE a.k = 3 ON s WITHIN 10m")
    stated: list[tuple[str, str, Value]] = [("a", "x", 1), ("m", "y", "z"), ("m", "n", -2), ("a", "k", 3)]
    assert pattern.predicates == tuple(
        Compare(Comparison.EQUAL, Attribute(event, name), Literal(value)) for event, name, value in stated
    )


def test_parts_know_where_they_stand() -> None:
    (_, absent) = parse_one("PATTERN p\nSEQ(first:A,\n  NOT b:B)\nON s WITHIN 1").root.parts
    assert isinstance(absent, Not)
    assert absent.location == Location(3, 3, 3)
    assert absent.events[0].location == Location(3, 7, 1)


@pytest.mark.parametrize(
    ("text", "function", "name"),
    [
        ("count(m)", Aggregation.COUNT, "ts"),
        ("count(m.x)", Aggregation.COUNT, "x"),
        ("SUM(m.x)", Aggregation.SUM, "x"),
        ("avg(m.x)", Aggregation.AVERAGE, "x"),
        ("min(m.x)", Aggregation.LEAST, "x"),
        ("max(m.x)", Aggregation.GREATEST, "x"),
        ("first(m.x)", Aggregation.FIRST, "x"),
        ("last(m).x", Aggregation.LAST, "x"),
    ],
)
def test_aggregates(text: str, function: Aggregation, name: str) -> None:
    computed = Aggregate(function, Attribute("m", name))
    assert condition(f"{text} > 2") == (Compare(Comparison.GREATER, computed, Literal(2)),)
    assert condition(f"a.x <= 2 * {text} - 1") == (
        Compare(
            Comparison.LESS_OR_EQUAL,
            Attribute("a", "x"),
            Compute(Sign.SUBTRACT, Compute(Sign.MULTIPLY, Literal(2), computed), Literal(1)),
        ),
    )


def test_functions_are_no_keywords() -> None:
    pattern = parse_one("PATTERN count SEQ(count:first, sum:last+) WHERE count.max = sum(sum.min) ON avg WITHIN 1")
    total = Aggregate(Aggregation.SUM, Attribute("sum", "min"))
    assert pattern.predicates == (Compare(Comparison.EQUAL, Attribute("count", "max"), total),)


def test_clauses_that_are_missing_say_nothing() -> None:
    assert with_clauses("") == EventPattern(
        name="p",  # type: ignore[arg-type]  # a name, without its wrapper
        root=Seq((A, QueryEvent("m", "M", Repeat(1)))),
        within=Duration(10, "m"),
        stream="s",  # type: ignore[arg-type]  # as above
    )


@pytest.mark.parametrize(
    ("text", "report", "is_distinct"),
    [
        ("REPORT ALL", Report.ALL, False),
        ("REPORT EXISTS", Report.EXISTS, False),
        ("REPORT DISTINCT", Report.ALL, True),
        ("REPORT DISTINCT EXISTS", Report.EXISTS, True),
    ],
)
def test_reports(text: str, report: Report, is_distinct: bool) -> None:
    pattern = with_clauses(text)
    assert (pattern.report, pattern.is_distinct, pattern.one_per) == (report, is_distinct, None)


@pytest.mark.parametrize("before", ["", "ALL ", "DISTINCT ", "DISTINCT ALL "])
def test_one_report_for_each_key(before: str) -> None:
    pattern = with_clauses(f"REPORT {before}ONE PER a.user, last(m.host) EVERY 10m")
    keys = (Attribute("a", "user"), Aggregate(Aggregation.LAST, Attribute("m", "host")))
    assert pattern.one_per == OnePer(keys, Duration(10, "m"))
    assert pattern.is_distinct == ("DISTINCT" in before)


def test_returned_fields_are_called_as_they_are_written() -> None:
    pattern = with_clauses("RETURN a.x, count(m), last(m).`y z`, m.x AS all, a.x + 1 AS more")
    assert pattern.returns == Returns(
        (
            Field("a.x", Attribute("a", "x")),
            Field("count(m)", Aggregate(Aggregation.COUNT, Attribute("m", "ts"))),
            Field("last(m.`y z`)", Aggregate(Aggregation.LAST, Attribute("m", "y z"))),
            Field("all", Attribute("m", "x")),
            Field("more", Compute(Sign.ADD, Attribute("a", "x"), Literal(1))),
        )
    )


@pytest.mark.parametrize("text", ["RETURN *, a.x", "RETURN a.x, *"])
def test_everything_may_be_returned_beside_fields(text: str) -> None:
    assert with_clauses(text).returns == Returns((Field("a.x", Attribute("a", "x")),), everything=True)


def test_other_clauses() -> None:
    pattern = with_clauses("ON TIMEOUT PARTITION BY user, `time zone` SKIP TILL NEXT")
    assert pattern.partition == ("user", "time zone")
    assert pattern.selection is Selection.NEXT
    assert pattern.emits_timeouts
    assert with_clauses("SKIP TILL ANY").selection is Selection.ANY


def test_a_stream_may_be_called_timeout() -> None:
    assert parse_one("PATTERN p SEQ(a:A) ON `timeout` WITHIN 1 ON TIMEOUT").stream == "timeout"
    (of_edges,) = graphtide_query.parse("PATTERN p MATCH (v)-[next]->(within) ON timeout WINDOW 1")
    assert isinstance(of_edges, SubgraphPattern)
    assert (of_edges.stream, of_edges.edges[0].name) == ("timeout", "next")


def test_a_file_may_have_patterns_of_all_families() -> None:
    text = "PATTERN p SEQ(a:A) ON s WITHIN 1\nPATTERN q MATCH (v)-->(w) ON s WINDOW 1"
    assert [type(pattern) for pattern in graphtide_query.parse(text)] == [EventPattern, SubgraphPattern]
    with pytest.raises(InvalidPatternError, match="'p' is an event pattern") as caught:
        graphtide_query.parse_subgraphs(text)
    assert (caught.value.line, caught.value.column, caught.value.source_line) == (1, 15, text.split("\n", maxsplit=1)[0])


@pytest.mark.parametrize("levels", [66, 1_000, 100_000])
def test_deep_nesting_of_parts_is_refused(levels: int) -> None:
    with pytest.raises(InvalidPatternError, match="the pattern is nested more than 64 levels deep") as caught:
        parse_expression("SEQ(" * levels + "a:A" + ")" * levels)
    assert caught.value.location is not None


def test_deep_nesting_of_an_expression_has_its_own_error() -> None:
    with pytest.raises(InvalidPatternError, match="the expression is nested"):
        condition("(" * 5_000 + "a.x" + ")" * 5_000)


def test_nesting_up_to_the_bound_is_read_and_printed() -> None:
    pattern = parse_one("PATTERN p " + "SEQ(" * 64 + "a:A" + ")" * 64 + " ON s WITHIN 1")
    assert graphtide_query.parse(graphtide_query.print_pattern(pattern)) == (pattern,)


def test_a_pattern_of_too_many_words_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "MAX_TOKENS", 100)
    with pytest.raises(InvalidPatternError, match="more than 100 words and signs"):
        parse_expression("AND(" + ", ".join(f"a{number}:A" for number in range(60)) + ")")


def test_messages_stay_short_whatever_the_names() -> None:
    name = "x" * 100_000
    for text in (
        f"SEQ({name}:A, {name}:B)",
        f"SEQ(a:A, b:B) WHERE {name}.x = 1",
        f"SEQ(a:A) WHERE {name}(a.x) = 1",
        f"SEQ(a:A, NOT {name}:B, c:C) RETURN {name}.x",
        f"SEQ(a:A) PARTITION BY {name}, {name}",
        f"SEQ(a:A) RETURN a.x AS {name}, a.y AS {name}",
    ):
        with pytest.raises(InvalidPatternError) as caught:
            parse_expression(text)
        assert len(str(caught.value)) < 1_000


def test_one_thousand_patterns_are_read() -> None:
    text = "".join(f"PATTERN p{n} SEQ(a:E{n}, b:E1, c:E2) WHERE a.speed < 40 ON s WITHIN 1200\n" for n in range(1_000))
    assert len(graphtide_query.parse(text)) == 1_000
