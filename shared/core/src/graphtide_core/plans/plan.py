"""A pattern with the plan that was chosen for it, and what the choice was made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.plans.events import EventPlan
from graphtide_core.plans.isomorphism import IsomorphismPlan
from graphtide_core.plans.simulation import SimulationPlan

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern

PhysicalPlan = IsomorphismPlan | SimulationPlan
"""How one engine matches one pattern."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan that was considered, with its estimated cost.

    Attributes:
        physical: the plan.
        nanoseconds: for an edge of the stream.
        partial_matches: alive.
        reason: why it costs that, or cannot be taken, in a few words; empty where nobody said.
    """

    physical: PhysicalPlan
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


AnyPlan = Plan | EventPlan
"""A pattern of any family and how it is matched."""
