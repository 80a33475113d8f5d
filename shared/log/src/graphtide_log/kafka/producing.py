"""Code that writers and transactors share: it gives messages to librdkafka, and waits while its buffer is full."""

from __future__ import annotations

from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException, Producer
from graphtide_core.errors import FatalError, GraphtideError, PoisonRecordError

from graphtide_log.kafka.errors import LOGGER, PURGED, Beside, translate
from graphtide_log.kafka.idle_clients import IDLE_CLIENTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from confluent_kafka import Message as KafkaMessage
    from graphtide_core.ports.log import Message

    from graphtide_log.kafka.connection import Config

_PURGE_SECONDS = 1.0
_CONNECT_SECONDS = 1.0
_OF_COORDINATORS = "__transaction_state"
"""A topic that is there, or is made when an id is taken."""
_BETWEEN_LOOKS = 200
"""Messages between two polls of librdkafka."""


class Producing:
    """A librdkafka producer, and the first message it could not deliver."""

    def __init__(self, config: Config) -> None:
        """Make the producer; it connects by itself."""
        self._beside = Beside("writing")
        self._refused: GraphtideError | None = None
        self._end: FatalError | None = None
        """What stopped the producer; librdkafka reports it once."""
        self._closed = False
        self._idle_poll = Lock()
        """Held while another thread polls: `close` waits for that."""
        settings: dict[str, object] = {**config, "error_cb": self._beside.note, "on_delivery": self._delivered}
        self.producer = Producer(settings, logger=LOGGER)
        IDLE_CLIENTS.add(self)

    def write(self, messages: Iterable[Message]) -> None:
        """Hand the messages over, in order; wait while the buffer is full.

        Raises:
            PoisonRecordError: a message is larger than the connection lets through.
            FatalError: the producer cannot continue.
        """
        for number, message in enumerate(messages):
            if number % _BETWEEN_LOOKS == 0:
                self.look()
            while not self._handed_over(message):
                self.look(0.1)
        self.look()

    def flush(self, timeout: float) -> int:
        """Wait until the cluster has everything, and return how many messages it lacks after `timeout` seconds.

        Raises:
            GraphtideError: a message was refused, or messages are left because of what went wrong since the last call.
        """
        try:
            left = self.producer.flush(timeout)
        except KafkaException as raised:
            raise self.failure(raised, "writing") from raised
        if left == 0:
            self._beside.forget()
        self.check()
        return left

    def take_id(self, timeout: float) -> None:
        """Take the producer's transactional id from its holder."""
        # One that is not connected yet would ask for its coordinator again half a second later.
        with suppress(KafkaException):
            self.producer.list_topics(_OF_COORDINATORS, min(timeout, _CONNECT_SECONDS))
        self.producer.init_transactions(timeout)

    def begin(self, _timeout: float) -> None:
        """Start a transaction; this waits for nothing."""
        self.producer.begin_transaction()

    def commit(self, timeout: float) -> None:
        """End the transaction with what was written."""
        self.producer.commit_transaction(timeout)

    def abort(self, timeout: float) -> None:
        """End the transaction without what was written."""
        self.producer.abort_transaction(timeout)

    def look(self, timeout: float = 0.0) -> None:
        """Poll librdkafka; wait for events up to `timeout` seconds."""
        try:
            self.producer.poll(timeout)
        except KafkaException as raised:
            raise self.failure(raised, "writing") from raised

    def poll_idle(self) -> None:
        """Take what librdkafka has queued, on another thread; what went wrong is kept for `check`."""
        with self._idle_poll, suppress(KafkaException):
            if not self._closed:
                self.producer.poll(0)

    def check(self) -> None:
        """Raise what went wrong since the last check."""
        if self._refused is not None:
            refused, self._refused = self._refused, None
            raise refused
        self._beside.check()

    def failure(self, raised: KafkaException, doing: str) -> GraphtideError:
        """Return the error to raise for Kafka's: what stopped the producer, once something has."""
        if self._end is not None:
            return self._end
        error = translate(raised.args[0], doing)
        if raised.args[0].fatal() and isinstance(error, FatalError):
            self._end = error
        return error

    def close(self) -> None:
        """Throw away what was not delivered, and the producer; nothing but another `close` may follow.

        The producer is released here and not with this object: an error that a caller keeps holds the frames it came through.
        A producer that could not take its id keeps trying, and fences the later holder of the id.

        Once the producer was fenced, confluent-kafka answers `flush` with a result and an error at once, a `SystemError`.
        """
        IDLE_CLIENTS.remove(self)
        with self._idle_poll:
            if self._closed:
                return
            self._closed = True
        with suppress(KafkaException, SystemError):
            self.producer.purge()
            self.producer.flush(_PURGE_SECONDS)
        del self.producer

    def _handed_over(self, message: Message) -> bool:
        """Return False if the buffer is full."""
        try:
            self.producer.produce(
                message.topic,
                message.value,
                message.key,
                -1 if message.partition is None else message.partition,
                timestamp=message.timestamp or 0,
                headers=list(message.headers) or None,
            )
        except BufferError:
            return False
        except KafkaException as raised:
            error = raised.args[0]
            if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
                reason = f"a message of {len(message.value or b'')} bytes is larger than the log takes"
                raise PoisonRecordError(reason, message.value or b"") from raised
            raise self.failure(raised, f"writing to {message.topic}") from raised
        return True

    def _delivered(self, error: KafkaError | None, message: KafkaMessage) -> None:
        """Keep the first error; messages dropped after a broken transaction only follow from it."""
        if error is not None and self._refused is None and error.code() not in PURGED:
            self._refused = translate(error, f"writing to {message.topic()}")
