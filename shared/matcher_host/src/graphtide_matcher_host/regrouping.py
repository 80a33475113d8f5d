"""Event patterns of a pass that get a plan in common, planned in the background while the pass runs.

It is due when patterns have come, or their events come more or less often than they did. The plan is made in a thread, for the
patterns that run then. When it is ready, those of its patterns that still run get it between two records. The pass waits while
it takes the events that they hold again. Patterns that came meanwhile are for the next time.
One plan is made at a time, and the next no sooner than `PAUSE` times as long after it as it took.
"""

from __future__ import annotations

import time
from concurrent.futures import Future
from threading import Thread
from typing import TYPE_CHECKING, Final, NamedTuple

import structlog
from graphtide_core.any_pattern import ordered_stream
from graphtide_telemetry import events

from graphtide_matcher_host.grouping import planned_anew

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.ids import PatternName
    from graphtide_core.plans import AnyPlan

    from graphtide_matcher_host.stream_pass import StreamPass

_LOG = structlog.get_logger()

FIRST_SECONDS: Final = 2.0
"""How long patterns may come before a plan in common is considered."""

PAUSE: Final = 20
"""The pause before the next plan, as a multiple of the time that the last one took."""

Found = list[tuple[list["PatternName"], tuple["AnyPlan", ...]]]
"""The plans of units with the names of their patterns."""


class _UnderWay(NamedTuple):
    of: StreamPass
    begun: float
    answer: Future[Found]


class Regrouping:
    """Plans event patterns of a stream anew, now and then."""

    def __init__(self) -> None:
        """Plan nothing yet."""
        self._under_way: _UnderWay | None = None
        self._not_before: float | None = None

    def step(self, of: StreamPass, now: float) -> None:
        """Give a stream's pass the plan that was made for it, or begin to make one if that is due."""
        if self._under_way is not None:
            if self._under_way.answer.done():
                self._take(self._under_way, of, now)
            return
        if not of.is_stirred:
            return
        if self._not_before is None:
            self._not_before = now + FIRST_SECONDS
        if now >= self._not_before:
            groups, unit = of.event_groups(), of.unit

            def plan() -> Found:
                return [found for group in groups if (found := planned_anew(group, unit)) is not None]

            self._under_way = _UnderWay(of, time.monotonic(), in_background(plan))

    def _take(self, made: _UnderWay, of: StreamPass, now: float) -> None:
        self._under_way = None
        self._not_before = now + max(FIRST_SECONDS, PAUSE * (time.monotonic() - made.begun))
        try:
            found = made.answer.result()
        except Exception as error:
            _LOG.exception(events.UNITS_NOT_PLANNED, error=str(error))
            return
        if made.of is not of:
            return
        for names, plans in found:
            if of.regroup(names, plans):
                _LOG.info(events.UNITS_REGROUPED, stream=ordered_stream(plans[0].pattern), patterns=len(names))


def in_background(work: Callable[[], Found]) -> Future[Found]:
    """Begin with work in a thread, which ends with the process at the latest; what it raises, its answer raises."""
    answer: Future[Found] = Future()

    def do() -> None:
        try:
            answer.set_result(work())
        except Exception as error:
            answer.set_exception(error)

    Thread(target=do, name="regrouping", daemon=True).start()
    return answer
