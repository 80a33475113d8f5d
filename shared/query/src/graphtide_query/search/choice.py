"""What each engine would cost on a stream, and which is cheapest.

Costs count what an engine does for an average edge by the cost model's estimates, and weigh it by `Weights`, fitted by least
squares of relative errors to rates measured over the named workloads (`docs/benchmarks.md`), with the true numbers of matches;
the fit is off by 4 to 14 % at the median, and what is estimated wrong is off by more. Then `timing` was raised by a tenth and
`sj-tree` lowered by a twentieth: of the choices near a tie, that loses least. A row of `re-search` and `filtering` was set to
45 ns: the fit tells rows from matches badly, because one comes with the other.

`timing` and `sj-tree` pay for every partial match they make. `re-search` pays for every edge it visits, and so does
`filtering`, which pays for keeping an edge only where its filters leave it. All pay for an edge that can be a query edge, the
more the more of its kind are alive, because less of them is in cache; and for matches.
Among many patterns of its engine, what a pattern alone reads and writes is no longer in cache: then `timing` and `sj-tree` pay
`COLD` for every use of their lists, while `re-search` and `filtering` ask a table that all patterns share before they touch a
pattern. And what an edge costs that nobody wants is the pass's: each of its patterns is charged a part. Otherwise plans of
patterns that want few edges would be told apart by little but how fast each engine alone passes the others by.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.plans import (
    BaselinePlan,
    Candidate,
    ColoringPlan,
    FilteringPlan,
    SearchPlan,
    SignaturePlan,
    SjTreePlan,
    TimingPlan,
)

from graphtide_query.search import filtering, search_order, simulation, sj_tree, tc_decomposition
from graphtide_query.search.cost_model import CostModel
from graphtide_query.search.crowd import ALONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.plans import PhysicalPlan, Plan
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.window import Extent

    from graphtide_query.search.crowd import Company, Crowd


@dataclass(frozen=True, slots=True)
class Weights:
    """Nanoseconds of an engine's steps.

    Attributes:
        edge: for every edge; the patterns of a pass share it, because each edge is looked up once for all of them.
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
"""Patterns of one engine in a pass from which on their lists are out of cache; fewer are so in proportion."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Estimated nanoseconds an edge of the stream, and partial matches alive."""

    nanoseconds: float
    partial_matches: float


def cost(model: CostModel, physical: PhysicalPlan, crowd: Crowd = ALONE) -> Cost:
    """Estimate what a plan costs in its company. Complexity: O(n^3) for n edges.

    Sizes are estimated anew: the plan may have been made when the stream was another.
    """
    return _cost(_Stream.of(model), physical, crowd.by(physical.name))


@dataclass(frozen=True, slots=True)
class _Stream:
    """What a pattern meets in the stream whatever its plan.

    Attributes:
        model: estimates for the pattern.
        shares: of the edges that each query edge can match.
        completed: matches that the arrival of one of those completes.
        kinds: shares of the kinds of edges that the pattern asks for.
    """

    model: CostModel
    shares: tuple[float, ...]
    completed: tuple[float, ...]
    kinds: tuple[float, ...]

    @classmethod
    def of(cls, model: CostModel) -> _Stream:
        edges = model.pattern.edges
        completed = tuple(search_order.matches_from(model, start) for start in range(len(edges)))
        return cls(model, tuple(model.share(edge) for edge in edges), completed, model.kinds())

    def cold(self, company: Company) -> float:
        """Return the nanoseconds for the use of lists that are not in cache."""
        return COLD * min(1.0, (company.alike - 1) / CROWD) * sum(self.shares)

    def matches(self, starts: Iterable[int]) -> float:
        """Return the matches for an edge of the stream that are found from these query edges."""
        return sum(self.shares[start] * self.completed[start] for start in starts)

    def time(self, weights: Weights, company: Company, rows: float, matches: float) -> float:
        """Return the nanoseconds for an edge of the stream, with all lists in cache."""
        alive = self.model.edges_in_window
        grown = sum(share * math.log2(1 + share * alive / IN_CACHE) for share in self.kinds)
        return (
            weights.edge / company.patterns
            + weights.relevant * sum(self.kinds)
            + weights.grown * grown
            + weights.candidate * sum(self.shares)
            + weights.row * rows
            + weights.match * matches
        )


def _cost(stream: _Stream, physical: PhysicalPlan, company: Company) -> Cost:
    model, everywhere = stream.model, range(len(stream.shares))
    match physical:
        case TimingPlan(subqueries=subqueries):
            alive, made = _stored(model, tc_decomposition.items(subqueries))
            time = stream.time(TIMING, company, made, stream.matches(everywhere))
            return Cost(stream.cold(company) + time, alive)
        case SjTreePlan(leaves=leaves, strategy=strategy):
            alive, made = _stored(model, sj_tree.nodes(leaves, strategy))
            time = stream.time(SJ_TREE, company, made, stream.matches(everywhere))
            return Cost(stream.cold(company) + time, alive)
        case SearchPlan(orders=orders):
            visits = _visits(stream, orders, everywhere)
            return Cost(stream.time(RE_SEARCH, company, visits, stream.matches(everywhere)), 0.0)
        case FilteringPlan(orders=orders, starts=starts):
            kept = sum(filtering.candidates(model)) / model.edges_in_window
            visits = _visits(stream, orders, starts)
            return Cost(stream.time(FILTERING, company, visits, stream.matches(starts)) + KEEP * kept, 0.0)
        case BaselinePlan() | SignaturePlan() | ColoringPlan():
            return Cost(simulation.nanoseconds(model, physical), simulation.held(model))


def _visits(stream: _Stream, orders: Sequence[tuple[int, ...]], starts: Iterable[int]) -> float:
    """Return how many edges the searches from these edges visit for an edge of the stream."""
    return sum(stream.shares[start] * sum(search_order.fan_outs(stream.model, orders[start])[1:]) for start in starts)


def _stored(model: CostModel, parts: Iterable[tuple[str, Sequence[int]]]) -> tuple[float, float]:
    """Return partial matches of these parts: alive, and made for an edge. One leaves with the oldest of its edges."""
    alive = [(model.partial_matches(edges), len(edges)) for _, edges in parts]
    return sum(each for each, _ in alive), sum(each * edges for each, edges in alive) / model.edges_in_window


def considered(model: CostModel, physicals: Iterable[PhysicalPlan], crowd: Crowd = ALONE) -> tuple[Candidate, ...]:
    """Estimate the plans, each in its company, cheapest first; of equals the first given."""
    stream = _Stream.of(model)
    costs = [(physical, _cost(stream, physical, crowd.by(physical.name))) for physical in physicals]
    candidates = [Candidate(physical, found.nanoseconds, found.partial_matches) for physical, found in costs]
    return tuple(sorted(candidates, key=lambda candidate: candidate.nanoseconds))


def is_worth_it(
    old: Plan, new: Plan, known: StatisticsSnapshot, extent: Extent, margin: float, *, crowd: Crowd = ALONE
) -> bool:
    """Whether the new plan is estimated cheaper than the old one by the margin, on the stream as it is known now.

    Args:
        old: the plan that runs.
        new: the plan that would.
        known: statistics of the stream now.
        extent: the pattern's window on the stream.
        margin: share of the old cost that the new one must stay below.
        crowd: the company of each of the two.
    """
    if new.physical == old.physical:
        return False
    model = CostModel(old.pattern, known, extent)
    stream = _Stream.of(model)
    then, now = (_cost(stream, each.physical, crowd.by(each.engine)).nanoseconds for each in (old, new))
    return now < margin * then
