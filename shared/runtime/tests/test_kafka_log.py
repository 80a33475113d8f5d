"""The log on Kafka does what a log must, on a real broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from graphtide_core.ports.log import TopicSpec
from graphtide_runtime.kafka import KafkaConnection, KafkaLog
from graphtide_runtime.kafka.transactor import KafkaTransactor
from graphtide_testing.contracts.log import LogContract
from graphtide_testing.contracts.transactions import TransactionContract

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
