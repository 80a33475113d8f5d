"""How long a crash is felt: from it to the first progress of what was begun after it. The crashed part is started at once.

Where edges are on their way, progress is a committed match of an edge that was sent once the part had been started again.
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from graphtide_testing.whole import Whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.integration, pytest.mark.timeout(600)]

RECOVERED_SECONDS = 30.0
"""A recovery takes less; several seconds are usual."""
TIMES = 5


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Whole]:
    made = Whole(tmp_path)
    made.start()
    made.register("PATTERN one MATCH (a)-[x:x]->(b) ON s WINDOW 100")
    yield made
    made.end()


class Pulse:
    """An edge every few milliseconds, each a match, and when the newest match was sent."""

    def __init__(self, whole: Whole) -> None:
        self.whole = whole
        self.sent = 0
        self.newest_sent_at = 0.0
        self._over = Event()

    @contextmanager
    def beating(self) -> Iterator[Pulse]:
        """Send and receive meanwhile."""
        threads = [Thread(target=self._send), Thread(target=self._receive)]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def _send(self) -> None:
        while not self._over.is_set():
            line = {"id": f"{time.monotonic()}", "ts": self.sent, "src": "a", "dst": "b", "label": "x"}
            self.whole.send("s", json.dumps(line).encode())
            self.sent += 1
            time.sleep(0.02)

    def _receive(self) -> None:
        topic = self.whole.deployment.topics.matches
        consumer = Consumer(
            {
                "bootstrap.servers": self.whole.deployment.kafka.bootstrap,
                "group.id": "pulse",
                "isolation.level": "read_committed",
                "reconnect.backoff.max.ms": 200,
            }
        )
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
        while not self._over.is_set():
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                sent_at = float(json.loads(message.value() or b"")["edges"]["x"])
                self.newest_sent_at = max(self.newest_sent_at, sent_at)
        consumer.close()


def until_matches_come(pulse: Pulse) -> float:
    """Wait for the match of an edge that is sent from now on; return how long that took, in seconds."""
    began = time.monotonic()
    pulse.whole.wait_until(lambda: pulse.newest_sent_at > began, "matches come")
    return time.monotonic() - began


@pytest.mark.parametrize("victim", ["a matcher", "ingestion", "Kafka", "Redis, which comes back empty"])
def test_matches_come_again_soon(whole: Whole, victim: str, record_property: Callable[[str, object], None]) -> None:
    servers = whole.deployment

    def crash() -> None:
        if victim == "Kafka":
            servers.kafka.kill()
            servers.kafka.start()
        elif victim.startswith("Redis"):
            servers.redis.kill()
            servers.redis.forget()
            servers.redis.start()
        else:
            service = whole.services["ingestion" if victim == "ingestion" else whole.pattern("one")["placement"]["service"]]
            service.kill()
            service.start()

    with Pulse(whole).beating() as pulse:
        for _ in range(TIMES):
            until_matches_come(pulse)
            crashed = time.monotonic()
            crash()
            until_matches_come(pulse)
            took = time.monotonic() - crashed
            assert took < RECOVERED_SECONDS
            record_property(f"recovery_seconds of {victim}", took)


def test_patterns_are_planned_again_soon(whole: Whole, record_property: Callable[[str, object], None]) -> None:
    for number in range(TIMES):
        crashed = time.monotonic()
        whole.services["planner"].kill()
        whole.services["planner"].start()
        whole.register(f"PATTERN p{number} MATCH (a)-[x:x]->(b) ON s WINDOW 100")
        took = time.monotonic() - crashed
        assert took < RECOVERED_SECONDS
        record_property("recovery_seconds of the planner", took)
