"""The order in which a local search binds the edges of a pattern, for every edge that a match may be found from.

Greedy: next comes the edge that leaves the fewest bindings open. An edge between two bound vertices only filters; an edge that
the order relates to a bound edge has a narrower range of time, so its fan-out is halved for each.

Reference: the matching orders of paper 003, section 2 (IncIsoMatch); the rule is our own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from graphtide_core.plan import SearchPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_query.search.cost_model import CostModel


def plan_search(model: CostModel) -> SearchPlan:
    """Return the plan of the `re-search` engine. Complexity: O(n^3) for n edges."""
    orders = tuple(_order(model, start) for start in range(len(model.pattern.edges)))
    return SearchPlan(orders, tuple(fan_outs(model, order) for order in orders))


def fan_outs(model: CostModel, order: Sequence[int]) -> tuple[float, ...]:
    """Estimate, step by step, how many bindings a search in that order has open."""
    open_bindings = [1.0]
    for depth in range(1, len(order)):
        open_bindings.append(open_bindings[-1] * _narrowed(model, order[:depth], order[depth]))
    return tuple(open_bindings)


def _order(model: CostModel, start: int) -> tuple[int, ...]:
    order = [start]
    while len(order) < len(model.pattern.edges):
        ends = model.ends(order)
        _, edge = min(
            (_narrowed(model, order, number), number)
            for number, edge in enumerate(model.pattern.edges)
            if number not in order and (edge.source in ends or edge.target in ends)
        )
        order.append(edge)
    return tuple(order)


def _narrowed(model: CostModel, bound: Sequence[int], edge: int) -> float:
    names, order = model.pattern.edges, model.pattern.order
    name = names[edge].name
    related = sum(order.precedes(names[b].name, name) or order.precedes(name, names[b].name) for b in bound)
    return model.fan_out(bound, edge) / math.pow(2, related)
