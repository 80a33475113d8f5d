"""How history spreads over time: a few thousand times with the edges between them.

Entry i says that `edges[i]` edges lie after time i - 1, up to time i. Where many edges have one time, that time is an entry of
its own, so that dense times are known as finely as they need. Of k entries, joining misplaces at most every k-th edge of
each profile; profiles that do not overlap in time lose nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

ENTRIES: Final = 4096
"""Entries that a profile keeps."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Times, ascending, and how many edges lie up to each after the one before.

    Attributes:
        first: time of the first edge; 0 if there is none.
        times: ends of the entries.
        edges: edges of each.
    """

    first: int
    times: NDArray[np.int64]
    edges: NDArray[np.int64]

    @property
    def total(self) -> int:
        """All edges."""
        return int(self.edges.sum())

    @property
    def last(self) -> int:
        """Time of the last edge; 0 if there is none."""
        return int(self.times[-1]) if len(self.times) else 0

    def between(self, start: int, end: int) -> Profile:
        """Return the part from `start` to before `end`; of an entry that lies across, all."""
        taken = (self.times >= start) & (np.concatenate(([self.first - 1], self.times[:-1])) < end - 1)
        times = np.minimum(self.times[taken], end - 1)
        return Profile(max(self.first, start) if taken.any() else 0, times, self.edges[taken])

    def densest(self, window: int) -> tuple[int, int]:
        """Return at what time a window holds most edges, and how many; at most, since entries count as a whole."""
        if not len(self.times):
            return 0, 0
        until = np.cumsum(self.edges)
        # The first entry that ends in the window may begin before it: it is counted.
        oldest = np.maximum(self.times, np.iinfo(np.int64).min + window) - window
        before = np.searchsorted(self.times, oldest, "right")
        held = until - np.where(before > 0, until[np.maximum(before - 1, 0)], 0)
        place = int(np.argmax(held))
        return int(self.times[place]), int(held[place])


def profile_of(times: NDArray[np.int64]) -> Profile:
    """Return the profile of edges with these times, in any order."""
    if not len(times):
        return Profile(0, np.zeros(0, np.int64), np.zeros(0, np.int64))
    distinct, counts = np.unique(times, return_counts=True)
    return _thin(int(distinct[0]), distinct, counts.astype(np.int64))


def join(profiles: Iterable[Profile]) -> Profile:
    """Return the profile of all edges of some profiles."""
    some = [each for each in profiles if len(each.times)]
    if not some:
        return profile_of(np.zeros(0, np.int64))
    times, places = np.unique(np.concatenate([each.times for each in some]), return_inverse=True)
    edges = np.zeros(len(times), np.int64)
    np.add.at(edges, places, np.concatenate([each.edges for each in some]))
    return _thin(min(each.first for each in some), times, edges)


def _thin(first: int, times: NDArray[np.int64], edges: NDArray[np.int64]) -> Profile:
    """Join light neighbours until few entries are left; a time that is heavy alone stays alone."""
    if len(times) <= ENTRIES:
        return Profile(first, times, edges)
    until = np.cumsum(edges)
    step = -(-int(until[-1]) // ENTRIES)
    heavy = edges >= step
    # An entry ends where a step is full, at a heavy time, before a heavy time, and at the end.
    ends = (until // step) > (np.concatenate(([0], until[:-1])) // step)
    ends |= heavy | np.concatenate((heavy[1:], [True]))
    kept = np.flatnonzero(ends)
    return Profile(first, times[kept], np.diff(np.concatenate(([0], until[kept]))))
