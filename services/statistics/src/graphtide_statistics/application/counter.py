"""The worker that counts: follows the patterns, reads the streams they are on, publishes snapshots.

What it holds can be read again: at the opening it goes one window back in each stream. Only one of a deployment works, so that
snapshots have one order; a counter that opens shuts the one before out.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog
from graphtide_core.errors import (
    FatalError,
    FencedError,
    InvalidQueryError,
    PoisonRecordError,
    UnreadableStreamError,
)
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_log.follower import Follower
from graphtide_log.window_log import between, first_since, newest_before
from graphtide_serving.opened import close_all
from graphtide_serving.opened import open_worker as held
from graphtide_telemetry import attributes as key
from graphtide_telemetry import events, metrics
from graphtide_telemetry.health import note
from graphtide_telemetry.instruments import add
from graphtide_wire import control, ordered, statistics

from graphtide_statistics.domain.counting import Counting, DeletionsBeganError
from graphtide_statistics.domain.windows import Windows

if TYPE_CHECKING:
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogReader, LogTransactor, Record
    from graphtide_core.time import Duration
    from graphtide_wire.statistics import StatisticsRecord
    from graphtide_wire.topics import Topics

_LOG = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class CounterSettings:
    """How the counter works.

    Attributes:
        longest_window: bound on the window of a stream.
        publish_seconds: time between two snapshots of a stream.
        linger_seconds: how long a round waits for records.
        most_records: ordered records that a round takes at most.
    """

    longest_window: Duration
    publish_seconds: float = 5.0
    linger_seconds: float = 0.2
    most_records: int = 64


@dataclass(slots=True)
class _Opened:
    transactor: LogTransactor
    patterns: Follower
    reader: LogReader
    side: LogReader
    windows: Windows
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    countings: dict[StreamName, Counting] = field(default_factory=dict)
    published: dict[str, StatisticsRecord] = field(default_factory=dict)
    uncounted: dict[StreamName, str] = field(default_factory=dict)


class Counter:
    """A `Worker` that publishes the statistics of streams."""

    def __init__(self, log: Log, topics: Topics, clock: Clock, settings: CounterSettings) -> None:
        """Prepare; nothing is opened yet."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._settings = settings
        self._opened: _Opened | None = None
        self._published_at = 0.0

    @property
    def name(self) -> str:
        """Its transactional id, which only one process at once may have."""
        return f"{self._topics.prefix}.statistics"

    def open(self) -> None:
        """Shut others out, and read what was published and what is registered.

        Raises:
            TransientError: the log does not answer.
        """
        self._log.admin().ensure(self._topics.of_deployment())
        transactor = self._log.transactor(self.name)
        patterns = Follower(self._log, self._topics.patterns)
        reader, side = self._log.reader(None), self._log.reader(None)
        opened = _Opened(transactor, patterns, reader, side, Windows(self._settings.longest_window))
        self._opened = opened
        transactor.open()
        published = Follower(self._log, self._topics.statistics)
        for record in published.to_the_end():
            if record.value is None:
                # The stream was deleted.
                opened.published.pop((record.key or b"").decode(errors="replace"), None)
            else:
                self._take_published(record, opened)
        published.close()
        for record in patterns.to_the_end():
            _take_pattern(record, opened.windows)
        self._follow(opened)

    def step(self) -> None:
        """Count what came, and publish what is due.

        Raises:
            TransientError: the log does not answer; open again to continue.
            FencedError: another took over.
        """
        opened = held(self._opened, "the counter")
        changed = opened.patterns.poll()
        for record in changed:
            _take_pattern(record, opened.windows)
        if changed:
            self._follow(opened)
        if not opened.positions:
            self._clock.sleep(self._settings.linger_seconds)
        for record in (
            opened.reader.poll(self._settings.linger_seconds, self._settings.most_records) if opened.positions else ()
        ):
            if not self._taken(record, opened):
                # Everything is read again from where it was counted to.
                break
        if self._clock.monotonic() - self._published_at >= self._settings.publish_seconds:
            self._published_at = self._clock.monotonic()
            self._publish(opened)

    def close(self) -> None:
        """Give back everything."""
        if self._opened is not None:
            close_all([self._opened.patterns, self._opened.reader, self._opened.side, self._opened.transactor])
            self._opened = None

    def _follow(self, opened: _Opened) -> None:
        """Read the streams that patterns are on now, and no others."""
        wanted: dict[TopicPartition, StreamName] = {}
        uncounted: dict[StreamName, str] = {}
        for stream in sorted(opened.windows.streams()):
            try:
                place = TopicPartition(self._topics.ordered(stream), 0)
                self._begin(place, stream, opened)
            except FencedError:
                raise
            except (InvalidQueryError, FatalError) as error:
                uncounted[stream] = str(error)
            else:
                wanted[place] = stream
        self._say_uncounted(uncounted, opened)
        opened.positions = {place: offset for place, offset in opened.positions.items() if place in wanted}
        opened.countings = {stream: found for stream, found in opened.countings.items() if stream in wanted.values()}
        opened.reader.assign(opened.positions)

    def _begin(self, place: TopicPartition, stream: StreamName, opened: _Opened) -> None:
        """Go one window back where the stream is not counted yet, or over another window."""
        counting = opened.countings.get(stream)
        if place not in opened.positions or (
            counting is not None and counting.ticks != opened.windows.ticks(stream, counting.unit)
        ):
            opened.countings.pop(stream, None)
            opened.positions[place] = self._one_window_back(place, stream, opened)

    def _say_uncounted(self, uncounted: dict[StreamName, str], opened: _Opened) -> None:
        """Log and note the streams that cannot be counted, while the others are."""
        for stream, reason in uncounted.items():
            if opened.uncounted.get(stream) != reason:
                _LOG.warning(events.STREAM_UNCOUNTED, stream=stream, error=reason)
        opened.uncounted = uncounted
        note("; ".join(f"stream {stream!r} is not counted: {reason}" for stream, reason in uncounted.items()) or None)

    def _one_window_back(self, place: TopicPartition, stream: StreamName, opened: _Opened) -> int:
        """Return the offset of the first record in the stream's window; 0 before the stream exists."""
        side = opened.side
        if not side.partitions(place.topic):
            return 0
        _, end = side.ends([place])[place]
        newest = newest_before(side, place, end)
        if newest is None:
            return 0
        start = first_since(side, place, newest, end)
        for record in between(side, place, start, end):
            with suppress(PoisonRecordError):
                ticks = opened.windows.ticks(stream, ordered.header(record.headers).unit)
                return first_since(side, place, newest.back(ticks), end)
        return 0

    def _taken(self, record: Record, opened: _Opened) -> bool:
        """Count a record; return False if its stream begins to delete edges here, and so is counted anew, by their ids."""
        place = TopicPartition(record.topic, record.partition)
        opened.positions[place] = record.offset + 1
        stream = StreamName(self._topics.stream_of(record.topic) or "")
        try:
            header = ordered.header(record.headers)
            unit, epoch = header.unit, header.epoch
            counting = opened.countings.get(stream)
            if counting is None:
                counting = Counting(stream, opened.windows.ticks(stream, unit), unit, epoch=epoch)
            elif counting.epoch != epoch:
                counting = counting.anew(epoch)
            counting.take(record.value or b"", header.last_ts)
            opened.countings[stream] = counting
            add(metrics.COUNTED_EDGES, header.records, {key.STREAM: stream})
        except DeletionsBeganError:
            ticks = opened.windows.ticks(stream, unit)
            opened.countings[stream] = Counting(stream, ticks, unit, epoch=epoch, deletions=True)
            opened.positions[place] = self._one_window_back(place, stream, opened)
            opened.reader.assign(opened.positions)
            return False
        except (PoisonRecordError, UnreadableStreamError) as error:
            _LOG.warning(events.ORDERED_UNREADABLE, topic=record.topic, offset=record.offset, error=str(error))
        return True

    def _publish(self, opened: _Opened) -> None:
        found = [each.publish(opened.published.get(each.stream)) for each in opened.countings.values()]
        records = [each for each in found if each is not None]
        if not records:
            return
        opened.transactor.begin()
        opened.transactor.write(
            Message(self._topics.statistics, each.stream.encode(), statistics.encode_statistics(each)) for each in records
        )
        opened.transactor.commit(self.name, {})
        opened.published |= {each.stream: each for each in records}
        for each in records:
            add(metrics.SNAPSHOTS, 1, {key.STREAM: each.stream})

    def _take_published(self, record: Record, opened: _Opened) -> None:
        try:
            found = statistics.decode_statistics(record.value)
        except PoisonRecordError as error:
            _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)
        else:
            opened.published[found.stream] = found


def _take_pattern(record: Record, windows: Windows) -> None:
    windows.take((record.key or b"").decode(errors="replace"), control.ordered_reads(record.value))
