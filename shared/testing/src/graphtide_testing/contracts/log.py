"""What a log must do, without transactions; `transactions.py` holds the rest.

An implementation's tests subclass the suites and give them the fixture `log`. Topics have names of their own in every test, so
a suite can run on one server again and again.
"""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import CollidingTopicError, FatalError, PoisonRecordError, TransientError
from graphtide_core.ports.log import Message, Position, TopicPartition, TopicSpec

from graphtide_testing.raising import raises_nothing
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.log import Log, LogReader, LogWriter, Record

PATIENCE = 20.0
"""Seconds within which a log that works has done what it was asked."""

HUGE = 64 * 1024 * 1024
"""Bytes that no log takes as one record."""


def read(reader: LogReader, count: int) -> list[Record]:
    """Poll until there are at least `count` records, or patience ends; return what came."""
    found: list[Record] = []
    deadline = time.monotonic() + PATIENCE
    while len(found) < count and time.monotonic() < deadline:
        found += reader.poll(0.2, 1000)
    return found


def values(records: list[Record]) -> list[bytes | None]:
    """Return the values of the records."""
    return [record.value for record in records]


def new_topic(log: Log, partitions: int = 1) -> str:
    """Make a topic that no other test uses, and return its name."""
    name = f"test.{uuid.uuid4().hex}"
    log.admin().ensure([TopicSpec(name, partitions)])
    return name


def messages(topic: str, *texts: bytes) -> list[Message]:
    """Return messages to the first partition of a topic."""
    return [Message(topic, None, text, partition=0) for text in texts]


class LogFixtures:
    """Topics and clients for the tests; `log` comes from the subclass."""

    @pytest.fixture
    def topic(self, log: Log) -> str:
        """A topic of one partition."""
        return new_topic(log)

    @pytest.fixture
    def place(self, topic: str) -> TopicPartition:
        """Its partition."""
        return TopicPartition(topic, 0)

    @pytest.fixture
    def group(self) -> str:
        """A group that no other test uses."""
        return f"group-{uuid.uuid4().hex}"

    @pytest.fixture
    def reader(self, log: Log, group: str) -> Iterator[LogReader]:
        """A reader of the group."""
        reader = log.reader(group)
        yield reader
        reader.close()

    @pytest.fixture
    def writer(self, log: Log) -> Iterator[LogWriter]:
        """A writer."""
        writer = log.writer()
        yield writer
        writer.close()


class LogContract(LogFixtures):
    """Reading, writing and topics."""

    def test_a_record_is_read_as_it_was_written(self, topic: str, reader: LogReader, writer: LogWriter) -> None:
        """All a producer gave comes back, in its order."""
        headers = (("content-type", b"text/csv"), ("again", b"1"), ("again", b""))
        writer.write(
            [
                Message(topic, b"k", b"v", headers, partition=0, timestamp=1_600_000_000_000),
                Message(topic, b"k", None, timestamp=1_600_000_000_001),
                Message(topic, None, b"", timestamp=5),
            ]
        )
        writer.flush(PATIENCE)
        reader.assign({TopicPartition(topic, 0): 0})
        assert [tuple(record) for record in read(reader, 3)] == [
            (topic, 0, 0, 1_600_000_000_000, b"k", b"v", headers, ""),
            (topic, 0, 1, 1_600_000_000_001, b"k", None, (), ""),
            (topic, 0, 2, 5, None, b"", (), ""),
        ]

    def test_a_record_without_a_time_gets_that_of_the_call(
        self, topic: str, place: TopicPartition, reader: LogReader, writer: LogWriter
    ) -> None:
        """The log's own time is the wall clock's."""
        before = time.time() * 1000
        writer.write(messages(topic, b"a"))
        writer.flush(PATIENCE)
        reader.assign({place: 0})
        [record] = read(reader, 1)
        assert before - 1 <= record.timestamp <= time.time() * 1000 + 1

    def test_a_key_always_goes_to_the_same_partition(self, log: Log, reader: LogReader, writer: LogWriter) -> None:
        """Over writers, too."""
        topic = new_topic(log, 4)
        keys = [b"key-%d" % number for number in range(20)]
        other = log.writer()
        for each in (writer, other):
            each.write(Message(topic, key, b"") for key in keys)
            each.flush(PATIENCE)
        other.close()
        reader.assign(dict.fromkeys(reader.partitions(topic), 0))
        found = read(reader, 40)
        assert len(found) == 40
        assert len({(record.key, record.partition) for record in found}) == 20
        assert len({record.partition for record in found}) > 1

    def test_a_poll_gives_no_more_than_asked_and_the_rest_later(
        self, topic: str, place: TopicPartition, reader: LogReader, writer: LogWriter
    ) -> None:
        """Nothing is lost between two polls."""
        texts = [b"%d" % number for number in range(7)]
        writer.write(messages(topic, *texts))
        writer.flush(PATIENCE)
        reader.assign({place: 0})
        found: list[Record] = []
        for _ in range(100):
            records = reader.poll(0.2, 3)
            assert len(records) <= 3
            found += records
            if len(found) == 7:
                break
        assert values(found) == texts

    def test_a_poll_without_records_ends_in_time(self, place: TopicPartition, reader: LogReader) -> None:
        """A topic may be quiet, and once that is known, a poll waits all its time."""
        reader.assign({place: 0})
        assert reader.poll(PATIENCE, 10) == []
        begun = time.monotonic()
        assert reader.poll(0.3, 10) == []
        assert 0.2 < time.monotonic() - begun < 5

    def test_reading_continues_at_an_assigned_offset(
        self, topic: str, place: TopicPartition, reader: LogReader, writer: LogWriter
    ) -> None:
        """A new assignment replaces the old one, and forgets what was read ahead."""
        writer.write(messages(topic, b"a", b"b", b"c", b"d"))
        writer.flush(PATIENCE)
        reader.assign({place: 2})
        assert values(read(reader, 2)) == [b"c", b"d"]
        reader.assign({place: 1})
        assert values(reader.poll(PATIENCE, 1)) == [b"b"]
        reader.assign({place: 3})
        assert values(read(reader, 1)) == [b"d"]

    def test_only_assigned_partitions_are_read(self, log: Log, reader: LogReader, writer: LogWriter) -> None:
        """And an empty assignment reads nothing."""
        topic = new_topic(log, 2)
        writer.write([Message(topic, None, b"a", partition=0), Message(topic, None, b"b", partition=1)])
        writer.flush(PATIENCE)
        reader.assign({TopicPartition(topic, 1): 0})
        assert values(read(reader, 1)) == [b"b"]
        reader.assign({})
        assert reader.poll(0.2, 10) == []

    def test_an_offset_out_of_range_is_no_silent_jump(
        self, topic: str, place: TopicPartition, reader: LogReader, writer: LogWriter
    ) -> None:
        """A reader that asks for a missing offset gets an error."""
        writer.write(messages(topic, b"a"))
        writer.flush(PATIENCE)
        reader.assign({place: 17})
        with pytest.raises(FatalError):
            read(reader, 1)

    def test_a_topic_that_is_not_there_may_come_later(self, log: Log, reader: LogReader, writer: LogWriter) -> None:
        """A reader that waits for it gets its records."""
        name = f"test.{uuid.uuid4().hex}"
        assert reader.partitions(name) == []
        reader.assign({TopicPartition(name, 0): 0})
        assert reader.poll(0.5, 1) == []
        with pytest.raises(TransientError):
            reader.ends([TopicPartition(name, 0)])
        log.admin().ensure([TopicSpec(name)])
        writer.write(messages(name, b"a"))
        writer.flush(PATIENCE)
        assert values(read(reader, 1)) == [b"a"]

    def test_a_paused_partition_gives_nothing_and_loses_nothing(self, log: Log, reader: LogReader, writer: LogWriter) -> None:
        """Even where records were read ahead before the pause."""
        topic = new_topic(log, 2)
        halted, running = reader.partitions(topic)
        writer.write([Message(topic, None, b"%d" % number, partition=0) for number in range(100)])
        writer.flush(PATIENCE)
        reader.assign({halted: 0, running: 0})
        assert values(reader.poll(PATIENCE, 1)) == [b"0"]
        reader.pause([halted])
        writer.write([Message(topic, None, b"x", partition=1)])
        writer.flush(PATIENCE)
        assert values(read(reader, 1)) == [b"x"]
        assert reader.poll(0.3, 1000) == []
        reader.resume([halted])
        assert values(read(reader, 99)) == [b"%d" % number for number in range(1, 100)]

    def test_the_ends_of_partitions_are_known(self, log: Log, reader: LogReader, writer: LogWriter) -> None:
        """Of empty ones, too, and without an assignment."""
        topic = new_topic(log, 2)
        full, empty = reader.partitions(topic)
        writer.write(messages(topic, b"a", b"b"))
        writer.flush(PATIENCE)
        assert reader.ends([full, empty]) == {full: (0, 2), empty: (0, 0)}

    def test_a_group_that_never_committed_has_no_position(self, place: TopicPartition, reader: LogReader) -> None:
        """None, which is not offset 0."""
        assert reader.committed([place]) == {place: None}

    def test_a_reader_without_a_group_reads_but_has_no_positions(
        self, log: Log, topic: str, place: TopicPartition, writer: LogWriter
    ) -> None:
        """Looking at a topic needs no name."""
        writer.write(messages(topic, b"a"))
        writer.flush(PATIENCE)
        reader = log.reader(None)
        reader.assign({place: 0})
        assert values(read(reader, 1)) == [b"a"]
        with pytest.raises(ValueError, match="group"):
            reader.committed([place])
        reader.close()

    def test_a_message_too_large_harms_no_other(
        self, topic: str, place: TopicPartition, reader: LogReader, writer: LogWriter
    ) -> None:
        """Those before it are taken, and writing continues after it."""
        with pytest.raises(PoisonRecordError, match="larger"):
            writer.write(messages(topic, b"a", bytes(HUGE), b"never"))
        writer.write(messages(topic, b"b"))
        writer.flush(PATIENCE)
        reader.assign({place: 0})
        assert values(read(reader, 2)) == [b"a", b"b"]

    def test_a_message_of_four_megabytes_passes(self, log: Log, reader: LogReader, writer: LogWriter) -> None:
        """That is what ordered batches need."""
        name = f"test.{uuid.uuid4().hex}"
        log.admin().ensure([TopicSpec(name, most_bytes=4 * 1024 * 1024 + 65536)])
        value = bytes(range(256)) * (4 * 1024 * 4)
        writer.write(messages(name, value, b"after"))
        writer.flush(PATIENCE)
        reader.assign({TopicPartition(name, 0): 0})
        assert values(read(reader, 2)) == [value, b"after"]

    def test_making_a_topic_again_leaves_it_as_it_is(
        self, log: Log, topic: str, place: TopicPartition, reader: LogReader, writer: LogWriter
    ) -> None:
        """What is there stays there."""
        writer.write(messages(topic, b"a"))
        writer.flush(PATIENCE)
        added = f"{topic}.added"
        log.admin().ensure([TopicSpec(topic, 3, compacted=True), TopicSpec(added, 3, compacted=True)])
        assert {topic, added} <= set(log.admin().topics())
        assert reader.partitions(topic) == [place]
        assert reader.partitions(added) == [TopicPartition(added, number) for number in range(3)]
        assert reader.ends([place]) == {place: (0, 1)}

    def test_topics_whose_names_differ_by_dots_and_underscores_alone_are_refused_and_none_is_made(self, log: Log) -> None:
        """Kafka's metrics write them alike."""
        first = f"test.{uuid.uuid4().hex}.a"
        log.admin().ensure([TopicSpec(f"{first}.b")])
        with pytest.raises(CollidingTopicError, match="cannot be made beside"):
            log.admin().ensure([TopicSpec(f"{first}.c"), TopicSpec(f"{first}_b")])
        log.admin().ensure([TopicSpec(f"{first}.b")])
        assert [name for name in log.admin().topics() if name.startswith(first)] == [f"{first}.b"]

    def test_a_topic_that_was_deleted_is_gone_with_its_records_and_the_positions_in_it(self, log: Log, group: str) -> None:
        """What is made under its name later begins anew."""
        topic, other = new_topic(log), new_topic(log)
        writer, transactor = log.writer(), log.transactor(f"id-{uuid.uuid4().hex}")
        writer.write([*messages(topic, b"1", b"2"), *messages(other, b"3")])
        writer.flush(PATIENCE)
        writer.close()
        places = [TopicPartition(topic, 0), TopicPartition(other, 0)]
        transactor.open()
        transactor.begin()
        transactor.commit(group, dict.fromkeys(places, Position(1)))
        transactor.close()
        log.admin().delete([topic, f"{topic}.never"])
        assert topic not in log.admin().topics()
        log.admin().ensure([TopicSpec(topic)])
        reader = log.reader(group)
        wait_until(lambda: reader.committed(places) == {places[0]: None, places[1]: Position(1)}, PATIENCE, pause=0.05)
        assert reader.ends(places) == {places[0]: (0, 0), places[1]: (0, 1)}
        reader.close()

    def test_a_log_that_works_answers(self, log: Log) -> None:
        """A check of its health raises no error."""
        with raises_nothing():
            log.ping()
