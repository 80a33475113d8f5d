"""A record or a plan that fails stops no other: the smallest part is taken out, and all others report every match once."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from graphtide_core.edge import Edge
from graphtide_core.errors import TransientError
from graphtide_core.event import Event
from graphtide_core.ids import EdgeId, StreamName, VertexId
from graphtide_core.ports.log import TopicPartition
from graphtide_core.time import EventTime
from graphtide_matcher_host import records, tracing
from graphtide_matcher_host.faults import Faults
from graphtide_matcher_host.host import MatcherHost
from graphtide_matcher_host.stream_pass import StreamPass
from graphtide_ordering.faults import failing
from graphtide_query import parse
from graphtide_query.families import FAMILIES
from graphtide_testing.host_world import TOPICS, HostWorld
from graphtide_testing.telemetry import spans_in_memory
from graphtide_wire.control import LimitsForm
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_core.any_pattern import AnyPattern

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

TEXTS = {
    "isomorphism": ("timing", "PATTERN iso MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y ON s WINDOW 100"),
    "simulation": (
        "ddst-coloring",
        "PATTERN sim MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y UNDER DUAL SIMULATION REPORT CHANGES ON s WINDOW 100",
    ),
    "events": ("casem+dce", "PATTERN seen SEQ(x:k, y:k) ON s WITHIN 100"),
    "events, repeated": ("casem+dce", "PATTERN often SEQ(x:k, y:k+) ON s WITHIN 100"),
    "algebra": ("s-path", "QUERY two two(a, c) <- k(a, b), k(b, c). ON s WINDOW(100)"),
    "algebra, with paths": ("s-path", "QUERY way two(a, c) <- /:k :k/(a, c) AS w. ON s WINDOW(100) RETURN w"),
}
"""An engine and a pattern of each family, and of each form of its matches; every second edge of a chain ends a match."""


class NativePanicError(BaseException):
    """What a panic of native code looks like in Python: no `Exception`."""


def pattern(text: str) -> AnyPattern:
    (found,) = parse(text)
    return found


def edge(number: int) -> Edge:
    """Return an edge of a chain."""
    ends = VertexId(f"v{number}"), VertexId(f"v{number + 1}")
    return Edge(EdgeId(f"e{number}"), EventTime(number), *ends, "k", None, None)


def live(world: HostWorld, rounds: int = 12) -> list[BaseException]:
    """Let a host do rounds as a service does: however it ends, it is closed and opened again; return what ended it."""
    faults: list[BaseException] = []
    host = world.new_host()
    host.open()
    for _ in range(rounds):
        try:
            host.step()
        except BaseException as error:
            faults.append(error)
            host.close()
            with_retries(host, faults)
    host.close()
    return faults


def with_retries(host: MatcherHost, faults: list[BaseException]) -> None:
    """Open a host again until it is open."""
    while True:
        try:
            host.open()
        except BaseException as error:
            faults.append(error)
            assert len(faults) < 20, faults
            host.close()
        else:
            return


@contextmanager
def push_fails(name: str, offset: int, error: type[BaseException]) -> Iterator[None]:
    """Let each pass that has a plan of a pattern fail on the record at an offset."""
    push = StreamPass.push

    def failing_push(self: StreamPass, batch: Any, at: int, header: Any) -> Any:
        if at == offset and any(each.assignment.name == name for each in self.plans.running()):
            raise error(name)
        return push(self, batch, at, header)

    with patch.object(StreamPass, "push", failing_push):
        yield


def world_of(*families: str) -> tuple[HostWorld, list[AnyPattern]]:
    """Return a world with a pattern of each of these."""
    world = HostWorld(StreamName("s"))
    patterns = []
    for family in families:
        engine, text = TEXTS[family]
        found = pattern(text)
        world.plan(found, engine, start=0)
        patterns.append(found)
    return world, patterns


def assert_whole(world: HostWorld, patterns: Sequence[AnyPattern]) -> None:
    """Assert that each of these patterns runs and reported what it reports of the same records where nothing fails."""
    undisturbed, _ = world_of(*TEXTS)
    for _, _, record in world.sent:
        undisturbed.send([record])
    assert live(undisturbed) == []
    for each in patterns:
        assert world.states()[each.name] == "running"
        found = world.matches(each.name)
        assert found == undisturbed.matches(each.name)
        assert found


def dead_letters(world: HostWorld) -> int:
    reader = world.log.reader(None)
    reader.assign({TopicPartition(TOPICS.dead_letters(world.stream), 0): 0})
    return len(reader.poll(0, 100))


def test_every_family_has_a_pattern_here() -> None:
    assert {each.split(",")[0] for each in TEXTS} == FAMILIES.keys()


@pytest.mark.parametrize("family", TEXTS)
def test_matches_of_traced_records_carry_the_trace_in_every_family(family: str) -> None:
    world, patterns = world_of(family)
    with spans_in_memory():
        for number in range(6):
            world.send([edge(number)], TRACE if number % 2 else None)
        assert live(world) == []
    assert_whole(world, patterns)
    reader = world.log.reader(None)
    reader.assign({TopicPartition(TOPICS.matches, 0): 0})
    carried = [dict(record.headers).get("traceparent", b"").decode()[3:35] for record in reader.poll(0, 1000)]
    assert TRACE[3:35] in carried
    assert "" in carried


def test_where_traces_fail_the_matches_go_out_without(monkeypatch: pytest.MonkeyPatch) -> None:
    world, patterns = world_of(*TEXTS)

    def fail(*_: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(tracing, "_start_span", fail)
    for number in range(6):
        world.send([edge(number)], TRACE)
    assert live(world) == []
    assert_whole(world, patterns)


@pytest.mark.parametrize("error", [ValueError, NativePanicError])
@pytest.mark.parametrize("bad", TEXTS)
def test_a_plan_that_fails_on_a_record_ends_as_failed_and_the_others_report_all(bad: str, error: type[BaseException]) -> None:
    world, patterns = world_of(*TEXTS)
    place = list(TEXTS).index(bad)
    for number in range(3):
        world.send([edge(number)])
    failed, offset = patterns.pop(place), world.end()
    for number in range(3, 6):
        world.send([edge(number)])
    with push_fails(failed.name, offset, error):
        assert len(live(world)) == 2
    assert_whole(world, patterns)
    assert world.states()[failed.name] == "failed"
    assert error.__name__ in (world.said()[failed.name].reason or "")
    assert dead_letters(world) == 0


def test_a_failed_plan_is_tried_again_when_it_is_given_again_and_reports_what_it_had_not() -> None:
    world, patterns = world_of("isomorphism", "algebra")
    for number in range(2):
        world.send([edge(number)])
    offset = world.end()
    for number in range(2, 5):
        world.send([edge(number)])
    with push_fails("iso", offset, NativePanicError):
        live(world)
    assert world.states()["iso"] == "failed"
    world.plan(patterns[0], "re-search", start=0)
    live(world)
    assert_whole(world, patterns)


@pytest.mark.parametrize("bad", TEXTS)
def test_a_plan_that_fails_in_its_past_keeps_nobody_from_opening(bad: str) -> None:
    world, patterns = world_of(*TEXTS)
    offset = world.end()
    for number in range(4):
        world.send([edge(number)])
    live(world)
    failed = patterns.pop(list(TEXTS).index(bad))
    # What the checkpoint has of the record is not read record by record: without it, the log is.
    world.checkpoints.__init__()  # type: ignore[misc]
    with push_fails(failed.name, offset, NativePanicError):
        host = world.new_host()
        faults: list[BaseException] = []
        with_retries(host, faults)
        host.close()
        assert len(faults) == 2
        for number in range(4, 6):
            world.send([edge(number)])
        live(world)
    assert_whole(world, patterns)
    assert world.states()[failed.name] == "failed"


def test_a_newcomer_that_fails_in_its_past_stays_out_and_the_others_go_on() -> None:
    world, patterns = world_of("isomorphism", "algebra")
    offset = world.end()
    for number in range(3):
        world.send([edge(number)])
    live(world)
    engine, text = TEXTS["events"]
    world.plan(pattern(text), engine, start=0)
    with push_fails("seen", offset, ValueError):
        live(world)
        world.send([edge(3)])
        live(world)
    assert_whole(world, patterns)
    assert world.states()["seen"] == "failed"


@pytest.mark.parametrize("bad", TEXTS)
def test_a_match_that_cannot_be_written_ends_its_pattern_alone(bad: str) -> None:
    world, patterns = world_of(*TEXTS)
    failed = patterns.pop(list(TEXTS).index(bad))
    for number in range(6):
        world.send([edge(number)])
    head = records._head  # noqa: SLF001 - what the fault is planted in

    def failing_head(of: Any) -> Any:
        if of.pattern.name == failed.name:
            raise KeyError(failed.name)
        return head(of)

    with patch.object(records, "_head", failing_head):
        live(world)
    assert_whole(world, patterns)
    assert world.states()[failed.name] == "failed"


def test_a_record_that_fails_with_no_plan_to_blame_becomes_a_dead_letter() -> None:
    world, patterns = world_of("isomorphism")
    for number in range(3):
        world.send([edge(number)])
    offset = world.end()
    # No pattern matches it, so that what is expected of the others stays.
    world.send([Event(EdgeId("x"), EventTime(2), "other", {})])
    for number in range(3, 5):
        world.send([edge(number)])
    reported = MatcherHost._reported  # noqa: SLF001 - what the fault is planted in

    def fail(self: MatcherHost, record: Any, *rest: Any) -> Any:
        if record.offset == offset:
            raise RuntimeError
        return reported(self, record, *rest)

    with patch.object(MatcherHost, "_reported", fail):
        assert len(live(world)) == 2
    assert_whole(world, patterns)
    assert dead_letters(world) == 1


def test_what_may_pass_by_itself_condemns_nobody() -> None:
    world, patterns = world_of("isomorphism")
    for number in range(3):
        world.send([edge(number)])
    with push_fails("iso", 1, TransientError):
        faults = live(world, 6)
    assert len(faults) == 6
    live(world)
    assert_whole(world, patterns)


@given(st.sets(st.integers(0, 20)), st.integers(1, 20), st.sets(st.integers(0, 19), min_size=2, max_size=3))
def test_the_plans_that_fail_are_found_also_where_they_fail_together_alone(bad: set[int], plans: int, pair: set[int]) -> None:
    tried = list(range(plans))
    found = failing(tried, lambda some: "it fails" if bad & set(some) else None)
    assert [each for each, _ in found] == sorted(bad & set(tried))
    together = [each for each, _ in failing(tried, lambda some: "they fail" if pair <= set(some) else None)]
    assert pair <= set(together) or not pair <= set(tried)


def test_places_of_faults_are_bounded() -> None:
    faults = Faults("host")
    assert [faults.came_again(number) for number in range(2_000)] == [False] * 2_000
    assert faults.came_again(1_999)
    assert not faults.came_again(1_999)
    assert not faults.came_again(0)


BURST = 40
LIMITED = {
    "isomorphism": ("timing", "PATTERN p MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y ON s WINDOW 100", "partial_matches"),
    "isomorphism, by a search": ("re-search", "PATTERN p MATCH (a)-[x:k]->(b)-[y:k]->(c) ON s WINDOW 100", "work"),
    "events": ("casem+dce", "PATTERN p SEQ(x:k, y:k, z:k) ON s WITHIN 100", "work"),
    "algebra": ("s-path", "QUERY p two(a, c) <- k(a, b), k(b, c). ON s WINDOW(100)", "partial_matches"),
}
"""A pattern of each family whose state or work is bounded, and the bound that a burst reaches."""


@pytest.mark.parametrize("family", LIMITED)
def test_a_limit_that_a_burst_reaches_is_said_with_the_record_and_what_to_raise_and_the_pattern_resumes(family: str) -> None:
    engine, text, setting = LIMITED[family]
    world, limits = HostWorld(StreamName("s")), LimitsForm(**{setting: 4})  # type: ignore[arg-type]  # one of the bounds
    world.plan(pattern(text), engine, start=0, limits=limits)
    hub = VertexId("hub")
    # A work limit is saved up for a second's worth of records.
    for number in range(BURST if setting != "work" else 20 * BURST):
        ends = (VertexId(f"v{number}"), hub) if number % 2 else (hub, VertexId(f"v{number}"))
        world.send([Edge(EdgeId(f"e{number}"), EventTime(number), *ends, "k", None, None)])
    assert live(world, len(world.sent)) == []
    said = world.said()["p"]
    assert said.state == "failed"
    reason = said.reason or ""
    found = re.search(rf"at the record of time (\d+), .* raise limits\.{setting}.*, then resume it: graphtide resume p", reason)
    assert found is not None, reason
    assert 0 < int(found[1]) < len(world.sent)
    start, before = world.end(), len(world.matches("p"))
    world.plan(replace(pattern(text), version=2), engine, start=start)
    for number in range(3):
        ends = VertexId(f"w{number}"), VertexId(f"w{number + 1}")
        world.send([Edge(EdgeId(f"f{number}"), EventTime(2_000 + number), *ends, "k", None, None)])
    live(world)
    assert world.states()["p"] == "running"
    assert len(world.matches("p")) > before
