"""Replicas share work: each work falls to one of them, and that of one that is lost to the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_core.ports.log import Message
from graphtide_log.follower import Follower
from graphtide_log.memory import MemoryLog
from graphtide_serving.clock import SystemClock
from graphtide_serving.process import ReplicatedWorkers
from graphtide_serving.replicas import Replicas, ReplicaTimes
from graphtide_testing.clock import ManualClock
from graphtide_testing.waiting import wait_until
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Sequence

TOPICS = Topics("test")
WORKS = [f"stream-{number}" for number in range(50)]
PATIENCE = 60.0


class World:
    """Replicas over one log, whose time is moved by hand."""

    def __init__(self) -> None:
        self.log, self.clock = MemoryLog(), ManualClock()
        self.log.admin().ensure(TOPICS.of_deployment())

    def come(self, name: str, role: str = "sequencer") -> Replicas:
        made = Replicas(self.log, TOPICS, role, self.clock, replica=name)
        made.open()
        return made

    def pass_seconds(self, seconds: float, replicas: Sequence[Replicas]) -> None:
        """Let time pass in steps, in which these replicas do rounds."""
        for _ in range(round(seconds * 4)):
            self.clock.sleep(0.25)
            for each in replicas:
                each.step()


def owners(replicas: Sequence[Replicas]) -> dict[str, list[str]]:
    return {work: [each.replica for each in replicas if each.owns(work)] for work in WORKS}


def test_each_work_falls_to_one_replica_and_that_of_a_lost_one_to_the_others() -> None:
    world = World()
    first = world.come("a")
    first.step()
    assert owners([first]) == {work: ["a"] for work in WORKS}, "the first need not wait"
    replicas = [first, world.come("b"), world.come("c")]
    world.pass_seconds(4, replicas)
    before = owners(replicas)
    assert all(len(each) == 1 for each in before.values())
    assert {each for (each,) in before.values()} == {"a", "b", "c"}

    # The second ends at once, without a word.
    left = [replicas[0], replicas[2]]
    world.pass_seconds(2, left)
    assert owners(left) == {work: [each for each in own if each != "b"] for work, own in before.items()}
    world.pass_seconds(2, left)
    after = owners(left)
    assert all(len(each) == 1 for each in after.values())
    assert {work: own for work, own in after.items() if before[work] != ["b"]} == {
        work: own for work, own in before.items() if own != ["b"]
    }, "only the work of the lost one changes hands"


def test_one_that_leaves_is_replaced_at_once_and_the_next_need_not_wait() -> None:
    world = World()
    one, other = world.come("a"), world.come("b")
    world.pass_seconds(4, [one, other])
    one.leave()
    one.close()
    other.step()
    assert owners([one, other]) == {work: ["b"] for work in WORKS}
    other.leave()
    third = world.come("c")
    third.step()
    assert owners([third]) == {work: ["c"] for work in WORKS}


def test_after_a_crash_the_next_waits_and_no_other_has_to() -> None:
    world = World()
    lost = world.come("a")
    lost.step()
    following = world.come("b")
    world.pass_seconds(2, [following])
    assert not following.owned(WORKS), "the other may still be alive"
    world.pass_seconds(2, [following])
    assert following.owned(WORKS) == frozenset(WORKS)
    following.leave()
    third = world.come("c")
    third.step()
    assert third.owned(WORKS) == frozenset(WORKS)


def test_a_replica_that_does_not_read_its_own_signs_lets_all_work_go() -> None:
    world = World()
    alone = world.come("a")
    alone.step()
    world.clock.sleep(2)
    assert alone.owned(WORKS)
    world.clock.sleep(1)
    assert not alone.owned(WORKS)
    alone.step()
    assert not alone.owned(WORKS), "it read nothing for a while: others may have come"
    world.pass_seconds(3, [alone])
    assert alone.owned(WORKS)
    alone.close()
    assert not alone.owned(WORKS)


def test_one_that_was_taken_for_lost_comes_back() -> None:
    world = World()
    one, other = world.come("a"), world.come("b")
    world.pass_seconds(4, [one, other])
    before = owners([one, other])
    world.pass_seconds(4, [other])
    assert other.owned(WORKS) == frozenset(WORKS)
    world.pass_seconds(4, [one, other])
    assert owners([one, other]) == before


def test_roles_do_not_mix_and_strange_records_are_passed_over() -> None:
    world = World()
    sequencer, planner = world.come("a"), world.come("a", "planner")
    world.log.writer().write([Message(TOPICS.replicas, key, b"{}") for key in (None, b"", b"x", b"/", b"\xff", b"sequencer/z")])
    world.pass_seconds(1, [sequencer, planner])
    assert sequencer.alive == planner.alive == {"a"}
    assert sequencer.name == "test.replicas.sequencer"


@pytest.mark.parametrize("count", [1, 2, 5])
def test_work_is_spread(count: int) -> None:
    world = World()
    replicas = [world.come(f"r{number}") for number in range(count)]
    world.pass_seconds(4, replicas)
    works = [f"w{number}" for number in range(1_000)]
    shares = [len(each.owned(works)) for each in replicas]
    assert sum(shares) == 1_000
    assert max(shares) < 2 * 1_000 / count


class Counting:
    """A worker that counts its rounds by a transactional id, so that a second one shuts it out."""

    def __init__(self, log: MemoryLog, replica: str) -> None:
        self.log, self.replica = log, replica
        self.rounds = 0

    @property
    def name(self) -> str:
        return "counting"

    def open(self) -> None:
        self._transactor = self.log.transactor(self.name)
        self._transactor.open()

    def step(self) -> None:
        self._transactor.begin()
        self._transactor.write([Message(TOPICS.statistics, b"rounds", self.replica.encode())])
        self._transactor.commit(self.name, {})
        self.rounds += 1
        SystemClock().sleep(0.01)

    def close(self) -> None:
        pass


def test_workers_run_in_one_process_at_a_time_and_another_takes_over() -> None:
    log = MemoryLog()
    log.admin().ensure(TOPICS.of_deployment())
    times = ReplicaTimes(0.1, 1.0)
    workers = [Counting(log, name) for name in "abc"]
    processes = [
        ReplicatedWorkers([each], Replicas(log, TOPICS, "counting", SystemClock(), times=times, replica=each.replica))
        for each in workers
    ]
    for each in processes:
        each.start()
    left = list(zip(workers, processes, strict=True))
    while left:
        wait_until(lambda: _is_one_at_work(left), PATIENCE)
        assert all(finding.wrong is None for _, process in left for finding in process.alive())
        worker, process = max(left, key=lambda each: each[0].rounds)
        process.end()
        ended_at = worker.rounds
        left.remove((worker, process))
        SystemClock().sleep(0.1)
        assert worker.rounds == ended_at
    follower = Follower(log, TOPICS.statistics)
    written = [(record.value or b"").decode() for record in follower.to_the_end()]
    assert set(written) == {"a", "b", "c"}
    assert len(written) == sum(each.rounds for each in workers)


def _is_one_at_work(left: Sequence[tuple[Counting, ReplicatedWorkers]]) -> bool:
    """Return whether one worker does rounds, and its process says that it is ready."""
    before = [worker.rounds for worker, _ in left]
    SystemClock().sleep(0.3)
    at_work = [process for (worker, process), count in zip(left, before, strict=True) if worker.rounds > count]
    ready = [finding for process in at_work for finding in process.ready()]
    return len(at_work) == 1 and "counting" in {each.name for each in ready if each.wrong is None}
