"""Group event patterns on their host: each has a grouping, and the patterns of a host become units.

A `Grouping` has the builder of a pattern and the rates of its events. A host matches its patterns as one unit, with the known
rates of all their events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.durations import refuse_shorter_than_a_tick
from graphtide_core.event_expression import events
from graphtide_core.plans import AGGREGATION, Candidate, EventPlan, EventRates, EventUnit, GroupedPlan, Grouping
from graphtide_core.statistics import EdgeType, StatisticsSnapshot, TimeRange, should_replan
from graphtide_core.time import EventTime, TimeUnit

from graphtide_query.families.events.units import estimate_sharing, join_units, units
from graphtide_query.families.planner_options import AUTO
from graphtide_query.families.variants import BUILDERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.statistics import DriftPolicy

    from graphtide_query.families.planner_options import PlannerOptions


def group_pattern(
    pattern: EventPattern,
    planner_options: PlannerOptions,
    *,
    unit: TimeUnit = TimeUnit.MILLISECOND,
    statistics: StatisticsSnapshot | None = None,
) -> GroupedPlan:
    """Return the grouping of an event pattern; its estimated cost is that of the pattern alone.

    Args:
        pattern: the pattern.
        planner_options: the requested builder, if any.
        unit: of the stream's time.
        statistics: of the stream.

    Raises:
        InvalidPatternError: the pattern has too many branches, or a duration that is shorter than a tick.
        InvalidQueryError: there is no such builder.
    """
    refuse_shorter_than_a_tick(pattern, unit)
    known = statistics or StatisticsSnapshot()
    physical = Grouping(planner_options.variant_among(AGGREGATION, BUILDERS) or AUTO, rates_of(pattern, known))
    alone = units([pattern], "none", unit=unit, statistics=known)
    nanoseconds = sum(each.cost.nanoseconds for each in alone)
    partial_matches = sum(each.cost.partial_matches for each in alone)
    reason = "; ".join(each.cost.reason for each in alone)
    return GroupedPlan(pattern, physical, (Candidate(physical, nanoseconds, partial_matches, reason),))


def rates_of(pattern: EventPattern, statistics: StatisticsSnapshot) -> EventRates:
    """Return the rates of the events of a pattern. Complexity: O(types of edges)."""
    if statistics.window is None:
        return EventRates()
    counts = {event.type: 0 for event in events(pattern.root) if event.type is not None}
    for kind, count in statistics.types.items():
        if kind.label in counts:
            counts[kind.label] += count
    return EventRates(statistics.window.ticks, statistics.edges, tuple(sorted(counts.items())))


def statistics_of(known: Iterable[EventRates]) -> StatisticsSnapshot:
    """Return statistics of a stream from the rates of the events of patterns; for each type, the last rate counts."""
    rates = [each for each in known if each.ticks > 0]
    if not rates:
        return StatisticsSnapshot()
    ticks = max(each.ticks for each in rates)
    types = {kind: count * ticks // each.ticks for each in rates for kind, count in each.types}
    return StatisticsSnapshot(
        window=TimeRange(EventTime(0), EventTime(ticks)),
        edges=rates[-1].events * ticks // rates[-1].ticks,
        types={EdgeType(None, kind, None): count for kind, count in types.items()},
    )


def has_drifted(then: Grouping, now: Grouping, policy: DriftPolicy) -> bool:
    """Return whether the rates of a pattern's events have changed so much that another plan may be better."""
    return should_replan(statistics_of([then.rates]), statistics_of([now.rates]), policy)


def unit_of(plans: Sequence[GroupedPlan], unit: TimeUnit) -> tuple[EventPlan, ...]:
    """Return the plans of event patterns of one stream as one unit, in their order; the builder is that of the first.

    Raises:
        InvalidPatternError: a pattern has too many branches, or asks for what no engine does.
        LookupError: there is no such builder.
    """
    patterns = tuple(each.pattern for each in plans)
    known = statistics_of(each.physical.rates for each in plans)
    builder = plans[0].physical.builder
    found = units(patterns, builder, unit=unit, statistics=known)
    own = EventUnit(patterns, join_units(found), estimate_sharing(found) if builder == AUTO else ())
    return tuple(EventPlan(own, place) for place in range(len(plans)))
