"""How far the edges of a match may lie apart: in event time, or in edges of the stream.

Edges are counted in the order of the stream: every insertion except duplicates counts, whether a pattern can use it or not;
deletions do not. Only differences of such ordinals matter, so one may count from any edge, if all after it are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_core.time import MAX_EVENT_TIME, Duration

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_EDGES: Final = 2**30
"""Edges that a window may have: an engine names an edge of a window by 31 bits."""


@dataclass(frozen=True, slots=True)
class EdgeCount:
    """A window of so many consecutive edges: those with ordinals `n - edges + 1` to `n`, where `n` is the newest."""

    edges: int

    def __post_init__(self) -> None:
        """Refuse a negative number, and more than a window may have."""
        if not 0 <= self.edges <= MOST_EDGES:
            message = f"a window has at most {MOST_EDGES:,} edges, and not less than 0"
            raise ValueError(message)

    def __str__(self) -> str:
        """Return the number as the pattern language writes it."""
        return f"{self.edges} {'EDGE' if self.edges == 1 else 'EDGES'}"


Window = Duration | EdgeCount
"""A window as it is written."""

Extent = int | EdgeCount
"""A window on a stream: ticks of its time, or edges."""


def longest(extents: Iterable[Extent]) -> tuple[int, int]:
    """Return the most ticks, as far as times can be apart, and the most edges among windows; 0 where none counts so."""
    ticks = edges = 0
    for extent in extents:
        if isinstance(extent, EdgeCount):
            edges = max(edges, extent.edges)
        else:
            ticks = max(ticks, extent)
    return min(ticks, MAX_EVENT_TIME), edges
