"""Nothing is lost or reported twice whenever the planner is killed."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest
from graphtide_planner.application.replica_exchange import ReplicaExchange
from graphtide_planner.domain.passes import HostId
from graphtide_planner.domain.spreading import ShardCount
from graphtide_query.families import FAMILIES
from graphtide_testing.planner_world import POLICY, TOPICS, PlannerWorld, pattern, snapshot, text
from hypothesis import given
from hypothesis import strategies as st

HOSTS = [(service, shard) for service, shards in POLICY.shards.items() for shard in range(shards)]


@pytest.fixture
def world() -> PlannerWorld:
    return PlannerWorld()


def something_happens(world: PlannerWorld, rng: Any) -> None:
    match rng.randint(0, 4):
        case 0:
            name = f"p{rng.randint(0, 2)}"
            world.register(pattern(name, text=text(name), engine=rng.choice(["auto", *FAMILIES["isomorphism"].names])))
        case 1:
            world.count(snapshot(rng.choice("kl")))
        case 2:
            world.host(*rng.choice(HOSTS))
        case _:
            world.offset += rng.randint(0, 5)


@given(st.integers(5, 40), st.randoms(use_true_random=False))
def test_nothing_is_lost_or_reported_twice_whenever_the_planner_is_killed(events: int, rng: Any) -> None:
    world = PlannerWorld()
    for _ in range(events):
        something_happens(world, rng)
        world.fuse.length = rng.randint(0, 60)
        world.plan(rng.randint(0, 3))
    world.settle()
    for name in world.plans():
        stretches = world.stretches(name)
        assert (stretches[0][0], stretches[-1][1]) == (10, world.offset)
        assert all(before[1] == after[0] for before, after in pairwise(stretches))


def shards_change(replica_exchange: ReplicaExchange, rng: Any) -> None:
    """Let the last shard be there or not, let patterns leave it or not, and let loads be evened out now and then."""
    leaves = rng.random() < 0.4
    replica_exchange.make_room({"matcher_timing": ShardCount(1 if leaves else rng.choice([1, 2]), 2, 1 if leaves else None)})
    if rng.random() < 0.5:
        replica_exchange.ask()


@given(st.integers(5, 20), st.randoms(use_true_random=False))
def test_nothing_is_lost_or_reported_twice_while_shards_come_and_go(events: int, rng: Any) -> None:
    world = PlannerWorld(replica_exchange=ReplicaExchange({"matcher_timing": ShardCount(2, 2)}))
    assert world.replica_exchange is not None
    for _ in range(events):
        something_happens(world, rng)
        shards_change(world.replica_exchange, rng)
        world.fuse.length = rng.randint(0, 60)
        world.plan(rng.randint(0, 3))
    world.replica_exchange.make_room({"matcher_timing": ShardCount(1, 2, 1)})
    world.settle()
    for name, plan in world.plans().items():
        assert plan.desired != "running" or HostId(plan.service, plan.shard) != HostId("matcher_timing", 1), "it has left"
        stretches = world.stretches(name)
        assert (stretches[0][0], stretches[-1][1]) == (10, world.offset)
        assert all(before[1] == after[0] for before, after in pairwise(stretches))


@given(st.integers(1, 15), st.randoms(use_true_random=False))
def test_a_planner_that_was_killed_publishes_what_one_that_was_not_does(events: int, rng: Any) -> None:
    seed = rng.random()
    published = []
    for is_killed in (False, True):
        world, story, fate = PlannerWorld(), Random(seed), Random(seed)
        for _ in range(events):
            something_happens(world, story)
            for _ in range(4 if is_killed else 0):
                world.fuse.length = fate.randint(1, 80)
                world.plan(3)
            world.fuse.length = 0
            world.plan()
        published.append([(record.key, record.value) for record in world.read(TOPICS.plans)])
    assert published[0] == published[1]


def test_a_planner_that_comes_back_finds_nothing_to_do(world: PlannerWorld) -> None:
    world.register(pattern(engine="auto"))
    world.register(pattern("q", text="no pattern"))
    world.count(snapshot("k"))
    world.settle()
    before = len(world.read(TOPICS.plans)) + len(world.read(TOPICS.status))
    world.planner = None
    world.settle()
    assert len(world.read(TOPICS.plans)) + len(world.read(TOPICS.status)) == before
