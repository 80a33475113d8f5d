"""The engine `ddst-baseline`: the fixpoint over the whole window, for each edge that can be a query edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.plans import BaselinePlan

from graphtide_query.families.simulation.costs import cost_of, pairs
from graphtide_query.families.simulation.steps import steps

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern

    from graphtide_query.estimates.colocation import EngineLoad
    from graphtide_query.estimates.cost import Cost
    from graphtide_query.estimates.cost_model import CostModel
    from graphtide_query.nodes import Node

TAKE: Final = 490.0
"""Nanoseconds for an edge that can be a query edge, without the fixpoint: as `SIGN`, since a fit cannot separate them."""


class Baseline:
    """See `Engine`."""

    name: Final = "ddst-baseline"
    variants: Final = ()

    def plan(self, _model: CostModel, _variant: str | None) -> BaselinePlan:
        """See `Engine`."""
        return BaselinePlan()

    def variant_of(self, _physical: BaselinePlan) -> None:
        """See `Engine`."""

    def cost(self, model: CostModel, _physical: BaselinePlan, _engine_load: EngineLoad) -> Cost:
        """See `Engine`."""
        return cost_of(model, TAKE, sum(model.kinds()), pairs(model))

    def stored(self, _physical: BaselinePlan) -> tuple[()]:
        """See `Engine`."""
        return ()

    def settings(self, _pattern: SubgraphPattern, _physical: BaselinePlan) -> dict[str, str]:
        """See `Engine`."""
        return {"state": "the window's edges that can be query edges"}

    def nodes(self, pattern: SubgraphPattern, _physical: BaselinePlan, partial_matches: float | None) -> tuple[Node, ...]:
        """See `Engine`."""
        return steps(pattern, partial_matches, "the window's edges")


BASELINE: Final = Baseline()
