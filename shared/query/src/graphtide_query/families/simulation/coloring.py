"""The engine `ddst-coloring`: edges coloured by what they can match, and components of those that could be whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.plans import ColoringPlan

from graphtide_query.families.simulation.costs import cost_of, estimate_verified, vicinity
from graphtide_query.families.simulation.steps import steps

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern

    from graphtide_query.estimates.colocation import EngineLoad
    from graphtide_query.estimates.cost import Cost
    from graphtide_query.estimates.cost_model import CostModel
    from graphtide_query.nodes import Node

COLOR: Final = 540.0
"""Nanoseconds for an edge that can be a query edge."""


class Coloring:
    """See `Engine`."""

    name: Final = "ddst-coloring"
    variants: Final = ()

    def plan(self, _model: CostModel, _variant: str | None) -> ColoringPlan:
        """See `Engine`."""
        return ColoringPlan()

    def variant_of(self, _physical: ColoringPlan) -> None:
        """See `Engine`."""

    def cost(self, model: CostModel, _physical: ColoringPlan, _engine_load: EngineLoad) -> Cost:
        """See `Engine`."""
        return cost_of(model, COLOR, estimate_verified(model, by_kind=True), vicinity(model))

    def stored(self, _physical: ColoringPlan) -> tuple[()]:
        """See `Engine`."""
        return ()

    def settings(self, _pattern: SubgraphPattern, _physical: ColoringPlan) -> dict[str, str]:
        """See `Engine`."""
        return {"state": "the window's edges that can be query edges, coloured; components of those that could be whole"}

    def nodes(self, pattern: SubgraphPattern, _physical: ColoringPlan, partial_matches: float | None) -> tuple[Node, ...]:
        """See `Engine`."""
        return steps(
            pattern,
            partial_matches,
            "the component of the edge",
            "edges whose ends have all their edges, in a component that could be whole",
        )


COLORING: Final = Coloring()
