"""Slices of time, and which edges each of them needs.

A slice [a, b) reports what is detected at a <= ts < b. It needs the records with a - window < ts < b, where `window` is the
longest `graphtide_query.reads.match_lookback` of the patterns. That is their window, or more for event patterns, for graph
queries, and for matches that are reported once for each key in an interval. That is enough, and every match, extension and
retraction is reported by one slice alone:

* A match is detected at the time of its last edge, which lies in one slice. All its edges are later than that time less the
    window, so later than a - window.
* A deletion at d in [a, b) retracts the matches that hold the edge and whose edges are all in the window at d. All are later
  than d - window >= a - window, so the slice finds the match itself, though an earlier slice reported it. One window is enough
  for retractions, too: a match with an older edge is never retracted.
* Whether a match is the first of its key follows from the interval that it was detected in; so does whether its retraction is
  emitted.
* A record that deletes one of these edges comes after it, so it is later than a - window as well. What was deleted for an
  earlier slice is deleted for this one.
* What follows from time alone, since something did not come, is detected at its bound. A slice lets time pass to a and forgets
  what that settles, then takes its records and lets time pass to b. The last slice of history lets all time pass at its end.
* What a graph query emits at d follows from two kinds of results. Some are valid at d, with their ends, and some were reported
  to last until d or longer. They separate a `match` from an `extend`, and say what is withdrawn. An edge at t is valid until
  floor(t / SLIDE) * SLIDE + WINDOW <= t + WINDOW at most. So what is valid at d rests on edges later than d - WINDOW. What was
  reported to last until d or longer was valid one tick before d. Its derivations have edges that all end at d or later, so they
  are not earlier than d - WINDOW. Each such derivation is there from its last edge on, without a break, with or without older
  ones beside it. Its end says until when the result was reported to last. So a slice that reads the edges later than
  a - WINDOW - 1 reports a result as one pass does. That tick is what graph queries need beyond their longest window. Results
  that ended before a may differ, and have no effect. Reports do not have the beginning of a result, nor its end if time alone
  causes it. A result that is valid across slices is reported where it begins, is extended and is withdrawn.
* What REPORT INSTANCES and REPORT CHANGES report follows from all they reported before, so with such a pattern there is one
  slice. Where it has a window before it, the pattern begins at its start as one that is registered there does.
* The value of a feature of a record at t follows from the records later than t - OVER. So patterns that read features need a
  longer window: that of the pattern and, before it, the longest of the features.
* What EMIT gives at t follows from the records from t - EVERY on, so patterns need as much before their window, too. A slice
  that ends at b gives what windows that end before b give. History has a record of b or later, or ends with the slice.
* Slices are cut between times, never between records of one time. So ties fall into one slice, and in their order.

One thing reaches back further: whether a record is a duplicate. A dropped record does not hide the next one. So which of a
chain of equal ids hold depends on where the chain began, any number of windows ago. It is decided for all of history before
slices are made (`graphtide_backfill.domain.duplicates`).

The work of a slice is (length + window) / length of what one pass would do: slices of several windows cost little more.

History that is divided by key (`graphtide_backfill.domain.division`) has a slice for each stretch of time and part of the key.
All of the above holds in each part.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from graphtide_backfill.domain.division import Division

_LEAST: Final = -(2**63)
_MOST: Final = 2**63 - 1
LONGEST: Final = _MOST
"""Ticks of the longest window there is; a longer one means the same."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A piece of time: what is detected from `start` to before `end` is reported by the slice of this number.

    Where history ends with it, `is_last`, so is what waits then for a bound: nothing comes any more to prevent it. `part` is
    that of the key, where history is divided by one. Numbers ascend in time and then by part.
    """

    number: int
    start: int
    end: int
    is_last: bool = False
    part: int = 0


class Rows(NamedTuple):
    """Rows `first` to before `last` of edges in order of time, which slices of one stretch of time need."""

    slices: tuple[Slice, ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Cut:
    """How a run is cut.

    Attributes:
        bounds: times where slices begin, and where the last ends; none before history is cut.
        division: by a key, if history is divided by one.
    """

    bounds: tuple[int, ...] = ()
    division: Division | None = None

    @property
    def parts(self) -> int:
        """Parts that a stretch of time has."""
        return 1 if self.division is None else self.division.parts

    def slices(self, used: Sequence[int] = (0,)) -> tuple[Slice, ...]:
        """Return the slices between each two bounds, which ascend, for the parts that are used; none is the last of history.

        Raises:
            ValueError: they do not.
        """
        if any(later <= earlier for earlier, later in pairwise(self.bounds)):
            message = "the bounds of slices must ascend"
            raise ValueError(message)
        return tuple(
            Slice(place * self.parts + part, start, end, part=part)
            for place, (start, end) in enumerate(pairwise(self.bounds))
            for part in used
        )


def slices_at(bounds: Sequence[int]) -> tuple[Slice, ...]:
    """Return the slices between each two bounds. Raises as `Cut.slices`."""
    return Cut(tuple(bounds)).slices()


def rows_of_slices(times: NDArray[np.int64], slices: Sequence[Slice], window: int) -> Iterator[Rows]:
    """Yield which of the edges, whose times ascend, each stretch of time needs; slices that need none are left out.

    Complexity: O(slices + slices that reach into the edges * log edges).
    """
    if not len(times):
        return
    earliest, latest = int(times[0]), int(times[-1])
    for (start, end), of_time in groupby(slices, key=attrgetter("start", "end")):
        after = max(_LEAST, start - window)
        if end <= earliest or after >= latest:
            continue
        # At the beginning of time nothing is too old.
        first = 0 if start - window < _LEAST else int(np.searchsorted(times, after, "right"))
        last = int(np.searchsorted(times, min(end, _MOST), "left"))
        if first < last:
            yield Rows(tuple(of_time), first, last)
