"""The planner options: an engine, and variants of the plans of engines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from graphtide_core.errors import InvalidQueryError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_query.families.engine import AnyEngine

AUTO: Final = "auto"
"""In place of an engine's name: the engine with the lowest estimated cost."""


@dataclass(frozen=True, slots=True)
class PlannerOptions:
    """An engine, and variants of plans.

    Attributes:
        engine: its name, or `AUTO`.
        variants: the requested variants, by the names of engines; ignored for engines that do not plan.
    """

    engine: str = AUTO
    variants: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, engine: str, variant: str) -> Self:
        """Return the options for an engine with a variant of its plan."""
        return cls(engine, {engine: variant})

    def variant(self, engine: AnyEngine) -> str | None:
        """Return the requested variant of an engine.

        Raises:
            InvalidQueryError: the engine has no such variant.
        """
        return self.variant_among(engine.name, engine.variants)

    def variant_among(self, engine: str, variants: tuple[str, ...]) -> str | None:
        """Return the requested variant of an engine with these variants. Raises as `variant`."""
        chosen_options = self.variants.get(engine)
        if chosen_options is not None and chosen_options not in variants:
            known = f"one of {', '.join(variants)}" if variants else "it has none"
            message = f"the engine {engine} has no variant {chosen_options!r}; {known}"
            raise InvalidQueryError(message)
        return chosen_options
