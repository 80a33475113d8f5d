"""What is noted of event patterns beside a run: how many records could be each of their events, and what was asked about.

A record is tried for every place of every pattern by matching patterns of that one event over the same batches. So types and
conditions mean what they mean to the engine. Cost: about that of matching as many patterns of one event.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graphtide_core.event_expression import And, QueryEvent, events, positive_events
from graphtide_core.event_pattern import EventPattern
from graphtide_core.funnel import Reason, Step
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.predicate import aggregates, variables
from graphtide_core.time import Duration
from graphtide_query.event_trace import CandidateSlot, EventTrace
from graphtide_query.families import PlannerOptions
from graphtide_query.planner import plan_all

from graphtide.event_inquiry import Row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_native.records import EdgeBatch
    from graphtide_native.reports import PatternReport
    from graphtide_native.stages import Stages

    from graphtide.event_questions import Question


@dataclass(frozen=True, slots=True)
class _Tried:
    """A place of a pattern, with two patterns of one event: for events of its type, and for events that fit it."""

    pattern: PatternName
    event: QueryEvent
    drawn: str
    typed: EventPattern
    fitting: EventPattern


class EventWatch:
    """Sees the records that are matched, in their order; then says what was found."""

    def __init__(
        self,
        patterns: Sequence[AnyPattern],
        questions: Sequence[Question],
        stages: Stages,
    ) -> None:
        """Prepare for the event patterns among these, and for questions; batches are those of a run with these stages."""
        # What is noted here is of event patterns alone: no other has places that one event fills.
        own = [pattern for pattern in patterns if isinstance(pattern, EventPattern)]
        self._tried = tuple(_try(pattern, event) for pattern in own for event in events(pattern.root))
        self._once = frozenset(pattern.name for pattern in own if pattern.one_per)
        self._questions = questions
        self._stages = stages
        counting = [each for tried in self._tried for each in (tried.typed, tried.fitting)]
        self._matcher = stages.matcher(plan_all(counting, PlannerOptions(), unit=stages.unit))
        self._insertions = 0

    def take(self, batch: EdgeBatch) -> None:
        """See records."""
        if not self._tried:
            return
        for _ in self._matcher.push(batch):
            pass
        if self._questions:
            rows = [Row(batch, place, record) for place, record in enumerate(batch.to_records())]
            for question in self._questions:
                question.take(rows)

    def trace(self, reports: Mapping[PatternName, PatternReport]) -> EventTrace:
        """Say of the patterns of these names, and what was reported of each, what was found."""
        counts = [report.matches for report in self._matcher.patterns()]
        records = self._matcher.totals().records - self._matcher.totals().deletions
        places = []
        for tried, typed, fitting in zip(self._tried, counts[::2], counts[1::2], strict=True):
            if tried.pattern in reports:
                refused = {Reason.LABEL: records - typed, Reason.PREDICATE: typed - fitting}
                step = Step(records, {reason: count for reason, count in refused.items() if count}, fitting)
                places.append(CandidateSlot(tried.pattern, tried.event.name, tried.drawn, step))
        answers = tuple(question.answer(self._stages) for question in self._questions if question.pattern.name in reports)
        reported: dict[str, int] = {name: report.matches for name, report in reports.items()}
        suppressed: dict[str, int] = {name: report.suppressed for name, report in reports.items() if name in self._once}
        return EventTrace(tuple(places), reported, suppressed, answers, self._stages.unit)


def _try(pattern: EventPattern, event: QueryEvent) -> _Tried:
    single = replace(event, repeat=None)
    own = tuple(each for each in pattern.predicates if variables(each) == {event.name} and not any(aggregates(each)))
    typed = EventPattern(PatternName("typed"), And((single,)), Duration(1), StreamName("watched"))
    is_coming = event in positive_events(pattern.root)
    drawn = f"{'' if is_coming else 'NOT '}{event.name}{'' if event.type is None else f':{event.type}'}"
    return _Tried(pattern.name, event, drawn, typed, replace(typed, predicates=own, partition=pattern.partition))
