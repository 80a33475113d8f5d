"""Kill any process of the job at any time: the ordered stream is whole, in order, and has nothing twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from typing import TYPE_CHECKING

import pytest
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import parts_of
from graphtide_core.part_key import part_of
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_query import parse_streams
from graphtide_testing.clock import ManualClock
from graphtide_testing.sequenced import letters, ordered_edges
from graphtide_testing.servers.spark import SparkCluster, environment
from graphtide_testing.waiting import wait_until
from graphtide_wire.stream_statement import StatementRecord, encode_statement, statement_key, version_key
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from pathlib import Path

FLOWS = StreamName("flows")
PATIENCE = 240.0


def edges(first: int, count: int, topic: str) -> list[Message]:
    """Return edges, one a record, of two producers; one in a hundred records is not an edge."""
    values = [
        json.dumps({"ts": ts, "src": "a", "dst": "b", "label": "x", "id": f"e{ts}", "user": ts % 7}) if ts % 100 else "{"
        for ts in range(first, first + count)
    ]
    return [
        Message(topic, None, value.encode(), (("graphtide-producer", f"p{number % 2}".encode()),), number % 2)
        for number, value in enumerate(values)
    ]


class Job:
    """The job as a process."""

    def __init__(self, bootstrap: str, topics: Topics, folder: Path, master: str) -> None:
        self._folder = folder
        self._environment = {
            **os.environ,
            **environment(),
            "GRAPHTIDE_PREPROCESS_KAFKA__BOOTSTRAP": bootstrap,
            "GRAPHTIDE_PREPROCESS_PREFIX": topics.prefix,
            "GRAPHTIDE_PREPROCESS_STREAMS": json.dumps([FLOWS]),
            "GRAPHTIDE_PREPROCESS_CHECKPOINT": str(folder / "checkpoint"),
            "GRAPHTIDE_PREPROCESS_MASTER": master,
            "GRAPHTIDE_PREPROCESS_HEALTH__PORT": "0",
            "GRAPHTIDE_PREPROCESS_LATENESS": "300",
            "GRAPHTIDE_PREPROCESS_IDLE_SECONDS": "2",
            "GRAPHTIDE_PREPROCESS_TRIGGER_SECONDS": "0",
            "GRAPHTIDE_PREPROCESS_MOST_RECORDS": "150",
            "GRAPHTIDE_PREPROCESS_SPARK": json.dumps(
                {
                    "spark.ui.enabled": "false",
                    "spark.executor.memory": "512m",
                    "spark.ui.showConsoleProgress": "false",
                    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
                }
            ),
        }

    def start(self) -> None:
        with (self._folder / "job.log").open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "graphtide_preprocess"],
                env=self._environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kill the driver and all that it started, as a machine does that fails."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> int:
        """Ask it to end; return how it ended."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(90)

    def log(self) -> str:
        return (self._folder / "job.log").read_text("utf-8", "replace")[-3000:]

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None


class Watched:
    """A stream that a job works on."""

    def __init__(self, bootstrap: str) -> None:
        self.log = KafkaLog(KafkaConnection(bootstrap))
        self.topics = Topics(f"test-{uuid.uuid4().hex[:12]}")
        self.log.admin().ensure([*self.topics.of_deployment(), *self.topics.of_stream(FLOWS, partitions=2)])
        self.writer = self.log.writer()
        self.reader = self.log.reader(None)
        self.written = [TopicPartition(topic, 0) for topic in (self.topics.ordered(FLOWS), self.topics.dead_letters(FLOWS))]

    def state(self, text: str) -> None:
        """Register the stream's statement."""
        record = StatementRecord.of(text, parse_streams(text)[0], 1, ManualClock().now())
        keys = statement_key(FLOWS), version_key(FLOWS, 1)
        self.writer.write([Message(self.topics.statements, key, encode_statement(record)) for key in keys])
        self.writer.flush(10)

    def send(self, first: int, count: int) -> None:
        self.writer.write(edges(first, count, self.topics.raw(FLOWS)))
        self.writer.flush(10)

    def micro_batches(self) -> int:
        """Return how many records the job wrote: each pass of this test writes some."""
        return sum(end for _, end in self.reader.ends(self.written).values())

    def wait_for(self, count: int, job: Job) -> None:
        before = -1

        def is_there() -> bool:
            nonlocal before
            assert job.is_running, job.log()
            if (micro_batches := self.micro_batches()) == before:
                return False
            before = micro_batches
            return len(ordered_edges(self.log, self.topics, FLOWS)) >= count

        wait_until(is_there, PATIENCE, job.log, pause=0.2)

    def wait_for_more(self, before: int, job: Job) -> None:
        def has_more() -> bool:
            assert job.is_running, job.log()
            return self.micro_batches() > before

        wait_until(has_more, PATIENCE, job.log)

    def check(self, count: int) -> None:
        """Every edge is there once and in order, and so is every letter."""
        found = ordered_edges(self.log, self.topics, FLOWS)
        assert [edge.id for edge in found] == [f"e{ts}" for ts in range(count) if ts % 100]
        places = [letter[3] for letter in letters(self.log, self.topics, FLOWS)]
        assert len(places) == len(set(places)) == -(-count // 100)


def good(count: int) -> int:
    return count - -(-count // 100)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_driver_that_is_asked_ends_its_batch(kafka: str, tmp_path: Path) -> None:
    watched = Watched(kafka)
    watched.send(0, 200)
    job = Job(kafka, watched.topics, tmp_path, "local[2]")
    job.start()
    watched.wait_for(good(200), job)
    assert job.stop() == 0, job.log()
    watched.check(200)


@pytest.mark.slow
@pytest.mark.timeout(800)
def test_a_driver_that_is_killed_once_continues(kafka: str, tmp_path: Path) -> None:
    watched = Watched(kafka)
    watched.send(0, 600)
    job = Job(kafka, watched.topics, tmp_path, "local[2]")
    job.start()
    watched.wait_for_more(0, job)
    job.kill()
    watched.send(600, 100)
    job.start()
    watched.wait_for(good(700), job)
    assert job.stop() == 0, job.log()
    watched.check(700)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.timeout(1500)
def test_a_driver_that_is_killed_again_and_again_loses_nothing(kafka: str, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    watched = Watched(kafka)
    job = Job(kafka, watched.topics, tmp_path, "local[2]")
    sent = 0
    for _ in range(5):
        watched.send(sent, 700)
        sent += 700
        before = watched.micro_batches()
        job.start()
        watched.wait_for_more(before, job)
        time.sleep(chance.uniform(0.0, 2.0))
        job.kill()
    job.start()
    watched.wait_for(good(sent), job)
    job.kill()
    watched.check(sent)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_on_a_cluster_a_worker_that_is_killed_costs_nothing(kafka: str, spark_cluster: SparkCluster, tmp_path: Path) -> None:
    watched = Watched(kafka)
    watched.send(0, 1500)
    job = Job(kafka, watched.topics, tmp_path, spark_cluster.url)
    job.start()
    try:
        watched.wait_for_more(0, job)
        spark_cluster.kill_worker(0)
        watched.send(1500, 500)
        watched.wait_for(good(2000), job)
    finally:
        job.kill()
    watched.check(2000)


EMITTING = (
    "STREAM flows EDGE (src)-[label]->(dst) AT ts IN ms ID id\n"
    "EMIT EDGE (src:host)-[:burst]->(dst) EVERY 50ms SET calls = count(*)"
)


@pytest.mark.slow
@pytest.mark.timeout(800)
def test_what_windows_emit_is_there_once_though_the_driver_is_killed(kafka: str, tmp_path: Path) -> None:
    watched = Watched(kafka)
    watched.state(EMITTING)
    watched.send(0, 600)
    job = Job(kafka, watched.topics, tmp_path, "local[2]")
    job.start()
    watched.wait_for_more(0, job)
    job.kill()
    watched.send(600, 100)
    job.start()
    ends = range(50, 700, 50)
    watched.wait_for(good(700) + len(ends), job)
    assert job.stop() == 0, job.log()
    found = ordered_edges(watched.log, watched.topics, FLOWS)
    emitted = [(each.ts, dict(each.attributes)["calls"]) for each in found if each.label == "burst"]
    assert emitted == [(end, sum(ts % 100 > 0 for ts in range(end - 50, end))) for end in ends]
    assert [each.id for each in found if each.label != "burst"] == [f"e{ts}" for ts in range(700) if ts % 100]
    assert [each.ts for each in found] == sorted(each.ts for each in found)


DIVIDED = "STREAM flows EDGE (src)-[label]->(dst) AT ts IN ms ID id SET user = user PARTITION BY user PARTS 3"


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_each_part_is_whole_though_the_driver_is_killed(kafka: str, tmp_path: Path) -> None:
    """The stream is divided while the job runs: the records before that are in the whole stream, and the others in parts."""
    watched, parts = Watched(kafka), parts_of(FLOWS, 3)
    job = Job(kafka, watched.topics, tmp_path, "local[2]")
    watched.send(0, 200)
    job.start()
    watched.wait_for(good(200), job)
    watched.state(DIVIDED)
    topics = [watched.topics.ordered(part) for part in parts]
    wait_until(lambda: all(watched.reader.partitions(topic) for topic in topics), PATIENCE, job.log)
    watched.written = [TopicPartition(topic, 0) for topic in topics]
    for first in (200, 600):
        before = watched.micro_batches()
        watched.send(first, 400)
        watched.wait_for_more(before, job)
        job.kill()
        job.start()

    def found() -> list[list[str]]:
        return [[edge.id for edge in ordered_edges(watched.log, watched.topics, part)] for part in parts]

    wait_until(lambda: sum(map(len, found())) >= good(1000) - good(200), PATIENCE, job.log, pause=1)
    assert job.stop() == 0, job.log()
    expected: list[list[str]] = [[], [], []]
    for ts in range(200, 1000):
        if ts % 100:
            expected[part_of(ts % 7, 3)].append(f"e{ts}")
    assert found() == expected
    assert [edge.id for edge in ordered_edges(watched.log, watched.topics, FLOWS)] == [
        f"e{ts}" for ts in range(200) if ts % 100
    ]
    letters_of_all = [letter[3] for letter in letters(watched.log, watched.topics, FLOWS)]
    assert len(letters_of_all) == len(set(letters_of_all)) == 10
