"""Plan event patterns: those of one stream are a unit, which one plan of common sub-patterns matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.durations import refuse_shorter_than_a_tick
from graphtide_core.plans import AGGREGATION, EventPlan, EventUnit
from graphtide_core.statistics import StatisticsSnapshot
from graphtide_core.time import TimeUnit

from graphtide_query.families.events.units import estimate_sharing, join_units, units
from graphtide_query.families.planner_options import AUTO
from graphtide_query.families.variants import BUILDERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.ids import StreamName

    from graphtide_query.families.planner_options import PlannerOptions


def plan_events(
    patterns: Sequence[EventPattern],
    planner_options: PlannerOptions,
    *,
    unit: TimeUnit = TimeUnit.MILLISECOND,
    statistics: StatisticsSnapshot | None = None,
) -> tuple[EventPlan, ...]:
    """Plan event patterns, those of a stream in one unit; by default they share what is estimated to be worth it.

    Args:
        patterns: of any streams.
        planner_options: the requested builder, if any.
        unit: of the stream's time.
        statistics: of the stream.

    Returns:
        The plans, in the order of the patterns.

    Raises:
        InvalidPatternError: a pattern has too many branches, or a duration that is shorter than a tick.
        InvalidQueryError: there is no such builder.
    """
    builder = planner_options.variant_among(AGGREGATION, BUILDERS) or AUTO
    streams: dict[StreamName, list[int]] = {}
    for number, pattern in enumerate(patterns):
        refuse_shorter_than_a_tick(pattern, unit)
        streams.setdefault(pattern.stream, []).append(number)
    known = statistics or StatisticsSnapshot()
    plans: dict[int, EventPlan] = {}
    for numbers in streams.values():
        members = tuple(patterns[number] for number in numbers)
        found = units(members, builder, unit=unit, statistics=known)
        own = EventUnit(members, join_units(found), estimate_sharing(found) if builder == AUTO else ())
        plans.update((number, EventPlan(own, place)) for place, number in enumerate(numbers))
    return tuple(plans[number] for number in range(len(patterns)))
