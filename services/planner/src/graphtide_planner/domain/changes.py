"""Changes of plans: what differs from the plan before, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from graphtide_core.errors import InvalidQueryError
from graphtide_core.merged_streams import logical_stream
from graphtide_wire.plan_changes import PlanChangeRecord

from graphtide_planner.domain.texts import stream_of

if TYPE_CHECKING:
    from datetime import datetime

    from graphtide_wire.control import PlanRecord


def change_of(before: PlanRecord | None, plan: PlanRecord, now: datetime) -> PlanChangeRecord:
    """Return the change that a plan is, which is published in place of another."""
    form = plan.plan
    chosen = form.considered[0] if form.considered else None
    return PlanChangeRecord(
        name=plan.name,
        version=plan.version,
        epoch=plan.epoch,
        at=now,
        stream=_read_stream(plan),
        engine=plan.engine,
        service=plan.service,
        shard=plan.shard,
        desired=plan.desired,
        reason=reason_of(before, plan),
        nanoseconds=None if chosen is None else chosen.nanoseconds,
        partial_matches=None if chosen is None else chosen.partial_matches,
        evidence=() if form.evidence is msgspec.UNSET else form.evidence,
    )


def _read_stream(plan: PlanRecord) -> str | None:
    """Return the stream that the pattern of a plan reads; None if this version cannot read the text."""
    try:
        return logical_stream(stream_of(plan))
    except InvalidQueryError:
        return None


def reason_of(before: PlanRecord | None, plan: PlanRecord) -> str:
    """Return in a sentence what a plan changes, and why."""
    if before is None:
        return f"the first plan: {_choice(plan)}"
    if before.registration != plan.registration:
        return f"the pattern was deleted and registered again: {_choice(plan)}"
    if before.version != plan.version:
        return f"version {plan.version} follows version {before.version}: {_choice(plan)}"
    if plan.desired != before.desired or plan.desired != "running":
        return _of_desired(before, plan)
    if (before.service, before.shard) != (plan.service, plan.shard):
        return f"it continues on {_host(plan)}, after {_host(before)}"
    if before.engine != plan.engine:
        return f"engine {plan.engine} takes the place of {before.engine}: {_choice(plan)}"
    if before.plan.physical != plan.plan.physical:
        corrected = "" if plan.plan.evidence is msgspec.UNSET else ", and counts of the running plan corrected the estimates"
        return f"another plan costs less now{corrected}: {_choice(plan)}"
    if before.limits != plan.limits:
        return "the pattern has other limits"
    return "it is published again, as another program had written it or its host has to begin anew"


def _of_desired(before: PlanRecord, plan: PlanRecord) -> str:
    if plan.desired == "paused":
        return "the pattern is paused"
    if plan.desired == "running":
        return f"it runs on {_host(plan)} from where {_host(before)} ended: {_choice(plan)}"
    if plan.until is not None:
        return f"it ends at offset {plan.until:,}, where another version begins"
    return f"it leaves {_host(plan)}, for another host, engine or stream"


def _choice(plan: PlanRecord) -> str:
    """Return why the plan was chosen."""
    chosen = plan.plan.considered[0] if plan.plan.considered else None
    return f"engine {plan.engine}, {chosen.reason}" if chosen is not None and chosen.reason else f"engine {plan.engine}"


def _host(plan: PlanRecord) -> str:
    return f"{plan.service}.{plan.shard}"
