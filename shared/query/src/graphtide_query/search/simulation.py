"""Which engine of dual simulation is cheapest.

`ddst-coloring` pays for each edge that can be a query edge, and looks at components of edges that could be whole.
`ddst-signature` pays less for such an edge, and for a fixpoint over all alive where the signature cannot exclude a match;
`ddst-baseline` pays for that always. The signature cannot exclude one where the window has, of each kind of query edge, as many
edges as the query: numbers of edges are taken for Poisson's, and kinds for independent.
Cost: O(n^2) for n query edges.
"""

from __future__ import annotations

from itertools import accumulate
from math import exp, prod
from typing import TYPE_CHECKING

from graphtide_core.plan import BaselinePlan, Candidate, ColoringPlan, SignaturePlan

if TYPE_CHECKING:
    from graphtide_core.plan import SimulationPlan

    from graphtide_query.search.cost_model import CostModel

COLOR = 450.0
"""Nanoseconds for an edge that can be a query edge, under `ddst-coloring`."""
SIGN = 180.0
"""The same under `ddst-signature`, the check of the signature with it."""
TAKE = 60.0
"""The same under `ddst-baseline`, without the fixpoint."""
LOOK = 120.0
"""Nanoseconds of a fixpoint for each edge that it begins with."""
_ALL: tuple[SimulationPlan, ...] = (ColoringPlan(), SignaturePlan(), BaselinePlan())


def plan_simulation(engine: str) -> SimulationPlan:
    """Return the plan of an engine of that name."""
    return next(each for each in _ALL if each.name == engine)


def considered(model: CostModel) -> tuple[Candidate, ...]:
    """Return the plans of all engines, cheapest first."""
    candidates = [Candidate(each, nanoseconds(model, each), held(model)) for each in _ALL]
    return tuple(sorted(candidates, key=lambda candidate: candidate.nanoseconds))


def held(model: CostModel) -> float:
    """Return how many edges of the window can be query edges."""
    return sum(model.kinds()) * model.edges_in_window


def nanoseconds(model: CostModel, physical: SimulationPlan) -> float:
    """Estimate what a plan costs for an edge of the stream."""
    relevant = sum(model.kinds())
    fixpoint = LOOK * held(model)
    match physical:
        case ColoringPlan():
            # A component that could be whole is no larger than what the query asks for, were it not for chance.
            return relevant * (COLOR + whole(model) * LOOK * len(model.pattern.edges))
        case SignaturePlan():
            return relevant * (SIGN + whole(model) * fixpoint)
        case BaselinePlan():
            return relevant * (TAKE + fixpoint)


def whole(model: CostModel) -> float:
    """Estimate how likely the window has as many edges of each kind as the query."""
    wanted: dict[object, int] = {}
    shares: dict[object, float] = {}
    for edge in model.pattern.edges:
        ends = (model.pattern.vertex(edge.source), model.pattern.vertex(edge.target))
        kind = (edge.label, *((end.label, end.key) for end in ends))
        wanted[kind] = wanted.get(kind, 0) + 1
        shares[kind] = model.share(edge)
    return prod(_at_least(wanted[kind], shares[kind] * model.edges_in_window) for kind in wanted)


def _at_least(count: int, mean: float) -> float:
    """Return how likely a Poisson number of that mean is at least `count`."""
    if mean > _MANY:
        return 1.0
    terms = accumulate(range(1, count), lambda term, number: term * mean / number, initial=exp(-mean))
    return max(0.0, 1.0 - sum(terms))


_MANY = 500.0
"""A mean far beyond the edges that a query may have."""
