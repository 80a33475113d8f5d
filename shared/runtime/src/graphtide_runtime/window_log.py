"""The way back into the ordered log: where a window begins, and reading from there.

Ordered records stand in the order of their edges' times, so the first one that a window reaches is found by bisection.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.errors import PoisonRecordError, TransientError
from graphtide_wire import ordered

from graphtide_runtime.health import beat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.log import LogReader, Record, TopicPartition

_MOST = 16
_PATIENCE = 10.0


def first_since(reader: LogReader, partition: TopicPartition, ts: int, end: int) -> int:
    """Return an offset at or before that of the first record below `end` whose newest edge is not before `ts`.

    Complexity: O(log end) reads.
    """
    low, high = reader.ends([partition])[partition][0], end
    while low < high:
        middle = (low + high) // 2
        found = _at(reader, partition, middle, high)
        if found is not None and found.newest < ts:
            low = found.offset + 1
        else:
            high = middle
    return low


def newest_before(reader: LogReader, partition: TopicPartition, end: int) -> int | None:
    """Return the time of the newest edge of the records below `end`; None if there is none. Complexity: O(log end) reads."""
    low, high = reader.ends([partition])[partition][0], end
    newest = None
    while low < high:
        middle = (low + high) // 2
        found = _at(reader, partition, middle, high)
        if found is None:
            high = middle
        else:
            newest, low = found.newest, found.offset + 1
    return newest


def between(reader: LogReader, partition: TopicPartition, start: int, end: int, most: int = _MOST) -> Iterator[Record]:
    """Yield the records from offset `start` to below `end`, of which `most` are read at once; the reader reads nothing else.

    Raises:
        TransientError: the log gives none, and does not say that there are none.
    """
    if start >= end:
        return
    reader.assign({partition: start})
    while True:
        records = reader.poll(_PATIENCE, most)
        beat()
        for record in records:
            if record.offset >= end:
                return
            yield record
            if record.offset == end - 1:
                return
        if reader.at_end():
            return
        if not records:
            message = f"{partition.topic} gave nothing within {_PATIENCE:g} seconds"
            raise TransientError(message)


class _Found(NamedTuple):
    offset: int
    newest: int


def _at(reader: LogReader, partition: TopicPartition, offset: int, end: int) -> _Found | None:
    """Return the first record at or after an offset whose headers can be read, if it is below `end`."""
    reader.assign({partition: offset})
    while True:
        records = reader.poll(_PATIENCE, 1)
        if not records and not reader.at_end():
            message = f"{partition.topic} gave nothing within {_PATIENCE:g} seconds"
            raise TransientError(message)
        if not records or records[0].offset >= end:
            return None
        with suppress(PoisonRecordError):
            return _Found(records[0].offset, ordered.figures(records[0].headers).last_ts)
