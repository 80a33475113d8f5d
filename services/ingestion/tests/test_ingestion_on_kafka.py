"""On a real broker, edges that were answered for go out once each, in order."""

from __future__ import annotations

import json
import random
import time
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_ingestion.bootstrap import bootstrap
from graphtide_ingestion.settings import Settings
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_log.profile import Profile
from graphtide_ordering.ordering import Ordering
from graphtide_serving.clock import SystemClock
from graphtide_testing.contracts.log import PATIENCE
from graphtide_testing.mortal import Fuse, KilledError, Mortal
from graphtide_wire import dead_letters, ordered_body
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from graphtide_core.ports.log import LogReader, Record

FLOWS = StreamName("flows")
SHORT = 0.5


def topics_of_its_own() -> Topics:
    return Topics(f"test-{uuid.uuid4().hex[:12]}")


def edges(first: int, count: int) -> bytes:
    lines = (json.dumps({"ts": ts, "src": "a", "dst": "b", "label": "x", "id": f"e{ts}"}) for ts in range(first, first + count))
    return "".join(f"{line}\n" for line in lines).encode()


class Following:
    """Reads a topic of one partition as it grows."""

    def __init__(self, log: KafkaLog, topic: str) -> None:
        self.reader: LogReader = log.reader(None)
        self.reader.assign(dict.fromkeys(self.reader.partitions(topic), 0))
        self.records: list[Record] = []

    def ids(self) -> list[str]:
        self.records += self.reader.poll(0.2, 1000)
        return [id for record in self.records for id in ordered_body.decode(record.value or b"")["id"].to_pylist()]

    def until(self, count: int) -> list[str]:
        deadline = time.monotonic() + PATIENCE
        while len(self.ids()) < count and time.monotonic() < deadline:
            pass
        return self.ids()


def test_edges_sent_over_http_are_in_the_ordered_stream_soon_after(kafka: str) -> None:
    topics, log = topics_of_its_own(), KafkaLog(KafkaConnection(kafka))
    settings = Settings(prefix=topics.prefix, insecure=True, streams=("flows",), profile=Profile.LOW_LATENCY)
    with TestClient(bootstrap(log, settings).app) as client:
        url, headers = "/api/v1/streams/flows/edges", {"content-type": "application/x-ndjson"}
        answer = client.post(url, content=edges(0, 3000) + b"{\n" + edges(3000, 10), headers=headers)
        assert (answer.status_code, answer.json()["accepted"], answer.json()["rejected"]) == (202, 3010, 1)
        following = Following(log, topics.ordered(FLOWS))
        assert following.until(3010) == [f"e{ts}" for ts in range(3010)]
        late = client.post(url, content=edges(5, 1), headers=headers)
        assert late.json()["accepted"] == 1
        letters = Following(log, topics.dead_letters(FLOWS))
        deadline = time.monotonic() + PATIENCE
        while len(letters.records) < 2 and time.monotonic() < deadline:
            letters.records += letters.reader.poll(0.2, 10)
        found = [dead_letters.decode(record) for record in letters.records]
        assert [(each.code, each.source.line) for each in found] == [("malformed", 3001), ("late", 1)]
        assert client.get("/readyz").status_code == 200
        # Another instance, which orders nothing, answers with what the sequencer of the first did.
        other = bootstrap(log, Settings(prefix=topics.prefix, insecure=True, roles=frozenset({"http"}))).app
        with TestClient(other) as second:
            asked = f"{url}?wait=ordered&wait_seconds=60"
            waited = second.post(asked, content=edges(7, 1) + edges(4000, 2), headers=headers)
        assert waited.status_code == 200, waited.text
        found_by_order = {name: waited.json()["ordering"][name] for name in ("ordered", "late", "duplicates", "rejected")}
        assert found_by_order == {"ordered": 2, "late": 1, "duplicates": 0, "rejected": 0}
    following.reader.close()
    letters.reader.close()


@pytest.mark.slow
def test_a_sequencer_that_crashes_again_and_again_loses_and_repeats_nothing(kafka: str) -> None:
    topics, log, fuse = topics_of_its_own(), KafkaLog(KafkaConnection(kafka)), Fuse()
    log.admin().ensure([*topics.of_deployment(), *topics.of_stream(FLOWS, partitions=2)])
    mortal: Any = Mortal(log, fuse)
    options = Sequencing(
        ordering=Ordering(lateness=40, idle_seconds=SHORT), linger_seconds=0.0, most_records=3, poll_seconds=0.05
    )
    writer, seeded = log.writer(), random.Random(5)
    following = Following(log, topics.ordered(FLOWS))
    deadline = time.monotonic() + 3 * PATIENCE
    sent = kills = 0
    worker = SequencingWorker(mortal, topics, FLOWS, SystemClock(), options)
    while len(following.ids()) < 400 and time.monotonic() < deadline:
        for _ in range(2):
            if sent < 400:
                writer.write([Message(topics.raw(FLOWS), None, edges(sent, 10), partition=sent // 10 % 2)])
                sent += 10
        writer.flush(PATIENCE)
        fuse.length = seeded.randint(10, 60) if kills < 12 else 0
        try:
            worker.open()
            for _ in range(15 if kills < 12 else 40):
                worker.step()
        except KilledError:
            kills += 1
        fuse.length = 0
        worker.close()
        worker = SequencingWorker(mortal, topics, FLOWS, SystemClock(), options)
    assert following.ids() == [f"e{ts}" for ts in range(400)]
    assert kills >= 12
    following.reader.close()
    writer.close()
