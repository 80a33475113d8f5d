"""A pattern with the plan that was chosen for it, and what the choice was made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeAlias

from graphtide_core.plans.isomorphism import IsomorphismPlan
from graphtide_core.plans.simulation import SimulationPlan

if TYPE_CHECKING:
    from dataclasses import Field

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.graph_query import GraphQuery
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans.algebra import ConsideredEngine, Derivation, GraphPlan
    from graphtide_core.plans.assigned import AssignedPlan, Candidate
    from graphtide_core.plans.events import EventPlan, Grouping

PhysicalPlan = IsomorphismPlan | SimulationPlan
"""How one engine matches one pattern."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A pattern and how it is matched; `considered` holds what the choice was made from, cheapest first, if there was one."""

    pattern: SubgraphPattern
    physical: PhysicalPlan
    considered: tuple[Candidate, ...] = ()
    kind: ClassVar[Literal["edges"]] = "edges"

    @property
    def native(self) -> Self:
        """The plan itself."""
        return self

    @property
    def engine(self) -> str:
        """Name of the engine that runs the plan."""
        return self.physical.name


@dataclass(frozen=True, slots=True)
class GroupedPlan:
    """An event pattern and how it is matched; its host decides what it is matched with."""

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

    `engines` are those that the plan was priced for, cheapest first; empty if there was no choice.
    """

    pattern: GraphQuery
    physical: Derivation
    considered: tuple[Candidate, ...] = ()
    engines: tuple[ConsideredEngine, ...] = ()

    @property
    def engine(self) -> str:
        """Name of the engine that runs the plan."""
        return self.physical.name


NativePlan: TypeAlias = "Plan | EventPlan | GraphPlan"
"""What the native matcher runs: it has one entry for each of these kinds, and no other."""


class AnyPlan(Protocol):
    """A pattern of any family and how it is matched."""

    @property
    def pattern(self) -> AnyPattern:
        """The pattern."""
        ...

    @property
    def engine(self) -> str:
        """Name of the engine that runs the plan."""
        ...

    @property
    def native(self) -> NativePlan:
        """The native matcher's form of the plan, the same object each time.

        It has the name and the version of the pattern, which records of matches state. Its matches are those of the
        pattern, and its parts are those that the family says of a match, in their order.
        """
        ...


class HostedPlan(Protocol):
    """A pattern of any family and what a host keeps of how it is matched; those of a unit become one with those beside them."""

    @property
    def pattern(self) -> AnyPattern:
        """The pattern."""
        ...

    @property
    def physical(self) -> object:
        """How it is matched; equal where nothing changes."""
        ...

    @property
    def engine(self) -> str:
        """Name of the engine that runs the plan."""
        ...


class Assigned(Protocol):
    """A pattern of any family and how a matcher is to match it: a frozen dataclass."""

    # `dataclasses.replace` asks for it.
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def pattern(self) -> AnyPattern:
        """The pattern."""
        ...

    @property
    def physical(self) -> AssignedPlan:
        """How it is to be matched."""
        ...

    @property
    def considered(self) -> tuple[Candidate, ...]:
        """The plans that were considered, cheapest first, if there was a choice."""
        ...

    @property
    def engine(self) -> str:
        """Name of the engine that runs the plan."""
        ...
