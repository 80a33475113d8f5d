"""Producers that run beside each other lose nothing with the default lateness."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from fastapi.testclient import TestClient
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_core.time import TimeUnit
from graphtide_ingestion.bootstrap import bootstrap
from graphtide_ingestion.settings import Settings
from graphtide_log.memory import MemoryLog
from graphtide_log.profile import Profile
from graphtide_native.records import ArrowDecoder, Symbols
from graphtide_ordering.lateness import lateness_of
from graphtide_ordering.progress_reports import progress_of
from graphtide_query import parse_streams
from graphtide_testing.waiting import wait_until
from graphtide_wire.stream_statement import StatementRecord, encode_statement, statement_key, version_key
from graphtide_wire.topics import Topics

PATIENCE = 30.0
FLOWS = StreamName("flows")
TOPICS = Topics("test")


def send(client: TestClient, producer: str, *times: int) -> int:
    body = "".join(f'{{"ts":{ts},"src":"v","dst":"w","label":"x","id":"{producer}{ts}"}}\n' for ts in times)
    headers = {"content-type": "application/x-ndjson", "Producer": producer}
    answer = client.post("/api/v1/streams/flows/edges", content=body, headers=headers)
    assert answer.status_code == 202, answer.text
    return int(answer.json()["accepted"])


def ordered_ids(log: MemoryLog) -> list[str]:
    reader, topic = log.reader(None), TOPICS.ordered(FLOWS)
    reader.assign(dict.fromkeys(reader.partitions(topic), 0))
    decoder = ArrowDecoder(Symbols(), [], {})
    found = [row["id"] for record in reader.poll(0.0, 1000) for row in decoder.decode(record.value or b"").to_records()]
    reader.close()
    return found


def letters(log: MemoryLog) -> int:
    place = TopicPartition(TOPICS.dead_letters(FLOWS), 0)
    return log.reader(None).ends([place])[place][1]


@pytest.mark.parametrize(
    ("apart", "stated", "ticks"),
    [(1, "", 1000), (1000, "", 1000), (60_000, "LATENESS 1m", 60_000), (1, "LATENESS 1ms", 1)],
)
def test_of_two_producers_whose_first_edges_are_apart_by_up_to_the_lateness_none_is_lost(
    apart: int, stated: str, ticks: int
) -> None:
    log = MemoryLog()
    if stated:
        log.admin().ensure(TOPICS.of_deployment())
        text = f"STREAM flows EDGE (src)-[label]->(dst) AT ts ID id {stated}"
        record = StatementRecord.of(text, parse_streams(text)[0], 1, datetime(2026, 1, 1, tzinfo=UTC))
        log.writer().write(
            Message(TOPICS.statements, key, encode_statement(record)) for key in (statement_key(FLOWS), version_key(FLOWS, 1))
        )
    service = bootstrap(log, Settings(prefix="test", streams=("flows",), insecure=True, idle_seconds=60.0))
    with TestClient(service.app) as client:
        first, last = 100_000, 100_000 + 2 * ticks + apart
        send(client, "first", first)
        # All of it was read before the second producer is heard of.
        wait_until(lambda: (found := progress_of(log, TOPICS, FLOWS)) is not None and found.newest == first, PATIENCE)
        send(client, "second", first - apart)
        for producer in ("first", "second"):
            send(client, producer, last)
        wait_until(lambda: len(ordered_ids(log)) >= 2 or letters(log) > 0, PATIENCE)
        assert ordered_ids(log) == [f"second{first - apart}", f"first{first}"]
        assert letters(log) == 0
        found = progress_of(log, TOPICS, FLOWS)
        assert found is not None
        assert found.lateness == ticks


@pytest.mark.parametrize(
    ("said", "unit", "profile", "ticks"),
    [
        (None, TimeUnit.SECOND, Profile.THROUGHPUT, 1),
        (None, TimeUnit.MILLISECOND, Profile.THROUGHPUT, 1000),
        (None, TimeUnit.NANOSECOND, Profile.THROUGHPUT, 10**9),
        (None, TimeUnit.MILLISECOND, Profile.LOW_LATENCY, 0),
        (0, TimeUnit.MILLISECOND, Profile.THROUGHPUT, 0),
        (7, TimeUnit.MILLISECOND, Profile.LOW_LATENCY, 7),
    ],
)
def test_what_is_said_holds_and_a_second_where_nothing_is(
    said: int | None, unit: TimeUnit, profile: Profile, ticks: int
) -> None:
    assert lateness_of(said, unit, profile) == ticks
