"""The kinds of plans that the extension has an entry for each of: patterns of edges, event patterns, graph queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

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
