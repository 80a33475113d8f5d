"""The plans of subgraph isomorphism as JSON; numbers are those of query edges in the pattern."""

from __future__ import annotations

from typing import Annotated, Self

import msgspec
from graphtide_core.pattern import MAX_EDGES
from graphtide_core.plans import FilteringPlan, SearchPlan, SjTreePlan, SjTreeStrategy, Storage, TimingPlan
from msgspec import Meta

from graphtide_wire.plan_forms.estimates import (
    Cardinalities,
    Estimates,
    Rows,
    finite_cardinalities,
    finite_row,
    finite_rows,
)

EdgeNumber = Annotated[int, Meta(ge=0, lt=MAX_EDGES)]
Sequences = tuple[tuple[EdgeNumber, ...], ...]


class TimingForm(msgspec.Struct, frozen=True, tag_field="engine", tag="timing"):
    """A `TimingPlan`."""

    subqueries: Sequences
    storage: Storage
    cardinalities: Cardinalities = ()

    @classmethod
    def of(cls, plan: TimingPlan) -> Self:
        """Return the form of a plan."""
        return cls(plan.subqueries, plan.storage, finite_cardinalities(plan.cardinalities))

    def plan(self) -> TimingPlan:
        """Return the plan."""
        return TimingPlan(self.subqueries, self.storage, self.cardinalities)


class SearchForm(msgspec.Struct, frozen=True, tag_field="engine", tag="re-search"):
    """A `SearchPlan`."""

    orders: Sequences
    fan_outs: Rows = ()

    @classmethod
    def of(cls, plan: SearchPlan) -> Self:
        """Return the form of a plan."""
        return cls(plan.orders, finite_rows(plan.fan_outs))

    def plan(self) -> SearchPlan:
        """Return the plan."""
        return SearchPlan(self.orders, self.fan_outs)


class SjTreeForm(msgspec.Struct, frozen=True, tag_field="engine", tag="sj-tree"):
    """An `SjTreePlan`."""

    leaves: Sequences
    strategy: SjTreeStrategy
    cardinalities: Cardinalities = ()

    @classmethod
    def of(cls, plan: SjTreePlan) -> Self:
        """Return the form of a plan."""
        return cls(plan.leaves, plan.strategy, finite_cardinalities(plan.cardinalities))

    def plan(self) -> SjTreePlan:
        """Return the plan."""
        return SjTreePlan(self.leaves, self.strategy, self.cardinalities)


class FilteringForm(msgspec.Struct, frozen=True, tag_field="engine", tag="filtering"):
    """A `FilteringPlan`."""

    orders: Sequences
    starts: tuple[EdgeNumber, ...]
    candidates: Estimates = ()
    fan_outs: Rows = ()

    @classmethod
    def of(cls, plan: FilteringPlan) -> Self:
        """Return the form of a plan."""
        return cls(plan.orders, plan.starts, finite_row(plan.candidates), finite_rows(plan.fan_outs))

    def plan(self) -> FilteringPlan:
        """Return the plan."""
        return FilteringPlan(self.orders, self.starts, self.candidates, self.fan_outs)


IsomorphismForm = TimingForm | SearchForm | SjTreeForm | FilteringForm
