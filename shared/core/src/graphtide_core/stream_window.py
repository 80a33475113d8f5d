"""A window over a stream of edges, which says how long each of them is valid.

Reference: paper 001, Definition 16, and section 6.2.2 for windows whose results stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphtide_core.errors import Location
    from graphtide_core.ids import StreamName
    from graphtide_core.time import Duration, TimeUnit


class WindowKind(Enum):
    """The effect on a result when an edge that it depends on leaves the window."""

    EXTERNAL = "external"
    """It ends: results have validity intervals, which are extended while other edges support them."""

    INTERNAL = "internal"
    """It stays: results are appended once, when they become valid, and never extended (section 6.2.2 of the paper)."""

    NOW = "now"
    """An edge is valid in its own instant alone."""


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """A window over a stream: an edge at t is valid in [t, floor(t / slide) * slide + length).

    `slide` None is one tick. Of a NOW window the length is one tick and there is no slide. `location` is where a text says it.
    """

    stream: StreamName
    length: Duration
    slide: Duration | None = None
    kind: WindowKind = WindowKind.EXTERNAL
    location: Location | None = field(default=None, compare=False, repr=False)

    def lookback(self, unit: TimeUnit) -> int:
        """Return how many ticks an edge of the window is valid at most."""
        return 1 if self.kind is WindowKind.NOW else max(1, self.length.ticks_at_least(unit))

    def step(self, unit: TimeUnit) -> int:
        """Return the slide in ticks, at least one."""
        return 1 if self.kind is WindowKind.NOW or self.slide is None else max(1, self.slide.ticks_at_least(unit))
