"""Every pattern gets a plan, and its reports are of one stretch of the stream, through crashes of the planner."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from graphtide_core.errors import InvalidQueryError
from graphtide_core.plans import AGGREGATION, Derivation, EventRates, Grouping, PathEngine
from graphtide_core.statistics import EdgeType, StatisticsSnapshot
from graphtide_planner.domain.known import Known
from graphtide_planner.domain.planning import make_plan
from graphtide_query import parse
from graphtide_query.families import FAMILIES, SERVICES, VARIANTS
from graphtide_query.reads import reads_of
from graphtide_testing.planner_world import AT, POLICY, PlannerWorld, alike, even, like, pattern, snapshot, text
from graphtide_testing.registrations import registration
from graphtide_wire import control, reads_form
from graphtide_wire.plans import plan_of


@pytest.fixture
def world() -> PlannerWorld:
    return PlannerWorld()


def events_text(name: str) -> str:
    """An event pattern."""
    return f"PATTERN {name} SEQ(a:k, b:l) ON s WITHIN 100ms"


def event_pattern(name: str = "p", **changes: Any) -> control.PatternRecord:
    """A registration of an event pattern."""
    return registration(events_text(name), AT, **{"start": 10, **changes})


QUERY = "QUERY p Answer(x, m, z) <- k(x, m), l(m, y), o(y, z). ON s WINDOW(500)"


def query(text: str = QUERY, **changes: Any) -> control.PatternRecord:
    """A registration of a graph query."""
    options = control.PatternOptions(changes.pop("engine", "auto"))
    return registration(text, AT, **{"start": 10, "options": options, **changes})


def rates(version: int = 1, **counts: int) -> StatisticsSnapshot:
    """A stream with so many edges of each type."""
    return replace(even(), version=version, types={EdgeType(None, label, None): count for label, count in counts.items()})


def test_a_pattern_is_planned_where_the_stream_ended_when_it_was_registered(world: PlannerWorld) -> None:
    world.register(pattern())
    world.settle()
    plan = world.plans()["p"]
    assert (plan.engine, plan.service, plan.epoch, plan.start, plan.desired) == ("timing", "matcher_timing", 1, 10, "running")
    assert plan.plan.considered[0].physical == plan.plan.physical


def test_every_engine_of_patterns_has_a_service() -> None:
    assert sorted(SERVICES) == sorted(VARIANTS)


@pytest.mark.parametrize("engine", SERVICES)
def test_the_engine_decides_the_service(world: PlannerWorld, engine: str) -> None:
    dual = registration(text("p") + " UNDER DUAL SIMULATION", AT, start=10, options=control.PatternOptions(engine))
    of_events = registration(events_text("p"), AT, start=10, options=control.PatternOptions(engine))
    others = {AGGREGATION: of_events, **dict.fromkeys(FAMILIES["simulation"].names, dual)}
    others |= {each.value: query(engine=engine) for each in PathEngine}
    world.register(others.get(engine, pattern(engine=engine)))
    world.settle()
    assert world.plans()["p"].service == SERVICES[engine]


def test_the_plan_of_an_event_pattern_groups_it_with_what_is_known_of_its_events(world: PlannerWorld) -> None:
    world.count(snapshot("k"))
    world.register(event_pattern())
    world.settle()
    plan = world.plans()["p"]
    assert (plan.engine, plan.service, plan.start) == (AGGREGATION, "matcher_event_pattern", 10)
    found, (considered,) = plan_of(plan.plan)
    assert found == Grouping("auto", EventRates(1_000, 100_000, (("k", 10), ("l", 99_990))))
    assert considered.nanoseconds > 0


def test_an_event_pattern_is_grouped_anew_where_its_events_come_much_more_often_and_not_before(world: PlannerWorld) -> None:
    world.count(snapshot("k"))
    world.register(event_pattern())
    world.settle()
    first = world.plans()["p"]
    world.count(snapshot("k", 2))
    world.settle()
    assert world.plans()["p"] == first
    world.count(snapshot("l", 3))
    world.settle()
    second = world.plans()["p"]
    assert (second.epoch, second.service, second.shard) == (first.epoch + 1, first.service, first.shard)
    assert plan_of(second.plan)[0] != plan_of(first.plan)[0]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (event_pattern(options=control.PatternOptions("timing")), "is not for event patterns"),
        (pattern(engine=AGGREGATION), "is not for patterns under isomorphism"),
        (pattern(engine="s-path"), "is not for patterns under isomorphism"),
        (query(engine="timing"), "is not for streaming graph queries"),
    ],
)
def test_an_engine_of_another_family_is_refused(world: PlannerWorld, record: control.PatternRecord, reason: str) -> None:
    world.register(record)
    world.settle()
    assert world.plans() == {}
    assert reason in (world.refusal("p") or "")


def test_the_plan_of_a_graph_query_is_sent_as_the_way_to_it_with_those_that_it_was_chosen_from(world: PlannerWorld) -> None:
    world.count(even())
    world.register(query("QUERY p Answer(x, y) <- /(:k :l)+/(x, y). ON s WINDOW(500)"))
    world.settle()
    plan = world.plans()["p"]
    assert (plan.engine, plan.service, plan.start) == ("s-path", "matcher_algebra", 10)
    found, considered = plan_of(plan.plan)
    assert isinstance(found, Derivation)
    assert considered[0].physical == found
    assert considered[0].nanoseconds > 0
    assert len(considered) > 1
    assert len(control.encode_plan(plan)) < 10_000


def test_a_graph_query_is_planned_anew_where_that_is_much_cheaper_and_by_the_engine_that_is_asked_for(
    world: PlannerWorld,
) -> None:
    world.count(rates(k=10, l=10_000, o=89_990))
    world.register(query())
    world.settle()
    first = world.plans()["p"]
    world.count(rates(2, k=10, l=10_000, o=89_990))
    world.settle()
    assert world.plans()["p"] == first
    world.count(rates(3, k=89_990, l=10_000, o=10))
    world.settle()
    second = world.plans()["p"]
    assert (second.epoch, second.service, second.shard) == (first.epoch + 1, first.service, first.shard)
    assert plan_of(second.plan)[0] != plan_of(first.plan)[0]
    world.register(query(engine="delta-tree"))
    world.settle()
    third = world.plans()["p"]
    assert (third.engine, third.epoch, third.shard) == ("delta-tree", second.epoch + 1, second.shard)
    assert plan_of(third.plan)[0].name == "delta-tree"


def test_a_graph_query_over_several_streams_is_planned_on_what_they_are_merged_to(world: PlannerWorld) -> None:
    inputs = "INPUT a = ()-[:a]->() ON s WINDOW(5) INPUT b = ()-[:b]->() ON other WINDOW(5)"
    text = f"QUERY p {inputs} Answer(x, z) <- a(x, y), b(y, z)."
    reads = reads_form.form_of(reads_of(parse(text)[0]))
    world.register(msgspec.structs.replace(query(), text=text, stream="other.s", reads=reads))
    world.settle()
    assert {name: plan.service for name, plan in world.plans().items()} == {"p": "matcher_algebra"}


def test_without_its_service_a_graph_query_is_refused() -> None:
    with pytest.raises(InvalidQueryError, match="no service runs the engine 's-path'"):
        make_plan(query(), Known(), replace(POLICY, shards={"matcher_timing": 1}))


def test_patterns_spread_over_the_shards_of_a_service(world: PlannerWorld) -> None:
    for number in range(4):
        world.register(pattern(f"p{number}", text=text(f"p{number}")))
    world.settle()
    assert sorted(plan.shard for plan in world.plans().values()) == [0, 0, 1, 1]


def test_patterns_that_are_equal_but_for_their_names_have_one_plan_on_one_host(world: PlannerWorld) -> None:
    for number in range(6):
        world.register(like(f"p{number}", "auto"))
    world.register(like("q", "filtering"))
    world.register(like("r", "auto", limits=control.LimitsForm(partial_matches=7)))
    world.register(registration(alike("s") + "0", AT, start=10))
    world.settle()
    plans = world.plans()
    assert len({(plans[f"p{number}"].shard, plans[f"p{number}"].plan) for number in range(6)}) == 1
    assert {plans[name].shard for name in "qrs"} - {plans["p0"].shard}, "others are spread"
    # A new one goes where those like it are, though it is the more loaded shard, and without a look at the stream.
    world.register(like("a", "auto"))
    world.count(snapshot("k"))
    world.settle()
    world.count(snapshot("l", 2))
    world.settle()
    moved = world.plans()
    assert moved["p0"].plan.physical != plans["p0"].plan.physical
    names = ["a", *(f"p{number}" for number in range(6))]
    assert len({(moved[name].service, moved[name].shard, moved[name].plan.physical) for name in names}) == 1


def test_what_is_asked_of_the_first_alone_is_not_asked_of_those_like_it(world: PlannerWorld) -> None:
    for name in "abc":
        world.register(like(name))
    world.settle()
    for name in "bc":
        world.register(like(name, "auto"))
    world.settle()
    # What was asked of the first is not what is asked of the others.
    world.register(like("a", "filtering"))
    world.settle()
    world.delete("b")
    world.settle()
    assert {name: plan.engine for name, plan in world.plans().items()} == {"a": "filtering", "c": "timing"}
