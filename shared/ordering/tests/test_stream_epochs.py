"""A reset ends an epoch where it stands in the log: times begin anew, no edge is lost or goes twice, after any crash."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import pytest
from graphtide_core.ports.log import Message, Position, Record, TopicPartition
from graphtide_core.time import MAX_EVENT_TIME
from graphtide_native.records import Duplicates
from graphtide_ordering.ordering import Ordering
from graphtide_ordering.positions import FORM, FORM_OF_EPOCHS, read_remembered
from graphtide_ordering.raw_groups import UnreadableRecord, group_records
from graphtide_ordering.stream_progress import Counted, FirstRejected, StreamProgress
from graphtide_ordering.stream_sequencer import StreamSequencer
from graphtide_wire import raw
from graphtide_wire.raw import RawEdges, Reset
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

IDLE = 5.0


class Gone(NamedTuple):
    """An edge that went out."""

    epoch: int
    ts: int
    id: str


@dataclass
class World:
    """The raw topic of a stream, what was committed of it, and a sequencer that forgets everything else when it crashes."""

    partitions: int = 1
    lateness: int = 0
    window: int = 0
    topic: list[list[Record]] = field(default_factory=list)
    positions: dict[TopicPartition, Position] = field(default_factory=dict)
    gone: list[Gone] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    begun: list[int] = field(default_factory=list)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.topic = [[] for _ in range(self.partitions)]
        self.places = {number: TopicPartition("in", number) for number in range(self.partitions)}
        self.sequencer = self.opened()

    def append(self, message: Message, partition: int) -> None:
        offset = len(self.topic[partition])
        self.topic[partition].append(Record("in", partition, offset, 0, None, message.value, message.headers))

    def send(self, *edges: tuple[int, str], partition: int = 0) -> None:
        texts = (json.dumps({"ts": ts, "src": "a", "dst": "b", "label": "x", "id": id}) for ts, id in edges)
        self.append(raw.encode("in", RawEdges("\n".join(texts).encode())), partition)

    def reset(self, ends: int, partition: int = 0) -> None:
        self.append(raw.encode_reset("in", Reset(ends, "operator")), partition)

    def opened(self) -> StreamSequencer:
        """Return a sequencer that knows what was committed and nothing else."""
        sequencer = StreamSequencer(Ordering(self.lateness, IDLE, 1000))
        found = {number: self.positions.get(place) for number, place in self.places.items()}
        for number, position in found.items():
            sequencer.restore(number, None if position is None else read_remembered(position))
        for number, position in found.items():
            if position is not None:
                for record in self.topic[number][position.offset : read_remembered(position).next]:
                    sequencer.replay(record)
        unread = {
            number
            for number, position in found.items()
            if (0 if position is None else read_remembered(position).next) < len(self.topic[number])
        }
        sequencer.open(unread, self.now)
        if self.window:
            sequencer.filter_with(Duplicates(self.window), self.window)
        return sequencer

    def read(self, partition: int) -> None:
        """Take the next record of a partition."""
        following = self.sequencer.next[partition]
        for group in group_records(self.topic[partition][following : following + 1]):
            self.sequencer.take(group, self.now)

    def look(self) -> None:
        self.sequencer.look_around(self.now, at_end=self.is_at_end)

    @property
    def is_at_end(self) -> bool:
        return all(self.sequencer.next[number] == len(records) for number, records in enumerate(self.topic))

    def commit(self) -> None:
        output = self.sequencer.take_output()
        for stretch in output.stretches:
            self.begun += [stretch.epoch] if stretch.begins else []
            found = [each for batch in stretch.batches for each in batch.to_records()]
            assert not found or (stretch.watermark is not None and found[-1]["ts"] <= stretch.watermark)
            self.gone += [Gone(stretch.epoch, each["ts"], each["id"]) for each in found]
        self.late += [json.loads(each.refused.raw)["id"] for each in output.rejected]
        self.sequencer.count_out(output.edges)
        self.positions = self.sequencer.positions(self.places)

    def crash(self) -> None:
        self.sequencer = self.opened()

    def finish(self) -> World:
        """Read everything, let all sources fall silent, commit."""
        while not self.is_at_end:
            for partition in range(self.partitions):
                self.read(partition)
        for _ in range(2):
            self.look()
            self.now += IDLE + 1
        self.look()
        self.commit()
        return self

    def of_epoch(self, epoch: int) -> list[tuple[int, str]]:
        return [(ts, id) for found, ts, id in self.gone if found == epoch]


def test_a_stream_that_an_edge_took_to_the_end_of_time_goes_on_after_a_reset() -> None:
    world = World()
    world.send((1, "a"), (MAX_EVENT_TIME, "far"))
    world.send((2, "late"))
    world.reset(0)
    world.send((3, "b"))
    world.send((4, "c"))
    world.finish()
    assert world.gone == [(0, 1, "a"), (0, MAX_EVENT_TIME, "far"), (1, 3, "b"), (1, 4, "c")]
    assert (world.late, world.begun, world.sequencer.watermark) == (["late"], [1], 4)


def test_all_that_waits_goes_out_in_order_before_times_begin_anew() -> None:
    world = World(lateness=100)
    world.send((50, "c"), (20, "a"), (30, "b"))
    world.reset(0)
    world.send((10, "d"))
    world.read(0)
    assert world.sequencer.pending == 3
    world.read(0)
    world.commit()
    assert world.gone == [(0, 20, "a"), (0, 30, "b"), (0, 50, "c")]
    assert (world.sequencer.pending, world.sequencer.watermark, world.sequencer.newest) == (0, None, None)
    assert world.positions[world.places[0]].offset == 2, "nothing is read again"
    assert world.finish().of_epoch(1) == [(10, "d")]


def test_a_reset_sent_again_does_nothing_wherever_it_stands() -> None:
    world = World(partitions=2)
    world.send((5, "a"))
    world.reset(0)
    world.reset(0)
    world.reset(0, partition=1)
    world.reset(7, partition=1)
    world.send((3, "b"))
    world.finish()
    world.crash()
    world.reset(0)
    world.send((4, "c"))
    assert world.finish().gone == [(0, 5, "a"), (1, 3, "b"), (1, 4, "c")]
    assert (world.begun, world.sequencer.epoch) == ([1], 1)


def test_a_reset_that_was_not_committed_is_taken_again_and_one_that_was_is_not() -> None:
    world = World(lateness=10)
    world.send((5, "a"))
    world.reset(0)
    for _ in range(2):
        world.read(0)
    assert world.sequencer.epoch == 1
    world.crash()
    assert world.sequencer.epoch == 0
    for _ in range(2):
        world.read(0)
    world.commit()
    world.crash()
    assert (world.sequencer.epoch, world.sequencer.next) == (1, {0: 2})
    world.send((1, "b"))
    assert world.finish().gone == [(0, 5, "a"), (1, 1, "b")]
    assert world.begun == [1]


def test_all_partitions_begin_anew_and_none_makes_the_others_late_by_being_read_first() -> None:
    world = World(partitions=2)
    world.send((MAX_EVENT_TIME, "far"), partition=0)
    world.send((MAX_EVENT_TIME, "far too"), partition=1)
    world.reset(0)
    world.send((9, "a"), partition=0)
    world.send((3, "b"), partition=1)
    for partition in (0, 1, 0, 0):
        world.read(partition)
    world.look()
    assert (world.sequencer.epoch, world.sequencer.pending) == (1, 1)
    world.read(1)
    world.finish()
    assert (world.of_epoch(1), world.late) == ([(3, "b"), (9, "a")], [])


def test_an_id_of_an_epoch_that_is_over_is_no_duplicate() -> None:
    world = World(window=1000)
    world.send((5, "a"), (6, "a"))
    world.reset(0)
    world.send((5, "a"), (6, "a"))
    assert world.finish().gone == [(0, 5, "a"), (1, 5, "a")]


def test_ordinals_count_on_so_that_no_two_edges_get_one_id() -> None:
    world = World()
    world.append(raw.encode("in", RawEdges(b'{"ts": 7, "src": "a", "dst": "b", "label": "x"}')), 0)
    world.reset(0)
    world.append(raw.encode("in", RawEdges(b'{"ts": 5, "src": "a", "dst": "b", "label": "x"}')), 0)
    assert [each.id for each in world.finish().gone] == ["0", "1"]


def test_what_is_counted_of_an_epoch_is_exact_over_crashes_and_begins_anew_with_the_next() -> None:
    world = World()
    world.send((9, "a"), (1, "late"))
    world.send((2, "late too"))
    for _ in range(2):
        world.read(0)
        world.commit()
        world.crash()
    stream_progress = world.sequencer.stream_progress
    first = FirstRejected("late", "late: ts 1 is before the watermark 9 (lateness 0)", 0, 0, 2)
    counted = Counted(3, 2, ordered=1)
    assert stream_progress == StreamProgress(0, 9, 9, counted, Counted(3, 2), lateness=0, first=first)
    world.reset(0)
    world.send((3, "b"))
    world.finish()
    world.crash()
    stream_progress = world.sequencer.stream_progress
    assert stream_progress == StreamProgress(1, 3, 3, Counted(1, ordered=1), Counted(1), lateness=0)


def test_positions_of_a_stream_that_was_never_reset_are_read_by_versions_without_epochs_and_others_are_not() -> None:
    world = World()
    world.send((9, "a"))
    world.finish()
    assert read_remembered(world.positions[world.places[0]]).form == FORM
    world.reset(0)
    world.finish()
    assert read_remembered(world.positions[world.places[0]]).form == FORM_OF_EPOCHS


def test_positions_without_an_epoch_are_of_the_first() -> None:
    old = Position(3, '{"next":3,"ordinal":5,"watermark":7,"ordered":4,"sources":{"#0":7},"form":1}')
    sequencer = StreamSequencer(Ordering())
    sequencer.restore(0, read_remembered(old))
    sequencer.open(set(), 0.0)
    assert (sequencer.epoch, sequencer.watermark, sequencer.ordered) == (0, 7, 4)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_positions_of_two_epochs_the_later_holds_at_any_watermark(order: tuple[int, int]) -> None:
    old = Position(3, '{"next":3,"ordinal":5,"watermark":900,"ordered":4,"sources":{"#0":900},"form":1}')
    new = Position(3, '{"next":3,"ordinal":5,"watermark":7,"ordered":6,"sources":{"#1":7},"form":2,"epoch":2}')
    sequencer = StreamSequencer(Ordering())
    for partition in order:
        sequencer.restore(partition, read_remembered((old, new)[partition]))
    sequencer.open(set(), 0.0)
    assert (sequencer.epoch, sequencer.watermark, sequencer.ordered, sequencer.newest) == (2, 7, 6, 7)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (
            raw.encode_reset("in", Reset(0))._replace(value=b'{"ts":1,"src":"a","dst":"b","label":"x"}'),
            "a command with a value",
        ),
        (raw.encode_reset("in", Reset(-1)), "there is no epoch -1"),
        (Message("in", None, b"", (("graphtide-command", b"drop-everything"),)), "there is no command 'drop-everything'"),
        (Message("in", None, b"", (("graphtide-command", b"reset-watermark"),)), "graphtide-epoch is missing"),
        (Message("in", None, b"", (("graphtide-command", b"\xff"),)), "not UTF-8"),
    ],
)
def test_what_is_no_command_is_rejected(message: Message, reason: str) -> None:
    (found,) = group_records([Record("in", 0, 0, 0, None, message.value, message.headers)])
    assert isinstance(found, UnreadableRecord)
    assert reason in found.reason


def test_a_command_in_a_body_is_no_command() -> None:
    world = World()
    body = b'{"ts":1,"src":"a","dst":"b","label":"x","id":"a","graphtide-command":"reset-watermark","graphtide-epoch":0}'
    world.append(raw.encode("in", RawEdges(body)), 0)
    assert (world.finish().gone, world.sequencer.epoch) == ([(0, 1, "a")], 0)


class Sent(NamedTuple):
    """What stands in a raw topic: edges by their times, or a reset of the current epoch or of another."""

    partition: int
    times: tuple[int, ...] = ()
    reset: str = ""


SENT = st.lists(
    st.one_of(
        st.builds(Sent, st.integers(0, 2), st.lists(st.integers(0, 12), min_size=1, max_size=3).map(tuple)),
        st.builds(Sent, st.integers(0, 2), st.just((MAX_EVENT_TIME,))),
        st.builds(Sent, st.integers(0, 2), st.just(()), st.sampled_from(["current", "stale", "current"])),
    ),
    max_size=12,
)
STEPS = st.lists(st.sampled_from(["read 0", "read 1", "read 2", "read 0", "commit", "crash", "look", "wait"]), max_size=60)


def fill(sent: Sequence[Sent], partitions: int, lateness: int) -> tuple[World, list[str]]:
    """Return a world with these records, and the ids of all their edges; resets name epochs as they stand in the topics."""
    world, ids, epoch = World(partitions, lateness), list[str](), 0
    for number, each in enumerate(sent):
        partition = each.partition % partitions
        if each.reset:
            world.reset(epoch if each.reset == "current" else epoch + 5, partition)
            epoch += each.reset == "current"
            continue
        edges = [(ts, f"{number}.{place}") for place, ts in enumerate(each.times)]
        ids += [id for _, id in edges]
        world.send(*edges, partition=partition)
    world.crash()
    return world, ids


def run_steps(world: World, steps: Sequence[str]) -> World:
    for step in steps:
        match step.split():
            case ["read", partition] if int(partition) < world.partitions:
                world.read(int(partition))
            case ["commit"]:
                world.commit()
            case ["crash"]:
                world.crash()
            case ["look"]:
                world.look()
            case _:
                world.now += 1
    return world.finish()


def find_expected(sent: Sequence[Sent], lateness: int) -> tuple[list[Gone], list[str]]:
    """What goes out of one partition, and what is late: in each epoch the order of (ts, arrival)."""
    gone: list[Gone] = []
    late: list[str] = []
    epoch, newest, arrived = 0, -1, list[Gone]()
    for number, each in enumerate(sent):
        if each.reset:
            if each.reset == "current":
                gone += sorted(arrived, key=lambda edge: edge.ts)
                epoch, newest, arrived = epoch + 1, -1, []
            continue
        for place, ts in enumerate(each.times):
            id = f"{number}.{place}"
            if ts < newest - lateness:
                late.append(id)
            else:
                arrived.append(Gone(epoch, ts, id))
                newest = max(newest, ts)
    return gone + sorted(arrived, key=lambda edge: edge.ts), late


@given(SENT, STEPS.map(lambda steps: [step for step in steps if step not in {"look", "wait"}]), st.sampled_from([0, 3]))
def test_one_partition_with_resets_and_crashes_gives_the_order_of_each_epoch(
    sent: list[Sent], steps: list[str], lateness: int
) -> None:
    world = run_steps(fill(sent, 1, lateness)[0], steps)
    assert (world.gone, world.late) == find_expected(sent, lateness)
    assert world.begun == list(range(1, len(world.begun) + 1))


@given(SENT, STEPS, st.sampled_from([0, 3]))
def test_many_partitions_with_resets_and_crashes_lose_and_repeat_nothing_and_epoch_and_time_never_go_back(
    sent: list[Sent], steps: list[str], lateness: int
) -> None:
    world, ids = fill(sent, 3, lateness)
    run_steps(world, steps)
    assert Counter([edge.id for edge in world.gone] + world.late) == Counter(ids)
    assert [edge[:2] for edge in world.gone] == sorted(edge[:2] for edge in world.gone)
    assert world.begun == list(range(1, len(world.begun) + 1))
