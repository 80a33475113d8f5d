"""The engine `filtering`: a search among candidates that the timing order leaves; it pays for those it keeps and visits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_query.estimates.cost import Cost, Part, format_number
from graphtide_query.families.isomorphism.candidates import candidates, plan_filtering
from graphtide_query.families.isomorphism.costs import Weights, stream_of
from graphtide_query.families.isomorphism.re_search import search_nodes
from graphtide_query.nodes import Node, draw

if TYPE_CHECKING:
    from graphtide_core.pattern import QueryEdge, SubgraphPattern
    from graphtide_core.plans import FilteringPlan

    from graphtide_query.estimates.colocation import EngineLoad
    from graphtide_query.estimates.cost_model import CostModel

WEIGHTS: Final = Weights(10.8, 85.9, 19.5, 0.0, 45.0, 29.8)
KEEP: Final = 13.0
"""Nanoseconds to keep a candidate in the lists: not every edge that can be a query edge is kept."""


class Filtering:
    """See `Engine`."""

    name: Final = "filtering"
    variants: Final = ()

    def plan(self, model: CostModel, _variant: str | None) -> FilteringPlan:
        """See `Engine`."""
        return plan_filtering(model)

    def variant_of(self, _physical: FilteringPlan) -> None:
        """See `Engine`."""

    def cost(self, model: CostModel, physical: FilteringPlan, engine_load: EngineLoad) -> Cost:
        """See `Engine`."""
        stream = model.once(stream_of)
        kept = sum(candidates(model)) / model.edges_in_window
        visits = stream.visits(physical.orders, physical.starts)
        parts = stream.parts(WEIGHTS, engine_load, visits, "visits to others", stream.matches(physical.starts))
        return Cost((*parts, Part(KEEP * kept, f"{format_number(kept)} candidates kept an edge")), 0.0)

    def stored(self, _physical: FilteringPlan) -> tuple[()]:
        """See `Engine`."""
        return ()

    def settings(self, _pattern: SubgraphPattern, _physical: FilteringPlan) -> dict[str, str]:
        """See `Engine`."""
        return {"state": "none: the window's edges that the order leaves of use"}

    def nodes(self, pattern: SubgraphPattern, physical: FilteringPlan, _partial_matches: float | None) -> tuple[Node, ...]:
        """See `Engine`: the filter of each edge, and the search from each edge that no other must follow."""
        kept = _candidate_nodes(pattern, physical)
        return kept + search_nodes(pattern, physical.starts, physical.orders, physical.fan_outs)


FILTERING: Final = Filtering()


def _candidate_nodes(pattern: SubgraphPattern, plan: FilteringPlan) -> tuple[Node, ...]:
    estimates = plan.candidates or (None,) * len(pattern.edges)
    nodes: list[Node] = []
    for last, estimate in zip(pattern.edges, estimates, strict=True):
        touching = [e.name for e in pattern.edges if pattern.order.precedes(e.name, last.name) and _touch(e, last)]
        after = f" after {', '.join(touching)}" if touching else ""
        inputs = tuple(f"{name}.kept" for name in touching)
        nodes.append(Node(f"{last.name}.kept", f"keep {draw(pattern, last)}{after}", inputs, estimate))
    return tuple(nodes)


def _touch(left: QueryEdge, right: QueryEdge) -> bool:
    return bool({left.source, left.target} & {right.source, right.target})
