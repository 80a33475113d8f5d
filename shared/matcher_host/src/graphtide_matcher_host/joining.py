"""Add plans to a pass: a small pass of their own reads their lookback from the log, up to the other's position.

Where the plans come from another host, the small pass takes what that host's checkpoint has of it, and reads the rest alone.
What it selects is the plans' past, and the other pass takes that with the plans. What it finds is what the plans have to report
from before. It runs for a while at a time, and the other pass runs in between. Where both are at one place, plans join one by
one.
Cost: that of the log's records in the plans' lookback, or of the checkpoint's edges; memory for the edges of their window.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

import structlog
from graphtide_core.errors import PoisonRecordError, TransientError, UnreadableStreamError
from graphtide_core.time import MIN_EVENT_TIME
from graphtide_log.window_log import Instant, first_since, last_before, last_numbered, newest_before
from graphtide_telemetry import events
from graphtide_telemetry.health import beat
from graphtide_wire import ordered

from graphtide_matcher_host.handover import Handover
from graphtide_matcher_host.landmarks import Landmarks, ReplayStart
from graphtide_matcher_host.stream_pass import StreamPass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.ids import PatternName
    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_core.ports.log import LogReader, Record, TopicPartition
    from graphtide_native.match_batch import EncodedMatch
    from graphtide_native.records import EdgeBatch
    from graphtide_wire.ordered import OrderedHeader

    from graphtide_matcher_host.assignment import Running

_LOG = structlog.get_logger()

MOST_RECORDS: Final = 16
"""Records of their past that plans take at once."""

_PATIENCE: Final = 10.0
"""Seconds within which the log has to give records, or say that there are none."""


class Missed(NamedTuple):
    """Matches that are reported later than their record was taken, with the header of that record."""

    record: Record
    header: OrderedHeader
    matches: list[EncodedMatch]


def replay_start(
    running: Sequence[Running],
    position: int,
    *,
    reader: LogReader,
    partition: TopicPartition,
    landmarks: Landmarks | None = None,
) -> ReplayStart:
    """Return where the windows begin that end with the earliest report of plans, for a pass at a position.

    Complexity: O(log(records)) reads of the log, unless a landmark is known and no window counts edges.

    Raises:
        TransientError: the log does not answer.
    """
    first_report = min(position, *(each.reports_from for each in running))
    window = max(each.assignment.window for each in running)
    edges = max(each.assignment.edges for each in running)
    if edges:
        last = last_before(reader, partition, first_report)
        if last is None:
            return ReplayStart(first_report, 0)
        since = first_since(reader, partition, Instant(last.epoch, last.last_ts).back(window), first_report)
        begun = first_since(reader, partition, Instant(last.epoch, MIN_EVENT_TIME), first_report)
        counted = last_numbered(reader, partition, (last.number or 0) - edges, begun, first_report)
        return ReplayStart(min(since, counted), last.epoch)
    if landmarks is not None and (known := landmarks.replay_start(first_report, window)) is not None:
        # Records may be gone since it was noted.
        return ReplayStart(max(known.start, reader.ends([partition])[partition][0]), known.epoch)
    newest = newest_before(reader, partition, first_report)
    if newest is None:
        return ReplayStart(first_report, 0)
    return ReplayStart(first_since(reader, partition, newest.back(window), first_report), newest.epoch)


class Joining:
    """Plans that join a pass.

    Attributes:
        into: the pass.
    """

    def __init__(
        self,
        running: Sequence[Running],
        into: StreamPass,
        reader: LogReader,
        partition: TopicPartition,
        *,
        landmarks: Landmarks,
        checkpoints: CheckpointStore,
    ) -> None:
        """Begin with the first of some plans, and those that come from the same host and that its checkpoint serves likewise.

        The reader must not be used elsewhere until it is given back.

        Raises:
            TransientError: the log does not answer.
        """
        self.into = into
        some = [each for each in running if each.assignment.came_from == running[0].assignment.came_from]
        now = None if into.newest is None else Instant(into.epoch, into.newest)
        self._handover = Handover.found(checkpoints, some, now)
        some = some if self._handover is None else list(self._handover.running)
        self._running = {each.assignment.name: each for each in some}
        self._edges = max(each.assignment.edges for each in some)
        self._reader = reader
        self._partition = partition
        self._landmarks = landmarks
        self._selected: deque[tuple[int, EdgeBatch]] = deque()
        self._missed: list[Missed] = []
        self._ahead: deque[Record] = deque()
        self._waited = 0.0
        if self._handover is None:
            self._begin_in_log()
        else:
            self._begin(self._handover.contents.manifest.epoch)

    @property
    def running(self) -> Sequence[Running]:
        """The plans that have not joined yet."""
        return list(self._running.values())

    def withdraw(self, name: PatternName) -> None:
        """Drop a plan, if it is one of these."""
        if self._running.pop(name, None) is not None and self._running:
            self._pass.remove(name)

    def is_beside(self, other: StreamPass) -> bool:
        """Whether it still runs beside this pass, and with its attributes."""
        own, others = self._pass.coverage.attributes, other.coverage.attributes
        return self.into is other and own[: len(others)] == others

    def follow(self, seconds: float) -> bool:
        """Run for a while, with some records at least; say whether it is where the other pass is.

        Raises:
            DeletionsBeganError: the stream deletes edges, and the pass was made for one that does not.
            TransientError: the log does not answer.
        """
        begun = time.monotonic()
        end, target, has_all, is_over = begun + seconds, self.into.position, False, False
        if self._handover is not None and not self._take_over(self._handover, end):
            return False
        while True:
            while self._ahead and self._ahead[0].offset < target:
                if is_over:
                    return False
                self._take(self._ahead.popleft())
                is_over = time.monotonic() >= end
            if self._ahead or has_all or self._pass.position >= target:
                self._pass.position = target
                return True
            if is_over:
                return False
            begun = time.monotonic()
            self._ahead.extend(self._reader.poll(max(0, end - begun), MOST_RECORDS))
            beat()
            # An end that was found before the other pass continued says nothing of what it took since.
            ended_at = self._reader.ended_at(self._partition)
            has_all = ended_at is not None and ended_at >= target
            self._waited = 0 if self._ahead or has_all else self._waited + time.monotonic() - begun
            # What was read is taken as far as time allows, one record at least.
            is_over = not self._ahead and time.monotonic() >= end
            if self._waited > _PATIENCE:
                message = f"{self._partition.topic} gave nothing within {_PATIENCE:g} seconds"
                raise TransientError(message)

    def join(self, seconds: float) -> tuple[list[Running], list[Missed]] | None:
        """Let plans join, one at least, and no more after so many seconds; both passes are at one position.

        Returns:
            The plans, and what they have to report from before; None if none can join: the pass is not of the log's epoch.
        """
        if not self.into.takes_batches_of(self._pass):
            return None
        end = time.monotonic() + seconds
        joined: list[Running] = []
        while self._running and (not joined or time.monotonic() < end):
            name, plan = next(iter(self._running.items()))
            self.into.join(self._pass, plan, self._selected)
            self.withdraw(name)
            joined.append(plan)
        return joined, self._of({plan.assignment.name for plan in joined})

    def give_back(self) -> None:
        """Stop reading."""
        self._reader.assign({})

    def _begin(self, epoch: int) -> None:
        self._pass = StreamPass(self.running, deletions=self.into.deletions, beside=self.into)
        self._pass.epoch = epoch
        self._selected.clear()

    def _begin_in_log(self) -> None:
        start, epoch = replay_start(
            self.running,
            self.into.position,
            reader=self._reader,
            partition=self._partition,
            landmarks=self._landmarks,
        )
        self._begin(epoch)
        self._pass.position = start
        self._reader.assign({self._partition: start})

    def _take_over(self, handover: Handover, end: float) -> bool:
        """Take handed-over edges up to a time, at least some; return whether the log has to give the rest."""
        while (taken := handover.give(self._pass, self.into.position)) is not None:
            self._selected.append((taken.first, taken.edges))
            self._expire()
            beat()
            if time.monotonic() >= end:
                return False
        self._handover = None
        if handover.position is None:
            self._begin_in_log()
        else:
            self._reader.assign({self._partition: handover.position})
        return True

    def _take(self, record: Record) -> None:
        """Take the next record. One that was rejected for its headers or edges is not taken when it is read again."""
        try:
            header = ordered.header(record.headers)
            batch = self._pass.decode(record)
            if header.epoch != self._pass.epoch:
                self._begin(header.epoch)
                batch = self._pass.decode(record)
            matches = [match for part in self._pass.push(batch, record.offset, header) for match in part]
            self._selected.append((record.offset, self._pass.selected(batch)))
        except (UnreadableStreamError, PoisonRecordError) as error:
            _LOG.warning(events.ORDERED_UNREADABLE, error=str(error), topic=record.topic, offset=record.offset)
            return
        finally:
            self._pass.position = record.offset + 1
        if matches:
            self._missed.append(Missed(record, header, matches))
        self._expire()

    def _expire(self) -> None:
        while self._selected and self._is_past(self._selected[0][1]):
            self._selected.popleft()

    def _is_past(self, selected: EdgeBatch) -> bool:
        """Whether all its edges have left the windows of the plans."""
        if not len(selected):
            return True
        is_counted = self._edges > 0 and (self._pass.number or 0) - selected.ordinals[-1] <= self._edges
        return not is_counted and (selected.last_ts or 0) < self._pass.alive_from

    def _of(self, names: set[PatternName]) -> list[Missed]:
        """Move the matches that patterns have to report out of the found ones."""
        found: list[Missed] = []
        rest: list[Missed] = []
        for missed in self._missed:
            for those, into in (
                ([match for match in missed.matches if match.pattern.name in names], found),
                ([match for match in missed.matches if match.pattern.name not in names], rest),
            ):
                if those:
                    into.append(missed._replace(matches=those))
        self._missed = rest
        return found
