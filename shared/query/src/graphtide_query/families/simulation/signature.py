"""The engine `ddst-signature`: the fixpoint where the signature of the window's edges says that there may be a match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.plans import SignaturePlan

from graphtide_query.families.simulation.costs import cost_of, estimate_verified, vicinity
from graphtide_query.families.simulation.steps import steps

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern

    from graphtide_query.estimates.colocation import EngineLoad
    from graphtide_query.estimates.cost import Cost
    from graphtide_query.estimates.cost_model import CostModel
    from graphtide_query.nodes import Node

SIGN: Final = 490.0
"""Nanoseconds for an edge that can be a query edge, the check of the signature with it."""


class Signature:
    """See `Engine`."""

    name: Final = "ddst-signature"
    variants: Final = ()

    def plan(self, _model: CostModel, _variant: str | None) -> SignaturePlan:
        """See `Engine`."""
        return SignaturePlan()

    def variant_of(self, _physical: SignaturePlan) -> None:
        """See `Engine`."""

    def cost(self, model: CostModel, _physical: SignaturePlan, _engine_load: EngineLoad) -> Cost:
        """See `Engine`."""
        return cost_of(model, SIGN, estimate_verified(model, by_kind=False), vicinity(model))

    def stored(self, _physical: SignaturePlan) -> tuple[()]:
        """See `Engine`."""
        return ()

    def settings(self, _pattern: SubgraphPattern, physical: SignaturePlan) -> dict[str, str]:
        """See `Engine`."""
        return {
            "state": "the window's edges that can be query edges, and their signature",
            "prime": str(physical.prime),
            "seed": str(physical.seed),
        }

    def nodes(self, pattern: SubgraphPattern, _physical: SignaturePlan, partial_matches: float | None) -> tuple[Node, ...]:
        """See `Engine`."""
        return steps(
            pattern,
            partial_matches,
            "the edges of the window that the edge is connected with",
            "edges whose ends have all their edges, where the window's signature allows a match",
        )


SIGNATURE: Final = Signature()
