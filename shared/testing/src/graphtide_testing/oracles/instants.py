"""When an edge came, on the clock of a window: its time, or its ordinal among the edges of the stream that count.

Invariant: instants never go back in the order of the stream. An edge is in a window while its instant is less than the window's
length before that of the record at hand. A deletion is at the ordinal of the edge before it: it does not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from graphtide_core.edge import Operation
from graphtide_core.window import EdgeCount

if TYPE_CHECKING:
    from graphtide_core.edge import Edge
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.time import TimeUnit


@dataclass(slots=True)
class Instants:
    """The clock of one pattern's window.

    Attributes:
        length: of the window; half-open. Instants are whole: a window of 2.5 of them has those of one of 3.
        counted: insertions that were no duplicates so far; None where the window is one of time.
    """

    length: int
    counted: int | None

    @classmethod
    def of(cls, pattern: SubgraphPattern, unit: TimeUnit) -> Instants:
        """Return the clock before the first record."""
        if isinstance(pattern.window, EdgeCount):
            return cls(pattern.window.edges, 0)
        # Times are whole ticks: a closed window is a half-open one of a tick more.
        closed = pattern.lookback(unit)
        return cls(closed if pattern.morphism.has_closed_windows else ceil(pattern.window.ticks(unit)), None)

    def of_record(self, record: Edge) -> int:
        """Return when a record is, if it is not a duplicate."""
        if self.counted is None:
            return record.ts
        return self.counted if record.operation is Operation.DELETE else self.counted + 1

    def take(self) -> None:
        """Count an insertion that is not a duplicate."""
        if self.counted is not None:
            self.counted += 1

    def is_within(self, instant: int, now: int) -> bool:
        """Whether an edge is in the window of a record."""
        return now - instant < self.length
