"""`KafkaLog`: the log on a Kafka cluster, with its readers and writers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka.admin import AdminClient

from graphtide_log.kafka.admin import KafkaAdmin
from graphtide_log.kafka.errors import LOGGER, translate_errors
from graphtide_log.kafka.reader import KafkaReader
from graphtide_log.kafka.transactor import KafkaTransactor
from graphtide_log.kafka.writer import KafkaWriter

if TYPE_CHECKING:
    from graphtide_core.ports.log import LogAdmin, LogReader, LogTransactor, LogWriter

    from graphtide_log.kafka.connection import KafkaConnection

_PING_SECONDS = 5.0


class KafkaLog:
    """A `Log` on a Kafka cluster. Every reader, writer and transactor has its own connections and threads."""

    def __init__(self, connection: KafkaConnection) -> None:
        """Connect to the cluster with these settings."""
        self._connection = connection

    def reader(self, group: str | None) -> LogReader:
        """Return a new reader."""
        return KafkaReader(self._connection, group)

    def writer(self) -> LogWriter:
        """Return a new writer."""
        return KafkaWriter(self._connection)

    def transactor(self, id: str) -> LogTransactor:
        """Return a new transactor."""
        return KafkaTransactor(self._connection, id)

    def admin(self) -> LogAdmin:
        """Return an admin of topics. It has a client of its own: use it for a task, not for the life of a process.

        librdkafka queues log lines of a client until it is polled: one that is kept and seldom used grows with every outage.
        """
        return KafkaAdmin(self._new_client(), self._connection)

    def ping(self) -> None:
        """Return if a broker answers within a few seconds."""
        with translate_errors("looking for a broker"):
            self._new_client().list_topics(timeout=_PING_SECONDS)

    def _new_client(self) -> AdminClient:
        return AdminClient(self._connection.common(), logger=LOGGER)
