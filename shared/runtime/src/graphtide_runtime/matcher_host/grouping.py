"""What a pass hands to its matcher: plans of patterns of edges as they are, and event patterns as units.

The event patterns of a pass that are bounded alike, and for which the same builder is wished, are one unit when it is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidQueryError
from graphtide_core.plans import GroupedPlan
from graphtide_native.matcher import flaw, unit_flaw
from graphtide_query.families.events.grouping import unit_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from graphtide_core.plans import AnyPlan
    from graphtide_core.time import TimeUnit

    from graphtide_runtime.matcher_host.assignment import Assignment


def matched_by(assignments: Sequence[Assignment], unit: TimeUnit) -> list[AnyPlan]:
    """Return the plans for a matcher, in the order of the assignments, none of which has a flaw."""
    plans: list[AnyPlan | None] = [None] * len(assignments)
    together: dict[Hashable, list[tuple[int, GroupedPlan]]] = {}
    for place, each in enumerate(assignments):
        if isinstance(each.plan, GroupedPlan):
            together.setdefault(_company(each), []).append((place, each.plan))
        else:
            plans[place] = each.plan
    for members in together.values():
        found = unit_of([plan for _, plan in members], unit)
        for (place, _), plan in zip(members, found, strict=True):
            plans[place] = plan
    return [plan for plan in plans if plan is not None]


def flaw_of(assignment: Assignment, unit: TimeUnit) -> str | None:
    """Return why a plan cannot run on a stream of a time unit; None if it can."""
    if assignment.unit is not unit:
        return f"the plan counts time in {assignment.unit.value}, others of its stream in {unit.value}"
    if not isinstance(assignment.plan, GroupedPlan):
        return flaw(assignment.plan, unit, assignment.limits)
    try:
        (alone,) = unit_of([assignment.plan], unit)
    except (InvalidQueryError, LookupError) as error:
        return str(error)
    return unit_flaw(alone.unit, unit, assignment.limits)


def _company(assignment: Assignment) -> Hashable:
    """Return what is equal of event patterns that may be of one unit."""
    return (assignment.limits, assignment.plan.physical.builder if isinstance(assignment.plan, GroupedPlan) else None)
