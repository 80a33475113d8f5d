"""Records of the log taken into what is known, and decisions made into messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ports.log import Message
from graphtide_telemetry import events
from graphtide_wire import control, statistics
from graphtide_wire.plan_changes import change_key, change_keys, encode_change

from graphtide_planner.domain.changes import change_of
from graphtide_planner.domain.decisions import Forgive, Publish, Refuse, Withdraw
from graphtide_planner.domain.known import MOST_EPOCH, PLANNER
from graphtide_planner.domain.part_records import part_records

if TYPE_CHECKING:
    from datetime import datetime

    from graphtide_core.ports.log import Record
    from graphtide_wire.topics import Topics

    from graphtide_planner.domain.decisions import Decision
    from graphtide_planner.domain.known import Known

_LOG = structlog.get_logger()


def take(record: Record, topics: Topics, known: Known) -> set[str]:
    """Take what others wrote; return the patterns whose plans may have to change for it."""
    try:
        if record.topic == topics.patterns:
            return _take_pattern(record, known)
        if record.topic == topics.statistics:
            return _take_statistics(record, known)
        return _take_status(record, known)
    except PoisonRecordError as error:
        _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)
        return set()


def take_own(record: Record, topics: Topics, known: Known) -> None:
    """Take what the planner itself wrote, before it was opened."""
    name = _key(record)
    try:
        if record.topic == topics.plans:
            plan = control.decode_plan(record.value) if record.value is not None else None
            known.take_plan(name, _own_plan(plan, name))
        elif name.endswith(_SUFFIX):
            status = control.decode_status(record.value) if record.value is not None else None
            known.take_refusal(name.removesuffix(_SUFFIX), status)
    except PoisonRecordError as error:
        _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)
        if record.topic == topics.plans:
            known.take_damage(name)


def settle(decision: Decision, topics: Topics, known: Known, now: datetime) -> Message:
    """Take a decision into what is known; return the message that publishes it."""
    match decision:
        case Publish(plan):
            known.take_plan(plan.name, plan)
            return Message(topics.plans, plan.name.encode(), control.encode_plan(plan))
        case Withdraw(name):
            known.take_plan(name, None)
            return Message(topics.plans, name.encode(), None)
        case Refuse(name, version, reason):
            epoch = known.epochs.get(name, 0)
            status = control.StatusRecord(name, version, epoch, PLANNER, 0, "failed", now, reason)
            known.take_refusal(name, status)
            return Message(topics.status, control.status_key(status), control.encode_status(status))
        case Forgive(name):
            known.take_refusal(name, None)
            return Message(topics.status, (name + _SUFFIX).encode(), None)


def note_change(decision: Decision, topics: Topics, known: Known, now: datetime) -> list[Message]:
    """Return what keeps the change that a decision is, before `settle`; the changes of a deleted pattern go with it."""
    match decision:
        case Publish(plan):
            change = change_of(known.plans.get(plan.name), plan, now)
            return [Message(topics.plan_changes, change_key(plan.name, plan.epoch), encode_change(change))]
        case Withdraw(name) if name not in known.patterns and name not in known.unreadable:
            return [Message(topics.plan_changes, key, None) for key in change_keys(name)]
        case _:
            return []


_SUFFIX = f"@{PLANNER}.0"
"""What the keys of the planner's own statuses end with."""


def _own_plan(plan: control.PlanRecord | control.PlanHead | None, name: str) -> control.PlanRecord | None:
    """Return a plan that this planner may have written.

    Raises:
        PoisonRecordError: it did not.
    """
    if plan is None:
        return None
    if isinstance(plan, control.PlanHead) or plan.name != name or plan.epoch > MOST_EPOCH:
        reason = (
            f"the plan of {plan.name!r} under the key {name!r}, of format {plan.format} and epoch {plan.epoch}, is not ours"
        )
        raise PoisonRecordError(reason, b"")
    return plan


def _take_pattern(record: Record, known: Known) -> set[str]:
    """Take a registration; of a local one, that of each part under the part's name."""
    name = _key(record)
    before, flaw, found = known.in_parts.pop(name, frozenset()), None, dict[str, control.PatternRecord]()
    try:
        pattern = control.decode_pattern(record.value) if record.value is not None else None
        flaw = f"it is registered as {pattern.name!r}" if pattern is not None and pattern.name != name else None
        if pattern is not None and flaw is None:
            found = {each.name: each for each in part_records(pattern)}
    except PoisonRecordError as error:
        flaw = f"the registration cannot be read: {error.reason}"
    names = {name, *before, *found}
    for each in names:
        known.take_pattern(each, found.get(each), flaw if each == name else None)
    if found.keys() != {name}:
        known.in_parts[name] = frozenset(found)
    return names


def _take_statistics(record: Record, known: Known) -> set[str]:
    if record.value is None:
        # The stream was deleted.
        return known.take_statistics(_key(record), None)
    found = statistics.decode_statistics(record.value)
    return known.take_statistics(found.stream, found.snapshot)


def _take_status(record: Record, known: Known) -> set[str]:
    if record.value is None:
        return set()
    status = control.decode_status(record.value)
    if status.service == PLANNER or control.status_key(status) != record.key:
        return set()
    return {status.name} if known.take_status(status) else set()


def _key(record: Record) -> str:
    return (record.key or b"").decode(errors="replace")
