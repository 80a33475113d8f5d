"""Plans that a host is to run, and their statuses."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from graphtide_core.ids import StreamName
from graphtide_native.spec import Limits

if TYPE_CHECKING:
    from graphtide_core.consumption import ConsumptionCursor
    from graphtide_core.ids import PatternName
    from graphtide_core.plans import HostedPlan
    from graphtide_core.time import TimeUnit

    from graphtide_matcher_host.ownership import Ownership

NO_STREAM: Final = StreamName("")


class State(Enum):
    """How far a plan is."""

    RUNNING = "running"
    """Its matches are reported."""

    PAUSED = "paused"
    """It is not wanted for now, or a limit was reached under the policy `pause`."""

    STOPPED = "stopped"
    """It was moved away from this host; the next host begins at the offset."""

    FAILED = "failed"
    """It cannot run; the reason says why."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A plan that the planner gave to a host.

    Attributes:
        name: of the pattern.
        version: of the pattern; other versions have other match ids.
        epoch: of the plan; rises whenever anything about it changes.
        stream: the stream that it is matched on.
        unit: what a tick of the stream's time is.
        plan: the pattern and how it is matched.
        window: ticks that the pattern looks back; 1 if it counts edges.
        edges: edges that it looks back, if it counts them; else 0.
        forms: canonical forms of its parts, which say what edges its state follows from.
        limits: bounds on its state and work.
        start: offset of the first ordered record whose matches are reported; None for the next one read.
        reported_to: offset below which another host has reported them; None if none has.
        came_from: the group of that host, whose checkpoint may have the edges that the plan's state follows from.
        consumption: how far the pattern had consumed where others have reported to, if it consumes.
        desired: `RUNNING`, `PAUSED`, or `STOPPED` so that another host continues.
        until: offset where it is to stop, that of the first ordered record whose matches are not reported; None is at once.
        ownership: which matches are reported, where another part may find them too; None reports all.
    """

    name: PatternName
    version: int
    epoch: int
    stream: StreamName
    unit: TimeUnit
    plan: HostedPlan
    window: int
    edges: int
    forms: frozenset[str] = field(repr=False, compare=False)
    limits: Limits = field(default_factory=Limits)
    start: int | None = None
    reported_to: int | None = None
    came_from: str | None = None
    consumption: ConsumptionCursor | None = None
    desired: State = State.RUNNING
    until: int | None = None
    ownership: Ownership | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A plan for this host that cannot be read.

    Attributes:
        version: of the pattern, as far as that can be read; else None.
        epoch: of the plan, likewise.
        reason: why.
    """

    name: PatternName
    version: int | None
    epoch: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class PlanStatus:
    """The status of a plan on a host.

    Attributes:
        stream: the stream that it is matched on; empty where the plan could not be read.
        start: while it runs, offset of the first record whose matches count as reported. After it ended, of the first whose
            matches this host did not report.
        reports_from: while it runs, offset of the first record whose matches this host reports; None if that is `start`.
        reason: why it failed or was stopped; while it runs, what makes it less safe than it should be.
        position: offset of the next record when this was reported, if known.
        consumption: how far the pattern had consumed there, if it consumes and had begun; after the plan ended, at its end.
    """

    name: PatternName
    version: int
    epoch: int
    state: State
    stream: StreamName = NO_STREAM
    start: int | None = None
    reports_from: int | None = None
    reason: str = ""
    position: int | None = field(default=None, compare=False)
    consumption: ConsumptionCursor | None = field(default=None, compare=False)

    def is_said_by(self, known: PlanStatus | None) -> bool:
        """Whether the last report says it already: a report that it runs, from no later offset, holds while it runs."""
        if known is None or self.state is not State.RUNNING:
            return self == known
        goes_on = replace(known, reports_from=self.reports_from, reason=self.reason) == self
        return goes_on and (known.reports_from or known.start or 0) <= (self.reports_from or self.start or 0)

    def end(self, position: int) -> int:
        """Return the first offset whose matches were not reported, where it ran to a position and ends there."""
        return max(self.start or 0, self.reports_from or 0, position)


@dataclass(frozen=True, slots=True)
class Running:
    """A plan in a pass.

    Attributes:
        start: offset of the first record whose matches count as reported.
        reports_from: offset of the first record whose matches are to be reported: past `start` where that was done before.
        until: offset of the first record whose matches are not to be reported any more; None where it has no end.
        consumption: how far the pattern had consumed at `reports_from`, if it consumes and began before.
    """

    assignment: Assignment
    start: int
    reports_from: int
    until: int | None = None
    consumption: ConsumptionCursor | None = None

    @property
    def begins(self) -> int:
        """Offset of the first record whose matches count; where the pattern continues, if it consumes and began before."""
        return self.start if self.consumption is None else self.reports_from

    @property
    def consumes(self) -> bool:
        """Whether what the pattern can match depends on what it matched before."""
        return self.assignment.plan.pattern.consumes

    def reports(self, offset: int) -> bool:
        """Whether the matches that the record at an offset completes are to be reported."""
        return self.reports_from <= offset and (self.until is None or offset < self.until)

    def reported_to(self, position: int) -> Running:
        """Return the same for a pass after another has reported everything before a position."""
        return replace(self, reports_from=max(self.reports_from, position))

    @classmethod
    def begun(cls, assignment: Assignment, position: int) -> Running:
        """Return a plan that was not run here before; `position` is that of the next record."""
        start = position if assignment.start is None else assignment.start
        return cls(assignment, start, max(start, assignment.reported_to or 0), consumption=assignment.consumption)

    @property
    def plan_status(self) -> PlanStatus:
        """Its status while it runs."""
        return replace(self.ended(State.RUNNING, self.start), reports_from=self.reports_from)

    def ended(self, state: State, end: int, reason: str = "") -> PlanStatus:
        """Return its status after it ended; `end` is the offset of the first record whose matches were not reported."""
        of = self.assignment
        return PlanStatus(
            of.name, of.version, of.epoch, state, of.stream, start=end, reason=reason, consumption=self.consumption
        )
