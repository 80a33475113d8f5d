"""Decide whether one unit with a new plan should replace running units of event patterns.

Patterns that are added one by one are separate units, and the stream may have changed since a plan was made. One unit for
all saves the instances that they have in common, and what each unit takes to keep an event that several ask for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.plans import EventUnit

from graphtide_query.families.events.adaptation import RebuildPolicy, with_pattern, without_pattern
from graphtide_query.families.events.costs import cost, estimate_storage, sizes
from graphtide_query.families.events.grouping import statistics_of
from graphtide_query.families.events.units import join_units, units
from graphtide_query.families.planner_options import AUTO

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphtide_core.ids import StreamName
    from graphtide_core.plans import EventPlan, GroupedPlan
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import TimeUnit

MARGIN: Final = 0.8
"""Share of what units cost that one unit in their place must stay below."""


class Regrouping(NamedTuple):
    """A unit to take the place of others, and for each of its patterns which of them it was of, and its place there."""

    unit: EventUnit
    before: tuple[tuple[int, int], ...]


def regroup_units(
    running: Sequence[EventUnit],
    unit: TimeUnit,
    known: StatisticsSnapshot,
    *,
    margin: float = MARGIN,
    policy: RebuildPolicy | None = None,
) -> Regrouping | None:
    """Return the unit that should replace units of one stream; None if the change is not worth it.

    A change replays the events of one lookback. With a margin of 0.8 it saves that cost within four lookbacks; units that save
    less stay as they are. The savings of new patterns are compared with the cost of all. So patterns are regrouped once for
    each relative growth, however often patterns are added.

    If no more than `policy.changed` of the patterns are not of the largest unit, they are examined locally against its plan.
    Otherwise, as where one unit runs, the plan is built anew.

    Args:
        running: the units, with the plans that they have.
        unit: of the stream's time.
        known: statistics of the stream as it is now.
        margin: share of what the units cost that the new one must stay below.
        policy: how many newcomers are examined locally.

    Raises:
        InvalidPatternError: a pattern has too many branches.
    Complexity: that of `with_pattern` for each newcomer, or of building a plan.
    """
    largest, *others = sorted(range(len(running)), key=lambda each: -len(running[each].patterns))
    before = tuple((each, place) for each in (largest, *sorted(others)) for place in range(len(running[each].patterns)))
    patterns = tuple(running[each].patterns[place] for each, place in before)
    plan = running[largest].aggregation
    newcomers = patterns[len(running[largest].patterns) :]
    if newcomers and len(newcomers) <= (policy or RebuildPolicy()).changed * len(patterns):
        for newcomer in newcomers:
            plan = with_pattern(plan, newcomer, unit, known)
    else:
        plan = join_units(units(patterns, AUTO, unit=unit, statistics=known))
    now = _cost(EventUnit(patterns, plan), unit, known)
    is_worth_it = now < margin * sum(_cost(each, unit, known) for each in running)
    return Regrouping(EventUnit(patterns, plan), before) if is_worth_it else None


def regroupings(
    plans: Mapping[int, EventPlan], unit: TimeUnit, known: StatisticsSnapshot, margin: float
) -> Iterator[tuple[list[int], EventUnit]]:
    """Yield the units that should take the place of those of a stream, with the places of their patterns among the plans."""
    streams: dict[StreamName, dict[int, EventUnit]] = {}
    numbers: dict[tuple[int, int], int] = {}
    for number, plan in plans.items():
        streams.setdefault(plan.pattern.stream, {})[id(plan.unit)] = plan.unit
        numbers[id(plan.unit), plan.place] = number
    for running in streams.values():
        own = tuple(running.values())
        found = regroup_units(own, unit, known, margin=margin)
        if found is not None:
            yield [numbers[id(own[which]), place] for which, place in found.before], found.unit


def replan(members: Sequence[tuple[GroupedPlan, EventPlan]], unit: TimeUnit) -> tuple[list[int], EventUnit] | None:
    """Return the unit that should take the place of those of running patterns, and the places of its patterns among them.

    Returns:
        None where that is not worth the change.
    """
    places: dict[int, list[tuple[int, int]]] = {}
    units: dict[int, EventUnit] = {}
    for number, (_, plan) in enumerate(members):
        units[id(plan.unit)] = plan.unit
        places.setdefault(id(plan.unit), []).append((plan.place, number))
    running = [_remaining(units[of], sorted(own)) for of, own in places.items()]
    found = regroup_units([own for _, own in running], unit, statistics_of(reported.physical.rates for reported, _ in members))
    if found is None:
        return None
    return [running[which][0][place] for which, place in found.before], found.unit


def without(own: EventUnit, place: int) -> EventUnit:
    """Return a unit without the pattern in a place."""
    patterns = own.patterns[:place] + own.patterns[place + 1 :]
    return EventUnit(patterns, without_pattern(own.aggregation, place))


def _remaining(own: EventUnit, places: Sequence[tuple[int, int]]) -> tuple[list[int], EventUnit]:
    """Return a unit without the removed patterns, with the numbers of the others."""
    kept = {place for place, _ in places}
    for gone in reversed(range(len(own.patterns))):
        own = own if gone in kept else without(own, gone)
    return [number for _, number in places], own


def _cost(own: EventUnit, unit: TimeUnit, known: StatisticsSnapshot) -> float:
    """Estimate the cost of a unit for each event of the stream, in nanoseconds."""
    alive = sizes(own.aggregation, own.patterns, unit, known)
    return cost(own.aggregation, alive).nanoseconds + estimate_storage(own.aggregation, known)
