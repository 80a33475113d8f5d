"""What a pattern of any family reads of its streams: everything that the data plane needs to know of it.

Invariant: three things change nothing about what the pattern finds. They are an edge of another stream or label, an attribute
that is not named, and what is further back than the lookback.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.merged_streams import merge
from graphtide_core.time import MAX_EVENT_TIME
from graphtide_core.window import EdgeCount

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.time import TimeUnit
    from graphtide_core.window import Window


@dataclass(frozen=True, slots=True)
class Lookback:
    """How far back a pattern looks.

    Attributes:
        length: in the unit it was written in, until it meets a stream; or edges.
        is_closed: whether an edge that is as old as the length is still read; only younger ones are if not.
        is_rounded_up: whether that length is one of whole ticks, a part of one taken for a whole.
    """

    length: Window
    is_closed: bool = False
    is_rounded_up: bool = False

    def ticks(self, unit: TimeUnit) -> int:
        """Return the lookback in a stream's ticks: with `now` the newest time, edges are read while ts > now - lookback.

        At most the largest distance of two times; 0 for windows of edges.
        """
        if isinstance(self.length, EdgeCount):
            return 0
        whole = self.length.ticks_at_least(unit)
        if self.is_closed:
            whole = (whole if self.is_rounded_up else self.length.ticks(unit) // 1) + 1
        return min(whole, MAX_EVENT_TIME)

    @property
    def edges(self) -> int:
        """How many edges of the stream are read, the newest among them; 0 if the lookback is a time."""
        return self.length.edges if isinstance(self.length, EdgeCount) else 0


@dataclass(frozen=True, slots=True)
class Reads:
    """The labels, attributes and lookback that one pattern reads.

    Attributes:
        streams: whose edges.
        lookback: how far back.
        labels: of edges, ascending; None for edges of every label, as where they are counted.
        attributes: of edges, ascending; fields that every edge has are not among them.
    """

    streams: tuple[StreamName, ...]
    lookback: Lookback
    labels: tuple[str, ...] | None
    attributes: tuple[str, ...]

    @property
    def stream(self) -> StreamName:
        """The one whose ordered edges it takes: of several streams, what they are merged to."""
        return merge(self.streams)
