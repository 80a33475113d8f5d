"""The log on Kafka does what a log must, on a real broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
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
