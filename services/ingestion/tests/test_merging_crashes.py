"""Through crashes, lost positions and standstill, each edge goes out once and in order."""

from __future__ import annotations

import pytest
from graphtide_core.errors import FencedError, TransientError
from graphtide_core.ports.log import TopicPartition
from graphtide_log.committed_offset_check import MOST_REFUSALS
from graphtide_testing.forgetful import ForgetfulLog
from graphtide_testing.merging_stage import TOPICS, A, B, MergingStage, Out, decode
from graphtide_testing.mortal import Fuse


def test_who_is_shut_out_writes_nothing_more() -> None:
    stage = MergingStage()
    stage.sources[A].send(1)
    stage.sources[B].send(1)
    stage.run()
    other = stage.new_worker(stage.log)
    other.open()
    stage.sources[A].send(2)
    stage.sources[B].send(2)
    with pytest.raises(FencedError):
        stage.run()
    for _ in range(6):
        other.step()
    stage.worker = other
    assert stage.end().out() == stage.expected()


@pytest.mark.parametrize("is_old", [False, True], ids=["none", "old positions"])
@pytest.mark.parametrize("times", [1, 3])
def test_edges_do_not_go_out_again_where_the_log_forgets_positions_for_a_while(is_old: bool, times: int) -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    place = TopicPartition(TOPICS.ordered(A), 0)
    a.send(1, 2)
    b.send(1, 2)
    stage.run()
    reader = stage.log.reader(stage.worker.name)
    before = reader.committed([place])[place] if is_old else None
    a.send(3, 4)
    b.send(3, 4)
    stage.run()
    stage.worker = stage.new_worker(ForgetfulLog(stage.log, before, times))
    refused = 0
    for _ in range(times):
        with pytest.raises(TransientError, match="knows of"):
            stage.worker.open()
        refused += 1
    stage.worker.open()
    assert (refused, stage.end().out()) == (times, stage.expected())


@pytest.mark.parametrize("is_old", [False, True], ids=["none", "old positions"])
def test_edges_do_not_go_out_again_where_the_records_of_commits_are_right(is_old: bool) -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    place = TopicPartition(TOPICS.ordered(A), 0)
    a.send(1, 2)
    b.send(1, 2)
    stage.run()
    before = stage.log.reader(stage.worker.name).committed([place])[place] if is_old else None
    a.send(3, 4)
    b.send(3, 4)
    stage.run()
    stage.worker = stage.new_worker(ForgetfulLog(stage.log, before, 1_000, shows_commits=True))
    stage.worker.open()
    assert stage.end().out() == stage.expected()


def test_where_positions_are_forgotten_for_good_no_edge_is_lost_and_only_those_of_one_time_come_again() -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(1, 2, 4)
    b.send(1, 3, 3)
    stage.run()
    went_out = stage.out()
    stage.worker = stage.new_worker(ForgetfulLog(stage.log, None, 2 * MOST_REFUSALS + 1))
    opened = False
    for _ in range(2 * MOST_REFUSALS + 2):
        try:
            stage.worker.open()
            opened = True
            break
        except TransientError:
            continue
    assert opened
    a.send(5)
    b.send(6)
    found = [Out(0, row["ts"], row["stream"], row["id"]) for record in stage.end().records() for row in decode(record)]
    again = found[len(went_out) :]
    assert found[: len(went_out)] == went_out
    assert [edge for edge in again if edge not in went_out] == [edge for edge in stage.expected() if edge not in went_out]
    assert {edge.ts for edge in again if edge in went_out} <= {went_out[-1].ts}
    assert [edge.ts for edge in found] == sorted(edge.ts for edge in found)


def test_a_crash_at_every_step_changes_nothing() -> None:
    for length in range(1, 200):
        stage = MergingStage(most_edges=2, fuse=Fuse(length))
        a, b = stage.sources[A], stage.sources[B]
        a.send(1, 2, 2)
        b.send(2, 2, 3)
        a.write(b"poison")
        stage.run(6)
        a.reset()
        b.send(4)
        a.send(1)
        stage.run(6)
        b.reset()
        b.send(1, 2)
        stage.end()
        assert stage.out() == stage.expected(), length
        assert len(stage.letters()) == 1, length
        if stage.fuse.length > 0:
            return
    pytest.fail("the fuse was never long enough")
