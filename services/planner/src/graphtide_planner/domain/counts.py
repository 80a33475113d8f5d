"""Partial matches of running plans by step, where they contradict the estimates that plans were chosen by.

Hosts count in their statuses what each step of a plan stores. A count that is far from the estimate becomes evidence. Plans of
the pattern are weighed with it from then on, also those that do not store that part. It is kept for the version of the pattern,
so a plan is not chosen again for the estimate that it refuted. The plan that was chosen by it has it, too. A count that is
larger than estimated says so at any time. One that is smaller may be of a window that is not full yet, or of a quiet stream. So
it counts once the plan has run for as long as the window. It counts beside the single edges, whose counts say how much of the
stream there is.
Cost: a comparison for each step of a status. A pattern is looked at again when a count contradicts, and then each time that it
has doubled.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidQueryError
from graphtide_query.families import family_of
from graphtide_wire.plans import evidence_of, plan_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.plans import CountedPart
    from graphtide_query.families.family import PlanningContext
    from graphtide_wire.control import PlanRecord, StatusRecord

_TIMES: Final = 4.0
"""How many times as many, or as few, as estimated contradict the estimate."""

_FEW: Final = 100
"""Partial matches that make no difference to any plan: they are added to both sides."""

_BUSY: Final = 0.5
"""The share of the estimated edges that there must be for counts to take evidence back."""

_LONGEST: Final = timedelta(days=1)
"""How long a smaller count waits at most for a window to be full."""


@dataclass(slots=True)
class _Counted:
    """What is known of one plan.

    Attributes:
        version: of the pattern.
        epoch: of the plan.
        since: when its host reported on it first.
        at: when it did so last.
        alive: partial matches by step.
        looked: the largest count by step at which the pattern was looked at.
        evidence: by the edges of the part.
    """

    version: int
    epoch: int
    since: datetime | None = None
    at: datetime | None = None
    alive: dict[str, int] = field(default_factory=dict)
    looked: dict[str, int] = field(default_factory=dict)
    evidence: dict[tuple[str, ...], CountedPart] = field(default_factory=dict)


class Counts:
    """The counts of all running plans."""

    def __init__(self) -> None:
        """Know none."""
        self._counted: dict[str, _Counted] = {}

    def take_plan(self, plan: PlanRecord) -> None:
        """Take a plan that was published: it is counted anew; evidence of the same version stays."""
        before = self._counted.get(plan.name)
        if before is not None and (before.version, before.epoch) == (plan.version, plan.epoch):
            return
        evidence = {each.edges: each for each in evidence_of(plan.plan)}
        if before is not None and before.version == plan.version:
            evidence |= before.evidence
        self._counted[plan.name] = _Counted(plan.version, plan.epoch, evidence=evidence)

    def forget(self, name: str) -> None:
        """Forget a pattern."""
        self._counted.pop(name, None)

    def take_status(self, status: StatusRecord, plan: PlanRecord) -> bool:
        """Take what a host counted of a plan; return whether the pattern should be looked at for it."""
        counted = self._counted.get(status.name)
        if counted is None or status.state != "running" or (status.version, status.epoch) != (counted.version, counted.epoch):
            return False
        if not status.items:
            return False
        counted.since = counted.since or status.at
        counted.at = status.at
        counted.alive = {item.name: item.alive for item in status.items}
        estimates: Iterable[tuple[str, float]] = getattr(plan.plan.physical, "cardinalities", ())
        is_due = False
        for step, estimate in estimates:
            alive = counted.alive.get(step)
            if alive is not None and _contradicts(alive, estimate) and alive + _FEW > 2 * (counted.looked.get(step, 0) + _FEW):
                counted.looked[step] = alive
                is_due = True
        return is_due

    def evidence(self, pattern: AnyPattern, running: PlanRecord | None, context: PlanningContext) -> tuple[CountedPart, ...]:
        """Return what was counted against the estimates, of the running plan and of those before it."""
        counted = self._counted.get(pattern.name)
        if counted is None or running is None or (running.version, running.epoch) != (counted.version, counted.epoch):
            return ()
        if counted.alive:
            try:
                parts = family_of(pattern).counted(pattern, plan_of(running.plan)[0], counted.alive, context)
            except (LookupError, ValueError, InvalidQueryError):
                # The running plan does not fit this pattern: another program wrote it.
                parts = ()
            is_full, busy = _is_full(counted, pattern, context), _busyness(parts)
            for part in parts:
                beside = replace(part, estimated=part.estimated * busy ** len(part.edges))
                if _contradicts(part.counted, part.estimated):
                    counted.evidence[part.edges] = part
                elif is_full and _contradicts(beside.estimated, beside.counted):
                    counted.evidence[part.edges] = beside
                elif is_full and busy > _BUSY:
                    counted.evidence.pop(part.edges, None)
        return self.kept(pattern.name)

    def kept(self, name: str) -> tuple[CountedPart, ...]:
        """Return the evidence of a pattern as it was when it was last asked for, in the order of the edges."""
        counted = self._counted.get(name)
        return () if counted is None else tuple(each for _, each in sorted(counted.evidence.items()))


def _contradicts(more: float, less: float) -> bool:
    return more + _FEW > _TIMES * (less + _FEW)


def _busyness(parts: Iterable[CountedPart]) -> float:
    """Return the share of the estimated edges that there are, at most all: that of the single edge with the largest."""
    shares = [each.factor for each in parts if len(each.edges) == 1]
    return min(1.0, max(shares, default=1.0))


def _is_full(counted: _Counted, pattern: AnyPattern, context: PlanningContext) -> bool:
    """Whether a plan has run for as long as the window of its pattern, by the clock."""
    if counted.since is None or counted.at is None:
        return False
    ticks = family_of(pattern).lookback(pattern, context.unit)
    longest = _LONGEST.total_seconds()
    seconds = min(longest, ticks * context.unit.nanoseconds / 1e9) if ticks > 0 else longest
    return (counted.at - counted.since).total_seconds() >= seconds
