"""The status of a pattern: what its registration, its plan and its host say, put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_core.merged_streams import part_in
from graphtide_wire.control import ItemStatus
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_wire.control import PatternRecord, PlanRecord, StatusRecord

_MOST_NAMED: Final = 5
"""Parts that a reason names."""


@dataclass(frozen=True, slots=True)
class PatternStatus:
    """The status of a pattern.

    Attributes:
        state: `pending` (no host has it yet), `running`, `moving` (from one host to another), `paused` or `failed`.
        reason: why, where it failed or a limit paused it.
        plan: the plan that was published last.
        status: what the plan's host reported of this version last.
        reported: how many matches were reported since the name was registered, by all versions and hosts.
        parts: the status of each part, in their order, if parts of the stream match the pattern by themselves.
    """

    state: str
    reason: str | None = None
    plan: PlanRecord | None = None
    status: StatusRecord | None = None
    reported: int = 0
    parts: tuple[PatternStatus, ...] = ()

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


_ORDER: Final = ("failed", "paused", "pending", "moving", "running")
"""States of parts: the first that any of them has is that of all."""


def together(parts: Sequence[PatternStatus]) -> PatternStatus:
    """Return the status of a pattern that parts of its stream match by themselves.

    It has the first state of `_ORDER` that a part has, with that part's plan. Counts are sums, and the position is not known.
    """
    if len(parts) == 1:
        return parts[0]
    first = min(parts, key=lambda each: _ORDER.index(each.state) if each.state in _ORDER else len(_ORDER))
    of_it = [part_in(each.plan.name) for each in parts if each.state == first.state and each.plan is not None]
    numbers = ", ".join(str(part.number) for part in of_it[:_MOST_NAMED] if part is not None)
    more = " and others" if len(of_it) > _MOST_NAMED else ""
    reason = first.reason if first.reason is None or len(of_it) == len(parts) else f"part {numbers}{more}: {first.reason}"
    said = [each.status for each in parts if each.status is not None]
    return PatternStatus(first.state, reason, first.plan, _sum(said), parts=tuple(parts))


def _sum(said: Sequence[StatusRecord]) -> StatusRecord | None:
    """Return what the hosts of all parts counted, as of one; its state is that of the first."""
    if not said:
        return None
    items: dict[str, ItemStatus] = {}
    for item in (item for each in said for item in each.items):
        known = items.get(item.name, ItemStatus(item.name, 0, 0, 0))
        items[item.name] = ItemStatus(item.name, known.alive + item.alive, known.peak + item.peak, known.created + item.created)
    worked = [each.work for each in said if not isinstance(each.work, UnsetType)]
    return replace(
        min(said, key=lambda each: _ORDER.index(each.state) if each.state in _ORDER else len(_ORDER)),
        at=max(each.at for each in said),
        matches=sum(each.matches for each in said),
        partial_matches=sum(each.partial_matches for each in said),
        state_bytes=sum(each.state_bytes for each in said),
        work=sum(worked) if worked else UNSET,
        suppressed=sum(each.suppressed for each in said if not isinstance(each.suppressed, UnsetType)) or UNSET,
        items=tuple(items.values()),
        position=None,
    )
