"""Translates Kafka's errors to graphtide's, by what to do next."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaError, KafkaException
from graphtide_core.errors import FatalError, FencedError, GraphtideError, TransientError

if TYPE_CHECKING:
    from collections.abc import Iterator

LOGGER: Final = logging.getLogger("graphtide.kafka")
"""The logger of librdkafka's own messages."""

NO_MORE: Final = KafkaError._PARTITION_EOF
"""Not an error: a partition was read to its end."""

PURGED: Final = {KafkaError._PURGE_INFLIGHT, KafkaError._PURGE_QUEUE}
"""Codes of messages that this side dropped."""

_FENCED: Final = {
    KafkaError._FENCED,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
}

_TRANSIENT: Final = {
    KafkaError._DESTROY_BROKER,  # A broker's connection ended while something waited for it.
    KafkaError._DESTROY,
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._TIMED_OUT_QUEUE,
    KafkaError._MSG_TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError._QUEUE_FULL,
    KafkaError._WAIT_COORD,
    KafkaError._IN_PROGRESS,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_PRODUCER_ID,
    KafkaError.INVALID_TXN_STATE,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
    KafkaError.CONCURRENT_TRANSACTIONS,
    KafkaError.UNSTABLE_OFFSET_COMMIT,
    # Answers of brokers while leaders and coordinators move, or replicas are away; not every call reports that itself.
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.NOT_ENOUGH_REPLICAS,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    KafkaError.NOT_CONTROLLER,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.PREFERRED_LEADER_NOT_AVAILABLE,
    KafkaError.THROTTLING_QUOTA_EXCEEDED,
}

_HOPELESS: Final = {
    KafkaError.OFFSET_METADATA_TOO_LARGE,
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.RECORD_LIST_TOO_LARGE,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_TIMESTAMP,
    KafkaError.TOPIC_EXCEPTION,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
"""Codes of errors that would come again in the next transaction."""

_LOUD: Final = {
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._AUTHENTICATION,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError._SSL,
}
"""Errors outside of any call that readers and writers must raise."""


def translate(error: KafkaError, doing: str) -> GraphtideError:
    """Return the error to raise for Kafka's; `doing` names the operation."""
    message = f"{doing}: {error.str()} ({error.name()})"
    if error.code() in _FENCED:
        return FencedError(message)
    if error.fatal() or error.code() in _HOPELESS:
        return FatalError(message)
    if error.retriable() or error.txn_requires_abort() or error.code() in _TRANSIENT:
        return TransientError(message)
    return FatalError(message)


@contextmanager
def translate_errors(doing: str) -> Iterator[None]:
    """Raise Kafka's errors within as graphtide's."""
    try:
        yield
    except KafkaException as raised:
        raise translate(raised.args[0], doing) from raised


class Beside:
    """Errors that a client reports beside any call: the last of them, until `check`."""

    def __init__(self, doing: str) -> None:
        """Start without an error."""
        self._doing = doing
        self._error: GraphtideError | None = None

    def note(self, error: KafkaError) -> None:
        """Take an error from the client; those that mend themselves are left out."""
        fatal = isinstance(self._error, FatalError)
        if not fatal and (error.fatal() or error.code() in _LOUD):
            self._error = translate(error, self._doing)

    def forget(self) -> None:
        """Drop an error that has mended itself: what it kept from being done is done."""
        if not isinstance(self._error, FatalError):
            self._error = None

    def check(self) -> None:
        """Raise the noted error; one that stops the client is raised at every call, others once."""
        error = self._error
        self.forget()
        if error is not None:
            raise error
