"""Warn of patterns of which one record may complete too many matches, and suggest what to write instead.

The form of a pattern gives a bound. With statistics of the stream, edges and joins fan out by counted degrees (`fan_out`), and
events by their rates. That is an estimate, not a bound.

Cost: constant by form for patterns of few parts, else O(n^2) for n parts, and bounded. Nothing is enumerated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_query.families import family_of

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import TimeUnit

    from graphtide_query.estimates.bursts import Burst


def burst_of(pattern: AnyPattern, statistics: StatisticsSnapshot | None = None, unit: TimeUnit | None = None) -> Burst | None:
    """Return how many matches one record of a pattern may complete; None where that is not more than `MOST_MATCHES`.

    Args:
        pattern: of any family.
        statistics: of its stream; without them, or without a unit, only the form counts.
        unit: of the stream's times.
    """
    known = None if statistics is None or unit is None or not statistics.edges else (statistics, unit)
    return family_of(pattern).burst(pattern, known)
