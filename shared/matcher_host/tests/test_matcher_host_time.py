"""What time alone brings about is reported once, and times that go back begin an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_core.ids import StreamName
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_query import parse_subgraphs
from graphtide_testing.host_records import edge_pattern, k
from graphtide_testing.host_world import HostWorld

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern


def test_no_match_has_edges_of_two_epochs() -> None:
    world = HostWorld(edge_pattern().stream)
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
    world = HostWorld(edge_pattern().stream)
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
def test_what_time_alone_brings_about_is_emitted_while_the_stream_is_quiet_and_once(*, loses_checkpoint: bool) -> None:
    world = HostWorld(StreamName("s"))
    world.plan(changes(), "ddst-coloring", start=0)
    world.send([k(1, "a", "b"), k(2, "b", "c")])
    world.pass_time(11)
    world.settle()
    assert len(world.matches()) == 1, "the window is closed: the first edge may still be of use"
    world.pass_time(30)
    world.settle()
    emitted = world.matches()
    assert emitted == world.expected(changes(), 0)
    assert len(emitted) == 2
    world.checkpoints = MemoryCheckpoints() if loses_checkpoint else world.checkpoints
    world.host = None
    world.settle()
    world.pass_time(40)
    world.send([k(50, "a", "b")])
    world.settle()
    assert world.matches() == emitted == world.expected(changes(), 0)


def test_what_time_alone_brings_about_is_emitted_with_the_record_whose_watermark_passes_it() -> None:
    world = HostWorld(StreamName("s"))
    world.plan(changes(), "ddst-coloring", start=0)
    world.send([k(1, "a", "b"), k(2, "b", "c")], passes=30)
    world.settle()
    emitted = world.matches()
    assert len(emitted) == 2
    world.send([k(30, "a", "b")])
    world.settle()
    assert world.matches() == emitted == world.expected(changes(), 0)


@pytest.mark.parametrize("is_new", [False, True], ids=["registered before", "registered after"])
def test_a_plan_that_joins_after_a_heartbeat_emits_what_left_only_if_it_is_to_report_from_before(*, is_new: bool) -> None:
    world = HostWorld(StreamName("s"))
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
