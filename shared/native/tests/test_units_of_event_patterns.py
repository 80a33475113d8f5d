"""Units of event patterns in the matcher: patterns are added with their past and removed, and each reports as if alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from graphtide_core.event_pattern import EventPattern
from graphtide_core.ids import PatternName
from graphtide_core.match import OccurrenceMatch
from graphtide_core.pattern import Report
from graphtide_core.plans import EventPlan, EventUnit
from graphtide_native.matcher import Matcher
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.spec import Limits, columns
from graphtide_query.families.events.builders import aggregate
from graphtide_testing.members import take_past
from graphtide_testing.oracles.events import EventOracle
from graphtide_testing.parsing import parse_matched
from graphtide_testing.records import events_to_json_lines
from graphtide_testing.strategies.event_patterns import EventPatternShape, event_patterns, families
from graphtide_testing.strategies.event_streams import EventStreamShape, event_streams
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

    from graphtide_core.any_pattern import MatchedPattern
    from graphtide_core.event import Event
    from graphtide_native.match_batch import MatchBatch
    from graphtide_native.records import EdgeBatch
    from graphtide_testing.oracles.events import Emitted

    Reports = Counter[tuple[object, ...]]

STREAM = EventStreamShape(duplicates=False, negative_ts=False, max_records=20)
PATTERNS = EventPatternShape(stream=STREAM, max_events=3)


def unit_of(patterns: Sequence[MatchedPattern], builder: str = "none") -> EventUnit:
    of_events = tuple(pattern for pattern in patterns if isinstance(pattern, EventPattern))
    return EventUnit(of_events, aggregate(of_events, builder))


class Matching:
    """A matcher of units, with the oracles of its patterns, both fed record by record."""

    def __init__(self, projected: Sequence[str]) -> None:
        self._symbols, self._projected = Symbols(), projected
        self._decoder = JsonLinesDecoder(self._symbols, list(projected), {})
        self._matcher = Matcher([], self._symbols, projected, deletions=True, adaptive=True)
        self._taken: list[EdgeBatch] = []
        self._oracles: dict[str, EventOracle] = {}
        self._patterns: dict[str, EventPattern] = {}
        self._numbers: dict[str, int] = {}
        self._since: dict[str, int] = {}
        self._records: list[Event] = []

    def add(self, patterns: Sequence[EventPattern], builder: str, emitted: int) -> None:
        """Add patterns whose matches by the last `emitted` records were reported."""
        cut = max(0, len(self._taken) - emitted)
        unreported, known = self._taken[:cut], self._taken[cut:]
        numbers = self._matcher.add_unit(unit_of(patterns, builder), Limits(), unreported=unreported, reported=known)
        for pattern, number in zip(patterns, numbers, strict=True):
            oracle = EventOracle(pattern)
            for place, record in enumerate([*self._records, None]):
                if place == cut:
                    oracle.begin()
                if record is not None:
                    oracle.push(record)
            self._oracles[pattern.name], self._patterns[pattern.name] = oracle, pattern
            self._numbers[pattern.name], self._since[pattern.name] = number, cut
            if pattern.one_per is not None:
                alone = EventPlan(unit_of([pattern]), 0)
                beside = Matcher([alone], self._symbols, self._projected, deletions=True, adaptive=True)
                take_past(beside, unreported, known)
                self._matcher.take_deduplication(number, beside, 0)

    def remove(self, name: str) -> None:
        self._matcher.remove(self._numbers.pop(name))
        del self._oracles[name], self._patterns[name]

    def names(self) -> list[str]:
        return sorted(self._numbers)

    def regroup(self, units: Iterable[Iterable[str]], chance: random.Random) -> list[str]:
        """Let the patterns of some units be one, in any order; return their names in it."""
        names = [name for unit in units for name in unit]
        chance.shuffle(names)
        unit = unit_of([self._patterns[name] for name in names], chance.choice(["none", "casem+dce"]))
        assert self._matcher.regroup([self._numbers[name] for name in names], unit)
        return names

    def push(self, record: Event) -> tuple[Reports, Reports]:
        """Return the reports of the matcher, and those of the oracles for matches that count."""
        batch = self._decoder.decode(events_to_json_lines([record]))
        found = self.found(self._matcher.push(batch))
        self._taken.append(batch)
        self._records.append(record)
        return found, self._wanted((name, emitted) for name, oracle in self._oracles.items() for emitted in oracle.push(record))

    def pass_time(self, watermark: int) -> tuple[Reports, Reports]:
        """As `push`, of time that passes without a record."""
        found = self.found(self._matcher.pass_time(watermark))
        return found, self._wanted(
            (name, emitted) for name, oracle in self._oracles.items() for emitted in oracle.advance(watermark)
        )

    def finish(self) -> tuple[Reports, Reports]:
        found = self.found(self._matcher.finish())
        return found, self._wanted((name, emitted) for name, oracle in self._oracles.items() for emitted in oracle.finish())

    def found(self, batches: Iterable[MatchBatch]) -> Reports:
        emitted: Reports = Counter()
        for match in (match for batch in batches for match in batch):
            assert isinstance(match, OccurrenceMatch)
            events = [(name, (ids,) if isinstance(ids, str) else ids) for name, ids in match.events.items()]
            emitted[match.query, match.kind.value, match.detected_at, match.count or 1, self._shown(match.query, events)] += 1
        return emitted

    def _wanted(self, emitted: Iterable[tuple[str, Emitted]]) -> Reports:
        places = {str(record.id): place for place, record in enumerate(self._records) if record.operation.value == "insert"}
        return Counter(
            (name, each.kind, each.detected_at, each.count, self._shown(name, each.events))
            for name, each in emitted
            if places[each.completed_by] >= self._since[name]
        )

    def _shown(self, name: str, events: Iterable[tuple[str, tuple[str, ...]]]) -> tuple[object, ...]:
        return () if self._patterns[name].report is Report.EXISTS else tuple(sorted(events))


@given(
    event_streams(STREAM),
    st.lists(event_patterns(replace(PATTERNS, timeouts=False)), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_patterns_are_added_and_removed_and_each_reports_as_if_alone(
    stream: tuple[Event, ...], generated: list[EventPattern], chance: random.Random
) -> None:
    waiting = [replace(pattern, name=PatternName(f"p{place}")) for place, pattern in enumerate(generated)]
    matching = Matching(columns(waiting))
    for record in stream:
        if waiting and chance.random() < 0.5:
            newcomers = [waiting.pop() for _ in range(chance.randint(1, len(waiting)))]
            matching.add(newcomers, chance.choice(["none", "casem+dce"]), emitted=chance.choice([0, 0, 2, 100]))
        if matching.names() and chance.random() < 0.2:
            matching.remove(chance.choice(matching.names()))
        found, wanted = matching.push(record)
        assert found == wanted
    found, wanted = matching.finish()
    assert found == wanted


@given(
    event_streams(STREAM),
    families(PATTERNS),
    st.randoms(use_true_random=False),
)
def test_units_that_become_one_neither_lose_nor_repeat_a_match(
    stream: tuple[Event, ...], generated: list[EventPattern], chance: random.Random
) -> None:
    waiting = [replace(pattern, name=PatternName(f"p{place}")) for place, pattern in enumerate(generated)]
    matching = Matching(columns(waiting))
    units: list[list[str]] = []
    for record in stream:
        if waiting and chance.random() < 0.7:
            units.append([waiting[-1].name])
            matching.add([waiting.pop()], "none", emitted=chance.choice([0, 0, 2, 100]))
        if units and chance.random() < 0.1:
            unit = chance.choice(units)
            matching.remove(unit.pop(chance.randrange(len(unit))))
            units = [unit for unit in units if unit]
        if chance.random() < 0.2:
            found, wanted = matching.pass_time(record.ts)
            assert found == wanted
        if units and chance.random() < 0.4:
            chosen = chance.sample(units, chance.randint(1, len(units)))
            units = [*(unit for unit in units if unit not in chosen), matching.regroup(chosen, chance)]
        found, wanted = matching.push(record)
        assert found == wanted
    found, wanted = matching.finish()
    assert found == wanted


def test_a_count_that_was_not_emitted_is_not_retracted() -> None:
    (pattern,) = parse_matched("PATTERN p SEQ(a:A, b:B) REPORT EXISTS ON s WITHIN 9ms")
    symbols = Symbols()
    matcher = Matcher([], symbols, adaptive=True, deletions=True)
    decode = JsonLinesDecoder(symbols, [], {}).decode
    lines = [b'{"ts":1,"type":"A","id":"a"}', b'{"ts":2,"type":"B","id":"b"}', b'{"ts":3,"type":"B","id":"c"}']
    first, second, third = (decode(line + b"\n") for line in lines)
    matcher.add_unit(unit_of([pattern]), Limits(), unreported=[first, second], reported=[third])
    found = [match for matches in matcher.push(decode(b'{"ts":4,"id":"a","op":"delete"}\n')) for match in matches]
    assert [(match.kind.value, match.last_ts) for match in found] == [("retract", 3)]


def test_a_pattern_that_begins_again_reports_nothing_from_before() -> None:
    (pattern,) = parse_matched("PATTERN p SEQ(a:A, NOT x:X) ON s WITHIN 7ms")
    symbols = Symbols()
    matcher = Matcher([EventPlan(unit_of([pattern]), 0)], symbols, adaptive=True)
    decode = JsonLinesDecoder(symbols, [], {}).decode
    for ts in (0, 12):
        list(matcher.push(decode(b'{"ts":%d,"type":"A","id":"a%d"}\n' % (ts, ts))))
        matcher.begin(0)
    list(matcher.push(decode(b'{"ts":18,"type":"A","id":"a18"}\n')))
    found = [match for matches in matcher.push(decode(b'{"ts":50,"type":"B","id":"b"}\n')) for match in matches]
    assert [match.detected_at for match in found] == [25]


@pytest.mark.parametrize("is_emitted", [False, True])
def test_a_pending_match_is_reported_by_the_new_unit_if_it_was_due(is_emitted: bool) -> None:
    patterns = [
        pattern
        for pattern in parse_matched("PATTERN p SEQ(a:A, NOT x:X) ON s WITHIN 5ms PATTERN q SEQ(a:A, b:B) ON s WITHIN 9ms")
        if isinstance(pattern, EventPattern)
    ]
    symbols = Symbols()
    matcher = Matcher([], symbols, adaptive=True, deletions=True)
    decode = JsonLinesDecoder(symbols, [], {}).decode
    batch = decode(b'{"ts":1,"type":"A","id":"a"}\n')
    list(matcher.push(batch))
    emitted, unreported = ([batch], []) if is_emitted else ([], [batch])
    numbers = [
        number
        for pattern in patterns
        for number in matcher.add_unit(unit_of([pattern]), Limits(), unreported=unreported, reported=emitted)
    ]
    assert matcher.regroup(numbers[::-1], unit_of(patterns[::-1], "casem"))
    found = [match for matches in matcher.push(decode(b'{"ts":8,"type":"B","id":"b"}\n')) for match in matches]
    assert [(match.query, match.detected_at) for match in found] == [("p", 6)] * is_emitted + [("q", 8)]


def test_a_plan_that_reaches_a_limit_on_the_way_is_refused() -> None:
    texts = "PATTERN p SEQ(a:A, b:B, c:C) ON s WITHIN 99ms PATTERN q SEQ(a:A, b:B, d:D) ON s WITHIN 99ms"
    patterns = parse_matched(texts)
    symbols = Symbols()
    units = [EventPlan(unit_of([pattern]), 0) for pattern in patterns]
    matcher = Matcher(units, symbols, adaptive=True, limits=Limits(partial_matches=20, policy="shed"))
    decode = JsonLinesDecoder(symbols, [], {}).decode
    lines = [b'{"ts":%d,"type":"%c","id":"%d"}' % (ts, b"AB"[ts % 2], ts) for ts in range(40)]
    list(matcher.push(decode(b"\n".join(lines) + b"\n")))
    assert not matcher.regroup([0, 1], unit_of(patterns, "casem"))
    assert matcher.regroup([0, 1], unit_of(patterns))
    found = [match for matches in matcher.push(decode(b'{"ts":50,"type":"D","id":"d"}\n')) for match in matches]
    assert Counter(match.query for match in found) == {"q": 210}


def test_a_limit_says_for_how_many_patterns_it_is() -> None:
    texts = "PATTERN p SEQ(a:A, b:B, c:C) ON s WITHIN 99ms PATTERN q SEQ(a:A, b:B, d:D) ON s WITHIN 99ms"
    unit = unit_of(parse_matched(texts), "casem")
    symbols = Symbols()
    limits = Limits(partial_matches=20, policy="shed")
    matcher = Matcher([EventPlan(unit, 0), EventPlan(unit, 1)], symbols, adaptive=True, limits=limits)
    lines = [b'{"ts":%d,"type":"%c","id":"%d"}' % (ts, b"AB"[ts % 2], ts) for ts in range(40)]
    list(matcher.push(JsonLinesDecoder(symbols, [], {}).decode(b"\n".join(lines) + b"\n")))
    assert {report.limit for report in matcher.patterns()} == {"20 partial matches a pattern, for the 2 of its unit together"}
    assert matcher.patterns()[0].partial_matches == 40


def test_units_are_replaced_whole() -> None:
    patterns = parse_matched("PATTERN p SEQ(a:A, b:B) ON s WITHIN 9ms PATTERN q SEQ(a:A, c:C) ON s WITHIN 9ms")
    unit = unit_of(patterns)
    matcher = Matcher([EventPlan(unit, 0), EventPlan(unit, 1)], Symbols(), adaptive=True)
    with pytest.raises(ValueError, match="not all of some units"):
        matcher.regroup([0], unit_of(patterns[:1]))
    with pytest.raises(ValueError, match="not all of some units"):
        matcher.regroup([1, 0], unit)


def test_a_number_is_given_again_and_reports_are_of_who_has_it() -> None:
    one, other = (
        pattern for pattern in parse_matched("PATTERN one SEQ(a:A, b:B) ON s WITHIN 9ms PATTERN other SEQ(c:A) ON s WITHIN 9ms")
    )
    matcher = Matcher([], Symbols(), adaptive=True)
    (number,) = matcher.add_unit(unit_of([one]), Limits(), unreported=[], reported=[])
    matcher.remove(number)
    assert matcher.patterns() == ()
    assert matcher.add_unit(unit_of([other]), Limits(), unreported=[], reported=[]) == (number,)
    assert [report.name for report in matcher.patterns()] == ["other"]


def test_changes_are_returned_for_event_patterns_too() -> None:
    (pattern,) = parse_matched("PATTERN p SEQ(a:A, b:B) ON s WITHIN 9ms")
    symbols = Symbols()
    matcher = Matcher([EventPlan(unit_of([pattern]), 0)], symbols, adaptive=True)
    decode = JsonLinesDecoder(symbols, [], {}).decode
    assert list(matcher.push(decode(b'{"ts":1,"type":"C","id":"c"}\n'))) == []
    assert matcher.changed(9) == {}
    list(matcher.push(decode(b'{"ts":2,"type":"A","id":"a"}\n{"ts":3,"type":"B","id":"b"}\n')))
    assert {number: report.matches for number, report in matcher.changed(9).items()} == {0: 1}
    assert matcher.changed(9) == {}


def test_records_that_nobody_asks_for_are_not_selected() -> None:
    (pattern,) = parse_matched("PATTERN p SEQ(a:A, NOT x:X, b:B) WHERE x.n = 1 ON s WITHIN 9ms")
    symbols = Symbols()
    matcher = Matcher([EventPlan(unit_of([pattern]), 0)], symbols, columns([pattern]), adaptive=True, deletions=True)
    lines = [
        b'{"ts":1,"type":"A","id":"a"}',
        b'{"ts":1,"type":"C","id":"c"}',
        b'{"ts":2,"type":"X","id":"x","n":1}',
        b'{"ts":2,"type":"X","id":"y","n":2}',
        b'{"ts":3,"id":"q","op":"delete"}',
    ]
    batch = JsonLinesDecoder(symbols, ["n"], {}).decode(b"\n".join(lines) + b"\n")
    list(matcher.push(batch))
    assert [record["id"] for record in matcher.selected(batch).to_records()] == ["a", "x", "q"]


def test_patterns_that_are_traced_take_no_newcomers() -> None:
    (pattern,) = parse_matched("PATTERN p SEQ(a:A, b:B) ON s WITHIN 9ms")
    with pytest.raises(ValueError, match="keeps no edges"):
        Matcher([], Symbols()).add_unit(unit_of([pattern]), Limits(), unreported=[], reported=[])


def test_a_count_that_was_found_before_a_pattern_began_is_not_retracted() -> None:
    (pattern,) = parse_matched("PATTERN p OR(a:A, b:B) REPORT EXISTS ON s WITHIN 9ms")
    symbols = Symbols()
    matcher = Matcher([EventPlan(unit_of([pattern]), 0)], symbols, adaptive=True, deletions=True)
    decode = JsonLinesDecoder(symbols, [], {}).decode
    matcher.wait(0)
    list(matcher.push(decode(b'{"ts":1,"type":"A","id":"a"}\n')))
    matcher.begin(0)
    lines = b'{"ts":2,"type":"B","id":"b"}\n{"ts":3,"id":"a","op":"delete"}\n{"ts":4,"id":"b","op":"delete"}\n'
    emitted = [(match.kind.value, match.first_ts) for part in matcher.push(decode(lines)) for match in part]
    assert emitted == [("match", 2), ("retract", 2)]
