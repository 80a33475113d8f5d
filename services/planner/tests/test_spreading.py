"""Patterns move to even out shards, and only where that gains something."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import msgspec
from graphtide_planner.domain.known import Known
from graphtide_planner.domain.passes import HostId
from graphtide_planner.domain.planning import PlanningPolicy, make_plan
from graphtide_planner.domain.spreading import count_held, uneven
from graphtide_testing.registrations import registration
from graphtide_wire import control
from graphtide_wire.plans import form_of
from hypothesis import given
from hypothesis import strategies as st

SERVICE = "matcher_timing"
AT = datetime(2024, 1, 1, tzinfo=UTC)
POLICY = PlanningPolicy({SERVICE: 1})


def plan_of(name: str, shard: int, cost: float) -> control.PlanRecord:
    """A plan that runs on a shard and is estimated to cost so many nanoseconds an edge."""
    text = f"PATTERN {name} MATCH (a)-[x:k]->(b) ON s WINDOW 100"
    made = make_plan(registration(text, AT), Known(), POLICY)
    return control.PlanRecord(
        name=name,
        version=1,
        epoch=1,
        engine=made.engine,
        service=SERVICE,
        shard=shard,
        plan=form_of(made.physical, (replace(made.considered[0], nanoseconds=cost),)),
        pattern=control.PatternText(text),
        desired="running",
    )


EXAMPLE = plan_of("p", 0, 1.0)


def known_of(costs: list[tuple[int, float]], state: str = "running") -> Known:
    """Plans on shards; hosts report their status."""
    known = Known()
    for number, (shard, cost) in enumerate(costs):
        name = f"p{number}"
        (first, *_) = EXAMPLE.plan.considered
        form = msgspec.structs.replace(EXAMPLE.plan, considered=(msgspec.structs.replace(first, nanoseconds=cost),))
        # No two are alike: what one engine matches moves as one.
        text = control.PatternText(EXAMPLE.pattern.text.replace("WINDOW 100", f"WINDOW {100 + number}"))
        known.take_plan(name, msgspec.structs.replace(EXAMPLE, name=name, shard=shard, plan=form, pattern=text))
        said = control.StatusRecord(name, 1, 1, SERVICE, shard, "running", AT)
        known.take_status(msgspec.structs.replace(said, state=state))
    return known


def loads_after(known: Known, names: list[str], shards: int) -> list[int]:
    """Let patterns go, each to the shard that is least loaded then, as the planner does."""
    loads = [known.load(HostId(SERVICE, shard)) for shard in range(shards)]
    for name in names:
        plan = known.plans[name]
        load = round(plan.plan.considered[0].nanoseconds * 1000)
        loads[plan.shard] -= load
        loads[loads.index(min(loads))] += load
    return loads


def test_a_shard_that_came_gets_half_of_equal_patterns() -> None:
    known = known_of([(0, 1.0)] * 8)
    assert loads_after(known, uneven(known, SERVICE, 2, 50), 2) == [4_000, 4_000]


def test_patterns_that_one_engine_matches_move_together_or_stay() -> None:
    known = known_of([(0, 3.0), (0, 3.0), (0, 5.0)])
    alike = [msgspec.structs.replace(known.plans[name], pattern=known.plans["p0"].pattern) for name in ("p0", "p1")]
    for plan in alike:
        known.take_plan(plan.name, plan)
    assert known.load(HostId(SERVICE, 0)) == 8_000
    assert uneven(known, SERVICE, 2, 50) == ["p0", "p1"]
    assert uneven(known, SERVICE, 2, 1) == ["p2"], "both are too many at once"
    known.take_status(control.StatusRecord("p1", 1, 1, SERVICE, 0, "pending", AT))
    assert uneven(known, SERVICE, 2, 50) == ["p2"], "one of them cannot yet"


def test_no_more_move_at_once_than_may() -> None:
    assert len(uneven(known_of([(0, 1.0)] * 100), SERVICE, 2, 5)) == 5


def test_what_is_nearly_even_stays_as_it_is() -> None:
    assert uneven(known_of([(0, 1.0)] * 10 + [(1, 1.0)] * 9), SERVICE, 2, 50) == []


def test_one_pattern_that_costs_more_than_all_others_stays_where_it_is() -> None:
    assert uneven(known_of([(0, 100.0), (1, 1.0)]), SERVICE, 2, 50) == []


def test_plans_that_do_not_run_yet_do_not_move() -> None:
    assert uneven(known_of([(0, 1.0)] * 8, "warming"), SERVICE, 2, 50) == []


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0.001, 100)), max_size=30), st.integers(1, 4))
def test_moving_makes_the_greatest_load_no_greater_and_ends(costs: list[tuple[int, float]], shards: int) -> None:
    placed = [(shard % shards, cost) for shard, cost in costs]
    for _ in range(20):
        known = known_of(placed)
        names = uneven(known, SERVICE, shards, 50)
        if not names:
            return
        before = max(known.load(HostId(SERVICE, shard)) for shard in range(shards))
        loads = [known.load(HostId(SERVICE, shard)) for shard in range(shards)]
        for name in names:
            number = int(name[1:])
            shard, cost = placed[number]
            loads[shard] -= round(cost * 1000)
            to = loads.index(min(loads))
            loads[to] += round(cost * 1000)
            placed[number] = to, cost
        assert max(loads) <= before
    raise AssertionError(placed)


def test_a_shard_is_held_by_plans_that_its_host_has_not_reported_as_ended() -> None:
    known = known_of([(0, 1.0), (1, 1.0)])
    stopped = msgspec.structs.replace(known.plans["p1"], desired="stopped", epoch=2)
    known.take_plan("p1", stopped)
    assert (count_held(known).waiting[HostId(SERVICE, 1)], count_held(known).running[HostId(SERVICE, 1)]) == (1, 0)
    known.take_status(control.StatusRecord("p1", 1, 2, SERVICE, 1, "stopped", AT, None, 20))
    assert count_held(known).waiting[HostId(SERVICE, 1)] == 0
