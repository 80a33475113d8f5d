"""Functions in the texts of patterns: what they read, how they are printed, and what is refused where."""

from __future__ import annotations

import pytest
from graphtide_core.errors import InvalidPatternError
from graphtide_core.predicate import Attribute, Compare, Comparison, FunctionCall, Literal
from graphtide_query import parse, print_pattern
from graphtide_query.known_attributes import attributes_as_texts, attributes_but_texts, refuse_unknown_attributes

EDGES = "PATTERN p MATCH (v:ip)-[a:http]->(w:ip), (w)-[b]->(v) WHERE {} ON s WINDOW 10m"
EVENTS = "PATTERN p SEQ(a:A, x:B+, NOT c:C, d:D) WHERE {} ON s WITHIN 10m"
QUERY = "QUERY q CONSTRUCT (u)-[:r]->(v) MATCH (u)-[a:k]->(v) ON s WINDOW(1h) WHERE {}"
RULES = "QUERY q INPUT k = (:person)-[a:k]->(:shop) ON s WINDOW(1h) WHERE {} r(x, y) <- k(x, y)."


def read_refusal(text: str) -> tuple[str, int | None, str | None]:
    """Return the reason, the column and the hint of the error."""
    with pytest.raises(InvalidPatternError) as raised:
        parse(text)
    error = raised.value
    return error.reason, None if error.location is None else error.location.column, error.hint


def test_a_call_is_read_in_any_case_with_expressions_for_arguments() -> None:
    (pattern,) = parse(EDGES.format("LOWER(a.user) = 'root' AND abs(a.n - b.n) < 5"))
    lower, difference = pattern.predicates  # type: ignore[attr-defined]  # a subgraph pattern
    assert lower == Compare(Comparison.EQUAL, FunctionCall("lower", (Attribute("a", "user"),)), Literal("root"))
    assert isinstance(difference.left, FunctionCall)
    assert set(pattern.attributes) == {"n", "user"}


@pytest.mark.parametrize("text", [EDGES, EVENTS, QUERY, RULES])
@pytest.mark.parametrize(
    "condition",
    [
        "is_private_ip(a.addr)",
        "cidr_contains('10.0.0.0/8', a.addr)",
        'coalesce(a.x, a.y, "none") <> "none"',
        "substring(a.t, 0, 2) STARTS WITH 'a'",
        "(a.x > 1) = is_private_ip(a.addr)",
        "regexp_extract(a.t, '(\\\\w+)=', 1) IN ['u', 'v']",
        "date_part('hour', a.ts, 'Europe/Berlin') >= 22",
        "NOT is_private_ip(split(a.t, ',', -1)) OR a.x IS NULL",
        "concat(a.x > 1 OR a.y = 2, NULL) IS NULL",
    ],
)
def test_what_is_printed_is_read_back(text: str, condition: str) -> None:
    parsed = parse(text.format(condition))
    printed = print_pattern(parsed[0])
    assert parse(printed) == parsed
    assert print_pattern(parse(printed)[0]) == printed
    assert {"addr", "x", "y", "t"} & set(parsed[0].attributes) or "ts" in condition


def test_functions_of_lists_stand_inside_of_functions_of_values() -> None:
    (pattern,) = parse(EVENTS.format("round(avg(x.n), 1) < least(count(x), a.n)"))
    assert "round(avg(x.n), 1) < least(count(x), a.n)" in print_pattern(pattern)


@pytest.mark.parametrize("text", [EDGES, EVENTS, QUERY])
def test_an_unknown_function_is_refused_at_its_name(text: str) -> None:
    column = text.index("{}") + 1
    reason, place, hint = read_refusal(text.format("lowr(a.user) = 'root'"))
    assert (reason, place) == ("there is no function 'lowr'", column)
    assert hint is not None
    assert "lower" in hint
    reason, place, hint = read_refusal(text.format("is_prod(a.user, 1)"))
    assert (reason, place) == ("there is no function 'is_prod'", column)


@pytest.mark.parametrize(
    ("condition", "reason", "hint"),
    [
        ("lower(a.user, 1) = 'a'", "lower takes 1 argument, not 2", "write lower(text)"),
        ("lower() = 'a'", "lower takes 1 argument, not 0", "write lower(text)"),
        ("cidr_contains(a.net, a.addr)", "must be a constant text", "cidr_contains('network', address)"),
        ("cidr_contains('10.0.0.0/33', a.addr)", "'10.0.0.0/33' is not a network", "10.0.0.0/8"),
        ("regexp_extract(a.t, '(') = ''", "the regular expression '(' cannot be read", "search in linear time"),
        ("date_part('hours', a.ts) = 1", "a time has no part 'hours'", "hour"),
        ("date_part('hour', a.ts, 'Europe/Berlim') = 1", "there is no zone 'Europe/Berlim'", "Europe/Berlin"),
    ],
)
@pytest.mark.parametrize("text", [EDGES, EVENTS, QUERY, RULES])
def test_wrong_arguments_are_refused_at_the_name_of_the_function(text: str, condition: str, reason: str, hint: str) -> None:
    found, place, help_ = read_refusal(text.format(condition))
    assert reason in found
    assert place == text.index("{}") + 1
    assert hint in (help_ or "")


def test_an_argument_that_is_no_value_is_refused_at_its_place() -> None:
    reason, place, hint = read_refusal(EDGES.format("is_private_ip(v)"))
    assert (reason, hint) == ("'v' is a vertex, not a value", "write v.id")
    assert place == EDGES.index("{}") + 1 + len("is_private_ip(")
    reason, _, hint = read_refusal(EDGES.format("concat(nobody, 1) = 'a'"))
    assert "not a value" in reason
    reason, _, _ = read_refusal(EDGES.format("concat(nobody.x, 1) = 'a'"))
    assert reason == "the pattern has no edge or vertex 'nobody'"


def test_functions_of_lists_are_refused_where_there_are_no_lists() -> None:
    reason, _, hint = read_refusal(EDGES.format("sum(a.n) > 5"))
    assert reason == "'sum' cannot be computed: a pattern of edges has no lists"
    assert "iteration" in (hint or "")
    reason, _, hint = read_refusal(EVENTS.format("sum(x.n + 1) > 5"))
    assert reason == "sum takes one attribute"
    assert "sum(a.x)" in (hint or "")


def test_an_expression_of_calls_is_as_deep_as_any() -> None:
    reason, _, _ = read_refusal(EDGES.format("trim(" * 250 + "a.t" + ")" * 250 + " = ''"))
    assert "levels deep" in reason


def test_an_attribute_that_no_record_has_makes_functions_unknown_but_coalesce() -> None:
    known = ["user"]
    refuse_unknown_attributes(parse(EDGES.format("coalesce(a.nobody, 'x') = 'x'")), known)
    with pytest.raises(InvalidPatternError, match="has no attribute 'nobody'"):
        refuse_unknown_attributes(parse(EDGES.format("lower(a.nobody) = 'x'")), known)
    with pytest.raises(InvalidPatternError, match="has no attribute 'nobody'"):
        refuse_unknown_attributes(parse(EDGES.format("coalesce(a.nobody, a.noone) = 'x'")), known)


def test_functions_say_what_they_take_attributes_for() -> None:
    patterns = parse(EDGES.format("abs(a.n) > 1 AND lower(a.user) = 'x'"))
    assert attributes_but_texts(patterns) == {"n"}
    assert attributes_as_texts(patterns[0]) == {"user"}
