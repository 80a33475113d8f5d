"""What is shown of a pattern that parts of its stream match by themselves."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from graphtide_admin_api.domain.pattern_status import PatternStatus, together
from graphtide_wire.control import ItemStatus, PatternText, PlanRecord, StatusRecord
from graphtide_wire.plans import PhysicalForm, PlanForm

AT = datetime(2026, 1, 1, tzinfo=UTC)


def status_of(part: int, state: str = "running", **changes: Any) -> PatternStatus:
    """Return the status of part 0, 1 or 2."""
    name = f"p#{part}/3"
    plan = PlanRecord(name, 1, 1, "timing", "matcher_timing", part, PlanForm(PhysicalForm()), PatternText(""), "running")
    reason = changes.pop("reason", None)
    said: Any = state if state in {"running", "failed", "paused"} else "pending"
    counted = {"matches": 1, "partial_matches": 2, "state_bytes": 3, "items": (ItemStatus("x", 1, 2, 3),), **changes}
    return PatternStatus(state, reason, plan, StatusRecord(name, 1, 1, "matcher_timing", part, said, AT, reason, **counted))


def test_counts_are_sums_and_there_is_no_position() -> None:
    found = together([status_of(0, work=5), status_of(1, matches=10, position=7), status_of(2, suppressed=4)])
    assert found.state == "running"
    assert found.status is not None
    said = found.status
    assert (said.matches, said.partial_matches, said.state_bytes, said.work, said.suppressed) == (12, 6, 9, 5, 4)
    assert said.items == (ItemStatus("x", 3, 6, 9),)
    assert said.position is None


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (("running", "running", "running"), "running"),
        (("running", "moving", "running"), "moving"),
        (("running", "pending", "moving"), "pending"),
        (("paused", "pending", "running"), "paused"),
        (("running", "failed", "paused"), "failed"),
    ],
)
def test_the_state_is_the_worst_of_any_part(states: tuple[str, ...], expected: str) -> None:
    assert together([status_of(number, state) for number, state in enumerate(states)]).state == expected


def test_each_part_is_there_in_order() -> None:
    found = together([status_of(0), status_of(1, "failed", reason="its limit"), PatternStatus("pending")])
    assert [each.state for each in found.parts] == ["running", "failed", "pending"]
    assert [each.plan and each.plan.shard for each in found.parts] == [0, 1, None]


def test_a_reason_names_the_parts_that_it_holds_for() -> None:
    failed = [status_of(0), status_of(1, "failed", reason="its limit"), status_of(2, "failed", reason="its limit")]
    assert together(failed).reason == "part 1, 2: its limit"
    assert together([status_of(number, "failed", reason="its limit") for number in range(3)]).reason == "its limit"


def test_a_part_without_a_plan_leaves_the_pattern_pending() -> None:
    found = together([status_of(0), PatternStatus("pending"), status_of(2)])
    assert (found.state, found.reason, found.plan) == ("pending", None, None)
    assert together([PatternStatus("pending"), PatternStatus("pending")]).status is None


def test_one_part_is_shown_as_it_is() -> None:
    only = status_of(0, position=7)
    assert together([only]) is only
