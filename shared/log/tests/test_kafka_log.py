"""The log on Kafka does what a log must, on a real broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from graphtide_core.ports.log import Message, TopicPartition, TopicSpec
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_log.kafka.transactor import KafkaTransactor
from graphtide_testing.contracts.log import LogContract, messages, new_topic, read
from graphtide_testing.contracts.transactions import TransactionContract
from graphtide_testing.raw_producer import send_raw

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log, LogTransactor


class TestKafkaLog(LogContract, TransactionContract):
    @pytest.fixture
    def log(self, kafka: str) -> Log:
        return KafkaLog(KafkaConnection(kafka))

    def settle(self, transactor: LogTransactor) -> None:
        assert isinstance(transactor, KafkaTransactor)
        transactor._opened().producer.flush(10)  # noqa: SLF001 - the port has no need of it


def test_what_was_replaced_in_a_compacted_topic_can_go_after_minutes(kafka: str) -> None:
    KafkaLog(KafkaConnection(kafka)).admin().ensure([TopicSpec("replaced", compacted=True)])
    asked = ConfigResource(ConfigResource.Type.TOPIC, "replaced")
    client = AdminClient({"bootstrap.servers": kafka})
    (found,) = client.describe_configs([asked]).values()
    config = found.result()
    assert (config["cleanup.policy"].value, int(config["segment.ms"].value)) == ("compact", 600_000)


def test_records_with_any_bytes_in_headers_keys_and_values_are_read_and_their_flaws_said(kafka: str) -> None:
    log = KafkaLog(KafkaConnection(kafka))
    topic = new_topic(log)
    bad = b"\xff\xfe"
    odd: list[list[tuple[bytes, bytes]]] = [
        [(bad, b"v")],
        [(b"good", b"v"), (bad, b""), (b"after", b"v")],
        [(bad, b"")] * 1_000,
        [(b"", b""), (b"\0", b"\0")],
        [(b"n" * 100_000, b"v" * 500_000)],
        [],
    ]
    for headers in odd:
        send_raw(kafka, topic, headers, b"\0v", key=b"\0")
    writer = log.writer()
    writer.write([Message(topic, None, None), Message(topic, b"", b""), Message(topic, None, b"x" * 900_000, (("", b""),))])
    writer.write(messages(topic, b"last"))
    writer.flush(30)
    expected = [True] * 3 + [False] * 7
    reader = log.reader(None)
    # The interpreter makes calls fast, and careless, once it has made them often.
    for _ in range(100):
        reader.assign({TopicPartition(topic, 0): 0})
        found = read(reader, len(expected))
        assert [bool(record.flaw) for record in found] == expected
        assert [record.headers for record in found if record.flaw] == [()] * 3
    assert [record.value for record in found[:6]] == [b"\0v"] * 6
    assert [(name, value) for name, value in found[3].headers] == [("", b""), ("", b"\0")]
    assert [record.value for record in found[6:8]] == [None, b""]
    reader.close()
    writer.close()
