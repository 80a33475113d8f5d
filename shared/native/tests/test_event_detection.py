"""Detection of event patterns: ties, bounds, what is stored and for how long, and what happens at limits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.event import Event
from graphtide_core.event_pattern import EventPattern
from graphtide_core.ids import EdgeId
from graphtide_core.time import EventTime
from graphtide_native import _native
from graphtide_native.event_detection import Bounds, EventDetector
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.spec import columns
from graphtide_query import parse
from graphtide_query.families.events.builders import aggregate
from graphtide_testing.oracles.events import EventOracle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_native.event_detection import Occurrence

ATTRIBUTES = ("speed", "user")


class Stream:
    """A detector, fed (ts, type) or (ts, type, speed, user) at a time; ids are the places of records."""

    def __init__(self, text: str, builder: str = "none", *, may_change: bool = False, bounds: Bounds | None = None) -> None:
        patterns = [each for each in parse(text) if isinstance(each, EventPattern)]
        plan, symbols = aggregate(patterns, builder), Symbols()
        self.columns = columns(patterns)
        self.detector = EventDetector(plan, patterns, symbols, ATTRIBUTES, may_change=may_change, bounds=bounds)
        self._decoder = JsonLinesDecoder(symbols, ATTRIBUTES, {})

    def push(self, *records: tuple[int, str] | tuple[int, str, float, str]) -> list[Occurrence]:
        return self.push_json(*(dict(zip(("ts", "type", *ATTRIBUTES), each, strict=False)) for each in records))

    def push_json(self, *records: dict[str, Any]) -> list[Occurrence]:
        return self.detector.push(self._decoder.decode("".join(json.dumps(each) + "\n" for each in records).encode()))


def events(found: Sequence[Occurrence]) -> list[dict[str, tuple[str, ...]]]:
    return [each.events for each in found]


def test_equal_times_satisfy_a_sequence_whatever_came_first() -> None:
    stream = Stream("PATTERN p SEQ(a:A, b:B) ON s WITHIN 10ms")
    assert events(stream.push((5, "B"), (5, "A"))) == [{"a": ("1",), "b": ("0",)}]


def test_the_same_events_are_one_match_under_the_first_branch_whose_conditions_hold() -> None:
    text = "PATTERN p SEQ(x:A, OR(SEQ(m:B, n:C), AND(o:B, q:C))) WHERE m.speed > 5 ON s WITHIN 10ms"
    records = [(0, "A", 0.0, "u"), (1, "B", 1.0, "u"), (2, "C", 0.0, "u"), (3, "B", 9.0, "u"), (4, "C", 0.0, "u")]
    expected = [
        {"x": ("0",), "o": ("1",), "q": ("2",)},
        {"x": ("0",), "o": ("3",), "q": ("2",)},
        {"x": ("0",), "o": ("1",), "q": ("4",)},
        {"x": ("0",), "m": ("3",), "n": ("4",)},
    ]
    found = events(Stream(text).push(*records))
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    (pattern,) = (each for each in parse(text) if isinstance(each, EventPattern))
    oracle = EventOracle(pattern)
    emitted = [
        each
        for place, (ts, kind, speed, user) in enumerate(records)
        for each in oracle.push(Event(EdgeId(str(place)), EventTime(ts), kind, {"speed": speed, "user": user}))
    ]
    assert sorted(repr({name: ids for name, ids in each.events if ids}) for each in emitted) == sorted(map(repr, expected))


def test_the_time_is_closed() -> None:
    stream = Stream("PATTERN p SEQ(a:A, b:B) ON s WITHIN 10ms")
    assert events(stream.push((0, "A"), (10, "B"), (11, "B"))) == [{"a": ("0",), "b": ("1",)}]


def test_an_absence_is_reported_once_time_is_past_the_bound() -> None:
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
        _native.EventDetector(plan, Symbols(), 0, False, False, (None, None, None))


def test_a_plan_that_reads_an_attribute_which_records_do_not_have_is_refused() -> None:
    plan = (
        b'{"vertices": [{"slots": [{"types": ["A"]}], "order": [], "within": 5,'
        b' "predicates": [{"compare": ["equal", [{"attribute": [0, 1]}, {"literal": 3}]]}]}], "patterns": []}'
    )
    with pytest.raises(ValueError, match="an attribute that records do not have"):
        _native.EventDetector(plan, Symbols(), 1, False, False, (None, None, None))


def test_an_edge_is_an_event_of_its_label_with_its_ends() -> None:
    stream = Stream("PATTERN relay SEQ(a:flow, b:flow) WHERE a.dst = b.src ON s WITHIN 10ms")
    edges = [("x", "y", "flow"), ("y", "z", "call"), ("y", "z", "flow"), ("x", "z", "flow")]
    records = [{"ts": ts, "src": src, "dst": dst, "label": label} for ts, (src, dst, label) in enumerate(edges)]
    assert events(stream.push_json(*records)) == [{"a": ("0",), "b": ("2",)}]


def test_an_event_has_no_ends() -> None:
    text = "PATTERN p SEQ(a:A, b:A) WHERE {} ON s WITHIN 10ms"
    equal, missing = Stream(text.format("a.dst = b.src")), Stream(text.format("a.dst IS NULL AND b.src IS NULL"))
    assert events(equal.push((0, "A"), (1, "A"))) == []
    assert events(missing.push((0, "A"), (1, "A"))) == [{"a": ("0",), "b": ("1",)}]


def test_an_id_that_is_used_again_is_deleted_as_the_newer_event() -> None:
    stream = Stream("PATTERN p SEQ(a:A, NOT b:B) ON s WITHIN 3ms")
    emitted = [stream.push_json({"ts": ts, "type": "A", "id": "x"}) for ts in (0, 6)]
    emitted += [stream.push_json({"ts": 7, "type": "", "id": "x", "op": "delete"}), stream.detector.finish()]
    assert [events(each) for each in emitted] == [[], [{"a": ("x",)}], [], []]


FIRST, LAST = -(2**63), 2**63 - 1


def test_times_at_both_ends_of_what_a_time_can_be() -> None:
    stream = Stream(f"PATTERN p SEQ(a:A, b:B) ON s WITHIN {LAST}\nPATTERN n SEQ(a:A, NOT b:C) ON s WITHIN {LAST}")
    assert stream.push((FIRST, "A"), (FIRST, "A")) == []
    assert [each.events["a"] for each in stream.push((-1, "B"))] == [("0",), ("1",)]
    emitted = stream.push((LAST - 1, "A"), (LAST, "B"), (LAST, "A"))
    assert [(each.pattern, each.detected_at, each.events["a"]) for each in emitted] == [
        ("n", -1, ("0",)),
        ("n", -1, ("1",)),
        ("p", LAST, ("3",)),
        ("p", LAST, ("5",)),
    ]
    assert [(each.detected_at, each.events) for each in stream.detector.finish()] == [
        (LAST, {"a": ("3",)}),
        (LAST, {"a": ("5",)}),
    ]


def test_thousands_of_events_of_one_time() -> None:
    stream = Stream("PATTERN p SEQ(a:A, b:B, c:C) WHERE a.user = b.user AND b.user = c.user ON s WITHIN 1ms")
    records = [(5, kind, 1.0, f"user {number}") for kind in "CBA" for number in range(3_000)]
    assert len(stream.push(*records)) == 3_000


def test_subsets_that_are_too_many_are_cut_and_said() -> None:
    stream = Stream("PATTERN p SEQ(a:A+, b:B) ON s WITHIN 1000ms", bounds=Bounds(work=100_000))
    stream.push(*((number, "A") for number in range(30)))
    assert not stream.detector.is_limited
    assert 0 < len(stream.push((50, "B"))) < 100_000
    assert stream.detector.is_limited


def test_a_list_may_be_longer_than_a_stack_of_calls() -> None:
    stream = Stream("PATTERN p SEQ(a:A{60000,}, b:B) ON s WITHIN 100000ms")
    (match,) = stream.push(*((number, "A") for number in range(60_000)), (60_000, "B"))
    assert len(match.events["a"]) == 60_000


def test_what_waits_for_time_to_pass_has_a_bound() -> None:
    stream = Stream("PATTERN p SEQ(a:A, b:B, NOT c:C) ON s WITHIN 1000ms", bounds=Bounds(partial_matches=30))
    stream.push(*((number, "AB"[number % 2]) for number in range(40)))
    assert (stream.detector.usage()[0], stream.detector.is_limited) == (30, True)
    assert len(stream.detector.finish()) == 30


def test_counts_are_of_the_event_that_completes_them() -> None:
    stream = Stream("PATTERN p SEQ(a:A, b:B, c:C) ON s WITHIN 10ms REPORT EXISTS")
    found = stream.push((0, "A"), (1, "A"), (1, "B"), (2, "B"), (2, "C"), (20, "C"))
    assert [(each.count, each.detected_at) for each in found] == [(4, 2)]
