"""Stages that know what went out: a filter of duplicates and features, made from the tail of the ordered stream.

They have seen one window back in its epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import structlog
from graphtide_core.errors import PoisonRecordError, TransientError, UnreadableStreamError
from graphtide_core.time import MIN_EVENT_TIME
from graphtide_log.window_log import Instant, first_since, last_before, last_numbered
from graphtide_native.features import StreamFeatures
from graphtide_native.records import ArrowDecoder, Duplicates, Symbols
from graphtide_telemetry import events
from graphtide_wire import ordered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_core.ports.log import LogReader, Record, TopicPartition
    from graphtide_core.stream_windows import StreamWindows
    from graphtide_core.time import TimeUnit
    from graphtide_native.records import EdgeBatch
    from graphtide_wire.ordered import OrderedHeader

_LOG = structlog.get_logger()
_MOST: Final = 16
_WAIT_SECONDS: Final = 0.5
_ATTEMPTS: Final = 40
"""Times to look again for the end of what was committed, before the log counts as not answering."""


class WentOut(NamedTuple):
    """What a stream's sequencer has committed.

    Attributes:
        place: the partition of the ordered topic.
        edges: how many went out.
        epoch: of the stream.
    """

    place: TopicPartition
    edges: int
    epoch: int


def known_duplicates(reader: LogReader, went_out: WentOut, windows: tuple[int, int]) -> Duplicates:
    """Return a filter that has seen the last ticks and edges of the epoch of a stream.

    The reader reads something else afterwards: assign it anew.

    Raises:
        TransientError: the log does not give what was committed yet.

    Complexity: O(log records) reads, then those of one window.
    """
    duplicates = Duplicates(*windows)
    for batch in _recent(reader, went_out, windows, ()):
        duplicates.filter(batch)
    return duplicates


def known_features(reader: LogReader, went_out: WentOut, windows: StreamWindows, unit: TimeUnit) -> StreamFeatures | None:
    """Return features that have seen their windows of the epoch of a stream, as `known_duplicates`; None for none."""
    if not windows:
        return None
    known = StreamFeatures(windows, unit)
    for batch in _recent(reader, went_out, (windows.longest(unit), 0), known.inputs):
        known.add_to(batch)
    return known


def _recent(reader: LogReader, went_out: WentOut, windows: tuple[int, int], attributes: Sequence[str]) -> Iterator[EdgeBatch]:
    """Yield what went out in the last ticks and edges of the epoch, with these attributes."""
    place, edges, epoch = went_out
    if windows == (0, 0) or edges == 0:
        return
    first, end = reader.ends([place])[place]
    last = last_before(reader, place, end)
    if last is None:
        start = first
    elif last.epoch != epoch:
        start = first_since(reader, place, Instant(epoch, MIN_EVENT_TIME), end)
    else:
        start = _start(reader, place, windows, last, end)
    decoder = ArrowDecoder(Symbols(), attributes, {})
    for record in _tail(reader, place, start, edges):
        header = ordered.header(record.headers)
        if header.epoch != epoch:
            continue
        decoder.start_at(header.ordinal)
        try:
            yield decoder.decode(record.value or b"")
        except UnreadableStreamError as error:
            # Nothing of it went out by this sequencer, so no id in it can come again.
            _LOG.warning(events.ORDERED_UNREADABLE, topic=record.topic, offset=record.offset, error=str(error))


def _start(reader: LogReader, place: TopicPartition, windows: tuple[int, int], last: OrderedHeader, end: int) -> int:
    """Return where the windows begin that end with the last record below an offset; no window reaches behind its epoch."""
    ticks, edges = windows
    start = first_since(reader, place, Instant(last.epoch, last.last_ts).back(ticks), end)
    if not edges:
        return start
    begun = first_since(reader, place, Instant(last.epoch, MIN_EVENT_TIME), end)
    return min(start, last_numbered(reader, place, (last.number or 0) - edges, begun, end))


def _tail(reader: LogReader, place: TopicPartition, start: int, edges: int) -> Iterator[Record]:
    """Yield the records from an offset to the one that makes the stream's edges so many.

    That shows the end, because a new commit may take a moment to be visible.
    """
    reader.assign({place: start})
    reached = 0
    for _ in range(_ATTEMPTS):
        records = reader.poll(_WAIT_SECONDS, _MOST)
        while records:
            for record in records:
                try:
                    header = ordered.header(record.headers)
                except PoisonRecordError as error:
                    _LOG.warning(events.ORDERED_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)
                    continue
                yield record
                following = header.ordinal + header.records
                # A record that says otherwise was written by another program.
                reached = max(reached, following) if following <= edges else reached
            if reached >= edges:
                return
            records = reader.poll(_WAIT_SECONDS, _MOST)
        first, end = reader.ends([place])[place]
        if first == end:
            return  # Retention took all of it.
    message = f"{place.topic} does not show yet what was committed to it"
    raise TransientError(message)
