"""The kinds of plans that the extension has an entry for each of: patterns of edges, event patterns, graph queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphtide_core.plans import AnyPlan, EventPlan, GraphPlan, Plan

T = TypeVar("T")


def by_kind(
    plan: AnyPlan, *, edges: Callable[[Plan], T], events: Callable[[EventPlan], T], query: Callable[[GraphPlan], T]
) -> T:
    """Return what the function for the kind of a plan's native form makes of that form."""
    own = plan.native
    if own.kind == "events":
        return events(own)
    if own.kind == "query":
        return query(own)
    return edges(own)


@dataclass(frozen=True, slots=True)
class Kinds:
    """Native forms of plans, those of each kind by themselves, by the numbers of their patterns."""

    edges: dict[int, Plan] = field(default_factory=dict)
    events: dict[int, EventPlan] = field(default_factory=dict)
    queries: dict[int, GraphPlan] = field(default_factory=dict)

    @classmethod
    def of(cls, plans: Mapping[int, AnyPlan]) -> Self:
        """Return the forms of plans, in the order of the plans."""
        found = cls()
        for number, plan in plans.items():
            by_kind(
                plan,
                edges=partial(found.edges.__setitem__, number),
                events=partial(found.events.__setitem__, number),
                query=partial(found.queries.__setitem__, number),
            )
        return found
