"""Damaged records, plans, topics and checkpoints cost their own part alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import TransientError
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.ports.log import Message, TopicPartition, TopicSpec
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_query import parse_subgraphs
from graphtide_testing.host_world import TOPICS, HostWorld

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
from graphtide_testing.host_records import edge_pattern, k, path


def test_a_record_that_cannot_be_read_is_rejected_and_the_rest_continues() -> None:
    world = HostWorld(edge_pattern().stream)
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
    world = HostWorld(edge_pattern().stream)
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
def test_a_record_rejected_for_its_headers_has_no_part_in_matches_after_a_restart(header: tuple[str, bytes]) -> None:
    world = HostWorld(edge_pattern().stream)
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
    world = HostWorld(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    strange = b'{"name":"new","version":1,"epoch":7,"service":"matcher_timing","shard":0,"format":99}'
    world.writer.write([Message(TOPICS.plans, b"new", strange)])
    world.send([k(1, "a", "b"), k(2, "b", "c")])
    world.settle()
    assert world.states() == {"one": "running", "new": "failed"}
    assert "bring the host up to date" in (world.said()["new"].reason or "")
    assert len(world.matches()) == 1


def test_a_plan_of_a_stream_that_nobody_made_keeps_no_other_waiting() -> None:
    world = HostWorld(edge_pattern().stream)
    (strange,) = parse_subgraphs("PATTERN strange MATCH (a)-[x:k]->(b) ON nowhere WINDOW 5")
    world.plan(strange, "timing", start=0)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([path(0), path(1)])
    world.settle()
    assert world.states() == {"one": "running", "strange": "running"}
    assert len(world.matches()) == 1


def test_checkpoints_that_are_lost_cost_time_and_nothing_else() -> None:
    world = HostWorld(edge_pattern().stream)
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
    world = HostWorld(edge_pattern().stream, checkpoints=checkpoints)
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
    world = HostWorld(edge_pattern().stream)
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
    world = HostWorld(edge_pattern().stream)
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
