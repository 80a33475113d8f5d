"""What each engine would cost on a stream, and which is cheapest.

Costs count what an engine does for an average edge by the cost model's estimates, and weigh it by `Weights`, fitted by least
squares of relative errors to rates measured over the named workloads (`docs/benchmarks.md`), with the true numbers of matches;
the fit is off by 4 to 14 % at the median, and what is estimated wrong is off by more. Then `timing` was raised by a tenth and
`sj-tree` lowered by a twentieth: of the choices near a tie, that loses least. A row of `re-search` and `filtering` was set to
45 ns: the fit tells rows from matches badly, because one comes with the other.

`timing` and `sj-tree` pay for every partial match they make. `re-search` pays for every edge it visits, and so does
`filtering`, which pays for keeping an edge only where its filters leave it. All pay for an edge that can be a query edge, the
more the more of its kind are alive, because less of them is in cache; and for matches.
Among many patterns, what a pattern alone reads and writes is no longer in cache: then `timing` pays `COLD` for every use of
its lists, while `re-search` and `filtering` ask a table that all patterns share before they touch a pattern.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.plan import Candidate, FilteringPlan, SearchPlan, SjTreePlan, TimingPlan

from graphtide_query.search import filtering, search_order, sj_tree, tc_decomposition
from graphtide_query.search.cost_model import CostModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.plan import PhysicalPlan, Plan
    from graphtide_core.statistics import StatisticsSnapshot


@dataclass(frozen=True, slots=True)
class Weights:
    """Nanoseconds of an engine's steps.

    Attributes:
        edge: for every edge.
        relevant: for one that can be a query edge.
        grown: for such a one and every doubling of its kind beyond `IN_CACHE`.
        candidate: for a query edge it can be.
        row: for a partial match made, or an edge visited.
        match: for a match.
    """

    edge: float
    relevant: float
    grown: float
    candidate: float
    row: float
    match: float


TIMING = Weights(15.2, 10.6, 24.3, 15.6, 120.5, 126.8)
RE_SEARCH = Weights(14.7, 116.0, 14.3, 0.0, 45.0, 15.7)
FILTERING = Weights(10.8, 85.9, 19.5, 0.0, 45.0, 29.8)
KEEP = 13.0
"""Nanoseconds to keep a candidate in the lists of `filtering`, which keeps not every edge that can be a query edge."""
SJ_TREE = Weights(9.4, 64.9, 25.9, 20.2, 80.9, 88.6)
IN_CACHE = 2_000
"""Edges of a kind whose lists are at hand."""
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
    """Estimate what a plan costs among that many patterns in one pass. Complexity: O(n^3) for n edges.

    Sizes are estimated anew: the plan may have been made when the stream was another.
    """
    shares = [model.share(edge) for edge in model.pattern.edges]
    cold = COLD * min(1.0, (patterns - 1) / CROWD) * sum(shares)
    matches = sum(share * search_order.matches_from(model, start) for start, share in enumerate(shares))
    match physical:
        case TimingPlan(subqueries=subqueries):
            alive, made = _stored(model, tc_decomposition.items(subqueries))
            return Cost(cold + _time(TIMING, model, made, matches), alive)
        case SjTreePlan(leaves=leaves, strategy=strategy):
            alive, made = _stored(model, sj_tree.nodes(leaves, strategy))
            return Cost(cold + _time(SJ_TREE, model, made, matches), alive)
        case SearchPlan(orders=orders):
            return Cost(_time(RE_SEARCH, model, _visits(model, orders, range(len(orders))), matches), 0.0)
        case FilteringPlan(orders=orders, starts=starts):
            found = sum(shares[start] * search_order.matches_from(model, start) for start in starts)
            kept = sum(filtering.candidates(model)) / model.edges_in_window
            return Cost(_time(FILTERING, model, _visits(model, orders, starts), found) + KEEP * kept, 0.0)


def _visits(model: CostModel, orders: Sequence[tuple[int, ...]], starts: Iterable[int]) -> float:
    """Return how many edges the searches from these edges visit for an edge of the stream."""
    return sum(
        model.share(model.pattern.edges[start]) * sum(search_order.fan_outs(model, orders[start])[1:]) for start in starts
    )


def _stored(model: CostModel, parts: Iterable[tuple[str, Sequence[int]]]) -> tuple[float, float]:
    """Return partial matches of these parts: alive, and made for an edge. One leaves with the oldest of its edges."""
    alive = [(model.partial_matches(edges), len(edges)) for _, edges in parts]
    return sum(each for each, _ in alive), sum(each * edges for each, edges in alive) / model.edges_in_window


def _time(weights: Weights, model: CostModel, rows: float, matches: float) -> float:
    kinds = model.kinds()
    grown = sum(share * math.log2(1 + share * model.edges_in_window / IN_CACHE) for share in kinds)
    candidates = sum(model.share(edge) for edge in model.pattern.edges)
    return (
        weights.edge
        + weights.relevant * sum(kinds)
        + weights.grown * grown
        + weights.candidate * candidates
        + weights.row * rows
        + weights.match * matches
    )


def considered(model: CostModel, physicals: Iterable[PhysicalPlan], patterns: int = 1) -> tuple[Candidate, ...]:
    """Estimate the plans, cheapest first; of equals the first given."""
    costs = [(physical, cost(model, physical, patterns)) for physical in physicals]
    candidates = [Candidate(physical, found.nanoseconds, found.partial_matches) for physical, found in costs]
    return tuple(sorted(candidates, key=lambda candidate: candidate.nanoseconds))


def is_worth_it(old: Plan, new: Plan, known: StatisticsSnapshot, ticks: int, margin: float) -> bool:
    """Whether the new plan is estimated cheaper than the old one by the margin, on the stream as it is known now.

    Args:
        old: the plan that runs.
        new: the plan that would.
        known: statistics of the stream now.
        ticks: the pattern's window in ticks.
        margin: share of the old cost that the new one must stay below.
    """
    if new.physical == old.physical:
        return False
    model = CostModel(old.pattern, known, ticks)
    return cost(model, new.physical).nanoseconds < margin * cost(model, old.physical).nanoseconds
