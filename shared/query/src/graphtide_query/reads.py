"""What a pattern of any family reads, from the pattern.

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
    """Return how many ticks before a report a record can have a say in it: while ts > detected_at - hindsight.

    Of an event pattern that may be more than its reach, as of one that tells a match for each key; 0 where edges are counted.

    Raises:
        InvalidPatternError: as `reads_of`.
    """
    return family_of(pattern).lookback(pattern, unit)


def reads_of(pattern: AnyPattern) -> Reads:
    """Return what a pattern reads.

    Raises:
        InvalidPatternError: the windows of a graph query are partly of time and partly of ticks; which is the longest, only the
            stream knows.
    """
    return family_of(pattern).reads(pattern)
