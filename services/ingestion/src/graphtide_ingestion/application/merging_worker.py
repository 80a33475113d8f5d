"""The work of one merged stream: ordered records of its streams in, their edges in one order out, each exactly once.

A round reads, and lets `graphtide_ordering.merging.stream_merger` decide (its docstring has the argument). It commits the
output together with the positions once it is large or old enough. A crash forgets all that happens in between. If the log has
lost the positions for good, merging continues at the time of the last edge that went out. None is lost, and those of that one
time may come again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import TransientError
from graphtide_core.merged_streams import sources
from graphtide_core.ports.log import TopicPartition
from graphtide_core.time import TimeUnit
from graphtide_log.committed_offset_check import CommittedOffsetCheck
from graphtide_log.window_log import Instant, first_since, last_before, newest_before
from graphtide_ordering.dead_letters import letter
from graphtide_ordering.heartbeats import DEFAULT_HEARTBEAT_SECONDS, Heartbeats, LastRecord
from graphtide_ordering.merging.merged_position import MergedPosition, merged_position
from graphtide_ordering.merging.stream_merger import StreamMerger
from graphtide_ordering.ordered_records import DEFAULT_MOST_EDGES, Packing
from graphtide_ordering.progress_reports import sequencer_of
from graphtide_ordering.raw_decoding import Refused
from graphtide_ordering.tracing import sequencing
from graphtide_serving.opened import close_all, open_worker
from graphtide_telemetry import events
from graphtide_wire.dead_letters import ErrorCode, Source
from graphtide_wire.ordered import ARROW_STREAM
from graphtide_wire.reads_form import reads_of
from graphtide_wire.topics import MOST_ORDERED_BYTES
from msgspec import UnsetType

from graphtide_ingestion.application.commit_timer import CommitTimer
from graphtide_ingestion.application.merger_metrics import MergerMetrics
from graphtide_ingestion.application.registered_merges import readers_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogReader, LogTransactor, Message, Position
    from graphtide_ordering.merging.source_stream import RejectedRecord
    from graphtide_wire.control import PatternRecord
    from graphtide_wire.ordered import OrderedHeader
    from graphtide_wire.topics import Topics

_LOG = structlog.get_logger()

_QUIET_COMMIT_SECONDS: Final = 1.0
"""How often positions are committed while nothing goes out."""

_MOST_ORDERED_RECORDS: Final = 8
"""Full ordered records of one transaction."""

_ROOM_BYTES: Final = 16 * 1024
"""What the name of an edge's stream may take, so that an edge that has gone out once goes out again."""


@dataclass(frozen=True, slots=True)
class Merging:
    """How streams are merged.

    Attributes:
        unit: what their times count.
        linger_seconds: how long what is to go out may wait for more; 0 lets every round go out by itself.
        heartbeat_seconds: how long the stream may be quiet before its readers get a heartbeat with a new watermark.
        most_edges: edges of one ordered record.
        most_bytes: bytes of one ordered record.
        most_records: ordered records read at once.
        poll_seconds: how long a round waits for records at most.
        retention_ms: how long records of a merged stream that is made are kept; None for ever.
        by_vertex: those of its streams whose parts have an edge in the parts of both its ends.
    """

    unit: TimeUnit = TimeUnit.MILLISECOND
    linger_seconds: float = 0.02
    heartbeat_seconds: float = DEFAULT_HEARTBEAT_SECONDS
    most_edges: int = DEFAULT_MOST_EDGES
    most_bytes: int = MOST_ORDERED_BYTES + _ROOM_BYTES
    most_records: int = 16
    poll_seconds: float = 0.2
    retention_ms: int | None = None
    by_vertex: frozenset[StreamName] = frozenset()


class MergingWorker:
    """A `Worker`."""

    def __init__(self, log: Log, topics: Topics, stream: StreamName, clock: Clock, options: Merging) -> None:
        """Merge the streams that a merged one is called after; nothing happens before `open`."""
        self._log = log
        self._topics = topics
        self._stream = stream
        self._clock = clock
        self._options = options
        self._id = sequencer_of(topics, stream)
        self._places = {name: TopicPartition(topics.ordered(name), 0) for name in sources(stream)}
        self._names = {place.topic: name for name, place in self._places.items()}
        self._reader: LogReader | None = None
        self._transactor: LogTransactor | None = None
        self._merger = StreamMerger(sources(stream), options.unit, options.by_vertex)
        self._paused: set[StreamName] = set()
        self._metrics = MergerMetrics(self._id, stream, options.unit)
        self._timer = CommitTimer(clock)
        self._write_to(topics.ordered(stream))

    @property
    def name(self) -> str:
        """What logs call it: the transactional id and the group, too."""
        return self._id

    @property
    def merger(self) -> StreamMerger:
        """The merger, for its metrics."""
        return self._merger

    def open(self) -> None:
        """Shut out the last owner, and continue from what it committed.

        Raises:
            TransientError: a topic is not there, or the log does not answer.
            FatalError: the positions are not those of merging.
        """
        self._transactor = self._log.transactor(self._id)
        self._transactor.open()
        if (topic := self._topics.ordered(self._stream)) != self._packing.topic:
            # It was deleted under its old name and made again under its new one.
            self._write_to(topic)
        self._log.admin().ensure(self._topics.of_stream(self._stream, retention_ms=self._options.retention_ms))
        self._reader = reader = self._log.reader(self._id)
        for place in self._places.values():
            if not reader.partitions(place.topic):
                message = f"there is no topic {place.topic}"
                raise TransientError(message)
        self._merger = StreamMerger(sources(self._stream), self._options.unit, self._options.by_vertex)
        self._paused = set()
        self._timer.stop()
        last = last_before(reader, self._merged_place, reader.ends([self._merged_place])[self._merged_place][1])
        self._restore(reader, self._transactor, last)
        reported = None if last is None else LastRecord.by(last)
        self._heartbeats = Heartbeats(self._packing, self._options.heartbeat_seconds, reported, self._clock.monotonic())
        self._assign(reader)
        self._metrics.follow(self._merger)

    def _write_to(self, topic: str) -> None:
        options = self._options
        self._packing = Packing(topic, options.unit, options.most_edges, options.most_bytes)
        self._merged_place = TopicPartition(topic, 0)
        self._heartbeats = Heartbeats(self._packing, options.heartbeat_seconds, None, 0.0)
        self._committed_offset_check = CommittedOffsetCheck(self._id, self._merged_place)

    def step(self) -> None:
        """Read, decide, and commit if it is time."""
        reader, merger = self._opened()
        records = reader.poll(self._timer.left(self._linger(), self._options.poll_seconds), self._options.most_records)
        self._metrics.polled(records, self._clock.now())
        for record in records:
            merger.take(self._names[record.topic], record)
        while merger.step():
            if merger.output.edges >= self._options.most_edges * _MOST_ORDERED_RECORDS:
                self._commit()
        if records or not merger.output.is_empty:
            self._timer.start()
        self._read_those_behind(reader)
        if self._timer.has_run(self._linger()) or self._heartbeats.is_due(merger, self._clock.monotonic()):
            self._commit()

    def close(self) -> None:
        """Give back what `open` took."""
        close_all([self._reader, self._transactor])
        self._reader = self._transactor = None
        self._metrics.close()

    def _restore(self, reader: LogReader, transactor: LogTransactor, last: OrderedHeader | None) -> None:
        """Bring the merger to the last commit, by the last merged record."""
        committed = self._committed(reader, last, transactor)
        found = {name: _read_position(committed[place]) for name, place in self._places.items()}
        known = {name: each for name, each in found.items() if each is not None}
        for name, (offset, position) in known.items():
            self._merger.restore(name, offset, position)
        if last is not None:
            passed = Instant(last.epoch, last.last_ts if last.records else max(last.last_ts, last.watermark))
            self._merger.resume(passed, last.ordinal + last.records, (last.number or 0) + last.records if not known else 0)
        if not known:
            self._begin(reader, last)

    def _committed(
        self, reader: LogReader, last: OrderedHeader | None, transactor: LogTransactor
    ) -> Mapping[TopicPartition, Position | None]:
        """Return the positions, unless one of them says less than the merged stream, which is committed with them.

        Raises:
            TransientError: one does.
        """
        went_out = 0 if last is None else last.ordinal + last.records

        def contradiction(positions: Mapping[TopicPartition, Position | None]) -> str | None:
            for place, position in positions.items():
                known = 0 if position is None else merged_position(position).ordered
                if known < went_out:
                    return f"knows of {known} edges that went out by its position in {place.topic}, of {went_out} that did"
            return None

        return self._committed_offset_check.settled(reader, list(self._places.values()), contradiction, transactor)

    def _begin(self, reader: LogReader, last: OrderedHeader | None) -> None:
        """Begin without a commit: one lookback of the patterns before they came, or where the merged stream ends.

        What came since the first of them was registered is merged, however late this is.
        """
        known = reader.ends(self._places.values())
        ends = {name: known[place][1] for name, place in self._places.items()}
        if last is not None:
            instant: Instant | None = Instant(last.epoch, last.last_ts)
        else:
            patterns = readers_of(self._log, self._topics, self._stream)
            ends = {name: min([end, *_ends_at_registration(patterns, name)]) for name, end in ends.items()}
            lookback = max((reads_of(each.reads).lookback.ticks(self._options.unit) for each in patterns), default=0)
            instant = self._lookback_begins(reader, ends, max(1, lookback))
        for name, place in self._places.items():
            self._merger.start_at(name, 0 if instant is None else first_since(reader, place, instant, ends[name]))

    def _lookback_begins(self, reader: LogReader, ends: Mapping[StreamName, int], lookback: int) -> Instant | None:
        """Return where a lookback begins that ends at the end of the slowest stream; None if all are empty so far."""
        found = (newest_before(reader, self._places[name], end) for name, end in ends.items())
        newest = min((each for each in found if each is not None), default=None)
        return None if newest is None else newest.back(lookback)

    def _assign(self, reader: LogReader) -> None:
        """Read each stream from where it continues; from its first record if earlier ones were deleted."""
        starts = {self._places[name]: offset for name, offset in self._merger.next.items()}
        for place, (first, _) in reader.ends(starts).items():
            if starts[place] < first:
                if starts[place]:
                    _LOG.warning(events.MERGED_GAP, topic=place.topic, offset=starts[place])
                starts[place] = first
        reader.assign(starts)

    def _opened(self) -> tuple[LogReader, StreamMerger]:
        return open_worker(self._reader, self.name), self._merger

    def _read_those_behind(self, reader: LogReader) -> None:
        """Read no more of streams with enough waiting."""
        full = {name for name in self._places if self._merger.is_full(name)}
        if full != self._paused:
            reader.pause([self._places[name] for name in full - self._paused])
            reader.resume([self._places[name] for name in self._paused - full])
            self._paused = full

    def _linger(self) -> float:
        return _QUIET_COMMIT_SECONDS if self._merger.output.is_empty else self._options.linger_seconds

    def _commit(self) -> None:
        """Let everything go out in one transaction with the positions."""
        merger, transactor = self._merger, self._transactor
        if transactor is None:
            return
        output = merger.take_output()
        with sequencing(self._packing.topic, self._stream, output, output.traces) as onward:
            messages, packed, too_large = self._packing.pack(output.stretches, merger.ordered, onward)
            merger.count_out(packed)
            messages += self._heartbeats.after(messages, merger, self._clock.monotonic())
            transactor.begin()
            transactor.write(messages)
            letters = [self._letter(each) for each in output.rejected] + [self._too_large(edge.raw) for edge in too_large]
            transactor.write(letters)
            positions = merger.positions()
            transactor.commit(self._id, {self._places[name]: position for name, position in positions.items()})
        self._metrics.committed(output, packed, len(too_large))
        for stretch in output.stretches:
            if stretch.begins:
                _LOG.info(events.EPOCH_BEGUN, stream=self._stream, epoch=stretch.epoch)
        self._timer.stop()

    def _letter(self, rejected: RejectedRecord) -> Message:
        record = rejected.record
        source = Source(record.topic, record.partition, record.offset)
        topic = self._topics.dead_letters(self._stream)
        return letter(topic, rejected.refused, self._clock, source=source, content_type=ARROW_STREAM)

    def _too_large(self, edge: bytes) -> Message:
        reason = f"the edge takes more than the {self._packing.most_bytes} bytes of an ordered record"
        topic = self._topics.dead_letters(self._stream)
        return letter(topic, Refused(ErrorCode.TOO_LARGE, reason, edge), self._clock, content_type=ARROW_STREAM)


def _ends_at_registration(patterns: Iterable[PatternRecord], stream: StreamName) -> Iterator[int]:
    """Yield where a stream ended when patterns were registered that read it, of those whose records say so."""
    for each in patterns:
        if not isinstance(each.source_ends, UnsetType):
            known = zip(each.source_streams, each.source_ends, strict=False)
            yield from (end for name, end in known if name == stream)


def _read_position(position: Position | None) -> tuple[int, MergedPosition] | None:
    return None if position is None else (position.offset, merged_position(position))
