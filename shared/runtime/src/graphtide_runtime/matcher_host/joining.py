"""Plans on their way into a pass: a small pass of their own reads their reach of the log, up to where the other stands.

What it selects on the way is the plans' past, which the other pass takes with them; what it finds on the way is what the plans
have to report from before. The other pass does nothing meanwhile.
Cost: that of the log's records in the reach of the plans; memory for the edges of their window.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import structlog
from graphtide_core.errors import PoisonRecordError, UnreadableStreamError
from graphtide_wire import ordered

from graphtide_runtime.matcher_host.stream_pass import StreamPass
from graphtide_runtime.telemetry import events
from graphtide_runtime.window_log import between, first_since, newest_before

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.ports.log import LogReader, Record, TopicPartition
    from graphtide_native.matcher import MatchRecord
    from graphtide_native.records import EdgeBatch
    from graphtide_wire.ordered import OrderedFigures

    from graphtide_runtime.matcher_host.assignment import Running

_LOG = structlog.get_logger()


class Missed(NamedTuple):
    """Matches that are to be reported later than when the record that completed them was taken; what its headers say."""

    record: Record
    figures: OrderedFigures
    matches: list[MatchRecord]


class Reach(NamedTuple):
    """Where the log is to be read from so that plans have their state, and the epoch of the stream there."""

    start: int
    epoch: int


def reach(running: Sequence[Running], window: int, reader: LogReader, partition: TopicPartition, position: int) -> Reach:
    """Return where the window begins that ends with the earliest report of plans that are to stand at a position.

    Raises:
        TransientError: the log does not answer.
    """
    first_report = min(position, *(each.reports_from for each in running))
    newest = newest_before(reader, partition, first_report)
    if newest is None:
        return Reach(first_report, 0)
    return Reach(first_since(reader, partition, newest.back(window), first_report), newest.epoch)


class Joining:
    """Plans on their way into a pass."""

    def __init__(self, running: Sequence[Running], into: StreamPass, reader: LogReader, partition: TopicPartition) -> None:
        """Prepare; the reader is used by nobody else meanwhile."""
        self._running = running
        self._into = into
        self._reader = reader
        self._partition = partition
        self._selected: deque[tuple[int, EdgeBatch]] = deque()
        self._begin(0)

    def join(self) -> list[Missed] | None:
        """Let the plans join the pass; return what they have to report from before, None if they cannot join.

        They cannot where the pass does not stand in the epoch of the log.

        Raises:
            DeletionsBeganError: the stream deletes edges, and the pass was made for one that does not.
            TransientError: the log does not answer.
        """
        position = self._into.position
        start, epoch = reach(self._running, self._pass.window, self._reader, self._partition, position)
        self._pass.epoch, self._pass.position = epoch, start
        missed = []
        for record in between(self._reader, self._partition, start, position):
            try:
                # What was put aside for its headers when it came is not taken when it is read again.
                figures = ordered.figures(record.headers)
                matches = self._take(record, figures.epoch)
                missed += [Missed(record, figures, matches)] if matches else []
            except (UnreadableStreamError, PoisonRecordError) as error:
                _LOG.warning(events.ORDERED_UNREADABLE, error=str(error), topic=record.topic, offset=record.offset)
        self._pass.position = position
        if not self._into.takes_batches_of(self._pass):
            return None
        self._into.join(self._pass, self._selected)
        return missed

    def _begin(self, epoch: int) -> None:
        self._pass = StreamPass(self._running, deletions=self._into.deletions, beside=self._into)
        self._pass.epoch = epoch
        self._selected.clear()

    def _take(self, record: Record, epoch: int) -> list[MatchRecord]:
        batch = self._pass.decode(record)
        if epoch != self._pass.epoch:
            self._begin(epoch)
        self._selected.append((record.offset, self._pass.select(batch)))
        matches = [match for part in self._pass.push(batch, record.offset) for match in part]
        while (newest := self._selected[0][1].last_ts) is None or newest < self._pass.alive_from:
            self._selected.popleft()
            if not self._selected:
                break
        return matches
