"""The host reports every match of its patterns once, after any kill."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from graphtide_core.errors import InvalidPatternError
from graphtide_core.ids import EdgeId, StreamName
from graphtide_core.pattern import SubgraphPattern
from graphtide_matcher_host import host, joining
from graphtide_matcher_host.checkpointing import Checkpointer
from graphtide_query import parse_subgraphs, print_pattern
from graphtide_query.families import FAMILIES
from graphtide_testing.dense_streams import dense_edges, dense_patterns
from graphtide_testing.host_world import HostWorld
from graphtide_testing.strategies import StreamShape, edge_streams, patterns
from graphtide_wire import control
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_core.edge import Edge
from graphtide_testing.host_records import edge_pattern, k, path, rename_pattern, stopped_at


def is_in_the_language(pattern: SubgraphPattern) -> bool:
    """Engines take some patterns that no text says; plans carry texts."""
    try:
        parse_subgraphs(print_pattern(pattern))
    except InvalidPatternError:
        return False
    return True


PATTERNS = patterns().filter(is_in_the_language)
NAMED = edge_streams(StreamShape(duplicates=False, nameless=False), min_records=4)
STREAMS = edge_streams(StreamShape(duplicates=False), min_records=4)
CHOICES = st.randoms(use_true_random=False)


@given(STREAMS, PATTERNS, PATTERNS, CHOICES)
def test_every_match_is_reported_once_whenever_the_host_is_killed(
    edges: tuple[Edge, ...], first: SubgraphPattern, second: SubgraphPattern, rng: Any
) -> None:
    first, second = rename_pattern(first, "one"), replace(rename_pattern(second, "two"), version=3)
    world = HostWorld(first.stream)
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
    """Add and remove plans on a host that is killed now and then, and look at what it reported."""
    world = HostWorld(StreamName("s"))
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
    first, second = rename_pattern(first, "one"), rename_pattern(second, "two")
    world = HostWorld(first.stream)
    world.plan(first, rng.choice(FAMILIES["isomorphism"].names), start=0)
    start = None
    for number, edges in enumerate(epochs):
        if number:
            world.begin_epoch(emitted=rng.random() < 0.7)
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
    world = HostWorld(StreamName("s"))
    patterns, starts = dense_patterns("simulation"), dict[SubgraphPattern, int]()
    for number, edges in enumerate(epochs):
        if number:
            world.begin_epoch(emitted=rng.random() < 0.7)
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
    pattern = rename_pattern(pattern, "one")
    world = HostWorld(pattern.stream)
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


def test_a_plan_that_reads_its_past_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "MOST_RECORDS", 1)
    monkeypatch.setattr(host, "JOIN_SECONDS", 0)
    world = HostWorld(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    for number in range(20):
        world.send([path(number)])
    world.settle()
    world.plan(rename_pattern(edge_pattern(), "two"), "timing", start=0)
    world.send([path(20)])
    world.live(2)
    assert world.matches("one") == world.expected(edge_pattern(), 0)
    assert "two" not in world.said()
    world.settle()
    assert world.matches("two") == world.expected(rename_pattern(edge_pattern(), "two"), 0)


def test_a_plan_that_goes_before_it_has_read_its_past_was_never_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "MOST_RECORDS", 1)
    monkeypatch.setattr(host, "JOIN_SECONDS", 0)
    world = HostWorld(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    for number in range(20):
        world.send([path(number)])
    world.settle()
    others = [rename_pattern(edge_pattern(), name) for name in ("two", "three")]
    for other in others:
        world.plan(other, "timing", start=0)
    world.live(2)
    world.forget(others[0])
    world.settle()
    assert "two" not in world.said()
    assert world.matches("two") == []
    assert world.matches("three") == world.expected(others[1], 0)


def test_a_checkpoint_keeps_no_edge_of_an_epoch_that_is_over() -> None:
    world = HostWorld(edge_pattern().stream)
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
    world = HostWorld(edge_pattern().stream)
    limits = control.LimitsForm(partial_matches=2, policy="pause")
    world.plan(edge_pattern(), "timing", start=0, limits=limits)
    world.live(1)
    world.send([k(1, "a", "b"), k(2, "a", "c"), k(3, "a", "d"), k(4, "a", "e")])
    world.begin_epoch()
    world.send([k(1, "a", "b"), k(2, "b", "c")])
    world.settle()
    assert (world.states(), world.matches()) == ({"one": "paused"}, [])
