"""With a stream that is put in order on Spark, the whole system finds what the command line finds."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import TopicPartition
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_testing.command_line import by_command_line, ids
from graphtide_testing.sequenced import last_statistics, letters, ordered_edges
from graphtide_testing.servers.spark import environment
from graphtide_testing.whole import QUICK, SERVICES, Whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from graphtide_core.ports.log import Log
    from graphtide_wire.topics import Topics

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]

FLOWS = StreamName("flows")
LATENESS = 300_000
PATIENCE = 200.0
"""Seconds that Spark may take to start and to do all there is."""
PRODUCERS = ("gateway", "sensor")
FAN = """
PATTERN fan
MATCH (v:ip)-[a:tcp]->(w:ip), (v)-[b:https]->(u:ip)
ORDER a < b
ON flows WINDOW 30m
"""


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Whole]:
    settings = {
        **QUICK,
        "ingestion": {"ROLES": json.dumps(["http"]), "STREAMS": json.dumps([FLOWS])},
        "preprocess": {
            "STREAMS": json.dumps([FLOWS]),
            "CHECKPOINT": str(tmp_path / "checkpoint"),
            "MASTER": "local[2]",
            "SPARK": json.dumps({"spark.ui.enabled": "false", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}),
            "LATENESS": str(LATENESS),
            "IDLE_SECONDS": "5",
            "MOST_RECORDS": "500",
        },
    }
    names = [*(name for name in SERVICES if name != "statistics"), "preprocess"]
    made = Whole(tmp_path, settings, environment(), names)
    made.start()
    yield made
    made.end()


class Sensors:
    """Two producers: one speaks HTTP, and the other writes to the raw topic.

    Edges are out of order within the lateness, some come twice, and some lines are none. Edges of one time come from one
    producer in their order, because that order counts.
    """

    def __init__(self, whole: Whole) -> None:
        self.whole = whole
        self.chance = random.Random(1)
        self.broken = 0
        self._kafka = Producer({"bootstrap.servers": whole.deployment.kafka.bootstrap})

    def send(self, edges: list[dict[str, int]]) -> None:
        lines: tuple[list[bytes], list[bytes]] = ([], [])
        for edge in self.as_they_come(edges):
            lines[edge["ts"] % 2].append(json.dumps(edge).encode())
            if self.chance.random() < 0.02:
                self.broken += 1
                lines[edge["ts"] % 2].append(b'{"ts": ')
        over_http, to_kafka = map(iter, lines)
        while part := list(islice(over_http, 100)):
            self.whole.send(FLOWS, b"\n".join(part) + b"\n", **{"Graphtide-Producer": PRODUCERS[0]})
            self.write(list(islice(to_kafka, 100)))
        self.write(list(to_kafka))

    def as_they_come(self, edges: list[dict[str, int]]) -> list[dict[str, int]]:
        delays = {edge["ts"]: self.chance.randrange(LATENESS) for edge in edges}
        again = self.chance.sample(edges, len(edges) // 50)
        timed = [(edge["ts"] + delays[edge["ts"]], edge) for edge in edges] + [(edge["ts"] + LATENESS, edge) for edge in again]
        return [edge for _, edge in sorted(timed, key=lambda each: each[0])]

    def write(self, lines: list[bytes]) -> None:
        left = iter(lines)
        while record := list(islice(left, self.chance.choice((1, 1, 20)))):
            self._kafka.produce(
                self.whole.deployment.topics.raw(FLOWS),
                b"\n".join(record),
                partition=1,
                headers=[("graphtide-producer", PRODUCERS[1].encode())],
            )
        self._kafka.flush(60)


class Ordered:
    """The ordered stream, which is read again only when it has grown."""

    def __init__(self, log: Log, topics: Topics) -> None:
        self._log, self._topics = log, topics
        self._reader, self._place = log.reader(None), TopicPartition(topics.ordered(FLOWS), 0)
        self._end = self._edges = 0

    def count(self) -> int:
        end = self._reader.ends([self._place])[self._place][1]
        if end > self._end:
            self._end, self._edges = end, len(ordered_edges(self._log, self._topics, FLOWS))
        return self._edges

    def close(self) -> None:
        self._reader.close()


def test_a_stream_put_in_order_on_spark_gives_what_the_command_line_finds(whole: Whole, tmp_path: Path) -> None:
    stream, pattern = tmp_path / "flows.jsonl", tmp_path / "flows.gtp"
    command = [sys.executable, "-m", "graphtide", "generate", "network", "--records", "3000", "--planted", "8"]
    subprocess.run([*command, "--output", str(stream), "--pattern", str(pattern)], capture_output=True, check=True)
    edges = [json.loads(line) for line in stream.read_bytes().splitlines()]
    patterns = pattern.read_text() + "---" + FAN
    for text in patterns.split("---"):
        whole.register(text)
    log = KafkaLog(KafkaConnection(whole.deployment.kafka.bootstrap))
    topics, sensors, half = whole.deployment.topics, Sensors(whole), len(edges) // 2

    sensors.send(edges[:half])
    ordered = Ordered(log, topics)
    whole.wait_until(lambda: ordered.count() > 0, "the job orders edges", PATIENCE)
    whole.services["preprocess"].kill()
    sensors.send(edges[half:])
    whole.services["preprocess"].start()
    whole.wait_until(lambda: ordered.count() >= len(edges), "the job orders all edges", PATIENCE)
    ordered.close()
    whole.settle_matchers(FLOWS)

    assert [edge.id for edge in ordered_edges(log, topics, FLOWS)] == [edge["id"] for edge in edges]
    assert {letter[1] for letter in letters(log, topics, FLOWS)} == {"malformed"}
    assert len(letters(log, topics, FLOWS)) == sensors.broken
    assert last_statistics(log, topics, FLOWS) is not None
    expected = by_command_line(tmp_path, patterns, stream)
    assert sum(expected.values()) > 100
    assert ids(whole.matches()) == expected
