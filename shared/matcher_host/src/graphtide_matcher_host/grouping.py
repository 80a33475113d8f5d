"""The plans that a pass gives to its matcher: those of edge patterns and graph queries as they are, event patterns as units.

The event patterns of a pass with the same bounds and the same requested builder are one unit when it is made.
Those that come later are units of their own, until they are planned anew with the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidQueryError
from graphtide_native.flaws import flaw
from graphtide_query.families import family_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from graphtide_core.ids import PatternName
    from graphtide_core.plans import AnyPlan, HostedPlan
    from graphtide_core.time import TimeUnit

    from graphtide_matcher_host.assignment import Assignment


def matched_by(assignments: Sequence[Assignment], unit: TimeUnit) -> list[AnyPlan]:
    """Return the plans for a matcher, in the order of the assignments; none may have a flaw."""
    plans: dict[int, AnyPlan] = {}
    together: dict[Hashable, list[int]] = {}
    for place, each in enumerate(assignments):
        together.setdefault(_unit_key(each), []).append(place)
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


def _unit_key(assignment: Assignment) -> Hashable:
    """Return a key that is equal for patterns that may be of one unit."""
    family = family_of(assignment.plan.pattern)
    return (family.name, assignment.limits, family.unit_key(assignment.plan))


@dataclass(frozen=True, slots=True)
class Group:
    """Patterns of a pass that one unit may have, by name, with how each is to be matched, and how it is."""

    names: tuple[PatternName, ...]
    members: tuple[tuple[HostedPlan, AnyPlan], ...]


def groups(assignments: Iterable[tuple[Assignment, AnyPlan]]) -> list[Group]:
    """Return the patterns that are matched in units among what runs, as far as they may be together."""
    together: dict[Hashable, list[tuple[PatternName, tuple[HostedPlan, AnyPlan]]]] = {}
    for assignment, plan in assignments:
        if family_of(plan.pattern).is_united:
            together.setdefault(_unit_key(assignment), []).append((assignment.name, (assignment.plan, plan)))
    return [Group(tuple(name for name, _ in members), tuple(member for _, member in members)) for members in together.values()]


def planned_anew(group: Group, unit: TimeUnit) -> tuple[list[PatternName], tuple[AnyPlan, ...]] | None:
    """Return the plans of the unit that should take the place of those of a group, and the names of its patterns, in order.

    Returns:
        None where that is not worth the change.
    """
    found = family_of(group.members[0][1].pattern).regrouped(group.members, unit)
    return None if found is None else ([group.names[place] for place in found[0]], found[1])
