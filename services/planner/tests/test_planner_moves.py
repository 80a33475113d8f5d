"""What the planner asks of hosts where patterns change, move, pause and go."""

from __future__ import annotations

import msgspec
import pytest
from graphtide_testing.planner_world import PlannerWorld, consumed_at, pattern
from graphtide_wire import control


@pytest.fixture
def world() -> PlannerWorld:
    return PlannerWorld()


def test_a_pattern_that_is_deleted_has_no_plan_and_one_of_its_name_gets_a_later_epoch(world: PlannerWorld) -> None:
    world.register(pattern())
    world.settle()
    world.delete("p")
    world.settle()
    assert world.plans() == {}
    world.planner = None
    world.register(pattern(version=2))
    world.settle()
    assert world.plans()["p"].epoch == 2


def test_a_pause_leaves_a_gap_that_the_user_asked_for(world: PlannerWorld) -> None:
    world.register(pattern())
    world.settle()
    world.register(pattern(state="paused"))
    world.settle()
    assert world.plans()["p"].desired == "paused"
    world.offset = 40
    world.register(pattern(start=35))
    world.settle()
    assert world.stretches("p") == [(10, 20), (35, 40)]
    assert world.plans()["p"].consumption is msgspec.UNSET


def test_a_pattern_that_continues_where_it_was_paused_has_consumed_what_it_had_then(world: PlannerWorld) -> None:
    world.register(pattern())
    world.settle()
    world.register(pattern(state="paused"))
    world.settle()
    world.register(pattern(start=20))
    world.settle()
    plan = world.plans()["p"]
    assert (plan.start, plan.consumption) == (20, consumed_at(20))


def test_another_engine_of_the_service_takes_over_in_place(world: PlannerWorld) -> None:
    world.register(pattern())
    world.settle()
    world.register(pattern(engine="filtering"))
    world.offset = 30
    world.settle()
    plan = world.plans()["p"]
    assert (plan.engine, plan.epoch, plan.shard) == ("filtering", 2, 0)
    assert world.stretches("p") == [(10, 30)]


def test_another_service_takes_over_where_the_first_has_stopped(world: PlannerWorld) -> None:
    world.register(pattern())
    world.settle()
    world.register(pattern(engine="sj-tree"))
    world.plan()
    assert (world.plans()["p"].service, world.plans()["p"].desired) == ("matcher_timing", "stopped")
    world.offset = 33
    world.settle()
    plan = world.plans()["p"]
    assert (plan.service, plan.desired, plan.start, plan.reported_to) == ("matcher_sjtree", "running", 10, 33)
    assert plan.came_from == control.HostName("matcher_timing", 0)
    assert plan.consumption == consumed_at(33)
    assert world.stretches("p") == [(10, 33), (33, 33)]


def test_a_new_version_follows_the_old_one_without_a_gap(world: PlannerWorld) -> None:
    world.register(pattern())
    world.settle()
    world.register(pattern(version=2, start=25))
    world.offset = 30
    world.settle()
    assert world.stretches("p") == [(10, 30)]
    assert world.stretches("p", 2) == [(30, 30)]
    assert world.plans()["p"].consumption is msgspec.UNSET


def test_a_new_version_waits_until_a_host_that_lags_has_come_to_its_start(world: PlannerWorld) -> None:
    world.register(pattern())
    world.settle()
    world.register(pattern(version=2, start=32))
    world.plan()
    assert (world.plans()["p"].version, world.plans()["p"].desired, world.plans()["p"].until) == (1, "stopped", 32)
    world.settle()
    assert world.plans()["p"].start == 32
    assert world.stretches("p") == [(10, 32)]


def test_a_new_version_that_comes_while_the_old_one_moves_loses_nothing_of_the_old_one(world: PlannerWorld) -> None:
    world.register(pattern())
    world.settle()
    world.register(pattern(engine="sj-tree"))
    world.plan()
    assert (world.plans()["p"].desired, world.plans()["p"].until) == ("stopped", None)
    world.host("matcher_timing", 0)
    world.register(pattern(version=2, start=32, engine="sj-tree"))
    world.settle()
    assert (world.plans()["p"].version, world.plans()["p"].start) == (2, 32)
    assert world.stretches("p") == [(10, 20), (20, 32)]


def test_a_pattern_that_was_deleted_and_registered_again_starts_where_it_was_registered(world: PlannerWorld) -> None:
    world.register(pattern(registration=1))
    world.settle()
    world.planner = None
    world.delete("p")
    world.register(pattern(version=2, start=32, registration=2))
    world.offset = 33
    world.settle()
    plan = world.plans()["p"]
    assert (plan.version, plan.start, plan.reported_to) == (2, 32, None)
    assert world.stretches("p", 2) == [(32, 33)]


def test_a_pattern_that_was_deleted_and_registered_again_and_paused_leaves_no_plan_of_the_deleted_one(
    world: PlannerWorld,
) -> None:
    world.register(pattern(registration=1))
    world.settle()
    world.planner = None
    world.delete("p")
    world.register(pattern(version=2, start=32, registration=2, state="paused"))
    world.settle()
    assert world.plans() == {}
    world.offset = 50
    world.register(pattern(version=2, start=45, registration=2))
    world.settle()
    assert world.stretches("p", 2) == [(45, 50)]
