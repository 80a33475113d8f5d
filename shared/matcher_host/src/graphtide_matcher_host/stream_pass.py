"""The plans of one stream in one native pass.

Invariant: the pass has taken every ordered record below `position` that its state can depend on, all of one epoch of the
stream. It reports the matches of each plan since that plan's `reports_from`; earlier matches are found, to be retracted or
not, and discarded.
Plans come and go; those that stay are not touched.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import UnreadableStreamError
from graphtide_core.ids import PatternName
from graphtide_native.records import Symbols
from graphtide_native.spec import columns
from graphtide_native.stages import Stages
from graphtide_ordering.faults import is_foreseen, reason_of
from graphtide_query.families import family_of

from graphtide_matcher_host.coverage import ALWAYS, Coverage
from graphtide_matcher_host.grouping import groups, matched_by
from graphtide_matcher_host.pass_plans import PassPlans

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from graphtide_core.plans import AnyPlan
    from graphtide_core.ports.log import Record
    from graphtide_native.match_batch import EncodedMatch, MatchBatch
    from graphtide_native.records import EdgeBatch
    from graphtide_native.reports import PatternReport
    from graphtide_native.spec import Limits
    from graphtide_wire.ordered import OrderedHeader

    from graphtide_matcher_host.assignment import Assignment, Running
    from graphtide_matcher_host.grouping import Group


_SHARED_WORK: Final = 4_000
"""Steps of work a record that the plans of a pass share: as much as four patterns with default limits may spend."""

_RECORDS_A_SECOND: Final = 4_096
"""The work of a second, in records: all that a pattern can save up."""


class DeletionsBeganError(Exception):
    """The stream deletes edges, and the pass was made for one that does not; nothing of the record was taken."""


class StreamPass:
    """Matches ordered records with the plans of one stream.

    Attributes:
        plans: those that run.
        coverage: what the edges that `selected` gives cover.
        position: offset of the next record to take.
        newest: time of the newest edge taken; None before the first.
        passed: no edge before this time follows, by a watermark beyond the newest edge; None where none is.
        epoch: of the stream; the edges taken are of it.
        deletions: whether it is made for a stream that deletes edges.
        unit: what a tick of the stream's time is.
        symbols: labels of the edges that it decodes.
        number: of the next edge of the stream, as far as that is known.

    Work and reports for a record do not grow with the plans that it does not concern.
    """

    def __init__(self, running: Sequence[Running], *, deletions: bool, beside: StreamPass | None = None) -> None:
        """Make a pass that has taken nothing; all plans are of one stream, and there is at least one.

        Args:
            running: the plans.
            deletions: whether the stream deletes edges.
            beside: a pass that takes the batches that this one decodes and selects, in `join`.
        """
        self.position = 0
        self.newest: int | None = None
        self.passed: int | None = None
        self.number: int | None = None
        self.epoch = 0
        self.deletions = deletions
        assignments = [each.assignment for each in running]
        self.unit = assignments[0].unit
        self.symbols: Symbols = beside.symbols if beside is not None else Symbols()
        self.plans = PassPlans(running)
        known: Sequence[str] = beside.coverage.attributes if beside is not None else ()
        self.coverage: Coverage = Coverage(_extend(known, assignments), assignments)
        self._stages = Stages(self.unit, self.coverage.attributes, self.symbols)
        self._matcher = self._stages.matcher(
            matched_by(assignments, self.unit),
            deletions=deletions,
            adaptive=True,
            limits=[_lenient(each.limits) for each in assignments],
            work=_SHARED_WORK,
        )
        self._decoder = self._stages.arrow_decoder()
        for place, each in self.plans:
            self._matcher.wait(place, each.consumption)
        self._paused: dict[PatternName, PatternReport] = {}
        self._unreported: dict[PatternName, PatternReport] = {}
        self._refilled_at: float | None = None
        self._is_stirred = False

    def anew(self, epoch: int, offset: int) -> StreamPass:
        """Return a pass of the same plans for another epoch, which begins with the record at an offset.

        Records taken so far have no part in its matches, nor does earlier consumption.
        A plan that its limit paused stays paused, so that its host reports it.
        """
        running = [each if offset < each.begins else replace(each, consumption=None) for each in self.plans.running()]
        begun = StreamPass(running, deletions=self.deletions)
        begun.epoch, begun.position = epoch, self.position
        begun._refilled_at = self._refilled_at
        begun._paused = {name: report for name, report in self.reports().items() if report.paused}
        begun._unreported = dict(begun._paused)
        return begun

    @property
    def alive_from(self) -> int:
        """Time of the oldest edges that are in the longest window."""
        return ALWAYS if self.newest is None else self.newest - self.plans.window + 1

    # ---- records

    def decode(self, record: Record) -> EdgeBatch:
        """Read an ordered record.

        Raises:
            UnreadableStreamError: it is not what an ordered record must be.
            DeletionsBeganError: see there.
        """
        return self._decoded(record.value or b"")

    def push(self, batch: EdgeBatch, offset: int, header: OrderedHeader) -> Iterator[list[EncodedMatch]]:
        """Take the edges of the record at an offset, and its watermark; yield the reports in parts.

        Raises:
            UnreadableStreamError: its times go back: a damaged or foreign record. Nothing of it was taken.
        """
        if self.newest is not None and not batch.is_ordered_from(self.newest if self.passed is None else self.passed):
            message = f"it has edges from before {self.newest}, the time of the stream so far, or not in order"
            raise UnreadableStreamError(message)
        self._pass_starts(offset)
        if header.number is not None:
            self._count_from(header.number)
        consumed: set[PatternName] = set()
        for matches in self._taken(batch, header.watermark):
            if self.plans.reports_from <= offset:
                found = (match for match in matches.records() if self._reports(match.pattern.name, offset))
                reported = [match for match in found if self.plans.owns(match)]
                consumed.update(each.pattern.name for each in reported if each.pattern.consumes)
                yield reported
        for name in consumed:
            self._note_consumption(name)
        self.position = offset + 1

    def refill(self, now: float) -> None:
        """Add the seconds since the last refill to the work budgets of plans: a quiet stream may have heavy patterns."""
        if self._refilled_at is not None and now > self._refilled_at:
            self._matcher.refill(int((now - self._refilled_at) * _RECORDS_A_SECOND))
        self._refilled_at = now

    @property
    def shed(self) -> frozenset[PatternName]:
        """Patterns that gave up partial matches at a limit, here or in the pass that this one comes from."""
        return frozenset(map(self.plans.name, self._matcher.shed()))

    def mark_shed(self, names: Collection[str]) -> None:
        """Mark the matches of these patterns as incomplete, as in the pass that this one comes from."""
        for name in names:
            if (place := self.plans.place(PatternName(name))) is not None:
                self._matcher.mark_shed(place)

    def stand(self, position: int, newest: int | None, passed: int | None, number: int | None) -> None:
        """Set the position: all before it counts as taken. Where known, set the times `newest` and `passed`, too.

        `number` is that of the next edge of the stream, where it is known.
        """
        self.position = position
        if number is not None:
            self._count_from(number)
        if newest is not None and newest != ALWAYS:
            self.newest = newest
            for _ in self._matcher.advance(newest):
                pass
        if passed is not None:
            for _ in self._pass(passed):
                pass

    def restore(self, selected: bytes, first: int) -> EdgeBatch:
        """Take edges that `selected` gave earlier, here or elsewhere, of records from an offset on; return those it gives now.

        No plan starts between two of them.

        Raises:
            UnreadableStreamError: they are not such edges; nothing was taken.
            DeletionsBeganError: see there.
        """
        batch = self._decoded(selected)
        self._pass_starts(first)
        for _ in self._matcher.push(batch):
            pass
        return self.selected(batch)

    def selected(self, batch: EdgeBatch) -> EdgeBatch:
        """Return the edges of the batch pushed last that the pass's state can depend on."""
        return self._matcher.selected(batch) if len(batch) else batch

    # ---- plans that come and go

    def takes_batches_of(self, other: StreamPass) -> bool:
        """Whether edges that another pass beside it selected can be taken: both are at the same place of the stream."""
        return (self.epoch, self.deletions, self.position) == (other.epoch, other.deletions, other.position)

    def join(self, other: StreamPass, running: Running, selected: Sequence[tuple[int, EdgeBatch]]) -> None:
        """Take a plan of another pass that was made beside this one, at the same position.

        Args:
            other: the pass.
            running: the plan.
            selected: what the other selected of its window, by the offsets of the records, in their order.
        """
        since = ALWAYS if self.newest is None else self.newest + 1
        if self.coverage.attributes != other.coverage.attributes:
            self.coverage.extend(other.coverage.attributes, since)
            self._stages = Stages(self.unit, self.coverage.attributes, self.symbols)
            self._decoder = self._stages.arrow_decoder()
        has_begun = running.begins < self.position
        if has_begun:
            other._pass_starts(self.position - 1)
        name = running.assignment.name
        running = replace(running, consumption=other.plans.consumption(name))
        unreported = [batch for offset, batch in selected if offset < running.start]
        emitted = [batch for offset, batch in selected if offset >= running.start]
        place = self._take(running, unreported, emitted, since, has_begun=has_begun)
        self._matcher.take_deduplication(place, other._matcher, other._place(name))
        self.mark_shed(other.shed & {name})

    def remove(self, name: PatternName) -> None:
        """Stop matching a plan."""
        place, assignment = self.plans.remove(name)
        self._matcher.remove(place)
        self.coverage.remove(assignment)
        self._paused.pop(name, None)
        self._unreported.pop(name, None)

    def replan(self, running: Running) -> bool:
        """Give a pattern another plan from the next record on, or another end; says whether it has it.

        Event patterns stay in their units.
        """
        place = self._place(running.assignment.name)
        plan, old = running.assignment.plan, self.plans[place].assignment.plan
        if plan.physical != old.physical:
            if family_of(plan.pattern).is_united:
                self._is_stirred = True
            elif not self._matcher.exchange({place: matched_by([running.assignment], self.unit)[0]}):
                return False
        self.plans.replace(running)
        return True

    @property
    def is_stirred(self) -> bool:
        """Whether event patterns came, or are to be grouped otherwise, since `event_groups` was asked for."""
        return self._is_stirred

    def event_groups(self) -> list[Group]:
        """Return its event patterns, as far as they may be of one unit."""
        self._is_stirred = False
        return groups((each.assignment, self._matcher.plan(place)) for place, each in self.plans)

    def regroup(self, names: Sequence[PatternName], plans: Sequence[AnyPlan]) -> bool:
        """Match event patterns by a plan in common from the next record on, if it is still for what runs; says whether it is.

        Args:
            names: of the patterns of the unit, in their order; the unit drops those that went meanwhile.
            plans: of the unit, in the same order.
        """
        places, family = [self.plans.place(name) for name in names], family_of(plans[0].pattern)
        for place in reversed(range(len(names))):
            number = places[place]
            if number is None or self._matcher.plan(number).pattern != plans[place].pattern:
                plans = family.without(plans, place)
                del places[place]
        found = [place for place in places if place is not None]
        if not found or not self._are_whole_units(found):
            return False
        return bool(self._matcher.exchange(dict(zip(found, plans, strict=True))))

    def _are_whole_units(self, numbers: Sequence[int]) -> bool:
        """Return whether these are all running patterns of their units."""
        units = {id(self._matcher.unit(number)) for number in numbers}
        of_units = [place for place, _ in self.plans if id(self._matcher.unit(place)) in units]
        return sorted(of_units) == sorted(numbers)

    # ---- counts

    def reports(self) -> dict[PatternName, PatternReport]:
        """Return the counts of every plan since the pass was made; for one that was paused before, those up to then."""
        found = zip(sorted(place for place, _ in self.plans), self._matcher.patterns(), strict=True)
        return {self.plans.name(place): report for place, report in found} | self._paused

    def changes(self, most: int) -> dict[PatternName, PatternReport]:
        """Return counts that changed since they were returned last, of so many plans at most; the next call has the others.

        For a plan that was paused before the pass was made they are those up to then, once.
        """
        changed = {self.plans.name(place): report for place, report in self._matcher.changed(most).items()}
        emitted = {name: report for name, report in changed.items() if name not in self._paused} | self._unreported
        self._unreported = {}
        return emitted

    def partial_matches(self, name: PatternName, most: int) -> bytes | None:
        """Return the partial matches of a pattern that are nearest to completion, as JSON; None if it has no plan here."""
        place = self.plans.place(name)
        return None if place is None else self._matcher.partial_matches(place, most)

    # ---- parts

    def _take(
        self, running: Running, unreported: Sequence[EdgeBatch], emitted: Sequence[EdgeBatch], since: int, *, has_begun: bool
    ) -> int:
        """Match one more plan, which wants edges that `selected` gives only since a time; return its number."""
        assignment = running.assignment
        (plan,) = matched_by([assignment], self.unit)
        self._is_stirred |= family_of(plan.pattern).is_united
        place = self._matcher.add(
            plan,
            _lenient(assignment.limits),
            unreported=unreported,
            reported=emitted,
            projected=self.coverage.attributes,
            has_begun=has_begun,
            consumption=running.consumption,
        )
        self.plans.add(place, running, has_begun=has_begun)
        self.coverage.add(assignment, since)
        return place

    def _place(self, name: PatternName) -> int:
        """Return the number of a pattern that is here."""
        place = self.plans.place(name)
        if place is None:
            raise KeyError(name)
        return place

    def _decoded(self, value: bytes) -> EdgeBatch:
        try:
            batch = self._decoder.decode(value)
        except Exception as error:
            if is_foreseen(error):
                raise
            # The same bytes fail in the same way at every reading: the record is poison, the stream is not.
            raise UnreadableStreamError(reason_of(error)) from error
        if self._decoder.has_operations() and not self.deletions:
            raise DeletionsBeganError
        return batch

    def _count_from(self, number: int) -> None:
        """Set the number of the stream's next edge."""
        self.number = number
        self._matcher.count_from(number)

    def _pass(self, watermark: int) -> Iterator[MatchBatch]:
        """Let time pass: no earlier edge follows. Yield what that alone emits."""
        if self.newest is not None and watermark > (self.newest if self.passed is None else self.passed):
            self.passed = watermark
            yield from self._matcher.pass_time(watermark)

    def _pass_starts(self, offset: int) -> None:
        """Let plans begin whose matches count from here: earlier matches were not reported."""
        for place in self.plans.begin(offset):
            self._matcher.begin(place)
            self._note_consumption(self.plans.name(place))

    def _note_consumption(self, name: PatternName) -> None:
        self.plans.note(name, self._matcher.consumption(self._place(name)))

    def _reports(self, name: PatternName, offset: int) -> bool:
        return name not in self._paused and self.plans.reports(name, offset)

    def _taken(self, batch: EdgeBatch, watermark: int) -> Iterator[MatchBatch]:
        """Take edges, and then the time that passes with them: by a dropped duplicate behind them, or by waiting edges."""
        if len(batch):
            yield from self._matcher.push(batch)
            self.newest, self.passed = batch.last_ts, None
            self.number = None if self.number is None else self.number + batch.edges
        yield from self._pass(watermark)


def _extend(attributes: Sequence[str], assignments: Sequence[Assignment]) -> tuple[str, ...]:
    """Return attributes, followed by what plans read more."""
    read = columns(each.plan.pattern for each in assignments)
    return (*attributes, *(each for each in read if each not in attributes))


def _lenient(limits: Limits) -> Limits:
    """One pattern's limit must not end the pass of all: it pauses instead of failing, and the host reports that it failed."""
    return replace(limits, policy="pause") if limits.policy == "fail" else limits
