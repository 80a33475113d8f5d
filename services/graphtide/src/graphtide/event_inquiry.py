"""The search for a reason why events are not a match of an event pattern.

First the pattern is matched over the records around the events: if a match has them, that is the answer. If none has,
conditions are asked one after the other. Each is asked by matching a pattern that has it over the records that bear on it. So a
condition means here what it means to the engine. The first that fails is the reason.
Cost: some matchings of those records, with the events that are asked about in their places.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain, combinations, groupby, product
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from graphtide_core.event_answer import AskedEvent, EventAnswer, Obstacle
from graphtide_core.event_expression import And, Group, Not, Or, QueryEvent, Repeat, Seq, absences, events, positive_events
from graphtide_core.event_pattern import EventPattern, Selection
from graphtide_core.ids import EdgeId, PatternName, StreamName
from graphtide_core.match import MatchKind, OccurrenceMatch
from graphtide_core.pattern import Report
from graphtide_core.predicate import Attribute, Compare, Comparison, In, aggregates, attributes, variables
from graphtide_core.time import MAX_EVENT_TIME, Duration, EventTime
from graphtide_query.families import PlannerOptions
from graphtide_query.language.expression_printer import write_conditions
from graphtide_query.planner import plan_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from graphtide_core.edge import Value
    from graphtide_core.event_expression import Part
    from graphtide_core.predicate import Expression
    from graphtide_native.records import EdgeBatch
    from graphtide_native.stages import Stages

_BUDGET: Final = 50_000_000
"""Steps of work that one matching may take."""


class Row(NamedTuple):
    """A record, and its place."""

    batch: EdgeBatch
    place: int
    record: Mapping[str, Any]

    @property
    def id(self) -> EdgeId:
        """Its id."""
        return EdgeId(self.record["id"])

    @property
    def ts(self) -> EventTime:
        """Its time."""
        return EventTime(self.record["ts"])

    @property
    def deletes(self) -> bool:
        """Whether it deletes."""
        return bool(self.record["op"] == "delete")

    def read(self, name: str) -> Value:
        """Return what an expression reads of it."""
        if name in ("ts", "id", "label", "src", "dst", "src_label", "dst_label"):
            return self.record[name]  # type: ignore[no-any-return] # a record of text, as a dictionary
        value: Value = self.record["label"] if name == "type" else self.record["attributes"].get(name)
        return value


@dataclass(slots=True)
class Inquiry:
    """The search for an answer, over records in the order of the stream."""

    pattern: EventPattern
    """Without what it returns, and how often it is reported: that has no part in what matches."""
    asked: Mapping[str, tuple[EdgeId, ...]]
    rows: list[Row]
    stages: Stages
    """Of the run that decoded the records."""
    chosen: dict[str, list[Row]] = field(default_factory=dict)

    def answer(self) -> EventAnswer:
        """Return the answer."""
        for name, ids in self.asked.items():
            for id in ids:
                row = next((row for row in self.rows if row.id == id and not row.deletes), None)
                if row is None:
                    return self._not(Obstacle.UNKNOWN, events=(AskedEvent(name, id),))
                self.chosen.setdefault(name, []).append(row)
        trace = self._reported()
        if trace is not None:
            return EventAnswer(self.pattern.name, self.asked, matched_at=trace)
        return next(chain(self._of_each(), self._of_all(), self._of_others()))

    # ---- what the events are

    def _of_each(self) -> Iterator[EventAnswer]:
        for place in positive_events(self.pattern.root):
            taken = self.chosen.get(place.name, [])
            for row in taken:
                if place.type not in (None, row.read("type")):
                    yield self._not(
                        Obstacle.TYPE, place.name, {place.name: [row]}, values={f"{place.name}.type": row.read("type")}
                    )
            most = len(taken) if place.repeat is None or place.repeat.most is None else place.repeat.most
            if taken and place.repeat is not None and not place.repeat.least <= len(taken) <= most:
                yield self._not(Obstacle.NUMBER, place.name, {place.name: taken}, _write_iteration(place.name, place.repeat))
            for row in taken:
                for predicate in self._predicates():
                    if variables(predicate) == {place.name} and not any(aggregates(predicate)):
                        yield from self._untrue(predicate, {place.name: [row]})

    # ---- what they are together

    def _of_all(self) -> Iterator[EventAnswer]:
        for (name, row), (other, same) in combinations(self._pairs(), 2):
            if row is same:
                yield self._not(Obstacle.SAME, None, {name: [row], other: [same]})
        yield from self._disorder(self.pattern.root)
        taken = sorted((row for _, row in self._pairs()), key=attrgetter("ts"))
        within = int(self.pattern.within.ticks(self.stages.unit) // 1)
        if taken[-1].ts - taken[0].ts > within:
            ends = [(name, row) for name, row in self._pairs() if row in (taken[0], taken[-1])]
            yield self._not(Obstacle.WITHIN, None, _by_name(ends), excess=taken[-1].ts - taken[0].ts - within)
        (name, first), *others = self._pairs()
        for attribute in self.pattern.partition:
            equal = Compare(Comparison.EQUAL, Attribute("one", attribute), Attribute("other", attribute))
            for other, row in others or [(name, first)]:
                is_shared = row is first or self._holds(equal, {"one": [first], "other": [row]})
                if first.read(attribute) is None or not is_shared:
                    values = {f"{each}.{attribute}": of.read(attribute) for each, of in ((name, first), (other, row))}
                    yield self._not(Obstacle.PARTITION, None, _by_name([(name, first), (other, row)]), attribute, values)
        for predicate in self._predicates():
            if variables(predicate) <= self.chosen.keys():
                yield from self._untrue(predicate, {name: self.chosen[name] for name in sorted(variables(predicate))})

    def _disorder(self, part: Part) -> Iterator[EventAnswer]:
        """Yield that a part of a sequence ends after the next begins, for each that does."""
        if not isinstance(part, Group):
            return
        for each in part.parts:
            yield from self._disorder(each)
        if not isinstance(part, Seq):
            return
        spans = [self._within(each) for each in part.parts]
        for before, after in combinations([span for span in spans if span], 2):
            latest, earliest = max(before, key=_time_of), min(after, key=_time_of)
            if latest[1].ts > earliest[1].ts:
                yield self._not(Obstacle.ORDER, None, _by_name([latest, earliest]))

    def _untrue(self, predicate: Expression, of: Mapping[str, list[Row]]) -> Iterator[EventAnswer]:
        if self._holds(predicate, of):
            return
        whole = {each.operand.variable for each in aggregates(predicate)}
        lists = ([rows] if name in whole else [[row] for row in rows] for name, rows in of.items())
        ways = (dict(zip(of, taken, strict=True)) for taken in product(*lists))
        chosen = next((way for way in ways if not self._holds(predicate, way)), of)
        values: dict[str, Value | tuple[Value, ...]] = {}
        for each in attributes(predicate):
            read = tuple(row.read(each.name) for row in chosen[each.variable])
            values[f"{each.variable}.{each.name}"] = read[0] if each.variable not in whole else read
        yield self._not(Obstacle.PREDICATE, None, chosen, write_conditions([predicate]), values)

    # ---- what else is there

    def _of_others(self) -> Iterator[EventAnswer]:
        ids = {row.id for _, row in self._pairs()}
        kept = [row for row in self.rows if not (row.deletes and row.id in ids)]
        loose = replace(self._pinned(), selection=Selection.ANY)
        nots = list(absences(loose.root))
        free = _without(loose, nots)
        if self._first(free, [row for row in kept if not row.deletes]) is None:
            yield self._not(Obstacle.MISSING, self._missing(free, kept))
        alone = [row for row in self.rows if row.id in ids and not row.deletes]
        is_whole = self._first(free, alone) is not None
        for absent in nots:
            strict = _without(loose, [each for each in nots if each is not absent])
            if self._first(strict, kept) is None:
                found = self._breaks(strict, absent, alone, kept) if is_whole else None
                name = absent.events[0].name if len(absent.events) == 1 else None
                if found is None:
                    yield self._not(Obstacle.ABSENT, name)
                else:
                    name = self._name_of(absent, strict, alone, found)
                    yield self._not(Obstacle.ABSENT, name, {name: [found]})
        if self._first(loose, kept) is None:
            yield self._not(Obstacle.ABSENT)
        if self._first(loose, self.rows) is None:
            gone = {row.id for row in self.rows if row.deletes}
            yield self._not(Obstacle.DELETED, None, _by_name([pair for pair in self._pairs() if pair[1].id in gone]))
        if self.pattern.selection is Selection.NEXT:
            yield self._not(Obstacle.SELECTION, None, {n: rows for n, rows in self.chosen.items() if repeats(self.pattern)[n]})
        yield self._not(Obstacle.ALIKE)

    def _missing(self, free: EventPattern, kept: Sequence[Row]) -> str | None:
        """Return the first event that was not asked about and that no record could be; None if that is so of none."""
        for place in positive_events(free.root):
            own = tuple(each for each in free.predicates if variables(each) == {place.name} and not any(aggregates(each)))
            if place.name not in self.chosen and not self._any(_alone(place, own), [row for row in kept if not row.deletes]):
                return place.name
        return None

    def _breaks(self, strict: EventPattern, absent: Not, alone: list[Row], kept: list[Row]) -> Row | None:
        """Return the first record that is what must not come; None if several are it only together with others."""
        types = {event.type for event in absent.events}
        able = [row for row in kept if not row.deletes and row not in alone and (None in types or row.read("type") in types)]
        few, many = 0, len(able)
        if self._passes(strict, alone, able, kept):
            return None
        while many - few > 1:
            middle = (few + many) // 2
            few, many = (middle, many) if self._passes(strict, alone, able[:middle], kept) else (few, middle)
        return able[many - 1]

    def _passes(self, strict: EventPattern, alone: list[Row], others: list[Row], kept: list[Row]) -> bool:
        """Whether the events are a match if only these of the other records exist, with their deletions."""
        ids = {row.id for row in others}
        there = [row for row in kept if row in alone or row in others or (row.deletes and row.id in ids)]
        return self._first(strict, there) is not None

    def _name_of(self, absent: Not, strict: EventPattern, alone: list[Row], found: Row) -> str:
        """Return which of several events that must not come a record is."""
        for event in absent.events:
            narrow = replace(
                strict, root=_with(strict.root, absent, Not((event,))), predicates=_speaking_of(strict, absent, event)
            )
            if not self._passes(narrow, alone, [found], [*alone, found]):
                return event.name
        return absent.events[0].name

    # ---- matching

    def _reported(self) -> EventTime | None:
        """Return when a match with the events was detected first."""
        pins = [self._pin(name) for name in self.chosen if repeats(self.pattern)[name] is None]
        plain = replace(self.pattern, report=Report.ALL, emits_timeouts=False, one_per=None)
        return self._first(replace(plain, predicates=(*plain.predicates, *pins)), self.rows)

    def _pinned(self) -> EventPattern:
        """Return the pattern with the events of the question alone in their places, in branches that have those."""
        root = self._pruned(self.pattern.root)
        root = And((root,)) if isinstance(root, QueryEvent) else root
        names = {event.name for event in events(root)}
        own = tuple(each for each in self.pattern.predicates if variables(each) <= names)
        plain = replace(self.pattern, root=root, predicates=own, report=Report.ALL, emits_timeouts=False, one_per=None)
        pins = tuple(self._pin(name) for name in self.chosen)
        return replace(plain, predicates=(*own, *pins), is_distinct=False)

    def _pruned(self, part: Any) -> Any:
        match part:
            case QueryEvent(name, kind, repeat) if repeat is not None and name in self.chosen:
                return QueryEvent(name, kind, Repeat(len(self.chosen[name]), len(self.chosen[name])))
            case Or(parts):
                own = [each for each in parts if self._within(each)]
                return self._pruned(own[0]) if own else part
            case Seq() | And():
                return type(part)(tuple(map(self._pruned, part.parts)))
            case _:
                return part

    def _pin(self, name: str) -> Expression:
        return In(Attribute(name, "id"), tuple(row.id for row in self.chosen[name]))

    def _holds(self, predicate: Expression, of: Mapping[str, list[Row]]) -> bool:
        """Whether a predicate is true of events in their places, which nothing else is asked of."""
        iterated = repeats(self.pattern)
        places = tuple(
            QueryEvent(name, None, Repeat(len(rows), len(rows)) if iterated.get(name) is not None else None)
            for name, rows in of.items()
        )
        pins = tuple(In(Attribute(name, "id"), tuple(row.id for row in rows)) for name, rows in of.items())
        given = {id(row): row for rows in of.values() for row in rows}
        asked = replace(_alone(places[0], ()), root=And(places), predicates=(predicate, *pins))
        return self._any(asked, [row for row in self.rows if id(row) in given])

    def _first(self, pattern: EventPattern, rows: Sequence[Row]) -> EventTime | None:
        """Return when a match was detected first that has the events of the question; None if none is."""
        wanted = {name: {row.id for row in taken} for name, taken in self.chosen.items()}
        for match in self._matches(pattern, rows):
            found = {name: {ids} if isinstance(ids, str) else set(ids) for name, ids in match.events.items()}
            if match.kind is MatchKind.MATCH and all(found.get(name) == ids for name, ids in wanted.items()):
                return match.detected_at
        return None

    def _any(self, pattern: EventPattern, rows: Sequence[Row]) -> bool:
        return next(self._matches(pattern, rows), None) is not None

    def _matches(self, pattern: EventPattern, rows: Sequence[Row]) -> Iterator[OccurrenceMatch]:
        if not rows:
            return
        matcher = self.stages.matcher(plan_all([pattern], PlannerOptions(), unit=self.stages.unit), deletions=True)
        found = chain(matcher.push(_batch(rows), budget=_BUDGET), matcher.finish())
        yield from (match for batch in found for match in batch if isinstance(match, OccurrenceMatch))

    # ---- words

    def _predicates(self) -> tuple[Expression, ...]:
        """Return the conditions on what is to come."""
        coming = {event.name for event in positive_events(self.pattern.root)}
        return tuple(each for each in self.pattern.predicates if variables(each) <= coming)

    def _pairs(self) -> list[tuple[str, Row]]:
        return [(name, row) for name, rows in self.chosen.items() for row in rows]

    def _within(self, part: Part) -> list[tuple[str, Row]]:
        names = {event.name for event in positive_events(part)}
        return [pair for pair in self._pairs() if pair[0] in names]

    def _not(
        self,
        obstacle: Obstacle,
        name: str | None = None,
        of: Mapping[str, list[Row]] | None = None,
        condition: str | None = None,
        values: Mapping[str, Value | tuple[Value, ...]] | None = None,
        *,
        events: tuple[AskedEvent, ...] = (),
        excess: int | None = None,
    ) -> EventAnswer:
        spoken = tuple(AskedEvent(each, row.id, row.ts) for each, rows in (of or {}).items() for row in rows)
        return EventAnswer(
            self.pattern.name, self.asked, None, obstacle, name, events or spoken, condition, values or {}, excess
        )


def _write_iteration(name: str, repeat: Repeat) -> str:
    """Return an iteration as it is written."""
    if repeat.least == repeat.most:
        return f"{name}{{{repeat.least}}}"
    return f"{name}{{{repeat.least},{'' if repeat.most is None else repeat.most}}}"


def _time_of(pair: tuple[str, Row]) -> int:
    return pair[1].ts


def _by_name(pairs: Iterable[tuple[str, Row]]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for name, row in pairs:
        found.setdefault(name, []).append(row)
    return found


def _alone(place: QueryEvent, predicates: tuple[Expression, ...]) -> EventPattern:
    """Return a pattern of one event of any time."""
    single = replace(place, repeat=None)
    return EventPattern(PatternName("asked"), And((single,)), Duration(MAX_EVENT_TIME), StreamName("asked"), predicates)


def _without(pattern: EventPattern, nots: Sequence[Not]) -> EventPattern:
    """Return a pattern in which some forbidden events may come, with the conditions that do not use them."""
    gone = {event.name for absent in nots for event in absent.events}
    root = pattern.root
    for absent in nots:
        root = _with(root, absent, None)
    return replace(pattern, root=root, predicates=tuple(each for each in pattern.predicates if not variables(each) & gone))


def _with(part: Any, absent: Not, other: Not | None) -> Any:
    """Return a part with another NOT in place of one, or with none."""
    if not isinstance(part, Group):
        return part
    parts = (other if each is absent else _with(each, absent, other) for each in part.parts)
    return type(part)(tuple(each for each in parts if each is not None))


def _speaking_of(pattern: EventPattern, absent: Not, event: QueryEvent) -> tuple[Expression, ...]:
    others = {each.name for each in absent.events} - {event.name}
    return tuple(each for each in pattern.predicates if not variables(each) & others)


def _batch(rows: Sequence[Row]) -> EdgeBatch:
    """Return rows in the order of the stream as one batch."""
    parts: list[EdgeBatch] = []
    for _, run in groupby(enumerate(rows), key=lambda pair: (id(pair[1].batch), pair[1].place - pair[0])):
        own = [row for _, row in run]
        parts.append(own[0].batch.part(own[0].place, own[-1].place + 1))
    return parts[0].followed_by(parts[1:])


def repeats(pattern: EventPattern) -> dict[str, Repeat | None]:
    """Return how often each event that is to come is repeated, by name; None is one."""
    return {event.name: event.repeat for event in positive_events(pattern.root)}
