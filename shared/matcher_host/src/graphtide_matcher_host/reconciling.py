"""Next status of a plan on a host, from the desired plan, the last reported status and the current offset (pure).

What a host reports of a version of a pattern is one stretch of the ordered stream. Of the host's reports, the newest holds:

| last status of version    | desired | becomes                                                                               |
|---------------------------|---------|---------------------------------------------------------------------------------------|
| nothing                   | running | runs from its start, or from where others have reported to                            |
| running                   | running | runs from the host's position, or from where others have reported to if that is later |
| ended, same epoch         | any     | stays ended                                                                           |
| ended, another epoch      | running | runs from where it ended here, or from where others have reported to if that is later |
| any                       | paused  | ended at its position: the next host begins there                                     |
| any                       | stopped | the same; with an offset before which there is something to report, runs up to that   |
| running                   | nothing | stopped where it was                                                                  |
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_matcher_host.assignment import NO_STREAM, PlanStatus, Running, State

if TYPE_CHECKING:
    from graphtide_matcher_host.assignment import Assignment, Refusal


def reconcile(wanted: Assignment, known: PlanStatus | None, position: int) -> Running | PlanStatus | None:
    """Return the plan as it is to run, or its status instead; None if it ended and that was reported.

    Args:
        wanted: the plan.
        known: the status of the pattern that the host reported last.
        position: offset of the record that the host takes next.
    """
    goes_on = runs(wanted, known)
    if known is not None and known.epoch == wanted.epoch and not goes_on:
        return None
    plan = _continue_plan(wanted, known, position)
    if wanted.desired is State.RUNNING:
        return plan
    has_more = wanted.until is not None and plan.reports_from < wanted.until
    if wanted.desired is State.STOPPED and has_more:
        return replace(plan, until=wanted.until)
    return plan.ended(wanted.desired, plan.reports_from)


def runs(wanted: Assignment, known: PlanStatus | None) -> bool:
    """Whether the last reported status is that this version of the pattern runs."""
    return known is not None and known.version == wanted.version and known.state is State.RUNNING


def drop(known: PlanStatus, position: int, refusal: Refusal | None) -> PlanStatus:
    """Return the status of a plan that ran without being asked to stop: it was deleted, or cannot be read now."""
    ended = replace(known, state=State.STOPPED, start=known.end(position), reports_from=None, reason="")
    return ended if refusal is None else refuse_plan(refusal, ended) or ended


def refuse_plan(refusal: Refusal, known: PlanStatus | None) -> PlanStatus | None:
    """Return the status of a plan that cannot be read; `known` is the last reported status of the pattern, an ended one.

    If not even the version can be read, the record may be anything: the reported status holds, and the planner gives the plan
    again. Without a reported status there is none to change: None.
    """
    if refusal.version is None or refusal.epoch is None:
        return replace(known, reason=refusal.reason) if known is not None else None
    start = known.start if known is not None and known.version == refusal.version else None
    stream = known.stream if known is not None else NO_STREAM
    return PlanStatus(refusal.name, refusal.version, refusal.epoch, State.FAILED, stream, start, reason=refusal.reason)


def _continue_plan(wanted: Assignment, known: PlanStatus | None, position: int) -> Running:
    """Return the plan as it would continue from what was reported of its version here and elsewhere."""
    begun = Running.begun(wanted, position)
    if known is None or known.version != wanted.version:
        return begun
    if known.state is State.RUNNING:
        begun = replace(begun, start=known.start or 0, reports_from=wanted.reported_to or 0)
        return _from(begun, known, known.end(position))
    # It ended here before: what was reported then is not reported again, even if the plan says otherwise.
    return begun if known.start is None else _from(begun, known, known.start)


def _from(plan: Running, known: PlanStatus, end: int) -> Running:
    """Return the plan as it continues where this host has reported to, unless others have reported more."""
    return plan if end < plan.reports_from else replace(plan, reports_from=end, consumption=known.consumption)
