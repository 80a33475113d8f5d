"""The status of a pattern: what its registration, its plan and its host say, put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import UNSET

if TYPE_CHECKING:
    from graphtide_wire.control import PatternRecord, PlanRecord, StatusRecord


@dataclass(frozen=True, slots=True)
class PatternStatus:
    """The status of a pattern.

    Attributes:
        state: `pending` (no host has it yet), `running`, `moving` (from one host to another), `paused` or `failed`.
        reason: why, where it failed or a limit paused it.
        plan: the plan that was published last.
        status: what the plan's host reported of this version last.
        reported: how many matches were reported since the name was registered, by all versions and hosts.
    """

    state: str
    reason: str | None = None
    plan: PlanRecord | None = None
    status: StatusRecord | None = None
    reported: int = 0

    @property
    def is_ended(self) -> bool:
        """Whether it ended by itself, and only its user can let it continue."""
        return self.status is not None and self.state in {"failed", "paused"} and self.status.state in {"failed", "paused"}


def pattern_status_of(
    record: PatternRecord, plan: PlanRecord | None, status: StatusRecord | None, refusal: StatusRecord | None
) -> PatternStatus:
    """Return the status of a pattern; `refusal` is what the planner says where it cannot plan it."""
    current = status if status is not None and status.version == record.version else None
    if refusal is not None and refusal.version == record.version:
        return PatternStatus("failed", refusal.reason, plan, current)
    if record.lost is not UNSET:
        return PatternStatus("failed", record.lost, plan, current)
    if record.state == "paused":
        return PatternStatus("paused", None, plan, current)
    if plan is None or plan.version != record.version or current is None:
        return PatternStatus("pending", None, plan, current)
    if plan.desired == "stopped" or current.state == "stopped":
        return PatternStatus("moving", None, plan, current)
    if plan.desired == "paused" or (current.state == "paused" and current.reason is None):
        return PatternStatus("pending", None, plan, current)
    return PatternStatus(current.state, current.reason, plan, current)
