"""Topics of Kafka."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import IsolationLevel, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # its stubs do not say that it exports this
from confluent_kafka.cimpl import NewTopic
from graphtide_core.colliding_topics import refuse_colliding
from graphtide_core.errors import TransientError
from graphtide_core.ports.log import TopicPartition

from graphtide_log.kafka.errors import LOGGER, translate, translate_errors
from graphtide_log.kafka.patience import patiently

if TYPE_CHECKING:
    from collections.abc import Iterable

    from confluent_kafka.admin._metadata import PartitionMetadata
    from graphtide_core.ports.log import TopicSpec

    from graphtide_log.kafka.connection import KafkaConnection

_ANY_TIME = str(2**63 - 1)
_ROLLED_AFTER_MS = str(10 * 60_000)
"""Kafka compacts segments that it no longer writes to. An opening reads such a topic whole, and hosts write all the time.
With Kafka's default of a gigabyte or a week, each opening would take longer and more memory than the one before."""
_BETWEEN_LOOKS = 0.05
_CLIENT_SECONDS = 5.0
"""How much later than asked a client may report that no answer came."""


class KafkaAdmin:
    """A `LogAdmin` on Kafka."""

    def __init__(self, client: AdminClient, connection: KafkaConnection) -> None:
        """Work through this client."""
        self._client = client
        self._connection = connection

    def ensure(self, topics: Iterable[TopicSpec]) -> None:
        """Make the topics that are not there, and wait until their partitions have leaders."""
        specs = {spec.name: spec for spec in topics}
        there = set(self.topics())
        refuse_colliding(specs, there)
        missing = [self._new(spec) for spec in specs.values() if spec.name not in there]
        if not missing:
            return
        for name, made in self._client.create_topics(missing, request_timeout=self._connection.request_seconds).items():
            try:
                made.result()
            except KafkaException as raised:
                if raised.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise translate(raised.args[0], f"making the topic {name}") from raised
        self._wait_for(specs)

    def delete(self, topics: Iterable[str]) -> None:
        """Delete the topics that are there, and wait until none is listed; Kafka forgets positions in them by itself."""
        there = sorted(set(topics) & set(self.topics()))
        if not there:
            return
        for name, gone in self._client.delete_topics(there, request_timeout=self._connection.request_seconds).items():
            try:
                gone.result()
            except KafkaException as raised:
                if raised.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise translate(raised.args[0], f"deleting the topic {name}") from raised
        deadline = time.monotonic() + self._connection.request_seconds
        while left := sorted(set(there) & set(self.topics())):
            if time.monotonic() > deadline:
                message = f"topics that were deleted and are still listed: {', '.join(left)}"
                raise TransientError(message)
            time.sleep(_BETWEEN_LOOKS)

    def topics(self) -> list[str]:
        """Return the names of all topics but Kafka's own, sorted."""
        with translate_errors("asking for the topics"):
            found = self._client.list_topics(timeout=self._connection.request_seconds).topics
        return sorted(name for name in found if not name.startswith("__"))

    def written(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offset after the last record of each partition; one that was just made has no leader for a moment."""
        asked = {KafkaPartition(*place): OffsetSpec.latest() for place in partitions}  # type: ignore[no-untyped-call]

        def ask(left: float) -> dict[TopicPartition, int]:
            seconds = max(left, _BETWEEN_LOOKS)
            # A client that knew the partitions before their broker restarted asks with the epoch of then for good.
            client = AdminClient(self._connection.common(), logger=LOGGER)
            with translate_errors("asking for the ends of partitions"):
                answers = client.list_offsets(asked, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=seconds)
                # The client answers in time; should it ever not, this wait still ends.
                found = {place: answer.result(seconds + _CLIENT_SECONDS).offset for place, answer in answers.items()}
            return {TopicPartition(place.topic, place.partition): offset for place, offset in found.items()}

        try:
            return patiently(ask, self._connection.request_seconds)
        except TimeoutError as error:
            message = "asking for the ends of partitions: the client does not answer"
            raise TransientError(message) from error

    def _new(self, spec: TopicSpec) -> NewTopic:
        """Return how to make the topic. Records may carry the times of their events, so any time is allowed."""
        config = {
            "max.message.bytes": str(spec.most_bytes or self._connection.most_message_bytes),
            "message.timestamp.before.max.ms": _ANY_TIME,
            "message.timestamp.after.max.ms": _ANY_TIME,
        }
        if spec.stamped:
            config["message.timestamp.type"] = "LogAppendTime"
        if spec.compacted:
            config |= {"cleanup.policy": "compact", "segment.ms": _ROLLED_AFTER_MS}
        else:
            config["retention.ms"] = str(-1 if spec.retention_ms is None else spec.retention_ms)
        return NewTopic(spec.name, spec.partitions, self._connection.replication, config=config)

    def _wait_for(self, specs: dict[str, TopicSpec]) -> None:
        deadline = time.monotonic() + self._connection.request_seconds
        while True:
            with translate_errors("waiting for topics"):
                found = self._client.list_topics(timeout=self._connection.request_seconds).topics
            if all(name in found and _is_led(list(found[name].partitions.values())) for name in specs):
                return
            if time.monotonic() > deadline:
                message = f"topics without leaders: {', '.join(specs)}"
                raise TransientError(message)
            time.sleep(_BETWEEN_LOOKS)


def _is_led(partitions: list[PartitionMetadata]) -> bool:
    return bool(partitions) and all(partition.leader >= 0 for partition in partitions)
