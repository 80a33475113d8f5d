"""The work of a divider: records of a raw partition in, raw records of the parts and dead letters out, each exactly once.

A round reads, and lets `graphtide_ordering.stream_divider` decide. It commits the output together with the positions once it is
large or old enough. A crash forgets all that happens in between. No edge waits here, so reading continues at the position.

Each raw partition of a divided stream has a divider, so they divide side by side. A stream that is divided for the first time
continues where its sequencer was, so edges that waited there go to the parts. The sequencer writes to no part, so it matters to
none when it ends.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.merged_streams import parts_of
from graphtide_core.ports.log import TopicPartition
from graphtide_log.committed_offset_check import CommittedOffsetCheck
from graphtide_ordering.dead_letters import letter_of
from graphtide_ordering.positions import PartitionPosition, read_remembered
from graphtide_ordering.progress_reports import divider_of, dividers_of, sequencer_of
from graphtide_ordering.raw_groups import RawGroup, group_records
from graphtide_ordering.stream_divider import StreamDivider
from graphtide_ordering.stream_progress import Counted, FirstRejected, StreamProgress
from graphtide_ordering.stream_sequencer import ORDINALS_OF_A_PARTITION
from graphtide_serving.opened import close_all, open_worker
from graphtide_telemetry import events
from graphtide_wire.dead_letters import ErrorCode
from msgspec.structs import replace

from graphtide_ingestion.application.commit_timer import CommitTimer
from graphtide_ingestion.application.divider_metrics import DividerMetrics
from graphtide_ingestion.application.sequencer_opening import open_sequencer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogReader, LogTransactor
    from graphtide_log.registered_lookbacks import RegisteredLookbacks
    from graphtide_ordering.division import Division
    from graphtide_ordering.raw_groups import RawGroups
    from graphtide_ordering.stream_divider import DividedRecords
    from graphtide_wire.topics import Topics

    from graphtide_ingestion.application.sequencing_worker import Sequencing
    from graphtide_ingestion.application.stream_statements import StreamStatements

_LOG = structlog.get_logger()

_MOST_MESSAGES: Final = 4_096
"""Raw records of parts in one transaction, about."""

_ALL_DIVIDED_SECONDS: Final = (0.5, 5.0)
"""How often parts hear that all is divided: a quarter of the time after which a sender is idle, within these bounds."""

_LONGEST_ROUND_SECONDS: Final = 0.1
"""How long edges may wait for others of their round."""


class DividingWorker:
    """A `Worker`."""

    def __init__(
        self, log: Log, topics: Topics, division: Division, clock: Clock, options: Sequencing, *, partition: int
    ) -> None:
        """Divide a raw partition of a stream; nothing happens before `open`."""
        stream = division.stream
        self._partition = partition
        self._log = log
        self._topics = topics
        self._stream = stream
        self._division = division
        self._clock = clock
        self._options = options
        self._id, self._group = divider_of(topics, stream, partition), dividers_of(topics, stream)
        self._reader: LogReader | None = None
        self._transactor: LogTransactor | None = None
        self._registered: RegisteredLookbacks | None = None
        self._statements: StreamStatements | None = None
        self._divider = StreamDivider(topics, division, options.ordering.ahead)
        self._place = TopicPartition(topics.raw(stream), partition)
        self._position = PartitionPosition()
        self._progress = StreamProgress()
        self._metrics = DividerMetrics(self._id, stream)
        self._timer = CommitTimer(clock)
        self._patterns_at = self._said_at = 0.0
        self._statement_asked = 0
        self._committed_offset_check = CommittedOffsetCheck(self._group, TopicPartition(topics.ordered(stream), 0))

    @property
    def name(self) -> str:
        """What logs call it: the transactional id, too."""
        return self._id

    def open(self) -> None:
        """Shut out the last owner, make the topics of the parts, and continue from what was committed.

        Raises:
            TransientError: a topic is not there, or the log does not answer.
            FatalError: the positions are not a divider's or a sequencer's.
        """
        opening = open_sequencer(self._log, self._topics, self._stream, self._id, self._options.surroundings, group=self._group)
        self._transactor, self._reader = opening.transactor, opening.reader
        self._registered, self._statements = opening.registered, opening.statements
        partitions, retention_ms = len(opening.places), self._options.retention_ms
        for part in parts_of(self._stream, self._division.parts):
            self._log.admin().ensure(self._topics.of_stream(part, partitions=partitions, retention_ms=retention_ms))
        self._divider = StreamDivider(self._topics, self._division, self._options.ordering.ahead)
        self._divider.read(self._attributes(self._registered, self._statements))
        self._statement_asked = 0
        self._timer.stop()
        self._said_at = 0.0
        self._restore(self._reader)
        self._metrics.follow()

    def step(self) -> None:
        """Read, divide, and commit if it is time."""
        reader = open_worker(self._reader, self.name)
        options = self._options
        records = reader.poll(self._timer.left(options.linger_seconds, options.poll_seconds), options.most_records)
        self._metrics.polled(records, self._clock.now())
        for group in group_records(records):
            self._take(group)
            self._timer.start()
            if self._is_full() or self._timer.has_run(_LONGEST_ROUND_SECONDS):
                self._commit()
        if reader.at_end():
            self._say_all_divided()
        if self._timer.has_run(options.linger_seconds):
            self._commit()
        self._follow_patterns()

    def close(self) -> None:
        """Give back what `open` took."""
        close_all([self._reader, self._registered, self._statements, self._transactor])
        self._reader = self._registered = self._statements = self._transactor = None
        self._metrics.close()

    def _restore(self, reader: LogReader) -> None:
        """Continue from the last commit; before the first one, where the sequencer of the undivided stream was."""
        transactor = open_worker(self._transactor, self.name)
        position = self._committed_offset_check.settled(reader, [self._place], lambda _: None, transactor)[self._place]
        self._progress = StreamProgress()
        if position is not None:
            self._progress = read_remembered(position).stream_progress
        else:
            with closing(self._log.reader(sequencer_of(self._topics, self._stream))) as sequencer:
                position = sequencer.committed([self._place])[self._place]
        ordinal = self._partition * ORDINALS_OF_A_PARTITION if position is None else read_remembered(position).ordinal
        self._position = PartitionPosition(0 if position is None else position.offset, ordinal)
        reader.assign({self._place: self._position.next})

    def _take(self, group: RawGroups) -> None:
        statements = open_worker(self._statements, self.name)
        if isinstance(group, RawGroup):
            known = 0 if statements.last is None else statements.last.version
            if group.statement > max(known, self._statement_asked):
                self._statement_asked = group.statement
                statements.poll()
        statement = statements.last
        reading = None if statement is None or statement.is_removed else statement
        for piece in self._divider.take(group, self._position.ordinal, reading):
            self._position.read(piece.record.offset, piece.ordinals, None)

    def _say_all_divided(self) -> None:
        """Say to the parts now and then that all is divided: often under a live clock, as their time goes on by it."""
        now, ordering = self._clock.monotonic(), self._options.ordering
        statement = None if self._statements is None else self._statements.last
        if statement is not None:
            ordering = statement.ordering(ordering, self._options.unit)
        often, seldom = _ALL_DIVIDED_SECONDS
        if now - self._said_at < (often if ordering.live else min(max(often, ordering.idle_seconds / 4), seldom)):
            return
        self._said_at = now
        self._divider.say_all_divided(self._partition)
        self._timer.start()

    def _is_full(self) -> bool:
        divided = self._divider.divided
        return len(divided.messages) >= _MOST_MESSAGES or divided.raw_bytes >= self._options.most_raw_bytes

    def _commit(self) -> None:
        """Let everything go out in one transaction with the positions."""
        transactor = open_worker(self._transactor, self.name)
        divided = self._divider.take_divided()
        self._count(divided)
        topic = self._topics.dead_letters(self._stream)
        transactor.begin()
        transactor.write(divided.messages)
        transactor.write(letter_of(topic, each, self._clock) for each in divided.rejected)
        transactor.commit(self._group, {self._place: self._position.position(self._progress, 0, 0, {})})
        self._metrics.committed(divided)
        self._timer.stop()

    def _count(self, divided: DividedRecords) -> None:
        codes = [each.refused.code for each in divided.rejected]
        future = codes.count(ErrorCode.FUTURE)
        unusable = len(codes) - future + divided.refused_before
        more = Counted(divided.read, future=future, rejected=unusable, filtered=divided.filtered)
        progress, first = self._progress, self._progress.first
        if divided.rejected and first is None:
            first = FirstRejected.of(divided.rejected[0].refused, divided.rejected[0].piece.record)
        self._progress = replace(
            progress, counted=progress.counted.plus(more), recent=progress.recent.recently(more), first=first
        )

    def _follow_patterns(self) -> None:
        """Keep what patterns read, and read by the last statement of the stream."""
        now = self._clock.monotonic()
        if self._registered is None or self._statements is None or now < self._patterns_at:
            return
        self._patterns_at = now + self._options.patterns_seconds
        before = self._statements.last
        self._statements.poll()
        if self._statements.last is not None and self._statements.last is not before:
            _LOG.info(events.STATEMENT_USED, stream=self._stream, version=self._statements.last.version)
        self._registered.poll()
        self._divider.read(self._attributes(self._registered, self._statements))

    def _attributes(self, registered: RegisteredLookbacks, statements: StreamStatements) -> Iterator[str]:
        """Yield what patterns read of the stream, and what its features and EMIT read."""
        yield from registered.attributes(self._stream)
        if statements.last is not None:
            yield from statements.last.windows.inputs
