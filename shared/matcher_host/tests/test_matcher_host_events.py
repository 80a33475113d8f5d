"""The host and event patterns: each match is emitted once, whenever the host is killed and others come and go."""

from __future__ import annotations

import math
import time
from ast import literal_eval
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from graphtide_core.edge import Operation
from graphtide_core.errors import InvalidPatternError
from graphtide_core.event import Event
from graphtide_core.event_pattern import EventPattern
from graphtide_core.ids import EdgeId, PatternName, StreamName
from graphtide_core.time import EventTime
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_matcher_host import host, joining, regrouping
from graphtide_query import print_pattern
from graphtide_query.families.events import regrouping as units
from graphtide_testing.host_world import HostWorld, plan
from graphtide_testing.parsing import parse_matched
from graphtide_testing.strategies.event_patterns import EventPatternShape, event_patterns
from graphtide_testing.strategies.event_streams import EventStreamShape, event_streams
from graphtide_wire.plans import form_of
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

SERVICE = "matcher_event_pattern"
STREAM = EventStreamShape(duplicates=False, negative_ts=False, max_records=30)


def is_in_the_language(pattern: EventPattern) -> bool:
    try:
        parse_matched(print_pattern(pattern))
    except InvalidPatternError:
        return False
    return True


PATTERNS = event_patterns(EventPatternShape(stream=STREAM, max_events=3)).filter(is_in_the_language)


def rename_pattern(pattern: EventPattern, name: str) -> EventPattern:
    return replace(pattern, name=PatternName(name), stream=StreamName("s"))


def world_of_events() -> HostWorld:
    return HostWorld(StreamName("s"), service=SERVICE)


@pytest.mark.parametrize(("is_slow", "regroups"), [(True, False), (False, True)])
@settings(max_examples=settings().max_examples // 2)
@given(
    stream=event_streams(STREAM, min_records=6),
    generated=st.lists(PATTERNS, min_size=1, max_size=6),
    rng=st.randoms(use_true_random=False),
)
def test_event_patterns_come_and_go_and_each_reports_its_own_whenever_the_host_is_killed(
    *, is_slow: bool, regroups: bool, stream: tuple[Event, ...], generated: list[EventPattern], rng: random.Random
) -> None:
    with (
        patch.object(joining, "MOST_RECORDS", 1 if is_slow else 16),
        patch.object(host, "JOIN_SECONDS", 0 if is_slow else 0.02),
        at_once() if regroups else nullcontext(),
    ):
        come_and_go(stream, [rename_pattern(pattern, f"p{place}") for place, pattern in enumerate(generated)], rng)


@contextmanager
def at_once() -> Iterator[None]:
    """Let event patterns be planned anew as soon as there is one more, and while the host waits, even if that saves nothing."""

    def now(work: Callable[[], regrouping.Found]) -> Future[regrouping.Found]:
        answer: Future[regrouping.Found] = Future()
        answer.set_result(work())
        return answer

    with (
        patch.object(regrouping, "FIRST_SECONDS", 0),
        patch.object(regrouping, "PAUSE", 0),
        patch.object(regrouping, "in_background", now),
        patch.object(units, "regroup_units", partial(units.regroup_units, margin=math.inf)),
    ):
        yield


def come_and_go(stream: tuple[Event, ...], waiting: list[EventPattern], rng: random.Random) -> None:
    world = world_of_events()
    running: dict[str, tuple[EventPattern, int]] = {}
    forgotten: dict[str, tuple[EventPattern, int]] = {}
    rest = list(stream)
    while rest:
        size = rng.randint(1, 3)
        world.send(rest[:size])
        newest, rest = rest[:size][-1].ts, rest[size:]
        if rest and rng.random() < 0.5:
            world.pass_time(rng.randint(newest, rest[0].ts))
        for _ in range(rng.choice((0, 1, 2))):
            if waiting:
                pattern = waiting.pop()
                running[pattern.name] = pattern, max(0, world.end() - rng.choice((0, 0, 1, 6)))
                world.plan(pattern, "aggregation", service=SERVICE, start=running[pattern.name][1])
        if running and rng.random() < 0.15:
            name = rng.choice(sorted(running))
            forgotten[name] = running.pop(name)
            world.forget(forgotten[name][0])
        if rng.random() < 0.7:
            world.fuse.length = rng.choice((0, 0, rng.randint(1, 60)))
            world.live(rng.randint(0, 4))
    world.settle()
    for _ in range(100):
        if all(world.states().get(name) == "running" for name in running):
            break
        world.live(10)
    world.pass_time(stream[-1].ts + 100)
    world.settle()
    said = world.said()
    for name, (pattern, start) in running.items():
        assert said[name].state == "running", said[name]
        assert world.matches(name) == world.expected(pattern, start), print_pattern(pattern)
    for name, (pattern, start) in forgotten.items():
        end = said[name].start if name in said else start
        assert world.matches(name) == world.expected(pattern, start, end), print_pattern(pattern)


def event(number: int, kind: str, **attributes: Any) -> Event:
    return Event(EdgeId(f"e{number}"), EventTime(number), kind, attributes)


def absent() -> EventPattern:
    (pattern,) = parse_matched("PATTERN one SEQ(a:A, b:B, NOT c:C) ON s WITHIN 10ms")
    assert isinstance(pattern, EventPattern)
    return pattern


@pytest.mark.parametrize("loses_checkpoint", [False, True])
def test_what_must_not_come_is_settled_by_a_heartbeat_and_emitted_once(*, loses_checkpoint: bool) -> None:
    world = world_of_events()
    world.plan(absent(), "aggregation", service=SERVICE, start=0)
    world.send([event(1, "A"), event(3, "B")])
    world.pass_time(11)
    world.settle()
    assert world.matches() == [], "C may still come at 11"
    world.host = None
    world.checkpoints = MemoryCheckpoints() if loses_checkpoint else world.checkpoints
    world.pass_time(12)
    world.settle()
    assert world.matches() == world.expected(absent(), 0)
    assert len(world.matches()) == 1
    world.host = None
    world.send([event(30, "A")])
    world.settle()
    assert len(world.matches()) == 1


@pytest.mark.parametrize("loses_checkpoint", [False, True])
def test_what_must_not_come_is_settled_by_the_watermark_of_a_record_with_events_and_once(*, loses_checkpoint: bool) -> None:
    """As where a duplicate behind them was dropped: the record's time is past the bound, its events are not."""
    world = world_of_events()
    world.plan(absent(), "aggregation", service=SERVICE, start=0)
    world.send([event(1, "A"), event(3, "B")], passes=11)
    world.settle()
    assert world.matches() == [], "C may still come at 11"
    world.send([event(11, "X")], passes=12)
    world.settle()
    emitted = world.matches()
    assert emitted == world.expected(absent(), 0)
    assert len(emitted) == 1
    world.host = None
    world.checkpoints = MemoryCheckpoints() if loses_checkpoint else world.checkpoints
    world.pass_time(12)
    world.send([event(12, "C")])
    world.settle()
    assert world.matches() == emitted


def test_a_host_that_comes_back_knows_what_came_before_a_match_that_waits() -> None:
    (pattern,) = parse_matched("PATTERN one SEQ(NOT a:A, b:B, NOT c:C) ON s WITHIN 10ms")
    world = world_of_events()
    world.plan(pattern, "aggregation", service=SERVICE, start=0)
    for number, kind in ((1, "A"), (10, "B"), (12, "B"), (19, "X")):
        world.send([event(number, kind)])
    world.settle()
    world.host, world.checkpoints = None, MemoryCheckpoints()
    world.pass_time(30)
    world.settle()
    assert world.matches() == world.expected(pattern, 0)
    assert len(world.matches()) == 1, "of the first B an A came less than 10 ms before"


def test_a_match_that_waits_while_its_pattern_leaves_is_emitted_by_the_next_host() -> None:
    world = world_of_events()
    world.plan(absent(), "aggregation", service=SERVICE, start=0)
    world.send([event(1, "A"), event(3, "B")])
    world.settle()
    world.plan(absent(), "aggregation", service=SERVICE, start=0, desired="stopped")
    world.settle()
    stopped = world.said()["one"].start
    other = world.new_host("other")
    other.open()
    world.plan(absent(), "aggregation", service="other", start=0, reported_to=stopped)
    world.pass_time(50)
    for _ in range(6):
        other.step()
    world.settle()
    assert world.matches() == world.expected(absent(), 0)
    assert len(world.matches()) == 1


ONCE = "PATTERN one SEQ(a:A, b:B) REPORT ONE PER a.n EVERY 20ms ON s WITHIN 3ms"


@pytest.mark.parametrize("loses_checkpoint", [False, True])
def test_a_host_that_comes_back_emits_no_second_match_of_a_key(*, loses_checkpoint: bool) -> None:
    (pattern,) = parse_matched(ONCE)
    world = world_of_events()
    world.plan(pattern, "aggregation", service=SERVICE, start=0)
    for number in range(0, 18, 2):
        world.send([event(number, "A", n=number % 3), event(number + 1, "B")])
        world.settle()
        world.host = None
        world.checkpoints = MemoryCheckpoints() if loses_checkpoint else world.checkpoints
    assert len(world.matches()) == 3
    world.send([event(18, "A", n=1), event(19, "B"), event(20, "A", n=1), event(21, "B")])
    world.settle()
    assert world.matches() == world.expected(pattern, 0)
    assert len(world.matches()) == 4


def test_a_host_counts_the_matches_that_it_suppresses() -> None:
    (pattern,) = parse_matched(ONCE)
    world = world_of_events()
    world.plan(pattern, "aggregation", service=SERVICE, start=0)
    world.send([event(1, "A", n=1), event(2, "B")])
    world.settle()
    assert not world.said()["one"].suppressed
    world.send([event(3, "B"), event(4, "B"), event(20, "A", n=1), event(21, "B"), event(22, "B")])
    world.settle()
    assert len(world.matches()) == 2
    assert world.said()["one"].suppressed == 3


EDGES = "PATTERN one MATCH (a)-[x:k]->(b) ON s WINDOW 10"
EVENTS = "PATTERN one SEQ(a:A, b:B) ON s WITHIN 10ms"


@pytest.mark.parametrize(("text", "other", "engine"), [(EVENTS, EDGES, "timing"), (EDGES, EVENTS, "aggregation")])
def test_a_plan_for_another_family_is_refused_with_the_reason(text: str, other: str, engine: str) -> None:
    (pattern,), (of_other_family,) = parse_matched(text), parse_matched(other)
    world = world_of_events()
    world.plan(pattern, engine, service=SERVICE, start=0, plan=form_of(plan(of_other_family, engine)))
    world.settle()
    said = world.said()["one"]
    assert said.state == "failed"
    assert f"the engine {engine} does not match patterns of the family" in (said.reason or "")


def test_patterns_that_came_one_by_one_get_a_plan_in_common_while_the_host_goes_on() -> None:
    world = world_of_events()
    texts = [f"PATTERN p{place} SEQ(a:A, b:B, c:C{place}) ON s WITHIN 50ms" for place in range(6)]
    patterns = [pattern for text in texts for pattern in parse_matched(text)]
    with (
        patch.multiple(regrouping, FIRST_SECONDS=0, PAUSE=0),
        patch.object(units, "regroup_units", partial(units.regroup_units, margin=math.inf)),
    ):
        world.send([event(0, "A")])
        for place, pattern in enumerate(patterns):
            world.plan(pattern, "aggregation", service=SERVICE, start=0)
            world.send([event(2 * place + 1, "A"), event(2 * place + 2, "B")])
            world.settle()
        deadline = time.monotonic() + 60
        while not any(alive(world, each.name) for each in patterns) and time.monotonic() < deadline:
            world.live(1)
    assert any(alive(world, each.name) for each in patterns), "what some have in common is stored"
    world.send([event(20 + place, f"C{place}") for place in range(6)])
    world.settle()
    for pattern in patterns:
        assert world.matches(pattern.name) == world.expected(pattern, 0)


def alive(world: HostWorld, name: str) -> int:
    """Return how many instances the host says that a pattern holds."""
    return world.said()[name].partial_matches


@pytest.mark.parametrize("loses_checkpoint", [False, True])
@pytest.mark.parametrize("report", ["ALL", "EXISTS"])
@pytest.mark.parametrize("restarts", [(1,), (2,), (3,), (1, 2, 3)])
def test_what_began_a_match_that_was_retracted_has_no_timeout_after_a_restart(
    *, restarts: tuple[int, ...], report: str, loses_checkpoint: bool
) -> None:
    (pattern,) = parse_matched(f"PATTERN one SEQ(a:A, b:B) REPORT {report} ON s WITHIN 10ms ON TIMEOUT")
    world = world_of_events()
    world.plan(pattern, "aggregation", service=SERVICE, start=0)
    gone = replace(event(2, ""), ts=EventTime(5), operation=Operation.DELETE)
    for place, record in enumerate((event(1, "A"), event(2, "B"), gone, event(7, "A"))):
        if place in restarts:
            world.host = None
            world.checkpoints = MemoryCheckpoints() if loses_checkpoint else world.checkpoints
        world.send([record])
        world.settle()
    world.pass_time(20)
    world.settle()
    kinds = [literal_eval(each)[0] for each in world.matches()]
    assert kinds == ["match", "retract", "timeout"], "the timeout is that of the second A"
    assert world.matches() == world.expected(pattern, 0)


BEGINNINGS = (
    "SEQ(a:A, b:B)",
    "SEQ(a:A, NOT c:C, b:B)",
    "SEQ(NOT c:C, a:A, b:B)",
    "SEQ(a:A+, b:B) SKIP TILL NEXT",
    "SEQ(a:A+, NOT b:B) SKIP TILL NEXT",
    "SEQ(a:A, OR(b:B, c:C+)) SKIP TILL NEXT",
)


@given(
    text=st.sampled_from(BEGINNINGS),
    report=st.sampled_from(("ALL", "EXISTS", "DISTINCT")),
    stream=event_streams(replace(STREAM, gaps=(0, 1), deletions=False, max_records=14), min_records=6),
    rng=st.randoms(use_true_random=False),
)
def test_timeouts_are_those_of_the_stream_whenever_the_host_and_its_checkpoints_are_lost(
    text: str, report: str, stream: tuple[Event, ...], rng: random.Random
) -> None:
    (pattern,) = parse_matched(f"PATTERN one {text} REPORT {report} ON s WITHIN 4ms ON TIMEOUT")
    world = world_of_events()
    starts_at = rng.randint(0, 3)
    came = [replace(each, made=False) for each in stream]
    for place, record in enumerate(came):
        if place == starts_at:
            start = rng.randint(0, world.end())
            world.plan(pattern, "aggregation", service=SERVICE, start=start)
        world.send([record])
        if rng.random() < 0.4:
            deleted = rng.choice(came[max(0, place - 3) : place + 1])
            world.send([replace(deleted, ts=record.ts, attributes={}, operation=Operation.DELETE)])
        if rng.random() < 0.3:
            world.pass_time(rng.randint(record.ts, came[place + 1].ts if place + 1 < len(came) else record.ts + 9))
        if rng.random() < 0.5:
            world.settle()
        if rng.random() < 0.4:
            world.host = None
            world.checkpoints = rng.choice((world.checkpoints, MemoryCheckpoints()))
    world.pass_time(came[-1].ts + 20)
    world.settle()
    assert world.matches() == world.expected(pattern, start), print_pattern(pattern)


def test_a_plan_that_starts_while_matches_wait_reports_no_count_of_an_event_before_it() -> None:
    """One match of the B is decided by the time that the plan starts, the other is not."""
    (pattern,) = parse_matched("PATTERN one SEQ(a:A, b:B, NOT c:C) REPORT EXISTS ON s WITHIN 2ms")
    world = world_of_events()
    world.send([event(0, "A"), event(1, "A"), replace(event(2, "B"), ts=EventTime(1)), event(3, "A")])
    world.plan(pattern, "aggregation", service=SERVICE, start=world.end())
    world.settle()
    world.pass_time(5)
    world.send([event(6, "B")])
    world.pass_time(20)
    world.settle()
    assert world.matches() == []
    assert world.expected(pattern, 1) == []
