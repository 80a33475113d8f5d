"""The newest changes of every plan are kept, with their reasons, in the transaction that publishes the plan."""

from __future__ import annotations

from typing import Any

import pytest
from graphtide_planner.domain.changes import change_of, reason_of
from graphtide_testing.planner_world import AT, TOPICS, PlannerWorld, pattern, snapshot, text
from graphtide_testing.wire_examples import PLANS
from graphtide_wire import control
from graphtide_wire.plan_changes import MOST_CHANGES, PlanChangeRecord, decode_change
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace as changed


@pytest.fixture
def world() -> PlannerWorld:
    return PlannerWorld()


def changes(world: PlannerWorld) -> dict[bytes, PlanChangeRecord]:
    """Return what compaction keeps of the changes."""
    kept: dict[bytes, PlanChangeRecord] = {}
    for record in world.read(TOPICS.plan_changes):
        kept.pop(record.key or b"", None)
        if record.value is not None:
            kept[record.key or b""] = decode_change(record.key, record.value)
    return kept


def reasons(world: PlannerWorld) -> list[str]:
    return [each.reason for each in sorted(changes(world).values(), key=lambda each: each.epoch)]


def test_a_change_is_kept_with_its_reason(world: PlannerWorld) -> None:
    world.register(pattern())
    world.settle()
    world.register(pattern(state="paused"))
    world.settle()
    first, second = sorted(changes(world).values(), key=lambda each: each.epoch)
    assert (first.name, first.version, first.stream, first.engine, first.desired) == ("p", 1, "s", "timing", "running")
    assert first.reason.startswith("the first plan: engine timing")
    assert first.nanoseconds is not None
    assert (second.desired, second.reason) == ("paused", "the pattern is paused")


@given(st.integers(1, 30), st.randoms(use_true_random=False))
def test_the_newest_changes_are_the_newest_plans_whenever_the_planner_is_killed(count: int, rng: Any) -> None:
    world = PlannerWorld()
    for number in range(count):
        world.register(pattern(state=rng.choice(["active", "paused"]), version=1 + number // 3))
        world.count(snapshot(rng.choice("kl")))
        world.fuse.length = rng.randint(0, 60)
        world.plan(rng.randint(0, 3))
        world.host("matcher_timing", 0)
    world.settle()
    published = [control.decode_plan(record.value) for record in world.read(TOPICS.plans) if record.value is not None]
    newest = published[-MOST_CHANGES:]
    kept = sorted(changes(world).values(), key=lambda each: each.epoch)
    assert [(each.epoch, each.version, each.service) for each in kept] == [
        (each.epoch, each.version, each.service) for each in newest
    ]
    assert all(each.reason for each in kept)


def test_the_changes_of_a_deleted_pattern_go_with_it(world: PlannerWorld) -> None:
    world.register(pattern())
    world.register(pattern("q", text=text("q")))
    world.settle()
    world.delete("p")
    world.settle()
    assert {each.name for each in changes(world).values()} == {"q"}


PLAN = PLANS["timing"]


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ({}, {"registration": 9}, "deleted and registered again"),
        ({}, {"version": 9}, "version 9 follows version 2"),
        ({}, {"desired": "paused"}, "the pattern is paused"),
        ({}, {"desired": "stopped", "until": None}, "it leaves matcher_timing.0"),
        ({}, {"desired": "stopped", "until": 4_000}, "it ends at offset 4,000"),
        ({"desired": "stopped"}, {"shard": 7, "desired": "running"}, "it runs on matcher_timing.7 from where"),
        ({"desired": "running"}, {"shard": 7, "desired": "running"}, "it continues on matcher_timing.7"),
        ({"engine": "sjtree"}, {}, "engine timing takes the place of sjtree"),
        ({"limits": control.LimitsForm(partial_matches=7)}, {}, "the pattern has other limits"),
        ({}, {}, "it is published again"),
    ],
)
def test_reasons(before: dict[str, Any], after: dict[str, Any], reason: str) -> None:
    base = changed(PLAN, desired="running", version=2)
    assert reason in reason_of(changed(base, **before), changed(base, **after))


def test_a_text_that_cannot_be_read_any_more_has_no_stream() -> None:
    unread = changed(PLAN, pattern=control.PatternText("PATTERN of another time"))
    assert change_of(None, changed(unread, stream=UNSET), AT).stream is None
