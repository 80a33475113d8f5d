"""One stream, counted over a window that ends at its newest edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.predicate import RECORD_FIELDS
from graphtide_core.statistics import drift
from graphtide_native.records import ArrowDecoder, Symbols, ticks_per_second
from graphtide_native.statistics import StreamStatistics
from graphtide_wire.ordered import MARKS
from graphtide_wire.statistics import StatisticsRecord

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import TimeUnit


_NO_ATTRIBUTES: Final = RECORD_FIELDS | MARKS | {"op"}
"""Columns of ordered edges that are not attributes."""

_MOST_CHARACTERS: Final = 64 * 1024
"""The most attribute names in a snapshot: a stream may have a thousand."""


def _labels(before: StatisticsRecord | None, snapshot: StatisticsSnapshot) -> tuple[str, ...]:
    """Return all labels that snapshots had, so that one is known however rare it is; what is past the bound is left out."""
    seen = dict.fromkeys(before.labels if before is not None else ())
    for kind in snapshot.types:
        seen |= dict.fromkeys(each for each in (kind.label, kind.source_label, kind.target_label) if each)
    kept, characters = [], 0
    for label in seen:
        characters += len(label)
        if characters > _MOST_CHARACTERS:
            break
        kept.append(label)
    return tuple(kept)


class DeletionsBeganError(Exception):
    """The stream deletes edges, and the ids of those before were not kept; nothing of the record was counted."""


class Counting:
    """Counts ordered edges, and measures how far the stream has moved since its last publication."""

    def __init__(self, stream: StreamName, ticks: int, unit: TimeUnit, *, epoch: int = 0, deletions: bool = False) -> None:
        """Start with nothing seen.

        Args:
            stream: its name.
            ticks: length of the window.
            unit: what a tick is.
            epoch: of the stream: edges of another are not counted.
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
        self._attributes: dict[str, int] = {}
        """Attributes by the time of the last record that had them."""
        self._newest = 0

    def anew(self, epoch: int) -> Counting:
        """Return the same counter for another epoch, with nothing seen."""
        return Counting(self.stream, self.ticks, self.unit, epoch=epoch, deletions=self._deletions)

    def take(self, body: bytes, last_ts: int) -> None:
        """Count the edges of an ordered record; the last one has this time.

        Raises:
            UnreadableStreamError: it is not what an ordered record must be.
            DeletionsBeganError: see there.
        """
        batch = self._decoder.decode(body)
        if self._decoder.has_operations() and not self._deletions:
            raise DeletionsBeganError
        self._statistics.push(batch)
        self._is_changed = self._is_changed or len(batch) > 0
        if len(batch):
            self._newest = last_ts
            self._attributes |= dict.fromkeys(set(self._decoder.columns() or ()) - _NO_ATTRIBUTES, last_ts)

    def publish(self, before: StatisticsRecord | None) -> StatisticsRecord | None:
        """Return what to publish after `before`; None if nothing was counted since the last call."""
        if not self._is_changed:
            return None
        self._is_changed = False
        snapshot = self._statistics.snapshot()
        change = drift(before.snapshot, snapshot) if before is not None else None
        number = before.snapshot_version + 1 if before is not None else 1
        drifted = max(change.order, change.path_order) if change is not None else None
        labels = _labels(before, snapshot)
        return StatisticsRecord(self.stream, number, snapshot, drifted, self._attributes_of_window(), labels)

    def _attributes_of_window(self) -> tuple[str, ...] | None:
        """Return the attributes that edges of the window had, to the record; None if they are too many to be published."""
        self._attributes = {name: ts for name, ts in self._attributes.items() if self._newest - ts < self.ticks}
        if sum(len(name) for name in self._attributes) > _MOST_CHARACTERS:
            return None
        return tuple(sorted(self._attributes))
