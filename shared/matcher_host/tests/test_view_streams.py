"""The stream of a view has an edge for each result that becomes valid, whenever the host is killed; it is read as any."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.graph_query import GraphQuery
from graphtide_core.ids import EdgeId, PatternName, StreamName, VertexId
from graphtide_core.match import MatchKind
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_core.time import EventTime, TimeUnit
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_matcher_host import view_stream, views
from graphtide_native.records import ArrowDecoder, Symbols
from graphtide_ordering.ordered_records import Packing
from graphtide_query import parse, parse_subgraphs
from graphtide_query.reads import match_lookback
from graphtide_testing.host_world import TOPICS, HostWorld
from graphtide_testing.oracles.graph_queries import GraphQueryOracle
from graphtide_testing.registrations import registering, registration
from graphtide_testing.strategies import GraphQueryShape, StreamShape, edge_streams, graph_queries
from graphtide_wire import dead_letters, ordered
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    import random

    from graphtide_wire.ordered import OrderedHeader

VIEW = StreamName("v")
SERVICE = "matcher_algebra"
STREAM = StreamShape(labels=("a", "b"), vertices=3, duplicates=False, negative_ts=False, max_records=30)
QUERIES = graph_queries(GraphQueryShape(streams=("s",), labels=("a", "b"), wide_answers=False))
PATTERN = "PATTERN p MATCH (x)-[d]->(y), (y)-[e]->(z) ORDER d < e ON v WINDOW 6ms"


def view_of(query: GraphQuery) -> GraphQuery:
    return replace(query, name=PatternName(VIEW), is_view=True)


def read_view(world: HostWorld) -> list[tuple[OrderedHeader, list[dict[str, Any]]]]:
    """Return the records of the view's stream: what headers say, and the edges; no heartbeats."""
    reader = world.log.reader(None)
    reader.assign({TopicPartition(TOPICS.ordered(VIEW), 0): 0})
    decoder = ArrowDecoder(Symbols(), (), {})
    found = [(ordered.header(each.headers), decoder.decode(each.value or b"").to_records()) for each in reader.poll(0, 10**6)]
    return [(header, edges) for header, edges in found if edges]


def list_matches(world: HostWorld, query: GraphQuery, start: int) -> list[list[tuple[Any, ...]]]:
    """Return what the stream of a view that runs from an offset on has, by records that brought it about, each in no order."""
    expected: list[list[tuple[Any, ...]]] = []
    for epoch in range(world.stream_epoch + 1):
        oracle, known = GraphQueryOracle(query), dict[tuple[Any, ...], int]()
        lookback = max(6, match_lookback(query, TimeUnit.MILLISECOND))
        for offset, of, edge in world.sent:
            if of != epoch or not isinstance(edge, Edge):
                continue
            said = []
            for each in oracle.push(edge):
                key = (each.label, *map(str, each.row))
                if offset < start:
                    continue
                if each.kind is MatchKind.MATCH:
                    known[key] = int(edge.ts)
                    said.append(("insert", int(edge.ts), *key))
                elif each.kind is MatchKind.RETRACT and each.valid[0] == edge.ts and key in known:
                    born = known.pop(key)
                    said += [("delete", int(edge.ts), born)] if born > edge.ts - lookback else []
            expected += [said] if said else []
    return expected


def edges_of(world: HostWorld) -> list[tuple[Any, ...]]:
    """Return the edges and deletions of the view's stream, a deletion with the time of the edge that it names."""
    times: dict[str, int] = {}
    found: list[tuple[Any, ...]] = []
    for _, edges in read_view(world):
        for edge in edges:
            if edge.get("op") == "delete":
                found.append(("delete", edge["ts"], times[edge["id"]]))
            else:
                times[edge["id"]] = edge["ts"]
                found.append(("insert", edge["ts"], edge["label"], edge["src"], edge["dst"]))
    return found


def check(world: HostWorld, query: GraphQuery, start: int) -> None:
    found = edges_of(world)
    for said in list_matches(world, query, start):
        assert sorted(found[: len(said)], key=repr) == sorted(said, key=repr)
        found = found[len(said) :]
    assert not found
    ordinal = number = 0
    last = (0, -1)
    for header, edges in read_view(world):
        assert (header.ordinal, header.number, header.records) == (ordinal, number, len(edges))
        assert last <= (header.epoch, header.first_ts)
        last = (header.epoch, header.last_ts)
        ordinal += len(edges)
        number += sum(edge.get("op") != "delete" for edge in edges)


@given(stream=edge_streams(STREAM, min_records=6), query=QUERIES, rng=st.randoms(use_true_random=False))
def test_a_view_writes_its_stream_once_whenever_its_host_is_killed(
    stream: tuple[Edge, ...], query: GraphQuery, rng: random.Random
) -> None:
    view = view_of(query)
    world = HostWorld(StreamName("s"), service=SERVICE)
    # A reader of the stream sets how long edges of withdrawn results must be known.
    world.writer.write([registering(TOPICS, registration(PATTERN, datetime(2026, 1, 1, tzinfo=UTC)))])
    world.plan(view, rng.choice(("s-path", "delta-tree")), service=SERVICE, start=0)
    rest = list(stream)
    while rest:
        size = rng.randint(1, 3)
        world.send(rest[:size])
        rest = rest[size:]
        if rng.random() < 0.1:
            world.host, world.checkpoints = None, MemoryCheckpoints()
        if rng.random() < 0.1:
            world.plan(view, rng.choice(("s-path", "delta-tree")), service=SERVICE, start=0)
        world.fuse.length = rng.choice((0, 0, rng.randint(1, 60)))
        world.live(rng.randint(0, 4))
    world.settle()
    check(world, view, 0)


def edge(number: int, ts: int, source: str, target: str, label: str = "a") -> Edge:
    return Edge(EdgeId(f"e{number}"), EventTime(ts), VertexId(source), VertexId(target), label)


def deletion(of: Edge, ts: int) -> Edge:
    return replace(of, ts=EventTime(ts), operation=Operation.DELETE)


def ask(text: str) -> GraphQuery:
    (query,) = parse(text)
    assert isinstance(query, GraphQuery)
    return query


NEAR = f"GRAPH VIEW {VIEW} AS ( CONSTRUCT (x)-[:near]->(y) MATCH (x)-/<:a+>/->(y) ON s WINDOW(10ms) )"


def world_of(text: str, stream: list[Edge]) -> HostWorld:
    world = HostWorld(StreamName("s"), service=SERVICE)
    world.plan(ask(text), "s-path", service=SERVICE, start=0)
    for each in stream:
        world.send([each])
    world.settle()
    return world


def test_a_pattern_reads_results_of_a_view_and_takes_back_what_is_withdrawn() -> None:
    world = world_of(NEAR, [one := edge(0, 1, "u", "v"), edge(1, 3, "v", "w")])
    (pattern,) = parse_subgraphs(f"PATTERN p MATCH (x)-[d:near]->(y), (y)-[e:near]->(z) ORDER d < e ON {VIEW} WINDOW 9ms")
    beside = world.beside("matcher_timing")
    beside.plan(pattern, "timing", start=0)
    beside.settle()
    world.send([deletion(one, 5)])
    world.settle()
    beside.settle()
    lines = [json.loads(line) for line in bodies(world, "p")]
    assert [(each["kind"], each["detected_at"], each["vertices"]) for each in lines] == [
        ("match", 3, {"x": "u", "y": "v", "z": "w"}),
        ("retract", 5, {"x": "u", "y": "v", "z": "w"}),
    ]


def bodies(world: HostWorld, name: str) -> list[bytes]:
    """Return the match records of a pattern."""
    reader = world.log.reader(None)
    reader.assign({TopicPartition(TOPICS.matches, 0): 0})
    return [record.value or b"" for record in reader.poll(0, 10**6) if record.key == name.encode()]


def test_a_result_that_comes_back_is_another_edge_and_one_that_lasts_longer_is_none() -> None:
    world = world_of(NEAR, [edge(0, 1, "u", "v"), edge(1, 5, "u", "v"), edge(2, 40, "u", "v"), edge(3, 40, "x", "x", "b")])
    ((first,), (second,)) = ([each["id"] for each in edges] for _, edges in read_view(world))
    assert (first[:32], first[32:], second[32:]) == (second[:32], "-1", "-40")


@pytest.mark.parametrize("is_first", [True, False])
def test_a_result_that_comes_and_goes_in_one_record_is_deleted(is_first: bool) -> None:
    world = HostWorld(StreamName("s"), service=SERVICE)
    world.plan(ask(NEAR), "s-path", service=SERVICE, start=0)
    if not is_first:
        world.send([edge(0, 90, "u", "v")])
        world.begin_epoch()
    world.send([one := edge(1, 5, "u", "v"), deletion(one, 5), edge(2, 6, "v", "w")])
    world.settle()
    assert edges_of(world)[-3:] == [("insert", 5, "near", "u", "v"), ("delete", 5, 5), ("insert", 6, "near", "v", "w")]


def test_times_of_a_view_begin_anew_with_those_of_its_stream_and_where_another_stream_is_behind() -> None:
    world = world_of(NEAR, [edge(0, 100, "u", "v")])
    world.begin_epoch()
    world.send([edge(1, 2, "u", "v")])
    world.settle()
    world.host = None
    world.send([edge(2, 3, "v", "w")])
    world.settle()
    assert [(header.epoch, header.source_epoch, int(header.first_ts)) for header, _ in read_view(world)] == [
        (0, 0, 100),
        (1, 1, 2),
        (1, 1, 3),
    ]
    # The view now reads a stream whose times are behind.
    other = HostWorld(StreamName("t"), world.log, world.checkpoints, service=SERVICE)
    other.epoch = world.epoch
    other.plan(replace(ask(NEAR.replace("ON s", "ON t")), version=2), "s-path", service=SERVICE, start=0)
    other.send([edge(3, 1, "a", "b")])
    other.settle()
    other.send([edge(4, 2, "b", "c")])
    other.settle()
    assert [(header.epoch, int(header.first_ts)) for header, _ in read_view(world)][3:] == [(2, 1), (2, 2)]


def test_records_of_a_views_stream_that_nobody_can_read_are_passed_over() -> None:
    world = world_of(NEAR, [edge(0, 1, "u", "v")])
    topic = TOPICS.ordered(VIEW)
    reader = world.log.reader(None)
    reader.assign({TopicPartition(topic, 0): 0})
    (genuine,) = reader.poll(0, 10)
    world.writer.write([Message(topic, None, b"nothing", headers, partition=0) for headers in ((), genuine.headers)])
    bad = reader.ends([TopicPartition(topic, 0)])[TopicPartition(topic, 0)][1] - 1
    world.host = None
    world.send([edge(1, 3, "v", "w")])
    world.settle()
    reader.assign({TopicPartition(topic, 0): bad + 1})
    decoder = ArrowDecoder(Symbols(), (), {})
    edges = [edge for each in reader.poll(0, 10) if each.value for edge in decoder.decode(each.value).to_records()]
    assert {(each["src"], each["dst"]) for each in edges} == {("v", "w"), ("u", "w")}
    assert len(bodies(world, VIEW)) == 3, "the view continues"


def test_readers_of_a_view_learn_that_time_has_passed() -> None:
    world = world_of(NEAR, [edge(0, 1, "u", "v")])
    world.pass_time(50)
    with patch.object(views, "DEFAULT_HEARTBEAT_SECONDS", 0):
        world.settle()
    reader = world.log.reader(None)
    reader.assign({TopicPartition(TOPICS.ordered(VIEW), 0): 0})
    (_, last) = (ordered.header(each.headers) for each in reader.poll(0, 10**6))
    assert (last.records, last.watermark, last.last_ts, last.number) == (0, 50, 1, 1)


def test_an_edge_that_no_record_takes_is_rejected_and_the_rest_continues() -> None:
    with patch.object(view_stream, "Packing", lambda topic, unit, **more: Packing(topic, unit, most_bytes=3_000, **more)):
        world = world_of(NEAR, [edge(0, 1, "u", "v" * 4_000), edge(1, 2, "x", "y")])
    assert [[each["src"] for each in edges] for _, edges in read_view(world)] == [["x"]]
    reader = world.log.reader(None)
    reader.assign({TopicPartition(TOPICS.dead_letters(VIEW), 0): 0})
    (letter,) = (dead_letters.decode(record) for record in reader.poll(0, 10))
    assert (letter.code, b"v" * 4_000 in letter.raw) == ("too-large", True)
