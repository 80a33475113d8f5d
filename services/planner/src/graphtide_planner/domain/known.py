"""What the planner knows: the last that every topic says of every name.

It is a fold of the topics and nothing else, so reading them again gives the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidQueryError
from graphtide_core.statistics import DriftPolicy, StatisticsSnapshot

from graphtide_planner.domain.counts import Counts
from graphtide_planner.domain.movement import Movement
from graphtide_planner.domain.passes import HostId, Passes, PassId
from graphtide_planner.domain.readers import Readers
from graphtide_planner.domain.shared_units import SharedUnits, unit_key_of
from graphtide_planner.domain.texts import stream_of

if TYPE_CHECKING:
    from graphtide_wire.control import PatternRecord, PlanRecord, StatusRecord

_MOST_LOAD: Final = 1e18
"""In place of any greater load of a plan: an estimate without bound is the largest number there is."""

PLANNER: Final = "planner"
"""The service that statuses name which the planner itself gives."""

MOST_EPOCH: Final = 2**53
"""An epoch that no plan reaches: a report with a greater one is for no plan of ours."""


@dataclass(slots=True)
class Known:
    """The state that decisions are made from.

    Attributes:
        patterns: what users registered.
        in_parts: names of patterns that parts match by themselves, by the name that users registered.
        unreadable: why a registration cannot be read, where it cannot.
        plans: the plan published last.
        damaged: names of plans that cannot be read: another program wrote them.
        epochs: the greatest known epoch of a name, deleted ones too: hosts remember them.
        said: what each host said last.
        refusals: what the planner itself said last, of patterns that cannot be planned.
        statistics: the newest snapshot of each stream.
        passes: which patterns run together, by plans published last.
        shared_units: which of them are equal except for their names.
        counts: partial matches of running plans by step, where they contradict the estimates.
        drift: how far a stream must move for all plans on it to be looked at again.
    """

    patterns: dict[str, PatternRecord] = field(default_factory=dict)
    in_parts: dict[str, frozenset[str]] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    plans: dict[str, PlanRecord] = field(default_factory=dict)
    damaged: set[str] = field(default_factory=set)
    epochs: dict[str, int] = field(default_factory=dict)
    said: dict[str, dict[HostId, StatusRecord]] = field(default_factory=dict)
    refusals: dict[str, StatusRecord] = field(default_factory=dict)
    statistics: dict[str, StatisticsSnapshot] = field(default_factory=dict)
    passes: Passes = field(default_factory=Passes, init=False)
    shared_units: SharedUnits = field(default_factory=SharedUnits, init=False)
    counts: Counts = field(default_factory=Counts, init=False)
    drift: DriftPolicy = field(default_factory=DriftPolicy)
    _readers: Readers = field(default_factory=Readers, init=False)
    _movements: dict[str, Movement] = field(default_factory=dict, init=False)

    def take_pattern(self, name: str, pattern: PatternRecord | None, flaw: str | None = None) -> None:
        """Take a registration; None is a deleted one, or with a flaw one that cannot be read."""
        old = self.patterns.pop(name, None)
        if pattern is None:
            self.counts.forget(name)
        self.unreadable.pop(name, None)
        if old is not None:
            self._readers.remove(name, old.ordered_streams[0], old.reads)
        if pattern is not None:
            self.patterns[name] = pattern
            self._readers.add(name, pattern.ordered_streams[0], pattern.reads)
        elif flaw is not None:
            self.unreadable[name] = flaw

    def take_plan(self, name: str, plan: PlanRecord | None) -> None:
        """Take a plan that was published; None is a deleted one."""
        self.damaged.discard(name)
        if plan is None or plan.desired != "running":
            self._forget_plan(name)
        if plan is not None:
            self.plans[name] = plan
            self.note_epoch(name, plan.epoch)
            self.counts.take_plan(plan)
            self._join(plan)

    def take_damage(self, name: str) -> None:
        """Take note that the plan of a name cannot be read."""
        self._forget_plan(name)
        self.damaged.add(name)

    def take_status(self, status: StatusRecord) -> bool:
        """Take a host's report; return whether it has more than metrics, or counts that contradict the estimates."""
        if status.epoch > MOST_EPOCH:
            return False
        said, host = self.said.setdefault(status.name, {}), HostId(status.service, status.shard)
        before, said[host] = said.get(host), status
        self.note_epoch(status.name, status.epoch)
        plan = self.plans.get(status.name)
        is_contradicted = plan is not None and self.counts.take_status(status, plan)
        return before is None or _status_key(before) != _status_key(status) or is_contradicted

    def take_statistics(self, stream: str, snapshot: StatisticsSnapshot | None) -> set[str]:
        """Take a snapshot, None if the stream was deleted; return the patterns whose plans may have to change for it."""
        if snapshot is None:
            self.statistics.pop(stream, None)
            self._movements.pop(stream, None)
            return self._readers.of_stream(stream)
        self.statistics[stream] = snapshot
        moved = self._movements.setdefault(stream, Movement.begin(self.drift)).take(snapshot)
        return self._readers.of_stream(stream) if moved is None else self._readers.of_labels(stream, moved)

    def take_refusal(self, name: str, status: StatusRecord | None) -> None:
        """Take the reason why a pattern could not be planned; None takes it back."""
        self.refusals.pop(name, None)
        if status is not None:
            self.refusals[name] = status

    def note_epoch(self, name: str, epoch: int) -> None:
        """Take an epoch that was used."""
        self.epochs[name] = max(epoch, self.epochs.get(name, 0))

    def next_epoch(self, name: str) -> int:
        """Return an epoch that was not used for the name."""
        return self.epochs.get(name, 0) + 1

    def snapshot(self, stream: str) -> StatisticsSnapshot:
        """Return what is known of a stream."""
        return self.statistics.get(stream, StatisticsSnapshot())

    def plan_status(self, plan: PlanRecord) -> StatusRecord | None:
        """Return what the plan's host reported of the pattern last, if it was of this version."""
        status = self.said.get(plan.name, {}).get(HostId(plan.service, plan.shard))
        return status if status is not None and status.version == plan.version else None

    def load(self, host: HostId) -> int:
        """Return the estimated picoseconds an edge that a host's plans cost. Complexity: O(1)."""
        return self.shared_units.load(host)

    def _forget_plan(self, name: str) -> None:
        self.plans.pop(name, None)
        self.shared_units.remove(name)
        self.passes.leave(name)

    def _join(self, plan: PlanRecord) -> None:
        if plan.desired != "running":
            return
        try:
            stream = stream_of(plan)
            likeness = unit_key_of(plan.pattern.text, stream, plan.limits)
        except InvalidQueryError:
            # Another program wrote it, and no host runs it.
            self.shared_units.remove(plan.name)
            self.passes.leave(plan.name)
            return
        host = HostId(plan.service, plan.shard)
        self.shared_units.add(plan.name, likeness, host, plan.plan.physical, load_of(plan))
        self.passes.join(plan.name, PassId(stream, host), plan.engine, likeness)


def _status_key(status: StatusRecord) -> tuple[int, int, str, int | None]:
    """Return what decisions are made from."""
    return status.version, status.epoch, status.state, status.start


def load_of(plan: PlanRecord) -> int:
    """Return what a plan adds to its host's load: whole picoseconds, so that what comes and goes leaves nothing behind.

    Among thousands of patterns one costs less than a nanosecond, and still some.
    """
    picoseconds = plan.plan.considered[0].nanoseconds * 1000 if plan.plan.considered else 0.0
    return max(1, round(min(picoseconds, _MOST_LOAD)))
