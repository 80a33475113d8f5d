"""The plan IR: how one pattern is to be matched, by the engines of each family."""

from graphtide_core.plans.events import AggregationPlan, EventPlan, EventUnit
from graphtide_core.plans.isomorphism import (
    EdgeIndex,
    FilteringPlan,
    IsomorphismPlan,
    SearchPlan,
    SjTreePlan,
    SjTreeStrategy,
    Storage,
    TimingPlan,
)
from graphtide_core.plans.plan import AnyPlan, Candidate, PhysicalPlan, Plan
from graphtide_core.plans.simulation import (
    MOST_PRIME,
    BaselinePlan,
    ColoringPlan,
    SignaturePlan,
    SimulationPlan,
)

__all__ = [
    "MOST_PRIME",
    "AggregationPlan",
    "AnyPlan",
    "BaselinePlan",
    "Candidate",
    "ColoringPlan",
    "EdgeIndex",
    "EventPlan",
    "EventUnit",
    "FilteringPlan",
    "IsomorphismPlan",
    "PhysicalPlan",
    "Plan",
    "SearchPlan",
    "SignaturePlan",
    "SimulationPlan",
    "SjTreePlan",
    "SjTreeStrategy",
    "Storage",
    "TimingPlan",
]
