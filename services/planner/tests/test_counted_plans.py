"""Counts of running plans correct the estimates that plans are chosen by."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec
import pytest
from graphtide_core.plans import CountedPart, TimingPlan
from graphtide_core.ports.log import Message
from graphtide_planner.domain.counts import Counts
from graphtide_planner.domain.planning import PlanningPolicy
from graphtide_planner.domain.texts import pattern_in
from graphtide_query.families.family import PlanningContext
from graphtide_testing.planner_world import AT, TOPICS, PlannerWorld, even
from graphtide_testing.registrations import registration
from graphtide_wire import control
from graphtide_wire.plans import evidence_of, plan_of

if TYPE_CHECKING:
    from collections.abc import Mapping

TEXT = "PATTERN p MATCH (a)-[x:k]->(b)-[y:k]->(c)-[z:k]->(d) WHERE x.m = 1 AND x.n = 1 AND x.o = 1 AND z.q = 1 ON s WINDOW 1s"
"""Three predicates are taken to make `x` rare; they say the same thing."""


@pytest.fixture
def world() -> PlannerWorld:
    world = PlannerWorld(policy=PlanningPolicy({"matcher_timing": 1}, margin=0.98))
    world.register(registration(TEXT, AT, start=10, options=control.PatternOptions("timing")))
    world.count(even())
    world.settle()
    return world


def report(world: PlannerWorld, counts: Mapping[str, int], seconds: float = 0.0) -> None:
    """Say as the host what the plan stores, some seconds after its first report."""
    plan = world.plans()["p"]
    items = tuple(control.ItemStatus(name, alive, alive, alive) for name, alive in counts.items())
    status = control.StatusRecord(
        "p", 1, plan.epoch, plan.service, plan.shard, "running", AT + timedelta(seconds=seconds), None, 10, items=items
    )
    world.hosts[plan.service, plan.shard]["p"] = status
    world.writer.write([Message(TOPICS.status, control.status_key(status), control.encode_status(status))])
    world.plan()


def timing(plan: control.PlanRecord) -> TimingPlan:
    physical = plan_of(plan.plan)[0]
    assert isinstance(physical, TimingPlan)
    return physical


def joins(world: PlannerWorld) -> list[set[str]]:
    """Return the parts that the running plan joins, by the names of their edges."""
    physical = timing(world.plans()["p"])
    order = ["xyz"[edge] for subquery in physical.subqueries for edge in subquery]
    return [set(order[:2]), set(order)]


def test_a_part_that_is_counted_larger_than_estimated_is_joined_later_from_then_on(world: PlannerWorld) -> None:
    first = world.plans()["p"]
    assert joins(world)[0] == {"x", "y"}
    estimates = dict(timing(first).cardinalities)
    (of_x,) = (f"L{number}.1" for number, subquery in enumerate(timing(first).subqueries, start=1) if subquery == (0,))
    counts = {name: round(estimate) for name, estimate in estimates.items()} | {of_x: 10_000}
    report(world, counts)
    second = world.plans()["p"]
    assert joins(world)[0] == {"y", "z"}
    (evidence,) = evidence_of(second.plan)
    assert (evidence.edges, evidence.counted) == (("x",), 10_000)
    assert evidence.estimated == pytest.approx(estimates[of_x])

    # The other plan stores what is estimated now: the evidence stays, also in a planner that is started anew.
    again = {name: round(estimate) for name, estimate in dict(timing(second).cardinalities).items()}
    for seconds in (1, 10, 100):
        report(world, again, seconds)
    world.planner = None
    world.plan()
    world.count(replace(even(), version=2))
    world.plan()
    assert world.plans()["p"] == second


def test_counts_as_estimated_change_nothing(world: PlannerWorld) -> None:
    first = world.plans()["p"]
    estimates = dict(timing(first).cardinalities)
    for factor in (1.0, 2.0, 0.0):
        report(world, {name: round(factor * estimate) for name, estimate in estimates.items()})
    assert world.plans()["p"] == first


def test_counts_of_another_plan_are_passed_over(world: PlannerWorld) -> None:
    plan = world.plans()["p"]
    counts, items = Counts(), (control.ItemStatus("L0.2", 10**6, 10**6, 10**6),)
    counts.take_plan(plan)

    def take(**changes: object) -> bool:
        status = control.StatusRecord("p", 1, plan.epoch, plan.service, 0, "running", AT, items=items)
        return counts.take_status(msgspec.structs.replace(status, **changes), plan)

    assert not take(epoch=plan.epoch + 1)
    assert not take(version=2)
    assert not take(state="paused")
    assert not take(items=())
    assert not take(items=(control.ItemStatus("unknown", 10**9, 10**9, 10**9),))
    assert take()
    assert not take(), "it was looked at for this count"
    assert take(items=(control.ItemStatus("L0.2", 3 * 10**6, 1, 1),))


def test_fewer_than_estimated_count_once_a_window_has_passed_and_the_stream_is_not_quiet(world: PlannerWorld) -> None:
    plan = world.plans()["p"]
    counts, pattern = Counts(), pattern_in(TEXT)
    context = PlanningContext(statistics=even())
    counts.take_plan(plan)
    estimates = timing(plan).cardinalities

    def evidence(seconds: float, share: float) -> tuple[CountedPart, ...]:
        """Count nothing of the join, and such a share of single edges."""
        alive = {name: 0 if name == "L0.2" else round(share * estimate) for name, estimate in estimates}
        items = tuple(control.ItemStatus(name, count, count, count) for name, count in alive.items())
        at = AT + timedelta(seconds=seconds)
        counts.take_status(control.StatusRecord("p", 1, plan.epoch, plan.service, 0, "running", at, items=items), plan)
        return counts.evidence(pattern, plan, context)

    assert evidence(0.0, 1.0) == evidence(0.9, 1.0) == ()
    assert evidence(1.0, 0.0) == (), "nothing comes at all"
    assert evidence(2.0, 0.01) == ()
    (found,) = evidence(3.0, 1.0)
    assert (found.edges, found.counted) == (("x", "y"), 0.0)
    assert found.factor < 0.01
    assert evidence(4.0, 0.0) == (found,), "a quiet stream refutes nothing"
    counts.forget("p")
    assert counts.evidence(pattern, plan, context) == ()
