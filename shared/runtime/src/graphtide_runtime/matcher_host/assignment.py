"""What a host is to run, and what it says of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from graphtide_native.spec import Limits

if TYPE_CHECKING:
    from graphtide_core.ids import PatternName, StreamName
    from graphtide_core.plan import Plan
    from graphtide_core.time import TimeUnit


class State(Enum):
    """How far a plan is."""

    RUNNING = "running"
    """Its matches are reported."""

    PAUSED = "paused"
    """It is not wanted for now, or a limit was reached under the policy `pause`."""

    STOPPED = "stopped"
    """It was taken from this host; whoever goes on begins at the offset."""

    FAILED = "failed"
    """It cannot run; the reason says why."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A plan that the planner gave to a host.

    Attributes:
        name: of the pattern.
        version: of the pattern; other versions have other match ids.
        epoch: of the plan; rises whenever anything about it changes.
        stream: which it is matched on.
        unit: what a tick of the stream's time is.
        plan: the pattern and how it is matched.
        limits: bounds on its state.
        start: offset of the first ordered record whose matches are reported; None for the next one read.
        reported_to: offset below which another host has reported them; None if none has.
        desired: `RUNNING`, `PAUSED`, or `STOPPED` for another to go on.
    """

    name: PatternName
    version: int
    epoch: int
    stream: StreamName
    unit: TimeUnit
    plan: Plan
    limits: Limits = field(default_factory=Limits)
    start: int | None = None
    reported_to: int | None = None
    desired: State = State.RUNNING


@dataclass(frozen=True, slots=True)
class Standing:
    """What a host says of a plan.

    Attributes:
        start: offset of the first record whose matches are reported, where it runs; of the first whose are not, where it ended.
        reason: why it failed or was stopped; where it runs, what keeps it from being as safe as it should.
    """

    name: PatternName
    version: int
    epoch: int
    state: State
    start: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """A plan in a pass.

    Attributes:
        start: offset of the first record whose matches count as reported.
        reports_from: offset of the first record whose matches are to be reported: past `start` where that was done before.
    """

    assignment: Assignment
    start: int
    reports_from: int

    def reported_to(self, position: int) -> Running:
        """Return the same for a pass in whose place another has reported what is before a position."""
        return replace(self, reports_from=max(self.reports_from, position))

    @classmethod
    def begun(cls, assignment: Assignment, position: int) -> Running:
        """Return a plan that was not run here before; `position` is that of the next record."""
        start = position if assignment.start is None else assignment.start
        return cls(assignment, start, max(start, assignment.reported_to or 0))

    @property
    def standing(self) -> Standing:
        """What is said of it."""
        assignment = self.assignment
        return Standing(assignment.name, assignment.version, assignment.epoch, State.RUNNING, self.start)
