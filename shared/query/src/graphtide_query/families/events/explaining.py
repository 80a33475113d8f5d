"""Explain the plans of event patterns: of many patterns, with a node for each vertex; or of one pattern alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.plans import AGGREGATION, Grouping

from graphtide_query.estimates.cost import format_number
from graphtide_query.explanation import Explanation
from graphtide_query.families.events.grouping import unit_of
from graphtide_query.families.events.nodes import nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from graphtide_core.plans import Candidate, EventPlan, GroupedPlan
    from graphtide_core.plans.events import AggregationPlan
    from graphtide_core.time import TimeUnit

    from graphtide_query.event_trace import EventTrace
    from graphtide_query.explanation import Seen, UnitFunnel
    from graphtide_query.nodes import Actual


def explain_units(plans: Iterable[EventPlan], seen: Iterable[Seen | None], unit_funnel: UnitFunnel) -> Iterator[Explanation]:
    """Explain the plan of each unit, once, with the counts of a run."""
    units: dict[int, list[tuple[EventPlan, Seen | None]]] = {}
    for plan, each in zip(plans, seen, strict=True):
        units.setdefault(id(plan.unit), []).append((plan, each))
    for members in units.values():
        unit = members[0][0].unit
        names = [pattern.name for pattern in unit.patterns]
        known = [each for _, each in members if each is not None]
        actuals = {name: actual for each in known for name, actual in each.actuals.items()}
        found = explain_events(unit.aggregation, names, actuals, unit_funnel(names) if known else None)
        if unit.considered:
            estimates = (f"{_builder(each)} {format_number(each.nanoseconds)} ns an event" for each in unit.considered)
            settings = {**found.settings, "considered": ", ".join(estimates)}
            found = replace(found, settings=settings, considered=unit.considered)
        yield found


def explain_events(
    plan: AggregationPlan,
    patterns: Sequence[str],
    actuals: Mapping[str, Actual] | None = None,
    trace: EventTrace | None = None,
) -> Explanation:
    """Explain the plan of many event patterns, with a node for each vertex.

    Args:
        plan: the plan.
        patterns: names of its patterns, in their order.
        actuals: of a run, by the names of nodes: `v0` and so on.
        trace: of a traced run.
    """
    shared = sum(len(vertex.sub_pattern.slots) - len(vertex.differential) for vertex in plan.vertices)
    settings = {"builder": plan.builder, "patterns": f"{len(patterns):,}", "slots from parents": f"{shared:,}"}
    return Explanation("event patterns", AGGREGATION, settings, nodes(plan, patterns, actuals or {}), trace=trace)


def _builder(considered: Candidate) -> str:
    return considered.physical.builder if isinstance(considered.physical, Grouping) else considered.physical.name


def explain_grouped(plan: GroupedPlan, unit: TimeUnit, counts: Mapping[str, int]) -> Explanation:
    """Explain the plan of an event pattern that may share sub-patterns with others: as it would be alone, with its cost.

    Args:
        plan: the pattern, and how it is to be grouped.
        unit: of the stream's time.
        counts: of what came of it; none where it did not run.
    """
    (alone,) = unit_of([plan], unit)
    found = explain_events(alone.unit.aggregation, [plan.pattern.name])
    settings = {"builder": plan.physical.builder, "shared": "with the event patterns of its host"}
    return replace(found, pattern=plan.pattern.name, settings=settings, counts=counts, considered=plan.considered)
