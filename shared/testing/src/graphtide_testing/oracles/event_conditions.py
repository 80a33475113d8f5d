"""What events in the places of an event pattern must satisfy to be a match.

One plain check for each condition: distinct events, the order of SEQ, time, partition, predicates, iterations, NOT. Nothing
here knows when records arrive or leave: callers say which events there are. Reference: docs/reference/semantics.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise, product
from typing import TYPE_CHECKING

from graphtide_core.event_expression import And, Not, Or, QueryEvent, Seq, events, positive_events
from graphtide_core.event_pattern import Selection
from graphtide_core.predicate import Comparison, aggregates, plain_attributes, variables

from graphtide_testing.oracles.predicates import aggregate, evaluate
from graphtide_testing.oracles.values import compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphtide_core.edge import Value
    from graphtide_core.event import Event
    from graphtide_core.event_expression import Part
    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.predicate import Aggregate, Attribute, Expression
    from graphtide_core.time import EventTime, TimeUnit

    Assignment = Mapping[str, tuple["SeenEvent", ...]]
    """The events in each place, in the order of the stream: one, or those of an iteration. Places of other branches lack."""


@dataclass(slots=True, eq=False)
class SeenEvent:
    """An inserted event: the `number`-th of the stream, deleted at `gone`. Equal to itself alone."""

    event: Event
    number: int
    gone: EventTime | None = None

    @property
    def ts(self) -> EventTime:
        """Its time."""
        return self.event.ts


@dataclass(frozen=True, slots=True)
class Interval:
    """The time, closed at both ends, that must have no event of `absent`."""

    absent: Not
    start: int
    end: int


def read(event: Event, name: str) -> Value:
    """Return what `event.name` reads: a field of the record; every other name is an attribute or None."""
    fields: dict[str, Value] = {"ts": event.ts, "id": event.id, "type": event.type, "label": event.type}
    return fields[name] if name in fields else event.attributes.get(name)


def branches(part: Part) -> Iterator[Part]:
    """Yield the part once for each way to take one branch of every OR; the ways in the order of the text."""
    match part:
        case QueryEvent() | Not():
            yield part
        case Or(parts):
            for each in parts:
                yield from branches(each)
        case Seq(parts):
            yield from (Seq(taken) for taken in product(*(tuple(branches(each)) for each in parts)))
        case And(parts):
            yield from (And(taken) for taken in product(*(tuple(branches(each)) for each in parts)))


class Conditions:
    """The conditions of one pattern; `unit` is what one tick of its stream counts."""

    def __init__(self, pattern: EventPattern, unit: TimeUnit) -> None:
        """Read the pattern once."""
        self.pattern = pattern
        # Times are whole ticks, so differences between them compare alike with the window and with its whole ticks.
        self.within = int(pattern.within.ticks(unit) // 1)
        positive = {event.name for event in positive_events(pattern.root)}
        absent = {event.name for event in events(pattern.root)} - positive
        self._of_matches = [each for each in pattern.predicates if not variables(each) & absent]

    def fits_alone(self, place: QueryEvent, event: Event) -> bool:
        """Whether an event can be in a place as far as it shows itself: type, partition, and predicates that read it alone."""
        own = [each for each in self.pattern.predicates if variables(each) == {place.name} and not any(aggregates(each))]
        alone = {place.name: (SeenEvent(event, 0),)}
        return (
            place.type in (None, event.type)
            and self._shares_partition([event])
            and all(self._holds(each, alone) for each in own)
        )

    def fits_together(self, branch: Part, chosen: Assignment) -> bool:
        """Whether events in places of a branch, each of them fit for its place, satisfy all but NOT and what skips.

        With only some of the places filled, it says whether others may join: a condition that reads an unfilled place holds.
        """
        taken = list(chain.from_iterable(chosen.values()))
        return len(set(taken)) == len(taken) and self._go_together(branch, chosen, self._of_matches)

    def is_taken_whole(self, branch: Part, chosen: Assignment, known: Sequence[SeenEvent]) -> bool:
        """Whether iterations took what they must: under skip till next all that fits from their first event on."""
        if self.pattern.selection is Selection.ANY:
            return True
        return all(
            list(chosen[place.name]) == self._run(branch, place, chosen, known)
            for place in positive_events(branch)
            if place.repeat is not None
        )

    def intervals(self, branch: Part, chosen: Assignment) -> list[Interval]:
        """Return where each NOT of a branch looks, given the events beside it."""
        match branch:
            case Seq(parts):
                own = [self._between(parts, place, chosen) for place, part in enumerate(parts) if isinstance(part, Not)]
            case And(parts):
                first, last = _span(branch, chosen)
                own = [Interval(part, first, last) for part in parts if isinstance(part, Not)]
            case _:
                return []
        return [*own, *(interval for part in parts for interval in self.intervals(part, chosen))]

    def blocks(self, interval: Interval, chosen: Assignment, other: SeenEvent) -> bool:
        """Whether an event is one that must not be, and was not deleted before time passed the end of the interval."""
        taken = list(chain.from_iterable(chosen.values()))
        return (
            other not in taken
            and interval.start <= other.ts <= interval.end
            and (other.gone is None or other.gone > interval.end)
            and self._shares_partition([*(each.event for each in taken), other.event])
            and any(self._is_absent(place, chosen, other) for place in interval.absent.events)
        )

    def value(self, expression: Expression, chosen: Assignment) -> Value:
        """Return the value of an expression that reads iterations in aggregates alone; None where another branch was taken."""
        if not variables(expression) <= chosen.keys():
            return None
        return self._value(expression, {name: taken[0].event for name, taken in chosen.items()}, chosen)

    def _go_together(self, branch: Part, chosen: Assignment, predicates: Sequence[Expression]) -> bool:
        taken = list(chain.from_iterable(chosen.values()))
        return (
            self._is_ordered(branch, chosen)
            and max(each.ts for each in taken) - min(each.ts for each in taken) <= self.within
            and self._shares_partition([each.event for each in taken])
            and all(self._holds(each, chosen) for each in predicates)
        )

    def _is_ordered(self, part: Part, chosen: Assignment) -> bool:
        if not isinstance(part, Seq | And):
            return True
        spans = [_span(each, chosen) for each in part.parts if _is_filled(each, chosen)]
        in_order = all(last <= first for (_, last), (first, _) in pairwise(spans))
        return (in_order or isinstance(part, And)) and all(self._is_ordered(each, chosen) for each in part.parts)

    def _between(self, parts: tuple[Part, ...], place: int, chosen: Assignment) -> Interval:
        """Return where the NOT of a SEQ looks: from the part before it to the part after it, or T beyond the SEQ."""
        absent = parts[place]
        assert isinstance(absent, Not)
        before = [_span(part, chosen) for part in parts[:place] if positive_events(part)]
        after = [_span(part, chosen) for part in parts[place:] if positive_events(part)]
        first, last = min(before + after)[0], max(end for _, end in before + after)
        return Interval(
            absent,
            before[-1][1] if before else last - self.within,
            after[0][0] if after else first + self.within,
        )

    def _is_absent(self, place: QueryEvent, chosen: Assignment, other: SeenEvent) -> bool:
        own = [each for each in self.pattern.predicates if place.name in variables(each)]
        with_it = {**chosen, place.name: (other,)}
        return place.type in (None, other.event.type) and all(self._holds(each, with_it) for each in own)

    def _run(self, branch: Part, place: QueryEvent, chosen: Assignment, known: Sequence[SeenEvent]) -> list[SeenEvent]:
        """Return the first event of an iteration and those after it that fit beside it and the other places."""
        first, *_ = chosen[place.name]
        elsewhere = set(chain.from_iterable(taken for name, taken in chosen.items() if name != place.name))
        of_each = [
            each for each in self._of_matches if all(computed.operand.variable != place.name for computed in aggregates(each))
        ]
        run = [first]
        for other in known:
            is_full = place.repeat is not None and len(run) == place.repeat.most
            if is_full or other.number <= first.number or other in elsewhere or not self.fits_alone(place, other.event):
                continue
            if self._go_together(branch, {**chosen, place.name: (first, other)}, of_each):
                run.append(other)
        return run

    def _shares_partition(self, taken: Sequence[Event]) -> bool:
        return all(
            compare(Comparison.EQUAL, read(taken[0], name), read(event, name)) is True
            for name in self.pattern.partition
            for event in taken
        )

    def _holds(self, predicate: Expression, chosen: Assignment) -> bool:
        """Whether a predicate is true for each event of the iterations that it reads; one of another branch holds."""
        if not variables(predicate) <= chosen.keys():
            return True
        names = sorted({each.variable for each in plain_attributes(predicate)})
        return all(
            self._value(predicate, dict(zip(names, (each.event for each in taken), strict=True)), chosen) is True
            for taken in product(*(chosen[name] for name in names))
        )

    def _value(self, expression: Expression, plain: Mapping[str, Event], chosen: Assignment) -> Value:
        def look_up(attribute: Attribute) -> Value:
            return read(plain[attribute.variable], attribute.name)

        def compute(asked: Aggregate) -> Value:
            operand = asked.operand
            return aggregate(asked.function, [read(each.event, operand.name) for each in chosen[operand.variable]])

        return evaluate(expression, look_up, compute)


def _span(part: Part, chosen: Assignment) -> tuple[int, int]:
    """Return the first and the last time of the events in a part."""
    times = [each.ts for place in positive_events(part) for each in chosen.get(place.name, ())]
    return min(times), max(times)


def _is_filled(part: Part, chosen: Assignment) -> bool:
    """Whether some place of a part has its events."""
    return any(place.name in chosen for place in positive_events(part))
