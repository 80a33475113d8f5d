"""The work of one stream's sequencer: raw records in, ordered records and dead letters out, each exactly once.

A round reads, and lets `graphtide_ordering.stream_sequencer` decide (its docstring has the argument). It commits the output
together with the positions once it is large or old enough. A crash forgets all that happens in between.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.merged_streams import part_in, whole_of
from graphtide_core.ports.log import TopicPartition
from graphtide_core.stream_windows import StreamWindows
from graphtide_core.time import TimeUnit
from graphtide_log.committed_offset_check import CommittedOffsetCheck
from graphtide_log.window_log import between_all, last_before
from graphtide_ordering.dead_letters import letter, letter_of, refuse_too_large
from graphtide_ordering.heartbeats import (
    DEFAULT_HEARTBEAT_SECONDS,
    LIVE_HEARTBEAT_SECONDS,
    PART_HEARTBEAT_SECONDS,
    Heartbeats,
    LastRecord,
)
from graphtide_ordering.ordered_records import DEFAULT_MOST_EDGES, Packing
from graphtide_ordering.ordering import Ordering
from graphtide_ordering.positions import read_remembered
from graphtide_ordering.progress_reports import sequencer_of
from graphtide_ordering.raw_groups import AllDividedRecord, RawGroup, group_records
from graphtide_ordering.statements import StatementSurroundings
from graphtide_ordering.stream_sequencer import StreamSequencer
from graphtide_ordering.tracing import sequencing
from graphtide_serving.opened import close_all, open_worker
from graphtide_telemetry import events
from graphtide_wire.verdicts import encode_verdict

from graphtide_ingestion.application.commit_timer import CommitTimer
from graphtide_ingestion.application.recent_output import WentOut, known_duplicates, known_features
from graphtide_ingestion.application.sequencer_metrics import SequencerMetrics
from graphtide_ingestion.application.sequencer_opening import open_sequencer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogReader, LogTransactor, Position
    from graphtide_log.registered_lookbacks import RegisteredLookbacks
    from graphtide_ordering.raw_groups import RawGroups
    from graphtide_wire.ordered import OrderedHeader
    from graphtide_wire.topics import Topics

    from graphtide_ingestion.application.stream_statements import StreamStatements

_LOG = structlog.get_logger()

_QUIET_COMMIT_SECONDS: Final = 1.0
"""How often positions are committed while nothing goes out."""


_MOST_ORDERED_RECORDS: Final = 8
"""Full ordered records of one transaction: it costs the log much more than a record, and readers wait for its end."""

_LONGEST_ROUND_SECONDS: Final = 0.1
"""How long edges may wait for others of their round."""


@dataclass(frozen=True, slots=True)
class Sequencing:
    """How a stream is sequenced.

    Attributes:
        unit: what its times count.
        ordering: how the stream is put in order.
        linger_seconds: how long what is to go out may wait for more; 0 lets every round go out by itself.
        heartbeat_seconds: how long the stream may be quiet before its readers get a heartbeat with a new watermark; less under
            a live clock.
        most_edges: edges of one ordered record.
        most_records: raw records read at once.
        most_raw_bytes: bytes of raw records behind one transaction.
        patterns_seconds: how often to look for changes of patterns.
        poll_seconds: how long a round waits for records at most.
        surroundings: what decoders by statements need.
        retention_ms: how long records of parts of the stream are kept, where they are made; None for ever.
    """

    unit: TimeUnit = TimeUnit.MILLISECOND
    ordering: Ordering = field(default_factory=Ordering)
    linger_seconds: float = 0.02
    heartbeat_seconds: float = DEFAULT_HEARTBEAT_SECONDS
    most_edges: int = DEFAULT_MOST_EDGES
    most_records: int = 500
    most_raw_bytes: int = 16 * 1024 * 1024
    patterns_seconds: float = 1.0
    poll_seconds: float = 0.2
    surroundings: StatementSurroundings = field(default_factory=StatementSurroundings)
    retention_ms: int | None = None


class SequencingWorker:
    """A `Worker`."""

    def __init__(self, log: Log, topics: Topics, stream: StreamName, clock: Clock, options: Sequencing) -> None:
        """Sequence one stream, or a part of one; nothing happens before `open`."""
        self._log = log
        self._topics = topics
        self._stream = stream
        self._whole = whole_of(stream)
        self._clock = clock
        self._options = options
        self._packing = Packing(topics.ordered(stream), options.unit, options.most_edges)
        self._id = sequencer_of(topics, stream)
        self._reader: LogReader | None = None
        self._transactor: LogTransactor | None = None
        self._registered: RegisteredLookbacks | None = None
        self._statements: StreamStatements | None = None
        self._places: dict[int, TopicPartition] = {}
        self._stream_sequencer = StreamSequencer(options.ordering, is_part=part_in(stream) is not None)
        self._ordering = options.ordering
        self._windows = (0, 0)
        self._stream_windows = StreamWindows()
        self._metrics = SequencerMetrics(self._id, stream, options.unit)
        self._heartbeats = Heartbeats(self._packing, options.heartbeat_seconds, None, 0.0)
        self._timer = CommitTimer(clock)
        self._patterns_at = 0.0
        self._divided_at: dict[int, float] = {}
        self._statement_version = self._statement_asked = 0
        self._committed_offset_check = CommittedOffsetCheck(self._id, TopicPartition(self._packing.topic, 0))

    @property
    def name(self) -> str:
        """What logs call it: the transactional id and the group, too."""
        return self._id

    @property
    def sequencer(self) -> StreamSequencer:
        """The sequencer, for its metrics."""
        return self._stream_sequencer

    def open(self) -> None:
        """Shut out the last owner, and continue from what it committed.

        Raises:
            TransientError: a topic is not there, or the log does not answer.
            FatalError: the positions are not a sequencer's, or records that still wait are gone.
        """
        opening = open_sequencer(self._log, self._topics, self._stream, self._id, self._options.surroundings)
        self._transactor, self._reader, self._places = opening.transactor, opening.reader, opening.places
        self._registered, self._statements, reader = opening.registered, opening.statements, opening.reader
        self._windows = self._registered.longest(self._whole, self._options.unit)
        self._stream_sequencer = StreamSequencer(self._options.ordering, is_part=part_in(self._stream) is not None)
        self._ordering, self._statement_version, self._stream_windows = self._options.ordering, 0, StreamWindows()
        self._stream_sequencer.read(self._registered.attributes(self._whole))
        self._stream_sequencer.know(self._statements.versions)
        self._timer.stop()
        self._divided_at = {}
        last = last_before(reader, place := TopicPartition(self._packing.topic, 0), reader.ends([place])[place][1])
        starts, unread = self._restore(reader, self._committed(reader, last, self._transactor))
        reported = None if last is None else LastRecord.by(last)
        now, is_part = self._clock.monotonic(), self._whole != self._stream
        self._heartbeats = Heartbeats(self._packing, self._heartbeat_seconds(), reported, now, before_edges=is_part)
        self._know_duplicates(reader, starts)
        self._stream_sequencer.open(unread, self._clock.monotonic())
        self._use_statement(self._statements)
        self._metrics.follow(self._stream_sequencer)

    def step(self) -> None:
        """Read, decide, and commit if it is time."""
        reader, sequencer = self._opened()
        as_of = self._clock.monotonic()
        records = reader.poll(self._timer.left(self._linger(), self._options.poll_seconds), self._options.most_records)
        self._metrics.polled(records, self._clock.now())
        for group in group_records(records):
            self._know_statement(group)
            sequencer.take(group, self._clock.monotonic())
            self._timer.start()
            if self._is_full() or self._timer.has_run(_LONGEST_ROUND_SECONDS):
                self._commit()
            if isinstance(group, AllDividedRecord):
                self._divided_at[group.partition] = as_of
        # Not now: a commit may have taken long, and what sources sent meanwhile was not read.
        if self._whole == self._stream:
            sequencer.look_around(as_of, at_end=reader.at_end())
        elif len(self._divided_at) == len(self._places):
            sequencer.look_around(min(self._divided_at.values()), at_end=reader.at_end())
        if not self._has_nothing():
            self._timer.start()
        if self._timer.has_run(self._linger()) or self._heartbeats.is_due(sequencer, self._clock.monotonic()):
            self._commit()
        self._follow_patterns(reader)

    def close(self) -> None:
        """Give back what `open` took."""
        close_all([self._reader, self._registered, self._statements, self._transactor])
        self._reader = self._registered = self._statements = self._transactor = None
        self._metrics.close()

    def _restore(
        self, reader: LogReader, committed: Mapping[TopicPartition, Position | None]
    ) -> tuple[dict[TopicPartition, int], set[int]]:
        """Bring the sequencer to the last commit; return where reading continues, and which partitions have more records."""
        starts = dict.fromkeys(self._places.values(), 0)
        for number, place in self._places.items():
            position = committed[place]
            self._stream_sequencer.restore(number, None if position is None else read_remembered(position))
        waited = {place: position.offset for place, position in committed.items() if position is not None}
        starts |= {place: read_remembered(position).next for place, position in committed.items() if position is not None}
        for record in between_all(reader, {place: (start, starts[place]) for place, start in waited.items()}):
            self._stream_sequencer.replay(record)
        ends = reader.ends(starts)
        return starts, {place.partition for place, start in starts.items() if max(start, ends[place][0]) < ends[place][1]}

    def _committed(
        self, reader: LogReader, last: OrderedHeader | None, transactor: LogTransactor
    ) -> Mapping[TopicPartition, Position | None]:
        """Return the positions, unless they say less than the ordered stream, which is committed with them.

        Raises:
            TransientError: they do: edges would go out again.
        """
        went_out = 0 if last is None else last.ordinal + last.records

        def contradiction(positions: Mapping[TopicPartition, Position | None]) -> str | None:
            known = max((read_remembered(each).ordered for each in positions.values() if each is not None), default=0)
            if went_out <= known:
                return None
            return f"knows of {known} edges that went out, and {self._packing.topic} has {went_out}"

        return self._committed_offset_check.settled(reader, list(self._places.values()), contradiction, transactor)

    def _know_duplicates(self, reader: LogReader, starts: dict[TopicPartition, int]) -> None:
        known = known_duplicates(reader, self._went_out(), self._windows)
        self._stream_sequencer.filter_with(known, *self._windows)
        reader.assign(starts)

    def _went_out(self) -> WentOut:
        return WentOut(TopicPartition(self._packing.topic, 0), self._stream_sequencer.ordered, self._stream_sequencer.epoch)

    def _opened(self) -> tuple[LogReader, StreamSequencer]:
        return open_worker(self._reader, self.name), self._stream_sequencer

    def _linger(self) -> float:
        return _QUIET_COMMIT_SECONDS if self._has_nothing() else self._options.linger_seconds

    def _has_nothing(self) -> bool:
        """Whether nobody waits for a commit."""
        return self._stream_sequencer.output.is_empty and not self._stream_sequencer.verdicts.are_ready

    def _is_full(self) -> bool:
        output = self._stream_sequencer.output
        most_edges = self._options.most_edges * _MOST_ORDERED_RECORDS
        return output.edges >= most_edges or output.raw_bytes >= self._options.most_raw_bytes

    def _commit(self) -> None:
        """Let everything go out in one transaction with the positions."""
        sequencer, transactor = self._stream_sequencer, self._transactor
        if transactor is None:
            return
        output = sequencer.take_output()
        with sequencing(self._topics.raw(self._stream), self._stream, output, sequencer.traces) as onward:
            messages, packed, too_large = self._packing.pack(output.stretches, sequencer.ordered, onward)
            sequencer.count_out(packed)
            messages += self._heartbeats.after(messages, sequencer, self._clock.monotonic())
            transactor.begin()
            transactor.write(messages)
            refused = [refuse_too_large(each, self._packing.most_bytes) for each in too_large]
            for edge, reason in zip(too_large, refused, strict=True):
                sequencer.take_back(edge, reason)
            topic = self._topics.dead_letters(self._stream)
            transactor.write(letter_of(topic, each, self._clock) for each in output.rejected)
            transactor.write(letter(topic, each, self._clock) for each in (*output.repeated, *refused))
            transactor.write(encode_verdict(self._topics.verdicts, each) for each in sequencer.verdicts.take())
            transactor.commit(self._id, sequencer.positions(self._places))
        sequencer.traces.forget(sequencer.watermark)
        self._metrics.committed(sequencer, output, packed, len(too_large))
        for stretch in output.stretches:
            if stretch.begins:
                _LOG.info(events.EPOCH_BEGUN, stream=self._stream, epoch=stretch.epoch)
        self._timer.stop()

    def _know_statement(self, group: RawGroups) -> None:
        """Look for the statement that the sender of records knew before they are read; once, should there be none such."""
        if not isinstance(group, RawGroup) or self._statements is None:
            return
        if group.statement > max(self._statement_version, self._statement_asked):
            self._statement_asked = group.statement
            self._statements.poll()
            self._use_statement(self._statements)

    def _use_statement(self, statements: StreamStatements) -> None:
        """Read by the last statement, and order as it says; what waits is ordered so, too, but stays as it was read."""
        statement, sequencer = statements.last, self._stream_sequencer
        if statement is not None and sequencer.use(statement) and statement.version != self._statement_version:
            self._statement_version = statement.version
            self._ordering = statement.ordering(self._options.ordering, self._options.unit)
            self._use_windows(statement.windows)
            sequencer.adopt(self._ordering)
            self._heartbeats.seconds = self._heartbeat_seconds()
            _LOG.info(events.STATEMENT_USED, stream=self._stream, version=statement.version)

    def _use_windows(self, windows: StreamWindows) -> None:
        """Count what the statement says from now on, from what went out in its windows; between two transactions."""
        if windows == self._stream_windows:
            return
        if self._timer.runs:
            self._commit()
        # The sequencer's own reader may be in the middle of what it polled.
        with closing(self._log.reader(None)) as reader:
            known = known_features(reader, self._went_out(), windows, self._options.unit)
        self._stream_sequencer.add_features(known)
        self._stream_windows = windows

    def _heartbeat_seconds(self) -> float:
        """Return how long the stream may be quiet: under a live clock, what waits for a bound is emitted within a second.

        A part may be quiet for less, as those that are merged with it wait.
        """
        seconds = self._options.heartbeat_seconds
        if self._whole != self._stream:
            return min(seconds, PART_HEARTBEAT_SECONDS)
        return min(seconds, LIVE_HEARTBEAT_SECONDS) if self._ordering.live else seconds

    def _follow_patterns(self, reader: LogReader) -> None:
        """Keep what patterns read, and read by the last statement of the stream.

        Where patterns ask for it, remember ids for another time, between two transactions.
        """
        now = self._clock.monotonic()
        if self._registered is None or self._statements is None or now < self._patterns_at:
            return
        self._patterns_at = now + self._options.patterns_seconds
        self._statements.poll()
        self._use_statement(self._statements)
        self._registered.poll()
        self._stream_sequencer.read(self._registered.attributes(self._whole))
        longest = self._registered.longest(self._whole, self._options.unit)
        if longest == self._windows:
            return
        if self._timer.runs:
            self._commit()
        self._windows = ticks, edges = longest
        _LOG.info(events.SEQUENCER_WINDOW_CHANGED, stream=self._stream, ticks=ticks, window_edges=edges)
        self._know_duplicates(reader, {self._places[number]: offset for number, offset in self._stream_sequencer.next.items()})
