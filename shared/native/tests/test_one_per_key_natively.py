"""Keys of ONE PER are state of a pattern, under its limits: as many as those allow, and no longer than their interval."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.edge import Edge
from graphtide_core.errors import LimitExceededError
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.match import Completeness
from graphtide_core.time import EventTime
from graphtide_native.matcher import Matcher
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.spec import Limits, columns
from graphtide_query import parse, parse_subgraphs
from graphtide_query.families import FAMILIES, PlannerOptions
from graphtide_query.planner import plan, plan_all
from graphtide_testing.members import Members, make_chain

if TYPE_CHECKING:
    from graphtide_core.match import Match

EDGE = "PATTERN p MATCH (a)-[x:k]->(b) ON s WINDOW 10 REPORT ONE PER a.id EVERY 1m"
EVENT = "PATTERN p SEQ(x:k) ON s WITHIN 10 REPORT ONE PER x.src EVERY 1m"
COMPONENT = "PATTERN p MATCH (a)-[x:k]->(b) UNDER DUAL SIMULATION ON s WINDOW 1 REPORT MAXIMAL ONE PER min(x.src) EVERY 1m"
EACH = pytest.mark.parametrize("text", [EDGE, EVENT, COMPONENT], ids=["edge", "event", "component"])
KEYS = 2_000


class Stream:
    """A matcher of one pattern, which may hold so many keys: they have half of the bytes, and take 32 each."""

    def __init__(self, text: str, policy: str, keys: int = KEYS, *, deletions: bool = False) -> None:
        patterns, symbols = parse(text), Symbols()
        limits = Limits(state_bytes=64 * keys, policy=policy)
        read = columns(patterns)
        self.matcher = Matcher(plan_all(patterns, PlannerOptions()), symbols, read, deletions=deletions, limits=limits)
        self._decoder = JsonLinesDecoder(symbols, read, {})

    def push(self, *records: dict[str, Any]) -> list[Match]:
        batch = self._decoder.decode("".join(json.dumps(each) + "\n" for each in records).encode())
        return [match for matches in self.matcher.push(batch) for match in matches]


def make_edges(count: int, minute: int = 0) -> list[dict[str, Any]]:
    """Return edges of so many sources, two of each, one after the other."""
    return [
        {"ts": 60_000 * minute + place, "src": f"a{place // 2}", "dst": f"b{place}", "label": "k"} for place in range(2 * count)
    ]


@EACH
def test_as_many_keys_as_the_limit_allows_are_distinguished_in_each_interval(text: str) -> None:
    stream = Stream(text, "fail")
    for minute in range(3):
        assert len(stream.push(*make_edges(KEYS, minute))) == KEYS
    (report,) = stream.matcher.patterns()
    assert (report.suppressed, report.limit) == (3 * KEYS, "")


@EACH
def test_under_shed_the_matches_of_more_keys_are_emitted_and_marked(text: str) -> None:
    stream = Stream(text, "shed")
    assert {each.completeness for each in stream.push(*make_edges(KEYS))} == {Completeness.EXACT}
    found = stream.push(*make_edges(KEYS + 10))
    assert len(found) == 2 * 10
    assert {each.completeness for each in found} == {Completeness.SHED}
    assert stream.matcher.patterns()[0].limit == "2000 keys of ONE PER in an interval"
    assert len(stream.push(*make_edges(KEYS, 1))) == KEYS, "in the next interval there is room again"


@EACH
def test_more_keys_than_the_limit_allows_end_the_run(text: str) -> None:
    with pytest.raises(LimitExceededError, match="2000 keys of ONE PER in an interval"):
        Stream(text, "fail").push(*make_edges(KEYS + 1))


@EACH
def test_a_pattern_that_is_paused_at_its_keys_emits_nothing_after(text: str) -> None:
    stream = Stream(text, "pause")
    assert len(stream.push(*make_edges(KEYS + 1))) == KEYS + 2
    (report,) = stream.matcher.patterns()
    assert (report.paused, report.limit) == (True, "2000 keys of ONE PER in an interval")
    assert stream.push(*make_edges(3, 1)) == []


@EACH
@pytest.mark.parametrize("deletions", [False, True])
def test_keys_are_bytes_of_state_until_their_interval_is_over(text: str, *, deletions: bool) -> None:
    stream = Stream(text, "fail", 100_000, deletions=deletions)
    stream.push(*make_edges(1))
    before = stream.matcher.patterns()[0].state_bytes
    stream.push(*make_edges(5_000))
    assert stream.matcher.patterns()[0].state_bytes - before > 17 * 5_000
    stream.push({"ts": 120_000, "src": "a", "dst": "b", "label": "other"}, *make_edges(1, 3))
    assert stream.matcher.patterns()[0].state_bytes < before + 5_000


THREE = "PATTERN p MATCH (a)-[x:k]->(c), (b)-[y:k]->(c), (c)-[z:l]->(d) REPORT DISTINCT ON s WINDOW 1000"
OTHER = 'PATTERN other MATCH (a {id: "w"})-[x:k]->(b) ON s WINDOW 1000'


def edge(number: int, ts: int, ends: str, label: str) -> Edge:
    return Edge(EdgeId(f"e{number}"), EventTime(ts), VertexId(ends[0]), VertexId(ends[1]), label)


@pytest.mark.parametrize("engine", FAMILIES["isomorphism"].names)
@pytest.mark.parametrize("deletions", [False, True])
def test_the_past_of_a_pattern_that_came_lies_in_the_order_of_the_stream(engine: str, *, deletions: bool) -> None:
    (other,) = parse_subgraphs(OTHER)
    (pattern,) = parse_subgraphs("PATTERN p MATCH (a)-[x:k]->(b)-[y:l]->(c) REPORT ONE PER b.id EVERY 1000 ON s WINDOW 1000")
    # The first is in the store, the others nobody wanted when they came; all are of one time.
    edges = [edge(0, 5, "wv", "k"), edge(1, 5, "uv", "k"), edge(2, 5, "tv", "k"), edge(3, 6, "vz", "l"), edge(4, 7, "vz", "l")]
    members = Members(edges, plan(other, "timing"), deletions=deletions)
    members.push(3)
    number = members.add(plan(pattern, engine), 0)
    assert [each.edges for each in members.push()] == [(("x", "e0"), ("y", "e3"))]
    assert members.push() == []
    assert members.matcher.patterns()[number].suppressed == 5


@pytest.mark.parametrize("engine", FAMILIES["isomorphism"].names)
@pytest.mark.parametrize("replans", [False, True])
def test_edges_that_nobody_wanted_when_they_came_are_different_edges(engine: str, *, replans: bool) -> None:
    (other,) = parse_subgraphs(OTHER)
    (pattern,) = parse_subgraphs(THREE)
    edges = [edge(0, 5, "sv", "k"), edge(1, 5, "uv", "k"), edge(2, 5, "tv", "k"), edge(3, 6, "vz", "l")]
    members = Members(edges, plan(other, "timing"))
    members.push(3)
    number = members.add(plan(pattern, engine), 0)
    if replans:
        assert members.matcher.replan(number, plan(pattern, "re-search"))
    assert sorted(tuple(of for _, of in each.edges) for each in members.push()) == [
        ("e0", "e1", "e3"),
        ("e0", "e2", "e3"),
        ("e1", "e2", "e3"),
    ]


@EACH
def test_keys_of_a_pattern_that_goes_are_no_state(text: str) -> None:
    (pattern,) = parse(text)
    members = Members(make_chain(KEYS), plan(pattern, "auto"), deletions=False)
    members.push(KEYS)
    assert members.matcher.totals().state_bytes > 17 * KEYS
    members.matcher.remove(0)
    assert members.matcher.totals().state_bytes < KEYS
