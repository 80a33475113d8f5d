"""Derive what a pattern of any family reads.

Cost: O(size of the pattern).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_query.families import family_of

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.reads import Reads
    from graphtide_core.time import TimeUnit


def match_lookback(pattern: AnyPattern, unit: TimeUnit) -> int:
    """Return how many ticks before a report a record can change it: while ts > detected_at - lookback.

    An event pattern may look back further than its time, as with `ONE PER`; 0 for windows of edges.

    Raises:
        InvalidPatternError: as `reads_of`.
    """
    return family_of(pattern).lookback(pattern, unit)


def reads_of(pattern: AnyPattern) -> Reads:
    """Return what a pattern reads.

    Raises:
        InvalidPatternError: some windows of a graph query have units and some are in ticks, so only the stream's unit decides
        which is the longest.
    """
    return family_of(pattern).reads(pattern)
