"""Edges are found by their ids, so that a match can be drawn."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_admin_api.application.edges import Edge, Edges
from graphtide_core.ids import StreamName
from graphtide_core.statistics import EdgeType, StatisticsSnapshot
from graphtide_core.time import EventTime, TimeUnit
from graphtide_log.memory import MemoryLog
from graphtide_wire import matches, ordered, ordered_body, statistics, stream_schema
from graphtide_wire.place import Place
from graphtide_wire.topics import Topics
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.edge import Value
    from graphtide_core.ports.log import Log

    from conftest import Deployment

TOPICS = Topics()
S = StreamName("s")
TEXT = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10"


class Stream:
    """Writes ordered edges, each record in a transaction of its own, as a sequencer does."""

    def __init__(self, log: Log) -> None:
        self._transactor = log.transactor("sequencer")
        self._transactor.open()
        self._ordinal = self.epoch = 0

    def write(self, *edges: tuple[int, str], **more: Sequence[Value]) -> None:
        """Write a record of edges, each a time and an id; `more` are further columns."""
        count = len(edges)
        columns: dict[str, Sequence[Value]] = {
            "ts": [ts for ts, _ in edges],
            "src": [f"from {id}" for _, id in edges],
            "dst": [f"to {id}" for _, id in edges],
            "label": ["pays"] * count,
            "src_label": [None] * count,
            "dst_label": ["shop"] * count,
            "id": [id for _, id in edges],
            **more,
        }
        first, last = EventTime(edges[0][0]), EventTime(edges[-1][0])
        header = ordered.OrderedHeader(first, last, count, self._ordinal, last, TimeUnit.MILLISECOND, epoch=self.epoch)
        self._ordinal += count
        self._transactor.begin()
        self._transactor.write([ordered.encode(TOPICS.ordered(S), header, ordered_body.encode(columns))])
        self._transactor.commit("g", {})


@pytest.fixture
def stream(deployment: Deployment) -> Stream:
    deployment.log.admin().ensure(TOPICS.of_stream(S))
    return Stream(deployment.log)


def test_a_match_is_shown_with_its_edges(deployment: Deployment, stream: Stream) -> None:
    stream.write((1, "e1"), (2, "e2"), amount=[7, None], note=[float("nan"), 0.5], **{ordered_body.MADE: [False, True]})
    stream.write((3, "e3"))
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    for edges in ('{"x":"e1","y":"e3"}', '{"x":"e2","y":"gone"}'):
        body = f'{{"match_id":"m","query":"p","kind":"match","detected_at":3,"first_ts":1,"last_ts":3,"edges":{edges}}}'
        deployment.writer.write([matches.encode(TOPICS.matches, body.encode(), 1, None)])
    shown = deployment.http.get("/api/v1/patterns/p/matches/0-0").json()
    common = {"label": "pays", "src_label": None, "dst_label": "shop"}
    one = {"id": "e1", "ts": 1, "src": "from e1", "dst": "to e1", "made": False, "attributes": {"amount": 7, "note": "nan"}}
    three = {"id": "e3", "ts": 3, "src": "from e3", "dst": "to e3", "made": False, "attributes": {}}
    assert shown["edges"] == {"x": {**common, **one}, "y": {**common, **three}}
    assert (shown["place"], shown["match"]["match_id"]) == ("0-0", "m")
    partly = deployment.http.get("/api/v1/patterns/p/matches/0-1").json()["edges"]
    assert (partly["x"]["made"], partly["x"]["attributes"], partly["y"]) == (True, {"note": 0.5}, None)
    deployment.report(1, name="other")
    for place, answer in (
        ("0-2", (404, "not-found")),
        ("0-9", (404, "not-found")),
        ("9-0", (404, "not-found")),
        ("0", (400, "bad-place")),
    ):
        refused = deployment.http.get(f"/api/v1/patterns/p/matches/{place}")
        assert (refused.status_code, refused.json()["code"]) == answer


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ('"edges":{"x":["e1","e2"],"y":["gone"]}', {"x": ["e1", "e2"], "y": [None]}),
        ('"events":{"x":"e1","y":["e2","e3"]}', {"x": "e1", "y": ["e2", "e3"]}),
        ('"src":"a","dst":"b","valid":[1,9],"path":["e1",{"label":"l","src":"a","dst":"b"},"e3"]', {"path": ["e1", "e3"]}),
        ('"src":"a","dst":"b","valid":[1,9]', {}),
        ('"events":{"x":"e1"},"count":3', {"x": "e1"}),
    ],
)
def test_matches_of_every_family_are_shown_with_what_they_name(
    deployment: Deployment, stream: Stream, members: str, expected: dict[str, str | list[str | None]]
) -> None:
    is_event = "events" in members
    ends: dict[str, Sequence[Value]] = {"src": [""] * 3, "dst": [""] * 3, ordered_body.EVENT: [True] * 3} if is_event else {}
    stream.write((1, "e1"), (2, "e2"), (3, "e3"), **ends)
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    body = f'{{"match_id":"m","query":"p","kind":"match","detected_at":3,"first_ts":1,"last_ts":3,{members}}}'
    deployment.writer.write([matches.encode(TOPICS.matches, body.encode(), 1, None)])
    answer = deployment.http.get("/api/v1/patterns/p/matches/0-0")
    assert answer.status_code == 200, answer.text

    def ids(found: Any) -> Any:
        return [each and each["id"] for each in found] if isinstance(found, list) else found["id"]

    shown = answer.json()["edges"]
    assert {name: ids(found) for name, found in shown.items()} == expected
    found = deployment.http.get("/api/v1/streams/s/edges:find?id=e1").json()["edges"]
    assert [each["src"] for each in found] == ["" if is_event else "from e1"]


def test_edges_are_found_by_id_and_by_time_in_the_newest_epoch_that_has_them(deployment: Deployment, stream: Stream) -> None:
    stream.write((1, "a"), (5, "b"))
    stream.write((5, "a"), op=["delete"])
    stream.write((9, "a"))
    stream.epoch = 1
    stream.write((2, "b"))

    def found(query: str) -> list[tuple[str, int]]:
        answer = deployment.http.get(f"/api/v1/streams/s/edges:find?{query}").json()
        assert answer["truncated"] is False
        return [(each["id"], each["ts"]) for each in answer["edges"]]

    assert found("id=a") == [("a", 9), ("a", 1)], "a deletion is not an edge"
    assert found("id=b") == [("b", 2)]
    assert found("id=b&from=5&to=6") == [("b", 5)]
    assert found("id=a&id=b&to=9&from=1") == [("b", 2)], "edges of two epochs are of no match"
    assert found("id=c") == found("id=a&from=10") == found("id=a&to=1") == []
    for query, status in (("", 422), ("ids=a", 422), ("id=a&from=x", 422)):
        assert deployment.http.get(f"/api/v1/streams/s/edges:find?{query}").status_code == status
    assert deployment.http.get("/api/v1/streams/nowhere/edges:find?id=a").status_code == 404
    assert deployment.http.get("/api/v1/streams/s/edges:find?id=a", headers={"X-API-Key": "writer"}).status_code == 403


def test_what_is_not_looked_at_is_said() -> None:
    log = MemoryLog()
    log.admin().ensure(TOPICS.of_stream(S))
    stream = Stream(log)
    for ts in range(5):
        stream.write((ts, str(ts)))
    edges = Edges(log, TOPICS, most_edges=2)
    assert (edges.find([S], ["4"], None, None).is_whole, edges.find([S], ["0"], None, None).is_whole) == (False, False)
    near = edges.find([S], ["0"], 0, 1)
    assert ([each.id for each in near.edges], near.is_whole) == (["0"], True)


@given(
    records=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), max_size=8),
    epochs=st.sets(st.integers(0, 8)),
    ids=st.sets(st.integers(0, 20), min_size=1),
    since=st.none() | st.integers(-1, 12),
    until=st.none() | st.integers(-1, 12),
)
def test_all_edges_of_the_times_are_found(
    records: list[list[int]], epochs: set[int], ids: set[int], since: int | None, until: int | None
) -> None:
    log = MemoryLog()
    log.admin().ensure([*TOPICS.of_stream(S), *TOPICS.of_deployment()])
    stream, now = Stream(log), 0
    written: list[tuple[int, int, str]] = []
    for number, steps in enumerate(records):
        if number in epochs:
            stream.epoch, now = stream.epoch + 1, 0
        edges: list[tuple[int, str]] = []
        for step in steps:
            now += step
            edges.append((now, str((len(written) + len(edges)) % 13)))
        stream.write(*edges)
        written += [(stream.epoch, ts, id) for ts, id in edges]
    asked = {str(each) for each in ids}
    is_in = [
        each
        for each in written
        if each[2] in asked and (since is None or each[1] >= since) and (until is None or each[1] < until)
    ]
    newest = max((epoch for epoch, _, _ in is_in), default=0)
    found = Edges(log, TOPICS).find([S], asked, since, until)
    assert [(each.ts, each.id) for each in found.edges] == [(ts, id) for epoch, ts, id in reversed(is_in) if epoch == newest]
    assert found.is_whole
    assert Edges(log, TOPICS).match([S], "p", Place(0, 0)) is None


def test_edges_of_a_vertex_and_the_newest_edges_are_found(deployment: Deployment, stream: Stream) -> None:
    stream.write((1, "e1"), (2, "e2"), src=["x", "y"], dst=["y", "z"])
    stream.write((3, "e3"), (4, "e4"), src=["z", "y"], dst=["x", "y"], op=["delete", None])
    path = "/api/v1/streams/s/edges"

    def ids(query: str) -> tuple[list[str], bool]:
        found = deployment.http.get(f"{path}{query}").json()
        return [edge["id"] for edge in found["edges"]], found["truncated"]

    assert ids(":find?vertex=y") == (["e4", "e2", "e1"], False)
    assert ids(":find?vertex=x") == (["e1"], False)
    assert ids(":find?vertex=y&from=2&to=4") == (["e2"], False)
    assert ids(":find?vertex=y&limit=2") == (["e4", "e2"], True)
    assert ids(":find?vertex=nobody") == ([], False)
    assert ids("") == (["e4", "e2", "e1"], False)
    assert ids("?last=3") == (["e4", "e2", "e1"], False)
    assert ids(":find?vertex=y&limit=3") == (["e4", "e2", "e1"], False)
    assert ids("?last=2") == (["e4", "e2"], True)
    for query, status in ((":find", 422), (":find?vertex=y&id=e1", 422), ("?last=10001", 422), ("?last=0", 422)):
        assert deployment.http.get(f"{path}{query}").status_code == status, query
    assert deployment.http.get("/api/v1/streams/nobody/edges").status_code == 404


@given(
    records=st.lists(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("xyz")), min_size=1, max_size=4), max_size=5),
    most=st.integers(1, 8),
)
def test_edges_of_a_vertex_are_those_that_a_reader_of_all_would_keep(records: list[list[tuple[str, str]]], most: int) -> None:
    log = MemoryLog()
    log.admin().ensure(TOPICS.of_stream(S))
    stream, every = Stream(log), list[tuple[str, str, str]]()
    for record in records:
        numbers = range(len(every), len(every) + len(record))
        every += [(str(number), src, dst) for number, (src, dst) in zip(numbers, record, strict=True)]
        ends = {"src": [src for src, _ in record], "dst": [dst for _, dst in record]}
        stream.write(*((number, str(number)) for number in numbers), **ends)
    edges = Edges(log, TOPICS)
    assert [edge.id for edge in edges.newest([S], most).edges] == [id for id, _, _ in reversed(every)][:most]
    asked = [id for id, src, dst in reversed(every) if "x" in {src, dst}]
    found = edges.around([S], "x", None, None, most)
    assert [edge.id for edge in found.edges] == asked[:most]
    assert found.is_whole == (len(asked) <= most)


def test_the_schema_has_labels_with_counts_and_values_for_those_who_may_see_edges(
    deployment: Deployment, stream: Stream
) -> None:
    stream.write((1, "e1"), (2, "e2"), (3, "e3"), amount=[7, None, 7], note=["a", "b", "c"])
    schema = stream_schema.SchemaRecord("s", "seen", {"amount": "integer", "note": "string"})
    deployment.write(TOPICS.schemas, stream_schema.schema_key("s", "seen"), stream_schema.encode_schema(schema))
    types = {EdgeType(None, "pays", None): 2, EdgeType("shop", "pays", None): 3, EdgeType(None, "owes", None): 9}
    snapshot = StatisticsSnapshot(edges=14, types=types)
    record = statistics.StatisticsRecord("s", 1, snapshot)
    deployment.write(TOPICS.statistics, b"s", statistics.encode_statistics(record))
    path = "/api/v1/streams/s/schema"
    deployment.until(lambda: len(deployment.http.get(path).json()["labels"]) == 2)
    deployment.until(lambda: len(deployment.http.get(path).json()["attributes"]) == 2)
    shown = deployment.http.get(f"{path}?examples=2").json()
    assert shown["labels"] == {"owes": 9, "pays": 5}
    assert {each["name"]: each["examples"] for each in shown["attributes"]} == {"amount": [7], "note": ["c", "b"]}
    assert all(each["examples"] == [] for each in deployment.http.get(path).json()["attributes"])
    assert deployment.http.get(f"{path}?examples=2", headers={"X-API-Key": "writer"}).status_code == 403


def test_patterns_are_tried_on_the_newest_edges_of_their_stream(deployment: Deployment, stream: Stream) -> None:
    ends = {"src": ["a", "b", "c"], "dst": ["b", "c", "d"]}
    stream.write((1, "e1"), (2, "e2"), (3, "e3"), amount=[1, 2, 3], **ends)
    path = "/api/v1/patterns:simulate"
    found = deployment.http.post(path, json={"text": TEXT, "last": 100}).json()
    assert [each["edges"] for each in found["matches"]] == [{"x": "e1", "y": "e2"}, {"x": "e2", "y": "e3"}]
    assert (set(found["edges"]), found["edges"]["e1"]["attributes"], found["rejected"]) == (
        {"e1", "e2", "e3"},
        {"amount": 1},
        [],
    )
    newest = deployment.http.post(path, json={"text": TEXT, "last": 2}).json()
    assert [each["edges"] for each in newest["matches"]] == [{"x": "e2", "y": "e3"}]
    for body, status in (
        ({"text": TEXT}, 422),
        ({"text": TEXT, "last": 1, "edges": []}, 422),
        ({"text": TEXT, "last": 0}, 422),
        ({"text": TEXT.replace("ON s", "ON nobody"), "last": 1}, 404),
        ({"text": f"{TEXT} {TEXT.replace('PATTERN p', 'PATTERN q').replace('ON s', 'ON r')}", "last": 1}, 422),
    ):
        assert deployment.http.post(path, json=body).status_code == status, body
    refused = deployment.http.post(path, json={"text": TEXT, "last": 1}, headers={"X-API-Key": "writer"})
    assert refused.status_code == 403
    without = deployment.http.post(path, json={"text": TEXT, "edges": []}, headers={"X-API-Key": "writer"})
    assert (without.status_code, without.json()["edges"]) == (200, {})


def test_an_edge_and_an_event_are_tried_as_they_were_sent() -> None:
    common: Any = {"is_made": False, "attributes": {"user": "ann"}}
    event = Edge("f1", 1, "", "", "failed", None, None, **common)
    assert json.loads(event.as_sent()) == {"id": "f1", "ts": 1, "type": "failed", "user": "ann"}
    edge = Edge("e1", 1, "a", "b", None, None, "shop", **common)
    assert json.loads(edge.as_sent()) == {"id": "e1", "ts": 1, "src": "a", "dst": "b", "dst_label": "shop", "user": "ann"}
