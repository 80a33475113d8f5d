"""Records between two offsets, for tasks that come and go in one process: it keeps readers, which take long to make."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_log.window_log import between

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.log import LogReader, Record, TopicPartition

_MOST: Final = 1_000
_READ_AHEAD_BYTES: Final = 2 * 1024 * 1024
"""What is fetched past the end of a range is thrown away."""


@cache
def log_of(connection: KafkaConnection) -> KafkaLog:
    """Return the process's log."""
    return KafkaLog(connection)


@cache
def _reader_of(connection: KafkaConnection, number: int) -> LogReader:  # noqa: ARG001 - one for each number
    return KafkaLog(replace(connection, read_ahead_bytes=_READ_AHEAD_BYTES)).reader(None)


def records_between(connection: KafkaConnection, place: TopicPartition, start: int, stop: int) -> Iterator[Record]:
    """Return the records from offset `start` to before `stop`.

    A process has one such reading at a time of partitions of one number.

    Raises:
        FatalError: records are gone.
        TransientError: the log gives none, and does not say that there are none.
    """
    return between(_reader_of(connection, place.partition), place, start, stop, _MOST)
