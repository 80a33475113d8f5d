"""Estimate the cost of a plan of event patterns, in nanoseconds for an event of the stream, as for other families.

Three things take time. An event goes into each slot that takes it and that no parent fills. A vertex looks at combinations of
its parents' instances and the events of its other slots, the rarest first. Each is looked at once, when the last of its events
comes. So an event of the stream brings all of a vertex's time through the number of events in that time. What passes is stored
if others continue from it. Sharing saves because it is stored once, and costs because it is stored at all.

A pattern that asks for counts alone is counted from its events if that can be done. Sharing changes nothing for it.

Weights are of the size of what the native detection takes on sequences of three generated readings
(`graphtide_bench.events.plans`), no fit. What share of events a condition lets through is not known, and guessed. If it is far
less, patterns of many slots are estimated far too dear. Sharing, which seems to save most there, too, is estimated too good.
"""

from __future__ import annotations

from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.pattern import Report

from graphtide_query.estimates.cost import Cost, Part, format_number
from graphtide_query.estimates.cost_model import MOST
from graphtide_query.families.events.counting import is_countable
from graphtide_query.families.events.forms import Forms
from graphtide_query.families.events.rates import Rates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.plans.events import AggregationPlan
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import TimeUnit

TAKE: Final = 60.0
"""Nanoseconds for a slot that takes an event."""
LOOK: Final = 15.0
"""Nanoseconds for an event or an instance that is looked at."""
STORE: Final = 120.0
"""Nanoseconds for an instance that is stored, from which others continue, and which is forgotten when its time is over."""

HAND: Final = 3.0
"""Nanoseconds for an instance that is handed on to one of the sub-patterns that extend it."""

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

    def thinned(self, share: float) -> Size:
        """Return the size if that share of events filled each slot."""
        instances = self.instances * share ** len(self.fillings)
        return self._replace(instances=instances, fillings=tuple(share * each for each in self.fillings))


SAVING: Final = 0.1
"""The share of the cost that sharing must save by the estimate, which does not know what conditions let through."""

RARE: Final = 0.01
"""The share of the estimated events that fill a slot where conditions let through far fewer than guessed."""


def sizes(
    plan: AggregationPlan, patterns: Sequence[EventPattern], unit: TimeUnit, statistics: StatisticsSnapshot
) -> tuple[Size, ...]:
    """Estimate what is alive of each vertex, as the stream is known now; the plan may have been made when it was another.

    Complexity: O(vertices * (slots^2 + size of the predicates)).
    """
    forms, rates = Forms(unit), Rates(statistics)
    reported: dict[int, bool] = {}
    for pattern, branches in zip(patterns, plan.branches, strict=True):
        only_counts = pattern.report is Report.EXISTS and len(branches) == 1 and not pattern.is_distinct
        for branch in branches:
            reported[branch.vertex] = reported.get(branch.vertex, True) and only_counts
    found = []
    for place, vertex in enumerate(plan.vertices):
        form, keys = forms.of(vertex.sub_pattern)
        fillings = tuple(rates.fillings(forms, form, key) for key in keys)
        is_counted = reported.get(place, False) and is_countable(vertex.sub_pattern)
        found.append(Size(rates.instances(forms, form), fillings, rates.stream(form.within), is_counted))
    return tuple(found)


class VertexWork(NamedTuple):
    """What a vertex does for an event of the stream: slots that take it, what is looked at, what is stored and handed on."""

    taken: float
    looked: float
    stored: float = 0.0
    handed: float = 0.0

    @property
    def nanoseconds(self) -> float:
        """Estimated time."""
        return self.taken * TAKE + self.looked * LOOK + self.stored * STORE + self.handed * HAND


def estimate_work(own: Size, differential: Sequence[int], inherited: Sequence[Size], children: int) -> VertexWork:
    """Estimate the work of a vertex; `differential` are its slots that no parent fills, `inherited` what its parents have.

    Complexity: O(slots * log(slots)).
    """
    if own.is_counted and not children:
        took = sum(own.fillings) / own.events
        return VertexWork(took, took * sum(own.fillings))
    slots = [own.fillings[slot] for slot in differential]
    inputs = sorted([*(parent.instances for parent in inherited), *slots])
    looked = min(MOST, sum(accumulate(inputs[:-1], mul)) + own.instances) / own.events
    stored = own.instances / own.events if children else 0.0
    return VertexWork(sum(slots) / own.events, looked, stored, stored * children)


def cost(plan: AggregationPlan, alive: Sequence[Size]) -> Cost:
    """Estimate what a plan costs, of whose vertices so much is alive. Complexity: O(vertices * slots)."""
    reported = {branch.vertex for branches in plan.branches for branch in branches}
    children = [0] * len(plan.vertices)
    found: list[VertexWork] = []
    partial = 0.0
    for place in reversed(range(len(plan.vertices))):
        vertex, own = plan.vertices[place], alive[place]
        if place not in reported and not children[place]:
            continue
        inherited = () if own.is_counted and not children[place] else vertex.parents
        for parent in inherited:
            children[parent.vertex] += 1
        found.append(estimate_work(own, vertex.differential, [alive[parent.vertex] for parent in inherited], children[place]))
        if children[place]:
            partial = min(MOST, partial + own.instances)
    taken, looked, stored, handed = (sum(each) for each in zip(*found, strict=True)) if found else (0.0,) * 4
    parts = (
        Part(taken * TAKE, f"the {format_number(taken)} slots that take an event"),
        Part(looked * LOOK, f"the {format_number(looked)} events and instances that are looked at for one"),
        Part(stored * STORE, f"the {format_number(stored)} instances that are stored for one"),
        Part(handed * HAND, f"the {format_number(handed)} sub-patterns that these are handed on to"),
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
