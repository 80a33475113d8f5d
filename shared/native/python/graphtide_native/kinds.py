"""The kinds of plans that the extension has an entry for each of: patterns of edges, event patterns, graph queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from graphtide_core.plans import EventPlan, GraphPlan

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.plans import AnyPlan, Plan

T = TypeVar("T")


def by_kind(
    plan: AnyPlan, *, edges: Callable[[Plan], T], events: Callable[[EventPlan], T], query: Callable[[GraphPlan], T]
) -> T:
    """Return what the function for a plan's kind makes of it."""
    # The one place that tells them apart: what is native depends on the kind of a plan, not on the family of its pattern.
    if isinstance(plan, EventPlan):
        return events(plan)
    if isinstance(plan, GraphPlan):
        return query(plan)
    return edges(plan)
