"""Producers that run beside each other lose nothing with the default lateness."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import TopicPartition
from graphtide_core.time import TimeUnit
from graphtide_ingestion.bootstrap import bootstrap
from graphtide_ingestion.settings import Settings
from graphtide_log.memory import MemoryLog
from graphtide_log.profile import Profile
from graphtide_native.records import ArrowDecoder, Symbols
from graphtide_ordering.lateness import lateness_of
from graphtide_ordering.progress_reports import progress_of
from graphtide_testing.waiting import wait_until
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


@pytest.mark.parametrize("apart", [1, 10, 1000])
def test_of_two_producers_whose_first_edges_are_apart_by_up_to_a_second_none_is_lost(apart: int) -> None:
    log = MemoryLog()
    service = bootstrap(log, Settings(prefix="test", streams=("flows",), insecure=True, idle_seconds=60.0))
    with TestClient(service.app) as client:
        send(client, "first", 5000)
        # All of it was read before the second producer is heard of.
        wait_until(lambda: (found := progress_of(log, TOPICS, FLOWS)) is not None and found.newest == 5000, PATIENCE)
        send(client, "second", 5000 - apart)
        for producer in ("first", "second"):
            send(client, producer, 9000)
        wait_until(lambda: len(ordered_ids(log)) >= 2 or letters(log) > 0, PATIENCE)
        assert ordered_ids(log) == [f"second{5000 - apart}", "first5000"]
        assert letters(log) == 0
        found = progress_of(log, TOPICS, FLOWS)
        assert found is not None
        assert found.lateness == 1000


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
