"""On Spark and a real log, the job gives what the built-in sequencer gives, and says clearly when it cannot."""

from __future__ import annotations

import gzip
import json
import random
import time
import uuid
from csv import DictReader
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from graphtide_core.errors import FatalError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, TopicSpec
from graphtide_core.time import TimeUnit
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_log.memory import MemoryLog
from graphtide_ordering.ordering import Ordering
from graphtide_ordering.progress_reports import progress_of
from graphtide_preprocess.adapters.query import ordering_query, spread_keys
from graphtide_preprocess.adapters.raw_source import Reading
from graphtide_preprocess.adapters.session import RELIED_ON
from graphtide_preprocess.application.divided import make_parts, read_division
from graphtide_preprocess.application.micro_batch import Counting, OrderingTask
from graphtide_preprocess.application.offsets import Offsets, Pace
from graphtide_preprocess.application.status import read_status
from graphtide_preprocess.entrypoints.stream_query import StreamQuery
from graphtide_query import parse_streams
from graphtide_statistics.domain.counting import Counting as ServiceCounting
from graphtide_testing.clock import ManualClock
from graphtide_testing.data import real_stream
from graphtide_testing.dividing_stage import DividingStage
from graphtide_testing.raw_streams import RawStream
from graphtide_testing.registrations import registering, registration
from graphtide_testing.sequenced import last_statistics, letters, ordered_edges, records_of
from graphtide_testing.sequencing_stage import TOPICS, SequencingStage
from graphtide_testing.waiting import wait_until
from graphtide_wire import dead_letters, ordered, raw
from graphtide_wire.raw import RawEdges, Reset
from graphtide_wire.stream_statement import StatementRecord, encode_statement, statement_key, version_key
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from graphtide_core.ports.log import Log
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


FLOWS = StreamName("flows")
WINDOW = 20
IDLE = 0.1
"""Seconds; a batch takes many times as long, and no producer may be forgotten for that."""

PATIENCE = 240.0


@dataclass
class SparkStage:
    """Topics of a test's own, and the job over them."""

    spark: SparkSession
    connection: KafkaConnection
    folder: Path
    topics: Topics
    ordering: Ordering
    records_in_a_batch: int = 100
    tasks: int = 0

    def __post_init__(self) -> None:
        self.log = KafkaLog(self.connection)

    def make(self, partitions: int = 1) -> SparkStage:
        self.log.admin().ensure([*self.topics.of_deployment(), *self.topics.of_stream(FLOWS, partitions=partitions)])
        return self

    def send(self, messages: Sequence[Message]) -> None:
        writer = self.log.writer()
        writer.write(messages)
        writer.flush(60)
        writer.close()

    def task(self, **more: Any) -> OrderingTask:
        return OrderingTask(self.topics, FLOWS, ordering=self.ordering, counting=Counting(10**6, 0.0), **more)

    def run(self, **more: Any) -> None:
        """Let the job do all there is now."""
        self.prepared(**more).start().awaitTermination()

    def prepared(self, **more: Any) -> DataStreamWriter:
        """Return the job, to be started."""
        pace = Pace(self.records_in_a_batch, 2**30, int(self.ordering.idle_seconds * 1000))
        task = self.task(**more)
        division = read_division(self.log, self.topics, FLOWS)
        if division is not None:
            make_parts(self.log, self.topics, division, None)
        reading = Reading(self.connection, self.topics, FLOWS, task.source, pace, self.tasks, division)
        query = ordering_query(self.spark, reading, task, str(self.folder / "checkpoint"))
        return query.trigger(availableNow=True)

    def run_until_silent(self) -> None:
        """Let the job do all there is, and run on until all sources have been silent for as long as they are waited for."""
        query = self.prepared().trigger(processingTime="0 seconds").start()
        wait_until(lambda: self.is_silent(query), PATIENCE)
        query.stop()

    def is_silent(self, query: StreamingQuery) -> bool:
        assert query.isActive, query.exception()
        progress = query.lastProgress
        if progress is None or progress.sources[0].endOffset is None:
            return False
        reached = msgspec.json.decode(progress.sources[0].endOffset, type=Offsets)
        return reached.heard > 0 and reached.as_of - reached.heard >= self.ordering.idle_seconds * 1000

    def fall_silent(self, **more: Any) -> None:
        """Let sources be silent for as long as they are waited for, and then do all there is."""
        time.sleep(self.ordering.idle_seconds)
        self.run(**more)


def run_sequencer(
    messages: Sequence[Message],
    topics: Topics,
    ordering: Ordering,
    partitions: int = 1,
    unit: TimeUnit = TimeUnit.MILLISECOND,
) -> Log:
    """Return a log in memory that the built-in sequencer worked on until all sources were silent."""
    log = MemoryLog()
    log.admin().ensure([*topics.of_deployment(), *topics.of_stream(FLOWS, partitions=partitions)])
    writer = log.writer()
    writer.write(messages)
    writer.flush(5)
    clock = ManualClock()
    options = Sequencing(unit, ordering, linger_seconds=0, poll_seconds=0)
    worker = SequencingWorker(log, topics, FLOWS, clock, options)
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

    def make(lateness: int = 0, partitions: int = 1, most_pending: int = 10_000, **more: Any) -> SparkStage:
        topics = Topics(f"test-{uuid.uuid4().hex[:12]}")
        ordering = Ordering(lateness, IDLE, most_pending)
        return SparkStage(spark, KafkaConnection(kafka), tmp_path, topics, ordering, **more).make(partitions)

    return make


def register(topics: Topics, window: str = f"{WINDOW}") -> Message:
    text = f"PATTERN p MATCH (v)-[e:http]->(w) ON flows WINDOW {window}"
    return registering(topics, registration(text, ManualClock().now()))


def random_stream(seed: int) -> tuple[RawStream, int]:
    """Return a stream of one partition, and a lateness, by a number."""
    producers = ((), ("p", "q"), ("p",))[seed % 3]
    disorder, bad, with_ids = (0, 5, 20)[seed % 3], (0.1, 0.5)[seed % 2], (0.0, 0.8, 1.0)[seed // 2 % 3]
    events = (0.0, 0.4)[seed % 2]
    return RawStream(seed, producers, disorder=disorder, bad=bad, with_ids=with_ids, events=events), (0, 3, 8)[seed // 3 % 3]


TASKS = pytest.mark.parametrize("tasks", [0, 2], ids=["read by the task that orders", "read by two tasks"])


@TASKS
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 21))])
def test_the_job_equals_the_built_in_sequencer(spark_stage: Callable[..., Any], seed: int, tasks: int) -> None:
    stream, lateness = random_stream(seed)
    stage = spark_stage(lateness, tasks=tasks)
    messages = [register(stage.topics), *stream.messages(stage.topics, FLOWS, 250)]
    stage.send(messages)
    stage.run_until_silent()
    expected = run_sequencer(messages, stage.topics, stage.ordering)
    found = ordered_edges(stage.log, stage.topics, FLOWS)
    assert found == ordered_edges(expected, stage.topics, FLOWS)
    assert letters(stage.log, stage.topics, FLOWS) == letters(expected, stage.topics, FLOWS)
    check_statistics(stage, expected, WINDOW, TimeUnit.MILLISECOND)


def test_each_record_is_read_by_the_version_of_the_statement_that_holds(spark_stage: Callable[..., Any]) -> None:
    stage, expected = spark_stage(3), SequencingStage(lateness=3)
    for version, (text, first) in enumerate(
        (
            ("STREAM flows EDGE (a)-['one']->(b) EDGE (b)-['back']->(a) AT at IN ms LATENESS 5ms", 0),
            ("STREAM flows EDGE (b)-['two']->(a) AT at IN ms SET n = n WHERE n > 1 LATENESS 1ms", 7),
        ),
        1,
    ):
        record = StatementRecord.of(text, parse_streams(text)[0], version, ManualClock().now())
        stage.send([Message(stage.topics.statements, key, encode_statement(record)) for key in statement_keys(version)])
        expected.state(text, version)
        lines = [{"at": first + ts, "a": f"a{n}", "b": "b", "n": n} for n, ts in enumerate((4, 1, 9, 2))]
        body = "".join(json.dumps(each) + "\n" for each in [*lines, {"a": "bad", "n": 9}]).encode()
        stage.send([raw.encode(stage.topics.raw(FLOWS), RawEdges(body))._replace(partition=0)])
        expected.send(body)
        expected.run(3)
        # A start of a query takes most of the test's time.
        (stage.run if version == 1 else stage.run_until_silent)()
    expected.fall_silent()
    found = ordered_edges(stage.log, stage.topics, FLOWS)
    assert found == ordered_edges(expected.log, TOPICS, FLOWS)
    assert {each.label for each in found} == {"one", "back", "two"}
    assert [each.reason for each in expected.letters()] == [each.reason for each in letters_of(stage)]
    assert progress_of(stage.log, stage.topics, FLOWS) == progress_of(expected.log, TOPICS, FLOWS)


DIVIDED = """STREAM flows EDGE (a)-['one']->(b) EDGE (b)-['back']->(a) AT at IN ms
  ID id DELETE WHERE gone SET n = n, user = user PARTITION BY {key} PARTS 3"""


@pytest.mark.parametrize("key", ["user", pytest.param("VERTEX", marks=pytest.mark.slow)])
def test_parts_are_ordered_side_by_side_as_in_ingestion(spark_stage: Callable[..., Any], key: str) -> None:
    """No edge is late here: which ones are depends on where batches begin."""
    stage, ingestion = spark_stage(1000, partitions=2), DividingStage(DIVIDED.format(key=key), 2, 1000, most_records=1000)
    record = StatementRecord.of(text := ingestion.statement, parse_streams(text)[0], 1, ManualClock().now())
    stage.send([Message(stage.topics.statements, key, encode_statement(record)) for key in statement_keys(1)])
    reading = registration("PATTERN p MATCH (v)-[e]->(w) WHERE e.n = 7 ON flows WINDOW 1000", ManualClock().now())
    stage.send([registering(stage.topics, reading)])
    ingestion.write(registering(TOPICS, reading))
    chance = random.Random(3)
    for number in range(150):
        edges = [
            {"at": number - chance.randrange(20), "a": f"a{chance.randrange(9)}", "b": f"b{chance.randrange(9)}", "n": number}
            | {"id": f"e{number - chance.randrange(9)}", "user": chance.choice(["ann", "bob", "cy", 7, None])}
            | {"gone": chance.random() < 0.1}
            for _ in range(chance.randrange(1, 9))
        ]
        body = "".join(json.dumps(each) + "\n" for each in edges).encode() + (b"bad\n" if number % 10 == 0 else b"")
        stage.send([raw.encode(stage.topics.raw(FLOWS), RawEdges(body))._replace(partition=number % 2)])
        ingestion.send(body, number % 2)
    ingestion.fall_silent()
    stage.run()
    stage.fall_silent()
    for part in ingestion.parts:
        found, expected = ordered_edges(stage.log, stage.topics, part), ordered_edges(ingestion.log, TOPICS, part)
        assert sorted(found) == sorted(expected) != []
    found_letters, expected_letters = letters_of(stage), ingestion.letters()
    assert sorted(each.raw for each in found_letters) == sorted(each.raw for each in expected_letters) != []
    assert progress_of(stage.log, stage.topics, FLOWS, 3) is not None


def test_keys_of_parts_give_each_task_as_many(spark: SparkSession) -> None:
    from pyspark.sql import functions  # noqa: PLC0415 - as the job has it

    for parts, tasks in ((1, 1), (8, 8), (100, 64)):
        keys = spread_keys(spark, FLOWS, parts, tasks)
        assert len(set(keys)) == parts
        assert keys == spread_keys(spark, FLOWS, parts, tasks)
        rows = spark.createDataFrame([(key,) for key in keys], "key string")
        places = rows.select(functions.pmod(functions.hash("key"), functions.lit(tasks)).alias("task")).collect()
        assert [row.task for row in places] == [number % tasks for number in range(parts)]


def statement_keys(version: int) -> tuple[bytes, bytes]:
    """Return the keys under which a version of the statement is written."""
    return statement_key(FLOWS), version_key(FLOWS, version)


def letters_of(stage: SparkStage) -> list[dead_letters.DeadLetterRecord]:
    return [dead_letters.decode(record) for record in records_of(stage.log, stage.topics.dead_letters(FLOWS))]


@pytest.mark.slow
def test_a_reset_ends_an_epoch_where_it_does_in_the_built_in_sequencer(spark_stage: Callable[..., Any]) -> None:
    stream, lateness = random_stream(1)
    stage = spark_stage(lateness)
    topic = stage.topics.raw(FLOWS)
    far = raw.encode(topic, RawEdges(b'{"ts": 9223372036854775807, "src": "a", "dst": "b", "label": "http"}'))
    messages = [register(stage.topics), *stream.messages(stage.topics, FLOWS, 200)]
    for place, message in ((60, far), (130, raw.encode_reset(topic, Reset(0))), (131, raw.encode_reset(topic, Reset(0)))):
        messages.insert(place, message._replace(partition=0))
    stage.send(messages)
    stage.run_until_silent()
    expected = run_sequencer(messages, stage.topics, stage.ordering)
    found = ordered_edges(stage.log, stage.topics, FLOWS)
    assert {edge.epoch for edge in found} == {0, 1}
    assert found == ordered_edges(expected, stage.topics, FLOWS)
    assert letters(stage.log, stage.topics, FLOWS) == letters(expected, stage.topics, FLOWS)
    check_statistics(stage, expected, WINDOW, TimeUnit.MILLISECOND)
    progress = progress_of(stage.log, stage.topics, FLOWS)
    assert progress == progress_of(expected, stage.topics, FLOWS)


def check_statistics(stage: SparkStage, expected: Log, window: int, unit: TimeUnit) -> None:
    """What was published last is what the statistics service counts of the expected ordered stream."""
    counting = ServiceCounting(FLOWS, window, unit, deletions=True)
    for record in records_of(expected, stage.topics.ordered(FLOWS)):
        header = ordered.header(record.headers)
        counting = counting if counting.epoch == header.epoch else counting.anew(header.epoch)
        counting.take(record.value or b"", header.last_ts)
    counted, published = counting.publish(None), last_statistics(stage.log, stage.topics, FLOWS)
    assert counted is not None
    assert published is not None
    assert replace(published.snapshot, version=1) == counted.snapshot


def shuffle(path: Path, topic: str, seed: int, lateness: int) -> Iterator[Message]:
    """Yield a real stream as records of one edge or many: out of order within the lateness, some edges twice, bad lines."""
    chance = random.Random(seed)
    with gzip.open(path, "rt") as file:
        rows = [{**row, "ts": int(row["ts"]), "id": f"e{number}"} for number, row in enumerate(DictReader(file))]
    sent = [*rows, *chance.sample(rows, len(rows) // 50)]
    sent.sort(key=lambda row: int(row["ts"]) + chance.randrange(lateness + 1))
    left = iter(sent)
    while part := list(islice(left, chance.choice((1, 1, 1, 10, 700)))):
        lines = [json.dumps(row).encode() for row in part]
        if chance.random() < 0.01:
            lines.append(b'{"ts": ')
        yield Message(topic, None, b"\n".join(lines), partition=0)


@TASKS
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_whole_real_stream_gives_what_the_built_in_sequencer_gives(spark_stage: Callable[..., Any], tasks: int) -> None:
    path = real_stream("mathoverflow.csv.gz")
    stage = spark_stage(3600, records_in_a_batch=700, most_pending=2**20, tasks=tasks)
    messages = [
        register(stage.topics, "12h"),
        *shuffle(path, stage.topics.raw(FLOWS), seed=1, lateness=3600),
    ]
    stage.send(messages)
    stage.run(unit=TimeUnit.SECOND)
    stage.fall_silent(unit=TimeUnit.SECOND)
    expected = run_sequencer(messages, stage.topics, stage.ordering, unit=TimeUnit.SECOND)
    found, edges = ordered_edges(stage.log, stage.topics, FLOWS), ordered_edges(expected, stage.topics, FLOWS)
    assert len(found) == 506_550
    is_same = found == edges  # A difference of half a million edges is not to be shown.
    assert is_same
    assert letters(stage.log, stage.topics, FLOWS) == letters(expected, stage.topics, FLOWS) != []
    check_statistics(stage, expected, 12 * 3600, TimeUnit.SECOND)


@TASKS
def test_several_partitions_give_the_same_edges(spark_stage: Callable[..., Any], tasks: int) -> None:
    stage = spark_stage(1000, partitions=3, tasks=tasks)
    messages = RawStream(30, partitions=3).messages(stage.topics, FLOWS, 300)
    stage.send(messages)
    stage.run()
    stage.fall_silent()
    expected = run_sequencer(messages, stage.topics, stage.ordering, 3)
    assert sorted(ordered_edges(stage.log, stage.topics, FLOWS)) == sorted(ordered_edges(expected, stage.topics, FLOWS))
    assert sorted(letters(stage.log, stage.topics, FLOWS), key=repr) == sorted(letters(expected, stage.topics, FLOWS), key=repr)


def test_a_stream_without_topics_is_named(spark_stage: Callable[..., Any]) -> None:
    stage = spark_stage()
    missing = replace(stage, topics=Topics("none"))
    with pytest.raises(FatalError, match=r"there is no topic none\.in\.flows\.v1: make the stream first"):
        run_as_worker(missing)


def test_a_checkpoint_that_cannot_be_written_is_named(spark_stage: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("")
    stage = replace(spark_stage(), folder=tmp_path / "a file")
    with pytest.raises(FatalError, match="a file"):
        run_as_worker(stage)


def test_a_checkpoint_of_other_topics_is_refused_and_writes_nothing(spark_stage: Callable[..., Any]) -> None:
    stage = spark_stage()
    stage.send(RawStream(31).messages(stage.topics, FLOWS, 50))
    stage.run()
    written = ordered_edges(stage.log, stage.topics, FLOWS)
    another = replace(stage, folder=stage.folder / "another", records_in_a_batch=30)
    with pytest.raises(FatalError, match="do not belong together"):
        run_as_worker(another)
    assert ordered_edges(stage.log, stage.topics, FLOWS) == written


def run_as_worker(stage: Any) -> None:
    """Run the job as its process does, until it fails."""
    query = StreamQuery("job", stage.prepared, stage.folder.parent / "stop")
    try:
        query.open()
        while True:
            query.step()
    finally:
        query.close()


@pytest.mark.parametrize("is_first", [True, False], ids=["pattern before", "pattern after"])
def test_the_job_keeps_what_patterns_read_among_any_names_an_edge_invents(
    spark_stage: Callable[..., SparkStage], *, is_first: bool
) -> None:
    stage = spark_stage()
    reading = registration("PATTERN p MATCH (a)-[x]->(b) WHERE x.zone = 7 ON flows WINDOW 20", ManualClock().now())

    def send(*edges: dict[str, object]) -> None:
        text = "".join(json.dumps({"src": "a", "dst": "b", "label": "x", **each}) + "\n" for each in edges)
        stage.send([raw.encode(stage.topics.raw(FLOWS), RawEdges(text.encode()))])

    def zones() -> dict[str, object]:
        edges = ordered_edges(stage.log, stage.topics, FLOWS)
        return {edge.id: dict(edge.attributes).get("zone") for edge in edges}

    if is_first:
        stage.send([registering(stage.topics, reading)])
    send({"ts": 1, "id": "enemy", **{f"n{number}": 1 for number in range(1_000)}, "zone": 6})
    stage.run()
    if not is_first:
        stage.send([registering(stage.topics, reading)])
    send({"ts": 2, "id": "innocent", "zone": 7}, {"ts": 3, "id": "enemy again", **{f"m{number}": 1 for number in range(2_000)}})
    stage.fall_silent()
    found = zones()
    assert found["innocent"] == 7
    assert found["enemy"] == (6 if is_first else None)


@TASKS
def test_any_topic_is_read_by_the_statement_of_the_stream(spark_stage: Callable[..., Any], tasks: int) -> None:
    stage = spark_stage(tasks=tasks)
    topic = f"{stage.topics.prefix}.orders"
    stage.log.admin().ensure([TopicSpec(topic, 2)])
    text = "STREAM flows FORMAT csv (COLUMNS (at, payer, payee, sum)) EDGE (payer)-['pays']->(payee) AT at IN ms SET sum = sum"
    record = StatementRecord.of(text, parse_streams(text)[0], 1, ManualClock().now())
    stage.send([Message(stage.topics.statements, key, encode_statement(record)) for key in statement_keys(1)])
    headers = (("content-type", b"application/x-shop"), ("graphtide-command", b"none of ours"))
    bodies = (b"1,ann,bob,5\n2,bob,cat,7\n", b"3,cat,ann,9\nno time,a,b,1\n")
    stage.send([Message(topic, None, body, headers, partition=number) for number, body in enumerate(bodies)])
    stage.run(foreign=topic)
    stage.fall_silent(foreign=topic)
    found = [
        (each.ts, each.src, each.label, each.dst, dict(each.attributes))
        for each in ordered_edges(stage.log, stage.topics, FLOWS)
    ]
    assert found == [
        (1, "ann", "pays", "bob", {"sum": 5}),
        (2, "bob", "pays", "cat", {"sum": 7}),
        (3, "cat", "pays", "ann", {"sum": 9}),
    ]
    (letter,) = letters_of(stage)
    assert letter.raw == b"no time,a,b,1"
    status = read_status(stage.log, stage.topics, FLOWS, topic)
    assert (status.ordered, status.behind, status.counted.rejected) == (3, 0, 1)
