"""Micro-batches give what the built-in sequencer gives, in one process or many, and however often they are tried.

Each test runs twice: other tasks decode the records, or the one that orders them does.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import FatalError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message
from graphtide_core.time import TimeUnit
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_log.memory import MemoryLog
from graphtide_ordering.ordering import Ordering
from graphtide_ordering.progress_reports import progress_of
from graphtide_ordering.raw_decoding import MOST_ATTRIBUTES
from graphtide_preprocess.application.committing import MicroBatchWriter
from graphtide_preprocess.application.micro_batch import Arrived, Counting, OrderingTask, StreamOrder
from graphtide_preprocess.domain.blocks import BlockReader
from graphtide_preprocess.domain.registered import last_statement, statement_of
from graphtide_query import parse_streams
from graphtide_statistics.domain.counting import Counting as ServiceCounting
from graphtide_testing.clock import ManualClock
from graphtide_testing.micro_batches import IDLE, Job, KeptInMemory
from graphtide_testing.raw_streams import RawStream
from graphtide_testing.registrations import registering, registration
from graphtide_testing.sequenced import last_statistics, letters, ordered_edges, records_of
from graphtide_wire import ordered, raw
from graphtide_wire.raw import RawEdges, Reset
from graphtide_wire.stream_statement import StatementRecord, encode_statement, statement_key, version_key
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log
    from graphtide_core.statistics.snapshot import StatisticsSnapshot

TOPICS = Topics("test")
FLOWS = StreamName("flows")


def log_with(messages: list[Message], partitions: int = 1) -> Log:
    log = MemoryLog()
    log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(FLOWS, partitions=partitions)])
    write(log, messages)
    return log


def write(log: Log, messages: list[Message]) -> None:
    writer = log.writer()
    writer.write(messages)
    writer.flush(5)


def register(name: str = "p", text: str = "MATCH (v)-[e:http]->(w) WHERE e.bytes > 1 ON flows WINDOW 20") -> Message:
    return registering(TOPICS, registration(f"PATTERN {name} {text}", ManualClock().now()))


def sequence(log: Log, ordering: Ordering) -> None:
    """Let the built-in sequencer do all there is, and then fall silent."""
    clock = ManualClock()
    worker = SequencingWorker(log, TOPICS, FLOWS, clock, Sequencing(ordering=ordering, linger_seconds=0, poll_seconds=0))
    worker.open()
    for _ in range(2):
        for _ in range(50):
            worker.step()
        clock.sleep(IDLE + 1)
    for _ in range(3):
        worker.step()
    worker.close()


@pytest.fixture(autouse=True, params=[True, False], ids=["decoded apart", "decoded here"])
def _decoding(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Job, "decodes_apart", request.param)


READS = "EDGE (src)-[label]->(dst) AT ts"
VERSIONS = (
    f"STREAM flows {READS} ID id SET bytes = bytes LATENESS 6ms DUPLICATES reject",
    f"STREAM flows {READS} ID id WHERE bytes > 3 DUPLICATES update",
    "STREAM flows EDGE (src)-[label]->(dst) EDGE (dst)-['back']->(src) AT ts LATENESS 2ms",
    None,
    f"STREAM flows {READS} ID id LATENESS 9ms DUPLICATES error",
)


def state(log: Log, text: str | None, version: int) -> None:
    """Register a version of the statement, or that there is none."""
    at = ManualClock().now()
    record = StatementRecord.removed("flows", version, at)
    if text is not None:
        record = StatementRecord.of(text, parse_streams(text)[0], version, at)
    keys = statement_key("flows"), version_key("flows", version)
    write(log, [Message(TOPICS.statements, key, encode_statement(record)) for key in keys])


def write_versions(seed: int) -> list[list[Message]]:
    """Return records for each version of the statement."""
    chance = random.Random(seed)
    phases: list[list[Message]] = []
    for _ in VERSIONS:
        lines = [
            json.dumps(
                {
                    "ts": 10 * len(phases) + chance.randrange(20),
                    "src": chance.choice("ab"),
                    "dst": chance.choice(["c", "d", None]),
                    "label": "http",
                    "id": f"{chance.randrange(12)}",
                    "bytes": chance.randrange(9),
                }
            ).encode()
            for _ in range(30)
        ]
        topic = TOPICS.raw(FLOWS)
        phases.append([Message(topic, None, b"\n".join(lines[at : at + 3]), partition=0) for at in range(0, 30, 3)])
    return phases


@pytest.mark.parametrize("forgets", [False, True], ids=["in one process", "each batch in a new process"])
@pytest.mark.parametrize("seed", range(4))
def test_versions_of_a_statement_read_and_order_as_in_the_built_in_sequencer(seed: int, *, forgets: bool) -> None:
    expected, found = log_with([register()]), log_with([register()])
    ordering, clock = Ordering(3, IDLE, 1000), ManualClock()
    options = Sequencing(ordering=ordering, linger_seconds=0, poll_seconds=0)
    worker = SequencingWorker(expected, TOPICS, FLOWS, clock, options)
    job = Job(found, OrderingTask(TOPICS, FLOWS, ordering=ordering), forgets, reads=("bytes",))
    worker.open()
    for version, (text, records) in enumerate(zip(VERSIONS, write_versions(seed), strict=True), 1):
        for log in (expected, found):
            state(log, text, version)
        clock.sleep(1.5)
        worker.step()
        for log in (expected, found):
            write(log, records)
        for _ in range(10):
            worker.step()
        job.read()
    clock.sleep(IDLE + 1)
    for _ in range(4):
        worker.step()
    job.run()
    assert ordered_edges(found, TOPICS, FLOWS) == ordered_edges(expected, TOPICS, FLOWS)
    assert letters(found, TOPICS, FLOWS) == letters(expected, TOPICS, FLOWS)
    progress = progress_of(found, TOPICS, FLOWS)
    assert progress is not None
    assert progress == progress_of(expected, TOPICS, FLOWS)
    counted = progress.counted
    assert min(counted.filtered, counted.replaced, counted.late, counted.rejected, counted.duplicates) > 0
    worker.close()


FEATURED = "\n".join(
    [
        f"STREAM flows {READS} ID id SET bytes = bytes LATENESS 6ms DUPLICATES update",
        "FEATURE sent = sum(bytes) PER src OVER 9ms",
        "FEATURE fan = count(DISTINCT dst) PER src OVER 30ms WHERE bytes > 2",
        "FEATURE surge = count(*) OVER 3ms AGAINST 20ms",
        "EMIT EDGE (src:host)-[:burst]->(dst) EVERY 12ms SET n = count(*), total = sum(bytes) HAVING n > 1",
        "EMIT EDGE (dst)-[:fan]->(dst) EVERY 5ms SET hosts = count(DISTINCT src)",
    ]
)


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_features_are_those_of_the_built_in_sequencer(seed: int, *, forgets: bool) -> None:
    phases = write_versions(seed)
    built_in, job = (log_with([register()]) for _ in range(2))
    for log in (built_in, job):
        state(log, FEATURED, 1)
        for place, phase in enumerate(phases):
            write(log, phase)
            if place == 1:
                write(log, [raw.encode_reset(TOPICS.raw(FLOWS), Reset(0))])
    ordering = Ordering(idle_seconds=IDLE)
    sequence(built_in, ordering)
    Job(job, OrderingTask(TOPICS, FLOWS, ordering=ordering), forgets=forgets, records_in_a_batch=3).run()
    expected = ordered_edges(built_in, TOPICS, FLOWS)
    assert {"sent", "fan", "surge"} <= {name for each in expected for name, value in each.attributes if value}
    assert {"burst", "fan"} <= {each.label for each in expected}
    assert ordered_edges(job, TOPICS, FLOWS) == expected


def test_a_statement_that_cannot_be_read_counts_as_none() -> None:
    log = log_with([])
    state(log, VERSIONS[0], 1)
    write(log, [Message(TOPICS.statements, version_key("flows", version), b"{}") for version in (2, 3)])
    write(log, [Message(TOPICS.statements, version_key("other", 4), b"{}"), Message(TOPICS.statements, None, None)])
    statement = statement_of(last_statement(records_of(log, TOPICS.statements), FLOWS))
    assert statement is not None
    assert statement.version == 1


STREAMS = {
    "in order": (RawStream(1), 0),
    "out of order": (RawStream(2, disorder=9), 4),
    "late": (RawStream(3, disorder=30), 2),
    "two producers": (RawStream(4, producers=("p", "q"), disorder=5), 0),
    "two producers, late": (RawStream(5, producers=("p", "q"), disorder=20), 3),
    "many bad records": (RawStream(6, disorder=3, bad=0.6), 0),
    "no ids": (RawStream(7, disorder=3, with_ids=0.0), 2),
    "events": (RawStream(9, disorder=5, events=1.0), 2),
    "events among edges": (RawStream(10, producers=("p", "q"), disorder=5, events=0.5), 2),
    "all ids": (RawStream(8, disorder=3, with_ids=1.0), 2),
}


@pytest.mark.parametrize("forgets", [False, True], ids=["in one process", "each batch in a new process"])
@pytest.mark.parametrize("name", STREAMS)
def test_batches_give_the_edges_letters_and_counts_of_the_built_in_sequencer(name: str, forgets: bool) -> None:
    stream, lateness = STREAMS[name]
    counting = register("q", "MATCH (v)-[e:http]->(w) ON flows WINDOW 30 EDGES")
    messages = [register(), counting, *replace(stream).messages(TOPICS, FLOWS, 120)]
    ordering = Ordering(lateness, IDLE, 1000)
    expected, found = log_with(messages), log_with(messages)
    sequence(expected, ordering)
    Job(found, OrderingTask(TOPICS, FLOWS, ordering=ordering, counting=Counting(10**6, 0.0)), forgets).run()
    assert ordered_edges(found, TOPICS, FLOWS) == ordered_edges(expected, TOPICS, FLOWS)
    assert any(edge.is_event for edge in ordered_edges(found, TOPICS, FLOWS)) == (stream.events > 0)
    assert letters(found, TOPICS, FLOWS) == letters(expected, TOPICS, FLOWS)
    published = last_statistics(found, TOPICS, FLOWS)
    assert published is not None
    assert replace(published.snapshot, version=1) == count(expected)


@pytest.mark.parametrize("forgets", [False, True], ids=["in one process", "each batch in a new process"])
@pytest.mark.parametrize("name", STREAMS)
def test_batches_end_epochs_where_the_built_in_sequencer_ends_them(name: str, forgets: bool) -> None:
    stream, lateness = STREAMS[name]
    messages = [register(), *replace(stream).messages(TOPICS, FLOWS, 120)]
    far = raw.encode(TOPICS.raw(FLOWS), RawEdges(b'{"ts": 9223372036854775807, "src": "a", "dst": "b", "label": "http"}'))
    resets = [raw.encode_reset(TOPICS.raw(FLOWS), Reset(ends)) for ends in (0, 0, 1)]
    for place, message in ((30, far), (50, resets[0]), (55, resets[1]), (90, resets[2])):
        messages.insert(place, message._replace(partition=0))
    ordering = Ordering(lateness, IDLE, 1000)
    expected, found = log_with(messages), log_with(messages)
    sequence(expected, ordering)
    Job(found, OrderingTask(TOPICS, FLOWS, ordering=ordering, counting=Counting(10**6, 0.0)), forgets).run()
    assert {edge.epoch for edge in ordered_edges(expected, TOPICS, FLOWS)} == {0, 1, 2}
    assert ordered_edges(found, TOPICS, FLOWS) == ordered_edges(expected, TOPICS, FLOWS)
    assert letters(found, TOPICS, FLOWS) == letters(expected, TOPICS, FLOWS)
    published = last_statistics(found, TOPICS, FLOWS)
    assert published is not None
    assert replace(published.snapshot, version=1) == count(expected)
    assert progress_of(found, TOPICS, FLOWS) == progress_of(expected, TOPICS, FLOWS)


@pytest.mark.parametrize("name", ["two producers", "two producers, late"])
def test_no_stream_is_forgotten_because_batches_take_long(name: str) -> None:
    stream, lateness = STREAMS[name]
    messages = replace(stream).messages(TOPICS, FLOWS, 120)
    ordering = Ordering(lateness, IDLE, 1000)
    expected, found = log_with(messages), log_with(messages)
    sequence(expected, ordering)
    Job(
        found, OrderingTask(TOPICS, FLOWS, ordering=ordering), records_in_a_batch=2, milliseconds_of_a_batch=int(IDLE * 100_000)
    ).run()
    assert ordered_edges(found, TOPICS, FLOWS) == ordered_edges(expected, TOPICS, FLOWS)
    assert letters(found, TOPICS, FLOWS) == letters(expected, TOPICS, FLOWS)


def test_who_is_silent_in_the_log_while_others_speak_is_not_waited_for_however_fast_batches_are() -> None:
    line = b'{"ts": %d, "src": "a", "dst": "b", "label": "x"}'
    log = log_with([said_by(b"p", line % 1), said_by(b"q", line % 2)])
    job = Job(log, OrderingTask(TOPICS, FLOWS, ordering=Ordering(0, IDLE)), milliseconds_of_a_batch=0)
    job.read()
    assert [edge.ts for edge in ordered_edges(log, TOPICS, FLOWS)] == [1]
    job.now += int(IDLE * 1000)
    write(log, [said_by(b"q", line % 9)])
    job.read()
    assert [edge.ts for edge in ordered_edges(log, TOPICS, FLOWS)] == [1, 2, 9]


def test_who_spoke_while_a_batch_was_taken_and_is_read_later_is_waited_for() -> None:
    line = b'{"ts": %d, "src": "a", "dst": "b", "label": "x"}'
    log = log_with([said_by(b"p", line % 1), said_by(b"q", line % 1)])
    job = Job(log, OrderingTask(TOPICS, FLOWS, ordering=Ordering(0, IDLE)), records_in_a_batch=2)
    job.read()
    job.now += int(IDLE * 100_000)
    write(log, [*(said_by(b"q", line % ts) for ts in range(2, 8)), said_by(b"p", line % 2)])
    job.read()
    assert [edge.ts for edge in ordered_edges(log, TOPICS, FLOWS)] == [1, 1, 2, 2]
    assert letters(log, TOPICS, FLOWS) == []


def said_by(producer: bytes, line: bytes) -> Message:
    return Message(TOPICS.raw(FLOWS), None, line, (("graphtide-producer", producer),), 0)


def count(log: Log) -> StatisticsSnapshot:
    """Return what the statistics service counts of the ordered stream."""
    counting = ServiceCounting(FLOWS, 20, TimeUnit.MILLISECOND, deletions=True)
    for record in records_of(log, TOPICS.ordered(FLOWS)):
        epoch = ordered.header(record.headers).epoch
        counting = counting if counting.epoch == epoch else counting.anew(epoch)
        counting.take(record.value or b"", ordered.header(record.headers).last_ts)
    published = counting.publish(None)
    assert published is not None
    return published.snapshot


def test_with_several_partitions_the_edges_are_those_of_the_built_in_sequencer_but_for_the_order_of_equal_times() -> None:
    messages = RawStream(9, partitions=3, disorder=0, bad=0.2).messages(TOPICS, FLOWS, 200)
    ordering = Ordering(50, IDLE, 10_000)
    expected, found = log_with(messages, 3), log_with(messages, 3)
    sequence(expected, ordering)
    Job(found, OrderingTask(TOPICS, FLOWS, ordering=ordering), records_in_a_batch=500).run()
    assert sorted(ordered_edges(found, TOPICS, FLOWS)) == sorted(ordered_edges(expected, TOPICS, FLOWS))
    assert sorted(letters(found, TOPICS, FLOWS), key=repr) == sorted(letters(expected, TOPICS, FLOWS), key=repr)


def test_a_turn_that_was_committed_is_not_written_again() -> None:
    log = log_with(RawStream(10).messages(TOPICS, FLOWS, 10))
    task = OrderingTask(TOPICS, FLOWS)
    blocks = list(BlockReader().blocks(records_of(log, TOPICS.raw(FLOWS))))
    first = StreamOrder(task).micro_batch(KeptInMemory(), Arrived(1000, 1000, blocks))
    again = StreamOrder(task).micro_batch(KeptInMemory(), Arrived(1000, 1000, blocks))
    assert first is not None
    assert again is not None
    assert [MicroBatchWriter(log, TOPICS, FLOWS, TOPICS.raw(FLOWS)).commit(*given) for given in (first, again)] == [True, False]


def test_a_checkpoint_that_did_not_write_the_topic_is_refused() -> None:
    messages = RawStream(11).messages(TOPICS, FLOWS, 20)
    log = log_with(messages)
    Job(log, OrderingTask(TOPICS, FLOWS)).run()
    written = ordered_edges(log, TOPICS, FLOWS)
    with pytest.raises(FatalError, match="do not belong together"):
        Job(log, OrderingTask(TOPICS, FLOWS), records_in_a_batch=7).run()
    assert ordered_edges(log, TOPICS, FLOWS) == written


def test_a_topic_that_the_built_in_sequencer_wrote_is_refused() -> None:
    log = log_with(RawStream(12).messages(TOPICS, FLOWS, 20))
    sequence(log, Ordering(0, IDLE))
    with pytest.raises(FatalError, match="do not belong together"):
        Job(log, OrderingTask(TOPICS, FLOWS)).run()


def test_only_what_patterns_use_goes_out_where_that_is_set_and_a_new_pattern_widens_it() -> None:
    messages = RawStream(13, bad=0).messages(TOPICS, FLOWS, 100)
    log = log_with([register(), *messages])
    job = Job(log, OrderingTask(TOPICS, FLOWS, projects=True))
    job.run()
    edges = ordered_edges(log, TOPICS, FLOWS)
    assert {edge.label for edge in edges if edge.op == "insert"} == {"http"}
    assert {name for edge in edges for name, _ in edge.attributes} == {"bytes"}
    last = ordered.header(records_of(log, TOPICS.ordered(FLOWS))[-1].headers)
    assert (last.records, last.last_ts) == (0, edges[-1].ts), "edges that no pattern reads let time pass"
    assert last.watermark > last.last_ts
    assert last.number is not None
    assert last.number > len(edges), "what was left out is counted"
    more = RawStream(14, bad=0).messages(TOPICS, FLOWS, 100)
    late = log_with([*messages, *more])
    records = records_of(late, TOPICS.raw(FLOWS))[len(messages) :]
    widened = register("q", "MATCH (v)-[e]->(w) WHERE e.later > 1 ON flows WINDOW 20")
    job.micro_batch(Arrived(job.now, job.now, list(BlockReader().blocks(records)), [("q", widened.value)]))
    labels = {edge.label for edge in ordered_edges(log, TOPICS, FLOWS)[len(edges) :]}
    assert labels >= {"http", "tcp", "dns"}


def test_ids_are_remembered_for_as_long_as_the_longest_window() -> None:
    line = b'{"ts": %d, "src": "a", "dst": "b", "label": "x", "id": "%s"}'
    values = [line % pair for pair in ((0, b"e"), (19, b"e"), (20, b"e"), (21, b"f"))]
    log = log_with([register(), *(Message(TOPICS.raw(FLOWS), None, value, partition=0) for value in values)])
    Job(log, OrderingTask(TOPICS, FLOWS), records_in_a_batch=1, forgets=True).run()
    assert [(edge.ts, edge.id) for edge in ordered_edges(log, TOPICS, FLOWS)] == [(0, "e"), (20, "e"), (21, "f")]


def test_a_checkpoint_of_a_newer_version_is_refused_by_name() -> None:
    kept = KeptInMemory()
    kept.keep_head(b'{"identity": "x", "form": 9}')
    with pytest.raises(FatalError, match="form 9"):
        StreamOrder(OrderingTask(TOPICS, FLOWS)).micro_batch(kept, Arrived(0, 0))


@pytest.mark.parametrize("forgets", [False, True], ids=["in one process", "each batch in a new process"])
@pytest.mark.parametrize("in_a_batch", [1, 100])
@pytest.mark.parametrize("many", [MOST_ATTRIBUTES, 20_000])
def test_what_a_pattern_reads_is_there_among_any_invented_names(many: int, in_a_batch: int, *, forgets: bool) -> None:
    def message(ts: int, **more: object) -> Message:
        edge = {"ts": ts, "src": "a", "dst": "b", "label": "http", "id": f"e{ts}", **more}
        return Message(TOPICS.raw(FLOWS), None, json.dumps(edge).encode(), partition=0)

    invented = [message(ts, **{f"a{ts}_{n}": 1 for n in range(many)}, zone=ts) for ts in (1, 2)]
    log = log_with([register("q", "MATCH (v)-[e]->(w) WHERE e.zone > 0 ON flows WINDOW 20"), *invented])
    write(log, [message(ts, zone=ts, plain=ts) for ts in (3, 4, 5)])
    Job(log, OrderingTask(TOPICS, FLOWS, ordering=Ordering(2, IDLE)), forgets, in_a_batch, reads=("zone",)).run()
    edges = [(edge.id, dict(edge.attributes)) for edge in ordered_edges(log, TOPICS, FLOWS)]
    assert [id for id, _ in edges] == ["e1", "e2", "e3", "e4", "e5"]
    assert [found["zone"] for _, found in edges] == [1, 2, 3, 4, 5]
    assert ("plain" in edges[-1][1]) == (in_a_batch == 1), "a batch later there is room"


@pytest.mark.parametrize("forgets", [False, True], ids=["in one process", "each batch in a new process"])
def test_the_trace_of_a_raw_record_goes_on_in_the_ordered_one(*, forgets: bool) -> None:
    trace = f"00-{7:032x}-{9:016x}-01"
    line = b'{"ts": %d, "src": "a", "dst": "b", "label": "x"}'
    traced = Message(TOPICS.raw(FLOWS), None, line % 2, (("traceparent", trace.encode()),), 0)
    log = log_with([said_by(b"p", line % 1), traced, said_by(b"p", line % 3)])
    Job(log, OrderingTask(TOPICS, FLOWS), forgets=forgets).run()
    headers = [ordered.header(record.headers) for record in records_of(log, TOPICS.ordered(FLOWS))]
    found = [each for header in headers for each in header.traces]
    # Where this process records traces, its own span goes on with the trace.
    assert [(each.rows, each.traceparent.split("-")[1]) for each in found] == [(1, f"{7:032x}")]


def test_what_became_of_a_micro_batch_is_measured() -> None:
    lines = [b'{"ts": %d, "src": "a", "dst": "b", "label": "x", "id": "%d"}' % (ts, ts % 4) for ts in range(1, 6)]
    log = log_with([said_by(b"p", line) for line in (*lines, b"{")])
    job = Job(log, OrderingTask(TOPICS, FLOWS, ordering=Ordering(1, IDLE)))
    job.read()
    measured = job.order.measured
    assert (measured.stream, measured.records) == (FLOWS, 6)
    assert {name: count for name, count in measured.outcomes.items() if count} == {"read": 6, "ordered": 4, "malformed": 1}
    assert (measured.pending, measured.lag) == (1, 0.001)
    assert set(measured.seconds) == {"read", "order"}
    assert min(measured.seconds.values()) >= 0
