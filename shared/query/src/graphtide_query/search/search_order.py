"""The order in which a local search binds the edges of a pattern, for every edge that a match may be found from.

Greedy: next comes the edge that leaves the fewest bindings open. An edge between two bound vertices only filters; one that must
be later than the newest edge leaves none.

Reference: the matching orders of paper 003, section 2 (IncIsoMatch); the rule is our own.
"""

from __future__ import annotations

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
    """Estimate, step by step, how many bindings a search in that order has open, from one edge."""
    return tuple(_open_bindings(model, order[:depth]) for depth in range(1, len(order) + 1))


def _order(model: CostModel, start: int) -> tuple[int, ...]:
    order: tuple[int, ...] = (start,)
    while len(order) < len(model.pattern.edges):
        ends = model.ends(order)
        _, edge = min(
            (_open_bindings(model, (*order, number)), number)
            for number, edge in enumerate(model.pattern.edges)
            if number not in order and (edge.source in ends or edge.target in ends)
        )
        order = (*order, edge)
    return order


def _open_bindings(model: CostModel, bound: Sequence[int]) -> float:
    """Estimate how many bindings of these edges hold one edge of the first, which is the newest: none is later."""
    start, *others = bound
    if any(model.precedes(start, other) for other in others):
        return 0.0
    alive = model.alive(start)
    return model.occurrences(bound) / alive * model.consistent(others) if alive > 0 else 0.0
