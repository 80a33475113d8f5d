"""Finds where a window begins in the ordered log, and reads from there.

Ordered records are sorted by epoch, and within an epoch by their edges' times, so the first one of a window is found by
bisection. No window reaches behind the beginning of its epoch.
After a look the reader has no partition: an assigned one is fetched ahead, polled or not.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.errors import PoisonRecordError, TransientError
from graphtide_core.ports.log import TopicPartition
from graphtide_telemetry.health import beat
from graphtide_wire import ordered

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from graphtide_core.ports.log import LogReader, Record
    from graphtide_wire.ordered import OrderedHeader

_MOST = 16
_FIRST_STEP = 2
"""Offsets of a record and of the mark that commits it."""
_PATIENCE = 10.0


class Instant(NamedTuple):
    """A time of an epoch of a stream; what comes later in the stream is not less."""

    epoch: int
    ts: int

    def back(self, ticks: int) -> Instant:
        """Return the first instant of the window that ends here and is `ticks` long."""
        return Instant(self.epoch, self.ts - ticks + 1)


def first_since(reader: LogReader, partition: TopicPartition, instant: Instant, end: int) -> int:
    """Return an offset at or before that of the first record below `end` whose newest edge is not before an instant.

    Complexity: O(log end) reads.
    """
    low, high = reader.ends([partition])[partition][0], end
    with _given_back(reader):
        while low < high:
            middle = (low + high) // 2
            found = _at(reader, partition, middle, high)
            if found is not None and found.newest < instant:
                low = found.offset + 1
            else:
                high = middle
    return low


def last_numbered(reader: LogReader, partition: TopicPartition, number: int, start: int, end: int) -> int:
    """Return the offset of the last record from `start` to below `end` whose first edge has at most this number, else `start`.

    Records without a number come before those with one. Complexity: O(log(end - start)) reads.
    """
    low, high, last = start, end, start
    with _given_back(reader):
        while low < high:
            middle = (low + high) // 2
            found = _at(reader, partition, middle, high)
            if found is None or (found.header.number or 0) > number:
                high = middle
            else:
                last, low = found.offset, found.offset + 1
    return last


def newest_before(reader: LogReader, partition: TopicPartition, end: int) -> Instant | None:
    """Return the instant of the newest edge of the records below `end`; None if there is none. As `last_before`."""
    last = _last_before(reader, partition, end)
    return None if last is None else last.newest


def last_before(reader: LogReader, partition: TopicPartition, end: int) -> OrderedHeader | None:
    """Return the header of the last record below `end`; None without such a record.

    Complexity: O(log d) reads if it is d offsets before the end.
    """
    last = _last_before(reader, partition, end)
    return None if last is None else last.header


def edges_between(reader: LogReader, partition: TopicPartition, start: int, end: int) -> int:
    """Return how many edges the records from offset `start` to below `end` have. Complexity: O(log (end - start)) reads."""
    if start >= end:
        return 0
    with _given_back(reader):
        first = _at(reader, partition, start, end)
        last = first and (_last_before(reader, partition, end, first.offset + 1) or first)
    return 0 if first is None or last is None else max(0, last.edges - first.header.ordinal)


def between(
    reader: LogReader, partition: TopicPartition, start: int, end: int, most: int = _MOST
) -> Generator[Record, None, None]:
    """Yield the records from offset `start` to below `end`, `most` at once; the reader reads nothing else.

    The log could be read to `end` before; a broker that comes back may show less of it for a moment.

    Close it where it is not read to its end.

    Raises:
        TransientError: the log gives no records, and does not report the end.
    """
    yield from between_all(reader, {partition: (start, end)}, most)


def between_all(
    reader: LogReader, ranges: Mapping[TopicPartition, tuple[int, int]], most: int = _MOST
) -> Generator[Record, None, None]:
    """Yield the records from an offset to below another of each partition, as `between`; partitions are read side by side.

    The records of a partition are in their order.

    Raises:
        TransientError: the log gives no records of a partition, and does not report its end.
    """
    ends = {place: end for place, (start, end) in ranges.items() if start < end}
    if not ends:
        return
    with _given_back(reader):
        reader.assign({place: ranges[place][0] for place in ends})
        deadline = time.monotonic() + _PATIENCE
        while ends:
            records = reader.poll(max(0.0, deadline - time.monotonic()), most)
            beat()
            for record in records:
                place = TopicPartition(record.topic, record.partition)
                if place in ends and record.offset < ends[place]:
                    yield record
                if place in ends and record.offset >= ends[place] - 1:
                    _leave(reader, place, ends)
            for place in [each for each, end in ends.items() if (reader.ended_at(each) or 0) >= end]:
                _leave(reader, place, ends)
            if records:
                deadline = time.monotonic() + _PATIENCE
            elif ends and time.monotonic() >= deadline:
                place, end = next(iter(ends.items()))
                ended_at = reader.ended_at(place)
                found = "gave nothing" if ended_at is None else f"could be read to {ended_at}, of {end},"
                message = f"{place.topic} {found} within {_PATIENCE:g} seconds"
                raise TransientError(message)


def _leave(reader: LogReader, place: TopicPartition, ends: dict[TopicPartition, int]) -> None:
    """Read a partition no further, that the others come sooner."""
    del ends[place]
    if ends:
        reader.pause([place])


@contextmanager
def _given_back(reader: LogReader) -> Iterator[None]:
    """Leave the reader without a partition."""
    try:
        yield
    finally:
        reader.assign({})


class _Found(NamedTuple):
    offset: int
    header: OrderedHeader

    @property
    def newest(self) -> Instant:
        return Instant(self.header.epoch, self.header.last_ts)

    @property
    def edges(self) -> int:
        return self.header.ordinal + self.header.records


def _last_before(reader: LogReader, partition: TopicPartition, end: int, start: int = 0) -> _Found | None:
    """Return the last record from offset `start` to below `end` whose headers can be read.

    It is mostly near the end, with marks of transactions alone behind it. So steps from the end double until one is found.
    """
    first, high, step = max(start, reader.ends([partition])[partition][0]), end, _FIRST_STEP
    low, last = first, None
    with _given_back(reader):
        while low < high:
            middle = (low + high) // 2 if last is not None else max(first, end - step)
            step *= 2
            found = _at(reader, partition, middle, high)
            if found is None:
                high = middle
            else:
                last, low = found, found.offset + 1
    return last


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
            return _Found(records[0].offset, ordered.header(records[0].headers))
        if reader.at_end():
            return None
