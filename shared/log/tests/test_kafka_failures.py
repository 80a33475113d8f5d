"""A broker that crashes and comes back costs time, no record; what cannot be mended says so."""

from __future__ import annotations

import random
from collections import Counter
from threading import Event
from typing import TYPE_CHECKING, Any, ClassVar, cast
from weakref import ReferenceType, ref

import pytest
from confluent_kafka import KafkaError, Producer
from graphtide_core.errors import FatalError, FencedError, TransientError
from graphtide_core.ports.log import Position, TopicPartition, TopicSpec
from graphtide_log.committed_offset_check import recorded_positions
from graphtide_log.kafka import KafkaConnection, KafkaLog, idle_clients
from graphtide_log.kafka.errors import LOGGER, translate
from graphtide_log.kafka.idle_clients import IdleClients
from graphtide_log.kafka.producing import Producing
from graphtide_testing.contracts.log import PATIENCE, messages, new_topic, read, values
from graphtide_testing.servers.process import free_ports
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.ports.log import LogReader
    from graphtide_testing.servers import KafkaServer

SOON = 3.0


def read_on(reader: LogReader, count: int) -> list[bytes | None]:
    """Read on through what mends itself."""
    found: list[bytes | None] = []
    while len(found) < count:
        try:
            records = read(reader, count - len(found))
        except TransientError:
            continue
        assert records, f"only {len(found)} records within {PATIENCE} s"
        found += values(records)
    return found


def test_reader_and_writer_go_on_when_the_broker_is_back(kafka_to_crash: KafkaServer) -> None:
    log = KafkaLog(KafkaConnection(kafka_to_crash.bootstrap))
    topic = new_topic(log)
    texts = [b"%d" % number for number in range(2000)]
    writer, reader = log.writer(), log.reader(None)
    reader.assign({TopicPartition(topic, 0): 0})
    writer.write(messages(topic, *texts[:1000]))
    writer.flush(PATIENCE)
    assert values(read(reader, 500))[:500] == texts[:500]
    kafka_to_crash.kill()
    writer.write(messages(topic, *texts[1000:]))
    with pytest.raises(TransientError):
        writer.flush(SOON)
    kafka_to_crash.start()
    writer.write(messages(topic, b"end"))
    writer.flush(PATIENCE)
    reader.assign({TopicPartition(topic, 0): 500})
    assert read_on(reader, 1501) == [*texts[500:], b"end"]
    writer.close()
    reader.close()


def test_a_transactor_opens_again_when_the_broker_is_back(kafka_to_crash: KafkaServer) -> None:
    log = KafkaLog(KafkaConnection(kafka_to_crash.bootstrap, request_seconds=SOON))
    patient = KafkaLog(KafkaConnection(kafka_to_crash.bootstrap))
    topic = new_topic(log)
    place = TopicPartition(topic, 0)
    transactor, reader = log.transactor("id"), patient.reader("group")
    transactor.open()
    transactor.begin()
    transactor.write(messages(topic, b"first"))
    transactor.commit("group", {place: Position(1, "one")})
    reader.assign({place: 0})
    assert read_on(reader, 1) == [b"first"]
    transactor.begin()
    transactor.write(messages(topic, b"lost"))
    kafka_to_crash.kill()
    with pytest.raises(TransientError):
        transactor.commit("group", {place: Position(2, "two")})
    with pytest.raises(TransientError):
        transactor.open()
    kafka_to_crash.start()
    transactor = patient.transactor("id")
    transactor.open()
    assert reader.committed([place]) == {place: Position(1, "one")}
    transactor.begin()
    transactor.write(messages(topic, b"again"))
    transactor.commit("group", {place: Position(2, "two again")})
    assert read_on(reader, 1) == [b"again"]
    assert reader.committed([place]) == {place: Position(2, "two again")}
    transactor.close()
    reader.close()


class Silent(Producer):
    """A producer with one call that never returns."""

    def send_offsets_to_transaction(self, *_: object) -> None:
        Event().wait()


def test_a_commit_that_librdkafka_never_ends_is_left_behind(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    log = KafkaLog(KafkaConnection(kafka, request_seconds=SOON))
    topic = new_topic(log)
    place = TopicPartition(topic, 0)
    transactor, reader = log.transactor(topic), log.reader(topic)
    with monkeypatch.context() as patched:
        patched.setattr("graphtide_log.kafka.producing.Producer", Silent)
        transactor.open()
        transactor.begin()
        transactor.write(messages(topic, b"lost"))
        with pytest.raises(TransientError, match="no answer in 3 seconds"):
            transactor.commit(topic, {place: Position(1, "one")})
        transactor.close()
    transactor.open()
    transactor.begin()
    transactor.write(messages(topic, b"again"))
    transactor.commit(topic, {place: Position(2, "two")})
    reader.assign({place: 0})
    assert values(read(reader, 1)) == [b"again"]
    assert reader.committed([place]) == {place: Position(2, "two")}
    transactor.close()
    reader.close()


def test_a_transactor_that_could_not_open_leaves_no_producer_that_goes_on_trying(monkeypatch: pytest.MonkeyPatch) -> None:
    class Watched(Producer):
        made: ClassVar[list[ReferenceType[Producer]]] = []

        def __init__(self, *arguments: object, **more: object) -> None:
            super().__init__(*arguments, **more)
            self.made.append(ref(self))

    monkeypatch.setattr("graphtide_log.kafka.producing.Producer", Watched)
    transactor = KafkaLog(KafkaConnection("127.0.0.1:1", request_seconds=0.5)).transactor("id")
    with pytest.raises(TransientError) as held:
        transactor.open()
    assert [each() for each in Watched.made] == [None]
    assert held.value.__traceback__ is not None
    transactor.close()


@pytest.mark.parametrize("kind", ["writer", "reader"])
def test_a_client_that_nobody_uses_queues_nothing_while_its_broker_is_away(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    # librdkafka's lines and errors wait in the client, which grows by them, until it is polled.
    log = KafkaLog(KafkaConnection(f"127.0.0.1:{free_ports(1)[0]}"))
    client = log.writer() if kind == "writer" else log.reader(None)
    try:
        wait_until(lambda: any(record.name == LOGGER.name for record in caplog.records), PATIENCE)
    finally:
        client.close()


def test_a_reader_with_partitions_loses_no_record_to_the_idle_thread(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_clients, "POLL_SECONDS", 0.001)
    log = KafkaLog(KafkaConnection(kafka))
    topic = new_topic(log)
    writer, reader = log.writer(), log.reader(None)
    texts = [b"%d" % number for number in range(500)]
    writer.write(messages(topic, *texts))
    writer.flush(PATIENCE)
    for _ in range(5):
        reader.assign({TopicPartition(topic, 0): 0})
        assert values(read(reader, 500)) == texts
        reader.assign({})
    writer.close()
    reader.close()


def test_a_producer_is_polled_until_it_is_closed() -> None:
    producing = Producing(KafkaConnection(f"127.0.0.1:{free_ports(1)[0]}").writing())
    producing.poll_idle()
    producing.close()
    producing.poll_idle()
    assert not hasattr(producing, "producer")


def test_a_thread_polls_every_idle_client_though_one_of_them_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_clients, "POLL_SECONDS", 0.01)
    polled = Counter[str]()

    class Idle:
        def __init__(self, name: str) -> None:
            self.name = name

        def poll_idle(self) -> None:
            polled[self.name] += 1
            if self.name == "failing":
                raise RuntimeError

    clients, idle = [Idle("failing"), Idle("good"), Idle("removed")], IdleClients()
    for each in clients:
        idle.add(each)
    wait_until(lambda: polled["removed"] >= 1 and polled["failing"] >= 2 and polled["good"] >= 2, PATIENCE)
    idle.remove(clients[2])
    reached, seen = polled["good"], polled["removed"]
    wait_until(lambda: polled["good"] >= reached + 5, PATIENCE)
    assert polled["removed"] <= seen + 1
    for each in clients:
        idle.remove(each)


def test_positions_of_a_cluster_that_never_had_any_are_none(kafka_to_crash: KafkaServer) -> None:
    log = KafkaLog(KafkaConnection(kafka_to_crash.bootstrap))
    place = TopicPartition(new_topic(log), 0)
    reader = log.reader("first")
    wait_until(lambda: _positions(reader, place) == {place: None}, PATIENCE, pause=0.05)
    reader.close()


def _positions(reader: LogReader, place: TopicPartition) -> Mapping[TopicPartition, Position | None] | None:
    """Return the recorded positions, as a worker does that opens again after a `TransientError`."""
    try:
        return recorded_positions(reader, [place])
    except TransientError:
        return None


def test_without_a_broker_calls_end_in_time(kafka_to_crash: KafkaServer) -> None:
    log = KafkaLog(KafkaConnection(kafka_to_crash.bootstrap, request_seconds=1.0))
    kafka_to_crash.kill()
    place = TopicPartition("topic", 0)
    reader = log.reader("group")
    with pytest.raises(TransientError):
        log.ping()
    with pytest.raises(TransientError):
        log.admin().topics()
    with pytest.raises(TransientError):
        log.admin().ensure([TopicSpec("topic")])
    with pytest.raises(TransientError):
        reader.ends([place])
    with pytest.raises(TransientError):
        reader.committed([place])
    with pytest.raises(TransientError):
        reader.partitions("topic")
    reader.assign({place: 0})
    with pytest.raises(TransientError):
        read(reader, 1)
    reader.close()


def test_a_record_that_the_topic_refuses_stops_who_wrote_it(kafka: str) -> None:
    log = KafkaLog(KafkaConnection(kafka))
    topic = f"{new_topic(log)}.small"
    log.admin().ensure([TopicSpec(topic, most_bytes=1000)])
    refused = messages(topic, random.Random(1).randbytes(20_000))
    writer, transactor, reader = log.writer(), log.transactor(topic), log.reader(topic)
    writer.write(refused)
    with pytest.raises(FatalError, match="MSG_SIZE_TOO_LARGE"):
        writer.flush(PATIENCE)
    transactor.open()
    transactor.begin()
    transactor.write(refused)
    with pytest.raises(FatalError, match="MSG_SIZE_TOO_LARGE"):
        transactor.commit(topic, {TopicPartition(topic, 0): Position(1)})
    transactor.open()
    assert reader.committed([TopicPartition(topic, 0)]) == {TopicPartition(topic, 0): None}
    for each in (writer, transactor, reader):
        each.close()


def test_a_transactor_that_was_shut_out_can_be_closed_and_opened_again(kafka: str) -> None:
    log = KafkaLog(KafkaConnection(kafka))
    topic = new_topic(log)
    first, second = log.transactor(topic), log.transactor(topic)
    first.open()
    first.begin()
    first.write(messages(topic, b"lost"))
    second.open()
    with pytest.raises(FencedError):
        first.commit(topic, {})
    first.close()
    second.close()
    first.open()
    first.begin()
    first.write(messages(topic, b"kept"))
    first.commit(topic, {})
    first.close()
    reader = log.reader(None)
    reader.assign({TopicPartition(topic, 0): 0})
    assert values(read(reader, 1)) == [b"kept"]
    reader.close()


def test_a_transaction_that_took_too_long_differs_from_one_that_a_successor_ended(kafka: str) -> None:
    log = KafkaLog(KafkaConnection(kafka, request_seconds=2.0, transaction_seconds=2.0))
    topic = new_topic(log)
    transactor, reader = log.transactor(topic), log.reader(None)
    transactor.open()
    transactor.begin()
    transactor.write(messages(topic, b"lost"))
    place = TopicPartition(topic, 0)
    # What is pending is behind the last stable offset; the record of the broker's own end of it is not.
    wait_until(lambda: reader.ends([place])[place][1] == 2, PATIENCE)
    with pytest.raises(TransientError, match=r"was under way for .* s, and Kafka ends those of 2 s") as ended:
        transactor.commit(topic, {})
    assert isinstance(ended.value.__cause__, FencedError)
    transactor.open()
    transactor.begin()
    transactor.write(messages(topic, b"kept"))
    transactor.commit(topic, {})
    transactor.close()
    reader.assign({place: 0})
    assert values(read(reader, 1)) == [b"kept"]
    reader.close()


def test_closing_survives_what_the_client_makes_of_a_producer_that_was_shut_out() -> None:
    class ShutOut:
        """A producer as it may be once it was fenced."""

        def purge(self) -> None:
            """Throw away nothing."""

        def flush(self, _timeout: float) -> int:
            message = "<method 'flush' of 'cimpl.Producer' objects> returned a result with an exception set"
            raise SystemError(message)

    producing = Producing({"bootstrap.servers": "127.0.0.1:1"})
    producing.producer = cast("Any", ShutOut())
    producing.close()
    assert not hasattr(producing, "producer"), "the producer is released"


def test_a_broker_whose_connection_ended_meanwhile_is_asked_again() -> None:
    ended = KafkaError(KafkaError._DESTROY_BROKER)  # noqa: SLF001 - librdkafka's own errors have no other names
    assert isinstance(translate(ended, "reading"), TransientError)


def test_a_transactor_that_is_not_open_does_nothing(kafka: str) -> None:
    transactor = KafkaLog(KafkaConnection(kafka)).transactor("id")
    with pytest.raises(FatalError, match="not open"):
        transactor.begin()
