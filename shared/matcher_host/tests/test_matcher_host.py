"""The host reports every match of its patterns once, whatever happens to it."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from threading import Timer
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import msgspec
import pytest
from graphtide_core.edge import Edge
from graphtide_core.errors import FencedError, InvalidPatternError, TransientError
from graphtide_core.ids import EdgeId, PatternName, StreamName, VertexId
from graphtide_core.pattern import SubgraphPattern
from graphtide_core.ports.log import Message, Position, TopicPartition, TopicSpec
from graphtide_core.time import EventTime
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_log.doubts import MOST_DOUBTS
from graphtide_matcher_host import host, joining
from graphtide_matcher_host.checkpointing import Checkpointer
from graphtide_query import parse_subgraphs, print_pattern
from graphtide_query.families import FAMILIES
from graphtide_testing.dense_streams import dense_edges, dense_patterns
from graphtide_testing.forgetful import ForgetfulLog
from graphtide_testing.host_world import TOPICS, World
from graphtide_testing.lagging import LaggingLog
from graphtide_testing.strategies import StreamShape, edge_streams, patterns
from graphtide_wire import control
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def is_in_the_language(pattern: SubgraphPattern) -> bool:
    """Engines take some patterns that no text says; plans carry texts."""
    try:
        parse_subgraphs(print_pattern(pattern))
    except InvalidPatternError:
        return False
    return True


def named(pattern: SubgraphPattern, name: str) -> SubgraphPattern:
    return replace(pattern, name=PatternName(name), stream=StreamName("s"))


PATTERNS = patterns().filter(is_in_the_language)
NAMED = edge_streams(StreamShape(duplicates=False, nameless=False), min_records=4)
STREAMS = edge_streams(StreamShape(duplicates=False), min_records=4)
CHOICES = st.randoms(use_true_random=False)


@given(STREAMS, PATTERNS, PATTERNS, CHOICES)
def test_every_match_is_reported_once_whenever_the_host_is_killed(
    edges: tuple[Edge, ...], first: SubgraphPattern, second: SubgraphPattern, rng: Any
) -> None:
    first, second = named(first, "one"), replace(named(second, "two"), version=3)
    world = World(first.stream)
    starts: dict[str, int] = {}
    rest = list(edges)
    while rest:
        size = rng.randint(1, 4)
        world.send(rest[:size])
        rest = rest[size:]
        for pattern in (first, second):
            if pattern.name not in starts and rng.random() < 0.4:
                starts[pattern.name] = world.end()
                world.plan(pattern, rng.choice(FAMILIES["isomorphism"].names), start=world.end())
            elif pattern.name in starts and rng.random() < 0.15:
                # Another engine, in place.
                world.plan(pattern, rng.choice(FAMILIES["isomorphism"].names), start=starts[pattern.name])
        world.fuse.length = rng.randint(1, 60)
        world.live(rng.randint(0, 3))
    world.settle()

    expected = [found for each in (first, second) if each.name in starts for found in world.expected(each, starts[each.name])]
    assert world.matches() == sorted(expected)
    assert set(world.states().values()) <= {"running"}


@pytest.mark.parametrize("family", ["isomorphism", "simulation"])
@pytest.mark.parametrize("deletions", [True, False])
@pytest.mark.parametrize("is_slow", [True, False])
@settings(max_examples=settings().max_examples // 5)
@given(seed=st.integers(0, 2**32))
def test_plans_come_and_go_and_each_reports_its_own_whenever_the_host_is_killed(
    *, family: str, deletions: bool, is_slow: bool, seed: int
) -> None:
    # Where it is slow, plans read one record of their past in a round.
    with (
        patch.object(joining, "MOST_RECORDS", 1 if is_slow else 16),
        patch.object(host, "JOIN_SECONDS", 0 if is_slow else 0.02),
    ):
        come_and_go(Random(seed), family, deletions=deletions)


def come_and_go(rng: Random, family: str, *, deletions: bool) -> None:
    """Let plans come and go on a host that is killed now and then, and look at what it reported."""
    world = World(StreamName("s"))
    waiting = dense_patterns(family)
    engines = FAMILIES[family].names
    running: dict[SubgraphPattern, int] = {}
    forgotten: dict[SubgraphPattern, int] = {}
    rest = list(dense_edges(rng, 50, deletions=deletions))
    while rest:
        size = rng.randint(1, 3)
        newest, sent, rest = rest[:size][-1].ts, rest[:size], rest[size:]
        passes = rng.randint(newest, rest[0].ts) if rest and rng.random() < 0.3 else None
        world.send(sent, passes=passes)
        if rest and rng.random() < 0.5:
            world.pass_time(rng.randint(newest if passes is None else passes, rest[0].ts))
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            if waiting:
                pattern = waiting.pop(rng.randrange(len(waiting)))
                running[pattern] = max(0, world.end() - rng.choice((0, 0, 1, 6)))
                world.plan(pattern, rng.choice(engines), start=running[pattern])
        if running and rng.random() < 0.15:
            pattern = rng.choice(list(running))
            forgotten[pattern] = running.pop(pattern)
            world.forget(pattern)
        if running and rng.random() < 0.15:
            pattern = rng.choice(list(running))
            world.plan(pattern, rng.choice(engines), start=running[pattern])
        if rng.random() < 0.7:
            world.fuse.length = rng.choice((0, 0, rng.randint(1, 60)))
            world.live(rng.randint(0, 4))
    world.settle()
    for _ in range(100):
        if all(world.states().get(each.name) == "running" for each in running):
            break
        world.live(10)
    world.settle()
    said = world.said()
    for pattern, start in running.items():
        assert world.matches(pattern.name) == world.expected(pattern, start), pattern.name
        assert said[pattern.name].state == "running"
    for pattern, start in forgotten.items():
        # Where it came and went before the host looked, nothing is said of it.
        end = said[pattern.name].start if pattern.name in said else start
        assert world.matches(pattern.name) == world.expected(pattern, start, end), pattern.name


@given(st.lists(NAMED, min_size=2, max_size=3), PATTERNS, PATTERNS, CHOICES)
def test_matches_of_each_epoch_are_those_of_a_fresh_stream_whenever_the_host_is_killed(
    epochs: list[tuple[Edge, ...]], first: SubgraphPattern, second: SubgraphPattern, rng: Any
) -> None:
    first, second = named(first, "one"), named(second, "two")
    world = World(first.stream)
    world.plan(first, rng.choice(FAMILIES["isomorphism"].names), start=0)
    start = None
    for number, edges in enumerate(epochs):
        if number:
            world.begin_epoch(told=rng.random() < 0.7)
        rest = [replace(edge, id=EdgeId(f"{number}.{edge.id}")) for edge in edges]
        while rest:
            size = rng.randint(1, 4)
            world.send(rest[:size])
            rest = rest[size:]
            if start is None and rng.random() < 0.3:
                start = world.end()
                world.plan(second, rng.choice(FAMILIES["isomorphism"].names), start=start)
            if rng.random() < 0.1:
                world.plan(first, rng.choice(FAMILIES["isomorphism"].names), start=0)
            world.fuse.length = rng.randint(1, 60)
            world.live(rng.randint(0, 3))
    world.settle()
    expected = world.expected(first, 0) + (world.expected(second, start) if start is not None else [])
    assert world.matches() == sorted(expected)
    assert set(world.states().values()) <= {"running"}


@given(st.lists(NAMED, min_size=2, max_size=3), CHOICES)
def test_components_of_each_epoch_are_those_of_a_fresh_stream_whenever_the_host_is_killed(
    epochs: list[tuple[Edge, ...]], rng: Any
) -> None:
    world = World(StreamName("s"))
    patterns, starts = dense_patterns("simulation"), dict[SubgraphPattern, int]()
    for number, edges in enumerate(epochs):
        if number:
            world.begin_epoch(told=rng.random() < 0.7)
        for edge in edges:
            label = {"x": "k", "y": "l"}.get(edge.label or "", edge.label)
            world.send([replace(edge, id=EdgeId(f"{number}.{edge.id}"), label=label)])
            if patterns and rng.random() < 0.3:
                pattern = patterns.pop(rng.randrange(len(patterns)))
                starts[pattern] = max(0, world.end() - rng.choice((0, 0, 2)))
                world.plan(pattern, rng.choice(FAMILIES["simulation"].names), start=starts[pattern])
            world.fuse.length = rng.randint(1, 60)
            world.live(rng.randint(0, 3))
    world.settle()
    for pattern, start in starts.items():
        assert world.matches(pattern.name) == world.expected(pattern, start), pattern.name
    assert set(world.states().values()) <= {"running"}


@given(STREAMS, PATTERNS, CHOICES)
def test_a_pattern_that_moves_to_another_host_is_matched_without_a_gap(
    edges: tuple[Edge, ...], pattern: SubgraphPattern, rng: Any
) -> None:
    pattern = named(pattern, "one")
    world = World(pattern.stream)
    cut = rng.randint(0, len(edges))
    world.plan(pattern, "timing", start=0)
    for edge in edges[:cut]:
        world.send([edge])
    world.live(rng.randint(0, cut + 2))
    world.plan(pattern, "timing", desired="stopped", start=0)
    world.settle()
    stopped = stopped_at(world)
    for edge in edges[cut:]:
        world.send([edge])
    other = world.new_host("matcher_sjtree")
    other.open()
    other.step()
    world.plan(pattern, "sj-tree", service="matcher_sjtree", start=0, reported_to=stopped)
    for _ in range(len(edges) + 4):
        other.step()
    world.settle()
    assert world.matches() == world.expected(pattern, 0)


def stopped_at(world: World) -> int:
    """Return where the pattern `one` stopped."""
    said = world.said()["one"]
    assert said.state == "stopped"
    assert said.start is not None
    return said.start


def edge_pattern() -> SubgraphPattern:
    (pattern,) = parse_subgraphs("PATTERN one MATCH (a)-[x:k]->(b)-[y:k]->(c) ON s WINDOW 100")
    return pattern


def k(number: int, source: str, target: str) -> Edge:
    return Edge(EdgeId(f"e{number}"), EventTime(number), VertexId(source), VertexId(target), "k")


def path(number: int) -> Edge:
    """An edge that goes on from the one before, so that each but the first completes a match."""
    return k(number, f"v{number}", f"v{number + 1}")


def lagging() -> World:
    """A host that was down since the first of eight records gets a plan that another has reported up to the sixth."""
    world = World(edge_pattern().stream)
    world.plan(named(edge_pattern(), "other"), "timing", start=0)
    world.live(1)
    for number in range(8):
        world.send([path(number)])
    world.plan(edge_pattern(), "timing", start=0, reported_to=6)
    return world


def test_no_match_has_edges_of_two_epochs() -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(5, "a", "b")])
    world.begin_epoch()
    world.send([k(6, "b", "c")])
    world.settle()
    assert world.matches() == []
    world.send([k(7, "c", "d")])
    world.settle()
    assert len(world.matches()) == 1


@pytest.mark.parametrize("loses_checkpoint", [True, False])
def test_a_host_that_is_restarted_after_times_went_back_goes_on_in_the_new_epoch(*, loses_checkpoint: bool) -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(2**62, "a", "b")])
    world.settle()
    world.begin_epoch()
    world.send([k(1, "b", "c")])
    world.settle()
    for number in range(2, 5):
        world.host = None
        if loses_checkpoint:
            world.checkpoints = MemoryCheckpoints()
        world.send([k(number, "vw"[number % 2], "vw"[1 - number % 2])])
        world.settle()
    assert world.matches() == world.expected(edge_pattern(), 0)


def changes(name: str = "one") -> SubgraphPattern:
    (pattern,) = parse_subgraphs(
        f"PATTERN {name} MATCH (a)-[x:k]->(b)-[y:k]->(c) UNDER DUAL SIMULATION REPORT CHANGES ON s WINDOW 10"
    )
    return pattern


@pytest.mark.parametrize("loses_checkpoint", [False, True])
def test_what_time_alone_brings_about_is_told_while_the_stream_is_quiet_and_once(*, loses_checkpoint: bool) -> None:
    world = World(StreamName("s"))
    world.plan(changes(), "ddst-coloring", start=0)
    world.send([k(1, "a", "b"), k(2, "b", "c")])
    world.pass_time(11)
    world.settle()
    assert len(world.matches()) == 1, "the window is closed: the first edge may still be of use"
    world.pass_time(30)
    world.settle()
    told = world.matches()
    assert told == world.expected(changes(), 0)
    assert len(told) == 2
    world.checkpoints = MemoryCheckpoints() if loses_checkpoint else world.checkpoints
    world.host = None
    world.settle()
    world.pass_time(40)
    world.send([k(50, "a", "b")])
    world.settle()
    assert world.matches() == told == world.expected(changes(), 0)


def test_what_time_alone_brings_about_is_told_with_the_record_whose_watermark_passes_it() -> None:
    world = World(StreamName("s"))
    world.plan(changes(), "ddst-coloring", start=0)
    world.send([k(1, "a", "b"), k(2, "b", "c")], passes=30)
    world.settle()
    told = world.matches()
    assert len(told) == 2
    world.send([k(30, "a", "b")])
    world.settle()
    assert world.matches() == told == world.expected(changes(), 0)


@pytest.mark.parametrize("is_new", [False, True], ids=["registered before", "registered after"])
def test_a_plan_that_joins_after_a_heartbeat_tells_what_left_only_if_it_is_to_report_from_before(*, is_new: bool) -> None:
    world = World(StreamName("s"))
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(1, "a", "b"), k(2, "b", "c")])
    world.pass_time(30)
    world.settle()
    start = world.end() if is_new else 0
    world.plan(changes("two"), "ddst-coloring", start=start)
    world.settle()
    world.send([k(50, "a", "b")])
    world.settle()
    assert world.matches("two") == world.expected(changes("two"), start)
    assert len(world.matches("two")) == (0 if is_new else 2)


def test_a_host_that_comes_back_knows_what_it_said_though_another_had_a_transaction_open_then() -> None:
    world = World(edge_pattern().stream)
    world.live(1)
    other = world.log.transactor("other")
    other.open()
    other.begin()
    other.write([Message(TOPICS.status, b"other", None)])
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(1, "a", "b"), k(2, "b", "c")])
    world.live(3)
    assert world.matches() == world.expected(edge_pattern(), 0)
    world.host = None
    ends = Timer(0.5, other.abort)
    ends.start()
    world.settle()
    ends.join()
    assert world.matches() == world.expected(edge_pattern(), 0)


def test_a_plan_that_reads_its_past_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "MOST_RECORDS", 1)
    monkeypatch.setattr(host, "JOIN_SECONDS", 0)
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    for number in range(20):
        world.send([path(number)])
    world.settle()
    world.plan(named(edge_pattern(), "two"), "timing", start=0)
    world.send([path(20)])
    world.live(2)
    assert world.matches("one") == world.expected(edge_pattern(), 0)
    assert "two" not in world.said()
    world.settle()
    assert world.matches("two") == world.expected(named(edge_pattern(), "two"), 0)


def test_a_plan_that_goes_before_it_has_read_its_past_was_never_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "MOST_RECORDS", 1)
    monkeypatch.setattr(host, "JOIN_SECONDS", 0)
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    for number in range(20):
        world.send([path(number)])
    world.settle()
    others = [named(edge_pattern(), name) for name in ("two", "three")]
    for other in others:
        world.plan(other, "timing", start=0)
    world.live(2)
    world.forget(others[0])
    world.settle()
    assert "two" not in world.said()
    assert world.matches("two") == []
    assert world.matches("three") == world.expected(others[1], 0)


def test_trouble_of_before_a_crash_is_said_to_be_over_also_of_plans_that_nothing_comes_for() -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    world.settle()
    said = msgspec.structs.replace(world.said()["one"], reason="its checkpoints are not saved: no room")
    world.writer.write([Message(TOPICS.status, control.status_key(said), control.encode_status(said))])
    world.host = None
    world.settle()
    assert world.said()["one"].reason is None


def test_a_checkpoint_keeps_no_edge_of_an_epoch_that_is_over() -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(2**62, "a", "b")])
    world.settle()
    world.begin_epoch()
    world.send([k(1, "b", "c")])
    world.settle()
    found = Checkpointer(world.checkpoints, f"{world.new_host().name}.{world.stream}").load()
    assert found is not None
    manifest = found.contents.manifest
    assert (manifest.epoch, manifest.newest, [frame.newest for frame in found.frames]) == (1, 1, [1])


def test_a_pattern_that_its_limit_paused_does_not_go_on_because_an_epoch_began() -> None:
    world = World(edge_pattern().stream)
    limits = control.LimitsForm(partial_matches=2, policy="pause")
    world.plan(edge_pattern(), "timing", start=0, limits=limits)
    world.live(1)
    world.send([k(1, "a", "b"), k(2, "a", "c"), k(3, "a", "d"), k(4, "a", "e")])
    world.begin_epoch()
    world.send([k(1, "a", "b"), k(2, "b", "c")])
    world.settle()
    assert (world.states(), world.matches()) == ({"one": "paused"}, [])


def test_a_host_that_lags_does_not_repeat_what_another_reported_when_it_is_opened_anew() -> None:
    world = lagging()
    world.live(2)
    world.host = None
    world.settle()
    assert world.matches("one") == world.expected(edge_pattern(), 6)
    assert len(world.matches("one")) == 2


def test_a_host_that_lags_does_not_repeat_what_another_reported_when_another_plan_changes() -> None:
    world = lagging()
    world.live(2)
    world.forget(named(edge_pattern(), "other"))
    world.settle()
    assert world.matches("one") == world.expected(edge_pattern(), 6)


def test_a_host_that_lags_and_is_asked_to_stop_says_where_others_have_reported_to() -> None:
    world = lagging()
    world.live(1)
    world.plan(edge_pattern(), "timing", desired="stopped", start=0, reported_to=6)
    world.live(1)
    assert stopped_at(world) == 6
    assert world.matches("one") == []


def test_a_plan_that_is_to_stop_below_its_start_stops_at_its_start() -> None:
    world = World(edge_pattern().stream)
    world.send([path(0)])
    world.plan(named(edge_pattern(), "other"), "timing", start=0)
    world.live(1)
    world.plan(edge_pattern(), "timing", start=20)
    world.live(1)
    world.plan(edge_pattern(), "timing", desired="stopped", start=20)
    world.live(1)
    assert stopped_at(world) == 20


@pytest.mark.parametrize("is_known", [True, False])
def test_a_plan_that_is_to_stop_at_an_offset_reports_what_is_before_it_and_nothing_after(*, is_known: bool) -> None:
    world = World(edge_pattern().stream)
    if is_known:
        world.plan(edge_pattern(), "timing", start=0)
        world.live(1)
    for number in range(8):
        world.send([path(number)])
    world.plan(edge_pattern(), "timing", desired="stopped", start=0, until=5)
    world.settle()
    assert stopped_at(world) == 5
    assert world.matches("one") == world.expected(edge_pattern(), 0, 5)


def test_a_plan_whose_end_lies_behind_the_last_record_ends() -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([path(0), path(1)])
    transactor = world.log.transactor("any")
    transactor.open()
    transactor.begin()
    transactor.write([Message(TOPICS.ordered(world.stream), None, b"seen by nobody", partition=0)])
    transactor.abort()
    world.plan(edge_pattern(), "timing", desired="stopped", start=0, until=world.end())
    world.settle()
    assert stopped_at(world) == world.end() == 3


def test_a_plan_that_cannot_be_read_any_more_stops_where_it_is_and_goes_on_from_there() -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([path(0)])
    world.send([path(1)])
    world.settle()
    world.writer.write([Message(TOPICS.plans, b"one", b"{")])
    world.live(1)
    assert stopped_at(world) == 2
    assert world.said()["one"].reason
    world.send([path(2)])
    world.settle()
    world.plan(edge_pattern(), "timing", start=0)
    world.settle()
    assert world.matches("one") == world.expected(edge_pattern(), 0)


def test_the_second_host_of_an_identity_shuts_the_first_out() -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    first, second = world.new_host(), world.new_host()
    first.open()
    second.open()
    world.send([k(1, "a", "b"), k(2, "b", "c")])
    with pytest.raises(FencedError):
        first.step()
    second.step()
    second.step()
    assert world.matches() == world.expected(edge_pattern(), 0)


def world_after_five() -> World:
    """Return a world whose pattern has reported on five records."""
    world = World(StreamName("s"))
    world.plan(edge_pattern(), "timing", start=0)
    world.settle()
    for number in range(5):
        world.send([path(number)])
    world.settle()
    return world


@pytest.mark.parametrize("answer", [None, Position(0), Position(2)], ids=["none", "the first", "one of before"])
def test_a_host_does_not_believe_a_log_that_forgot_its_position(answer: Position | None) -> None:
    world = world_after_five()
    told = world.matches()
    assert len(told) == 4

    log, world.log = world.log, ForgetfulLog(world.log, answer, times=MOST_DOUBTS)
    host = world.new_host()
    for _ in range(MOST_DOUBTS):
        with pytest.raises(TransientError, match="said before that it was at"):
            host.open()
        host.close()

    # The log remembers again.
    world.log, world.host = log, None
    world.send([path(5)])
    world.settle()
    assert len(world.matches()) == len(told) + 1


@pytest.mark.parametrize("answer", [None, Position(0), Position(2)], ids=["none", "the first", "one of before"])
def test_a_host_goes_on_from_the_records_of_commits_where_the_log_forgot_its_position_for_good(answer: Position | None) -> None:
    world = world_after_five()
    told = world.matches()

    world.log, world.host = ForgetfulLog(world.log, answer, times=1_000, shows_commits=True), None
    world.send([path(5)])
    world.settle()
    assert world.matches() == world.expected(edge_pattern(), 0)
    assert len(world.matches()) == len(told) + 1


@pytest.mark.parametrize("shows_commits", [False, True])
def test_a_host_goes_on_from_the_records_of_commits_where_the_log_waits_for_a_transaction_that_ended(
    shows_commits: bool,
) -> None:
    world = world_after_five()

    log = ForgetfulLog(world.log, None, times=1_000, shows_commits=shows_commits)
    log.waits = True
    world.log, world.host = log, None
    world.send([path(5)])
    if shows_commits:
        world.settle()
        assert world.matches() == world.expected(edge_pattern(), 0)
    else:
        with pytest.raises(TransientError, match="a transaction has not ended"):
            world.settle()


def test_a_newcomer_misses_nothing_that_the_others_take_after_it_found_an_end_of_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # It reads one record of its past in each round.
    monkeypatch.setattr(host, "JOIN_SECONDS", 0.0)
    world = World(StreamName("s"))
    world.log = LaggingLog(world.log, polls=3)
    first, second = edge_pattern(), replace(edge_pattern(), name=PatternName("second"))
    world.plan(first, "timing", start=0)
    world.settle()
    for number in range(6):
        world.send([path(number)])
    world.settle()
    world.plan(second, "timing", start=0)
    for number in range(6, 30):
        world.send([path(number)])
        world.live(1)
    world.settle()
    assert world.states()[second.name] == "running"
    assert world.matches(second.name) == world.expected(second, 0)


def test_what_somebody_else_said_in_the_name_of_a_host_does_not_stop_it_for_good() -> None:
    world = world_after_five()

    world.log = ForgetfulLog(world.log, Position(2), times=1_000)
    host = world.new_host()
    for _ in range(MOST_DOUBTS):
        with pytest.raises(TransientError, match="said before that it was at"):
            host.open()
        host.close()
    host.open()
    host.close()


def test_a_record_that_cannot_be_read_is_put_aside_and_the_rest_goes_on() -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(1, "a", "b")])
    world.writer.write([Message(TOPICS.ordered(world.stream), None, b"no arrow", partition=0)])
    world.send([k(2, "b", "c")])
    world.settle()
    assert len(world.matches()) == 1
    reader = world.log.reader(None)
    reader.assign({TopicPartition(TOPICS.dead_letters(world.stream), 0): 0})
    (letter,) = reader.poll(0, 10)
    assert letter.value == b"no arrow"


def test_an_ordered_record_whose_times_go_back_is_a_dead_letter_and_has_no_part_in_matches() -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(1, "a", "b")])
    world.send([k(5, "x", "y")])
    reader = world.log.reader(None)
    reader.assign({TopicPartition(TOPICS.ordered(world.stream), 0): 0})
    genuine = reader.poll(0, 10)[0]
    value = (genuine.value or b"").replace(b"e1", b"e9")
    world.writer.write([Message(TOPICS.ordered(world.stream), None, value, genuine.headers, partition=0)])
    world.send([k(6, "b", "c")])
    world.settle()
    assert len(world.matches()) == 1
    letters = world.log.reader(None)
    letters.assign({TopicPartition(TOPICS.dead_letters(world.stream), 0): 0})
    (letter,) = letters.poll(0, 10)
    assert letter.value == value


@pytest.mark.parametrize("header", [("graphtide-first-ts", b"x"), ("graphtide-epoch", b"-1")])
def test_a_record_put_aside_for_its_headers_has_no_part_in_matches_after_a_restart(header: tuple[str, bytes]) -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(1, "a", "b")])
    reader = world.log.reader(None)
    reader.assign({TopicPartition(TOPICS.ordered(world.stream), 0): 0})
    (genuine,) = reader.poll(0, 10)
    value = (genuine.value or b"").replace(b"e1", b"e9")
    world.writer.write([Message(TOPICS.ordered(world.stream), None, value, (*genuine.headers, header), partition=0)])
    world.settle()
    world.host, world.checkpoints = None, MemoryCheckpoints()
    world.send([k(2, "b", "c")])
    world.settle()
    assert world.matches() == world.expected(edge_pattern(), 0)
    assert len(world.matches()) == 1


def test_a_plan_of_a_format_to_come_fails_and_others_run() -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    strange = b'{"name":"new","version":1,"epoch":7,"service":"matcher_timing","shard":0,"format":99}'
    world.writer.write([Message(TOPICS.plans, b"new", strange)])
    world.send([k(1, "a", "b"), k(2, "b", "c")])
    world.settle()
    assert world.states() == {"one": "running", "new": "failed"}
    assert "bring the host up to date" in (world.said()["new"].reason or "")
    assert len(world.matches()) == 1


def test_a_plan_of_a_stream_that_nobody_made_keeps_no_other_waiting() -> None:
    world = World(edge_pattern().stream)
    (strange,) = parse_subgraphs("PATTERN strange MATCH (a)-[x:k]->(b) ON nowhere WINDOW 5")
    world.plan(strange, "timing", start=0)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([path(0), path(1)])
    world.settle()
    assert world.states() == {"one": "running", "strange": "running"}
    assert len(world.matches()) == 1


def test_checkpoints_that_are_lost_cost_time_and_nothing_else() -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(1, "a", "b")])
    world.settle()
    world.checkpoints = MemoryCheckpoints()
    world.host = None
    world.send([k(2, "b", "c")])
    world.settle()
    assert len(world.matches()) == 1


class FullCheckpoints(MemoryCheckpoints):
    """A store that can be full."""

    is_full = True

    def save(self, key: str, manifest: bytes, added: Mapping[str, bytes], kept: Iterable[str]) -> None:
        if self.is_full:
            message = "no memory left"
            raise TransientError(message)
        super().save(key, manifest, added, kept)


def test_a_running_pattern_says_while_its_checkpoints_cannot_be_saved() -> None:
    checkpoints = FullCheckpoints()
    world = World(edge_pattern().stream, checkpoints=checkpoints)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(1, "a", "b")])
    world.settle()
    said = world.said()[edge_pattern().name]
    assert (said.state, said.reason) == ("running", "its checkpoints are not saved: no memory left")
    checkpoints.is_full = False
    world.send([k(2, "b", "c")])
    world.settle()
    said = world.said()[edge_pattern().name]
    assert (said.state, said.reason) == ("running", None)
    assert world.matches() == world.expected(edge_pattern(), 0)


def test_a_plan_that_starts_again_where_it_ended_repeats_nothing() -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(1, "a", "b"), k(2, "b", "c")])
    world.settle()
    world.plan(edge_pattern(), "timing", start=0, desired="paused")
    world.settle()
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(3, "c", "d")])
    world.settle()
    assert world.matches() == world.expected(edge_pattern(), 0)


def test_a_plan_of_a_stream_whose_topics_cannot_be_made_fails_with_the_reason_and_others_run() -> None:
    world = World(edge_pattern().stream)
    world.log.admin().ensure([TopicSpec("test.ordered.a.b.v1")])
    bad = replace(edge_pattern(), name=PatternName("bad"), stream=StreamName("a_b"))
    world.plan(bad, "timing", start=0)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(1, "a", "b"), k(2, "b", "c")])
    world.settle()
    assert len(world.matches()) == 1
    assert world.states() == {"bad": "failed", edge_pattern().name: "running"}
    reason = world.said()["bad"].reason or ""
    assert "stream 'a_b': the topic test.ordered.a_b.v1 cannot be made beside test.ordered.a.b.v1" in reason
