"""Report on event patterns that were matched together: a match funnel, and why given events are not a match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.event_answer import Obstacle
from graphtide_core.funnel import Reason
from graphtide_core.time import TimeUnit, iso_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphtide_core.edge import Value
    from graphtide_core.event_answer import AskedEvent, EventAnswer
    from graphtide_core.funnel import Step

    from graphtide_query.nodes import Node


@dataclass(frozen=True, slots=True)
class CandidateSlot:
    """A slot of a pattern that an event can fill.

    Attributes:
        pattern: name of the pattern.
        name: of the event.
        drawn: the event as it is written, with `NOT` before events that must not come.
        step: counts of records, and the reasons why records by themselves could not fill it.
    """

    pattern: str
    name: str
    drawn: str
    step: Step


@dataclass(frozen=True, slots=True)
class EventTrace:
    """The trace of the patterns of a unit.

    Attributes:
        places: of all patterns, in their order.
        matches: by pattern, how many were reported.
        suppressed: by pattern with ONE PER, how many matches were not emitted.
        answers: to the questions about events.
        unit: of the stream's times.
    """

    places: tuple[CandidateSlot, ...]
    matches: Mapping[str, int]
    suppressed: Mapping[str, int]
    answers: tuple[EventAnswer, ...]
    unit: TimeUnit

    def table(self, nodes: Sequence[Node]) -> list[list[str]]:
        """Return the funnel as a table with its head: records, stored instances, matches."""
        rows = [
            [
                f"records as {place.pattern}.{place.drawn}",
                f"{place.step.looked_at:,}",
                f"{place.step.refused.get(Reason.LABEL, 0):,}",
                f"{place.step.refused.get(Reason.PREDICATE, 0):,}",
                f"{place.step.passed:,}",
            ]
            for place in self.places
        ]
        stored = ((node.name, node.actual.created) for node in nodes if node.actual is not None and node.actual.created)
        rows += [[name, "", "", "", f"{created:,}"] for name, created in stored]
        for name, count in self.matches.items():
            rows.append([f"matches of {name}", "", "", "", f"{count:,}"])
            if name in self.suppressed:
                rows.append([f"suppressed of {name}", "", "", "", f"{self.suppressed[name]:,}"])
        return [["step", "looked at", "type", "predicate", "passed"], *rows]

    def why_not_lines(self) -> list[str]:
        """Return lines on patterns without a match, slots that no record fills, and the events in question."""
        return [*self._empty(), *(line for answer in self.answers for line in _answer_lines(answer, self.unit))]

    def funnel_object(self) -> dict[str, object]:
        """Return the funnel for JSON."""
        events: dict[str, dict[str, object]] = {name: {} for name in self.matches}
        for place in self.places:
            step = place.step
            refused = {"type" if reason is Reason.LABEL else reason.value: count for reason, count in step.refused.items()}
            counts = {"looked_at": step.looked_at, "refused": refused, "passed": step.passed}
            events[place.pattern][place.name] = counts
        return {"events": events, "matches": dict(self.matches), "suppressed": dict(self.suppressed)}

    def why_not_object(self) -> dict[str, object]:
        """Return the answers about events for JSON."""
        return {
            "events_without_candidates": {
                name: [place.name for place in self._unfilled(name)] for name, count in self.matches.items() if not count
            },
            "answers": [_answer_object(answer) for answer in self.answers],
        }

    def _empty(self) -> Iterator[str]:
        if not any(place.step.looked_at for place in self.places):
            yield "the stream has no record"
            return
        for name, count in self.matches.items():
            if count:
                continue
            yield f"{name} has no match"
            for place in self._unfilled(name):
                typed = place.step.looked_at - place.step.refused.get(Reason.LABEL, 0)
                what = f"{typed:,} records have the type of {place.drawn}, none satisfies its conditions"
                yield f"  event {place.name}: {what if typed else f'no record has the type of {place.drawn}'}"

    def _unfilled(self, pattern: str) -> Iterator[CandidateSlot]:
        for place in self.places:
            if place.pattern == pattern and not place.step.passed and not place.drawn.startswith("NOT "):
                yield place


def _answer_object(answer: EventAnswer) -> dict[str, object]:
    return {
        "pattern": answer.pattern,
        "asked": {name: list(ids) for name, ids in answer.asked.items()},
        "matched_at": answer.matched_at,
        "obstacle": answer.obstacle and answer.obstacle.value,
        "event": answer.name,
        "events": [{"event": each.name, "id": each.id, "ts": each.ts} for each in answer.events],
        "condition": answer.condition,
        "values": dict(answer.values),
        "excess": answer.excess,
    }


def _answer_lines(answer: EventAnswer, unit: TimeUnit) -> list[str]:
    asked = ", ".join(f"{name}={id}" for name, ids in answer.asked.items() for id in ids)
    if answer.matched_at is not None:
        return [f"{asked}: in a match of {answer.pattern}, emitted for {iso_time(answer.matched_at, unit)}"]
    return [f"{asked}: no match of {answer.pattern}", f"  {_reason(answer, unit)}"]


def _reason(answer: EventAnswer, unit: TimeUnit) -> str:  # noqa: PLR0912 - a case for each obstacle
    events = [_event(each, unit) for each in answer.events]
    values = ", ".join(f"{name} is {_value(value)}" for name, value in answer.values.items())
    match answer.obstacle:
        case Obstacle.UNKNOWN:
            return f"no matched record has the id {answer.events[0].id}: it is missing, or was bad, late or a duplicate"
        case Obstacle.TYPE:
            return f"{events[0]} is of another type: {values}"
        case Obstacle.NUMBER:
            return f"{answer.condition} does not hold for {len(events)} events"
        case Obstacle.PREDICATE:
            return f"{answer.condition} is not true: {values}"
        case Obstacle.SAME:
            return f"{events[0]} is also {answer.events[1].name}: one event cannot be both"
        case Obstacle.ORDER:
            return f"{events[0]} is later than {events[1]}"
        case Obstacle.WITHIN:
            return f"{events[0]} and {events[-1]} are too far apart: by {answer.excess:,} {unit.value}"
        case Obstacle.PARTITION:
            return f"they do not share {answer.condition}: {values}"
        case Obstacle.MISSING if answer.name is not None:
            return f"no record near them could be {answer.name}"
        case Obstacle.MISSING:
            return "no record near them completes a match"
        case Obstacle.ABSENT if events:
            return f"{events[0]} must not come"
        case Obstacle.ABSENT:
            return f"an event that must not come came{'' if answer.name is None else f': {answer.name}'}"
        case Obstacle.DELETED:
            return f"{' and '.join(events)} was deleted before the match could be emitted"
        case Obstacle.SELECTION:
            return "SKIP TILL NEXT selects other events"
        case Obstacle.ALIKE:
            return "the same events are a match under other names"
        case _:
            return "the answer takes too much work"


def _event(event: AskedEvent, unit: TimeUnit) -> str:
    place = "" if event.name is None else f"{event.name}="
    return f"{place}{event.id}{'' if event.ts is None else f' at {iso_time(event.ts, unit)}'}"


def _value(value: Value | tuple[Value, ...]) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_value, value))
    return "missing" if value is None else repr(value)
