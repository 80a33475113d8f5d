"""Plan the `filtering` engine: where its searches start, their orders, and how many candidates are alive.

An edge is a candidate of a query edge under one condition. The query edges that touch it and must be earlier have
candidates at the same vertex when it arrives. A vertex has one with probability 1 - exp(-m) for m candidates a vertex, as edges
are taken to be spread evenly.

Reference: Min et al., Time-Constrained Continuous Subgraph Matching (ICDE 2024), section 4; the estimate is our own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from graphtide_core.plans import FilteringPlan

from graphtide_query.families.isomorphism.search_order import plan_search

if TYPE_CHECKING:
    from graphtide_query.estimates.cost_model import CostModel


def plan_filtering(model: CostModel) -> FilteringPlan:
    """Return the plan of the `filtering` engine, with the search orders of `re-search`."""
    search = model.once(plan_search)
    pattern = model.pattern
    earlier = _earlier(model)
    followed = {edge for each in earlier for edge in each}
    starts = tuple(edge for edge in range(len(pattern.edges)) if edge not in followed)
    return FilteringPlan(search.orders, starts, candidates(model), search.fan_outs)


def _earlier(model: CostModel) -> list[list[int]]:
    names = [edge.name for edge in model.pattern.edges]
    order = model.pattern.order
    return [[other for other, first in enumerate(names) if order.precedes(first, last)] for last in names]


def candidates(model: CostModel) -> tuple[float, ...]:
    """Estimate how many edges of the window are candidates of each query edge."""
    earlier = _earlier(model)
    alive = [model.alive(edge) for edge in range(len(earlier))]
    # Edges that must be earlier have fewer before them: the order is transitive.
    for edge in sorted(range(len(earlier)), key=lambda each: len(earlier[each])):
        for other in earlier[edge]:
            if model.ends([edge]) & model.ends([other]):
                alive[edge] *= -math.expm1(-alive[other] * model.meeting(edge, other))
    return tuple(alive)
