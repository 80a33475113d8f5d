"""Reading from Kafka: partitions by hand, committed records alone."""

from __future__ import annotations

import time
from contextlib import suppress
from operator import methodcaller
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol, cast

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition
from graphtide_core.ports.log import Position, Record, TopicPartition
from graphtide_telemetry import attributes as key
from graphtide_telemetry import metrics
from graphtide_telemetry.instruments import add

from graphtide_log.kafka import commit_records, groups
from graphtide_log.kafka.errors import LOGGER, NO_MORE, Beside, translate, translate_errors
from graphtide_log.kafka.idle_clients import IDLE_CLIENTS
from graphtide_log.kafka.patience import patiently

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from confluent_kafka import KafkaError, Message

    from graphtide_log.kafka.connection import KafkaConnection

_LEADER_SECONDS = 3.0
"""How long a partition may take to get a leader."""

NO_GROUP = "graphtide-no-group"
"""librdkafka wants a group of everyone; a reader without one commits nothing under this name, which may still be looked for."""


class KafkaReader:
    """A `LogReader` on a Kafka consumer. What it fetches ahead is bounded by the connection's `read_ahead_bytes`."""

    def __init__(self, connection: KafkaConnection, group: str | None) -> None:
        """Make the consumer; it connects by itself."""
        self._group = group
        self._connection = connection
        self._seconds = connection.request_seconds
        self._beside = Beside("reading")
        self._late: KafkaError | None = None
        """An error that came behind records, to be raised by the next poll."""
        self._open: set[TopicPartition] = set()
        """Partitions assigned whose end was not reached."""
        self._ended: dict[TopicPartition, int] = {}
        """Where the end of the others was."""
        self._assigned = 0
        config: dict[str, object] = {**connection.reading(group or NO_GROUP), "error_cb": self._beside.note}
        self._consumer = Consumer(config, logger=LOGGER)
        self._closed = False
        self._idle_poll = Lock()
        """Held while another thread polls, which it does only without partitions: `assign` and `close` wait for that."""
        IDLE_CLIENTS.add(self)

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these partitions from these offsets, and no others."""
        self._late = None
        self._open = set(positions)
        self._ended.clear()
        with self._idle_poll, translate_errors("assigning"):
            self._assigned = len(self._open)
            self._consumer.assign(
                [KafkaPartition(*place, offset if offset > 0 else OFFSET_BEGINNING) for place, offset in positions.items()]
            )

    def poll(self, timeout: float, most: int) -> list[Record]:
        """Return up to `most` records as soon as there are some."""
        if self._late is not None:
            late, self._late = self._late, None
            raise translate(late, "reading")
        records: list[Record] = []
        deadline = time.monotonic() + timeout
        while not records:
            was_open = bool(self._open)
            with translate_errors("reading"):
                first = self._consumer.poll(max(0.0, deadline - time.monotonic()))
            if first is None:
                self._beside.check()
                return []
            self._take(first, records)
            if was_open and not self._open:
                return records
        with translate_errors("reading"):
            rest = self._consumer.consume(most - 1, timeout=0) if most > 1 else []
        for message in rest:
            self._take(message, records)
        return records

    def at_end(self) -> bool:
        """Return whether every partition assigned was read to its end."""
        return not self._open

    def ended_at(self, partition: TopicPartition) -> int | None:
        """Return where the end of a partition was found, if nothing came since."""
        return self._ended.get(partition)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Give no records of these until `resume`."""
        with translate_errors("pausing"):
            self._consumer.pause(_kafka(partitions))

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Give records of these again."""
        with translate_errors("resuming"):
            self._consumer.resume(_kafka(partitions))

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """Return the first and the next offset of each; two requests for each."""
        return {place: self._ends(place) for place in partitions}

    def partitions(self, topic: str) -> list[TopicPartition]:
        """Return the partitions of a topic."""
        with translate_errors(f"asking for the partitions of {topic}"):
            metadata = self._consumer.list_topics(topic, timeout=self._seconds).topics[topic]
        if metadata.error is not None and metadata.error.code() != metadata.error.UNKNOWN_TOPIC_OR_PART:
            raise translate(metadata.error, f"asking for the partitions of {topic}")
        return [TopicPartition(topic, number) for number in sorted(metadata.partitions)]

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Position | None]:
        """Return where the group continues in each."""
        group = self._needed_group()
        found: dict[TopicPartition, Position | None] = {}
        for answer in groups.positions(self._consumer, group, _kafka(partitions), self._seconds):
            position = Position(answer.offset, answer.metadata or "") if answer.offset >= 0 else None
            found[TopicPartition(answer.topic, answer.partition)] = position
        return found

    def recorded(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Position | None]:
        """Return where the group continues in each, by the topic of commits."""
        group = self._needed_group()
        found = commit_records.positions(self._connection.reading(NO_GROUP), group, self._seconds)
        return {place: found.get(place) for place in partitions}

    def close(self) -> None:
        """Close the consumer."""
        IDLE_CLIENTS.remove(self)
        with self._idle_poll:
            self._closed = True
        self._consumer.close()

    def poll_idle(self) -> None:
        """Take what librdkafka has queued, on another thread, while no partition is assigned."""
        with self._idle_poll, suppress(KafkaException, RuntimeError):
            if not self._closed and not self._assigned:
                self._consumer.poll(0)

    def _needed_group(self) -> str:
        if self._group is None:
            message = "a reader without a group has no positions"
            raise ValueError(message)
        return self._group

    def _ends(self, place: TopicPartition) -> tuple[int, int]:
        """Return the first and the next offset; a partition that was just made has no leader for a moment."""

        def ask(_: float) -> tuple[int, int]:
            with translate_errors(f"asking for the ends of {place.topic}/{place.partition}"):
                return self._consumer.get_watermark_offsets(KafkaPartition(*place), timeout=self._seconds)

        return patiently(ask, _LEADER_SECONDS)

    def _take(self, message: Message, records: list[Record]) -> None:
        """Take what the consumer gave: a record, the end of the partition, or an error."""
        wrong = message.error()
        if wrong is None:
            record = _record(cast("_Read", message))
            records.append(record)
            if len(self._open) < self._assigned:
                place = TopicPartition(record.topic, record.partition)
                self._open.add(place)
                self._ended.pop(place, None)
        elif wrong.code() == NO_MORE:
            place = TopicPartition(cast("str", message.topic()), cast("int", message.partition()))
            self._open.discard(place)
            self._ended[place] = cast("int", message.offset())
        elif records:
            self._late = wrong
        else:
            raise translate(wrong, "reading")


def _kafka(partitions: Iterable[TopicPartition]) -> list[KafkaPartition]:
    return [KafkaPartition(*place) for place in partitions]


class _Read(Protocol):
    """A message that was read; only those that a producer made up by itself lack what is here."""

    def topic(self) -> str: ...
    def partition(self) -> int: ...
    def offset(self) -> int: ...
    def timestamp(self) -> tuple[int, int]: ...
    def key(self) -> bytes | None: ...
    def value(self) -> bytes | None: ...
    def headers(self) -> list[tuple[str, bytes | None]] | None: ...


_headers: Final[Callable[[_Read], list[tuple[str, bytes | None]] | None]] = methodcaller("headers")
"""Reads the headers of a message so that Python checks the answer.

Where a name is not UTF-8, the client returns a list with a hole in it and sets an exception. The interpreter's own fast calls
do not look for one and would read the hole, which ends the process (seen with confluent-kafka 2.16.1). This call raises.
"""

_FLAW: Final = "a header has a name that is not UTF-8"


def _record(message: _Read) -> Record:
    given, flaw = None, ""
    try:
        given = _headers(message)
    except (SystemError, UnicodeError):
        flaw = _FLAW
        add(metrics.UNREADABLE_HEADERS, 1, {key.MESSAGING_DESTINATION: message.topic()})
    return Record(
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        tuple([(name, value or b"") for name, value in given]) if given else (),
        flaw,
    )
