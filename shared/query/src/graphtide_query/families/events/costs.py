"""Estimate the cost of a plan of event patterns, in nanoseconds for an event of the stream, as for other families.

Three things take time. An event goes into each slot that takes it and that no parent fills. A vertex looks at combinations of
its parents' instances and the events of its other slots, the rarest first. Each is looked at once, when the last of its events
comes. So an event of the stream brings all of a vertex's time through the number of events in that time. What passes is stored
if others continue from it. Sharing saves because it is stored once, and costs because it is stored at all.

A pattern that asks for counts alone, and whose slots are related by their order only, is counted in its events, whatever is
shared.

Weights are of the size of what the native detection takes on sequences of three generated readings
(`graphtide_bench.events.plans`), no fit. What share of events a condition lets through is not known, and guessed. If it is far
less, patterns of many slots are estimated far too dear. Sharing, which seems to save most there, too, is estimated too good.
"""

from __future__ import annotations

from itertools import accumulate, combinations
from operator import mul
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.pattern import Report
from graphtide_core.predicate import variables

from graphtide_query.estimates.cost import Cost, Part, format_number
from graphtide_query.estimates.cost_model import MOST
from graphtide_query.families.events.forms import Forms
from graphtide_query.families.events.rates import Rates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.plans.events import AggregationPlan, SubPattern
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import TimeUnit

TAKE: Final = 60.0
"""Nanoseconds for a slot that takes an event."""
LOOK: Final = 15.0
"""Nanoseconds for an event or an instance that is looked at."""
STORE: Final = 120.0
"""Nanoseconds for an instance that is stored, from which others continue, and which is forgotten when its time is over."""

KEEP: Final = 250.0
"""Nanoseconds for an event that a unit asks for, and keeps for as long as it is of use."""


class Size(NamedTuple):
    """Estimated live instances of a vertex.

    Attributes:
        instances: of it.
        fillings: events that each of its slots takes, by what is asked of the slot alone.
        events: of the stream, in its time.
        is_counted: whether its instances need not be listed.
    """

    instances: float
    fillings: tuple[float, ...]
    events: float
    is_counted: bool


def sizes(
    plan: AggregationPlan, patterns: Sequence[EventPattern], unit: TimeUnit, statistics: StatisticsSnapshot
) -> tuple[Size, ...]:
    """Estimate what is alive of each vertex, as the stream is known now; the plan may have been made when it was another.

    Complexity: O(vertices * (slots^2 + size of the predicates)).
    """
    forms, rates = Forms(unit), Rates(statistics)
    reported: dict[int, bool] = {}
    for pattern, branches in zip(patterns, plan.branches, strict=True):
        for branch in branches:
            reported[branch.vertex] = reported.get(branch.vertex, True) and pattern.report is Report.EXISTS
    found = []
    for place, vertex in enumerate(plan.vertices):
        form, keys = forms.of(vertex.sub_pattern)
        fillings = tuple(rates.fillings(forms, form, key) for key in keys)
        is_counted = reported.get(place, False) and _is_independent(vertex.sub_pattern)
        found.append(Size(rates.instances(forms, form), fillings, rates.stream(form.within), is_counted))
    return tuple(found)


def _is_independent(sub_pattern: SubPattern) -> bool:
    """Return whether the slots of a sub-pattern fall into sequences that have nothing to do with each other."""
    slots, order = sub_pattern.slots, sub_pattern.order
    beside = [
        {other for other in range(len(slots)) if other == slot or (slot, other) in order or (other, slot) in order}
        for slot in range(len(slots))
    ]
    return (
        not sub_pattern.absences
        and not sub_pattern.partition
        and all(slot.types and slot.repeat is None for slot in slots)
        and all(len(variables(predicate)) == 1 for predicate in sub_pattern.predicates)
        and all(set(one.types).isdisjoint(other.types) for one, other in combinations(slots, 2))
        and all(beside[other] == own for own in beside for other in own)
    )


def cost(plan: AggregationPlan, alive: Sequence[Size]) -> Cost:
    """Estimate what a plan costs, of whose vertices so much is alive. Complexity: O(vertices * slots)."""
    reported = {branch.vertex for branches in plan.branches for branch in branches}
    extended: set[int] = set()
    taken = looked = stored = partial = 0.0
    for place in reversed(range(len(plan.vertices))):
        vertex, own = plan.vertices[place], alive[place]
        if place not in reported and place not in extended:
            continue
        if own.is_counted and place not in extended:
            took = sum(own.fillings) / own.events
            looked += took * sum(own.fillings)
        else:
            slots = [own.fillings[slot] for slot in vertex.differential]
            inputs = sorted([*(alive[parent.vertex].instances for parent in vertex.parents), *slots])
            took = sum(slots) / own.events
            looked += min(MOST, sum(accumulate(inputs[:-1], mul)) + own.instances) / own.events
            extended.update(parent.vertex for parent in vertex.parents)
        taken += took
        if place in extended:
            stored += own.instances / own.events
            partial = min(MOST, partial + own.instances)
    parts = (
        Part(taken * TAKE, f"the {format_number(taken)} slots that take an event"),
        Part(looked * LOOK, f"the {format_number(looked)} events and instances that are looked at for one"),
        Part(stored * STORE, f"the {format_number(stored)} instances that are stored for one"),
    )
    return Cost(parts, partial)


def estimate_storage(plan: AggregationPlan, statistics: StatisticsSnapshot) -> float:
    """Estimate what it takes to keep the events that a plan asks for, in nanoseconds for an event of the stream.

    That is in addition to `cost`: each unit keeps its own events. Complexity: O(slots and absences).
    """
    own = [vertex.sub_pattern for vertex in plan.vertices]
    asked = [
        *(slot.types for each in own for slot in each.slots),
        *(absence.types for each in own for absence in each.absences),
    ]
    if not all(asked):
        return KEEP
    rates, ticks = Rates(statistics), statistics.window.ticks if statistics.window is not None else 1
    types = tuple({kind for types in asked for kind in types})
    return KEEP * min(1.0, rates.events(types, ticks) / rates.stream(ticks))
