"""What each engine would cost on a stream, and which is cheapest.

Costs count what an engine does for an average edge by the cost model's estimates, and weigh it by `Weights`, fitted by least
squares of relative errors to rates measured over the named workloads (`docs/benchmarks.md`), with the true numbers of matches;
the fit is off by 5 to 13 % at the median, and what is estimated wrong is off by more. A row of `filtering` has the weight of
one of `re-search`: the searches are the same, and the workloads tell its row from its match badly.

`timing` and `sj-tree` pay for every partial match they make: as many leave the window as come into it. `re-search` pays for
every edge it visits, and so does `filtering`, which pays for keeping an edge only where its filters leave it. All pay for an
edge that can be a query edge, and for matches.
Among many patterns, what a pattern alone reads and writes is no longer in cache: then `timing` pays `COLD` for every use of
its lists, while `re-search` and `filtering` ask a table that all patterns share before they touch a pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.plan import Candidate, FilteringPlan, SearchPlan, SjTreePlan, TimingPlan

from graphtide_query.search import filtering, search_order, sj_tree, tc_decomposition
from graphtide_query.search.cost_model import CostModel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.plan import PhysicalPlan, Plan
    from graphtide_core.statistics import StatisticsSnapshot


@dataclass(frozen=True, slots=True)
class Weights:
    """Nanoseconds of an engine's steps: for every edge; for an edge, a query edge it can be; a row made or visited; a match."""

    edge: float
    candidate: float
    row: float
    match: float


TIMING = Weights(19.4, 45.8, 92.4, 139.4)
RE_SEARCH = Weights(29.7, 59.2, 60.8, 71.9)
FILTERING = Weights(23.5, 29.5, 60.8, 75.0)
KEEP = 47.9
"""Nanoseconds to keep a candidate in the lists of `filtering`, which keeps not every edge that can be a query edge."""
SJ_TREE = Weights(18.6, 52.6, 254.4, 106.9)
COLD = 1_000.0
"""Nanoseconds more for an insertion into lists that are not in cache."""
CROWD = 500
"""Patterns in one pass from which on their lists are out of cache; fewer are so in proportion."""


RISK = 1.12
"""Factor on the cost of plans that store partial matches. Hubs make more of them than an even spread of edges, which estimates
assume, and they cost while they live; a search that meets a hub is over at once. So a wrong estimate costs more there."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Estimated nanoseconds an edge of the stream, raised by `RISK` where it is due, and partial matches alive."""

    nanoseconds: float
    partial_matches: float


def cost(model: CostModel, physical: PhysicalPlan, patterns: int = 1) -> Cost:
    """Estimate what a plan costs among that many patterns in one pass. Complexity: O(n^3) for n edges.

    Sizes are estimated anew: the plan may have been made when the stream was another.
    """
    shares = [model.share(edge) for edge in model.pattern.edges]
    cold = COLD * min(1.0, (patterns - 1) / CROWD) * sum(shares)
    orders = physical.orders if isinstance(physical, SearchPlan | FilteringPlan) else search_order.plan_search(model).orders
    searches = [(share, search_order.fan_outs(model, order)) for share, order in zip(shares, orders, strict=True)]
    matches = sum(share * opened[-1] for share, opened in searches)
    match physical:
        case TimingPlan(subqueries=subqueries):
            alive = sum(size for _, size in tc_decomposition.cardinalities(model, subqueries))
            return Cost(RISK * (cold + _time(TIMING, sum(shares), alive / model.edges_in_window, matches)), alive)
        case SjTreePlan(leaves=leaves, strategy=strategy):
            alive = sum(size for _, size in sj_tree.cardinalities(model, leaves, strategy))
            return Cost(RISK * (cold + _time(SJ_TREE, sum(shares), alive / model.edges_in_window, matches)), alive)
        case SearchPlan():
            visits = sum(share * sum(opened[1:]) for share, opened in searches)
            return Cost(_time(RE_SEARCH, sum(shares), visits, matches), 0.0)
        case FilteringPlan(starts=starts):
            visits = sum(searches[start][0] * sum(searches[start][1][1:]) for start in starts)
            found = sum(searches[start][0] * searches[start][1][-1] for start in starts)
            kept = sum(filtering.candidates(model)) / model.edges_in_window
            return Cost(_time(FILTERING, sum(shares), visits, found) + KEEP * kept, 0.0)


def _time(weights: Weights, candidates: float, rows: float, matches: float) -> float:
    return weights.edge + weights.candidate * candidates + weights.row * rows + weights.match * matches


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
