"""The log in memory does what a log must, and bounds what it keeps."""

from __future__ import annotations

import threading

import pytest
from graphtide_core.errors import FatalError
from graphtide_core.ports.log import Log, Message, TopicPartition, TopicSpec
from graphtide_log.memory import MemoryLog
from graphtide_testing.contracts.log import PATIENCE, LogContract, messages, new_topic, read, values
from graphtide_testing.contracts.transactions import TransactionContract


class TestMemoryLog(LogContract, TransactionContract):
    @pytest.fixture
    def log(self) -> Log:
        return MemoryLog()


def test_a_waiting_reader_is_woken_by_a_writer_of_another_thread() -> None:
    log = MemoryLog()
    topic = new_topic(log)
    reader = log.reader(None)
    reader.assign({TopicPartition(topic, 0): 0})
    assert reader.poll(PATIENCE, 10) == []
    found: list[bytes | None] = []
    thread = threading.Thread(target=lambda: found.extend(values(reader.poll(PATIENCE, 10))))
    thread.start()
    log.writer().write(messages(topic, b"a"))
    thread.join(PATIENCE)
    assert found == [b"a"]


def test_the_oldest_records_leave_where_the_log_is_bounded() -> None:
    log = MemoryLog(most_bytes=1000)
    topic = new_topic(log)
    place = TopicPartition(topic, 0)
    writer, reader = log.writer(), log.reader(None)
    for number in range(1000):
        writer.write(messages(topic, b"%010d" % number))
    assert reader.ends([place]) == {place: (900, 1000)}
    reader.assign({place: 0})
    assert values(read(reader, 100)) == [b"%010d" % number for number in range(900, 1000)]
    reader.assign({place: 899})
    with pytest.raises(FatalError, match="899"):
        reader.poll(0, 1)


def test_an_open_transaction_stays_though_the_log_is_bounded() -> None:
    log = MemoryLog(most_bytes=10)
    topic = new_topic(log)
    place = TopicPartition(topic, 0)
    transactor, reader = log.transactor("id"), log.reader(None)
    transactor.open()
    transactor.begin()
    transactor.write(messages(topic, bytes(100), b"b"))
    assert reader.ends([place]) == {place: (0, 0)}
    reader.assign({place: 0})
    transactor.commit("group", {})
    assert reader.ends([place]) == {place: (1, 3)}


def test_compacted_topics_are_not_bounded() -> None:
    log = MemoryLog(most_bytes=10)
    log.admin().ensure([TopicSpec("plans", compacted=True)])
    log.writer().write(Message("plans", b"%d" % number, bytes(100)) for number in range(10))
    place = TopicPartition("plans", 0)
    assert log.reader(None).ends([place]) == {place: (0, 10)}


def test_records_of_many_partitions_alternate() -> None:
    log = MemoryLog()
    topic = new_topic(log, 2)
    log.writer().write(Message(topic, None, b"", partition=partition) for partition in (0, 1) for _ in range(4))
    reader = log.reader(None)
    reader.assign(dict.fromkeys(reader.partitions(topic), 0))
    assert [reader.poll(0, 2)[0].partition for _ in range(4)] == [0, 1, 0, 1]


@pytest.mark.parametrize("act", ["write", "commit", "abort"])
def test_nothing_is_done_without_a_transaction(act: str) -> None:
    log = MemoryLog()
    transactor = log.transactor("id")
    transactor.open()
    acts = {
        "write": lambda: transactor.write(messages(new_topic(log), b"a")),
        "commit": lambda: transactor.commit("group", {}),
        "abort": transactor.abort,
    }
    with pytest.raises(FatalError, match="no transaction is open"):
        acts[act]()


def test_a_transaction_is_not_begun_twice() -> None:
    transactor = MemoryLog().transactor("id")
    transactor.open()
    transactor.begin()
    with pytest.raises(FatalError, match="open already"):
        transactor.begin()
