"""The engine `re-search`: a search around each new edge, which stores nothing; it pays for every edge that it visits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_query.estimates.cost import Cost
from graphtide_query.families.isomorphism.costs import Weights, stream_of
from graphtide_query.families.isomorphism.search_order import plan_search
from graphtide_query.nodes import Node, draw

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import SearchPlan

    from graphtide_query.estimates.colocation import EngineLoad
    from graphtide_query.estimates.cost_model import CostModel

WEIGHTS: Final = Weights(14.7, 116.0, 14.3, 0.0, 45.0, 15.7)


class ReSearch:
    """See `Engine`."""

    name: Final = "re-search"
    variants: Final = ()

    def plan(self, model: CostModel, _variant: str | None) -> SearchPlan:
        """See `Engine`."""
        return model.once(plan_search)

    def variant_of(self, _physical: SearchPlan) -> None:
        """See `Engine`."""

    def cost(self, model: CostModel, physical: SearchPlan, engine_load: EngineLoad) -> Cost:
        """See `Engine`."""
        stream = model.once(stream_of)
        everywhere = range(len(stream.shares))
        visits = stream.visits(physical.orders, everywhere)
        return Cost(stream.parts(WEIGHTS, engine_load, visits, "visits to others", stream.matches(everywhere)), 0.0)

    def stored(self, _physical: SearchPlan) -> tuple[()]:
        """See `Engine`."""
        return ()

    def settings(self, _pattern: SubgraphPattern, _physical: SearchPlan) -> dict[str, str]:
        """See `Engine`."""
        return {"state": "none: the window's edges alone"}

    def nodes(self, pattern: SubgraphPattern, physical: SearchPlan, _partial_matches: float | None) -> tuple[Node, ...]:
        """See `Engine`: the search from each edge."""
        return search_nodes(pattern, range(len(physical.orders)), physical.orders, physical.fan_outs)


RE_SEARCH: Final = ReSearch()


def search_nodes(
    pattern: SubgraphPattern,
    starts: Iterable[int],
    orders: Sequence[Sequence[int]],
    estimates: Sequence[Sequence[float]],
) -> tuple[Node, ...]:
    """Return the steps of the searches that start at some edges."""
    nodes: list[Node] = []
    for start in starts:
        order = orders[start]
        fan_outs = estimates[start] if estimates else (None,) * len(order)
        before = ""
        for depth, (edge, fan_out) in enumerate(zip(order, fan_outs, strict=True)):
            name = f"{pattern.edges[start].name}.{depth + 1}"
            verb = "arrives: " if depth == 0 else "look up "
            nodes.append(Node(name, verb + draw(pattern, pattern.edges[edge]), (before,) if before else (), fan_out))
            before = name
    return tuple(nodes)
