"""Writing to Kafka by transactions."""

from __future__ import annotations

import time
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition
from graphtide_core.errors import FatalError, FencedError, GraphtideError, TransientError
from graphtide_telemetry import attributes as key
from graphtide_telemetry.instruments import record_duration
from graphtide_telemetry.metrics import OPERATION_DURATION

from graphtide_log.kafka import groups
from graphtide_log.kafka.errors import LOGGER
from graphtide_log.kafka.producing import Producing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from graphtide_core.ports.log import Message, Position, TopicPartition

    from graphtide_log.kafka.connection import KafkaConnection

_BETWEEN_LOOKS_SECONDS = 1.0


class KafkaTransactor:
    """A `LogTransactor` on a transactional Kafka producer; each `open` makes a new one, however the last ended."""

    def __init__(self, connection: KafkaConnection, id: str) -> None:
        """Work under this id, once opened."""
        self._connection = connection
        self._id = id
        self._producing: Producing | None = None
        self._groups: dict[str, object] = {}
        self._began: float | None = None
        """When the transaction began that is under way."""

    def open(self) -> None:
        """Take the id from its holder."""
        self.close()
        self._groups.clear()
        self._began = None
        self._producing = Producing(self._connection.transacting(self._id))
        try:
            self._insist(self._producing.take_id, "opening")
        except GraphtideError:
            self.close()
            raise

    def begin(self) -> None:
        """Start a transaction."""
        self._insist(self._opened().begin, "beginning")
        self._began = time.monotonic()

    def write(self, messages: Iterable[Message]) -> None:
        """Take messages into the transaction; wait while the buffer is full."""
        with self._ended_by_time():
            self._opened().write(messages)

    def commit(self, group: str, positions: Mapping[TopicPartition, Position]) -> None:
        """Show what was written, and set the group's positions."""
        producing = self._opened()
        measured = record_duration(OPERATION_DURATION, {key.MESSAGING_SYSTEM: "kafka", key.MESSAGING_OPERATION: "commit"})
        with measured, self._ended_by_time():
            if positions:
                kafka = [KafkaPartition(*place, offset, metadata) for place, (offset, metadata) in positions.items()]
                metadata = self._metadata(group, kafka)
                self._insist(
                    lambda seconds: self._bounded(
                        lambda: producing.producer.send_offsets_to_transaction(kafka, metadata, seconds), seconds
                    ),
                    "committing",
                )
            self._insist(producing.commit, "committing")
        self._began = None

    def abort(self) -> None:
        """Forget what was written."""
        with self._ended_by_time():
            self._insist(self._opened().abort, "aborting")
        self._began = None

    def close(self) -> None:
        """Throw away what was not sent; the id's next owner aborts the rest."""
        if self._producing is not None:
            self._producing.close()
            self._producing = None

    @contextmanager
    def _ended_by_time(self) -> Iterator[None]:
        """Distinguish a transaction that took too long from one that a successor ended: Kafka answers alike.

        Raises:
            TransientError: it took longer than Kafka lets a transaction take; the id is still this process's to take.
        """
        try:
            yield
        except FencedError as error:
            took = 0.0 if self._began is None else time.monotonic() - self._began
            most = self._connection.transaction_seconds
            if took < most:
                raise
            message = f"a transaction of {self._id} was under way for {took:.1f} s, and Kafka ends those of {most:g} s: {error}"
            raise TransientError(message) from error

    def _opened(self) -> Producing:
        if self._producing is None:
            message = f"the transactor {self._id} is not open"
            raise FatalError(message)
        return self._producing

    def _insist(self, act: Callable[[float], object], doing: str) -> None:
        """Do the act, again while Kafka says that the same call may help, until the connection's time is over."""
        producing = self._opened()
        deadline = time.monotonic() + self._connection.request_seconds
        while True:
            try:
                act(max(0.0, deadline - time.monotonic()))
            except KafkaException as raised:
                error = raised.args[0]
                if error.retriable() and not error.txn_requires_abort() and time.monotonic() < deadline:
                    continue
                failure = producing.failure(raised, f"{doing} a transaction of {self._id}")
                if not isinstance(failure, FatalError):
                    producing.look()
                    producing.check()
                raise failure from raised
            else:
                return

    def _bounded(self, act: Callable[[], object], seconds: float) -> None:
        """Do the act on a thread of its own, and abandon it and its producer if it does not return.

        librdkafka 2.16 ignores the time limit that it is given for sending offsets. If the group's coordinator goes away then,
        the call may never return (its issue 5456). The next owner of the id aborts what was left behind.

        Raises:
            TransientError: the act did not return in time, or the cluster was lost meanwhile.
        """
        producing = self._opened()
        deadline = time.monotonic() + seconds
        outcomes: SimpleQueue[BaseException | None] = SimpleQueue()
        Thread(target=lambda: outcomes.put(_outcome(act)), name=f"{self._id}.offsets", daemon=True).start()
        while True:
            try:
                outcome = outcomes.get(timeout=max(0.0, min(_BETWEEN_LOOKS_SECONDS, deadline - time.monotonic())))
            except Empty:
                try:
                    producing.look()
                    producing.check()
                    if time.monotonic() >= deadline:
                        message = f"sending positions of {self._id}: no answer in {seconds:.0f} seconds"
                        raise TransientError(message) from None
                except GraphtideError:
                    self._producing = None
                    raise
            else:
                if outcome is not None:
                    raise outcome
                return

    def _metadata(self, group: str, partitions: list[KafkaPartition]) -> object:
        """Return the metadata of a group for Kafka; only a consumer can make it, and it is not needed afterwards.

        The consumer asks for the group's positions: once it has an answer, the group's coordinator is there. While that is
        being made or loads, librdkafka may wait for it for ever when it sends positions (see `_bounded`).
        """
        if group not in self._groups:
            consumer = Consumer(self._connection.reading(group), logger=LOGGER)
            try:
                groups.positions(consumer, group, partitions, self._connection.request_seconds)
                self._groups[group] = consumer.consumer_group_metadata()
            finally:
                consumer.close()
        return self._groups[group]


def _outcome(act: Callable[[], object]) -> BaseException | None:
    """Do the act; return what it raises."""
    try:
        act()
    except BaseException as error:  # The caller raises it again.
        return error
    return None
