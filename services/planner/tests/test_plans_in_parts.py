"""A pattern that parts of a stream match by themselves has a plan for each, on shards that share the load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import merge_parts
from graphtide_testing.planner_world import AT, PlannerWorld
from graphtide_testing.registrations import registration

if TYPE_CHECKING:
    from graphtide_wire import control

S = StreamName("s")


def registration_in_parts(name: str = "p", parts: int = 3, **changes: Any) -> control.PatternRecord:
    """A registration on a stream in parts, each of which ended at another offset then."""
    text = f"PATTERN {name} MATCH (a)-[x:k]->(b)-[y:l]->(c) WHERE x.user = y.user ORDER x < y ON s WINDOW 100"
    stream = str(merge_parts(S, parts))
    given = {"stream": stream, "local": True, "source_ends": tuple(10 + number for number in range(parts)), **changes}
    return registration(text, AT, **given)


def test_each_part_has_a_plan_that_begins_where_the_part_ended() -> None:
    world = PlannerWorld()
    world.register(registration_in_parts())
    world.settle()
    plans = world.plans()
    assert {name: (plan.stream, plan.start, plan.desired) for name, plan in plans.items()} == {
        "p#0/3": ("s#0/3", 10, "running"),
        "p#1/3": ("s#1/3", 11, "running"),
        "p#2/3": ("s#2/3", 12, "running"),
    }
    assert {plan.pattern.text for plan in plans.values()} == {registration_in_parts().text}


def test_a_pattern_that_reads_the_parts_merged_has_one_plan() -> None:
    world = PlannerWorld()
    world.register(registration_in_parts(local=False, start=7, source_ends=(1, 2, 3)))
    world.settle()
    assert {name: (plan.stream, plan.start) for name, plan in world.plans().items()} == {"p": ("s#3", 7)}


def test_plans_go_with_the_pattern_and_follow_its_parts() -> None:
    world = PlannerWorld()
    world.register(registration_in_parts())
    world.settle()
    world.register(registration_in_parts(parts=2, version=2))
    world.settle()
    running = {name: plan for name, plan in world.plans().items() if plan.desired == "running"}
    assert {name: plan.version for name, plan in running.items()} == {"p#0/2": 2, "p#1/2": 2}
    world.delete("p")
    world.settle()
    assert not world.plans()


def test_a_planner_that_comes_back_makes_no_other_plans() -> None:
    world = PlannerWorld()
    world.register(registration_in_parts())
    world.settle()
    before = world.plans()
    world.planner = None
    world.settle()
    assert world.plans() == before


def test_a_registration_of_other_streams_than_its_text_names_is_refused() -> None:
    world = PlannerWorld()
    world.register(registration_in_parts(stream="t#3"))
    world.settle()
    assert not world.plans()
