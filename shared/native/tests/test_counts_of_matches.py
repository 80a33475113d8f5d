"""`REPORT EXISTS` counts by arithmetic what the oracle counts by listing, after every record, with its deletions."""

from __future__ import annotations

import time
from dataclasses import replace
from math import comb
from typing import TYPE_CHECKING, Final

import pytest
from graphtide_core.event import Event
from graphtide_core.event_expression import And, Seq
from graphtide_core.event_pattern import EventPattern, Selection
from graphtide_core.ids import EdgeId, PatternName
from graphtide_core.pattern import Report
from graphtide_core.time import EventTime
from graphtide_native.event_detection import Bounds, EventDetector
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_query.families.events.builders import aggregate
from graphtide_query.families.events.counting import reason_to_list
from graphtide_testing.oracles.events import EventOracle
from graphtide_testing.parsing import parse_matched
from graphtide_testing.records import events_to_json_lines
from graphtide_testing.strategies.event_patterns import EventPatternShape, event_patterns
from graphtide_testing.strategies.event_streams import EventStreamShape, event_streams
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_native.event_detection import Occurrence

COLUMNS: Final = ("n", "k", "absent")
DENSE: Final = EventStreamShape(types=("A", "B"), gaps=(0, 0, 1, 1, 2), max_records=14)
SHAPE: Final = EventPatternShape(
    max_events=5, max_absent=0, groups=(Seq, Seq, And), distinct=False, timeouts=False, once=False, stream=DENSE
)
# Chains of one type, lists beside single events, and conditions between neighbours, between others, and across a list.
COUNTED: Final = (
    "SEQ(a:A+, b:B)",
    "SEQ(b:B, a:A+)",
    "SEQ(a:A+, b:A+)",
    "SEQ(a:A{2,3}, b:B, c:A+)",
    "AND(a:A+, b:A)",
    "AND(a:A+, SEQ(b:A, c:B))",
    "AND(a:A, b:A, c:A)",
    "AND(SEQ(a:A, b:A), SEQ(c:B, d))",
    "SEQ(a:A, b:A, c:A)",
    "SEQ(a:A, b, c:A, d)",
    "SEQ(a:A, AND(b:A, c:B), d:A{1,2})",
    "SEQ(a:A+, b:B) WHERE a.n < b.n",
    "SEQ(b:B, a:A+) WHERE a.n < b.n",
    "SEQ(a:A, b:A+, c:A) WHERE b.n > a.n AND c.n <> b.n",
    "SEQ(a:A, b:A, c:A) WHERE a.n < b.n AND b.n < c.n",
    "SEQ(a:A, b:A, c:A, d:A) WHERE a.n <= b.n AND c.n >= b.n AND c.n = d.n",
    "SEQ(a, b, c, d) WHERE a.k = b.k AND b.k <> c.k AND c.ts < d.ts",
    "SEQ(a, b, c) WHERE a.n + 1 > b.n AND b.k = c.k AND a.ts < b.ts",
    "SEQ(a:A, b:B, c:A) WHERE a.n = c.n",
    "SEQ(a:A, b:A, c:A, d:A) WHERE a.n + b.n = c.n AND d.k = a.k",
    "AND(a:A, b:A, c:B) WHERE a.n < b.n AND b.n <= c.n",
    "SEQ(a:A, b:A, c:A) PARTITION BY k",
    "SEQ(a:A+, b:A) PARTITION BY k",
    "AND(a:A{1,2}, b:B{1,2}, c:B) WHERE a.n = c.n AND b.k = c.k",
)


def parse(text: str) -> EventPattern:
    (pattern,) = parse_matched(f"PATTERN p {text}")
    assert isinstance(pattern, EventPattern)
    return pattern


class Side:
    """A detector of one pattern, and its oracle."""

    def __init__(self, pattern: EventPattern, *, bounds: Bounds | None = None) -> None:
        symbols = Symbols()
        self.pattern = pattern
        self.detector = EventDetector(aggregate([pattern], "none"), [pattern], symbols, COLUMNS, bounds=bounds)
        self.oracle = EventOracle(pattern)
        self._decoder = JsonLinesDecoder(symbols, COLUMNS, {})

    def push(self, *records: Event) -> list[Occurrence]:
        return self.detector.push(self._decoder.decode(events_to_json_lines(records)))

    def assert_equal(self, record: Event) -> None:
        """Let both take a record. What is shown of a count must be one of the matches."""
        found, wanted = self.push(record), self.oracle.push(record)
        said = [(each.kind, each.detected_at, each.count) for each in found]
        assert sorted(said) == sorted((each.kind, each.detected_at, each.count) for each in wanted)
        listed = EventOracle(replace(self.pattern, report=Report.ALL))
        self.seen = [*getattr(self, "seen", []), record]
        emitted = [{name: ids for name, ids in each.events if ids} for before in self.seen for each in listed.push(before)]
        for each in found:
            assert {name: ids for name, ids in each.events.items() if ids} in emitted


@settings(max_examples=4 * settings().max_examples)
@given(pattern=event_patterns(SHAPE), records=event_streams(replace(DENSE, duplicates=False)))
def test_counts_of_any_pattern_are_those_of_the_oracle(pattern: EventPattern, records: tuple[Event, ...]) -> None:
    side = Side(replace(pattern, name=PatternName("p"), report=Report.EXISTS, selection=Selection.ANY))
    for record in records:
        side.assert_equal(record)


@pytest.mark.parametrize("text", COUNTED)
@given(within=st.integers(1, 6), records=event_streams(replace(DENSE, duplicates=False)))
def test_what_is_countable_is_counted_as_the_oracle_lists_it(text: str, within: int, records: tuple[Event, ...]) -> None:
    pattern = parse(f"{text} REPORT EXISTS ON s WITHIN {within}ms")
    assert reason_to_list(pattern) is None
    side = Side(pattern)
    for record in records:
        side.assert_equal(record)


def stream(count: int, kind: str = "A", start: int = 0) -> list[Event]:
    return [
        Event(EdgeId(f"{kind}{start + number}"), EventTime(start + number), kind, {"n": start + number})
        for number in range(count)
    ]


def test_a_count_is_exact_beyond_a_word() -> None:
    side = Side(parse("SEQ(a:A+, b:B) REPORT EXISTS ON s WITHIN 1d"))
    assert side.push(*stream(200)) == []
    (found,) = side.push(*stream(1, "B", 200))
    assert found.count == 2**200 - 1
    assert found.events["a"] == ("A199",)


def test_a_count_has_a_greatest_number() -> None:
    side = Side(parse("SEQ(a:A+, b:B) REPORT EXISTS ON s WITHIN 1d"))
    side.push(*stream(13_287))
    (exact,) = side.push(*stream(1, "B", 13_287))
    assert exact.count == 2**13_287 - 1 < 10**4_000
    side.push(*stream(1, "A", 13_288), *stream(1, "A", 13_289))
    (greatest,) = side.push(*stream(1, "B", 13_290))
    assert greatest.count == 10**4_000


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("SEQ(a:A, b:A, c:A)", comb(1_999, 2)),
        ("SEQ(a:A, b:A, c:A, d:A, e:A) WHERE a.n < b.n AND b.n < c.n AND c.n < d.n AND d.n < e.n", comb(1_999, 4)),
        ("SEQ(a:A{2,3}, b:A)", comb(1_999, 2) + comb(1_999, 3)),
    ],
)
def test_many_events_of_one_type_are_counted_by_sums(text: str, count: int) -> None:
    side = Side(parse(f"{text} REPORT EXISTS ON s WITHIN 1d"), bounds=Bounds(work=1_000_000))
    side.push(*stream(1_990))
    begun = time.process_time()
    *_, found = side.push(*stream(10, "A", 1_990))
    assert (found.count, side.detector.is_limited) == (count, False)
    assert time.process_time() - begun < 10


def test_a_deleted_event_of_a_long_list_voids_only_the_counts_that_it_completed() -> None:
    """Whether a match is left is decided by sums, too: of the sets with the first event there are 2^59."""
    side = Side(parse("SEQ(a:A+, b:B) REPORT EXISTS ON s WITHIN 1d"))
    side.push(*stream(60), *stream(1, "B", 60))
    deletions = [replace(each, ts=EventTime(61), operation=each.operation.DELETE) for each in stream(60)]
    assert side.push(*deletions[:-1]) == []
    (void,) = side.push(deletions[-1])
    assert (void.kind, void.count) == ("retract", 2**60 - 1)
