"""Plans change where the stream or the load beside them does, and patterns spread over shards."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import pytest
from graphtide_core.ports.log import Message
from graphtide_core.statistics import EdgeType
from graphtide_planner.domain.decisions import decide
from graphtide_planner.domain.known import Known
from graphtide_planner.domain.passes import HostId
from graphtide_planner.domain.planning import PlanningPolicy, least_loaded, make_plan
from graphtide_testing.registrations import registration
from graphtide_wire import control
from graphtide_wire.plans import form_of, plan_of
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_planner.domain.decisions import Decision
from graphtide_testing.planner_world import AT, POLICY, TOPICS, PlannerWorld, alike, even, pattern, snapshot, text


@pytest.fixture
def world() -> PlannerWorld:
    return PlannerWorld()


def test_a_host_bears_the_load_of_equal_patterns_once() -> None:
    known = Known()
    for number, (cost, written) in enumerate([(3.0, alike), (5.0, alike), (7.0, text), (2.0, alike)]):
        name = f"p{number}"
        plan = msgspec.structs.replace(planned_at(name, 0, cost), pattern=control.PatternText(written(name)))
        known.take_plan(name, plan)
    host = HostId("matcher_timing", 0)
    assert known.load(host) == 12_000
    known.take_plan("p1", None)
    assert known.load(host) == 10_000
    for name in ("p0", "p2", "p3"):
        known.take_plan(name, None)
    assert known.load(host) == 0


def test_a_plan_changes_when_the_stream_does_and_then_stays(world: PlannerWorld) -> None:
    world.register(pattern(engine="auto"))
    world.count(snapshot("k"))
    world.settle()
    first = world.plans()["p"]
    world.count(snapshot("l", 2))
    world.settle()
    second = world.plans()["p"]
    assert plan_of(second.plan)[0] != plan_of(first.plan)[0]
    world.count(snapshot("l", 3))
    world.settle()
    assert world.plans()["p"] == second
    assert len({end for _, end in world.stretches("p")}) == 1


def test_many_patterns_leave_timing_as_far_as_that_is_worth_it() -> None:
    """Lists of their own push each other out of cache: those that stay are few enough not to."""
    world = PlannerWorld(policy=PlanningPolicy({"matcher_timing": 1}))
    world.count(even())
    names = [f"p{number}" for number in range(40)]
    for engine in ("timing", "auto"):
        for name in names:
            world.register(pattern(name, engine=engine))
        for _ in range(3):
            world.settle()
        stay = {name for name, plan in world.plans().items() if plan.engine == "timing"}
        if engine == "timing":
            assert stay == set(names)
    assert 0 < len(stay) < 20
    settled = world.plans()
    world.planner = None
    world.settle()
    assert world.plans() == settled, "no pattern comes back"


def test_a_pattern_leaves_timing_when_many_others_come_though_the_stream_stays_as_it_is() -> None:
    world = PlannerWorld(policy=PlanningPolicy({"matcher_timing": 1}))
    world.count(even())
    for engine in ("timing", "auto"):
        world.register(pattern(engine=engine))
        world.settle()
    assert world.plans()["p"].engine == "timing"
    for number in range(40):
        world.register(pattern(f"q{number}", engine="timing"))
    for _ in range(3):
        world.settle()
    assert {plan.engine for name, plan in world.plans().items() if name != "p"} == {"timing"}
    assert world.plans()["p"].engine == "filtering"


@pytest.mark.parametrize(
    ("stream", "shard", "engine", "leaves"),
    [("s", 0, "timing", True), ("t", 0, "timing", False), ("s", 1, "timing", False), ("s", 0, "filtering", False)],
)
def test_a_co_located_load_is_of_one_stream_at_one_host_by_one_engine(
    stream: str, shard: int, engine: str, *, leaves: bool
) -> None:
    known = Known()
    known.take_statistics("s", even())
    known.take_pattern("p", pattern(engine="auto"))
    for number in range(100):
        other = planned_at(f"q{number}", shard, 1.0)
        written = control.PatternText(text(other.name, stream))
        known.take_plan(other.name, msgspec.structs.replace(other, engine=engine, pattern=written))
    known.take_plan("p", planned_at("p", 0, 1.0))
    assert [type(each).__name__ for each in decide("p", known, POLICY)] == (["Publish"] if leaves else [])


def test_a_registration_has_no_other_pattern_decided_on(monkeypatch: pytest.MonkeyPatch, world: PlannerWorld) -> None:
    """Nor do counts that hosts report, and snapshots that say the same of the stream."""
    decided: list[str] = []

    def counted(name: str, known: Known, policy: PlanningPolicy) -> list[Decision]:
        decided.append(name)
        return decide(name, known, policy)

    monkeypatch.setattr("graphtide_planner.application.planner.decide", counted)
    world.count(snapshot("k"))
    for number in range(70):
        world.register(pattern(f"p{number}", engine="auto"))
    for _ in range(3):
        world.settle()
    assert len(decided) < 10 * 70
    decided.clear()
    for said in world.hosts.values():
        for status in said.values():
            reported = msgspec.structs.replace(status, matches=7, position=99)
            world.writer.write([Message(TOPICS.status, control.status_key(reported), control.encode_status(reported))])
    world.count(snapshot("k", 2))
    world.register(pattern("new"))
    world.settle()
    assert set(decided) == {"new"}
    assert "new" in world.plans()


def test_a_snapshot_leads_to_decisions_on_patterns_of_labels_that_moved() -> None:
    known = Known()
    for name, label in (("p", "k"), ("q", "l"), ("r", "m")):
        known.take_pattern(name, registration(f"PATTERN {name} MATCH (a)-[x:{label}]->(b) ON s WINDOW 100", AT))
    known.take_pattern("any", registration("PATTERN any MATCH (a)-[x]->(b) ON s WINDOW 100", AT))
    assert known.take_statistics("s", snapshot("k")) == {"p", "q", "r", "any"}
    assert known.take_statistics("s", snapshot("k", 2)) == set()
    more = replace(snapshot("k", 3), types={**snapshot("k").types, EdgeType(None, "m", None): 500})
    assert known.take_statistics("s", more) == {"r", "any"}
    assert known.take_statistics("s", None) == {"p", "q", "r", "any"}


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans(), st.floats(0, 1e6) | st.just(1.7e308)), max_size=30)
)
def test_loads_are_those_of_a_recount(changes: list[tuple[int, int, bool, float]]) -> None:
    known = Known()
    for number, shard, is_there, cost in changes:
        name = f"p{number}"
        known.take_pattern(name, pattern(name, stream=f"s{shard}") if is_there else None)
        known.take_plan(name, planned_at(name, shard, cost) if is_there else None)
        if shard == 2:
            known.take_damage(name)
    for shard in range(3):
        loads = [
            round(min(1e18, plan.plan.considered[0].nanoseconds * 1000)) for plan in known.plans.values() if plan.shard == shard
        ]
        assert known.load(HostId("matcher_timing", shard)) == sum(max(1, load) for load in loads)


def planned_at(name: str, shard: int, cost: float) -> control.PlanRecord:
    """A plan that runs on a shard and is estimated to cost so many nanoseconds an edge."""
    made = make_plan(pattern(name), Known(), POLICY)
    return control.PlanRecord(
        name=name,
        version=1,
        epoch=1,
        engine=made.engine,
        service="matcher_timing",
        shard=shard,
        plan=form_of(made.physical, (replace(made.considered[0], nanoseconds=cost),)),
        pattern=control.PatternText(text(name)),
        desired="running",
        unit=POLICY.unit.value,
    )


def test_patterns_that_cost_little_each_are_spread_over_the_shards() -> None:
    known = Known()
    for number in range(40):
        known.take_plan(f"p{number}", planned_at(f"p{number}", least_loaded("matcher_timing", known, POLICY), 0.02))
    assert [known.load(HostId("matcher_timing", shard)) for shard in (0, 1)] == [400, 400]
