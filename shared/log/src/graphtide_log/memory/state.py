"""The shared state of one log in memory: topics, positions of groups, owners of transactional ids, one lock."""

from __future__ import annotations

import time
import zlib
from threading import Condition
from typing import TYPE_CHECKING

from graphtide_core.errors import FatalError, FencedError, PoisonRecordError, TransientError
from graphtide_core.ports.log import MOST_METADATA_BYTES, Position, TopicPartition

from graphtide_log.memory.partition import Outcome, Partition, Transaction, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.ports.log import Message, TopicSpec

DEFAULT_MOST_BYTES = 8 * 1024 * 1024
"""Bytes a record may have where its topic says nothing."""


class _Topic:
    """A topic's partitions, and what its records are held to."""

    def __init__(self, spec: TopicSpec, most_bytes: int | None) -> None:
        kept = None if spec.compacted else most_bytes
        self.is_stamped = spec.stamped
        self.partitions = [Partition(TopicPartition(spec.name, number), kept) for number in range(spec.partitions)]
        self.most_record_bytes = spec.most_bytes or DEFAULT_MOST_BYTES
        self._turn = 0

    def choose(self, message: Message) -> Partition:
        """Return where the message belongs: where it says, else by its key, else in turn."""
        if message.partition is not None:
            return self.partitions[message.partition]
        if message.key is not None:
            return self.partitions[zlib.crc32(message.key) % len(self.partitions)]
        self._turn += 1
        return self.partitions[self._turn % len(self.partitions)]


class State:
    """The log itself. Call every method but `changed` with `changed` held; readers wait on it."""

    def __init__(self, most_bytes: int | None) -> None:
        """Start without topics; `most_bytes` bounds each partition that is not compacted."""
        self.changed = Condition()
        self._most_bytes = most_bytes
        self._topics: dict[str, _Topic] = {}
        self._positions: dict[str, dict[TopicPartition, Position]] = {}
        self._epochs: dict[str, int] = {}
        self._open: dict[str, Transaction] = {}

    def ensure(self, spec: TopicSpec) -> None:
        """Make the topic, unless it is there."""
        self._topics.setdefault(spec.name, _Topic(spec, self._most_bytes))

    def delete(self, name: str) -> None:
        """Delete a topic, if it is there, and every group's positions in it."""
        self._topics.pop(name, None)
        for group, positions in self._positions.items():
            self._positions[group] = {place: each for place, each in positions.items() if place.topic != name}

    def topics(self) -> list[str]:
        """Return the names of the topics, sorted."""
        return sorted(self._topics)

    def partitions(self, topic: str) -> list[TopicPartition]:
        """Return the partitions of a topic; none if it is not there."""
        found = self._topics.get(topic)
        return [] if found is None else [TopicPartition(topic, number) for number in range(len(found.partitions))]

    def has(self, place: TopicPartition) -> bool:
        """Return whether the partition is there."""
        return place in self.partitions(place.topic)

    def partition(self, place: TopicPartition) -> Partition:
        """Return the partition.

        Raises:
            TransientError: it is not there.
        """
        if not self.has(place):
            message = f"there is no {place.topic}/{place.partition}"
            raise TransientError(message)
        return self._topics[place.topic].partitions[place.partition]

    def append(self, messages: Iterable[Message], transaction: Transaction | None) -> None:
        """Write the messages, of a transaction or by themselves."""
        now = time.time_ns() // 1_000_000
        for message in messages:
            topic = self._topic(message.topic)
            if size(message) > topic.most_record_bytes:
                reason = f"a message of {size(message)} bytes is larger than topic {message.topic} takes"
                raise PoisonRecordError(reason, message.value or b"")
            if message.partition is not None:
                self.partition(TopicPartition(message.topic, message.partition))
            given = None if topic.is_stamped else message.timestamp
            topic.choose(message).append(message, now if given is None else given, transaction)

    def take(self, id: str) -> int:
        """Make the caller the owner of a transactional id, and return its epoch; the last owner's transaction is aborted."""
        self.end(id, Outcome.ABORTED)
        self._epochs[id] = self._epochs.get(id, 0) + 1
        return self._epochs[id]

    def check(self, id: str, epoch: int) -> None:
        """Do nothing if this is still the epoch of the id.

        Raises:
            FencedError: another took the id.
        """
        if self._epochs.get(id) != epoch:
            message = f"another took the transactional id {id}"
            raise FencedError(message)

    def begin(self, id: str) -> None:
        """Start a transaction of the id."""
        self._open[id] = Transaction()

    def transaction(self, id: str) -> Transaction | None:
        """Return the open transaction of the id, if there is one."""
        return self._open.get(id)

    def end(self, id: str, outcome: Outcome) -> None:
        """End the id's transaction, if there is one, and notify readers."""
        transaction = self._open.pop(id, None)
        if transaction is not None:
            transaction.end(outcome)
            self.changed.notify_all()

    def place(self, group: str, positions: Mapping[TopicPartition, Position]) -> None:
        """Set the group's positions; others of the group stay.

        Raises:
            FatalError: metadata are too long.
        """
        if any(len(position.metadata.encode()) > MOST_METADATA_BYTES for position in positions.values()):
            message = f"metadata of a position have more than {MOST_METADATA_BYTES} bytes"
            raise FatalError(message)
        self._positions.setdefault(group, {}).update(positions)

    def placed(self, group: str, place: TopicPartition) -> Position | None:
        """Return where the group continues; None if it never committed."""
        return self._positions.get(group, {}).get(place)

    def _topic(self, name: str) -> _Topic:
        try:
            return self._topics[name]
        except KeyError:
            message = f"there is no topic {name}"
            raise TransientError(message) from None
