"""A family of patterns: the engines that find what it defines, and the choice among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_query.families.engine import AnyEngine, engine_among

if TYPE_CHECKING:
    from graphtide_core.plans import Candidate

    from graphtide_query.estimates.cost_model import CostModel
    from graphtide_query.estimates.crowd import Crowd
    from graphtide_query.families.wish import Wish


@dataclass(frozen=True, slots=True)
class Family:
    """Patterns with one definition of a result.

    Attributes:
        name: its name.
        semantics: what its patterns are matched under.
        engines: its engines, as they are listed to users.
        auto: the same as they are planned where the cheapest is wanted; of equals the first is taken.
    """

    name: str
    semantics: str
    engines: tuple[AnyEngine, ...]
    auto: tuple[AnyEngine, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its engines."""
        return tuple(engine.name for engine in self.engines)

    def considered(self, model: CostModel, wish: Wish, crowd: Crowd) -> tuple[Candidate, ...]:
        """Plan a pattern by all engines, and estimate the plans, each in its company; cheapest first.

        Raises:
            InvalidQueryError: an engine has no such variant as is wished of it.
            PlanningBudgetError: the pattern cannot be planned within the budget.
        """
        physicals = [engine.plan(model, wish.variant(engine)) for engine in self.auto]
        candidates = (
            engine_among(self.engines, each).cost(model, each, crowd.by(each.name)).candidate(each) for each in physicals
        )
        return tuple(sorted(candidates, key=lambda candidate: candidate.nanoseconds))
