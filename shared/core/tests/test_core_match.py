"""Match records and their identity."""

from __future__ import annotations

import dataclasses
import json

import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.ids import EdgeId, PatternName, VertexId
from graphtide_core.match import Completeness, MatchKind, SubgraphMatch, match_id
from graphtide_core.ports import dead_letter_sink, match_sink
from graphtide_core.time import EventTime
from hypothesis import given, settings
from hypothesis import strategies as st

MATCH = SubgraphMatch(
    query=PatternName("exfiltration"),
    version=1,
    kind=MatchKind.MATCH,
    detected_at=EventTime(30),
    first_ts=EventTime(10),
    last_ts=EventTime(30),
    edges={"a": EdgeId("17"), "b": EdgeId("21")},
    vertices={"v": VertexId("10.0.0.7"), "w": VertexId("zürich")},
)


def test_a_record_is_one_line_of_json() -> None:
    line = MATCH.to_json()
    assert line == (
        f'{{"match_id":"{MATCH.match_id}","query":"exfiltration","kind":"match","detected_at":30,"first_ts":10,"last_ts":30,'
        '"edges":{"a":"17","b":"21"},"vertices":{"v":"10.0.0.7","w":"zürich"}}'
    )


def test_a_record_says_when_matches_may_be_missing() -> None:
    shed = dataclasses.replace(MATCH, kind=MatchKind.RETRACT, completeness=Completeness.SHED)
    record = json.loads(shed.to_json())
    assert (record["kind"], record["completeness"]) == ("retract", "SHED")
    assert shed.match_id == MATCH.match_id


def test_the_identity_never_changes() -> None:
    assert MATCH.match_id == match_id("exfiltration", 1, [("b", "21"), ("a", "17")])
    assert match_id("p", 1, [("a", "1")], made={"a"}) == "2934cad3f834d789cb25650aae299914"


Key = tuple[str, int, dict[str, str]]
IDS = st.text(min_size=1, max_size=3) | st.sampled_from(["0", "7", "07", "12345678901234567890"])
PARTICIPANTS = st.dictionaries(st.text(max_size=3), IDS, max_size=3)
KEYS = st.tuples(st.text(max_size=3), st.integers(1, 12), PARTICIPANTS)


@settings(max_examples=max(100, settings().max_examples))
@given(KEYS, KEYS)
def test_identities_are_equal_only_for_equal_matches(
    one: tuple[str, int, dict[str, str]], other: tuple[str, int, dict[str, str]]
) -> None:
    same = match_id(one[0], one[1], one[2].items()) == match_id(other[0], other[1], other[2].items())
    assert same is (one == other)


@pytest.mark.parametrize("text", ["0", "7", "10", "999999999999999999", "12345678901234567890"])
def test_an_id_that_was_given_is_none_that_was_made(text: str) -> None:
    given, made = match_id("p", 1, [("a", text), ("b", "x")]), match_id("p", 1, [("a", text), ("b", "x")], made={"a"})
    assert given != made


@pytest.mark.parametrize("text", ["07", "-1", "1.0", "e1", " 1", "\N{ARABIC-INDIC DIGIT THREE}"])
def test_an_id_that_cannot_be_made_is_hashed_as_it_is(text: str) -> None:
    assert match_id("p", 1, [("a", text)]) == match_id("p", 1, [("a", text)], made={"a"})


def test_a_part_never_runs_into_the_next() -> None:
    assert match_id("p", 1, [("a", "b1")]) != match_id("p", 1, [("ab", "1")])
    assert match_id("p1", 1, []) != match_id("p", 11, [])


def test_an_edge_is_an_insertion_without_attributes_unless_it_says_otherwise() -> None:
    edge = Edge(EdgeId("1"), EventTime(5), VertexId("x"), VertexId("y"), "tcp")
    assert (edge.operation, dict(edge.attributes), edge.source_label, edge.target_label) == (Operation.INSERT, {}, None, None)


class _Memory:
    """Every port at once, in memory."""

    def __init__(self) -> None:
        self.lines = b""
        self.letters: list[dead_letter_sink.DeadLetter] = []

    def flush(self) -> None:
        self.lines += b"|"


class _Lines(_Memory):
    def write(self, lines: bytes) -> None:
        self.lines += lines


class _Letters(_Memory):
    def write(self, letter: dead_letter_sink.DeadLetter) -> None:
        self.letters.append(letter)


def test_ports_are_met_by_plain_classes() -> None:
    lines, letters = _Lines(), _Letters()
    matches: match_sink.MatchSink = lines
    dead: dead_letter_sink.DeadLetterSink = letters
    matches.write(b"{}\n")
    matches.flush()
    dead.write(dead_letter_sink.DeadLetter(3, "no ts", b"x"))
    assert (lines.lines, letters.letters[0].line) == (b"{}\n|", 3)
