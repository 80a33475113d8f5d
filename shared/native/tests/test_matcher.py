"""The matcher as a whole: counts, limits, memory, dispatch."""

from __future__ import annotations

import json

import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.errors import LimitExceededError
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.plans import Storage
from graphtide_core.time import EventTime
from graphtide_native.matcher import Matcher
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.spec import Concurrency, Limits
from graphtide_query import parse_subgraphs
from graphtide_query.families import PlannerOptions
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.records import to_json_lines

TRIANGLE = "PATTERN t MATCH (a)-[x:k]->(b)-[y:k]->(c)-[z:k]->(a) ORDER x < y < z ON s WINDOW 100"


def edge(number: int, source: object, target: object, label: str = "k", **attributes: int) -> Edge:
    return Edge(
        EdgeId(f"e{number}"), EventTime(number), VertexId(str(source)), VertexId(str(target)), label, attributes=attributes
    )


def test_an_edge_that_no_prefix_waits_for_is_discarded_and_counted() -> None:
    (pattern,) = parse_subgraphs(TRIANGLE)
    feed = Feed(plan(pattern, "timing"))
    feed.push(edge(1, "a", "b"), edge(2, "b", "c"))
    (report,) = feed.matcher.patterns()
    # Each edge fits x, y and z; e1 begins a match as x, e2 begins one as x and extends one as y.
    assert (report.candidates, report.discarded) == (6, 3)
    assert report.hits == (2, 2, 2)
    assert [(item.name, item.created) for item in report.items] == [("L1.1", 2), ("L1.2", 1)]


def test_what_left_the_window_is_given_back() -> None:
    (pattern,) = parse_subgraphs(TRIANGLE)
    for engine in ("timing", "re-search"):
        feed = Feed(plan(pattern, engine), deletions=False)
        sizes = []
        for start in range(0, 20_000, 1_000):
            feed.push(*(edge(number, number % 97, (number * 7) % 89) for number in range(start, start + 1_000)))
            sizes.append(feed.matcher.totals().state_bytes)
        assert max(sizes[10:]) <= 1.2 * max(sizes[:10]), engine
        feed.push(edge(10**6, "x", "y"))
        feed.push(edge(10**7, "x", "y", "other"))
        assert feed.matcher.totals().state_bytes == 0, engine
        assert feed.matcher.patterns()[0].partial_matches == 0


@pytest.mark.parametrize("storage", list(Storage))
def test_a_partial_match_takes_less_room_in_the_dag(storage: Storage) -> None:
    text = "PATTERN s MATCH (c)-[w:k]->(p), (c)-[x:k]->(q), (c)-[y:k]->(r), (c)-[z:k]->(t) ON s WINDOW 1000"
    (pattern,) = parse_subgraphs(text)
    sizes = {}
    for kind in (storage, Storage.MS_DAG):
        feed = Feed(plan(pattern, PlannerOptions.of("timing", kind.value)), deletions=False)
        feed.push(*(edge(number, "hub", number) for number in range(12)))
        sizes[kind] = feed.matcher.patterns()[0].state_bytes
    assert sizes[Storage.MS_DAG] <= sizes[storage]


def test_at_a_bound_on_bytes_the_run_fails_and_names_the_pattern() -> None:
    (pattern,) = parse_subgraphs(TRIANGLE)
    for engine in ("timing", "re-search"):
        feed = Feed(plan(pattern, engine), limits=Limits(state_bytes=400))
        with pytest.raises(LimitExceededError, match=r"'t' reached its limit of .*400 bytes"):
            feed.push(*(edge(number, number, number + 1) for number in range(200)))


@pytest.mark.parametrize("engine", ["timing", "re-search"])
def test_a_pattern_that_sheds_says_so_from_then_on(engine: str) -> None:
    (pattern,) = parse_subgraphs("PATTERN p MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y ON s WINDOW 10000")
    feed = Feed(plan(pattern, engine), limits=Limits(state_bytes=1_000, policy="shed"), deletions=False)
    feed.push(edge(0, "a", "b"), edge(1, "b", "c"))
    feed.push(*(edge(number, f"s{number}", f"t{number}") for number in range(2, 300)))
    assert feed.matcher.patterns()[0].state_bytes <= 1_100


def test_limits_hold_for_several_threads() -> None:
    (pattern,) = parse_subgraphs(TRIANGLE)
    feed = Feed(plan(pattern, "timing"), limits=Limits(partial_matches=5), concurrency=Concurrency(2))
    with pytest.raises(LimitExceededError):
        feed.push(*(edge(number, number, number + 1) for number in range(200)))


def test_a_deletion_of_what_no_pattern_wanted_changes_nothing() -> None:
    (pattern,) = parse_subgraphs(TRIANGLE)
    feed = Feed(plan(pattern, "timing"))
    feed.push(edge(1, "a", "b", "unwanted"))
    gone = Edge(EdgeId("e1"), EventTime(2), VertexId(""), VertexId(""), "", operation=Operation.DELETE)
    assert feed.push(gone) == []
    assert feed.matcher.totals().deletions == 0


def test_vertex_constants_of_many_patterns_cost_one_look_up() -> None:
    patterns = [
        parse_subgraphs(f'PATTERN p{number} MATCH (a {{id: "host{number}"}})-[x:k]->(b) ON s WINDOW 10')[0]
        for number in range(500)
    ]
    feed = Feed(*(plan(pattern, "timing") for pattern in patterns), deletions=False)
    (found,) = feed.push(edge(1, "host123", "other"))
    assert dict(found.vertices) == {"a": "host123", "b": "other"}
    assert sum(report.candidates for report in feed.matcher.patterns()) == 1


def test_edges_of_no_pattern_leave_no_state() -> None:
    (pattern,) = parse_subgraphs(TRIANGLE)
    feed = Feed(plan(pattern, "re-search"))
    feed.push(*(edge(number, number, number + 1, f"label{number}") for number in range(1, 5_000)))
    totals = feed.matcher.totals()
    assert (totals.records, totals.relevant, totals.state_bytes) == (4_999, 0, 0)


def test_match_records_come_one_by_one_as_they_are_written() -> None:
    (pattern,) = parse_subgraphs("PATTERN two MATCH (a)-[x:k]->(b)-[y:k]->(c) ON s WINDOW 100")
    symbols = Symbols()
    deletion = Edge(EdgeId("e1"), EventTime(3), VertexId(""), VertexId(""), "", operation=Operation.DELETE)
    lines = to_json_lines([edge(1, "a", "b"), edge(2, "b", "c"), deletion])
    matcher = Matcher([plan(pattern, "re-search")], symbols, deletions=True)
    batches = list(matcher.push(JsonLinesDecoder(symbols, [], {}).decode(lines)))
    records = [record for batch in batches for record in batch.records()]
    assert [(record.pattern.name, record.kind.value) for record in records] == [("two", "match"), ("two", "retract")]
    assert {json.loads(record.json)["match_id"] for record in records} == {records[0].match_id} == {records[1].match_id}
    assert b"".join(record.json + b"\n" for record in records) == b"".join(batch.to_json_lines() for batch in batches)
