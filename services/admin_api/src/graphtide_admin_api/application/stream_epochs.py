"""How far a query has read its stream, and which times of its reports belong to the epoch that it reads.

Times begin anew in epochs, and match records do not name theirs. Those of an epoch lie between the times of its first
and its newest edge. Cost: O(log records of the stream) reads.
"""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.errors import PoisonRecordError
from graphtide_core.time import MIN_EVENT_TIME
from graphtide_log.window_log import Instant, between, first_since, last_before
from graphtide_wire import ordered

if TYPE_CHECKING:
    from graphtide_core.ports.log import LogReader, TopicPartition
    from graphtide_core.time import EventTime, TimeUnit


@dataclass(frozen=True, slots=True)
class StreamEpoch:
    """The epoch of a stream that a query reads, and how far it is there.

    Attributes:
        epoch: of the stream, 0 at first.
        unit: what a tick of its times is.
        first: time of the first edge of the epoch; None in the first one, before which there was nothing.
        newest: time of the newest edge of the epoch.
        read_to: time of the newest edge that the query has read; None if that is not known.
    """

    epoch: int
    unit: TimeUnit
    first: EventTime | None
    newest: EventTime
    read_to: EventTime | None

    def has(self, emitted_at: int) -> bool:
        """Whether a report at a time may be of this epoch."""
        return self.epoch == 0 or (self.first is not None and self.first <= emitted_at <= self.newest)


def stream_epoch_of(reader: LogReader, stream: TopicPartition, position: int | None) -> StreamEpoch | None:
    """Return the epoch of a query that reads a stream's ordered edges from a position next; None if there are none.

    Where the position is not known it is the newest epoch.

    Raises:
        TransientError: the log does not answer.
    """
    if stream not in reader.partitions(stream.topic):
        return None
    end = reader.ends([stream])[stream][1]
    read = last_before(reader, stream, end if position is None else min(position, end))
    if read is None:
        return None
    begin = 0 if read.epoch == 0 else first_since(reader, stream, Instant(read.epoch, MIN_EVENT_TIME), end)
    over = first_since(reader, stream, Instant(read.epoch + 1, MIN_EVENT_TIME), end)
    newest = last_before(reader, stream, over) or read
    first = None if read.epoch == 0 else _first_edge(reader, stream, begin, over)
    read_to = None if position is None or read.last_ts == MIN_EVENT_TIME else read.last_ts
    return StreamEpoch(read.epoch, read.unit, first, newest.last_ts, read_to)


def emitted_from(reader: LogReader, stream: TopicPartition, start: int, epoch: int) -> EventTime | None:
    """Return the time of an epoch after which a query reported, from an offset on; None if it did in all of the epoch.

    Where the stream does not keep what was before the offset, it is the time of what it keeps first.

    Raises:
        TransientError: the log does not answer.
    """
    if start == 0 or stream not in reader.partitions(stream.topic):
        return None
    first = reader.ends([stream])[stream][0]
    before = last_before(reader, stream, max(start, first + 1))
    if before is None or before.epoch < epoch or before.last_ts == MIN_EVENT_TIME:
        return None
    return before.last_ts


def _first_edge(reader: LogReader, stream: TopicPartition, begin: int, end: int) -> EventTime | None:
    """Return the time of the first edge from an offset to below another; None if there is none."""
    with closing(between(reader, stream, begin, end)) as records:
        for record in records:
            with suppress(PoisonRecordError):
                header = ordered.header(record.headers)
                if header.records:
                    return header.first_ts
    return None
