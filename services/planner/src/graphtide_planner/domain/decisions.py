"""What to publish of one pattern next, from what is known: a pure function that is asked again whenever something changed.

A match is neither lost nor reported twice, because what is reported of a version of a pattern is one stretch of the ordered
stream, cut between hosts:

* The first plan starts where the stream ended when the pattern was registered.
* On one host plans change in place: the host goes on where it is, whatever a plan says of the start.
* To leave a host, a plan is first published as `stopped` (or, where the user says so, `paused`). The host answers with the
  offset of the first record whose matches it did not report. Only then, and from that offset, another host gets a plan. Until
  the host has said that the plan runs it is not asked to stop: there may be no such host.
* What was published is not taken back before the host has answered. The host may be ahead of what is known of it.

A new version of a pattern follows the old one by the same rule, so that each edge completes matches of one version, unless the
old one ended by itself, or is of another stream: then it starts where the stream ended when it was registered.

Where a host paused or failed a plan at a limit, the pattern waits for its user: a new version, other limits or another engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from graphtide_core.errors import InvalidQueryError
from graphtide_query.planner import AUTO
from graphtide_wire.control import PatternText, PlanRecord
from graphtide_wire.plan_form import form_of
from msgspec.structs import replace

from graphtide_planner.domain.planning import SERVICES, is_better, least_loaded, pattern_of, planned, stream_of

if TYPE_CHECKING:
    from graphtide_core.plan import Plan
    from graphtide_wire.control import PatternRecord, StatusRecord
    from graphtide_wire.plan_form import PlanForm

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
    """A pattern cannot be planned, and its user is to be told why."""

    name: str
    version: int
    reason: str


@dataclass(frozen=True, slots=True)
class Forgive:
    """What was said of a pattern that could not be planned holds no longer."""

    name: str


Decision = Publish | Withdraw | Refuse | Forgive


def decide(name: str, known: Known, policy: PlanningPolicy) -> list[Decision]:
    """Return what to publish of a pattern; nothing where all is as it should be, or an answer is awaited."""
    record, running = known.patterns.get(name), known.plans.get(name)
    if name in known.unreadable:
        return _withdrawn(name, known) + _refused(name, 0, known.unreadable[name], known)
    if record is None:
        return _withdrawn(name, known) + _forgiven(name, known)
    try:
        pattern_of(record)
        change = _change(record, running, known, policy)
    except InvalidQueryError as error:
        return _withdrawn(name, known) + _refused(name, record.version, str(error), known)
    return _forgiven(name, known) + ([Publish(change)] if change is not None else [])


def _change(record: PatternRecord, running: PlanRecord | None, known: Known, policy: PlanningPolicy) -> PlanRecord | None:
    """Return the plan to publish in place of the one that is; None leaves it."""
    if running is None:
        return None if record.state == "paused" else _first(record, record.start, known, policy)
    standing = known.standing(running)
    answered = standing is not None and standing.epoch == running.epoch and standing.state in _ENDED
    if running.desired != "running":
        if not answered or standing is None:
            return None
        return _after_the_end(record, running, standing, known, policy)
    if record.state == "paused":
        return _told(running, "paused", known)
    if answered and standing is not None:
        return _revived(record, running, standing, known, policy)
    if record.version != running.version:
        # A plan that never ran reported nothing, so nothing is cut.
        is_cut = standing is not None and standing.state == "running"
        return _told(running, "stopped", known) if is_cut else _first(record, record.start, known, policy)
    return _improved(record, running, standing, known, policy)


def _after_the_end(
    record: PatternRecord, running: PlanRecord, standing: StatusRecord, known: Known, policy: PlanningPolicy
) -> PlanRecord | None:
    """Go on after a host has stopped or paused a plan as it was asked to."""
    if record.state == "paused":
        return None if running.desired == "paused" else _told(running, "paused", known)
    if record.stream != stream_of(running):
        return _first(record, record.start, known, policy)
    if running.desired == "paused":
        return _first(record, _latest(record.start, standing.start), known, policy)
    if record.version != running.version:
        return _first(record, standing.start, known, policy)
    # What was reported before may have to be retracted, so it counts as reported.
    return replace(_first(record, running.start, known, policy), reported_to=standing.start)


def _revived(
    record: PatternRecord, running: PlanRecord, standing: StatusRecord, known: Known, policy: PlanningPolicy
) -> PlanRecord | None:
    """Start a plan that ended by itself anew, if its user has changed something."""
    if record.version != running.version:
        return _first(record, record.start, known, policy)
    if record.limits != running.limits or record.options.engine not in (AUTO, running.engine):
        return _first(record, _latest(record.start, standing.start), known, policy)
    return None


def _improved(
    record: PatternRecord, running: PlanRecord, standing: StatusRecord | None, known: Known, policy: PlanningPolicy
) -> PlanRecord | None:
    """Change a plan whose pattern stays: for other limits, another engine asked for, or a stream that has become another."""
    new = planned(record, known, policy)
    asked = record.options.engine not in (AUTO, running.engine)
    if not asked and not is_better(new, running, known, policy):
        return None if record.limits == running.limits else replace(_next(running, known), limits=record.limits)
    if SERVICES[new.engine] == running.service:
        return replace(_next(running, known), engine=new.engine, plan=_form(new), limits=record.limits)
    if standing is None or standing.state != "running":
        return None
    return _told(running, "stopped", known)


def _first(record: PatternRecord, start: int | None, known: Known, policy: PlanningPolicy) -> PlanRecord:
    """Return the plan that gives a pattern to a host."""
    new = planned(record, known, policy)
    service = SERVICES[new.engine]
    return PlanRecord(
        name=record.name,
        version=record.version,
        epoch=known.next_epoch(record.name),
        engine=new.engine,
        service=service,
        shard=least_loaded(service, known, policy),
        plan=_form(new),
        pattern=PatternText(record.text),
        desired="running",
        unit=policy.unit.value,
        limits=record.limits,
        start=start,
    )


def _told(running: PlanRecord, desired: Desired, known: Known) -> PlanRecord:
    """Return the same plan with another wish."""
    return replace(_next(running, known), desired=desired)


def _next(running: PlanRecord, known: Known) -> PlanRecord:
    return replace(running, epoch=known.next_epoch(running.name))


def _form(new: Plan) -> PlanForm:
    return form_of(new.physical, new.considered)


def _latest(one: int | None, other: int | None) -> int | None:
    return max((offset for offset in (one, other) if offset is not None), default=None)


def _withdrawn(name: str, known: Known) -> list[Decision]:
    return [Withdraw(name)] if name in known.plans else []


def _forgiven(name: str, known: Known) -> list[Decision]:
    return [Forgive(name)] if name in known.refusals else []


def _refused(name: str, version: int, reason: str, known: Known) -> list[Decision]:
    said = known.refusals.get(name)
    return [] if said is not None and (said.version, said.reason) == (version, reason) else [Refuse(name, version, reason)]
