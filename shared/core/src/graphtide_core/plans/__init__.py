"""The plan IR: how one pattern is to be matched, by the engines of each family.

Plans of event patterns and of graph queries are loaded when they are named: most runs have patterns of edges alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from graphtide_core.plans.assigned import AssignedPlan, Candidate, CountedPart
from graphtide_core.plans.classes import plan_classes
from graphtide_core.plans.engines import AGGREGATION, PathEngine
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
from graphtide_core.plans.plan import (
    AnyPlan,
    Assigned,
    DerivedPlan,
    GroupedPlan,
    HostedPlan,
    NativePlan,
    PhysicalPlan,
    Plan,
)
from graphtide_core.plans.simulation import (
    MOST_PRIME,
    BaselinePlan,
    ColoringPlan,
    SignaturePlan,
    SimulationPlan,
)

if TYPE_CHECKING:
    from graphtide_core.plans.algebra import (
        MOST_REWRITINGS,
        AlgebraPlan,
        ConsideredEngine,
        ConsideredPlan,
        Derivation,
        GraphPlan,
        JoinSteps,
        Rewriting,
    )
    from graphtide_core.plans.events import AggregationPlan, EventPlan, EventRates, EventUnit, Grouping

__all__ = [
    "AGGREGATION",
    "MOST_PRIME",
    "MOST_REWRITINGS",
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
    "CountedPart",
    "Derivation",
    "DerivedPlan",
    "EdgeIndex",
    "EventPlan",
    "EventRates",
    "EventUnit",
    "FilteringPlan",
    "GraphPlan",
    "GroupedPlan",
    "Grouping",
    "HostedPlan",
    "IsomorphismPlan",
    "JoinSteps",
    "NativePlan",
    "PathEngine",
    "PhysicalPlan",
    "Plan",
    "Rewriting",
    "SearchPlan",
    "SignaturePlan",
    "SimulationPlan",
    "SjTreePlan",
    "SjTreeStrategy",
    "Storage",
    "TimingPlan",
    "plan_classes",
]

_MODULES: Final = {
    "graphtide_core.plans.algebra": (
        "MOST_REWRITINGS",
        "AlgebraPlan",
        "ConsideredEngine",
        "ConsideredPlan",
        "Derivation",
        "GraphPlan",
        "JoinSteps",
        "Rewriting",
    ),
    "graphtide_core.plans.events": ("AggregationPlan", "EventPlan", "EventRates", "EventUnit", "Grouping"),
}
"""Where each name is that is loaded when it is used."""

_MODULE_OF: Final = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    found: Any = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = found
    return found
