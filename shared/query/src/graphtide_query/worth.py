"""What a plan costs on a stream as it is now, and whether another is worth the change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_query.estimates.cost_model import CostModel
from graphtide_query.estimates.crowd import ALONE
from graphtide_query.families import engine_of

if TYPE_CHECKING:
    from graphtide_core.plans import PhysicalPlan, Plan
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.window import Extent

    from graphtide_query.estimates.cost import Cost
    from graphtide_query.estimates.crowd import Crowd


def cost(model: CostModel, physical: PhysicalPlan, crowd: Crowd = ALONE) -> Cost:
    """Estimate what a plan costs in its company. Complexity: O(n^3) for n edges.

    Sizes are estimated anew: the plan may have been made when the stream was another.

    Raises:
        LookupError: there is no engine of the plan's name.
    """
    return engine_of(physical).cost(model, physical, crowd.by(physical.name))


def is_worth_it(
    old: Plan, new: Plan, known: StatisticsSnapshot, extent: Extent, margin: float, *, crowd: Crowd = ALONE
) -> bool:
    """Whether the new plan is estimated cheaper than the old one by the margin, on the stream as it is known now.

    Args:
        old: the plan that runs.
        new: the plan that would.
        known: statistics of the stream now.
        extent: the pattern's window on the stream.
        margin: share of the old cost that the new one must stay below.
        crowd: the company of each of the two.
    """
    if new.physical == old.physical:
        return False
    model = CostModel(old.pattern, known, extent)
    then, now = (cost(model, each.physical, crowd).nanoseconds for each in (old, new))
    return now < margin * then
