"""The oracle of event patterns, on cases worked out by hand from the definition.

A stream is written `A1 B2(n=3) B2#x -A1@5`. That is an event of type A at 1 with the id A1. At 2 come one of type B with an
attribute, and another whose id is x. At 5 follows a deletion of A1. A report is written `match@2 a=A1 b=x`.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import graphtide_query
import pytest
from graphtide_core.edge import Operation
from graphtide_core.event import Event
from graphtide_core.event_pattern import EventPattern, Selection
from graphtide_core.ids import EdgeId
from graphtide_core.pattern import Report
from graphtide_core.predicate import Aggregation, aggregates
from graphtide_core.time import EventTime, TimeUnit
from graphtide_testing.oracles.events import EventOracle
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import (
    EventPatternShape,
    EventStreamShape,
    event_patterns,
    event_streams,
    random_event_pattern,
    random_event_stream,
)
from hypothesis import assume, given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.edge import Value
    from graphtide_testing.oracles.events import Emitted

_EVENT = re.compile(r"([A-Z])(-?\d+)(?:\((.*?)\))?(?:#(\w+))?")
_DELETION = re.compile(r"-(\w+)@(-?\d+)")


def pattern(text: str) -> EventPattern:
    (read,) = graphtide_query.parse(f"PATTERN p {text} ON s")
    assert isinstance(read, EventPattern)
    return read


def records(text: str) -> list[Event]:
    return [record(word) for word in text.split()]


def record(word: str) -> Event:
    deletion = _DELETION.fullmatch(word)
    if deletion:
        return Event(EdgeId(deletion[1]), EventTime(int(deletion[2])), "", operation=Operation.DELETE)
    event = _EVENT.fullmatch(word)
    assert event is not None
    kind, ts, attributes, id = event.groups()
    pairs = [each.split("=") for each in attributes.split(",")] if attributes else []
    return Event(EdgeId(id or f"{kind}{ts}"), EventTime(int(ts)), kind, {name: value(text) for name, text in pairs})


def value(text: str) -> Value:
    return int(text) if text.lstrip("-").isdigit() else text


def show(emitted: Iterable[Emitted]) -> list[str]:
    return [
        " ".join(
            [f"{each.kind}@{each.detected_at}"]
            + [f"{name}={','.join(ids)}" for name, ids in each.events]
            + ([] if each.events else [f"{each.count} by {each.completed_by}"])
            + [f"{name}:{value}" for name, value in each.fields]
        )
        for each in emitted
    ]


def reports(text: str, stream: str) -> list[str]:
    return show(EventOracle(pattern(text)).run(records(stream)))


def step_by_step(text: str, stream: str) -> list[list[str]]:
    """Return what each record brings about, and last what the end does."""
    oracle = EventOracle(pattern(text))
    return [show(oracle.push(record)) for record in records(stream)] + [show(oracle.finish())]


# ---- the examples of paper 002


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("A1 B2 D4", ["match@4 a=A1 b=B2 d=D4"]),
        ("A1 C1 B2 D4", ["match@4 a=A1 b=B2 d=D4"]),
        ("A1 B2 C3 D4", []),
        ("A1 B2 D4 C5", ["match@4 a=A1 b=B2 d=D4"]),
        ("A1 C2 B2 D4", []),
        ("A1 B2 D4 C4", []),
        ("A1 B2 C3 B3 D4", []),
        ("A1 B2 C3 B4 D5", ["match@5 a=A1 b=B4 d=D5"]),
    ],
)
def test_a_sequence_without_an_event_in_it(stream: str, expected: list[str]) -> None:
    assert reports("SEQ(a:A, b:B, NOT c:C, d:D) WITHIN 10", stream) == expected


def test_two_sequences_in_any_order() -> None:
    text = "AND(SEQ(a:A, b:B), SEQ(c:C, d:D)) WITHIN 10"
    assert reports(text, "C1 A2 D3 B4") == ["match@4 a=A2 b=B4 c=C1 d=D3"]
    assert reports(text, "C1 D2 A3 B4") == ["match@4 a=A3 b=B4 c=C1 d=D2"]
    assert reports(text, "D1 C2 A3 B4") == []


def test_one_branch_of_two() -> None:
    text = "SEQ(a:A, b:B, OR(c:C, d:D), e:E) WITHIN 10"
    assert reports(text, "A1 B2 D3 E4") == ["match@4 a=A1 b=B2 d=D3 e=E4"]
    assert reports(text, "A1 B2 C3 D3 E4") == ["match@4 a=A1 b=B2 c=C3 e=E4", "match@4 a=A1 b=B2 d=D3 e=E4"]


def test_a_phantom_jam() -> None:
    text = "SEQ(a:A, b:B, c:C) WHERE a.v < 40 AND b.v < 40 AND c.v < 40 WITHIN 20"
    stream = "A0(v=30) B5(v=60) B9(v=35) C12(v=39) C20(v=10) C21(v=10)"
    assert reports(text, stream) == ["match@12 a=A0 b=B9 c=C12", "match@20 a=A0 b=B9 c=C20"]


# ---- order, time, distinct events


def test_ties_satisfy_a_sequence_in_any_order_of_arrival() -> None:
    assert reports("SEQ(a:A, b:B) WITHIN 5", "B1 A1") == ["match@1 a=A1 b=B1"]
    assert reports("SEQ(a:A, b:B) WITHIN 5", "A1 B1") == ["match@1 a=A1 b=B1"]
    assert reports("SEQ(a:A, b:A) WITHIN 5", "A1#x A1#y") == ["match@1 a=x b=y", "match@1 a=y b=x"]


def test_the_time_is_closed_at_its_end() -> None:
    assert reports("AND(a:A, b:B) WITHIN 5", "A1 B6") == ["match@6 a=A1 b=B6"]
    assert reports("AND(a:A, b:B) WITHIN 5", "A1 B7") == []


def test_a_time_of_a_fraction_of_ticks_counts_whole_ones() -> None:
    oracle = EventOracle(pattern("SEQ(a:A, NOT b:B) WITHIN 1500ms"), TimeUnit.SECOND)
    assert show(oracle.run(records("A1 B3"))) == ["match@2 a=A1"]


def test_places_hold_different_events() -> None:
    assert reports("AND(a:A, b:A) WITHIN 5", "A1") == []
    assert reports("AND(a:A, b) WITHIN 5", "A1 A2") == ["match@2 a=A1 b=A2", "match@2 a=A2 b=A1"]


def test_a_part_comes_after_all_of_the_part_before() -> None:
    assert reports("SEQ(AND(a:A, b:B), c:C) WITHIN 5", "A1 C2 B3 C4") == ["match@4 a=A1 b=B3 c=C4"]


# ---- what must not come


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("B5", ["match@5 b=B5"]),
        ("C1 B5", []),
        ("C0 B5", ["match@5 b=B5"]),
        ("B5 C5", []),
        ("B5 C6", ["match@5 b=B5"]),
    ],
)
def test_nothing_before(stream: str, expected: list[str]) -> None:
    assert reports("SEQ(NOT c:C, b:B) WITHIN 4", stream) == expected


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("A1", ["match@5 a=A1"]),
        ("A1 C5", []),
        ("A1 C6", ["match@5 a=A1"]),
        ("C1 A1", []),
        ("C0 A1", ["match@5 a=A1"]),
    ],
)
def test_nothing_after(stream: str, expected: list[str]) -> None:
    assert reports("SEQ(a:A, NOT c:C) WITHIN 4", stream) == expected


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("A1 B3", ["match@3 a=A1 b=B3"]),
        ("A1 C2 B3", []),
        ("C1 A1 B3", []),
        ("A1 B3 C3", []),
        ("C0 A1 B3 C4", ["match@3 a=A1 b=B3"]),
    ],
)
def test_nothing_beside(stream: str, expected: list[str]) -> None:
    assert reports("AND(a:A, NOT c:C, b:B) WITHIN 4", stream) == expected


def test_a_match_is_emitted_once_time_is_past_what_must_not_come() -> None:
    text = "SEQ(a:A, NOT c:C, b:B) WITHIN 4"
    assert step_by_step(text, "A1 B3 D3 D4") == [[], [], [], ["match@3 a=A1 b=B3"], []]
    assert step_by_step(text, "A1 B3") == [[], [], ["match@3 a=A1 b=B3"]]
    assert step_by_step("SEQ(a:A, NOT c:C, b:B, d:D) WITHIN 4", "A1 B3 D4") == [[], [], ["match@4 a=A1 b=B3 d=D4"], []]
    assert step_by_step("SEQ(a:A, NOT c:C) WITHIN 4", "A1 D5 D6") == [[], [], ["match@5 a=A1"], []]


def test_time_passes_without_records_too() -> None:
    oracle = EventOracle(pattern("SEQ(a:A, NOT c:C) WITHIN 4"))
    assert oracle.push(record("A1")) == ()
    assert oracle.advance(5) == ()
    assert show(oracle.advance(6)) == ["match@5 a=A1"]
    with pytest.raises(ValueError, match="time cannot go back"):
        oracle.push(record("A5"))


def test_the_events_of_the_match_do_not_break_it() -> None:
    assert reports("SEQ(a:A, NOT c:A, b:B) WITHIN 9", "A1 A2 B3") == ["match@3 a=A2 b=B3"]
    assert reports("SEQ(a:A, NOT c, b:B) WITHIN 9", "A1 B3") == ["match@3 a=A1 b=B3"]


def test_conditions_say_which_events_must_not_come() -> None:
    text = "SEQ(a:A, NOT OR(c:C, d:D), b:B) WHERE c.n = a.n AND d.n > 5 WITHIN 9"
    assert reports(text, "A1(n=1) C2(n=2) D2(n=5) B3") == ["match@3 a=A1 b=B3"]
    assert reports(text, "A1(n=1) C2(n=1) B3") == []
    assert reports(text, "A1(n=1) D2(n=6) B3") == []
    assert reports(text, "A1(n=1) C2 B3") == ["match@3 a=A1 b=B3"]


def test_an_inner_not_looks_beside_the_events_of_its_own_part() -> None:
    inner = "AND(SEQ(NOT c:C, b:B), d:D) WITHIN 4"
    assert reports(inner, "C1 B5 D9") == []
    assert reports(inner, "C0 B5 D9") == ["match@9 b=B5 d=D9"]
    assert reports("AND(SEQ(a:A, NOT c:C), d:D) WITHIN 4", "D1 A5 C8") == []
    assert reports("AND(SEQ(a:A, NOT c:C), d:D) WITHIN 4", "D1 A5 C10") == ["match@9 a=A5 d=D1"]
    assert reports("AND(d:D, AND(a:A, NOT c:C, b:B)) WITHIN 9", "D1 C2 A3 B4") == ["match@4 d=D1 a=A3 b=B4"]


def test_several_nots_side_by_side_are_each_kept() -> None:
    text = "SEQ(a:A, NOT c:C, NOT d:D, b:B, NOT e:E) WITHIN 5"
    assert reports(text, "A1 B3") == ["match@6 a=A1 b=B3"]
    for broken in ("A1 C2 B3", "A1 D2 B3", "A1 B3 E6"):
        assert reports(text, broken) == []


# ---- branches


def test_the_same_events_through_two_branches_are_one_match_through_the_first() -> None:
    assert reports("SEQ(a:A, OR(b:B, c)) WITHIN 5", "A1 B2") == ["match@2 a=A1 b=B2"]
    assert reports("OR(SEQ(a:A, b:B), AND(c:B, d:A)) WITHIN 5", "A1 B2") == ["match@2 a=A1 b=B2"]
    assert reports("OR(SEQ(a:A, b:B), AND(c:B, d:A)) WITHIN 5", "B1 A2") == ["match@2 c=B1 d=A2"]


def test_one_branch_may_match_the_same_events_in_several_ways() -> None:
    found = ["match@2 a=A1 b=A2", "match@2 a=A2 b=A1"]
    assert reports("OR(AND(a:A, b:A), AND(c:A, d:A)) WITHIN 5", "A1 A2") == found


def test_a_condition_about_another_branch_holds() -> None:
    text = "SEQ(a:A, OR(b:B, c:C)) WHERE b.n = a.n AND c.n > 5 WITHIN 5"
    assert reports(text, "A1(n=1) B2(n=2) C3(n=6) B4(n=1)") == ["match@3 a=A1 c=C3", "match@4 a=A1 b=B4"]


# ---- iterations


def test_an_iteration_takes_every_set_of_events_that_fit() -> None:
    assert reports("SEQ(m:M+, b:B) WITHIN 9", "M1 M2 B3") == [
        "match@3 m=M1 b=B3",
        "match@3 m=M1,M2 b=B3",
        "match@3 m=M2 b=B3",
    ]
    assert reports("SEQ(m:M{2,}, b:B) WITHIN 9", "M1 M2 M3 B4") == [
        "match@4 m=M1,M2 b=B4",
        "match@4 m=M1,M2,M3 b=B4",
        "match@4 m=M1,M3 b=B4",
        "match@4 m=M2,M3 b=B4",
    ]
    assert reports("SEQ(m:M{2}, b:B) WITHIN 1", "M1 M2 M3 B3") == ["match@3 m=M2,M3 b=B3"]


def test_under_skip_till_next_an_iteration_takes_all_that_follow_its_first() -> None:
    text = "SEQ(m:M+, b:B) SKIP TILL NEXT WITHIN 9"
    assert reports(text, "M1 M2 M3 B4") == ["match@4 m=M1,M2,M3 b=B4", "match@4 m=M2,M3 b=B4", "match@4 m=M3 b=B4"]
    assert reports("SEQ(m:M{2,3}, b:B) SKIP TILL NEXT WITHIN 9", "M1 M2 M3 M4 B5") == [
        "match@5 m=M1,M2,M3 b=B5",
        "match@5 m=M2,M3,M4 b=B5",
        "match@5 m=M3,M4 b=B5",
    ]
    assert reports("SEQ(b:B, m:M+) SKIP TILL NEXT WITHIN 9", "B1 M2 M3") == [
        "match@2 b=B1 m=M2",
        "match@3 b=B1 m=M2,M3",
        "match@3 b=B1 m=M3",
    ]


def test_what_stands_in_another_place_is_not_skipped_but_taken() -> None:
    assert reports("SEQ(m:A+, b:A) SKIP TILL NEXT WITHIN 9", "A1 A2 A3") == [
        "match@2 m=A1 b=A2",
        "match@3 m=A1,A2 b=A3",
        "match@3 m=A2 b=A3",
    ]


def test_what_does_not_fit_is_skipped() -> None:
    text = "SEQ(m:M+, b:B) WHERE m.n = b.n SKIP TILL NEXT WITHIN 9"
    assert reports(text, "M1(n=1) M2(n=2) M3(n=1) B4(n=1)") == ["match@4 m=M1,M3 b=B4", "match@4 m=M3 b=B4"]


def test_a_condition_on_an_iteration_is_for_each_of_its_events() -> None:
    stream = "A1(n=2) M2(n=1) M3(n=2) M4(n=3)"
    assert reports("SEQ(a:A, m:M{2,}) WHERE m.n <= a.n WITHIN 9", stream) == ["match@3 a=A1 m=M2,M3"]
    assert reports("SEQ(a:A, m:M{2,}) WHERE m.n = 1 OR m.n = 3 WITHIN 9", stream) == ["match@4 a=A1 m=M2,M4"]
    assert reports("SEQ(a:A, m:M{2}) WHERE m.n * 2 > sum(m.n) - 2 WITHIN 9", "A1 M2(n=1) M3(n=5) M4(n=2)") == [
        "match@4 a=A1 m=M2,M4"
    ]


@pytest.mark.parametrize(
    ("condition", "is_met"),
    [
        ("count(m) = 3", True),
        ("count(m.n) = 2", True),
        ("sum(m.n) = 5", True),
        ("avg(m.n) = 2.5", True),
        ("min(m.n) = 1 AND max(m.n) = 4", True),
        ("first(m.n) = 4", True),
        ("last(m.n) = 1", False),
        ("last(m).n IS NULL", True),
        ("max(m.k) = 'z' AND min(m.k) = 'a'", True),
        ("sum(m.k) IS NULL AND avg(m.k) IS NULL AND min(m.mixed) IS NULL AND count(m.absent) = 0", True),
    ],
)
def test_aggregates(condition: str, is_met: bool) -> None:
    stream = "M1(n=4,k=z,mixed=1) M2(n=1,k=a,mixed=x) M3(k=b)"
    assert bool(reports(f"SEQ(m:M{{3}}) WHERE {condition} WITHIN 9", stream)) == is_met


# ---- partitions


def test_the_events_of_a_match_share_what_parts_the_stream() -> None:
    text = "SEQ(a:A, b:B) PARTITION BY u, h WITHIN 9"
    assert reports(text, "A1(u=1,h=x) B2(u=1,h=y) B3(u=1) B4(u=1,h=x)") == ["match@4 a=A1 b=B4"]
    assert reports("SEQ(a:A) PARTITION BY u WITHIN 9", "A1 A2(u=1)") == ["match@2 a=A2"]


def test_what_must_not_come_is_of_the_same_partition() -> None:
    text = "SEQ(a:A, NOT c:C, b:B) PARTITION BY u WITHIN 9"
    assert reports(text, "A1(u=1) C2(u=2) C2#x B3(u=1)") == ["match@3 a=A1 b=B3"]
    assert reports(text, "A1(u=1) C2(u=1) B3(u=1)") == []


# ---- deletions and duplicates


def test_a_deletion_retracts_what_lies_within_the_lookback() -> None:
    text = "SEQ(a:A, b:B) WITHIN 4"
    assert step_by_step(text, "A1 B2 -A1@5")[2] == ["retract@5 a=A1 b=B2"]
    assert step_by_step(text, "A1 B2 -B2@6")[2] == []
    assert step_by_step(text, "A1 B2 -A1@3 -B2@4")[3] == []
    assert reports(text, "A1 -A1@2 B3") == []


def test_what_is_deleted_before_time_is_past_it_does_not_break_a_match() -> None:
    text = "SEQ(a:A, NOT c:C, b:B, d:D) WITHIN 9"
    assert reports(text, "A1 C2 -C2@3 B3 D5") == ["match@5 a=A1 b=B3 d=D5"]
    assert reports(text, "A1 C2 B3 -C2@4 D5") == []


def test_what_waits_goes_with_any_of_its_events() -> None:
    assert reports("SEQ(a:A, NOT c:C) WITHIN 4", "A1 -A1@5") == []
    assert reports("SEQ(a:A, NOT c:C) WITHIN 4", "A1 -A1@6") == ["match@5 a=A1"]


def test_an_id_that_is_still_there_is_a_duplicate() -> None:
    text = "SEQ(a:A, b:B) WITHIN 4"
    assert reports(text, "A1#x A2#x B3") == ["match@3 a=x b=B3"]
    assert reports(text, "A1#x A6#x B7") == ["match@7 a=x b=B7"]
    assert reports(text, "A1#x -x@2 A2#x B3") == ["match@3 a=x b=B3"]


# ---- what is emitted


def test_exists_counts_what_an_event_completes() -> None:
    text = "SEQ(a:A, b:B) REPORT EXISTS WITHIN 4"
    assert reports(text, "A1 A2 B3 B6") == ["match@3 2 by B3", "match@6 1 by B6"]


def test_exists_waits_for_all_that_an_event_completes() -> None:
    text = "SEQ(a:A, b:B, NOT c:C) REPORT EXISTS WITHIN 4"
    assert step_by_step(text, "A1 A3 B4 D6 D8") == [[], [], [], [], ["match@7 2 by B4"], []]
    assert reports(text, "A1 A3 B4 C6") == ["match@7 1 by B4"]
    assert reports(text, "A1 A3 B4 C5") == []


def test_a_count_has_no_match_that_lost_an_event_before_it_was_reported() -> None:
    """At 2 the match of A0 is past retracting, but the count of its last event waits for the stretches of other matches."""
    text = "SEQ(a:A+, b:A, NOT c:A) REPORT EXISTS WITHIN 1"
    stream = "A0 A1#w A1#x A1#y A1#z A2 {} A3"
    assert reports(text, stream.format("")) == ["match@2 4 by z", "match@2 15 by A2", "match@3 1 by A3"]
    assert reports(text, stream.format("-z@2")) == ["match@2 7 by A2", "match@3 1 by A3"]
    # What is outside the lookback is not deleted.
    assert reports("SEQ(a:A, b:B, NOT c:C) REPORT EXISTS WITHIN 2", "A0 A1 B1 -A0@3") == ["match@3 2 by B1"]
    assert reports("SEQ(a:A, b:B, NOT c:C) REPORT EXISTS WITHIN 2", "A0 A1 B1 -A0@2") == ["match@3 1 by B1"]


def test_a_count_is_retracted_with_its_event_or_its_last_match() -> None:
    text = "SEQ(a:A, b:B) REPORT EXISTS WITHIN 4"
    assert step_by_step(text, "A1 A2 B3 -A1@4 -A2@4")[3:5] == [[], ["retract@4 2 by B3"]]
    assert step_by_step(text, "A1 A2 B3 -B3@4")[3] == ["retract@4 2 by B3"]
    assert step_by_step(text, "A1 A3 B3 -A3@6")[3] == []
    # That of A1 is past retracting, but its event is gone.
    assert step_by_step(text, "A1 A4 B5 -B5@6")[3] == ["retract@6 2 by B5"]


def test_distinct_emits_the_same_events_once() -> None:
    assert reports("AND(a:A, b:A) REPORT DISTINCT WITHIN 5", "A1 A2 A3") == [
        "match@2 a=A1 b=A2",
        "match@3 a=A1 b=A3",
        "match@3 a=A2 b=A3",
    ]
    assert reports("AND(a:A, b:A) WHERE a.n > b.n REPORT DISTINCT WITHIN 5", "A1(n=1) A2(n=2)") == ["match@2 a=A2 b=A1"]


def test_fields_are_computed_from_the_match() -> None:
    text = "SEQ(a:A, m:M{2}, OR(b:B, c:C)) RETURN a.n, m.n AS all, sum(m.n) * 2 AS twice, b.n AS b, m.ts AS times WITHIN 9"
    assert reports(text, "A1(n=7) M2(n=1) M3(n=2) C4") == [
        "match@4 a=A1 m=M2,M3 c=C4 a.n:7 all:(1, 2) twice:6 b:None times:(2, 3)"
    ]


# ---- timeouts


def test_what_began_and_did_not_end_times_out() -> None:
    text = "SEQ(a:A, b:B, c:C) ON TIMEOUT WITHIN 5"
    assert step_by_step(text, "A1 B2 B3 D6 D7") == [[], [], [], [], ["timeout@6 a=A1 b=B2"], []]
    assert reports(text, "A1") == ["timeout@6 a=A1"]
    assert reports(text, "A1 B2 C6") == ["match@6 a=A1 b=B2 c=C6"]
    assert reports(text, "A1 B2 C7") == ["timeout@6 a=A1 b=B2"]
    assert reports(text, "B1 C2") == []


def test_each_event_that_begins_no_match_times_out() -> None:
    text = "SEQ(a:A, b:B) WHERE a.n = b.n ON TIMEOUT WITHIN 5"
    assert reports(text, "A1(n=1) A2(n=2) B3(n=2)") == ["match@3 a=A2 b=B3", "timeout@6 a=A1"]
    assert reports("SEQ(a:A, b:A) ON TIMEOUT WITHIN 5", "A1 A2") == ["match@2 a=A1 b=A2", "timeout@7 a=A2"]
    assert reports("SEQ(a:A, b:B) ON TIMEOUT WITHIN 5", "B1 A1") == ["match@1 a=A1 b=B1"]


def test_what_was_broken_times_out_as_far_as_it_came() -> None:
    text = "SEQ(a:A, NOT c:C, b:B, NOT d:D) ON TIMEOUT WITHIN 5"
    assert reports(text, "A1 C2 B3") == ["timeout@6 a=A1"]
    assert reports(text, "A1 B3 D4") == ["timeout@6 a=A1 b=B3"]
    assert reports(text, "A1 B3") == ["match@6 a=A1 b=B3"]
    assert reports(text, "A1 -A1@2") == []


def test_what_began_a_match_that_was_retracted_since_has_no_timeout() -> None:
    text = "SEQ(a:A, b:B) ON TIMEOUT WITHIN 5"
    assert reports(text, "A1 B2 -B2@3") == ["match@2 a=A1 b=B2", "retract@3 a=A1 b=B2"]
    assert reports(text, "A1 B2 -B2@3 B4 -B4@5")[2:] == ["match@4 a=A1 b=B4", "retract@5 a=A1 b=B4"]
    # What was deleted before its match was decided was in none.
    assert reports("SEQ(a:A, b:B, NOT c:C) ON TIMEOUT WITHIN 5", "A1 B2 -B2@3") == ["timeout@6 a=A1"]
    counted = "SEQ(a:A, b:B) REPORT EXISTS ON TIMEOUT WITHIN 5"
    assert reports(counted, "A1 B2 -B2@3") == ["match@2 1 by B2", "retract@3 1 by B2"]


def test_timeouts_of_iterations_begin_with_the_first_of_enough() -> None:
    text = "SEQ(m:M{2,}, b:B) SKIP TILL NEXT ON TIMEOUT WITHIN 5"
    assert reports(text, "M1 M2") == ["timeout@6 m=M1,M2"]
    assert reports(text, "M1 M2 M3 B4") == ["match@4 m=M1,M2,M3 b=B4", "match@4 m=M2,M3 b=B4"]


# ---- what holds of all patterns and streams


PLAIN = EventPatternShape(exists=False, distinct=False, timeouts=False, once=False)
KEPT = EventStreamShape(deletions=False, duplicates=False)


@given(event_patterns(PLAIN), event_streams(KEPT))
def test_exists_counts_what_all_lists(generated: EventPattern, stream: tuple[Event, ...]) -> None:
    listed = Counter(each.completed_by for each in EventOracle(generated).run(stream))
    counted = EventOracle(replace(generated, report=Report.EXISTS)).run(stream)
    assert {each.completed_by: each.count for each in counted} == listed


@given(event_patterns(PLAIN), event_streams(EventStreamShape(duplicates=False)))
def test_exists_counts_what_all_lists_and_no_deletion_touched(generated: EventPattern, stream: tuple[Event, ...]) -> None:
    lists, counts = EventOracle(generated), EventOracle(replace(generated, report=Report.EXISTS))
    came: dict[str, int] = {}
    deleted: set[str] = set()
    left: dict[str, list[set[str]]] = defaultdict(list)

    def compare(listed: Iterable[Emitted], counted: Iterable[Emitted]) -> None:
        for each in listed:
            if each.kind == "match":
                left[each.completed_by].append({id for _, ids in each.events for id in ids})
        for each in counted:
            if each.kind == "match":
                assert each.count == sum(not deleted & ids for ids in left[each.completed_by])

    for each in stream:
        # What time settles comes before what the record does.
        compare(lists.advance(each.ts), counts.advance(each.ts))
        if each.operation is Operation.INSERT:
            came[each.id] = each.ts
        elif came.get(each.id, each.ts) > each.ts - generated.lookback(TimeUnit.MILLISECOND):
            deleted.add(each.id)
        compare(lists.push(each), counts.push(each))
    compare(lists.finish(), counts.finish())


@given(event_patterns(PLAIN), event_streams(KEPT), st.randoms(use_true_random=False))
def test_the_order_in_which_ties_arrive_changes_nothing(
    generated: EventPattern, stream: tuple[Event, ...], rng: random.Random
) -> None:
    in_order = (Aggregation.FIRST, Aggregation.LAST)
    assume(not any(each.function in in_order for predicate in generated.predicates for each in aggregates(predicate)))
    generated = replace(generated, selection=Selection.ANY)
    permuted = sorted(rng.sample(stream, len(stream)), key=lambda event: event.ts)

    def found(records: Iterable[Event]) -> Counter[tuple[int, frozenset[tuple[str, frozenset[str]]]]]:
        emitted = EventOracle(generated).run(records)
        return Counter((each.detected_at, frozenset((name, frozenset(ids)) for name, ids in each.events)) for each in emitted)

    assert found(permuted) == found(stream)


@given(event_patterns(EventPatternShape(exists=False)), event_streams())
def test_what_is_retracted_was_emitted(generated: EventPattern, stream: tuple[Event, ...]) -> None:
    emitted: Counter[tuple[object, ...]] = Counter()
    for each in EventOracle(generated).run(stream):
        if each.kind == "match":
            emitted[each.events] += 1
        if each.kind == "retract":
            emitted[each.events] -= 1
            assert emitted[each.events] >= 0


@given(event_patterns(), event_streams())
def test_reports_come_in_the_order_of_time(generated: EventPattern, stream: tuple[Event, ...]) -> None:
    oracle = EventOracle(generated)
    for each in stream:
        assert all(emitted.detected_at <= each.ts for emitted in oracle.push(each))


def test_generated_patterns_and_streams_bring_about_every_kind_of_report() -> None:
    seen: Counter[str] = Counter()
    for seed in seeds(300):
        rng = random.Random(seed)
        generated = random_event_pattern(rng)
        for emitted in EventOracle(generated).run(random_event_stream(rng)):
            seen[emitted.kind] += 1
            seen["without"] += emitted.kind == "match" and generated.has_absences
            seen["repeated"] += any(len(ids) > 1 for _, ids in emitted.events)
            seen["counted"] += generated.report is Report.EXISTS and emitted.count > 1
    assert all(seen[kind] >= 10 for kind in ("match", "retract", "timeout", "without", "repeated", "counted"))
