"""What each engine would cost on a stream, and which is cheapest.

Costs count what an engine does for an average edge, by the cost model's estimates, and weigh each kind of step by its measured
time (`docs/benchmarks.md`; one core, state in cache). They are compared with each other; none is a promise.

`timing` pays for every partial match it makes, which as many leave the window as come into it, and for a probe at every
query edge. `re-search` pays for keeping each edge it may need, for a probe at every query edge, and for every edge it visits.
`filtering` keeps and visits only what its filters leave, for one probe more where it starts: it looks at both ends.
Among many patterns, what a pattern alone reads and writes is no longer in cache: then `timing` pays `COLD` for every use of
its lists, while the other two ask a table that all patterns share before they touch a pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.plan import FilteringPlan, SearchPlan, TimingPlan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.plan import PhysicalPlan

    from graphtide_query.search.cost_model import CostModel

PROBE = 15.0
"""Nanoseconds to look for a bucket or a list, found or not."""
STORE = 60.0
"""Nanoseconds to store a partial match and to expire it."""
KEEP = 60.0
"""Nanoseconds to keep an edge in the lists and to expire it."""
VISIT = 10.0
"""Nanoseconds to look at one edge of a list."""
COLD = 1_000.0
"""Nanoseconds more for an insertion into lists that are not in cache."""
CROWD = 500
"""Patterns in one pass from which on their lists are out of cache; fewer are so in proportion."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Estimated nanoseconds an edge of the stream, and partial matches alive."""

    nanoseconds: float
    partial_matches: float


def cost(model: CostModel, physical: PhysicalPlan, patterns: int = 1) -> Cost:
    """Estimate what a plan costs among that many patterns in one pass. Complexity: O(n^2) for n edges."""
    shares = [model.share(edge) for edge in model.pattern.edges]
    match physical:
        case TimingPlan(cardinalities=cardinalities):
            alive = sum(size for _, size in cardinalities)
            cold = COLD * min(1.0, (patterns - 1) / CROWD)
            return Cost((PROBE + cold) * sum(shares) + STORE * alive / model.edges_in_window, alive)
        case SearchPlan(fan_outs=fan_outs):
            visits = sum(share * sum(opened[1:]) for share, opened in zip(shares, fan_outs, strict=True))
            return Cost((PROBE + KEEP) * sum(shares) + VISIT * visits, 0.0)
        case FilteringPlan(starts=starts, candidates=candidates, fan_outs=fan_outs):
            visits = sum(shares[start] * sum(fan_outs[start][1:]) for start in starts)
            kept = sum(candidates) / model.edges_in_window
            probes = sum(shares) + sum(shares[start] for start in starts)
            return Cost(PROBE * probes + KEEP * kept + VISIT * visits, 0.0)


def cheapest(model: CostModel, physicals: Iterable[PhysicalPlan], patterns: int = 1) -> PhysicalPlan:
    """Return the plan of the least estimated time; of equals the first."""
    return min(physicals, key=lambda physical: cost(model, physical, patterns).nanoseconds)
