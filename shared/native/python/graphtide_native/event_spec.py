"""Plans of event patterns as the native detection reads them: slots by position, durations by ticks, attributes by columns.

The format is private to this package: `graphtide_events::plan` reads what is written here, and `graphtide_match::plan` units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from graphtide_core import predicate as p
from graphtide_core.event_expression import positive_events
from graphtide_core.merged_streams import whole_of
from graphtide_core.time import MAX_EVENT_TIME

from graphtide_native.expression_spec import FIRST_AGGREGATE, LABEL_COLUMNS, ExpressionWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.one_per import OnePer
    from graphtide_core.plans.events import Absence, AggregationPlan, Branch, EventUnit, Slot, SubPattern, Vertex
    from graphtide_core.time import Duration, TimeUnit

    from graphtide_native.expression_spec import Json

_LABEL_COLUMNS = {"type": LABEL_COLUMNS["label"], **LABEL_COLUMNS}


def encode(plan: AggregationPlan, patterns: Sequence[EventPattern], unit: TimeUnit, projected: Sequence[str]) -> bytes:
    """Return the plan as the native detection reads it, in JSON; see `plan_spec`."""
    return msgspec.json.encode(plan_spec(plan, patterns, unit, projected))


def plan_spec(
    plan: AggregationPlan, patterns: Sequence[EventPattern], unit: TimeUnit, projected: Sequence[str]
) -> dict[str, object]:
    """Return the plan as the native detection reads it.

    Args:
        plan: of the patterns.
        patterns: in the order of the plan's branches.
        unit: what a tick of the stream's time is.
        projected: the attributes of the batches to come, in order. `src`, `dst` and labels that are not among them are those of
            the edge that an event is.
    """
    places = {name: place for place, name in enumerate(projected)}
    vertices = [_VertexWriter(vertex.sub_pattern, places, unit).write(vertex) for vertex in plan.vertices]
    both = zip(patterns, plan.branches, strict=True)
    return {"vertices": vertices, "patterns": [_pattern(*each, unit, places) for each in both]}


def unit_spec(own: EventUnit, numbers: Sequence[int] | None, unit: TimeUnit, projected: Sequence[str]) -> dict[str, object]:
    """Return a unit as the native matcher reads it.

    Args:
        own: the unit.
        numbers: of its patterns in the matcher, in their order; None where it gives them numbers.
        unit: what a tick of the stream's time is.
        projected: as of `plan_spec`.
    """
    given: Sequence[int | None] = numbers or [None] * len(own.patterns)
    named = zip(own.patterns, given, own.aggregation.branches, strict=True)
    return {
        "plan": plan_spec(own.aggregation, own.patterns, unit, projected),
        "patterns": [_names(pattern, number, branches, unit) for pattern, number, branches in named],
        "width": len(projected),
    }


def _names(pattern: EventPattern, number: int | None, branches: tuple[Branch, ...], unit: TimeUnit) -> dict[str, object]:
    return {
        "number": number,
        "name": whole_of(pattern.name),
        "version": pattern.version,
        "events": [(event.name, event.repeat is not None) for event in positive_events(pattern.root)],
        "branches": _branches(pattern, branches),
        "fields": [each.name for each in pattern.fields],
        "once": None if pattern.one_per is None else once(pattern.one_per, pattern.match_lookback(unit), unit),
    }


def once(one_per: OnePer, lookback: int, unit: TimeUnit) -> dict[str, object]:
    """Return how often one match is emitted for each key; it may be retracted within the lookback."""
    interval = one_per.every.ticks(unit)
    # Past some centuries a part of a tick is nothing.
    is_exact = interval.numerator <= MAX_EVENT_TIME
    whole = min(one_per.every.ticks_at_least(unit), MAX_EVENT_TIME)
    every = (interval.numerator, interval.denominator) if is_exact else (whole, 1)
    return {"every": every, "lookback": min(max(1, lookback), MAX_EVENT_TIME)}


def _branches(pattern: EventPattern, branches: tuple[Branch, ...]) -> list[dict[str, object]]:
    places = {event.name: place for place, event in enumerate(positive_events(pattern.root))}
    return [
        {
            "events": [places[name] for name in branch.events],
            "by_type": [(other.slot, other.type, places[other.name]) for other in branch.by_type],
        }
        for branch in branches
    ]


def _pattern(
    pattern: EventPattern, branches: tuple[Branch, ...], unit: TimeUnit, columns: Mapping[str, int]
) -> dict[str, object]:
    return {
        "branches": [branch.vertex for branch in branches],
        "report": pattern.report.value,
        "lookback": min(pattern.lookback(unit), MAX_EVENT_TIME),
        "emits_timeouts": pattern.emits_timeouts,
        "distinct": [_in_order_of_text(pattern, branch) for branch in branches] if pattern.is_distinct else [],
        "returns": _returns(pattern, branches, unit, columns),
    }


def _in_order_of_text(pattern: EventPattern, branch: Branch) -> list[int]:
    names = [event.name for event in positive_events(pattern.root)]
    return sorted(range(len(branch.events)), key=lambda slot: names.index(branch.events[slot]))


def _returns(
    pattern: EventPattern, branches: tuple[Branch, ...], unit: TimeUnit, columns: Mapping[str, int]
) -> dict[str, object] | None:
    """Return the fields of matches, over the names of the pattern; None for none."""
    events = positive_events(pattern.root)
    names = {event.name: place for place, event in enumerate(events)}
    aggregates: list[dict[str, object]] = []
    writer = _SlotWriter(names, columns, aggregates, unit)
    fields = [
        {
            "value": writer.write(value),
            "each": names[value.variable]
            if isinstance(value, p.Attribute) and events[names[value.variable]].repeat is not None
            else None,
        }
        for value in (field.value for field in pattern.fields)
    ]
    keys = [writer.write(key) for key in ([] if pattern.one_per is None else pattern.one_per.keys)]
    if not fields and not keys:
        return None
    of_names = {"names": len(names), "branches": _branches(pattern, branches)}
    return {"fields": fields, "keys": keys, "aggregates": aggregates, **of_names}


@dataclass(slots=True)
class _VertexWriter:
    """Writes a vertex, with positions in place of names."""

    sub_pattern: SubPattern
    places: Mapping[str, int]
    unit: TimeUnit

    def write(self, vertex: Vertex) -> dict[str, object]:
        own = self.sub_pattern
        slots = {f"s{number}": number for number in range(len(own.slots))}
        absences = {f"n{number}": len(own.slots) + number for number in range(len(own.absences))}
        aggregates: list[dict[str, object]] = []
        writer = _SlotWriter({**slots, **absences}, self.places, aggregates, self.unit)
        return {
            "slots": [self._slot(slot) for slot in own.slots],
            "order": sorted(own.order),
            "within": _ticks(own.within, self.unit),
            "predicates": [writer.write(predicate) for predicate in own.predicates],
            "aggregates": aggregates,
            "absences": [_absence(absence) for absence in own.absences],
            "partition": [writer.write(p.Attribute("s0", name)) for name in own.partition],
            "parents": [{"vertex": parent.vertex, "slots": parent.slots} for parent in vertex.parents],
        }

    def _slot(self, slot: Slot) -> dict[str, object]:
        repeat = slot.repeat
        if repeat is None:
            return {"types": slot.types}
        counts = {"least": repeat.least, "most": repeat.most, "selection": self.sub_pattern.selection.value}
        return {"types": slot.types, "repeat": counts}


def _ticks(duration: Duration, unit: TimeUnit) -> int:
    return min(int(duration.ticks(unit) // 1), MAX_EVENT_TIME)


def _absence(absence: Absence) -> dict[str, object]:
    return {
        "types": absence.types,
        "after": absence.after,
        "before": absence.before,
        "of": absence.within,
        "is_inner": absence.is_inner,
    }


@dataclass(frozen=True, slots=True)
class _SlotWriter(ExpressionWriter):
    """Writes predicates over slots."""

    events: Mapping[str, int]
    places: Mapping[str, int]
    aggregates: list[dict[str, object]]
    unit: TimeUnit

    def attribute(self, attribute: p.Attribute) -> Json:
        event, name = self.events[attribute.variable], attribute.name
        if name in ("ts", "id"):
            return {name: event}
        if self._is_end(name):
            return {"vertex_id": 2 * event + (name == "dst")}
        return {"attribute": [event, self._column(name)]}

    def aggregate(self, aggregate: p.Aggregate) -> Json:
        operand = aggregate.operand
        spec: dict[str, object] = {"function": aggregate.function.name.lower(), "of": self._of(operand.name)}
        if spec not in self.aggregates:
            self.aggregates.append(spec)
        return {"attribute": [self.events[operand.variable], FIRST_AGGREGATE + self.aggregates.index(spec)]}

    def _of(self, name: str) -> Json:
        """Return what is read of each event of a list."""
        if name in ("ts", "id"):
            return name
        return {"end": int(name == "dst")} if self._is_end(name) else {"column": self._column(name)}

    def _is_end(self, name: str) -> bool:
        """Return whether a name is of an end of the edge that an event is, which has no attribute of that name."""
        return name in ("src", "dst") and name not in self.places

    def _column(self, name: str) -> int:
        return self.places[name] if name != "type" and name in self.places else _LABEL_COLUMNS[name]
