"""Define an engine for planning and EXPLAIN: it plans a pattern, estimates the cost of its plan, and explains it.

Engines are values without state; each handles only the plans of its own name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Never, Protocol, TypeVar, cast

from graphtide_core.plans import PhysicalPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    """One way to find the matches of a family."""

    @property
    def name(self) -> str:
        """The name, which its plans also have."""
        ...

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants of its plans; empty if there is only one."""
        ...

    def plan(self, model: CostModel, variant: str | None, /) -> PhysicalPlan:
        """Plan the model's pattern, in the requested variant, if any.

        Raises:
            PlanningBudgetError: the pattern cannot be planned within the budget.
        """
        ...

    def variant_of(self, physical: P_contra, /) -> str | None:
        """Return the variant of a plan, if there are several."""
        ...

    def cost(self, model: CostModel, physical: P_contra, engine_load: EngineLoad, /) -> Cost:
        """Estimate the cost of a plan beside other patterns; sizes are estimated anew, as the stream may have changed."""
        ...

    def stored(self, physical: P_contra, /) -> Sequence[tuple[str, tuple[int, ...]]]:
        """Return the steps that store partial matches, by name, each with the query edges that these bind; empty if none do."""
        ...

    def settings(self, pattern: SubgraphPattern, physical: P_contra, /) -> dict[str, str]:
        """Return the other choices by name, for EXPLAIN."""
        ...

    def nodes(self, pattern: SubgraphPattern, physical: P_contra, partial_matches: float | None, /) -> tuple[Node, ...]:
        """Return the steps of a plan, inputs first, with the estimated partial matches alive, if they are known."""
        ...


AnyEngine = Engine[Never]
"""An engine whose plans have an unknown type."""


def engine_among(engines: Iterable[AnyEngine], physical: P) -> Engine[P]:
    """Return the engine that runs a plan.

    Raises:
        LookupError: it is not among them.
    """
    for engine in engines:
        if engine.name == physical.name:
            # An engine takes the plans of its name, which a type checker cannot see.
            return cast("Engine[P]", engine)
    message = f"there is no engine {physical.name!r}"
    raise LookupError(message)


def foreign_plan(pattern: AnyPattern, physical: AssignedPlan) -> ValueError:
    """Return the error of a plan of another family than the pattern's."""
    return ValueError(f"the engine {physical.name} does not match patterns of the family of {pattern.name!r}")
