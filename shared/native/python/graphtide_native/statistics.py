"""Running statistics of a stream, kept by the extension and handed out as snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.statistics import DegreeMoments, EdgeType, PathCounts, StatisticsSnapshot, TimeRange
from graphtide_core.time import MAX_EVENT_TIME, EventTime

from graphtide_native import _native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_native._native import _StatisticsRow
    from graphtide_native.records import EdgeBatch, Symbols

_MOST_TICKS = 2**63 - 1


class StreamStatistics:
    """Counts edge types, 2-edge paths and degrees over a window of one stream.

    After every record the statistics are exactly those of the window's edges, whatever expired or was deleted.
    Memory: O(window). Cost: O(1) a record, with paths O(kinds of edge ends at its two vertices).

    Batches come in the order of time, as `Sequencer` gives them. A record that does not counts as if it came at the time of the
    newest before it. Duplicates are dropped by `Duplicates` before; here an id given twice names its last edge. Not safe for
    use by several threads at once; the interpreter lock is released while it works.
    """

    def __init__(
        self,
        symbols: Symbols,
        window_ticks: int | None = None,
        *,
        tumbling: bool = False,
        paths: bool = True,
        deletions: bool = False,
    ) -> None:
        """Start with nothing seen.

        Args:
            symbols: the table of labels that the batches are decoded with.
            window_ticks: length of the window; None for all since the start, in memory that grows with its vertices.
            tumbling: whether windows stand side by side, at multiples of their length; else the one window ends at the newest
                record and slides with it.
            paths: whether 2-edge paths are counted.
            deletions: whether the stream may delete edges by id; if not, no ids are kept and deletions do nothing.

        Raises:
            ValueError: the window is shorter than a tick, or tumbling without a length.
        """
        if window_ticks is not None and window_ticks < 1:
            message = "a window is at least one tick long"
            raise ValueError(message)
        if tumbling and window_ticks is None:
            message = "a tumbling window needs a length"
            raise ValueError(message)
        length = None if window_ticks is None else min(window_ticks, _MOST_TICKS)
        self._length = length
        self._tumbling = tumbling
        self._version = 0
        self._native = _native.Statistics(symbols, length, tumbling, paths, deletions)

    def push(
        self, batch: EdgeBatch, classes: Sequence[int] | None = None, *, most: int | None = None
    ) -> list[StatisticsSnapshot]:
        """Count a batch; return the tumbling windows that ended, those without an edge left out.

        Args:
            batch: the records.
            classes: for each record the class that its attributes put it in, from 0 to 2^32 - 1; all 0 if not given.
            most: how many records to count, the first ones; all if not given.

        Raises:
            ValueError: there are not as many classes as records; nothing was counted.
        """
        rows = self._native.push(batch, classes, len(batch) if most is None else most)
        return [self._snapshot(row, ended=True) for row in rows]

    def snapshot(self) -> StatisticsSnapshot:
        """Return the statistics of the window as it is; every call gives it a new version. Complexity: O(types + paths)."""
        return self._snapshot(self._native.snapshot(), ended=False)

    def _snapshot(self, row: _StatisticsRow, *, ended: bool) -> StatisticsSnapshot:
        seen, bounds, vertices, out_degrees, in_degrees, rows, paths = row
        self._version += 1
        kinds = [EdgeType(source or None, label, target or None, number) for source, label, target, number, _ in rows]
        types: dict[EdgeType, int] = {}
        for kind, (*_, count) in zip(kinds, rows, strict=True):
            # Labels past the bound of the table have no names, so types of theirs may look alike.
            types[kind] = types.get(kind, 0) + count
        return StatisticsSnapshot(
            version=self._version,
            window=self._window(seen, ended=ended),
            first_ts=EventTime(bounds[0]) if bounds is not None else None,
            last_ts=EventTime(bounds[1]) if bounds is not None else None,
            edges=sum(types.values()),
            vertices=vertices,
            types=types,
            paths=None if paths is None else PathCounts.of_sorted(kinds, *paths),
            out_degrees=DegreeMoments(*out_degrees),
            in_degrees=DegreeMoments(*in_degrees),
        )

    def _window(self, seen: tuple[int, int] | None, *, ended: bool) -> TimeRange | None:
        """Return what was looked at: not before the first record, and not after the newest if the window is still open."""
        if seen is None:
            return None
        first, now = seen
        if self._length is None:
            return TimeRange(EventTime(first), _after(now))
        if not self._tumbling:
            return TimeRange(EventTime(max(first, now - self._length + 1)), _after(now))
        start = now // self._length * self._length
        return TimeRange(EventTime(max(first, start)), _after(start + self._length - 1 if ended else now))


def _after(ts: int) -> EventTime:
    """Return the end of a range whose last tick this is; the last tick of time has none after it."""
    return EventTime(min(ts + 1, MAX_EVENT_TIME))
