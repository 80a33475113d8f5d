"""What is wrong with one pattern, plan or planner costs no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from graphtide_core.errors import FencedError
from graphtide_core.ports.log import Message
from graphtide_planner.application.planner import Planner
from graphtide_planner.domain.planning import PlanningPolicy, make_plan
from graphtide_query.estimates.budget import PlanningBudget
from graphtide_serving.clock import SystemClock
from graphtide_testing.planner_world import AT, FAST, POLICY, TOPICS, PlannerWorld, pattern, snapshot, text
from graphtide_testing.registrations import registration
from graphtide_testing.work import calls
from graphtide_wire import control
from graphtide_wire.plans import plan_of


@pytest.fixture
def world() -> PlannerWorld:
    return PlannerWorld()


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (pattern(text="PATTERN p MATCH (a)-[x]->(b ON s WINDOW 10"), "line 1, column"),
        (pattern(engine="guess"), "there is no engine 'guess'"),
        (pattern(text=text("q")), "it was registered as 'p'"),
        (pattern(text=text("p", "t")), "on 't'"),
        (pattern(text=text("p") + "\n" + text("q")), "holds one pattern"),
        (pattern(text=text("p").replace("WINDOW 100", "WINDOW 1000")), "reads something else than was registered"),
    ],
)
def test_a_pattern_that_cannot_be_planned_is_refused_until_it_can(
    world: PlannerWorld, record: control.PatternRecord, reason: str
) -> None:
    world.register(record)
    world.settle()
    assert world.plans() == {}
    assert reason in (world.refusal("p") or "")
    world.register(pattern(version=2))
    world.settle()
    assert world.refusal("p") is None
    assert world.plans()["p"].version == 2


def test_a_pattern_that_exceeds_the_budget_of_planning_is_refused_and_others_are_planned() -> None:
    world = PlannerWorld()
    spokes = ", ".join(f"(hub)-[e{number}:k]->(v{number})" for number in range(24))
    ordered = " < ".join(f"e{number}" for number in range(24))
    star = f"PATTERN star MATCH {spokes} ORDER {ordered} ON s WINDOW 100"
    world.register(registration(star, AT, options=control.PatternOptions("timing")))
    world.register(pattern("small"))
    world.policy = replace(POLICY, budget=PlanningBudget(most=1_000))

    world.settle()

    assert "'star' cannot be planned within its budget of 1,000 units of work; split it" in (world.refusal("star") or "")
    assert [plan.name for plan in world.plans().values()] == ["small"]

    world.policy, world.planner = POLICY, None
    world.settle()
    assert set(world.plans()) == {"star", "small"}


@pytest.mark.parametrize(
    "text",
    [
        f"q(x, y) <- /{':a? ' * 24}:b/(x, y). ON s WINDOW(1h)",
        f"q(x, y) <- /{'(:a|:b)* ' * 20}:c/(x, y). ON s WINDOW(1h)",
        f"q(x, y) <- /{':a? ' * 200}:b/(x, y). ON s WINDOW(1h)",
    ],
)
def test_a_hostile_query_delays_others_by_no_more_than_its_budget(world: PlannerWorld, text: str) -> None:
    world.register(registration(text, AT))
    world.register(pattern("small"))

    assert calls(world.settle, 25_000_000)

    assert set(world.plans()) == {"q", "small"}
    world.delete("q")
    world.settle()
    assert set(world.plans()) == {"small"}


def test_a_registration_that_is_damaged_is_refused_and_others_are_planned(world: PlannerWorld) -> None:
    world.writer.write([Message(TOPICS.patterns, b"bad", b"{")])
    world.register(pattern())
    world.settle()
    assert list(world.plans()) == ["p"]
    assert "cannot be read" in (world.refusal("bad") or "")


def test_a_registration_that_does_not_say_what_it_reads_loses_its_plan_until_it_does(world: PlannerWorld) -> None:
    world.register(pattern())
    world.settle()
    older = {name: value for name, value in msgspec.to_builtins(pattern()).items() if name != "reads"}
    world.writer.write([Message(TOPICS.patterns, b"p", msgspec.json.encode(older))])
    world.settle()
    assert world.plans() == {}
    assert "missing required field `reads`" in (world.refusal("p") or "")
    world.register(pattern())
    world.settle()
    assert (list(world.plans()), world.refusal("p")) == (["p"], None)


def test_rubbish_in_the_topic_of_plans_is_put_right(world: PlannerWorld) -> None:
    world.register(pattern())
    world.settle()
    held = world.plans()["p"]
    world.writer.write([Message(TOPICS.plans, b"p", b"{"), Message(TOPICS.plans, b"unknown", b"{")])
    world.plan()
    values = {record.key: record.value for record in world.read(TOPICS.plans)}
    assert values[b"unknown"] is None
    found = control.decode_plan(values[b"p"])
    assert isinstance(found, control.PlanRecord)
    assert (found.plan, found.shard, found.start, found.epoch) == (held.plan, held.shard, held.start, 2)


def test_a_plan_that_was_spoilt_while_the_planner_was_down_continues_at_its_host(world: PlannerWorld) -> None:
    world.register(registration(text("a1"), AT, start=10))
    world.register(pattern())
    world.settle()
    assert world.plans()["p"].shard == 1
    world.delete("a")
    world.planner = None
    world.writer.write([Message(TOPICS.plans, b"p", b"{")])
    world.plan()
    found = control.decode_plan({record.key: record.value for record in world.read(TOPICS.plans)}[b"p"])
    assert isinstance(found, control.PlanRecord)
    assert (found.service, found.shard, found.start) == ("matcher_timing", 1, 10)


def test_what_is_wrong_with_one_pattern_keeps_no_other_waiting(world: PlannerWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(record: control.PatternRecord, *others: Any) -> Any:
        if record.name == "bad":
            raise ZeroDivisionError
        return make_plan(record, *others)

    monkeypatch.setattr("graphtide_planner.domain.decisions.make_plan", fails)
    world.register(pattern("bad", text=text("bad")))
    world.register(pattern())
    world.settle()
    assert list(world.plans()) == ["p"]
    assert "ZeroDivisionError" in (world.refusal("bad") or "")


def test_what_a_limit_ended_stays_so_until_its_user_changes_something(world: PlannerWorld) -> None:
    world.register(pattern())
    world.settle()
    world.limit("p")
    world.count(snapshot("k"))
    world.settle()
    assert world.plans()["p"].epoch == 1
    world.offset = 50
    world.register(pattern(start=45, limits=control.LimitsForm(partial_matches=5)))
    world.settle()
    assert world.stretches("p") == [(10, 20), (45, 50)]


def test_the_second_planner_shuts_the_first_out(world: PlannerWorld) -> None:
    first, second = world.new_planner(), world.new_planner()
    first.open()
    second.open()
    world.register(pattern())
    with pytest.raises(FencedError):
        first.step()
    second.step()
    assert list(world.plans()) == ["p"]


def test_a_service_without_shards_gets_nothing() -> None:
    world = PlannerWorld()
    world.register(pattern(engine="sj-tree"))
    world.planner = Planner(world.log, TOPICS, SystemClock(), PlanningPolicy({"matcher_timing": 1}), FAST)
    world.planner.open()
    world.plan()
    assert world.refusal("p") == "no service runs the engine 'sj-tree'"


def test_a_plan_that_no_service_runs_is_not_taken_and_its_reason_says_so() -> None:
    world = PlannerWorld()
    world.register(pattern(engine="auto"))
    world.planner = Planner(world.log, TOPICS, SystemClock(), PlanningPolicy({"matcher_sjtree": 1}), FAST)
    world.planner.open()
    world.plan()
    (plan,) = world.plans().values()
    taken, *others = plan_of(plan.plan)[1]
    assert (plan.engine, taken.physical.name) == ("sj-tree", "sj-tree")
    assert " % for " in taken.reason
    assert {each.physical.name for each in others} == {"timing", "re-search", "filtering"}
    assert all(each.reason.startswith("not taken, as no service runs it; ") for each in others)
