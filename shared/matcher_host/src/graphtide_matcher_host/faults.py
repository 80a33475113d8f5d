"""Repeated faults: what to take out so that the other plans of a stream continue.

An unforeseen fault ends a round, and the host opens again from what it committed. A fault that comes a second time at
the same place would come for ever. Then the host takes out the smallest part that fails:

1. Tracing: the matches go out without traces (`tracing`).
2. A record that cannot be read: it becomes a dead letter (`StreamPass.decode`).
3. A plan that fails on a record, in its past, or where its matches are written: its pattern ends as `failed`, with the reason.
   Trying plans apart from the others finds it.
4. A record that fails although no plan fails on it by itself: it becomes a dead letter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import structlog
from graphtide_ordering.faults import is_foreseen, reason_of
from graphtide_telemetry import attributes as key
from graphtide_telemetry import events, metrics
from graphtide_telemetry.instruments import add

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from graphtide_core.ids import PatternName
    from graphtide_core.ports.log import Record, TopicPartition

    from graphtide_matcher_host.assignment import Assignment, Running
    from graphtide_matcher_host.building import Built
    from graphtide_matcher_host.stream_work import StreamWork

_LOG = structlog.get_logger()

_MOST_KEPT: Final = 1_000
"""Places, records and plans that are remembered; of more, the newest."""

Kept = TypeVar("Kept")
Why = TypeVar("Why")


class PlanFaultError(Exception):
    """Writing the matches of one plan failed."""

    def __init__(self, name: PatternName, reason: str) -> None:
        """Name the plan's pattern, and say why."""
        super().__init__(f"pattern {name!r}: {reason}")
        self.name = name
        self.reason = reason


class Faults:
    """Failures on a host: places, once or again. It outlives the host's openings; a new process starts without any.

    Attributes:
        poison: records to leave out: partition and offset.
        condemned: plans that must not run, by pattern, version and epoch, with the reason. A plan of another epoch is tried.
    """

    def __init__(self, host: str) -> None:
        """Know no place where a host failed."""
        self._host = host
        self.poison: dict[tuple[TopicPartition, int], None] = {}
        self.condemned: dict[tuple[PatternName, int, int], str] = {}
        self._places: dict[Hashable, None] = {}

    def came_again(self, place: Hashable) -> bool:
        """Note a fault at a place; return whether one was noted there before, and forget it then."""
        if place in self._places:
            del self._places[place]
            return True
        _keep(self._places, place, None)
        return False

    def decide(
        self,
        error: BaseException,
        work: StreamWork,
        plans: Sequence[Running],
        record: Record | None = None,
        tried: Callable[[Built], object] = bool,
    ) -> None:
        """Note a fault; if it was repeated, find what fails, so that the next opening continues without it.

        Nothing is committed here: what was reported in this round is reported again after the opening.

        Args:
            error: the fault; the caller raises it.
            work: of the stream.
            plans: those that may be to blame.
            record: the record that they failed on; None where it was in their past.
            tried: lets a pass of its own take the record.

        Raises:
            TransientError: the log does not answer.
        """
        place = work.partition if record is None else (work.partition, record.offset)
        if is_foreseen(error) or not self.came_again(place):
            return
        if isinstance(error, PlanFaultError):
            found = [(each, error.reason) for each in plans if each.assignment.name == error.name]
        elif record is None:
            found = work.failing(plans, work.position)
        else:
            found = work.failing([each.reported_to(record.offset) for each in plans], record.offset, tried)
        for plan, reason in found:
            of = plan.assignment
            why = f"it failed twice, and the others continue without it: {reason}"
            _keep(self.condemned, (of.name, of.version, of.epoch), why)
            _LOG.error(events.PATTERN_FAILED, pattern=of.name, stream=of.stream, error=reason)
        if found:
            add(metrics.RECORD_FAULTS, len(found), {key.WORKER: self._host, key.OUTCOME: "pattern"})
        elif record is None:
            work.drop_checkpoint()
        else:
            _keep(self.poison, (work.partition, record.offset), None)
            _LOG.error(events.RECORD_FAULT, topic=record.topic, offset=record.offset, error=reason_of(error))
            add(metrics.RECORD_FAULTS, 1, {key.WORKER: self._host, key.OUTCOME: "record"})

    def reason(self, of: Assignment) -> str | None:
        """Return why a plan must not run; None if it may."""
        return self.condemned.get((of.name, of.version, of.epoch))


def _keep(known: dict[Kept, Why], new: Kept, why: Why) -> None:
    while len(known) >= _MOST_KEPT:
        del known[next(iter(known))]
    known[new] = why
