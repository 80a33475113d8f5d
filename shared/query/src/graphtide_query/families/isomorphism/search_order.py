"""The order in which a local search binds the edges of a pattern, for every edge that a match may be found from.

Greedy: next comes the edge that leaves the fewest bindings open. An edge between two bound vertices only filters; one that must
be later than the newest edge leaves none. Once the search has spent its work budget, orders are compared as they grow. The
estimates are the same except for rounding, so equals may change their order.

Reference: the matching orders of paper 003, section 2 (IncIsoMatch); the rule is our own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from graphtide_core.plans import SearchPlan

from graphtide_query.estimates.cost_model import MOST, members
from graphtide_query.families.isomorphism.growth import Growth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_query.estimates.budget import WorkBudget
    from graphtide_query.estimates.cost_model import CostModel

_MOST = math.log(MOST)


def plan_search(model: CostModel) -> SearchPlan:
    """Return the plan of the `re-search` engine. Complexity: O(n^3) estimates for n edges, O(n^2 log n) past the budget."""
    work_budget = model.work.search()
    orders = [_order(model, start, work_budget) for start in range(len(model.pattern.edges))]
    return SearchPlan(tuple(orders), tuple(fan_outs(model, order) for order in orders))


def fan_outs(model: CostModel, order: tuple[int, ...]) -> tuple[float, ...]:
    """Estimate, step by step, how many bindings a search in that order has open, from one edge."""
    if order not in model.fan_outs and model.has_evidence:
        # A growth knows no counted parts.
        model.fan_outs[order] = tuple(_open_bindings(model, order[: depth + 1]) for depth in range(len(order)))
    if order not in model.fan_outs:
        growth = Growth(model, order[0])
        for edge in order[1:]:
            growth.bind(edge)
        model.fan_outs[order] = _counts(growth)
    return model.fan_outs[order]


def matches_from(model: CostModel, start: int) -> float:
    """Estimate how many matches the arrival of an edge that the query edge can match completes."""
    others = [edge for edge in range(len(model.pattern.edges)) if edge != start]
    return _open_bindings(model, (start, *others))


def _order(model: CostModel, start: int, work_budget: WorkBudget) -> tuple[int, ...]:
    order: tuple[int, ...] = (start,)
    opened = [_open_bindings(model, order)]
    while len(order) < len(model.pattern.edges):
        if work_budget.left == 0:
            return _grown_order(model, order)
        near = members(model.near(order))
        # Where nothing is open, nothing is with any edge more.
        weighed = [(_open_bindings(model, (*order, edge)), edge) for edge in near] if opened[-1] > 0 else [(0.0, near[0])]
        fewest, edge = min(weighed)
        order = (*order, edge)
        opened.append(fewest)
    model.fan_outs[order] = tuple(opened)
    return order


def _grown_order(model: CostModel, begun: Sequence[int]) -> tuple[int, ...]:
    growth = Growth(model, begun[0])
    for edge in begun[1:]:
        growth.bind(edge)
    growth.complete()
    order = tuple(growth.order)
    model.fan_outs[order] = _counts(growth)
    return order


def _counts(growth: Growth) -> tuple[float, ...]:
    return tuple(math.exp(min(_MOST, opened)) for opened in growth.opened)


def _open_bindings(model: CostModel, bound: Sequence[int]) -> float:
    """Estimate how many bindings of these edges hold one edge of the first, which is the newest: none is later."""
    start, *others = bound
    alive = model.alive(start)
    if any(model.precedes(start, other) for other in others):
        return 0.0
    return model.occurrences(bound) / alive * model.consistent(others) if alive > 0 else 0.0
