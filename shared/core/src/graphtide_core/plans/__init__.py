"""The plan IR: how one pattern is to be matched, by the engines of each family."""

from graphtide_core.plans.algebra import AlgebraPlan, ConsideredEngine, ConsideredPlan, GraphPlan, PathEngine
from graphtide_core.plans.events import AGGREGATION, AggregationPlan, EventPlan, EventRates, EventUnit, Grouping
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
from graphtide_core.plans.plan import AnyPlan, Assigned, AssignedPlan, Candidate, GroupedPlan, PhysicalPlan, Plan, assigned
from graphtide_core.plans.simulation import (
    MOST_PRIME,
    BaselinePlan,
    ColoringPlan,
    SignaturePlan,
    SimulationPlan,
)

__all__ = [
    "AGGREGATION",
    "MOST_PRIME",
    "AggregationPlan",
    "AlgebraPlan",
    "AnyPlan",
    "Assigned",
    "AssignedPlan",
    "BaselinePlan",
    "Candidate",
    "ColoringPlan",
    "ConsideredEngine",
    "ConsideredPlan",
    "EdgeIndex",
    "EventPlan",
    "EventRates",
    "EventUnit",
    "FilteringPlan",
    "GraphPlan",
    "GroupedPlan",
    "Grouping",
    "IsomorphismPlan",
    "PathEngine",
    "PhysicalPlan",
    "Plan",
    "SearchPlan",
    "SignaturePlan",
    "SimulationPlan",
    "SjTreePlan",
    "SjTreeStrategy",
    "Storage",
    "TimingPlan",
    "assigned",
]
