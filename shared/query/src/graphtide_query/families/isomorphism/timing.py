"""The engine `timing`: expansion lists over a TC decomposition; it pays for every partial match that it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.plans import Storage, TimingPlan

from graphtide_query.estimates.cost import Cost
from graphtide_query.families.isomorphism.costs import Weights, stream_of
from graphtide_query.families.isomorphism.tc_decomposition import items, plan_timing
from graphtide_query.nodes import Node, draw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.pattern import SubgraphPattern

    from graphtide_query.estimates.colocation import EngineLoad
    from graphtide_query.estimates.cost_model import CostModel

WEIGHTS: Final = Weights(15.2, 10.6, 24.3, 15.6, 120.5, 126.8)


class Timing:
    """See `Engine`; a variant is a `Storage`."""

    name: Final = "timing"
    variants: Final = tuple(storage.value for storage in Storage)

    def plan(self, model: CostModel, variant: str | None) -> TimingPlan:
        """See `Engine`."""
        return plan_timing(model, Storage.MS_DAG if variant is None else Storage(variant))

    def variant_of(self, physical: TimingPlan) -> str:
        """See `Engine`."""
        return physical.storage.value

    def cost(self, model: CostModel, physical: TimingPlan, engine_load: EngineLoad) -> Cost:
        """See `Engine`."""
        stream = model.once(stream_of)
        alive, made = stream.stored(self.stored(physical))
        matches = stream.matches(range(len(stream.shares)))
        parts = stream.parts(WEIGHTS, engine_load, made, "partial matches made", matches)
        return Cost((*parts, stream.cold(engine_load)), alive)

    def stored(self, physical: TimingPlan) -> list[tuple[str, tuple[int, ...]]]:
        """See `Engine`."""
        return items(physical.subqueries)

    def settings(self, pattern: SubgraphPattern, physical: TimingPlan) -> dict[str, str]:
        """See `Engine`."""
        decomposition = " ⋈ ".join(_sequence(pattern, edges) for edges in physical.subqueries)
        return {"storage": physical.storage.value, "decomposition": decomposition}

    def nodes(self, pattern: SubgraphPattern, physical: TimingPlan, _partial_matches: float | None) -> tuple[Node, ...]:
        """See `Engine`: an item each, and the report."""
        estimates = dict(physical.cardinalities)
        nodes: list[Node] = []

        def add(name: str, does: str, inputs: tuple[str, ...]) -> None:
            nodes.append(Node(name, does, inputs, estimates.get(name)))

        whole: list[str] = []
        for number, sequence in enumerate(physical.subqueries, start=1):
            for depth, edge in enumerate(sequence, start=1):
                does = draw(pattern, pattern.edges[edge])
                inputs = () if depth == 1 else (nodes[-1].name,)
                add(f"L{number}.{depth}", does if depth == 1 else f"extend by {does}", inputs)
            whole.append(nodes[-1].name)
        left = whole[0]
        bound = _ends(pattern, physical.subqueries[0])
        for level, (right, sequence) in enumerate(zip(whole[1:], physical.subqueries[1:], strict=True), start=2):
            ends = _ends(pattern, sequence)
            add(f"L0.{level}", f"join on {', '.join(sorted(bound & ends))}", (left, right))
            left, bound = f"L0.{level}", bound | ends
        nodes.append(Node("match", "report", (left,)))
        return tuple(nodes)


TIMING: Final = Timing()


def _sequence(pattern: SubgraphPattern, edges: Sequence[int]) -> str:
    return "{" + " < ".join(pattern.edges[edge].name for edge in edges) + "}"


def _ends(pattern: SubgraphPattern, edges: Sequence[int]) -> set[str]:
    return {end for edge in edges for end in (pattern.edges[edge].source, pattern.edges[edge].target)}
