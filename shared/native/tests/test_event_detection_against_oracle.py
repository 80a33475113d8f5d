"""Event patterns are detected as the oracle says after every record, whatever plan shares their sub-patterns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import pytest
from graphtide_core.edge import Operation
from graphtide_core.errors import InvalidPatternError
from graphtide_core.event import Event
from graphtide_core.event_expression import And, Not, QueryEvent, Repeat, Seq
from graphtide_core.event_pattern import EventPattern
from graphtide_core.ids import EdgeId, PatternName, StreamName
from graphtide_core.pattern import Report
from graphtide_core.statistics import EdgeType, StatisticsSnapshot, TimeRange
from graphtide_core.time import Duration, EventTime, TimeUnit
from graphtide_native.event_detection import EventDetector
from graphtide_native.records import Duplicates, JsonLinesDecoder, Symbols
from graphtide_query.families.events.builders import BUILDERS, aggregate
from graphtide_query.families.events.units import join_units, units
from graphtide_query.families.planner_options import AUTO
from graphtide_testing.oracles.events import EventOracle
from graphtide_testing.parsing import parse_matched
from graphtide_testing.records import events_to_json_lines
from graphtide_testing.strategies.event_patterns import EventPatternShape, event_patterns, families
from graphtide_testing.strategies.event_streams import EVENT_ATTRIBUTES, EventStreamShape, event_streams
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from graphtide_core.returns import FieldValue
    from graphtide_native.event_detection import Occurrence
    from graphtide_testing.oracles.events import Emitted

    Reports = Counter[tuple[object, ...]]

ATTRIBUTES: Final = (*EVENT_ATTRIBUTES, "absent")
# Output deduplication by key comes after detection, in the matcher.
ALL: Final = EventPatternShape(once=False)
PLAIN: Final = replace(ALL, groups=(Seq, Seq, And), iterations=False, partition=False, exists=False, timeouts=False)
SMALL: Final = replace(ALL, max_events=3)
SHARING: Final = (AUTO, *sorted(BUILDERS))


@dataclass(slots=True)
class Side:
    """The detector of some patterns beside an oracle of each; both take the same records."""

    patterns: dict[str, EventPattern]
    builder: str = "none"
    may_change: bool = False
    statistics: StatisticsSnapshot = field(default_factory=StatisticsSnapshot)
    detector: EventDetector = field(init=False)
    oracles: dict[str, EventOracle] = field(init=False)
    _records: list[Event] = field(default_factory=list)
    _decoder: JsonLinesDecoder = field(init=False)
    _duplicates: Duplicates = field(init=False)

    def __post_init__(self) -> None:
        """Let both begin."""
        asked, symbols = list(self.patterns.values()), Symbols()
        plan = join_units(units(asked, self.builder, statistics=self.statistics))
        self.detector = EventDetector(plan, asked, symbols, ATTRIBUTES, may_change=self.may_change)
        self.oracles = {name: EventOracle(pattern) for name, pattern in self.patterns.items()}
        self._decoder = JsonLinesDecoder(symbols, ATTRIBUTES, {})
        # An id is a duplicate for all patterns alike, within the longest of their reaches.
        self._duplicates = Duplicates(max(pattern.lookback(TimeUnit.MILLISECOND) for pattern in asked))

    def push(self, *records: Event) -> tuple[Reports, Reports]:
        """Return the reports of the detector and of the oracles for records."""
        found, emitted = self.emitted(*records)
        return self.found(found), self.wanted(emitted)

    def emitted(self, *records: Event) -> tuple[list[Occurrence], list[tuple[str, Emitted]]]:
        """As `push`, as both say it."""
        self._records += records
        batch = self._duplicates.filter(self._decoder.decode(events_to_json_lines(records)))
        kept = [self._records[ordinal] for ordinal in batch.ordinals]
        emitted = [(name, each) for record in kept for name, oracle in self.oracles.items() for each in oracle.push(record)]
        return self.detector.push(batch), emitted

    def advance(self, now: int) -> tuple[Reports, Reports]:
        """Return the reports of both once time is `now`."""
        emitted = [(name, each) for name, oracle in self.oracles.items() for each in oracle.advance(now)]
        return self.found(self.detector.advance(now)), self.wanted(emitted)

    def finish(self) -> tuple[Reports, Reports]:
        """Return the reports of both at the end."""
        emitted = [(name, each) for name, oracle in self.oracles.items() for each in oracle.finish()]
        return self.found(self.detector.finish()), self.wanted(emitted)

    def found(self, occurrences: Iterable[Occurrence]) -> Reports:
        """Return the reports, without the witnesses of patterns that count an event's matches."""
        shown = ((each, self._shown(each.pattern, each.kind, each.events.items(), each.fields.items())) for each in occurrences)
        return Counter((each.pattern, each.kind, each.detected_at, each.count, *said) for each, said in shown)

    def wanted(self, emitted: Iterable[tuple[str, Emitted]]) -> Reports:
        """As `found`, of oracles."""
        return Counter(
            (name, each.kind, each.detected_at, each.count, *self._shown(name, each.kind, each.events, each.fields))
            for name, each in emitted
        )

    def _shown(
        self, name: str, kind: str, events: Iterable[tuple[str, tuple[str, ...]]], fields: Iterable[tuple[str, FieldValue]]
    ) -> tuple[object, ...]:
        is_counted = self.patterns[name].report is Report.EXISTS and kind != "timeout"
        return () if is_counted else (tuple(sorted(events)), tuple(fields))


def name_patterns(patterns: Iterable[EventPattern]) -> dict[str, EventPattern]:
    return {f"p{number}": replace(pattern, name=PatternName(f"p{number}")) for number, pattern in enumerate(patterns)}


def parse(text: str) -> EventPattern:
    (pattern,) = parse_matched(f"PATTERN p {text}")
    assert isinstance(pattern, EventPattern)
    return pattern


def assert_equal_after_every_record(side: Side, records: Iterable[Event]) -> list[Reports]:
    """Return what was reported of each record, and last at the end."""
    reported = []
    for record in records:
        found, wanted = side.push(record)
        assert found == wanted
        reported.append(found)
    found, wanted = side.finish()
    assert found == wanted
    return [*reported, found]


@given(pattern=event_patterns(PLAIN), records=event_streams(PLAIN.stream))
def test_sequences_and_conjunctions_with_a_not_at_any_place(pattern: EventPattern, records: tuple[Event, ...]) -> None:
    assert_equal_after_every_record(Side(name_patterns([pattern])), records)


@given(pattern=event_patterns(ALL), records=event_streams(ALL.stream))
def test_patterns_of_every_kind(pattern: EventPattern, records: tuple[Event, ...]) -> None:
    assert_equal_after_every_record(Side(name_patterns([pattern])), records)


DENSE: Final = EventStreamShape(max_records=9, types=("A",), gaps=(0, 0, 1))


@given(pattern=event_patterns(replace(SMALL, stream=DENSE)), records=event_streams(DENSE))
def test_many_events_of_a_type_and_a_time(pattern: EventPattern, records: tuple[Event, ...]) -> None:
    assert_equal_after_every_record(Side(name_patterns([pattern])), records)


@given(
    pattern=event_patterns(SMALL),
    records=event_streams(ALL.stream),
    chance=st.randoms(use_true_random=False),
)
def test_time_that_goes_on_without_records(pattern: EventPattern, records: tuple[Event, ...], chance: Random) -> None:
    side = Side(name_patterns([pattern]))
    for place, record in enumerate(records):
        found, wanted = side.push(record)
        assert found == wanted
        until = records[place + 1].ts if place + 1 < len(records) else record.ts + 8
        for now in range(record.ts, until + 1):
            if chance.random() < 0.5:
                found, wanted = side.advance(now)
                assert found == wanted


@given(pattern=event_patterns(ALL), records=event_streams(ALL.stream), sizes=st.lists(st.integers(0, 5), min_size=16))
def test_a_batch_of_any_size_reports_the_same(pattern: EventPattern, records: tuple[Event, ...], sizes: list[int]) -> None:
    side, place = Side(name_patterns([pattern])), 0
    for size in [*sizes, len(records)]:
        found, wanted = side.push(*records[place : place + size])
        assert found == wanted
        place += size


# Two events make a match, and the time of the first is not over when one is deleted.
UNDONE: Final = replace(
    SMALL,
    max_absent=1,
    max_depth=1,
    groups=(Seq,),
    predicates=False,
    partition=False,
    exists=False,
    stream=EventStreamShape(types=("A", "B"), gaps=(0, 0, 1), duplicates=False),
)


def with_deletions(records: Iterable[Event], deleted: Iterable[int]) -> list[Event]:
    """Return records with deletions between them: behind each of that which came so many before, none at 0."""
    # Deletions between them would move the ids that are made.
    came = [replace(record, made=False) for record in records]
    all_of_them: list[Event] = []
    for place, (record, back) in enumerate(zip(came, deleted, strict=False)):
        all_of_them.append(record)
        if 0 < back <= place + 1:
            all_of_them.append(replace(came[place - back + 1], ts=record.ts, attributes={}, operation=Operation.DELETE))
    return all_of_them


def add_timeouts(pattern: EventPattern) -> EventPattern:
    """Return a pattern with timeouts, where it may have them."""
    try:
        return replace(pattern, emits_timeouts=True)
    except InvalidPatternError:
        return pattern


@given(
    pattern=event_patterns(UNDONE).map(add_timeouts),
    records=event_streams(UNDONE.stream, min_records=6),
    deleted=st.lists(st.integers(0, 3), min_size=16, max_size=16),
    changes=st.lists(st.booleans(), min_size=16, max_size=16),
)
def test_what_began_a_match_that_was_retracted_has_no_timeout_whenever_the_plan_changes(
    pattern: EventPattern, records: tuple[Event, ...], deleted: list[int], changes: list[bool]
) -> None:
    side = Side(name_patterns([pattern]), may_change=True)
    for record, is_changed in zip(with_deletions(records, deleted), [*changes, *changes], strict=False):
        found, wanted = side.push(record)
        assert found == wanted
        if is_changed:
            # What was reported is found again from what is held.
            asked = list(side.patterns.values())
            side.detector.replan(aggregate(asked, side.builder), asked)
    found, wanted = side.finish()
    assert found == wanted


# What a run took when it was complete is not what it takes once one of its events was deleted.
RUNS: Final = (
    "SEQ(a:A+, NOT n)",
    "SEQ(a:A+, NOT b:B)",
    "SEQ(a:A{2,}, NOT b:B)",
    "SEQ(a:A{1,2}, b:B+)",
    "SEQ(a:A+, b:B, NOT c:A)",
    "SEQ(OR(a:A+, b:B), NOT n)",
    "SEQ(a:A, b:A+) WHERE count(b) < 2",
    "SEQ(a:A+, b:B) WHERE count(a) < 3",
)


@settings(max_examples=4 * settings().max_examples)
@given(
    text=st.sampled_from(RUNS),
    within=st.integers(1, 3),
    records=event_streams(EventStreamShape(types=("A", "B"), gaps=(0, 1), duplicates=False, deletions=False), min_records=6),
    deleted=st.lists(st.integers(0, 3), min_size=16, max_size=16),
)
def test_a_run_that_lost_an_event_while_it_waited_began_no_match(
    text: str, within: int, records: tuple[Event, ...], deleted: list[int]
) -> None:
    pattern = parse(f"{text} SKIP TILL NEXT ON s WITHIN {within}ms ON TIMEOUT")
    assert_equal_after_every_record(Side(name_patterns([pattern])), with_deletions(records, deleted))


@pytest.mark.parametrize(
    ("text", "deleted", "kinds"),
    [
        # At 2 the first run has lost an event, and another than the three was never complete.
        ("SEQ(a:A+, NOT n)", "e1", ["match", "timeout"]),
        # The first two A are a match, though no run that continues with the third is one.
        ("SEQ(a:A, b:A+) WHERE sum(b.n) < 2", "", ["match", "timeout", "timeout"]),
    ],
)
def test_what_a_run_took_when_it_was_complete_says_whether_it_began_a_match(text: str, deleted: str, kinds: list[str]) -> None:
    pattern = parse(f"{text} SKIP TILL NEXT ON s WITHIN 2ms ON TIMEOUT")
    side = Side(name_patterns([pattern]))
    records = [Event(EdgeId(f"e{number}"), EventTime(number), "A", {"n": n}) for number, n in enumerate((0, 1, 5))]
    if deleted:
        records.append(Event(EdgeId(deleted), EventTime(2), "", {}, Operation.DELETE))
    reported = assert_equal_after_every_record(side, records)
    assert sorted(str(kind) for found in reported for _, kind, *_ in found.elements()) == kinds


# The bounds of the matches of one event pass at different times: some are past retracting before others are decided.
COUNTED: Final = (
    "SEQ(a:A, b:B, NOT c:C)",
    "SEQ(a:A+, b:A, NOT c:A)",
    "SEQ(AND(a:A, b:B), NOT c:C)",
    "SEQ(a:A, OR(b:B, c:A), NOT d:C)",
    "SEQ(NOT d:C, a:A, b:B{1,2}, NOT c:A) SKIP TILL NEXT",
)


@settings(max_examples=4 * settings().max_examples)
@given(
    text=st.sampled_from(COUNTED),
    within=st.integers(1, 2),
    records=event_streams(EventStreamShape(types=("A", "B"), gaps=(0, 1), duplicates=False, deletions=False), min_records=8),
    deleted=st.lists(st.integers(0, 6), min_size=16, max_size=16),
)
def test_a_count_has_no_match_that_lost_an_event_before_it_was_reported(
    text: str, within: int, records: tuple[Event, ...], deleted: list[int]
) -> None:
    pattern = parse(f"{text} REPORT EXISTS ON s WITHIN {within}ms")
    assert_equal_after_every_record(Side(name_patterns([pattern])), with_deletions(records, deleted))


@pytest.mark.parametrize(
    ("within", "deleted", "at", "counts"),
    [(1, "e4", 2, [7, 1]), (1, "e0", 1, [15, 1]), (1, "e0", 2, [4, 15, 1]), (2, "e0", 3, [16, 31])],
)
def test_a_count_has_what_was_not_deleted_within_the_lookback(within: int, deleted: str, at: int, counts: list[int]) -> None:
    root = Seq((QueryEvent("a", "A", Repeat(1)), QueryEvent("b", "A"), Not((QueryEvent("c", "A"),))))
    pattern = EventPattern(PatternName("p"), root, Duration(within, "ms"), StreamName("s"), report=Report.EXISTS)
    side = Side(name_patterns([pattern]))
    records = [Event(EdgeId(f"e{number}"), EventTime(ts), "A", {}) for number, ts in enumerate((0, 1, 1, 1, 1, 2, 3))]
    records.append(Event(EdgeId(deleted), EventTime(at), "", {}, Operation.DELETE))
    reported = assert_equal_after_every_record(side, sorted(records, key=lambda record: record.ts))
    assert [count for found in reported for *_, count in found] == counts


@pytest.mark.parametrize("report", [Report.ALL, Report.EXISTS])
@pytest.mark.parametrize("place", range(4))
def test_what_began_a_match_that_was_retracted_has_no_timeout(report: Report, place: int) -> None:
    parts = (QueryEvent("a", "A"), QueryEvent("b", "B"))
    within, stream = Duration(5, "ms"), StreamName("s")
    pattern = EventPattern(PatternName("p"), Seq(parts), within, stream, report=report, emits_timeouts=True)
    side = Side(name_patterns([pattern]), may_change=True)
    a, b = (Event(EdgeId(kind), EventTime(ts), kind, {}) for ts, kind in enumerate("AB"))
    kinds = []
    for number, record in enumerate((a, b, replace(b, ts=EventTime(2), operation=Operation.DELETE))):
        if number == place:
            asked = list(side.patterns.values())
            assert side.detector.replan(aggregate(asked, side.builder), asked)
        found, wanted = side.push(record)
        assert found == wanted
        kinds += [kind for _, kind, *_ in found]
    if place == 3:
        asked = list(side.patterns.values())
        assert side.detector.replan(aggregate(asked, side.builder), asked)
    assert side.finish() == (Counter(), Counter())
    assert kinds == ["match", "retract"]


@pytest.mark.parametrize("builder", SHARING)
@given(patterns=families(SMALL), records=event_streams(SMALL.stream))
def test_patterns_that_share_sub_patterns(builder: str, patterns: list[EventPattern], records: tuple[Event, ...]) -> None:
    assert_equal_after_every_record(Side(name_patterns(patterns), builder), records)


@given(
    patterns=families(SMALL),
    records=event_streams(SMALL.stream),
    rates=st.fixed_dictionaries({kind: st.sampled_from((1, 20, 400, 8_000)) for kind in SMALL.stream.types}),
)
def test_whatever_sharing_is_estimated_to_pay_the_matches_are_the_same(
    patterns: list[EventPattern], records: tuple[Event, ...], rates: dict[str, int]
) -> None:
    window = TimeRange(EventTime(0), EventTime(100))
    types = {EdgeType(None, kind, None): rate for kind, rate in rates.items()}
    statistics = StatisticsSnapshot(window=window, edges=sum(rates.values()), types=types)
    assert_equal_after_every_record(Side(name_patterns(patterns), AUTO, statistics=statistics), records)


# Ids that are used again do not identify which of two events completed a match.
STEADY: Final = replace(SMALL, timeouts=False, stream=EventStreamShape(duplicates=False))


@given(
    patterns=families(STEADY),
    records=event_streams(STEADY.stream),
    builder=st.sampled_from(("none", "casem+dce")),
    chance=st.randoms(use_true_random=False),
)
def test_a_change_of_plan_neither_loses_nor_repeats_a_match(
    patterns: list[EventPattern], records: tuple[Event, ...], builder: str, chance: Random
) -> None:
    # Of one reach, so that what a new pattern asks for is as far back as what is kept.
    patterns = [replace(each, within=Duration(5, "ms")) for each in patterns]
    side = Side(name_patterns(patterns), builder, may_change=True)
    since = dict.fromkeys(side.patterns, -1)
    places: dict[str, int] = {}
    for place, record in enumerate(records):
        if chance.random() < 0.25:
            running = chance.sample(sorted(side.patterns), chance.randint(1, len(side.patterns)))
            since = {name: since.get(name, place - 1) for name in running}
            asked = [side.patterns[name] for name in running]
            side.detector.replan(aggregate(asked, builder), asked)
        places.setdefault(str(record.id), place)
        found, emitted = side.emitted(record)
        counted = [(name, each) for name, each in emitted if name in since and places[each.completed_by] > since[name]]
        assert side.found(found) == side.wanted(counted)


def beside_another(text: str) -> tuple[EventPattern, EventPattern]:
    """Return a pattern of a longer time, which never matches, and the one of a text."""
    patterns = parse_matched(f"PATTERN p0 SEQ(z:Z) ON s WITHIN 9ms\nPATTERN p1 {text}")
    other, pattern = (each for each in patterns if isinstance(each, EventPattern))
    return other, pattern


# Of the matches that one event completes, some are decided before a pattern begins and some after.
LATE: Final = (
    *COUNTED,
    'SEQ(NOT d:B, OR(a:A+, c:C)) WHERE d.k = "p" SKIP TILL NEXT',
    "SEQ(NOT c:B, a:A{1,2})",
    "AND(a:A, SEQ(b:B, NOT c:C))",
)


@settings(max_examples=2 * settings().max_examples)
@given(
    text=st.sampled_from(LATE),
    report=st.sampled_from(("EXISTS", "EXISTS", "ALL", "DISTINCT")),
    records=event_streams(EventStreamShape(types=("A", "B"), gaps=(0, 1), duplicates=False), min_records=10),
    begins=st.integers(3, 9),
    chance=st.randoms(use_true_random=False),
)
def test_a_pattern_that_begins_while_matches_wait_reports_those_whose_last_event_comes_later(
    text: str, report: str, records: tuple[Event, ...], begins: int, chance: Random
) -> None:
    other, pattern = (
        each
        for each in parse_matched(f"PATTERN p0 SEQ(z:Z) ON s WITHIN 9ms\nPATTERN p1 {text} REPORT {report} ON s WITHIN 3ms")
    )
    assert isinstance(other, EventPattern)
    assert isinstance(pattern, EventPattern)
    side = Side({"p0": other}, may_change=True)
    oracle = EventOracle(pattern)
    places = {str(record.id): place for place, record in reversed(list(enumerate(records)))}
    for place, record in enumerate(records):
        if place == begins:
            side.patterns["p1"] = pattern
            side.detector.replan(aggregate([other, pattern], "none"), [other, pattern])
        found, _ = side.emitted(record)
        reported = [("p1", each) for each in oracle.push(record) if place >= begins and places[each.completed_by] >= begins]
        assert side.found(found) == side.wanted(reported)
        if place + 1 < len(records) and chance.random() < 0.5:
            now = chance.randint(record.ts, records[place + 1].ts)
            later = [("p1", each) for each in oracle.advance(now) if place >= begins and places[each.completed_by] >= begins]
            assert side.found(side.detector.advance(now)) == side.wanted(later)
    rest = [("p1", each) for each in oracle.finish() if places[each.completed_by] >= begins]
    assert side.found(side.detector.finish()) == side.wanted(rest)


def test_a_count_of_matches_decided_before_a_pattern_began_is_not_reported() -> None:
    """The match from the first A is decided at 3, the pattern begins then, and that from the second A is decided at 4."""
    other, pattern = beside_another("SEQ(a:A, b:B, NOT c:C) REPORT EXISTS ON s WITHIN 2ms")
    side = Side({"p0": other}, may_change=True)
    for number, (ts, kind) in enumerate(((0, "A"), (1, "A"), (1, "B"), (3, "X"))):
        side.emitted(Event(EdgeId(f"e{number}"), EventTime(ts), kind, {}))
    side.patterns["p1"] = pattern
    assert side.detector.replan(aggregate([other, pattern], "none"), [other, pattern])
    assert side.detector.advance(4) == []
    assert side.detector.finish() == []
