"""Streams that patterns are on are counted over a window, also after a crash."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import pytest
from graphtide_core.errors import FatalError, FencedError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_core.reads import Lookback, Reads
from graphtide_core.statistics import EdgeType
from graphtide_core.time import Duration, EventTime, TimeUnit
from graphtide_core.window import EdgeCount
from graphtide_log.memory import MemoryLog
from graphtide_serving.clock import SystemClock
from graphtide_statistics.application.counter import Counter, CounterSettings
from graphtide_statistics.domain.windows import Windows
from graphtide_telemetry.health import CURRENT, Pulse
from graphtide_testing.registrations import registering, registration
from graphtide_wire import ordered, ordered_body, statistics
from graphtide_wire.reads_form import LookbackForm, ReadsForm
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ports.log import Log, LogReader
    from graphtide_wire.statistics import StatisticsRecord

TOPICS = Topics("test")
S = StreamName("s")
AT = datetime(2024, 1, 1, tzinfo=UTC)
FAST = CounterSettings(Duration(1000, "s"), publish_seconds=0.0, linger_seconds=0.0)


def register(name: str, window: str, stream: str = "s", streams: tuple[str, ...] = ()) -> Message:
    """Register a pattern on a stream; one that reads other streams than that, if they are given."""
    text = f"PATTERN {name} MATCH (a)-[x:k]->(b) ON {stream} WINDOW {window}"
    changes = {"reads": ReadsForm(streams, LookbackForm(window), None, ())} if streams else {}
    return registering(TOPICS, registration(text, AT, **changes))


@dataclass
class World:
    log: MemoryLog = field(default_factory=MemoryLog)
    sent: int = 0
    epoch: int = 0

    def __post_init__(self) -> None:
        self.log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(S)])
        self.writer = self.log.writer()
        self.counter = self.new_counter()

    def new_counter(self) -> Counter:
        return Counter(self.log, TOPICS, SystemClock(), FAST)

    def register(self, name: str, window: str, *streams: str) -> None:
        self.writer.write([register(name, window, streams=streams)])

    def send(
        self, *edges: tuple[int, str], deletes: str | None = None, stream: StreamName = S, attribute: str | None = None
    ) -> None:
        """Write edges, a time and a label each, as one ordered record; or one record that deletes an edge by its id."""
        columns: dict[str, list[bool | int | float | str | None]] = {
            "ts": [ts for ts, _ in edges],
            "src": ["a"] * len(edges),
            "dst": ["b"] * len(edges),
            "label": [label for _, label in edges],
            "src_label": [None] * len(edges),
            "dst_label": [None] * len(edges),
            "id": [str(self.sent + number) for number in range(len(edges))],
        }
        if attribute is not None:
            columns[attribute] = [7] * len(edges)
        if deletes is not None:
            columns |= {"id": [deletes], "op": ["delete"]}
        first, last = EventTime(edges[0][0]), EventTime(edges[-1][0])
        header = ordered.OrderedHeader(first, last, len(edges), self.sent, last, TimeUnit.MILLISECOND, epoch=self.epoch)
        self.sent += len(edges)
        self.writer.write([ordered.encode(TOPICS.ordered(stream), header, ordered_body.encode(columns))])

    def begin_epoch(self) -> None:
        self.epoch += 1
        self.writer.write(
            [
                ordered.encode_beginning(
                    TOPICS.ordered(S), self.epoch, self.sent, TimeUnit.MILLISECOND, ordered_body.encode_none()
                )
            ]
        )

    def count(self) -> None:
        for _ in range(4):
            self.counter.step()

    def published(self) -> list[StatisticsRecord]:
        reader = self.log.reader(None)
        reader.assign({TopicPartition(TOPICS.statistics, 0): 0})
        return [statistics.decode_statistics(record.value) for record in reader.poll(0, 100) if record.value is not None]

    def counts(self) -> dict[str, int]:
        """What the newest snapshot counts of each label."""
        return {kind.label: count for kind, count in self.published()[-1].snapshot.types.items()}


@pytest.fixture
def world() -> World:
    return World()


def test_a_stream_is_counted_over_the_longest_window_of_its_patterns(world: World) -> None:
    world.register("short", "10")
    world.register("long", "50")
    world.send((0, "k"), (100, "k"), (120, "l"), (130, "l"))
    world.counter.open()
    world.count()
    assert world.counts() == {"k": 1, "l": 2}
    newest = world.published()[-1]
    assert (newest.stream, newest.snapshot_version, newest.drift) == ("s", 1, None)


def test_streams_that_a_pattern_reads_together_are_counted_as_what_they_are_merged_to(world: World) -> None:
    merged = StreamName("r.s")
    world.log.admin().ensure(TOPICS.of_stream(merged))
    world.register("both", "50", "s", "r")
    world.send((1, "k"))
    world.send((2, "k"), (3, "l"), stream=merged)
    world.counter.open()
    world.count()
    assert [(each.stream, dict(each.snapshot.types)) for each in world.published()] == [
        ("r.s", {EdgeType(None, "k", None): 1, EdgeType(None, "l", None): 1})
    ]


def test_nothing_is_published_where_nothing_came(world: World) -> None:
    world.register("p", "50")
    world.send((0, "k"))
    world.counter.open()
    world.count()
    world.count()
    assert len(world.published()) == 1


def test_snapshots_show_how_far_the_stream_moved(world: World) -> None:
    world.register("p", "1000")
    world.counter.open()
    world.send(*[(ts, "k") for ts in range(100)], (100, "l"))
    world.count()
    world.send(*[(ts, "l") for ts in range(2000, 2100)], (2100, "k"))
    world.count()
    first, second = world.published()
    assert (first.drift, second.drift) == (None, 1.0)
    assert second.snapshot_version == 2


def test_after_a_crash_the_window_is_read_again(world: World) -> None:
    world.register("p", "50")
    world.counter.open()
    for ts in range(0, 200, 10):
        world.send((ts, "k"))
        world.count()
    before = world.published()[-1].snapshot.types
    assert before == {EdgeType(None, "k", None): 5}
    world.counter = world.new_counter()
    world.counter.open()
    world.count()
    assert world.published()[-1].snapshot.types == before
    assert world.published()[-1].snapshot_version == 21


@pytest.mark.parametrize("ts", [2**63 - 1, -(2**63)])
def test_what_is_published_at_the_ends_of_time_can_be_read(world: World, ts: int) -> None:
    world.register("p", "50")
    world.counter.open()
    world.send((ts, "k"))
    world.count()
    assert world.counts() == {"k": 1}
    world.counter = world.new_counter()
    world.counter.open()


def test_a_foreign_record_beside_the_ordered_ones_is_passed_over(world: World) -> None:
    world.register("p", "50")
    world.send((0, "k"))
    world.writer.write([Message(TOPICS.ordered(S), None, b"no arrow", partition=0)])
    world.send((10, "k"))
    world.writer.write([Message(TOPICS.ordered(S), None, b"no arrow", partition=0)])
    world.counter.open()
    world.count()
    assert world.counts() == {"k": 2}


def test_edges_that_are_deleted_count_no_more(world: World) -> None:
    world.register("p", "50")
    world.counter.open()
    world.send((0, "k"), (60, "k"), (70, "l"), (80, "l"))
    world.count()
    assert world.counts() == {"k": 1, "l": 2}
    world.send((90, "l"), deletes="2")
    world.send((95, "k"))
    world.count()
    assert world.counts() == {"k": 2, "l": 1}
    world.counter = world.new_counter()
    world.counter.open()
    world.send((100, "k"), deletes="1")
    world.count()
    assert world.counts() == {"k": 1, "l": 1}


@pytest.mark.parametrize("other", ["a", "z"])
def test_other_streams_are_counted_once_where_one_is_counted_anew(world: World, other: str) -> None:
    stream = StreamName(other)
    world.log.admin().ensure(TOPICS.of_stream(stream))
    world.register("p", "50")
    world.writer.write([register("q", "50", other)])
    world.counter.open()
    world.send((60, "k"), (70, "l"))
    world.send((80, "k"), stream=stream)
    world.send((90, "l"), deletes="0")
    world.send((90, "k"), stream=stream)
    world.count()
    counts = {each.stream: each.snapshot.types for each in world.published()}
    assert counts == {"s": {EdgeType(None, "l", None): 1}, other: {EdgeType(None, "k", None): 2}}


def test_a_pattern_with_a_longer_window_makes_the_past_count(world: World) -> None:
    world.register("p", "10")
    world.counter.open()
    for ts in (0, 40, 80):
        world.send((ts, "k"))
    world.count()
    assert world.counts() == {"k": 1}
    world.register("q", "60")
    world.count()
    assert world.counts() == {"k": 2}


def test_a_stream_that_is_not_there_yet_is_counted_when_it_is(world: World) -> None:
    world.writer.write([register("later", "10", "t")])
    world.counter.open()
    world.count()
    assert world.published() == []


def test_a_record_that_cannot_be_read_is_passed_over(world: World) -> None:
    world.register("p", "50")
    world.counter.open()
    world.writer.write([Message(TOPICS.ordered(S), None, b"no arrow", partition=0)])
    world.send((0, "k"))
    world.count()
    assert world.counts() == {"k": 1}


def test_the_second_counter_shuts_the_first_out(world: World) -> None:
    world.register("p", "50")
    world.counter.open()
    other = world.new_counter()
    other.open()
    world.send((0, "k"))
    with pytest.raises(FencedError):
        world.count()


def test_windows_are_bounded_and_forget_patterns_that_are_deleted() -> None:
    windows = Windows(Duration(10, "s"))
    windows.take("p", Reads((S,), Lookback(Duration(1, "h")), None, ()))
    assert windows.ticks(S, TimeUnit.MILLISECOND) == 10_000
    windows.take("q", Reads((StreamName("t.u"),), Lookback(Duration(1, "s")), None, ()))
    assert windows.streams() == {"s", "t.u"}
    windows.take("p", None)
    assert windows.streams() == {"t.u"}


def test_where_patterns_count_edges_the_window_is_as_long_as_it_may_be() -> None:
    windows = Windows(Duration(10, "s"))
    windows.take("p", Reads((S,), Lookback(EdgeCount(500)), None, ()))
    assert windows.ticks(S, TimeUnit.MILLISECOND) == 10_000
    windows.take("q", Reads((S,), Lookback(Duration(1, "s")), None, ()))
    assert windows.ticks(S, TimeUnit.MILLISECOND) == 1_000


@pytest.mark.parametrize("crashes", [False, True])
def test_an_epoch_is_counted_by_itself_though_its_times_are_earlier(world: World, *, crashes: bool) -> None:
    world.register("p", "1s")
    world.send((2**62, "old"), (2**62, "old"))
    world.counter.open()
    world.count()
    assert world.counts() == {"old": 2}
    world.begin_epoch()
    world.count()
    assert len(world.published()) == 1, "a window without edges says nothing new"
    world.send((5, "new"), (6, "new"), (7, "new"))
    if crashes:
        world.counter.close()
        world.counter = world.new_counter()
        world.counter.open()
    world.count()
    assert world.counts() == {"new": 3}
    assert (world.published()[-1].snapshot.first_ts, world.published()[-1].snapshot.last_ts) == (5, 7)
    world.send((8, "new"), deletes="2")
    world.count()
    assert world.counts() == {"new": 2}


def test_the_attributes_of_the_window_are_published_with_its_counts() -> None:
    world = World()
    world.register("p", "100ms")
    world.counter.open()
    world.send((0, "k"), attribute="amount")
    world.send((50, "k"), attribute="size")
    world.count()
    assert world.published()[-1].attributes == ("amount", "size")
    world.send((120, "k"))
    world.count()
    assert world.published()[-1].attributes == ("size",), "no edge of the window has the other any more"
    world.send((121, "k"), attribute="x" * 100_000)
    world.count()
    assert world.published()[-1].attributes is None, "a snapshot holds no more names than it can carry"


def test_who_comes_back_after_a_stream_was_deleted_counts_it_anew() -> None:
    world = World()
    world.register("p", "1s")
    world.counter.open()
    world.send((0, "k"))
    world.count()
    world.counter.close()
    world.writer.write([Message(TOPICS.statistics, S.encode(), None)])
    world.counter = world.new_counter()
    world.counter.open()
    world.count()
    assert (world.published()[-1].snapshot_version, world.published()[-1].drift) == (1, None)


class Refusing:
    """A log with one topic that may not be read."""

    def __init__(self, log: MemoryLog, topic: str) -> None:
        self._log, self._topic = log, topic

    def __getattr__(self, name: str) -> object:
        return getattr(self._log, name)

    def reader(self, group: str | None) -> object:
        return RefusingReader(self._log.reader(group), self._topic)


class RefusingReader:
    def __init__(self, reader: LogReader, topic: str) -> None:
        self._reader, self._topic = reader, topic

    def __getattr__(self, name: str) -> object:
        return getattr(self._reader, name)

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        asked = list(partitions)
        if any(place.topic == self._topic for place in asked):
            message = f"{self._topic} may not be read"
            raise FatalError(message)
        return self._reader.ends(asked)


def test_a_stream_that_cannot_be_read_or_named_keeps_no_other_from_being_counted() -> None:
    closed, worse = StreamName("closed"), StreamName("no Stream")
    world = World()
    world.log.admin().ensure(TOPICS.of_stream(closed))
    world.counter = Counter(cast("Log", Refusing(world.log, TOPICS.ordered(closed))), TOPICS, SystemClock(), FAST)
    world.register("bad", "50", closed)
    world.register("worse", "50", worse)
    world.register("good", "50")
    pulse = Pulse("counter", SystemClock())
    CURRENT.set(pulse)
    world.counter.open()
    world.send((0, "k"))
    world.count()
    assert world.counts() == {"k": 1}
    assert {each.stream for each in world.published()} == {S}
    configured = pulse.ready().note or ""
    assert "stream 'closed' is not counted: test.ordered.closed.v1 may not be read" in configured
    assert "stream 'no Stream' is not counted: 'no Stream' is not a name of a stream" in configured
    CURRENT.set(None)


def test_labels_that_have_left_the_window_are_remembered_also_after_a_crash(world: World) -> None:
    world.register("p", "50")
    world.counter.open()
    world.send((0, "rare"), (1, "k"))
    world.count()
    world.send((1000, "k"))
    world.count()
    assert world.counts() == {"k": 1}
    assert set(world.published()[-1].labels) == {"rare", "k"}
    world.counter = world.new_counter()
    world.counter.open()
    world.send((2000, "other"))
    world.count()
    assert world.published()[-1].labels == ("rare", "k", "other")
