"""What a log's transactions must do."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import FatalError, FencedError
from graphtide_core.ports.log import MOST_METADATA_BYTES, Position, TopicPartition

from graphtide_testing.contracts.log import PATIENCE, LogFixtures, messages, new_topic, read, values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.log import Log, LogReader, LogTransactor, LogWriter, Record


class TransactionContract(LogFixtures):
    """Transactions: both or neither, seen by committed readers alone, one owner of an id."""

    @pytest.fixture
    def transactor(self, log: Log, group: str) -> Iterator[LogTransactor]:
        """A transactor that was opened; its id is the group's name."""
        transactor = log.transactor(group)
        transactor.open()
        yield transactor
        transactor.close()

    def test_records_and_positions_come_into_sight_together(
        self, log: Log, topic: str, place: TopicPartition, group: str, reader: LogReader, transactor: LogTransactor
    ) -> None:
        """In every topic of the transaction, with what the group wanted to remember."""
        other = TopicPartition(new_topic(log), 0)
        reader.assign({place: 0, other: 0})
        transactor.begin()
        transactor.write(messages(topic, b"a", b"b"))
        transactor.write(messages(other.topic, b"c"))
        assert reader.poll(0.5, 10) == []
        transactor.commit(group, {place: Position(42, '{"watermark":7,"word":"größe"}'), other: Position(1)})
        assert sorted(record.value or b"" for record in read(reader, 3)) == [b"a", b"b", b"c"]
        assert reader.committed([place, other]) == {
            place: Position(42, '{"watermark":7,"word":"größe"}'),
            other: Position(1),
        }

    def test_records_of_commits_say_the_same_as_the_group(
        self, log: Log, topic: str, place: TopicPartition, group: str, reader: LogReader, transactor: LogTransactor
    ) -> None:
        """Of the last commit that held, for partitions of one group among others; None where it never committed."""
        other, never = TopicPartition(new_topic(log), 0), TopicPartition(new_topic(log), 0)
        for offset in (3, 42):
            transactor.begin()
            transactor.write(messages(topic, b"a"))
            transactor.commit(group, {place: Position(offset, f'{{"word":"größe {offset}"}}'), other: Position(1)})
        transactor.begin()
        transactor.commit(f"{group}2", {place: Position(77)})
        transactor.begin()
        transactor.write(messages(topic, b"lost"))
        transactor.abort()
        assert reader.recorded([place, other, never]) == reader.committed([place, other, never])
        assert reader.recorded([place, never]) == {place: Position(42, '{"word":"größe 42"}'), never: None}
        unread = log.reader(None)
        with pytest.raises(ValueError, match="group"):
            unread.recorded([place])
        unread.close()

    def test_what_is_remembered_may_be_long(
        self, topic: str, place: TopicPartition, group: str, reader: LogReader, transactor: LogTransactor
    ) -> None:
        """As many bytes as the port promises; enough for the watermarks of some producers."""
        remembered = "ä" * (MOST_METADATA_BYTES // 2)
        transactor.begin()
        transactor.write(messages(topic, b"a"))
        transactor.commit(group, {place: Position(1, remembered)})
        assert reader.committed([place]) == {place: Position(1, remembered)}

    def test_too_much_to_remember_is_refused(
        self, place: TopicPartition, group: str, reader: LogReader, transactor: LogTransactor
    ) -> None:
        """Trying again would not help, and the group stays where it was."""
        transactor.begin()
        with pytest.raises(FatalError):
            transactor.commit(group, {place: Position(1, "x" * 8000)})
        assert reader.committed([place]) == {place: None}

    def test_positions_commit_without_records(
        self, place: TopicPartition, group: str, reader: LogReader, transactor: LogTransactor
    ) -> None:
        """A batch that brought no match moves the group on all the same; other positions of it stay."""
        transactor.begin()
        transactor.commit(group, {place: Position(5, "five")})
        transactor.begin()
        transactor.commit(group, {})
        assert reader.committed([place]) == {place: Position(5, "five")}

    def test_positions_belong_to_their_group(
        self, log: Log, place: TopicPartition, group: str, transactor: LogTransactor
    ) -> None:
        """Another group has not read anything."""
        transactor.begin()
        transactor.commit(group, {place: Position(5)})
        reader = log.reader(f"{group}-other")
        assert reader.committed([place]) == {place: None}
        reader.close()

    def test_aborted_records_are_never_seen(
        self, topic: str, place: TopicPartition, group: str, reader: LogReader, transactor: LogTransactor
    ) -> None:
        """Those of the next transaction are, at later offsets, and positions hold from there."""
        transactor.begin()
        transactor.write(messages(topic, b"no", b"neither"))
        self.settle(transactor)
        transactor.abort()
        transactor.begin()
        transactor.write(messages(topic, b"yes"))
        transactor.commit(group, {})
        reader.assign({place: 0})
        [record] = read(reader, 1)
        assert (record.value, record.offset) == (b"yes", 3)
        assert reader.poll(0.3, 10) == []
        assert reader.committed([place]) == {place: None}

    def test_the_end_is_found_past_marks_and_aborted_records(
        self, topic: str, place: TopicPartition, group: str, reader: LogReader, transactor: LogTransactor
    ) -> None:
        """Offsets alone do not show it; a record that comes later ends the end."""
        reader.assign({place: 0})
        assert not reader.at_end()
        assert self.to_the_end(reader) == []
        for text, outcome in ((b"a", True), (b"no", False), (b"b", True), (b"no", False)):
            transactor.begin()
            transactor.write(messages(topic, text))
            self.settle(transactor)
            transactor.commit(group, {}) if outcome else transactor.abort()
        assert values(read(reader, 2)) == [b"a", b"b"]
        assert self.to_the_end(reader) == []
        reader.assign({place: 0})
        assert values(self.to_the_end(reader)) == [b"a", b"b"]

    def test_where_the_end_was_found_is_known_until_something_comes(
        self, topic: str, place: TopicPartition, group: str, reader: LogReader, transactor: LogTransactor
    ) -> None:
        """Past marks, which are not records; None for a partition that is not assigned."""
        assert reader.ended_at(place) is None
        for text in (b"a", b"b"):
            transactor.begin()
            transactor.write(messages(topic, text))
            transactor.commit(group, {})
        reader.assign({place: 0})
        assert reader.ended_at(place) is None
        assert values(read(reader, 2)) == [b"a", b"b"]
        self.to_the_end(reader)
        end = reader.ends([place])[place][1]
        assert reader.ended_at(place) == end
        transactor.begin()
        transactor.write(messages(topic, b"c"))
        transactor.commit(group, {})
        assert values(read(reader, 1)) == [b"c"]
        self.to_the_end(reader)
        assert reader.ended_at(place) == reader.ends([place])[place][1] > end
        reader.assign({})
        assert reader.ended_at(place) is None

    def to_the_end(self, reader: LogReader) -> list[Record]:
        """Poll until the end is reached, or patience ends; return what came."""
        deadline = time.monotonic() + PATIENCE
        found = reader.poll(0.5, 1)
        while not reader.at_end() and time.monotonic() < deadline:
            found += reader.poll(0.5, 1)
        assert reader.at_end()
        return found

    def test_an_open_transaction_holds_back_what_follows(
        self,
        log: Log,
        topic: str,
        place: TopicPartition,
        group: str,
        reader: LogReader,
        writer: LogWriter,
        transactor: LogTransactor,
    ) -> None:
        """Else readers would see records out of order; the reported end is the end of what can be read."""
        writer.write(messages(topic, b"before"))
        writer.flush(PATIENCE)
        transactor.begin()
        transactor.write(messages(topic, b"within"))
        transactor.commit(group, {})
        reader.assign({place: 0})
        assert values(read(reader, 2)) == [b"before", b"within"]
        assert reader.ends([place]) == {place: (0, 3)}
        transactor.begin()
        transactor.write(messages(topic, b"open"))
        self.settle(transactor)
        writer.write(messages(topic, b"after"))
        writer.flush(PATIENCE)
        assert reader.poll(0.3, 10) == []
        assert reader.ends([place]) == {place: (0, 3)}
        assert log.admin().written([place]) == {place: 5}
        transactor.commit(group, {})
        assert values(read(reader, 2)) == [b"open", b"after"]
        assert reader.ends([place]) == {place: (0, 6)}
        assert log.admin().written([place]) == {place: 6}

    def test_reading_goes_on_after_the_mark_of_a_transaction(
        self, topic: str, place: TopicPartition, group: str, reader: LogReader, transactor: LogTransactor
    ) -> None:
        """The offset after the last record is where a transaction ended, not a record; it is a good place to begin."""
        for text in (b"a", b"b"):
            transactor.begin()
            transactor.write(messages(topic, text))
            transactor.commit(group, {})
        reader.assign({place: 1})
        [record] = read(reader, 1)
        assert (record.value, record.offset) == (b"b", 2)

    def test_a_second_owner_of_an_id_shuts_out_the_first(
        self, log: Log, topic: str, place: TopicPartition, group: str, reader: LogReader, transactor: LogTransactor
    ) -> None:
        """What the first had open is aborted; it can neither write nor commit any more."""
        transactor.begin()
        transactor.write(messages(topic, b"old"))
        self.settle(transactor)
        second = log.transactor(group)
        second.open()
        with pytest.raises(FencedError):
            transactor.commit(group, {place: Position(9)})
        second.begin()
        second.write(messages(topic, b"new"))
        second.commit(group, {place: Position(1)})
        reader.assign({place: 0})
        assert values(read(reader, 1)) == [b"new"]
        assert reader.committed([place]) == {place: Position(1)}
        with pytest.raises(FencedError):
            transactor.begin()
        second.close()

    def test_an_owner_that_was_shut_out_cannot_start_again(
        self, log: Log, topic: str, group: str, transactor: LogTransactor
    ) -> None:
        """Even one that had nothing open."""
        second = log.transactor(group)
        second.open()
        with pytest.raises(FencedError):
            self.transact(transactor, topic, group)
        second.close()

    def test_owners_of_different_ids_do_not_meet(
        self, log: Log, topic: str, place: TopicPartition, group: str, reader: LogReader, transactor: LogTransactor
    ) -> None:
        """Shards of a service write side by side."""
        second = log.transactor(f"{group}-2")
        second.open()
        transactor.begin()
        second.begin()
        transactor.write(messages(topic, b"a"))
        second.write(messages(topic, b"b"))
        transactor.commit(group, {})
        second.abort()
        second.close()
        reader.assign({place: 0})
        assert values(read(reader, 1)) == [b"a"]

    def test_what_a_crash_left_open_ends_when_the_id_is_opened(
        self, log: Log, topic: str, place: TopicPartition, group: str, reader: LogReader
    ) -> None:
        """Closing without an end is what a crash does."""
        crashed = log.transactor(group)
        crashed.open()
        crashed.begin()
        crashed.write(messages(topic, b"lost"))
        self.settle(crashed)
        crashed.close()
        restarted = log.transactor(group)
        restarted.open()
        self.transact(restarted, topic, group)
        restarted.close()
        reader.assign({place: 0})
        assert values(read(reader, 1)) == [b"again"]

    def transact(self, transactor: LogTransactor, topic: str, group: str) -> None:
        """Write one record, `again`, in a transaction."""
        transactor.begin()
        transactor.write(messages(topic, b"again"))
        transactor.commit(group, {})

    def test_an_owner_that_opens_again_starts_afresh(
        self, topic: str, place: TopicPartition, group: str, reader: LogReader, transactor: LogTransactor
    ) -> None:
        """So it can continue after an error, however its transaction ended."""
        transactor.begin()
        transactor.write(messages(topic, b"lost"))
        self.settle(transactor)
        transactor.open()
        self.transact(transactor, topic, group)
        reader.assign({place: 0})
        assert values(read(reader, 1)) == [b"again"]

    def settle(self, transactor: LogTransactor) -> None:
        """Return when the log has the records of the open transaction; a log without buffers has them at once."""
