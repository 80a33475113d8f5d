"""A pattern with the plan that was chosen for it, and what the choice was made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.plans.algebra import Derivation, GraphPlan
from graphtide_core.plans.events import EventPlan, Grouping
from graphtide_core.plans.isomorphism import IsomorphismPlan
from graphtide_core.plans.simulation import SimulationPlan

if TYPE_CHECKING:
    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.graph_query import GraphQuery
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans.algebra import ConsideredEngine

PhysicalPlan = IsomorphismPlan | SimulationPlan
"""How one engine matches one pattern."""

AssignedPlan = PhysicalPlan | Grouping | Derivation
"""How a matcher is told to match a pattern of any family."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan that was considered, with its estimated cost.

    Attributes:
        physical: the plan.
        nanoseconds: for an edge of the stream.
        partial_matches: alive.
        reason: why it costs that, or cannot be taken, in a few words; empty where nobody said.
    """

    physical: AssignedPlan
    nanoseconds: float
    partial_matches: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A pattern and how it is matched; `considered` holds what the choice was made from, cheapest first, if there was one."""

    pattern: SubgraphPattern
    physical: PhysicalPlan
    considered: tuple[Candidate, ...] = ()

    @property
    def engine(self) -> str:
        """Name of the engine that runs the plan."""
        return self.physical.name


@dataclass(frozen=True, slots=True)
class GroupedPlan:
    """An event pattern and how it is to be matched; what it is matched with is for whoever matches it to say."""

    pattern: EventPattern
    physical: Grouping
    considered: tuple[Candidate, ...] = ()

    @property
    def engine(self) -> str:
        """Name of the engine that runs the plan."""
        return self.physical.name


@dataclass(frozen=True, slots=True)
class DerivedPlan:
    """A streaming graph query and how the plan that answers it follows from it; `considered` is as of `Plan`.

    `engines` are those that the plan was priced for, cheapest first; none where nobody chose between them.
    """

    pattern: GraphQuery
    physical: Derivation
    considered: tuple[Candidate, ...] = ()
    engines: tuple[ConsideredEngine, ...] = ()

    @property
    def engine(self) -> str:
        """Name of the engine that runs the plan."""
        return self.physical.name


Assigned = Plan | GroupedPlan | DerivedPlan
"""A pattern of any family and how a matcher is told to match it."""


HostedPlan = Plan | GroupedPlan | GraphPlan
"""A pattern of any family and what a host keeps of how it is matched; event patterns become units with those beside them."""

AnyPlan = Plan | EventPlan | GraphPlan
"""A pattern of any family and how it is matched."""
