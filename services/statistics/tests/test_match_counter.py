"""Reported matches are counted once each, through crashes of the counter."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from graphtide_core.errors import FencedError
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_log.memory import MemoryLog
from graphtide_statistics.application.match_counter import MOST_VERSIONS, MatchCounter
from graphtide_testing import registrations
from graphtide_testing.clock import ManualClock
from graphtide_wire import match_counts, matches
from graphtide_wire.topics import Topics
from hypothesis import given
from hypothesis import strategies as st

TOPICS = Topics("t")
AT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class World:
    """A deployment with one counter."""

    log: MemoryLog = field(default_factory=MemoryLog)
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.log.admin().ensure(TOPICS.of_deployment(partitions=2))
        self.writer = self.log.writer()
        self.counter = self.another()
        self.counter.open()

    def another(self) -> MatchCounter:
        return MatchCounter(self.log, TOPICS, self.clock, publish_seconds=0.0, linger_seconds=0.0)

    def register(self, name: str, version: int, registration: int) -> None:
        text = f"PATTERN {name} MATCH (a)-[x]->(b) ON s WINDOW 1"
        record = registrations.registration(text, AT, version=version, registration=registration)
        self.writer.write([registrations.registering(TOPICS, record)])

    def delete(self, name: str) -> None:
        self.writer.write([Message(TOPICS.patterns, name.encode(), None)])

    def report(self, name: str, version: int, kind: str = "match", *, backfilled: bool = False) -> None:
        line = f'{{"match_id":"{0:032x}","query":"{name}","kind":"{kind}","detected_at":1}}'.encode()
        message = matches.encode(TOPICS.matches, line, version, None)
        self.writer.write([matches.as_backfilled(message) if backfilled else message])

    def crash(self) -> None:
        """Let another continue after this one, which gave back nothing."""
        self.counter = self.another()
        self.counter.open()

    def counts(self) -> dict[str, match_counts.CountsRecord]:
        for _ in range(3):
            self.counter.step()
        reader = self.log.reader(None)
        reader.assign({TopicPartition(TOPICS.counts, 0): 0})
        found: dict[str, match_counts.CountsRecord] = {}
        for record in reader.poll(0, 10_000):
            found.pop((record.key or b"").decode(), None)
            if record.value is not None:
                found[(record.key or b"").decode()] = match_counts.decode_counts(record)
        return found


@pytest.fixture
def world() -> World:
    return World()


def test_matches_count_by_version_and_those_of_history_do_not(world: World) -> None:
    world.register("p", 1, 1)
    world.report("p", 1)
    world.report("p", 1)
    world.report("p", 1, backfilled=True)
    world.report("p", 2)
    world.report("p", 2, "retract")
    world.report("q", 1)
    found = world.counts()
    assert (found["p"].matches, found["p"].retractions, found["q"].matches) == ({1: 2, 2: 1}, {2: 1}, {1: 1})
    assert (found["p"].since(1), found["p"].since(2)) == ((3, 1), (1, 1))


def test_a_record_that_is_not_a_match_counts_as_none(world: World) -> None:
    world.writer.write([Message(TOPICS.matches, b"p", b"{"), Message(TOPICS.matches, b"p", None)])
    world.report("p", 1)
    assert world.counts()["p"].matches == {1: 1}


def test_what_was_deleted_is_forgotten_and_a_new_life_counts_from_nothing(world: World) -> None:
    world.register("p", 1, 1)
    world.report("p", 1)
    assert set(world.counts()) == {"p"}
    world.delete("p")
    assert world.counts() == {}
    world.report("p", 1)
    world.register("p", 2, 2)
    world.report("p", 2)
    assert world.counts()["p"].since(2) == (1, 0)
    world.report("p", 3)
    world.register("p", 3, 3)
    assert world.counts()["p"].matches == {3: 1}


def test_a_pattern_deleted_while_the_counter_was_down_is_forgotten(world: World) -> None:
    world.register("p", 1, 1)
    world.report("p", 1)
    world.counts()
    world.delete("p")
    world.crash()
    assert world.counts() == {}


def test_another_counter_shuts_the_first_out(world: World) -> None:
    world.register("p", 1, 1)
    first = world.counter
    world.crash()
    world.report("p", 1)
    with pytest.raises(FencedError):
        first.step()
    assert world.counts()["p"].matches == {1: 1}


def test_names_of_many_versions_do_not_fill_memory(world: World) -> None:
    world.register("p", 1, 1)
    for version in range(MOST_VERSIONS + 5):
        world.report("p", version)
    found = world.counts()["p"]
    assert (len(found.matches), found.since(0)[0]) == (MOST_VERSIONS, MOST_VERSIONS + 5)


@given(st.lists(st.sampled_from(["report", "step", "crash", "replace"]), max_size=40))
def test_each_match_counts_once_over_crashes(story: list[str]) -> None:
    world, version, reported = World(), 1, 0
    world.register("p", 1, 1)
    for event in story:
        if event == "report":
            world.report("p", version)
            reported += 1
        elif event == "step":
            world.counter.step()
        elif event == "crash":
            world.crash()
        else:
            version += 1
            world.register("p", version, 1)
    world.counts()
    found = world.counts().get("p")
    assert (found.since(1)[0] if found is not None else 0) == reported
