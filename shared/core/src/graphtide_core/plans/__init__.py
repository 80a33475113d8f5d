"""The plan IR: how one pattern is to be matched, by the engines of each family."""

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
from graphtide_core.plans.plan import Candidate, PhysicalPlan, Plan
from graphtide_core.plans.simulation import (
    MOST_PRIME,
    BaselinePlan,
    ColoringPlan,
    SignaturePlan,
    SimulationPlan,
)

__all__ = [
    "MOST_PRIME",
    "BaselinePlan",
    "Candidate",
    "ColoringPlan",
    "EdgeIndex",
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
