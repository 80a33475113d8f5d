"""How event patterns are grouped, as JSON."""

from __future__ import annotations

from typing import Self

import msgspec
from graphtide_core.plans import EventRates, Grouping

from graphtide_wire.json_form import Count

Counts = tuple[tuple[str, Count], ...]
"""How many there are of each type."""


class RatesForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """An `EventRates`."""

    ticks: Count = 0
    events: Count = 0
    types: Counts = ()


class GroupingForm(msgspec.Struct, frozen=True, tag_field="engine", tag="aggregation"):
    """A `Grouping`."""

    builder: str = "auto"
    rates: RatesForm = RatesForm()

    @classmethod
    def of(cls, plan: Grouping) -> Self:
        """Return the form of a grouping."""
        return cls(plan.builder, RatesForm(plan.rates.ticks, plan.rates.events, plan.rates.types))

    def plan(self) -> Grouping:
        """Return the grouping."""
        return Grouping(self.builder, EventRates(self.rates.ticks, self.rates.events, self.rates.types))
