"""What a pattern reads of its streams, whatever its family: all that the data plane has to know of it.

Invariant: an edge of another stream or label, an attribute that is not named, and what is further back than the reach change
nothing about what the pattern finds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.time import MAX_EVENT_TIME

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.time import Duration, TimeUnit


@dataclass(frozen=True, slots=True)
class Reads:
    """What one pattern reads.

    Attributes:
        streams: whose edges.
        reach: how far back; half-open, as a window is.
        labels: of edges, ascending; None for edges of every label.
        attributes: of edges, ascending; fields that every edge has are not among them.
    """

    streams: tuple[StreamName, ...]
    reach: Duration
    labels: tuple[str, ...] | None
    attributes: tuple[str, ...]

    def reach_in(self, unit: TimeUnit) -> int:
        """Return the reach in whole ticks of a stream's unit, at most the greatest time."""
        return min(self.reach.ticks_at_least(unit), MAX_EVENT_TIME)
