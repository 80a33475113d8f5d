"""Detection of event patterns: ties, bounds, what is stored and for how long, and what happens at limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_core.event_pattern import EventPattern
from graphtide_native import _native
from graphtide_native.event_detection import Bounds, EventDetector
from graphtide_native.event_spec import event_columns
from graphtide_native.records import Symbols
from graphtide_query import parse
from graphtide_query.families.events.builders import aggregate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_native.event_detection import Occurrence

ATTRIBUTES = ("speed", "user")


class Stream:
    """A detector, fed (ts, type) or (ts, type, speed, user) at a time; ids are the places of records."""

    def __init__(self, text: str, builder: str = "none", *, may_change: bool = False, bounds: Bounds | None = None) -> None:
        patterns = [each for each in parse(text) if isinstance(each, EventPattern)]
        self.symbols, self._count = Symbols(), 0
        plan = aggregate(patterns, builder)
        self.columns = event_columns(plan)
        self.detector = EventDetector(plan, patterns, self.symbols, ATTRIBUTES, may_change=may_change, bounds=bounds)

    def push(self, *records: tuple[int, str] | tuple[int, str, float, str]) -> list[Occurrence]:
        numbers = range(self._count, self._count + len(records))
        self._count += len(records)
        values = [[*each[2:], None, None] for each in records]
        columns = [[value[column] for value in values] for column in (0, 1)]
        ids, kept = [str(number) for number in numbers], [False] * len(records)
        ts, types = [each[0] for each in records], [each[1] for each in records]
        return self.detector.push(_native.event_batch(self.symbols, ATTRIBUTES, ts, types, ids, kept, columns))


def events(found: Sequence[Occurrence]) -> list[dict[str, tuple[str, ...]]]:
    return [each.events for each in found]


def test_equal_times_satisfy_a_sequence_whatever_came_first() -> None:
    stream = Stream("PATTERN p SEQ(a:A, b:B) ON s WITHIN 10ms")
    assert events(stream.push((5, "B"), (5, "A"))) == [{"a": ("1",), "b": ("0",)}]


def test_the_time_is_closed() -> None:
    stream = Stream("PATTERN p SEQ(a:A, b:B) ON s WITHIN 10ms")
    assert events(stream.push((0, "A"), (10, "B"), (11, "B"))) == [{"a": ("0",), "b": ("1",)}]


def test_what_must_not_come_is_told_once_time_is_past_the_bound() -> None:
    stream = Stream("PATTERN p SEQ(a:A, NOT b:B) ON s WITHIN 10ms")
    assert stream.push((0, "A"), (10, "C")) == []
    (match,) = stream.detector.advance(11)
    assert (match.detected_at, match.events) == (10, {"a": ("0",)})
    assert stream.push((20, "A"), (30, "B"), (31, "C")) == []


def test_a_count_of_independent_parts_is_not_limited_by_the_work_of_a_record() -> None:
    parts = ", ".join(f"e{number}:T{number}" for number in range(12))
    text = f"PATTERN p AND({parts}) ON s WITHIN 1000ms REPORT EXISTS"
    stream = Stream(text, bounds=Bounds(work=10_000))
    stream.push(*((number, f"T{number % 11}") for number in range(110)))
    (found,) = stream.push((200, "T11"))
    assert (found.count, found.kind, stream.detector.is_limited) == (10**11, "match", False)
    assert found.events["e11"] == ("110",)
    assert len(found.events) == 12


def test_work_past_its_bound_is_cut_and_said() -> None:
    stream = Stream("PATTERN p AND(a:A, b:A, c:A, d:B) ON s WITHIN 1000ms", bounds=Bounds(work=1_000))
    stream.push(*((number, "A") for number in range(40)))
    assert not stream.detector.is_limited
    assert 0 < len(stream.push((50, "B"))) < 40 * 39 * 38
    assert stream.detector.is_limited


def test_instances_past_their_bound_are_given_up_and_said() -> None:
    shared = "SEQ(a:A, b:B, c:{})"
    text = "\n".join(f"PATTERN p{name} {shared.format(name)} ON s WITHIN 1000ms" for name in "CD")
    records = [(number, "AB"[number % 2]) for number in range(40)]
    free, bounded = Stream(text, "casem"), Stream(text, "casem", bounds=Bounds(partial_matches=30))
    free.push(*records)
    bounded.push(*records)
    assert (free.detector.usage()[0], free.detector.is_limited) == (210, False)
    assert (bounded.detector.usage()[0], bounded.detector.is_limited) == (30, True)


def test_a_sub_pattern_of_two_is_stored_once_and_leaves_with_its_time() -> None:
    text = "\n".join(f"PATTERN p{name} SEQ(a:A, b:B, c:{name}) ON s WITHIN 100ms" for name in "CD")
    stream = Stream(text, "casem")
    stream.push((0, "A"), (1, "A"), (2, "B"))
    assert stream.detector.usage()[0] == 2
    assert sorted(each.pattern for each in stream.push((3, "C"), (4, "D"))) == ["pC", "pC", "pD", "pD"]
    stream.push((300, "E"))
    live, peak, _ = stream.detector.usage()
    assert (live, peak) == (0, 2)


def test_memory_follows_the_window() -> None:
    stream = Stream("PATTERN p SEQ(a:A, b:B) ON s WITHIN 64ms PARTITION BY user")
    for start in range(0, 20_000, 1_000):
        stream.push(*((ts, "AB"[ts % 2], 1.0, f"user {ts}") for ts in range(start, start + 1_000)))
    assert stream.detector.usage()[2] < 100_000


def test_bounds_and_equal_values_are_found_by_their_constants() -> None:
    conditions = [f"speed {op} {number}" for number in range(50) for op in ("<", ">=")] + [
        f"user = 'u{each}'" for each in range(50)
    ]
    text = "\n".join(
        f"PATTERN p{number} SEQ(a:A, b:B) WHERE a.{condition} ON s WITHIN 10ms" for number, condition in enumerate(conditions)
    )
    stream = Stream(text)
    assert stream.columns == ATTRIBUTES
    found = {each.pattern for each in stream.push((0, "A", 20, "u7"), (1, "B"))}
    want = {number for number, each in enumerate(conditions) if each == "user = 'u7'"}
    want |= {2 * bound for bound in range(50) if bound > 20} | {2 * bound + 1 for bound in range(50) if bound <= 20}
    assert found == {f"p{number}" for number in want}


def test_a_plan_that_names_a_parent_that_comes_later_is_refused() -> None:
    plan = (
        b'{"vertices": [{"slots": [{"types": ["A"]}], "order": [], "within": 5, "predicates": [],'
        b' "parents": [{"vertex": 0, "slots": [0]}]}], "patterns": []}'
    )
    with pytest.raises(ValueError, match="a parent does not come before it"):
        _native.EventDetector(plan, Symbols(), 0, False, False, None, None, None)


def test_counts_are_of_the_event_that_completes_them() -> None:
    stream = Stream("PATTERN p SEQ(a:A, b:B, c:C) ON s WITHIN 10ms REPORT EXISTS")
    found = stream.push((0, "A"), (1, "A"), (1, "B"), (2, "B"), (2, "C"), (20, "C"))
    assert [(each.count, each.detected_at) for each in found] == [(4, 2)]
