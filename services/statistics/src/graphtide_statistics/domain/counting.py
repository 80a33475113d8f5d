"""One stream, counted over a window that ends at its newest edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.statistics import drift
from graphtide_native.records import ArrowDecoder, Symbols, ticks_per_second
from graphtide_native.statistics import StreamStatistics
from graphtide_wire.statistics import StatisticsRecord

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.time import TimeUnit


class DeletionsBeganError(Exception):
    """The stream deletes edges, and the ids of those before were not kept; nothing of the record was counted."""


class Counting:
    """Counts ordered edges, and tells how far the stream has moved since it was published last."""

    def __init__(self, stream: StreamName, ticks: int, unit: TimeUnit, *, epoch: int = 0, deletions: bool = False) -> None:
        """Start with nothing seen.

        Args:
            stream: its name.
            ticks: length of the window.
            unit: what a tick is.
            epoch: of the stream: edges of another have no part in the figures.
            deletions: whether the stream deletes edges; if not, no ids are kept.
        """
        self.stream = stream
        self.ticks = ticks
        self.unit = unit
        self.epoch = epoch
        self._deletions = deletions
        self._is_changed = False
        symbols = Symbols()
        self._decoder = ArrowDecoder(symbols, [], {}, ticks_per_second(unit))
        self._statistics = StreamStatistics(symbols, ticks, deletions=deletions)

    def anew(self, epoch: int) -> Counting:
        """Return who counts alike in another epoch, with nothing seen."""
        return Counting(self.stream, self.ticks, self.unit, epoch=epoch, deletions=self._deletions)

    def take(self, body: bytes) -> None:
        """Count the edges of an ordered record.

        Raises:
            UnreadableStreamError: it is not what an ordered record must be.
            DeletionsBeganError: see there.
        """
        batch = self._decoder.decode(body)
        if self._decoder.has_operations() and not self._deletions:
            raise DeletionsBeganError
        self._statistics.push(batch)
        self._is_changed = self._is_changed or len(batch) > 0

    def publish(self, before: StatisticsRecord | None) -> StatisticsRecord | None:
        """Return what to publish after `before`; None if nothing was counted since the last call."""
        if not self._is_changed:
            return None
        self._is_changed = False
        snapshot = self._statistics.snapshot()
        change = drift(before.snapshot, snapshot) if before is not None else None
        number = before.snapshot_version + 1 if before is not None else 1
        return StatisticsRecord(
            self.stream, number, snapshot, max(change.order, change.path_order) if change is not None else None
        )
