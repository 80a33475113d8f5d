"""Writing to Kafka without transactions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from graphtide_core.errors import TransientError
from graphtide_telemetry import attributes as key
from graphtide_telemetry.instruments import record_duration
from graphtide_telemetry.metrics import OPERATION_DURATION

from graphtide_log.kafka.producing import Producing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ports.log import Message

    from graphtide_log.kafka.connection import KafkaConnection


class KafkaWriter:
    """A `LogWriter` on an idempotent Kafka producer, which tries until the cluster has what it took."""

    def __init__(self, connection: KafkaConnection) -> None:
        """Make the producer."""
        self._producing = Producing(connection.writing())

    def write(self, messages: Iterable[Message]) -> None:
        """Take the messages; wait while the buffer is full."""
        self._producing.write(messages)

    def flush(self, timeout: float) -> None:
        """Return when the cluster has all of it."""
        begun = time.monotonic()
        with record_duration(OPERATION_DURATION, {key.MESSAGING_SYSTEM: "kafka", key.MESSAGING_OPERATION: "send"}):
            left = self._producing.flush(timeout)
            if left:
                message = f"{left} messages are still under way after {time.monotonic() - begun:.1f} s"
                raise TransientError(message)

    def close(self) -> None:
        """Throw away what was not flushed."""
        self._producing.close()
