"""The engine `sj-tree`: a left-deep subgraph join tree; it pays for every partial match that it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.plans import SjTreePlan, SjTreeStrategy

from graphtide_query.estimates.cost import Cost
from graphtide_query.families.isomorphism.costs import Weights, stream_of
from graphtide_query.families.isomorphism.selectivity import frequencies_of
from graphtide_query.families.isomorphism.sj_decomposition import plan_sj_tree, store
from graphtide_query.nodes import Node, draw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.pattern import SubgraphPattern

    from graphtide_query.estimates.colocation import EngineLoad
    from graphtide_query.estimates.cost_model import CostModel

WEIGHTS: Final = Weights(9.4, 64.9, 25.9, 20.2, 80.9, 88.6)


class SjTree:
    """See `Engine`; a variant is an `SjTreeStrategy`, by default chosen by Relative Selectivity."""

    name: Final = "sj-tree"
    variants: Final = tuple(strategy.value for strategy in SjTreeStrategy)

    def plan(self, model: CostModel, variant: str | None) -> SjTreePlan:
        """See `Engine`."""
        return plan_sj_tree(model, frequencies_of(model), None if variant is None else SjTreeStrategy(variant))

    def variant_of(self, physical: SjTreePlan) -> str:
        """See `Engine`."""
        return physical.strategy.value

    def cost(self, model: CostModel, physical: SjTreePlan, engine_load: EngineLoad) -> Cost:
        """See `Engine`."""
        stream = model.once(stream_of)
        alive, made = stream.stored(self.stored(physical))
        matches = stream.matches(range(len(stream.shares)))
        parts = stream.parts(WEIGHTS, engine_load, made, "partial matches made", matches)
        return Cost((*parts, stream.cold(engine_load)), alive)

    def stored(self, physical: SjTreePlan) -> list[tuple[str, tuple[int, ...]]]:
        """See `Engine`."""
        return store(physical.leaves, physical.strategy)

    def settings(self, pattern: SubgraphPattern, physical: SjTreePlan) -> dict[str, str]:
        """See `Engine`."""
        leaves = " ⋈ ".join(_primitive(pattern, leaf) for leaf in physical.leaves)
        return {"strategy": physical.strategy.value, "leaves": leaves}

    def nodes(self, pattern: SubgraphPattern, physical: SjTreePlan, _partial_matches: float | None) -> tuple[Node, ...]:
        """See `Engine`: leaves and joins, and the report."""
        estimates = dict(physical.cardinalities)
        nodes: list[Node] = []
        left, bound = "", set[str]()
        for number, leaf in enumerate(physical.leaves, start=1):
            name = f"P{number}"
            does = ", ".join(draw(pattern, pattern.edges[edge]) for edge in leaf)
            ends = {end for edge in leaf for end in (pattern.edges[edge].source, pattern.edges[edge].target)}
            cut = ", ".join(sorted(bound & ends))
            lazily = f" where {left} has {cut}" if physical.strategy.is_lazy and left else ""
            nodes.append(Node(name, f"search {does}{lazily}", (), estimates.get(name)))
            joined = f"J{number}"
            if left:
                nodes.append(Node(joined, f"join on {cut}", (left, name), estimates.get(joined)))
            left, bound = joined if left else name, bound | ends
        nodes.append(Node("match", "report", (left,)))
        return tuple(nodes)


SJ_TREE: Final = SjTree()


def _primitive(pattern: SubgraphPattern, leaf: Sequence[int]) -> str:
    return "{" + ", ".join(pattern.edges[edge].name for edge in leaf) + "}"
