"""A stream that its statement divides: its parts in micro-batches are those of ingestion, however often a batch is tried."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.merged_streams import parts_of
from graphtide_core.part_key import part_of
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_log.memory import MemoryLog
from graphtide_ordering.ordering import Ordering
from graphtide_ordering.progress_reports import progress_of
from graphtide_preprocess.application.committing import read_begun
from graphtide_preprocess.application.divided import make_parts, read_division
from graphtide_preprocess.application.micro_batch import OrderingTask
from graphtide_preprocess.application.status import read_status
from graphtide_testing.clock import ManualClock
from graphtide_testing.dividing_stage import DividingStage
from graphtide_testing.micro_batches import IDLE, Job
from graphtide_testing.raw_streams import RawStream
from graphtide_testing.registrations import registering, registration
from graphtide_testing.seeds import seeds
from graphtide_testing.sequenced import letters, ordered_edges, records_of
from graphtide_testing.sequencing_stage import FLOWS, TOPICS, SequencingStage, edge, lines
from graphtide_wire import dead_letters, ordered, raw
from graphtide_wire.raw import RawEdges, Reset

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log
    from graphtide_testing.sequenced import Edge

READER = "PATTERN p MATCH (v)-[e]->(w) ON flows WHERE e.bytes = 1 WINDOW 9"
MANY = 10_000
"""Records of a batch: all that is there."""


def rows(log: Log, part: StreamName) -> list[Edge]:
    """Return the records of a part, in their order, with what patterns read of them: others come as they were in a batch."""
    found = ordered_edges(log, TOPICS, part)
    return [each._replace(attributes=tuple(value for value in each.attributes if value[0] == "bytes")) for each in found]


@dataclass
class Both:
    """The same stream in ingestion and in the job."""

    ingestion: DividingStage
    job: Job

    @classmethod
    def of(cls, text: str, *, partitions: int = 1, lateness: int = 0, forgets: bool = False, registers: bool = True) -> Both:
        ingestion = DividingStage(text, partitions, lateness, most_records=MANY)
        log = MemoryLog()
        log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(FLOWS, partitions=partitions)])
        found = cls(ingestion, Job(log, OrderingTask(TOPICS, FLOWS, ordering=Ordering(lateness, IDLE))))
        found.write(*ingestion.read(TOPICS.statements), alone=True)
        division = read_division(log, TOPICS, FLOWS)
        assert division is not None
        make_parts(log, TOPICS, division, None)
        if registers:
            found.write(register_reader())
        found.job = Job(log, found.job.task, forgets, MANY, division=division, reads=("bytes",))
        return found

    def write(self, *messages: Any, alone: bool = False) -> None:
        """Write messages to both logs, or to that of the job alone."""
        given = [Message(each.topic, each.key, each.value, each.headers, each.partition) for each in messages]
        if not alone:
            self.ingestion.write(*given)
        writer = self.job.log.writer()
        writer.write(given)
        writer.flush(5)

    def round(self, messages: list[Message]) -> None:
        """Write messages, and let both read them at once."""
        self.write(*messages)
        self.ingestion.run(4)
        self.job.read()

    def end(self) -> None:
        """Let all be silent."""
        self.ingestion.fall_silent()
        self.job.run()

    def check(self) -> None:
        """Every part has the same records in the same order, and so have the dead letters and what is counted."""
        ingestion, job = self.ingestion.log, self.job.log
        for part in self.ingestion.parts:
            assert rows(job, part) == rows(ingestion, part), part
        found, expected = (Counter(map(bare, letters(log, TOPICS, FLOWS))) for log in (job, ingestion))
        assert found == expected
        parts = len(self.ingestion.parts)
        counted, by_ingestion = progress_of(job, TOPICS, FLOWS, parts), progress_of(ingestion, TOPICS, FLOWS, parts)
        assert counted is not None
        assert by_ingestion is not None
        if not counted.epoch:  # Dividers count through all epochs.
            assert counted.counted == by_ingestion.counted
        assert (counted.epoch, counted.newest, counted.watermark) == (
            by_ingestion.epoch,
            by_ingestion.newest,
            by_ingestion.watermark,
        )


def bare(letter: tuple[object, ...]) -> tuple[object, ...]:
    """Leave out where the record stood: ingestion names the raw topic of a part, if it is rejected there."""
    return letter[:3]


def register_reader() -> Message:
    """Return a pattern."""
    return registering(TOPICS, registration(READER, ManualClock().now()))


KEYS = ("src", "VERTEX", "bytes")


@pytest.mark.parametrize("forgets", [False, True], ids=["in one process", "each batch in a new process"])
@pytest.mark.parametrize("parts", [1, 3, 8])
def test_parts_are_those_of_ingestion(parts: int, *, forgets: bool) -> None:
    kinds: Counter[str] = Counter()
    for seed in seeds(6):
        key, lateness = KEYS[seed % 3], (0, 3, 8)[seed // 3 % 3]
        producers = ((), ("p", "q"))[seed % 2]
        stream = RawStream(seed, producers, disorder=(0, 5, 20)[seed // 2 % 3], bad=0.2, with_ids=0.8)
        both = Both.of(f"STREAM flows PARTITION BY {key} PARTS {parts}", lateness=lateness, forgets=forgets)
        for number in range(6):
            messages = stream.messages(TOPICS, FLOWS, 20)
            if number == 3 and seed % 2:
                messages.append(raw.encode_reset(TOPICS.raw(FLOWS), Reset(0))._replace(partition=0))
            both.round(messages)
        both.end()
        both.check()
        kinds.update(str(letter[1]) for letter in letters(both.job.log, TOPICS, FLOWS))
        kinds.update(row.op for part in both.ingestion.parts for row in rows(both.job.log, part))
    assert min(kinds[name] for name in ("insert", "delete", "malformed", "late")) > 0


@pytest.mark.parametrize("parts", [1, 3, 8])
def test_without_late_edges_each_part_has_what_the_whole_stream_has_of_its_keys(parts: int) -> None:
    """The oracle: put all in order, then choose."""
    for seed in seeds(4):
        messages = RawStream(seed, disorder=9, bad=0.1).messages(TOPICS, FLOWS, 120)
        both = Both.of(f"STREAM flows PARTITION BY src PARTS {parts}", lateness=50, registers=False)
        whole = SequencingStage(lateness=50, most_records=MANY)
        both.write(*messages, alone=True)
        both.job.records_in_a_batch = 7
        both.job.run()
        for message in messages:
            whole.write(message)
        whole.fall_silent()
        everything = ordered_edges(whole.log, TOPICS, FLOWS)
        for number, part in enumerate(parts_of(FLOWS, parts)):
            expected = [
                (each.ts, each.op, each.src, each.dst, each.id)
                for each in everything
                if each.op == "delete" or part_of(each.src, parts) == number
            ]
            assert [(row.ts, row.op, row.src, row.dst, row.id) for row in rows(both.job.log, part)] == expected


def test_several_raw_partitions_give_each_part_the_same_edges() -> None:
    both = Both.of("STREAM flows PARTITION BY src PARTS 3", partitions=3, lateness=1000)
    stream = RawStream(30, partitions=3)
    for _ in range(4):
        both.round(stream.messages(TOPICS, FLOWS, 40))
    both.end()
    for part in both.ingestion.parts:
        found, expected = (rows(log, part) for log in (both.job.log, both.ingestion.log))
        assert sorted(found) == sorted(expected)


def test_each_part_says_how_far_the_stream_is_though_it_has_no_edge() -> None:
    both = Both.of("STREAM flows PARTITION BY src PARTS 8")
    both.round([raw.encode(TOPICS.raw(FLOWS), RawEdges(lines(edge(100, "a"))))._replace(partition=0)])
    for part in both.ingestion.parts:
        last = ordered.header(records_of(both.job.log, TOPICS.ordered(part))[-1].headers)
        assert last.watermark == 100
    status = [read_status(both.job.log, TOPICS, part) for part in both.ingestion.parts]
    assert [(each.stream, each.behind, each.watermark) for each in status] == [(part, 0, 100) for part in both.ingestion.parts]
    assert sum(each.ordered for each in status) == 1


def test_a_late_edge_and_a_bad_one_name_their_record() -> None:
    both = Both.of("STREAM flows PARTITION BY src PARTS 3")
    bodies = [lines(edge(100, "a")), lines(edge(90, "b"), "bad")]
    for number, body in enumerate(bodies):
        record = raw.encode(TOPICS.raw(FLOWS), RawEdges(body, line=10 * number + 1))
        both.write(record._replace(partition=0), alone=True)
        both.job.read()
    found = [dead_letters.decode(record) for record in records_of(both.job.log, TOPICS.dead_letters(FLOWS))]
    assert sorted((each.code, each.source.topic, each.source.offset, each.source.line) for each in found) == [
        ("late", TOPICS.raw(FLOWS), 1, 11),
        ("malformed", TOPICS.raw(FLOWS), 1, 12),
    ]


def test_a_new_division_begins_where_the_last_one_ended() -> None:
    both = Both.of("STREAM flows PARTITION BY src PARTS 3", partitions=2)
    topic = TOPICS.raw(FLOWS)
    places = [TopicPartition(topic, number) for number in range(2)]
    assert read_begun(both.job.log, TOPICS, FLOWS, places) == {}
    both.write(*(raw.encode(topic, RawEdges(lines(edge(ts, f"e{ts}"))))._replace(partition=0) for ts in range(5)), alone=True)
    both.job.read()
    assert read_begun(both.job.log, TOPICS, FLOWS, places) == {places[0]: 5}


def test_a_batch_that_was_committed_for_some_parts_is_completed_for_the_others() -> None:
    both = Both.of("STREAM flows PARTITION BY src PARTS 3")
    messages = RawStream(5, bad=0.2).messages(TOPICS, FLOWS, 40)
    both.write(*messages, alone=True)
    first, job = both.job, replace(both.job, kept={}, forgets=True)
    first.names = first.names[:2]
    first.read()
    job.run()
    again = Both.of("STREAM flows PARTITION BY src PARTS 3")
    again.write(*messages, alone=True)
    again.job.run()
    for part in both.ingestion.parts:
        assert rows(both.job.log, part) == rows(again.job.log, part)
    assert Counter(letters(both.job.log, TOPICS, FLOWS)) == Counter(letters(again.job.log, TOPICS, FLOWS))
