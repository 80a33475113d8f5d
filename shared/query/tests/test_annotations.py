"""DESCRIPTION, SEVERITY, TAGS and MESSAGE of every family: bound, printed, explained, and without effect on matches."""

from __future__ import annotations

from dataclasses import replace

import pytest
from graphtide_core.annotations import NO_ANNOTATIONS, Annotations, Severity, without_annotations
from graphtide_core.errors import InvalidPatternError
from graphtide_query import parse, print_pattern
from graphtide_query.explain import explain_all, to_text
from graphtide_query.families import AUTO, family_of
from graphtide_query.planner import plan

SAID = "DESCRIPTION 'data leaves' SEVERITY HIGH TAGS 'exfil', 'net'"
PATTERNS = {
    "isomorphism": ("PATTERN p MATCH (v)-[e:http]->(w) RETURN e.bytes {} ON flows WINDOW 10m", "{v.id} {e.bytes}"),
    "simulation": ("PATTERN p MATCH (v)-[e:http]->(w) UNDER DUAL SIMULATION {} ON flows WINDOW 10m", "{v.id} {e.id}"),
    "events": ("PATTERN p SEQ(a:A, NOT c:C, b:B+) RETURN b.x {} ON s WITHIN 10m", "{a.id} {b.id} {b.x}"),
    "rules": ("QUERY p ans(x, y) <- f+(x, y). ON s WINDOW(24h) {}", "{src.id}"),
    "columns": ("QUERY p ans(x, y, z) <- f(x, y), f(y, z). ON s WINDOW(24h) {}", "{x.id} {z.id}"),
    "view": ("GRAPH VIEW p AS (CONSTRUCT (x)-[:k]->(y) MATCH (x)-[:f]->(y) ON s WINDOW(24h) {})", "{dst.id}"),
}
EDGES = "PATTERN p MATCH (v)-[e:http]->(w) {} ON flows WINDOW 10m"


@pytest.mark.parametrize("family", PATTERNS)
def test_a_pattern_of_every_family_has_annotations(family: str) -> None:
    text, message = PATTERNS[family]
    (pattern,) = parse(text.replace("{}", f"{SAID} MESSAGE 'seen: {message}'"))
    assert pattern.annotations == Annotations("data leaves", Severity.HIGH, ("exfil", "net"), f"seen: {message}")
    assert parse(print_pattern(pattern)) == (pattern,)


@pytest.mark.parametrize("family", PATTERNS)
def test_annotations_change_nothing_but_themselves(family: str) -> None:
    text, message = PATTERNS[family]
    (plain,) = parse(text.replace("{}", ""))
    (other,) = parse(text.replace("{}", f"{SAID} MESSAGE '{message}'").replace(" p ", " q "))
    assert replace(without_annotations(other), name=plain.name) == plain
    assert without_annotations(plain) is plain
    of = family_of(plain)
    # Patterns of one form share a unit; a family without forms compares parts.
    assert of.canonical(other) == of.canonical(plain)
    assert of.canonical_parts(other) == of.canonical_parts(plain)
    assert of.reads(other) == of.reads(plain)


@pytest.mark.parametrize("family", ["isomorphism", "simulation", "rules"])
def test_explain_says_them(family: str) -> None:
    text, message = PATTERNS[family]
    (pattern,) = parse(text.replace("{}", f"{SAID} MESSAGE '{message}'"))
    explained = to_text(explain_all([plan(pattern, AUTO)], [None]))
    assert all(each in explained for each in ("data leaves", "high", "exfil, net", message))


def test_words_of_the_clauses_are_names_elsewhere() -> None:
    (pattern,) = parse(
        "PATTERN tags MATCH (message)-[severity:tags]->() WHERE severity.message = 'x' ON description WINDOW 10m"
    )
    assert pattern.annotations == NO_ANNOTATIONS
    assert parse(print_pattern(pattern)) == (pattern,)
    (query,) = parse("QUERY p message(x, y) <- tags(x, y). ON s WINDOW(24h)")
    assert parse(print_pattern(query)) == (query,)


@pytest.mark.parametrize(
    ("clause", "column", "reason", "hint"),
    [
        ("MESSAGE '{e.bytes}'", 45, "the record of a match has no 'e.bytes'", "RETURN e.bytes"),
        ("MESSAGE '{v.od}'", 45, "the record of a match has no 'v.od'", "{v.id}"),
        ("MESSAGE '{x.id}'", 45, "the message names 'x.id'", "did you mean"),
        ("MESSAGE '{v}'", 45, "the message names 'v'", "{v.id}"),
        ("MESSAGE 'a {'", 46, "not closed", "{{"),
        ("MESSAGE 'a }'", 46, "not open", "}}"),
        ("MESSAGE '{}'", 44, "without a name", "{{"),
        ("MESSAGE ''", 43, "the message is empty", ""),
        (r"MESSAGE '\n{v.ix}'", 43, "the record of a match has no 'v.ix'", "{v.id}"),
        ("SEVERITY hihg", 44, "there is no severity 'hihg'", "did you mean high?"),
        ("SEVERITY worst", 44, "there is no severity 'worst'", "one of info, low, medium, high, critical"),
        ("TAGS 'a', 'a'", 45, "the tag 'a' twice", "keep one"),
        ("TAGS ''", 40, "the tag is empty", ""),
        ("DESCRIPTION ''", 47, "the description is empty", ""),
        ("MESSAGE 'a' MESSAGE 'b'", 47, "a second MESSAGE clause", "keep one"),
        ("TAGS 'a' TAGS 'b'", 44, "a second TAGS clause", "separate tags by commas"),
        ("DESCRIPTON 'a'", 35, "unexpected 'DESCRIPTON'", "did you mean DESCRIPTION?"),
        ("SEVERITY 'high'", 44, "unexpected", ""),
        ("TAGS", 40, "unexpected 'ON'", ""),
    ],
)
def test_a_wrong_clause_is_an_error_with_its_place(clause: str, column: int, reason: str, hint: str) -> None:
    with pytest.raises(InvalidPatternError) as caught:
        parse(EDGES.replace("{}", clause, 1))
    error = caught.value
    assert error.location is not None
    assert (error.location.line, error.location.column) == (1, column)
    assert reason in error.reason
    assert hint in error.hint


def test_a_message_of_events_has_no_event_that_must_not_come() -> None:
    text = PATTERNS["events"][0].replace("{}", "MESSAGE '{c.id}'")
    with pytest.raises(InvalidPatternError, match=r"c\.id"):
        parse(text)
