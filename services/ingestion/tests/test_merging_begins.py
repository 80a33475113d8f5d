"""Where a merged stream begins, and what it does when streams are late, gone or made again."""

from __future__ import annotations

import pytest
from graphtide_core.errors import TransientError
from graphtide_core.ports.log import TopicSpec
from graphtide_ingestion.application.merging_worker import Merging, MergingWorker
from graphtide_log.committed_offset_check import MOST_REFUSALS
from graphtide_log.memory import MemoryLog
from graphtide_testing.merging_stage import TOPICS, A, B, MergingStage, Source, ids
from graphtide_wire import ordered
from graphtide_wire.topics import Topics


def test_a_merged_stream_begins_where_the_lookback_of_its_patterns_begins() -> None:
    stage = MergingStage()
    stage.register("all", "10")
    a, b = stage.sources[A], stage.sources[B]
    for ts in range(0, 100, 2):
        a.send(ts)
        b.send(ts + 1)
    b.send(200)
    assert stage.run(100).out() == [edge for edge in stage.expected() if 98 - 10 < edge.ts <= 98]


def test_what_comes_after_a_registration_is_merged_however_late_that_begins() -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    for ts in range(0, 100, 2):
        if ts == 20:
            ends = tuple(len(stage.read(TOPICS.ordered(name))) for name in stage.names)
            stage.register("all", "10", source_ends=ends)
            # One that comes later changes nothing about it; nor does one whose record does not say.
            stage.register("late", "4", source_ends=(1_000, 1_000))
            stage.register("mute", "2")
        a.send(ts)
        b.send(ts + 1)
    stage.run(100)
    stage.end()
    assert stage.out() == [edge for edge in stage.expected() if edge.ts > 18 - 10]


def test_what_comes_after_a_registration_is_merged_though_it_is_older_than_the_lookback() -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(100)
    stage.register("all", "10", source_ends=(1, 0))
    b.send(3, 4)
    b.send(200)
    a.send(300)
    stage.end()
    assert stage.out() == stage.expected()


def test_a_merged_stream_that_begins_in_a_later_epoch_says_so() -> None:
    stage = MergingStage()
    for source in stage.sources.values():
        source.send(5)
        source.reset()
        source.send(1)
    stage.end()
    assert stage.out() == [edge for edge in stage.expected() if edge.epoch == 1]


def test_a_stream_that_is_not_there_is_waited_for() -> None:
    stage = MergingStage()
    stage.log.admin().delete([TOPICS.ordered(B)])
    with pytest.raises(TransientError, match=r"there is no topic test\.ordered\.b\.v1"):
        stage.run()


def test_edges_of_a_stream_that_was_deleted_and_made_again_count_from_where_the_merged_one_is() -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(1)
    b.send(5)
    a.send(6)
    stage.run()
    stage.worker.close()
    stage.log.admin().delete([TOPICS.ordered(A)])
    stage.log.admin().ensure(TOPICS.of_stream(A))
    again = stage.sources[A] = Source(stage.log, A)
    again.send(2, 3, 8)
    stage.restart()
    for _ in range(MOST_REFUSALS):
        with pytest.raises(TransientError, match="knows of 0 edges"):
            stage.worker.open()
    stage.end()
    assert ids(stage.out()) == ["a0", "b0", "a2"]
    assert [letter.code for letter in stage.letters()] == ["late"]


def test_records_that_were_let_go_before_they_were_merged_are_passed_over() -> None:
    stage = MergingStage(log=MemoryLog(most_bytes=40_000))
    a, b = stage.sources[A], stage.sources[B]
    a.send(0)
    a.send(1, 2)
    b.send(1)
    stage.run()
    assert ids(stage.out()) == ["a0", "a1", "b0"]
    stage.worker.close()
    for ts in range(3, 43):
        a.send(ts)
    kept = [ordered.header(record.headers).ordinal for record in stage.read(TOPICS.ordered(A))]
    assert kept[0] > 2
    stage.restart()
    stage.end()
    assert ids(stage.out()) == ["a0", "a1", "b0", *(f"a{number}" for number in kept)]


def test_a_merged_stream_continues_in_the_topic_of_its_old_name_until_that_is_deleted() -> None:
    stage = MergingStage()
    stage.log.admin().ensure([TopicSpec("test.ordered.a.b.v1")])
    topics = Topics("test", lambda topic: topic in stage.log.admin().topics())
    worker = MergingWorker(stage.log, topics, stage.stream, stage.clock, Merging(linger_seconds=0.0, poll_seconds=0.0))
    stage.sources[A].send(1)
    stage.sources[B].send(2, watermark=5)
    stage.worker, stage.is_open = worker, False
    stage.run()
    assert len(stage.read("test.ordered.a.b.v1")) > 0
    assert stage.records() == [], "none has the new name"
    stage.log.admin().delete(["test.ordered.a.b.v1", "test.dlq.a.b.v1"])
    worker.close()
    stage.is_open = False
    stage.sources[A].send(7)
    stage.sources[B].beat(9)
    assert len(stage.run().records()) > 0, "what comes goes to the new name"
    assert "test.ordered.a.b.v1" not in stage.log.admin().topics()
