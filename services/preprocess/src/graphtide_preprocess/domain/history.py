"""What went out within the window: which ids are known, the values of features, and the statistics of the stream.

It is made of the edges that went out, micro-batch by micro-batch, with the attributes that features read. So it can be rebuilt
from what was kept of them, and one that stopped at an earlier micro-batch can catch up. It is of one epoch. Memory: O(edges of
the window).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.stream_windows import StreamWindows
from graphtide_native.features import StreamFeatures
from graphtide_native.records import Duplicates, EdgeBatch
from graphtide_native.statistics import StreamStatistics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from graphtide_core.statistics.snapshot import StatisticsSnapshot
    from graphtide_core.time import TimeUnit
    from graphtide_native.records import Symbols


class History:
    """The stream's recent past.

    Attributes:
        micro_batch: the last micro-batch that it knows.
        window: ids are remembered for so many ticks.
        edges: and for so many edges of the stream, too.
        counted: ticks of the window that is counted; 0 if nothing is.
        epoch: of the stream.
        duplicates: drops what is known, and knows what it lets through.
        features: knows what went out; None where nothing is counted of the stream.
    """

    def __init__(self, symbols: Symbols, window: int, counted: int, epoch: int = 0, edges: int = 0) -> None:
        """Start before the first micro-batch."""
        self.micro_batch = 0
        self.epoch = epoch
        self.window = window
        self.counted = counted
        self.edges = edges
        self.duplicates = Duplicates(window, edges)
        self.features: StreamFeatures | None = None
        self._stated = StreamWindows()
        self._symbols = symbols
        self._statistics = self._none_counted()

    def begin_epoch(self, epoch: int, duplicates: Duplicates) -> None:
        """Forget everything; this filter knows what has gone out of the new epoch."""
        self.epoch = epoch
        self.duplicates = duplicates
        self._statistics = self._none_counted()

    def catch_up(self, kept: Iterable[tuple[int, bytes]]) -> None:
        """Learn what went out in later micro-batches; each has its number and its packed edges."""
        for micro_batch, block in kept:
            batch = self._unpacked(block)
            self.duplicates.filter(batch)
            if self.features is not None:
                self.features.add_to(batch)
            self.count([batch])
            self.micro_batch = micro_batch

    def state(self, windows: StreamWindows, unit: TimeUnit, kept: Callable[[], Iterable[tuple[int, bytes]]]) -> None:
        """Count in these windows; `kept` gives all that went out in them, as `catch_up` takes it."""
        if windows == self._stated:
            return
        self._stated, self.features = windows, StreamFeatures(windows, unit) if windows else None
        if self.features is not None:
            for _, block in kept():
                self.features.add_to(self._unpacked(block))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The attributes to keep of what goes out."""
        return () if self.features is None else self.features.inputs

    def longest(self, unit: TimeUnit) -> int:
        """Return the ticks of the longest window of features and of EMIT."""
        return self._stated.longest(unit)

    def _unpacked(self, block: bytes) -> EdgeBatch:
        return EdgeBatch.unpack(block, self._symbols, self.inputs, 0)

    def count(self, batches: Iterable[EdgeBatch]) -> None:
        """Count what goes out."""
        if self._statistics is not None:
            for batch in batches:
                self._statistics.push(batch)

    def _none_counted(self) -> StreamStatistics | None:
        return StreamStatistics(self._symbols, self.counted, deletions=True) if self.counted else None

    def snapshot(self) -> StatisticsSnapshot | None:
        """Return the statistics of the window; None if nothing is counted."""
        return None if self._statistics is None else self._statistics.snapshot()
