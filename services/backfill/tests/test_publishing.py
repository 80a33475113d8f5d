"""The matches of a run enter the log once, however often it is begun, and with any loss of what it kept."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from threading import Event, Timer
from typing import TYPE_CHECKING

import pytest
from graphtide_backfill.adapters.one_process import OneProcess
from graphtide_backfill.adapters.ordered_topic import OrderedTopic
from graphtide_backfill.application.backfill import Asked
from graphtide_backfill.application.manifest import OtherRunError
from graphtide_backfill.application.ports import CancelledError, FoundRecord
from graphtide_backfill.application.publishing import Publisher, read_written
from graphtide_backfill.bootstrap import Published, Run, backfill
from graphtide_backfill.domain.division import Division
from graphtide_backfill.domain.sizing import Machine
from graphtide_backfill.domain.slices import Cut
from graphtide_backfill.domain.task import Task
from graphtide_core.errors import FencedError
from graphtide_core.ids import EdgeId, StreamName
from graphtide_core.part_key import PartKey
from graphtide_core.ports.log import Message, TopicPartition, TopicSpec
from graphtide_core.time import EventTime, TimeUnit
from graphtide_log.memory import MemoryLog
from graphtide_query import parse_subgraphs
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.found import keys_in_json_lines
from graphtide_testing.ordered_records import ordered_records
from graphtide_testing.strategies.streams import StreamShape, random_stream
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from graphtide_backfill.application.backfill import Progress
    from graphtide_core.edge import Edge
    from graphtide_testing.found import Found

TOPICS = Topics("t")
S = TOPICS.ordered(StreamName("s"))
UNIT = TimeUnit.MILLISECOND
EDGES = random_stream(random.Random(5), StreamShape(max_records=300, vertices=6, duplicates=False, negative_ts=False))
(CHAIN,) = parse_subgraphs("PATTERN chain MATCH (a)-[x:x]->(b)-[y:y]->(c) ORDER x < y ON s WINDOW 9")
TASK = Task((CHAIN,), "timing")
FOUND = [
    FoundRecord(1, b'{"match_id":"%032d","query":"chain","kind":"match","detected_at":%d}' % (number, number))
    for number in range(3)
]
BOUNDS = (0, 5, 9)


@pytest.fixture
def log() -> MemoryLog:
    log = MemoryLog()
    log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(StreamName("s"))])
    return log


def send(log: MemoryLog, edges: Sequence[Edge]) -> None:
    log.writer().write(list(ordered_records(S, edges)))


def publisher(log: MemoryLog, bounds: Sequence[int] = BOUNDS) -> Publisher:
    return Publisher(log, TOPICS.matches, TOPICS.operations, "cafecafe", Cut(tuple(bounds)), unit=UNIT)


def values(log: MemoryLog, topic: str = TOPICS.matches) -> list[bytes]:
    reader = log.reader(None)
    reader.assign({TopicPartition(topic, 0): 0})
    return [each.value or b"" for each in reader.poll(0, 100_000)]


def publish(log: MemoryLog, topic: str = TOPICS.matches) -> list[Found]:
    return keys_in_json_lines(b"\n".join(values(log, topic)))


def live(*edges: Edge) -> list[Found]:
    return Feed(plan(CHAIN, "timing")).push(*edges)


def test_a_slice_that_is_tried_again_is_not_written_twice(log: MemoryLog) -> None:
    for _ in range(2):
        each = publisher(log)
        each.publish(0, FOUND)
        each.publish(0, FOUND)
        each.close()
    other = publisher(log)
    assert other.published == {0}
    other.publish(1, FOUND[:1])
    other.close()
    assert values(log) == [each.record for each in (*FOUND, FOUND[0])]


def test_a_publisher_that_another_replaced_writes_nothing_more(log: MemoryLog) -> None:
    one = publisher(log)
    other = publisher(log)
    with pytest.raises(FencedError):
        one.publish(0, FOUND)
    other.publish(0, FOUND)
    one.close()
    other.close()
    assert len(values(log)) == len(FOUND)


def test_what_the_open_transaction_of_another_hides_is_not_written_twice(log: MemoryLog) -> None:
    another = log.transactor("another")
    another.open()
    one = publisher(log)
    another.begin()
    another.write([Message(TOPICS.operations, b"deadbeef", b"{}")])
    one.publish(0, FOUND)
    one.close()
    ending = Timer(0.3, lambda: another.commit("another", {}))
    ending.start()
    other = publisher(log)
    ending.join()
    assert other.published == {0}
    other.close()


def test_slices_that_were_cut_otherwise_are_not_written(log: MemoryLog) -> None:
    one = publisher(log)
    one.publish(0, FOUND)
    one.close()
    with pytest.raises(OtherRunError, match="cut otherwise"):
        publisher(log, (0, 7, 9))
    assert len(values(log)) == len(FOUND)


def test_slices_that_were_divided_otherwise_are_not_written(log: MemoryLog) -> None:
    divided = Cut(BOUNDS, Division(PartKey("src"), 3))
    first = Publisher(log, TOPICS.matches, TOPICS.operations, "cafecafe", divided, unit=UNIT)
    first.publish(4, FOUND)
    first.close()
    assert read_written(log, TOPICS.operations, "cafecafe") == (divided, {4})
    with pytest.raises(OtherRunError, match="cut otherwise"):
        publisher(log)


def test_a_run_without_history_is_cut_when_there_is_some(log: MemoryLog) -> None:
    publisher(log, ()).close()
    later = publisher(log)
    later.publish(0, FOUND)
    later.close()
    assert len(values(log)) == len(FOUND)


class World:
    """Runs of one backfill into a log, on machines of different size, which cut history differently."""

    def __init__(self, log: MemoryLog, folder: Path, run: str | None) -> None:
        self.log = log
        self.folder = folder
        self.run = run
        self.most_slices: int | None = None
        self.stop = Event()

    def note(self, progress: Progress) -> None:
        if progress.slices_done == self.most_slices:
            self.stop.set()

    def backfill(self, cores: int, folder: str, *, topic: str | None = TOPICS.matches) -> Run:
        return backfill(
            TASK,
            OrderedTopic(lambda: self.log, S),
            OneProcess(Machine(cores, 2 << 30)),
            self.folder / folder,
            Asked(),
            on_progress=self.note,
            stop=self.stop,
            to=None if topic is None else Published(self.log, topic, TOPICS.operations, self.run),
        )

    def cut(self, cores: int) -> tuple[int, ...]:
        """Where a run that nothing is known of is cut."""
        return self.backfill(cores, f"cut by {cores}", topic=None).backfill.prepare().manifest.bounds

    def ended_after(self, slices: int, cores: int) -> None:
        """Publish so many slices, and end."""
        self.most_slices = slices
        run = self.backfill(cores, "run")
        with pytest.raises(CancelledError):
            run.execute(run.backfill.prepare(), UNIT)
        self.most_slices = None
        self.stop.clear()


@pytest.fixture(params=[None, "aaaaaaaa"], ids=["by what it finds", "by an operation"])
def world(request: pytest.FixtureRequest, log: MemoryLog, tmp_path: Path) -> World:
    send(log, EDGES)
    return World(log, tmp_path, request.param)


def test_a_run_whose_folder_is_lost_in_the_middle_writes_every_match_once(world: World) -> None:
    assert world.cut(1) != world.cut(4)
    world.ended_after(2, cores=1)
    assert 0 < len(publish(world.log)) < len(live(*EDGES))
    shutil.rmtree(world.folder / "run")
    again = world.backfill(4, "run")
    prepared = again.backfill.prepare()
    assert prepared.manifest.bounds == world.cut(1)
    again.execute(prepared, UNIT)
    assert publish(world.log) == live(*EDGES)


def test_a_topic_that_grows_meanwhile_is_matched_up_to_where_the_run_was_cut(world: World) -> None:
    world.ended_after(2, cores=1)
    shutil.rmtree(world.folder / "run")
    end = EDGES[-1].ts + 1
    later = [replace(edge, id=EdgeId(f"later {edge.id}"), ts=EventTime(edge.ts - EDGES[0].ts + end)) for edge in EDGES[:50]]
    send(world.log, later)
    again = world.backfill(4, "run")
    prepared = again.backfill.prepare()
    assert prepared.rest == end
    again.execute(prepared, UNIT)
    assert publish(world.log) == live(*EDGES)


def test_kept_slices_that_were_cut_otherwise_are_refused_and_another_folder_takes_the_cut(world: World) -> None:
    unpublished = world.backfill(4, "kept", topic=None)
    unpublished.execute(unpublished.backfill.prepare(), UNIT)
    world.ended_after(2, cores=1)
    kept = world.backfill(4, "kept")
    with pytest.raises(OtherRunError, match="another folder"):
        kept.execute(kept.backfill.prepare(), UNIT)
    fresh = world.backfill(4, "fresh")
    fresh.execute(fresh.backfill.prepare(), UNIT)
    assert publish(world.log) == live(*EDGES)


def test_the_same_run_into_another_topic_is_another_run(log: MemoryLog, tmp_path: Path) -> None:
    send(log, EDGES)
    log.admin().ensure([TopicSpec("elsewhere")])
    world = World(log, tmp_path, None)
    for folder, topic in (("one", TOPICS.matches), ("other", "elsewhere")):
        run = world.backfill(2, folder, topic=topic)
        run.execute(run.backfill.prepare(), UNIT)
    assert publish(log) == publish(log, "elsewhere") == live(*EDGES)
