"""The family of event patterns: what they read, their canonical forms, and their planner."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from graphtide_core.annotations import without_annotations
from graphtide_core.event_expression import positive_events
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.one_per import with_past
from graphtide_core.pattern import Report
from graphtide_core.plans import AGGREGATION, GroupedPlan
from graphtide_core.predicate import RECORD_FIELDS
from graphtide_core.reads import Lookback, Reads

from graphtide_query.families.engine import foreign_plan
from graphtide_query.families.variants import BUILDERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.part_key import PartKey
    from graphtide_core.plans import AssignedPlan, Candidate, EventPlan, EventUnit
    from graphtide_core.predicate import Expression
    from graphtide_core.returns import Field
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import Duration, TimeUnit

    from graphtide_query.estimates.bursts import Burst
    from graphtide_query.explanation import Explanation, Seen, UnitFunnel
    from graphtide_query.families.family import PlanningContext, ReplanPolicy
    from graphtide_query.families.planner_options import PlannerOptions
    from graphtide_query.layout import Layout
    from graphtide_query.locality import Locality


@dataclass(frozen=True, slots=True)
class EventFamily:
    """The `Family` of event patterns; it has one engine, and a builder of plans is a variant."""

    name: str = "events"
    title: str = "event patterns"
    kind: str = "event pattern"

    @property
    def names(self) -> tuple[str, ...]:
        """The name of its engine."""
        return (AGGREGATION,)

    @property
    def variants(self) -> Mapping[str, tuple[str, ...]]:
        """The engine, with the builders of its plans."""
        return {AGGREGATION: BUILDERS}

    @property
    def services(self) -> Mapping[str, str]:
        """The service of event patterns."""
        return {AGGREGATION: "matcher_event_pattern"}

    @property
    def dialect(self) -> None:
        """None: the grammar has its texts."""

    def text(self, pattern: EventPattern, /) -> str:
        """Return the text of a pattern."""
        from graphtide_query.language.event_printer import print_event_pattern  # noqa: PLC0415 - not every run prints

        return print_event_pattern(pattern)

    def reads(self, pattern: EventPattern, /) -> Reads:
        """Return what a pattern reads: labels are types of events; its lookback is its time, or twice that."""
        types = {event.type for event in pattern.events}
        return Reads(
            streams=pattern.streams,
            lookback=Lookback(pattern.looks_back, is_closed=True),
            labels=None if None in types else tuple(sorted(each for each in types if each is not None)),
            attributes=pattern.attributes,
        )

    def lookback(self, pattern: EventPattern, unit: TimeUnit, /) -> int:
        """Return its lookback, including the intervals of `ONE PER`."""
        return with_past(pattern.one_per, pattern.match_lookback(unit), unit)

    def locality(self, pattern: EventPattern, key: PartKey, /) -> Locality:
        """Return what its conditions prove."""
        from graphtide_query.families.events.locality import locality  # noqa: PLC0415 - streams in parts alone ask

        return locality(pattern, key)

    def owner(self, pattern: EventPattern, _locality: Locality, _match: Mapping[str, Any], /) -> str:
        """Refuse: events have no vertices.

        Raises:
            LookupError: always.
        """
        message = f"no vertex decides which part reports {pattern.name!r}: it reads events"
        raise LookupError(message)

    def canonical(self, pattern: EventPattern, /) -> None:
        """Return None: patterns of one stream share sub-patterns whether they are equal or not."""

    def canonical_parts(self, pattern: EventPattern, /) -> frozenset[str]:
        """Return the form of the whole pattern."""
        return frozenset(
            {self.text(replace(without_annotations(pattern), name=PatternName("part"), version=1, stream=StreamName("s")))}
        )

    @property
    def record_fields(self) -> frozenset[str]:
        """Fields of every edge, and the type of an event, which is its label."""
        return RECORD_FIELDS | {"type"}

    def edge_labels(self, pattern: EventPattern, /) -> tuple[str | None, ...]:
        """Return the types of its events."""
        return tuple(event.type for event in pattern.events)

    def vertex_labels(self, _pattern: EventPattern, /) -> tuple[str | None, ...]:
        """Return none: events are records, whatever their ends."""
        return ()

    def conditions(self, pattern: EventPattern, _stream: str | None, /) -> tuple[Expression, ...]:
        """Return its predicates; it reads one stream."""
        return pattern.predicates

    def readable(self, pattern: EventPattern, /) -> frozenset[str]:
        """Return the names of the events that a match has."""
        return frozenset(event.name for event in positive_events(pattern.root))

    def fields(self, pattern: EventPattern, /) -> tuple[Field, ...]:
        """Return those of RETURN."""
        return () if pattern.returns is None else pattern.returns.fields

    def layout(self, pattern: EventPattern, /) -> Layout:
        """Return its events; one that is repeated has lists."""
        from graphtide_query.layout import Layout  # noqa: PLC0415 - not every run lays matches out

        events = positive_events(pattern.root)
        return Layout(
            events={event.name: event.repeat is not None for event in events},
            counts=pattern.report is Report.EXISTS,
            fields=tuple(each.name for each in pattern.fields),
        )

    def results_stay(self, _pattern: EventPattern, /) -> None:
        """Return None: matches have no validity."""

    def event_names(self, pattern: EventPattern, /) -> tuple[str, ...]:
        """Return the names of all its events."""
        return tuple(event.name for event in pattern.events)

    def window(self, pattern: EventPattern, /) -> Duration:
        """Return its time."""
        return pattern.within

    @property
    def reads_by_name(self) -> bool:
        """False: each reads one stream."""
        return False

    def follows_from_reports(self, _pattern: EventPattern, /) -> bool:
        """Return False: each match is for itself."""
        return False

    def burst(self, pattern: EventPattern, known: tuple[StatisticsSnapshot, TimeUnit] | None, /) -> Burst | None:
        """Return what one event may complete."""
        from graphtide_query.families.events.bursts import burst_of_events  # noqa: PLC0415 - not every run warns

        return burst_of_events(pattern, known)

    def plan(
        self, patterns: Sequence[EventPattern], planner_options: PlannerOptions, context: PlanningContext, /
    ) -> tuple[EventPlan, ...]:
        """Plan the patterns of each stream together."""
        from graphtide_query.families.events.planning import plan_events  # noqa: PLC0415 - loaded by the first that plans

        return plan_events(patterns, planner_options, unit=context.unit, statistics=context.statistics)

    def assign(self, pattern: EventPattern, planner_options: PlannerOptions, context: PlanningContext, /) -> GroupedPlan:
        """Return a pattern with its grouping, for the other patterns of its host."""
        from graphtide_query.families.events.grouping import group_pattern  # noqa: PLC0415 - as above

        return group_pattern(pattern, planner_options, unit=context.unit, statistics=context.statistics)

    def assigned(self, pattern: EventPattern, physical: AssignedPlan, considered: tuple[Candidate, ...] = (), /) -> GroupedPlan:
        """Return a pattern with how it is to be grouped."""
        from graphtide_core.plans.events import Grouping  # noqa: PLC0415 - as above

        if not isinstance(physical, Grouping):
            raise foreign_plan(pattern, physical)
        return GroupedPlan(pattern, physical, considered)

    def hosted(self, pattern: EventPattern, physical: AssignedPlan, considered: tuple[Candidate, ...] = (), /) -> GroupedPlan:
        """Return its grouping unchanged; the patterns of the host become units."""
        return self.assigned(pattern, physical, considered)

    def unit_key(self, plan: GroupedPlan, /) -> str:
        """Return the requested builder."""
        return plan.physical.builder

    @property
    def is_united(self) -> bool:
        """True: they share sub-patterns."""
        return True

    def united(self, plans: Sequence[GroupedPlan], unit: TimeUnit, /) -> tuple[EventPlan, ...]:
        """Return the patterns as one unit."""
        from graphtide_query.families.events.grouping import unit_of  # noqa: PLC0415 - as above

        return unit_of(plans, unit)

    def counts(self, _pattern: EventPattern, /) -> tuple[str, ...]:
        """Return no counts: they belong to the unit."""
        return ()

    def explain(
        self,
        plans: Sequence[EventPlan],
        seen: Sequence[Seen | None],
        _unit: TimeUnit,
        unit_funnel: UnitFunnel,
        /,
    ) -> tuple[Explanation, ...]:
        """Explain the plan of each unit, once."""
        from graphtide_query.families.events.explaining import explain_units  # noqa: PLC0415 - not every run explains

        return tuple(explain_units(plans, seen, unit_funnel))

    def explain_assigned(
        self,
        pattern: EventPattern,
        physical: AssignedPlan,
        considered: tuple[Candidate, ...],
        seen: Seen,
        unit: TimeUnit,
        /,
    ) -> Explanation:
        """Explain how a pattern would be matched alone; only its host knows what it shares."""
        from graphtide_query.families.events.explaining import explain_grouped  # noqa: PLC0415 - as above

        return explain_grouped(self.assigned(pattern, physical, considered), unit, seen.counts)

    def counted(
        self, _pattern: EventPattern, _physical: AssignedPlan, _alive: Mapping[str, int], _context: PlanningContext, /
    ) -> tuple[()]:
        """Return nothing: its steps are shared with other patterns."""
        return ()

    def regrouped(
        self, members: Sequence[tuple[GroupedPlan, EventPlan]], unit: TimeUnit, /
    ) -> tuple[list[int], tuple[EventPlan, ...]] | None:
        """Return the plans of one unit in place of theirs, with what is known of the events of all."""
        from graphtide_query.families.events.regrouping import replan  # noqa: PLC0415 - as above

        found = replan(members, unit)
        return None if found is None else (found[0], _plans_of(found[1]))

    def without(self, plans: Sequence[EventPlan], place: int, /) -> tuple[EventPlan, ...]:
        """Return the plans of a unit of the other patterns, which keeps nothing of that one."""
        from graphtide_query.families.events.regrouping import without  # noqa: PLC0415 - as above

        return _plans_of(without(plans[0].unit, place))

    @property
    def begins_anew(self) -> bool:
        """False: units hold the events that another takes."""
        return False

    def improved(
        self,
        running: Mapping[int, EventPlan],
        _planner_options: PlannerOptions,
        context: PlanningContext,
        policy: ReplanPolicy,
        /,
    ) -> Iterator[dict[int, EventPlan]]:
        """Yield the plans of each unit that should take the place of those of a stream."""
        if not running:
            return
        from graphtide_core.plans.events import EventPlan  # noqa: PLC0415 - as above

        from graphtide_query.families.events.regrouping import regroupings  # noqa: PLC0415 - as above

        for places, unit in regroupings(running, context.unit, context.known, policy.margin):
            yield {number: EventPlan(unit, place) for place, number in enumerate(places)}

    def is_better(
        self,
        _pattern: EventPattern,
        new: AssignedPlan,
        running: AssignedPlan,
        _context: PlanningContext,
        policy: ReplanPolicy,
        /,
    ) -> bool:
        """Whether its events come so much more or less often that its host should group it anew."""
        from graphtide_core.plans.events import Grouping  # noqa: PLC0415 - as above

        from graphtide_query.families.events.grouping import has_drifted  # noqa: PLC0415 - as above

        return not (isinstance(running, Grouping) and isinstance(new, Grouping)) or has_drifted(running, new, policy.drift)


EVENTS: Final = EventFamily()


def _plans_of(unit: EventUnit) -> tuple[EventPlan, ...]:
    from graphtide_core.plans.events import EventPlan  # noqa: PLC0415 - as above

    return tuple(EventPlan(unit, place) for place in range(len(unit.patterns)))
