"""What a pass hands to its matcher: plans of patterns of edges and of graph queries as they are, and event patterns as units.

The event patterns of a pass that are bounded alike, and for which the same builder is wished, are one unit when it is made.
Those that come later are units of their own, until they are planned anew with the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidQueryError
from graphtide_core.plans import EventPlan, EventUnit, GroupedPlan
from graphtide_native.matcher import flaw
from graphtide_query.families import family_of
from graphtide_query.families.events.adaptation import without_pattern
from graphtide_query.families.events.grouping import statistics_of
from graphtide_query.families.events.regrouping import regrouped

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from graphtide_core.ids import PatternName
    from graphtide_core.plans import AnyPlan
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import TimeUnit

    from graphtide_runtime.matcher_host.assignment import Assignment


def matched_by(assignments: Sequence[Assignment], unit: TimeUnit) -> list[AnyPlan]:
    """Return the plans for a matcher, in the order of the assignments, none of which has a flaw."""
    plans: dict[int, AnyPlan] = {}
    together: dict[Hashable, list[int]] = {}
    for place, each in enumerate(assignments):
        together.setdefault(_company(each), []).append(place)
    for places in together.values():
        own = [assignments[place].plan for place in places]
        plans.update(zip(places, family_of(own[0].pattern).united(own, unit), strict=True))
    return [plans[place] for place in range(len(assignments))]


def flaw_of(assignment: Assignment, unit: TimeUnit) -> str | None:
    """Return why a plan cannot run on a stream of a time unit; None if it can."""
    if assignment.unit is not unit:
        return f"the plan counts time in {assignment.unit.value}, others of its stream in {unit.value}"
    try:
        (alone,) = family_of(assignment.plan.pattern).united([assignment.plan], unit)
    except (InvalidQueryError, LookupError) as error:
        return str(error)
    return flaw(alone, unit, assignment.limits)


def _company(assignment: Assignment) -> Hashable:
    """Return what is equal of patterns that may be of one unit."""
    family = family_of(assignment.plan.pattern)
    return (family.name, assignment.limits, family.company(assignment.plan))


@dataclass(frozen=True, slots=True)
class Group:
    """Event patterns of a pass that one unit may have, by name, with the plans that they are matched by."""

    plans: Mapping[PatternName, EventPlan]
    known: StatisticsSnapshot


def groups(assignments: Iterable[tuple[Assignment, AnyPlan]]) -> list[Group]:
    """Return the event patterns among what runs, with the plans they are matched by, as far as they may be together."""
    together: dict[Hashable, list[tuple[Assignment, EventPlan, GroupedPlan]]] = {}
    for assignment, plan in assignments:
        # Only event patterns are planned anew in groups.
        if isinstance(plan, EventPlan) and isinstance(assignment.plan, GroupedPlan):
            together.setdefault(_company(assignment), []).append((assignment, plan, assignment.plan))
    return [
        Group(
            {assignment.name: plan for assignment, plan, _ in members},
            statistics_of(told.physical.rates for _, _, told in members),
        )
        for members in together.values()
    ]


def planned_anew(group: Group, unit: TimeUnit) -> tuple[list[PatternName], EventUnit] | None:
    """Return the unit that should take the place of those of a group, and the names of its patterns, in their order.

    Returns:
        None where that is not worth the change.
    """
    members: dict[int, list[tuple[int, PatternName]]] = {}
    units: dict[int, EventUnit] = {}
    for name, plan in group.plans.items():
        units[id(plan.unit)] = plan.unit
        members.setdefault(id(plan.unit), []).append((plan.place, name))
    running = [_remaining(units[of], sorted(places)) for of, places in members.items()]
    found = regrouped([own for _, own in running], unit, group.known)
    if found is None:
        return None
    return [running[which][0][place] for which, place in found.before], found.unit


def without(own: EventUnit, place: int) -> EventUnit:
    """Return a unit without the pattern in a place."""
    patterns = own.patterns[:place] + own.patterns[place + 1 :]
    return EventUnit(patterns, without_pattern(own.aggregation, place))


def _remaining(own: EventUnit, places: Sequence[tuple[int, PatternName]]) -> tuple[list[PatternName], EventUnit]:
    """Return a unit without the patterns that went, with the names of those in it."""
    kept = {place for place, _ in places}
    for gone in reversed(range(len(own.patterns))):
        own = own if gone in kept else without(own, gone)
    return [name for _, name in places], own
