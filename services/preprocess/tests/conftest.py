"""A stream on a real log, as the job and the built-in sequencer put it in order."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.ids import StreamName
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_preprocess.adapters.query import ordering_query
from graphtide_preprocess.adapters.raw_source import Reading
from graphtide_preprocess.adapters.session import RELIED_ON
from graphtide_preprocess.application.offsets import Pace
from graphtide_preprocess.application.turn import Counting, Task
from graphtide_runtime.kafka import KafkaConnection, KafkaLog
from graphtide_runtime.memory import MemoryLog
from graphtide_runtime.sequencing.stream_sequencer import Ordering
from graphtide_testing.clock import ManualClock
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from graphtide_core.ports.log import Log, Message
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

FLOWS = StreamName("flows")
IDLE = 0.3


@dataclass
class SparkStage:
    """Topics of a test's own, and the job over them."""

    spark: SparkSession
    connection: KafkaConnection
    folder: Path
    topics: Topics
    ordering: Ordering
    records_in_a_batch: int = 100

    def __post_init__(self) -> None:
        self.log = KafkaLog(self.connection)

    def make(self, partitions: int = 1) -> SparkStage:
        self.log.admin().ensure([*self.topics.of_deployment(), *self.topics.of_stream(FLOWS, partitions=partitions)])
        return self

    def send(self, messages: Sequence[Message]) -> None:
        writer = self.log.writer()
        writer.write(messages)
        writer.flush(10)
        writer.close()

    def task(self, **more: Any) -> Task:
        return Task(self.topics, FLOWS, ordering=self.ordering, counting=Counting(10**6, 0.0), **more)

    def run(self, **more: Any) -> None:
        """Let the job do all there is now."""
        self.prepared(**more).start().awaitTermination()

    def prepared(self, **more: Any) -> DataStreamWriter:
        """Return the job, to be started."""
        pace = Pace(self.records_in_a_batch, 2**30, int(self.ordering.idle_seconds * 1000))
        reading = Reading(self.connection, self.topics, FLOWS, pace)
        query = ordering_query(self.spark, reading, self.task(**more), str(self.folder / "checkpoint"))
        return query.trigger(availableNow=True)

    def fall_silent(self) -> None:
        """Let sources be silent for as long as they are waited for, and then do all there is."""
        time.sleep(self.ordering.idle_seconds)
        self.run()


def sequenced(messages: Sequence[Message], topics: Topics, ordering: Ordering, partitions: int = 1) -> Log:
    """Return a log in memory that the built-in sequencer worked on until all sources were silent."""
    log = MemoryLog()
    log.admin().ensure([*topics.of_deployment(), *topics.of_stream(FLOWS, partitions=partitions)])
    writer = log.writer()
    writer.write(messages)
    writer.flush(5)
    clock = ManualClock()
    worker = SequencingWorker(log, topics, FLOWS, clock, Sequencing(ordering=ordering, linger_seconds=0, poll_seconds=0))
    worker.open()
    for _ in range(2):
        for _ in range(50):
            worker.step()
        clock.sleep(ordering.idle_seconds + 1)
    for _ in range(3):
        worker.step()
    worker.close()
    return log


@pytest.fixture
def spark_stage(spark: SparkSession, kafka: str, tmp_path: Path) -> Callable[..., SparkStage]:
    """Make stages over the shared session and log."""
    for name, value in RELIED_ON.items():
        if name.startswith("spark.sql"):
            spark.conf.set(name, value)

    def make(lateness: int = 0, partitions: int = 1, records_in_a_batch: int = 100) -> SparkStage:
        topics = Topics(f"test-{uuid.uuid4().hex[:12]}")
        ordering = Ordering(lateness, IDLE, 10_000)
        return SparkStage(spark, KafkaConnection(kafka), tmp_path, topics, ordering, records_in_a_batch).make(partitions)

    return make


@pytest.fixture(name="sequenced")
def sequenced_by_the_built_in_sequencer() -> Callable[..., Log]:
    """Return what the built-in sequencer makes of messages."""
    return sequenced
