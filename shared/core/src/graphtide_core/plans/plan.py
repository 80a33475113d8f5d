"""A pattern with the plan that was chosen for it, and what the choice was made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

from graphtide_core.event_pattern import EventPattern
from graphtide_core.graph_query import GraphQuery
from graphtide_core.plans.algebra import Derivation, GraphPlan
from graphtide_core.plans.events import EventPlan, Grouping
from graphtide_core.plans.isomorphism import IsomorphismPlan
from graphtide_core.plans.simulation import SimulationPlan

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern
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


@overload
def assigned(pattern: SubgraphPattern, physical: AssignedPlan, considered: tuple[Candidate, ...] = ()) -> Plan: ...


@overload
def assigned(pattern: EventPattern, physical: AssignedPlan, considered: tuple[Candidate, ...] = ()) -> GroupedPlan: ...


@overload
def assigned(pattern: AnyPattern, physical: AssignedPlan, considered: tuple[Candidate, ...] = ()) -> Assigned: ...


def assigned(pattern: AnyPattern, physical: AssignedPlan, considered: tuple[Candidate, ...] = ()) -> Assigned:
    """Return a pattern with how it is to be matched.

    Raises:
        ValueError: a pattern of this family cannot be matched so.
    """
    if isinstance(pattern, EventPattern) and isinstance(physical, Grouping):
        return GroupedPlan(pattern, physical, considered)
    if isinstance(pattern, GraphQuery) and isinstance(physical, Derivation):
        return DerivedPlan(pattern, physical, considered)
    if not isinstance(pattern, EventPattern | GraphQuery) and not isinstance(physical, Grouping | Derivation):
        return Plan(pattern, physical, considered)
    message = f"the engine {physical.name} does not match patterns of the family of {pattern.name!r}"
    raise ValueError(message)


AnyPlan = Plan | EventPlan | GraphPlan
"""A pattern of any family and how it is matched."""
