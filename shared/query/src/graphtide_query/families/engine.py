"""What an engine is to planning and EXPLAIN: it plans a pattern, says what its plan costs, and lays it open.

Engines are values without state; each knows the plans of its own name, and those alone are handed to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Never, Protocol, TypeVar, cast

from graphtide_core.plans import PhysicalPlan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import AssignedPlan

    from graphtide_query.estimates.colocation import EngineLoad
    from graphtide_query.estimates.cost import Cost
    from graphtide_query.estimates.cost_model import CostModel
    from graphtide_query.nodes import Node

P = TypeVar("P", bound=PhysicalPlan)
P_contra = TypeVar("P_contra", bound=PhysicalPlan, contravariant=True)


class Engine(Protocol[P_contra]):
    """One way to find what a family defines."""

    @property
    def name(self) -> str:
        """The name, which its plans have too."""
        ...

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants of its plans; none where there is but one."""
        ...

    def plan(self, model: CostModel, variant: str | None, /) -> PhysicalPlan:
        """Plan the model's pattern, in the variant that is wished, if one is.

        Raises:
            PlanningBudgetError: the pattern cannot be planned within the budget.
        """
        ...

    def variant_of(self, physical: P_contra, /) -> str | None:
        """Return the variant of a plan, where there are several."""
        ...

    def cost(self, model: CostModel, physical: P_contra, engine_load: EngineLoad, /) -> Cost:
        """Estimate what a plan costs in its company; sizes anew, as it may have been made when the stream was another."""
        ...

    def settings(self, pattern: SubgraphPattern, physical: P_contra, /) -> dict[str, str]:
        """Return what else was chosen, by name, for EXPLAIN."""
        ...

    def nodes(self, pattern: SubgraphPattern, physical: P_contra, partial_matches: float | None, /) -> tuple[Node, ...]:
        """Return the steps of a plan, inputs first, with what was estimated of its partial matches alive, if that is known."""
        ...


AnyEngine = Engine[Never]
"""An engine of which it is not known which plans it takes."""


def engine_among(engines: Iterable[AnyEngine], physical: P) -> Engine[P]:
    """Return the engine that runs a plan.

    Raises:
        LookupError: it is not among them.
    """
    for engine in engines:
        if engine.name == physical.name:
            # An engine takes the plans of its name, which a checker of types cannot see.
            return cast("Engine[P]", engine)
    message = f"there is no engine {physical.name!r}"
    raise LookupError(message)


def foreign_plan(pattern: AnyPattern, physical: AssignedPlan) -> ValueError:
    """Return the error of a plan that no pattern of this one's family is matched by."""
    return ValueError(f"the engine {physical.name} does not match patterns of the family of {pattern.name!r}")
