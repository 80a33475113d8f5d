"""What to publish of one pattern next, from what is known: a pure function that is asked again whenever something changed.

A match is neither lost nor reported twice. What is reported of a version of a pattern is one stretch of the ordered stream, cut
between hosts:

* The first plan starts where the stream ended when the pattern was registered.
* On one host plans change in place: the host continues where it is, and ignores the start in the plan.
* To leave a host, a plan is first published as `stopped` (or, if the user asks for it, `paused`). The host answers with the
  offset of the first record whose matches it did not report. Only then, and from that offset, another host gets a plan. Until
  the host has said that the plan runs it is not asked to move: there may be no such host.
* A plan leaves a shard that will be removed, or that has more plans than others, as it leaves a service.
* What was published is not taken back before the host has answered. The host may be ahead of what is known of it.
* Another program has written to the topic of plans in two cases. A host reports that a plan stopped which was to run, or no
  plan can be read though a host reported on the version. The pattern continues from where hosts report that it is.

A new version of a pattern follows the old one by the same rule, so each edge completes matches of one version. The old one is
published as stopped until the new one's start. The new one starts where the host says that the old one ended, which is later if
the host was ahead. The new one starts where the stream ended when it was registered, if the old one has no such end. That is so
if the old one ended by itself, its host does not exist, or it was of another stream. A pattern that was registered after a
deletion starts there, too: it has no predecessor, whether or not the deletion was seen by itself. No version reports what is
before its own start; one that was replaced before it began reports nothing.

Patterns that are equal except for their names are given to one host, with one plan, for it matches them by one engine.

A pattern that is local to the key of a stream in parts has a plan for each part, under a name of its own. To this module these
are patterns like any other.

Where a host paused or failed a plan at a limit, the pattern waits for its user: a new version, other limits or another engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from graphtide_core.any_pattern import ordered_stream
from graphtide_core.errors import InvalidQueryError
from graphtide_core.merged_streams import part_in
from graphtide_query.families import AUTO, SERVICES
from graphtide_wire.control import HostName, PatternText, PlanRecord
from graphtide_wire.plans import form_of
from msgspec import UNSET
from msgspec.structs import replace

from graphtide_planner.domain.passes import HostId
from graphtide_planner.domain.planning import find_leader, is_better, least_loaded, make_plan
from graphtide_planner.domain.spreading import runs_where_assigned
from graphtide_planner.domain.texts import pattern_in, stream_of

if TYPE_CHECKING:
    from graphtide_core.plans import Assigned
    from graphtide_wire.control import PatternRecord, StatusRecord
    from graphtide_wire.plans import PlanForm

    from graphtide_planner.domain.known import Known
    from graphtide_planner.domain.planning import PlanningPolicy

Desired = Literal["running", "paused", "stopped"]

_ENDED: Final = frozenset({"paused", "stopped", "failed"})


@dataclass(frozen=True, slots=True)
class Publish:
    """A plan to publish."""

    plan: PlanRecord


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The plan of a name is to be deleted."""

    name: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """A pattern cannot be planned; its user gets the reason."""

    name: str
    version: int
    reason: str


@dataclass(frozen=True, slots=True)
class Forgive:
    """The reason why a pattern could not be planned holds no longer."""

    name: str


Decision = Publish | Withdraw | Refuse | Forgive


def decide(name: str, known: Known, policy: PlanningPolicy) -> list[Decision]:
    """Return what to publish of a pattern; nothing where all is as it should be, or an answer is awaited."""
    record, running = known.patterns.get(name), known.plans.get(name)
    if name in known.unreadable:
        return _withdrawn(name, known) + refusal(name, 0, known.unreadable[name], known)
    if record is None or (record.state == "paused" and running is not None and record.registration != running.registration):
        return _withdrawn(name, known) + _forgiven(name, known)
    try:
        change = _change(record, running, known, policy)
    except InvalidQueryError as error:
        is_served = running is not None and _identity(running) == _identity(record) and running.desired == "running"
        return ([] if is_served else _withdrawn(name, known)) + refusal(name, record.version, str(error), known)
    return _forgiven(name, known) + ([Publish(change)] if change is not None else [])


def restore(name: str, known: Known) -> Decision:
    """Return what to publish if another program has written a plan of this name: what held, or that there is none."""
    held = known.plans.get(name)
    return Withdraw(name) if held is None else Publish(_next(held, known))


def _change(record: PatternRecord, running: PlanRecord | None, known: Known, policy: PlanningPolicy) -> PlanRecord | None:
    """Return the plan to publish in place of the one that is; None leaves it."""
    if running is None:
        return None if record.state == "paused" else _begin_plan(record, known, policy)
    if record.registration != running.registration:
        # The host of the other one need not answer: a deleted plan owes nothing.
        return _first(record, record.start, known, policy)
    plan_status = known.plan_status(running)
    answered = plan_status is not None and plan_status.epoch == running.epoch and plan_status.state in _ENDED
    if running.desired != "running":
        if not answered or plan_status is None:
            return _follow_version(record, running, known)
        return _after_the_end(record, running, plan_status, known, policy)
    if record.state == "paused":
        return _assign(running, "paused", known)
    if answered and plan_status is not None:
        return _revive(record, running, plan_status, known, policy)
    if record.version != running.version:
        if not policy.has(HostId(running.service, running.shard)):
            return _first(record, record.start, known, policy)
        return replace(_assign(running, "stopped", known), until=_until(record, running))
    if policy.leaves(HostId(running.service, running.shard)) and runs_where_assigned(running, known):
        return _assign(running, "stopped", known)
    return _improve_plan(record, running, plan_status, known, policy)


def move_pattern(name: str, known: Known) -> list[Decision]:
    """Return what lets a pattern leave its shard for the least loaded one of its service; nothing where it cannot yet."""
    record, running = known.patterns.get(name), known.plans.get(name)
    if record is None or running is None or record.state == "paused" or _identity(record) != _identity(running):
        return []
    return [Publish(_assign(running, "stopped", known))] if runs_where_assigned(running, known) else []


def _begin_plan(record: PatternRecord, known: Known, policy: PlanningPolicy) -> PlanRecord:
    """Give a pattern without a plan to a host; to the one that says it runs it, if there is one."""
    said = [status for status in known.said.get(record.name, {}).values() if status.version == record.version]
    if not said:
        return _first(record, record.start, known, policy)
    newest = max(said, key=lambda status: status.epoch)
    if newest.state == "running":
        return replace(_first(record, newest.start, known, policy), service=newest.service, shard=newest.shard)
    return _after(newest, record, record.start, known, policy)


def _follow_version(record: PatternRecord, running: PlanRecord, known: Known) -> PlanRecord | None:
    """Let a plan that is asked to stop continue to the start of a new version: a move may have asked for less."""
    until = _until(record, running)
    if record.version == running.version or running.desired != "stopped" or until is None:
        return None
    return replace(_assign(running, "stopped", known), until=until) if until > (running.until or 0) else None


def _until(record: PatternRecord, running: PlanRecord) -> int | None:
    """Return where the plan of an older version is to end; None is at once, because offsets of two streams say nothing."""
    return record.start if record.stream == stream_of(running) else None


def _after_the_end(
    record: PatternRecord, running: PlanRecord, plan_status: StatusRecord, known: Known, policy: PlanningPolicy
) -> PlanRecord | None:
    """Continue after a host has stopped or paused a plan as it was asked to."""
    if record.state == "paused":
        return None if running.desired == "paused" else _assign(running, "paused", known)
    if record.stream != stream_of(running):
        return _first(record, record.start, known, policy)
    if running.desired == "paused":
        return _resume_plan(record, running, plan_status, known, policy)
    if record.version != running.version:
        is_owed = plan_status.state == "stopped" and running.until is None and (plan_status.start or 0) < (record.start or 0)
        more = _follow_version(record, running, known) if is_owed else None
        return more or _first(record, _latest(record.start, plan_status.start), known, policy)
    # What was reported before may have to be retracted, so it counts as reported.
    return _after(plan_status, record, running.start, known, policy)


def _revive(
    record: PatternRecord, running: PlanRecord, plan_status: StatusRecord, known: Known, policy: PlanningPolicy
) -> PlanRecord | None:
    """Start anew a plan that ended by itself, if its user has changed something."""
    if record.version != running.version:
        return _first(record, record.start, known, policy)
    if plan_status.state == "stopped":
        # The host was not asked to.
        return _after(plan_status, record, running.start, known, policy)
    if record.limits != running.limits or record.options.engine not in (AUTO, running.engine):
        return _resume_plan(record, running, plan_status, known, policy)
    return None


def _improve_plan(
    record: PatternRecord, running: PlanRecord, plan_status: StatusRecord | None, known: Known, policy: PlanningPolicy
) -> PlanRecord | None:
    """Change a plan whose pattern stays: for other limits, another engine asked for, or a stream that has become another."""
    first = find_leader(record, known, policy)
    if first is not None and _host(first) == _host(running):
        if first.plan.physical == running.plan.physical and record.limits == running.limits:
            return None
        return replace(_next(running, known), engine=first.engine, plan=first.plan, limits=record.limits)
    new = make_plan(record, known, policy)
    asked = record.options.engine not in (AUTO, running.engine)
    if not asked and not is_better(new, running, known, policy):
        return None if record.limits == running.limits else replace(_next(running, known), limits=record.limits)
    if SERVICES[new.engine] == running.service:
        return replace(_next(running, known), engine=new.engine, plan=_form(new, known), limits=record.limits)
    if plan_status is None or plan_status.state != "running":
        return None
    return _assign(running, "stopped", known)


def _first(record: PatternRecord, start: int | None, known: Known, policy: PlanningPolicy) -> PlanRecord:
    """Return the plan that gives a pattern to a host: that of one like it, with the same plan, else the least loaded one."""
    first = find_leader(record, known, policy)
    if first is not None:
        engine, plan, host = first.engine, first.plan, _host(first)
    else:
        new = make_plan(record, known, policy)
        engine, plan, service = new.engine, _form(new, known), SERVICES[new.engine]
        host = HostName(service, least_loaded(service, known, policy))
    return PlanRecord(
        name=record.name,
        version=record.version,
        epoch=known.next_epoch(record.name),
        engine=engine,
        service=host.service,
        shard=host.shard,
        plan=plan,
        pattern=PatternText(record.text),
        desired="running",
        unit=policy.unit.value,
        limits=record.limits,
        start=start,
        registration=record.registration,
        stream=UNSET if record.stream == ordered_stream(pattern_in(record.text)) else record.stream,
        by_vertex=record.by_vertex if part_in(record.name) is not None else UNSET,
    )


def _after(said: StatusRecord, record: PatternRecord, start: int | None, known: Known, policy: PlanningPolicy) -> PlanRecord:
    """Return the plan that lets a host continue where another said that it ended."""
    came_from = HostName(said.service, said.shard)
    return replace(
        _first(record, start, known, policy), reported_to=said.start, came_from=came_from, consumption=said.consumption
    )


def _resume_plan(
    record: PatternRecord, running: PlanRecord, plan_status: StatusRecord, known: Known, policy: PlanningPolicy
) -> PlanRecord:
    """Return the plan that begins where another ended, of this version, or of one before it that begins later."""
    start = _latest(record.start, plan_status.start)
    goes_on = record.version == running.version and start == plan_status.start
    return replace(_first(record, start, known, policy), consumption=plan_status.consumption if goes_on else UNSET)


def _host(plan: PlanRecord) -> HostName:
    return HostName(plan.service, plan.shard)


def _assign(running: PlanRecord, desired: Desired, known: Known) -> PlanRecord:
    """Return the same plan with another desired state."""
    return replace(_next(running, known), desired=desired)


def _next(running: PlanRecord, known: Known) -> PlanRecord:
    return replace(running, epoch=known.next_epoch(running.name))


def _form(new: Assigned, known: Known) -> PlanForm:
    return form_of(new.physical, new.considered, known.counts.kept(new.pattern.name))


def _latest(one: int | None, other: int | None) -> int | None:
    return max((offset for offset in (one, other) if offset is not None), default=None)


def _identity(of: PatternRecord | PlanRecord) -> tuple[int, int]:
    return (of.registration, of.version)


def _withdrawn(name: str, known: Known) -> list[Decision]:
    return [Withdraw(name)] if name in known.plans or name in known.damaged else []


def _forgiven(name: str, known: Known) -> list[Decision]:
    return [Forgive(name)] if name in known.refusals else []


def refusal(name: str, version: int, reason: str, known: Known) -> list[Decision]:
    """Return the report on why a pattern is not planned; nothing if it was reported."""
    said = known.refusals.get(name)
    return [] if said is not None and (said.version, said.reason) == (version, reason) else [Refuse(name, version, reason)]
