"""What a plan costs on a stream as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_query.estimates.crowd import ALONE
from graphtide_query.families import engine_of

if TYPE_CHECKING:
    from graphtide_core.plans import PhysicalPlan

    from graphtide_query.estimates.cost import Cost
    from graphtide_query.estimates.cost_model import CostModel
    from graphtide_query.estimates.crowd import Crowd


def cost(model: CostModel, physical: PhysicalPlan, crowd: Crowd = ALONE) -> Cost:
    """Estimate what a plan costs in its company. Complexity: O(n^3) for n edges.

    Sizes are estimated anew: the plan may have been made when the stream was another.

    Raises:
        LookupError: there is no engine of the plan's name.
    """
    return engine_of(physical).cost(model, physical, crowd.by(physical.name))
