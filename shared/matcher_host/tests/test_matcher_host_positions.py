"""A host continues where it was: beside other hosts, after crashes, and where the log forgets or stalls."""

from __future__ import annotations

from dataclasses import replace
from threading import Timer

import msgspec
import pytest
from graphtide_core.errors import FencedError, TransientError
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.ports.log import Message, Position
from graphtide_log.committed_offset_check import MOST_REFUSALS
from graphtide_matcher_host import host
from graphtide_testing.forgetful import ForgetfulLog
from graphtide_testing.host_records import edge_pattern, k, path, rename_pattern, stopped_at
from graphtide_testing.host_world import TOPICS, HostWorld
from graphtide_testing.lagging import LaggingLog
from graphtide_wire import control


def lagging() -> HostWorld:
    """A host that was down since the first of eight records gets a plan that another has reported up to the sixth."""
    world = HostWorld(edge_pattern().stream)
    world.plan(rename_pattern(edge_pattern(), "other"), "timing", start=0)
    world.live(1)
    for number in range(8):
        world.send([path(number)])
    world.plan(edge_pattern(), "timing", start=0, reported_to=6)
    return world


def test_a_host_that_comes_back_knows_what_it_said_though_another_had_a_transaction_open_then() -> None:
    world = HostWorld(edge_pattern().stream)
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


def test_trouble_of_before_a_crash_is_said_to_be_over_also_of_plans_that_nothing_comes_for() -> None:
    world = HostWorld(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    world.settle()
    said = msgspec.structs.replace(world.said()["one"], reason="its checkpoints are not saved: no room")
    world.writer.write([Message(TOPICS.status, control.status_key(said), control.encode_status(said))])
    world.host = None
    world.settle()
    assert world.said()["one"].reason is None


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
    world.forget(rename_pattern(edge_pattern(), "other"))
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
    world = HostWorld(edge_pattern().stream)
    world.send([path(0)])
    world.plan(rename_pattern(edge_pattern(), "other"), "timing", start=0)
    world.live(1)
    world.plan(edge_pattern(), "timing", start=20)
    world.live(1)
    world.plan(edge_pattern(), "timing", desired="stopped", start=20)
    world.live(1)
    assert stopped_at(world) == 20


@pytest.mark.parametrize("is_known", [True, False])
def test_a_plan_that_is_to_stop_at_an_offset_reports_what_is_before_it_and_nothing_after(*, is_known: bool) -> None:
    world = HostWorld(edge_pattern().stream)
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
    world = HostWorld(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([path(0), path(1)])
    transactor = world.log.transactor("any")
    transactor.open()
    transactor.begin()
    transactor.write([Message(TOPICS.ordered(world.stream), None, b"never seen", partition=0)])
    transactor.abort()
    world.plan(edge_pattern(), "timing", desired="stopped", start=0, until=world.end())
    world.settle()
    assert stopped_at(world) == world.end() == 3


def test_a_plan_that_cannot_be_read_any_more_stops_where_it_is_and_goes_on_from_there() -> None:
    world = HostWorld(edge_pattern().stream)
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
    world = HostWorld(edge_pattern().stream)
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


def world_after_five() -> HostWorld:
    """Return a world whose pattern has reported on five records."""
    world = HostWorld(StreamName("s"))
    world.plan(edge_pattern(), "timing", start=0)
    world.settle()
    for number in range(5):
        world.send([path(number)])
    world.settle()
    return world


@pytest.mark.parametrize("answer", [None, Position(0), Position(2)], ids=["none", "the first", "one of before"])
def test_a_host_does_not_believe_a_log_that_forgot_its_position(answer: Position | None) -> None:
    world = world_after_five()
    emitted = world.matches()
    assert len(emitted) == 4

    log, world.log = world.log, ForgetfulLog(world.log, answer, times=MOST_REFUSALS)
    host = world.new_host()
    for _ in range(MOST_REFUSALS):
        with pytest.raises(TransientError, match="said before that it was at"):
            host.open()
        host.close()

    # The log remembers again.
    world.log, world.host = log, None
    world.send([path(5)])
    world.settle()
    assert len(world.matches()) == len(emitted) + 1


@pytest.mark.parametrize("answer", [None, Position(0), Position(2)], ids=["none", "the first", "one of before"])
def test_a_host_goes_on_from_the_records_of_commits_where_the_log_forgot_its_position_for_good(answer: Position | None) -> None:
    world = world_after_five()
    emitted = world.matches()

    world.log, world.host = ForgetfulLog(world.log, answer, times=1_000, shows_commits=True), None
    world.send([path(5)])
    world.settle()
    assert world.matches() == world.expected(edge_pattern(), 0)
    assert len(world.matches()) == len(emitted) + 1


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
    world = HostWorld(StreamName("s"))
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
    for _ in range(MOST_REFUSALS):
        with pytest.raises(TransientError, match="said before that it was at"):
            host.open()
        host.close()
    host.open()
    host.close()
