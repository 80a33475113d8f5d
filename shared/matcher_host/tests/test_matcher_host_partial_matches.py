"""A host publishes the partial matches of its patterns, and nothing else waits for that."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from graphtide_core.errors import FatalError, TransientError
from graphtide_core.ids import PatternName
from graphtide_core.time import TimeUnit
from graphtide_log.partial_matches.memory import MemoryPartialMatches
from graphtide_matcher_host.host import MatcherHost
from graphtide_matcher_host.partial_matches import (
    MOST_BYTES,
    MOST_WAITING,
    PartialMatchViews,
    ViewSettings,
    _Look,
    encode_look,
    lasting,
)
from graphtide_matcher_host.records import HostRecords
from graphtide_query import parse_subgraphs
from graphtide_serving.clock import SystemClock
from graphtide_testing.host_records import edge_pattern, k
from graphtide_testing.host_world import FAST, TOPICS, HostWorld
from graphtide_testing.oracles.partial_matches import PartialMatchOracle
from graphtide_testing.waiting import wait_until
from graphtide_wire.partial_matches import decode_partial_matches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.ports.partial_matches import PartialMatchStore
    from graphtide_matcher_host.assignment import Assignment
    from graphtide_matcher_host.stream_work import StreamWork
    from graphtide_wire.partial_matches import PartialMatchesRecord

OFTEN = ViewSettings(seconds=0.001, share=1.0)
PART = "test.matcher_timing.0/s"


def path(name: str = "path") -> SubgraphPattern:
    (pattern,) = parse_subgraphs(f"PATTERN {name} MATCH (a)-[x:k]->(b)-[y:k]->(c)-[z:k]->(d) ORDER x < y < z ON s WINDOW 10")
    return pattern


def host_of(world: HostWorld, store: PartialMatchStore, settings: ViewSettings = OFTEN) -> MatcherHost:
    records = HostRecords(TOPICS, world.service, 0, SystemClock())
    host = MatcherHost(world.log, world.checkpoints, records, SystemClock(), FAST, partial_matches=(store, settings))
    host.open()
    world.host = host
    return host


def read(store: PartialMatchStore, name: str) -> PartialMatchesRecord | None:
    views = store.views(name)
    assert set(views) <= {PART}
    return decode_partial_matches(views[PART]) if views else None


@pytest.mark.parametrize("engine", ["timing", "sj-tree"])
def test_the_view_of_a_pattern_is_what_the_definition_says(engine: str) -> None:
    store, world = MemoryPartialMatches(), HostWorld(path().stream)
    world.plan(path(), engine, start=0)
    host = host_of(world, store)
    oracle = PartialMatchOracle(path())
    for number, ends in enumerate(["ab", "bc", "xb", "by", "cd", "yz"]):
        edge = k(number, *ends)
        oracle.push(edge)
        world.send([edge])
        world.settle()

        def is_shown() -> bool:
            host.step()
            record = read(store, "path")
            return record is not None and record.position == world.end()

        wait_until(is_shown, 30)
        record = read(store, "path")
        assert record is not None
        assert (record.pattern, record.version, record.part) == ("path", 1, PART)
        shown = {frozenset((name, each.id) for name, each in partial.edges.items()) for partial in record.view.nearest}
        assert shown == {each for step in record.view.steps for each in oracle.partial_matches(step.edges)}
    host.close()
    assert len(world.matches()) == 3


def test_the_view_of_a_pattern_that_is_gone_is_taken_back() -> None:
    store, world = MemoryPartialMatches(), HostWorld(path().stream)
    for name in ("path", "other"):
        world.plan(path(name), "timing", start=0)
    host = host_of(world, store)
    world.send([k(1, "a", "b")])

    def shown() -> set[str]:
        host.step()
        return {name for name in ("path", "other") if store.views(name)}

    wait_until(lambda: shown() == {"path", "other"}, 30)
    world.forget(path())
    wait_until(lambda: shown() == {"other"}, 30)
    host.close()


@dataclass
class Broken:
    """A store that fails as it is made to."""

    error: Exception
    calls: int = 0

    def put(self, _pattern: str, _part: str, _view: bytes, _seconds: float) -> None:
        self.calls += 1
        raise self.error

    def remove(self, _pattern: str, _part: str) -> None:
        raise self.error

    def views(self, _pattern: str) -> Mapping[str, bytes]:
        raise self.error

    def close(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize("error", [TransientError("Redis: gone"), FatalError("Redis refuses the credentials")], ids=type)
def test_a_store_that_fails_costs_the_views_alone(error: Exception) -> None:
    store, world = Broken(error), HostWorld(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    host = host_of(world, store)
    world.send([k(1, "a", "b")])

    def is_tried() -> bool:
        host.step()
        return store.calls > 0

    wait_until(is_tried, 30)
    world.send([k(2, "b", "c")])
    world.settle()
    assert world.matches() == world.expected(edge_pattern(), 0)
    assert len(world.matches()) == 1
    host.close()


@dataclass
class Stuck(MemoryPartialMatches):
    """A store that does not answer before it is released."""

    released: threading.Event = field(default_factory=threading.Event)
    is_asked: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        super().__init__()

    def put(self, pattern: str, part: str, view: bytes, seconds: float) -> None:
        self.is_asked.set()
        assert self.released.wait(120)
        super().put(pattern, part, view, seconds)


def test_a_store_that_is_slow_keeps_no_record_waiting() -> None:
    store, world = Stuck(), HostWorld(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    host = host_of(world, store)
    world.send([k(0, "a", "b")])

    def is_asked() -> bool:
        host.step()
        return store.is_asked.is_set()

    wait_until(is_asked, 30)
    for number in range(1, 3 * MOST_WAITING):
        world.send([k(number, *("ab" if number % 2 == 0 else "bc"))])
        host.step()
        host.step()
    assert not store.released.is_set()
    assert world.matches() == world.expected(edge_pattern(), 0)
    assert len(world.matches()) > MOST_WAITING
    store.released.set()
    host.close()


def test_zero_seconds_publish_nothing() -> None:
    store, world = MemoryPartialMatches(), HostWorld(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    host = host_of(world, store, ViewSettings(seconds=0, share=1.0))
    world.send([k(1, "a", "b")])
    world.settle()
    host.step()
    host.close()
    assert store.views(edge_pattern().name) == {}


@dataclass
class Hand:
    """A clock that moves by hand."""

    at: float = 0.0

    def now(self) -> datetime:
        return datetime(2024, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds


VIEW = b'{"time":1,"stored":true,"truncated":false,"steps":[],"nearest":[]}'


@dataclass
class Works:
    """The work of a stream with some patterns, which counts looks."""

    patterns: tuple[str, ...]
    looks: list[str] = field(default_factory=list)
    stream: str = "s"
    position: int = 7

    def names(self) -> list[PatternName]:
        return [PatternName(name) for name in self.patterns]

    def partial_matches(self, name: str, _most: int) -> tuple[Assignment, bytes]:
        # Some processor time.
        assert sum(range(20_000)) > 0
        self.looks.append(name)
        assignment: Any = SimpleNamespace(version=1, window=10, unit=TimeUnit.SECOND, edges=0)
        return assignment, VIEW


def look_often(works: Works, clock: Hand, settings: ViewSettings, seconds: float, times: int) -> list[str]:
    """Let so much time pass so often, with a look each time; return the looks."""
    views = PartialMatchViews(MemoryPartialMatches(), "g", clock, settings)
    for _ in range(times):
        views.look([cast("StreamWork", works)])
        clock.at += seconds
    views.close()
    return works.looks


def test_patterns_are_looked_at_in_turn_and_each_once_in_the_interval() -> None:
    assert look_often(Works(("a", "b", "c")), Hand(), ViewSettings(seconds=5.0, share=1.0), 1.0, 14) == ["a", "b", "c"] * 3


def test_a_look_that_is_too_large_is_repeated_for_fewer_partial_matches() -> None:
    asked: list[int] = []

    class Large(Works):
        def partial_matches(self, name: str, most: int) -> tuple[Assignment, bytes]:
            asked.append(most)
            assignment, found = super().partial_matches(name, most)
            return assignment, found.replace(b'"nearest":[', b'"nearest":[' + b" " * (most * 20_000))

    assert look_often(Large(("a",)), Hand(), ViewSettings(seconds=1.0, share=1.0, most=300), 0.0, 1) == ["a"] * 3
    assert asked == [300, 75, 18]


def test_looks_wait_until_their_share_of_the_time_has_passed() -> None:
    found = look_often(Works(("a",)), Hand(), ViewSettings(seconds=1.0, share=1e-9), 10.0, 50)
    assert found == ["a"], "a look takes more than a nanosecond of each second"


def test_a_view_lasts_as_long_as_the_window_within_bounds() -> None:
    def assignment(window: int, unit: TimeUnit = TimeUnit.MILLISECOND, edges: int = 0) -> Assignment:
        of: Any = SimpleNamespace(window=window, unit=unit, edges=edges)
        return cast("Assignment", of)

    assert lasting(assignment(60_000), 2.0) == 60.0
    assert lasting(assignment(60, TimeUnit.SECOND), 2.0) == 60.0
    assert lasting(assignment(1), 2.0) == 20.0, "until the next views"
    assert lasting(assignment(1), 0.5) == 10.0
    assert lasting(assignment(10**15), 2.0) == 24 * 3600
    assert lasting(assignment(1, edges=500), 2.0) == 20.0


def test_a_large_view_shows_fewer_partial_matches() -> None:
    edge = {"x": {"id": "e" * 5_000, "ts": 1}}
    nearest = [{"edges": edge, "vertices": {}, "awaited": ["y"], "until": 9} for _ in range(100)]
    found = {**json.loads(VIEW), "nearest": nearest}
    look = _Look(PatternName("p"), 1, "g/s", Hand().now(), 7, json.dumps(found).encode(), 10.0)
    small = replace_found(look, {**found, "nearest": nearest[:3]})
    cut, whole = (decode_partial_matches(encode_look(each)) for each in (look, small))
    assert cut is not None
    assert whole is not None
    assert (len(cut.view.nearest), cut.view.truncated) == (50, True)
    assert (len(whole.view.nearest), whole.view.truncated) == (3, False)
    assert len(encode_look(look)) <= MOST_BYTES
    assert replace(whole.view, nearest=()) == replace(cut.view, nearest=(), truncated=False)


def replace_found(look: _Look, found: object) -> _Look:
    return look._replace(found=json.dumps(found).encode())
