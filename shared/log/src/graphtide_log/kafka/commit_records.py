"""The positions of a group from Kafka's own topic of commits, for cases when its coordinator contradicts what is known.

A coordinator keeps positions in memory. One that loads while a lone broker comes back may serve those of an older snapshot, and
keep doing so until the broker restarts. On Kafka 4.0.2 it was the snapshot after the first 16,384 records of its partition. The
records themselves are right: each commit is one, in the transaction that it belongs to.

Cost: reads one partition of the topic, which is compacted, from its beginning; only for positions that contradict others.
Reference: Kafka's `OffsetCommitKey` versions 0 and 1, `OffsetCommitValue` versions 0 to 4.
"""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer
from confluent_kafka import TopicPartition as KafkaPartition
from graphtide_core.errors import FatalError, TransientError
from graphtide_core.ports.log import Position, TopicPartition

from graphtide_log.kafka.errors import LOGGER, NO_MORE, translate, translate_errors
from graphtide_log.kafka.patience import patiently

if TYPE_CHECKING:
    from graphtide_log.kafka.connection import Config

TOPIC: Final = "__consumer_offsets"

_DOING: Final = f"reading commits in {TOPIC}"
_AT_ONCE: Final = 1_000

_LITTLE_AHEAD: Final = {"queued.min.messages": _AT_ONCE, "queued.max.messages.kbytes": 2_048}
"""Settings that fetch little ahead: a process stays as large as it once was."""
_KEYS: Final = (0, 1)
_VALUES: Final = range(5)
_FIRST_WITH_EPOCH: Final = 3
_FIRST_COMPACT: Final = 4


def positions(config: Config, group: str, seconds: float) -> dict[TopicPartition, Position]:
    """Return the newest committed position of a group in every partition where it has one.

    Waits for open transactions in the topic: one of them may hide the position.

    Args:
        config: of a reader of committed records.
        group: the group.
        seconds: how long to wait for an answer, and four times as long for all records.

    Raises:
        TransientError: the answer does not come in time.
        FatalError: the cluster does not let the client read the topic.
    """
    config = {**config, **_LITTLE_AHEAD}
    end_of_all = Consumer({**config, "isolation.level": "read_uncommitted"}, logger=LOGGER)
    try:
        place = KafkaPartition(TOPIC, _partition(end_of_all, group, seconds))
        end = _end(end_of_all, place, seconds)
    finally:
        end_of_all.close()
    consumer = Consumer(config, logger=LOGGER)
    try:
        _wait_for_transactions(consumer, place, end, seconds)
        return _read(consumer, place, end, group.encode(), seconds)
    finally:
        consumer.close()


def hash_of(group: str) -> int:
    """Return Kafka's hash of a group, which chooses the group's partition: Java's of a string, without its sign."""
    units = group.encode("utf-16-be")
    found = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        found = (31 * found + (high << 8 | low)) & 0xFFFFFFFF
    signed = found - (1 << 32) if found >> 31 else found
    return 0 if signed == -(1 << 31) else abs(signed)


def place_of(key: bytes, group: bytes) -> TopicPartition | None:
    """Return the partition whose position a record is about; None if it is of another group, or no commit.

    Raises:
        struct.error: the key is broken.
    """
    version, length = struct.unpack_from(">hh", key)
    if version not in _KEYS or key[4 : 4 + length] != group:
        return None
    at = 4 + length
    (size,) = struct.unpack_from(">h", key, at)
    (partition,) = struct.unpack_from(">i", key, at + 2 + size)
    return TopicPartition(key[at + 2 : at + 2 + size].decode(), partition)


def position_of(value: bytes) -> Position:
    """Return the position that a record commits.

    Raises:
        ValueError, IndexError, struct.error: the record is of a version that is not known, or broken.
    """
    version, offset = struct.unpack_from(">hq", value)
    if version not in _VALUES:
        message = f"commits of version {version} are not known"
        raise ValueError(message)
    at = 10 + (4 if version >= _FIRST_WITH_EPOCH else 0)
    size, at = _compact_size(value, at) if version >= _FIRST_COMPACT else (*struct.unpack_from(">h", value, at), at + 2)
    # librdkafka writes a text with the zero byte that ends it, and reads it up to there.
    return Position(offset, value[at : at + size].partition(b"\0")[0].decode())


def _compact_size(value: bytes, at: int) -> tuple[int, int]:
    """Return the length of a compact string, and where it begins."""
    found = shift = 0
    while True:
        found |= (value[at] & 0x7F) << shift
        if not value[at] & 0x80:
            return max(0, found - 1), at + 1
        at, shift = at + 1, shift + 7


def _partition(consumer: Consumer, group: str, seconds: float) -> int:
    with translate_errors(_DOING):
        metadata = consumer.list_topics(TOPIC, timeout=seconds).topics[TOPIC]
    if metadata.error is not None:
        raise translate(metadata.error, _DOING)
    return hash_of(group) % len(metadata.partitions)


def _end(consumer: Consumer, place: KafkaPartition, seconds: float) -> int:
    def ask(left: float) -> int:
        with translate_errors(_DOING):
            return consumer.get_watermark_offsets(place, timeout=left)[1]

    return patiently(ask, seconds)


def _wait_for_transactions(consumer: Consumer, place: KafkaPartition, end: int, seconds: float) -> None:
    def ask(left: float) -> None:
        if (found := _end(consumer, place, left)) < end:
            message = f"{_DOING}: a transaction is open at {found}, and {end - found} records are behind it"
            raise TransientError(message)

    patiently(ask, seconds)


def _read(consumer: Consumer, place: KafkaPartition, end: int, group: bytes, seconds: float) -> dict[TopicPartition, Position]:
    found: dict[TopicPartition, Position] = {}
    deadline = time.monotonic() + 4 * seconds
    consumer.assign([KafkaPartition(place.topic, place.partition, OFFSET_BEGINNING)])
    while time.monotonic() < deadline:
        with translate_errors(_DOING):
            messages = consumer.consume(_AT_ONCE, timeout=1.0)
        for message in messages:
            wrong = message.error()
            if wrong is not None:
                if wrong.code() != NO_MORE:
                    raise translate(wrong, _DOING)
                if (message.offset() or 0) >= end:
                    return found
                continue
            key, value = message.key(), message.value()
            if key is None or group not in key:
                continue
            try:
                about = place_of(key, group)
                if about is not None and value is None:
                    found.pop(about, None)
                elif about is not None and value is not None:
                    found[about] = position_of(value)
            except (ValueError, IndexError, struct.error) as error:
                unknown = f"{_DOING}: record {message.offset()} cannot be read: {error}"
                raise FatalError(unknown) from error
    late = f"{_DOING}: {4 * seconds:g} s were not enough"
    raise TransientError(late)
