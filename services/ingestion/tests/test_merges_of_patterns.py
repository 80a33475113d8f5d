"""Streams that registered patterns read together are merged by the service, for as long as a pattern wants them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from fastapi.testclient import TestClient
from graphtide_core.errors import InvalidQueryError, TransientError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, Position, TopicPartition, TopicSpec
from graphtide_ingestion.application.registered_merges import RegisteredMerges
from graphtide_ingestion.application.streams import DerivedStreamError, StreamOptions, Streams
from graphtide_ingestion.bootstrap import bootstrap, make_topics
from graphtide_ingestion.settings import Settings
from graphtide_log.memory import MemoryLog
from graphtide_native.records import ArrowDecoder, Symbols
from graphtide_testing.registrations import registering, registration
from graphtide_testing.waiting import wait_until
from graphtide_wire.reads_form import LookbackForm, ReadsForm
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log

PATIENCE = 30.0
TOPICS = Topics("test")
NDJSON = {"content-type": "application/x-ndjson"}
EDGE = b'{"ts":1,"src":"v","dst":"w","label":"x","id":"1"}'
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def write(log: Log, message: Message) -> None:
    writer = log.writer()
    writer.write([message])
    writer.flush(5)
    writer.close()


def pattern(name: str, *streams: str) -> Message:
    reads = ReadsForm(streams, LookbackForm("1h"), None, ())
    text = f"PATTERN {name} MATCH (v)-[e:x]->(w) ON {streams[0]} WINDOW 1h"
    return registering(TOPICS, registration(text, NOW, reads=reads))


def test_the_merged_streams_are_those_of_the_patterns_that_are_registered() -> None:
    log = MemoryLog()
    log.admin().ensure(TOPICS.of_deployment())
    merges = RegisteredMerges(log, TOPICS)
    assert merges.look() == frozenset()
    write(log, pattern("one", "b", "a"))
    write(log, pattern("two", "a", "b", "a"))
    write(log, pattern("single", "c"))
    write(log, pattern("damaged", "a", "No Stream"))
    write(log, Message(TOPICS.patterns, b"bad", b"{}"))
    assert merges.look() == {"a.b"}
    write(log, pattern("one", "b", "c"))
    assert merges.look() == {"a.b", "b.c"}
    write(log, Message(TOPICS.patterns, b"two", None))
    assert merges.look() == {"b.c"}
    merges.close()
    assert merges.look() == {"b.c"}


def test_where_the_log_does_not_give_patterns_the_next_look_begins_anew() -> None:
    log = MemoryLog()
    merges = RegisteredMerges(log, TOPICS)
    with pytest.raises(TransientError):
        merges.look()
    log.admin().ensure(TOPICS.of_deployment())
    write(log, pattern("one", "b", "a"))
    assert merges.look() == {"a.b"}


def test_streams_are_merged_once_a_pattern_reads_them_and_no_longer_when_none_does() -> None:
    log = MemoryLog()
    settings = Settings(prefix="test", streams=("a", "b"), insecure=True, clock="live", idle_seconds=0.05)
    service = bootstrap(log, settings)
    with TestClient(service.app) as client:
        wait_until(lambda: service.sequencers.running == 2, PATIENCE)
        write(log, pattern("both", "a", "b"))
        wait_until(lambda: service.sequencers.running == 3, PATIENCE)
        for stream, ts in (("a", 1), ("b", 2), ("a", 3), ("b", 4)):
            body = f'{{"ts":{ts},"src":"v","dst":"w","label":"x","id":"{ts}"}}'
            assert client.post(f"/api/v1/streams/{stream}/edges", content=body, headers=NDJSON).status_code == 202
        wait_until(lambda: merged_edges(log) == [("a", "1"), ("b", "2"), ("a", "3"), ("b", "4")], PATIENCE)
        answer = client.post("/api/v1/streams/a.b/edges", content=b"", headers=NDJSON)
        assert (answer.status_code, answer.json()["code"]) == (409, "derived-stream")
        assert {each.name for each in service.sequencers.ready()} == {f"test.sequencer.{name}" for name in ("a", "b", "a.b")}
        write(log, Message(TOPICS.patterns, b"both", None))
        wait_until(lambda: service.sequencers.running == 2, PATIENCE)


def merged_edges(log: Log) -> list[tuple[str, str]]:
    reader, topic = log.reader(None), TOPICS.ordered(StreamName("a.b"))
    reader.assign(dict.fromkeys(reader.partitions(topic), 0))
    decoder = ArrowDecoder(Symbols(), [], {})
    found = [row for record in reader.poll(0.0, 1000) for row in decoder.decode(record.value or b"").to_records()]
    reader.close()
    return [(row["stream"], row["id"]) for row in found]


def test_a_derived_stream_cannot_be_made_and_takes_no_edges_from_outside() -> None:
    log = MemoryLog()
    streams = Streams(log, TOPICS, StreamOptions(made_by_edges=True))
    raw, *others = TOPICS.of_stream(StreamName("view"))
    log.admin().ensure([*others, *TOPICS.of_stream(StreamName("a.b"))])
    for name in ("view", "a.b"):
        with pytest.raises(DerivedStreamError, match="takes no edges"):
            streams.find(name)
        with pytest.raises(DerivedStreamError, match="takes no edges"):
            streams.require(name)
    with pytest.raises(DerivedStreamError):
        streams.make("view")
    assert streams.look() == frozenset()
    assert raw.name not in log.admin().topics()
    streams.make("flows")
    assert streams.look() == {"flows"}


def test_a_stream_that_cannot_continue_makes_no_other_wait_and_is_named_with_its_reason() -> None:
    """One that Kafka takes for a merged one under its old name, and one whose position is none."""
    log = MemoryLog()
    log.admin().ensure([TopicSpec("test.ordered.a.b.v1")])
    settings = Settings(prefix="test", streams=("a_b", "good", "bad"), insecure=True, clock="live", idle_seconds=0.05)
    service = bootstrap(log, settings)
    place = TopicPartition(TOPICS.raw(StreamName("bad")), 0)
    log.admin().ensure(TOPICS.of_stream(StreamName("bad")))
    transactor = log.transactor("test.sequencer.bad")
    transactor.open()
    transactor.begin()
    transactor.commit("test.sequencer.bad", {place: Position(0, "no position of a sequencer")})
    with TestClient(service.app) as client:
        answer = client.post("/api/v1/streams/a_b/edges", content=EDGE, headers=NDJSON)
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown-stream")
        wait_until(lambda: client.get("/readyz").status_code == 200, PATIENCE)
        wait_until(lambda: '"test.sequencer.bad": "ok, but it fails: ' in readiness(client), PATIENCE)
        assert '"stream a_b": "ok, but it cannot be made: the topic test.ordered.a_b.v1 cannot be made' in readiness(client)
        assert client.get("/readyz").status_code == 200
        assert client.post("/api/v1/streams/good/edges", content=EDGE, headers=NDJSON).status_code == 202
        wait_until(lambda: edges_in(log, "good") == ["1"], PATIENCE)
    with pytest.raises(InvalidQueryError, match="stream 'a_b' cannot be made: the topic"):
        make_topics(log, settings)


def readiness(client: TestClient) -> str:
    return json.dumps(client.get("/readyz").json())


def test_edges_make_no_stream_whose_topics_kafka_would_take_for_those_of_another() -> None:
    log = MemoryLog()
    log.admin().ensure([TopicSpec("test.ordered.a.b.v1")])
    service = bootstrap(log, Settings(prefix="test", create_streams=True, insecure=True))
    with TestClient(service.app) as client:
        before = log.admin().topics()
        answer = client.post("/api/v1/streams/a_b/edges", content=EDGE, headers=NDJSON)
        assert (answer.status_code, answer.json()["code"]) == (409, "name-collides")
        assert "test.ordered.a_b.v1 cannot be made beside test.ordered.a.b.v1" in answer.json()["detail"]
        assert log.admin().topics() == before
        assert client.post("/api/v1/streams/a-b/edges", content=EDGE, headers=NDJSON).status_code == 202


def test_a_stream_with_an_underscore_and_the_merged_one_that_reads_like_it_are_beside_each_other() -> None:
    log = MemoryLog()
    settings = Settings(prefix="test", streams=("a", "b", "a_b"), insecure=True, clock="live", idle_seconds=0.05)
    service = bootstrap(log, settings)
    with TestClient(service.app) as client:
        write(log, pattern("both", "a", "b"))
        wait_until(lambda: service.sequencers.running == 4, PATIENCE)
        for stream in ("a", "b", "a_b"):
            assert client.post(f"/api/v1/streams/{stream}/edges", content=EDGE, headers=NDJSON).status_code == 202
        wait_until(lambda: edges_in(log, "a_b") == ["1"], PATIENCE)
        wait_until(lambda: edges_in(log, "a.b") == ["1", "1"], PATIENCE)


def edges_in(log: Log, stream: str) -> list[str]:
    reader, topic = log.reader(None), TOPICS.ordered(StreamName(stream))
    reader.assign(dict.fromkeys(reader.partitions(topic), 0))
    decoder = ArrowDecoder(Symbols(), [], {})
    found = [row["id"] for record in reader.poll(0.0, 1000) for row in decoder.decode(record.value or b"").to_records()]
    reader.close()
    return found
