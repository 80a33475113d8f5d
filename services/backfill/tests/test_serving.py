"""Backfills over the log: asked for, done once, reported, cancelled, continued after a restart."""

from __future__ import annotations

import random
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from graphtide_backfill.adapters.one_process import OneProcess
from graphtide_backfill.application.backfill import Progress
from graphtide_backfill.application.ports import CancelledError, Cluster
from graphtide_backfill.application.serving import Operations
from graphtide_backfill.bootstrap import OverTheLog
from graphtide_backfill.domain.sizing import Machine
from graphtide_core.errors import FatalError, FencedError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_log.memory import MemoryLog
from graphtide_query import parse_subgraphs
from graphtide_query.planner import plan
from graphtide_serving.clock import SystemClock
from graphtide_testing.feeding import Feed
from graphtide_testing.found import keys_in_json_lines
from graphtide_testing.ordered_records import ordered_records
from graphtide_testing.strategies.streams import StreamShape, random_stream
from graphtide_wire import operations
from graphtide_wire.matches import BACKFILLED
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from threading import Event

    from graphtide_backfill.application.serving import Work
    from graphtide_core.edge import Edge
    from graphtide_core.ports.log import Record
    from graphtide_wire.operations import OperationRecord, OperationStatus

BIG = Machine(2, 2 << 30)
TOPICS = Topics("t")
TEXT = "PATTERN chain MATCH (a)-[x:x]->(b)-[y:y]->(c) ORDER x < y ON s WINDOW 9"
AT = datetime(2024, 1, 1, tzinfo=UTC)
ASKED = operations.OperationRecord("aaaaaaaa", "chain", 3, TEXT, "s", "done", AT)
# Streams in their order have no duplicates: their sequencer dropped those.
EDGES = random_stream(random.Random(5), StreamShape(max_records=300, vertices=6, duplicates=False, negative_ts=False))


@dataclass
class World:
    log: MemoryLog = field(default_factory=MemoryLog)

    def __post_init__(self) -> None:
        self.log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(StreamName("s"))])
        self.writer = self.log.writer()

    def ask(self, asked: OperationRecord) -> None:
        key = operations.operation_key(asked.id)
        self.writer.write([Message(TOPICS.operations, key, operations.encode_operation(asked))])

    def read(self, topic: str) -> list[Record]:
        reader = self.log.reader(None)
        reader.assign({TopicPartition(topic, 0): 0})
        return reader.poll(0, 100_000)

    def said(self, id: str = ASKED.id) -> list[OperationStatus]:
        records = [each for each in self.read(TOPICS.operations) if each.key == operations.status_key(id)]
        return [operations.decode_status(each.value) for each in records]

    def send(self, edges: Sequence[Edge]) -> None:
        self.writer.write(list(ordered_records(TOPICS.ordered(StreamName("s")), edges)))

    def worker(self, work: Work) -> Operations:
        return Operations(self.log, TOPICS, SystemClock(), work)


def rounds_until(worker: Operations, is_there: Callable[[], bool]) -> None:
    for _ in range(200):
        worker.step()
        if is_there():
            return
    pytest.fail("it did not come")


def quick(asked: OperationRecord, on_progress: Callable[[Progress], None], stop: Event) -> None:
    on_progress(Progress(2, 2, 10, 1, 5.0))


def endless(asked: OperationRecord, on_progress: Callable[[Progress], None], stop: Event) -> None:
    on_progress(Progress(1, 2, 5, 0, 5.0))
    stop.wait()
    raise CancelledError


def failing(asked: OperationRecord, on_progress: Callable[[Progress], None], stop: Event) -> None:
    message = "no room"
    raise FatalError(message)


@contextmanager
def one_process() -> Iterator[Cluster]:
    yield OneProcess(BIG)


@pytest.fixture
def world() -> World:
    return World()


def test_what_is_asked_for_is_done_and_reported(world: World) -> None:
    worker = world.worker(quick)
    worker.open()
    world.ask(ASKED)
    rounds_until(worker, lambda: bool(world.said()) and world.said()[-1].state == "done")
    worker.close()
    last = world.said()[-1]
    assert (last.slices_done, last.slices, last.edges, last.matches) == (2, 2, 10, 1)


def test_what_was_done_is_not_done_again_after_a_restart(world: World) -> None:
    test_what_is_asked_for_is_done_and_reported(world)
    before = len(world.read(TOPICS.operations))
    worker = world.worker(failing)
    worker.open()
    worker.step()
    worker.close()
    assert len(world.read(TOPICS.operations)) == before


def test_a_failure_is_reported_with_its_reason_and_the_next_is_done(world: World) -> None:
    worker = world.worker(failing)
    world.ask(ASKED)
    other = operations.OperationRecord("bbbbbbbb", "chain", 3, TEXT, "s", "done", AT)
    world.ask(other)
    worker.open()
    rounds_until(worker, lambda: bool(world.said("bbbbbbbb")) and world.said("bbbbbbbb")[-1].state == "failed")
    worker.close()
    assert [(each.state, each.reason) for each in world.said()][-1] == ("failed", "no room")


def test_what_runs_is_cancelled(world: World) -> None:
    worker = world.worker(endless)
    world.ask(ASKED)
    worker.open()
    rounds_until(worker, lambda: bool(world.said()))
    world.ask(operations.OperationRecord("aaaaaaaa", "chain", 3, TEXT, "s", "cancelled", AT))
    rounds_until(worker, lambda: world.said()[-1].state == "cancelled")
    worker.close()


def test_what_a_restart_ended_continues(world: World) -> None:
    worker = world.worker(endless)
    world.ask(ASKED)
    worker.open()
    rounds_until(worker, lambda: bool(world.said()))
    worker.close()
    assert world.said()[-1].state == "running"
    after = world.worker(quick)
    after.open()
    rounds_until(after, lambda: world.said()[-1].state == "done")
    after.close()


def test_a_second_worker_shuts_out_the_first(world: World) -> None:
    one, other = world.worker(endless), world.worker(quick)
    one.open()
    other.open()
    world.ask(ASKED)
    with pytest.raises(FencedError):
        rounds_until(one, lambda: False)
    one.close()
    other.close()


def test_matches_of_history_are_written_to_the_topic_of_matches_once_and_marked(world: World, tmp_path: Path) -> None:
    world.send(EDGES)
    worker = world.worker(OverTheLog(lambda: world.log, TOPICS, tmp_path, one_process))
    world.ask(ASKED)
    worker.open()
    rounds_until(worker, lambda: bool(world.said()) and world.said()[-1].state != "running")
    worker.close()
    assert world.said()[-1].state == "done", world.said()[-1].reason
    records = world.read(TOPICS.matches)
    pattern = replace(parse_subgraphs(TEXT)[0], version=3)
    live = Feed(plan(pattern, "timing")).push(*EDGES)
    assert keys_in_json_lines(b"\n".join(each.value or b"" for each in records)) == live
    assert {dict(each.headers)[BACKFILLED] for each in records} == {b"true"}
    assert {dict(each.headers)["graphtide-pattern-version"] for each in records} == {b"3"}
    assert list(tmp_path.iterdir()) == []
