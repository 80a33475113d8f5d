"""The plans of one stream in one native pass.

Invariant: the pass has taken every ordered record below `position` that its state can depend on, all of one epoch of the
stream. What it reports are the matches of each plan from that plan's `reports_from` on; matches before are found, to be
retracted or not, and thrown away.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from graphtide_native.matcher import Matcher
from graphtide_native.records import ArrowDecoder, Symbols, ticks_per_second
from graphtide_native.spec import columns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from graphtide_core.ids import PatternName
    from graphtide_core.ports.log import Record
    from graphtide_native.matcher import MatchRecord, PatternReport
    from graphtide_native.records import EdgeBatch
    from graphtide_native.spec import Limits

    from graphtide_runtime.matcher_host.assignment import Assignment, Running


_SHARED_WORK: Final = 4_000
"""Steps of work a record that the plans of a pass share: as much as four patterns may spend that nobody gave other limits."""

_RECORDS_A_SECOND: Final = 4_096
"""Records whose worth of work a second is: all that a pattern can save up."""


class DeletionsBeganError(Exception):
    """The stream deletes edges, and the pass was made for one that does not; nothing of the record was taken."""


class StreamPass:
    """Matches ordered records with the plans of one stream.

    Attributes:
        position: offset of the next record to take.
        newest: time of the newest edge taken; None before the first.
        epoch: of the stream, from which the edges taken are.
        deletions: whether it is made for a stream that deletes edges.
        unit: what a tick of the stream's time is.
        attributes: those that its edges are decoded with.
        window: ticks of the longest window.

    Work on a record, and what is said of it, do not grow with the plans that it does not concern.
    """

    def __init__(self, running: Sequence[Running], *, deletions: bool) -> None:
        """Make a pass that has taken nothing; all plans are of one stream, and there is at least one."""
        self._running = list(running)
        self.position = 0
        self.newest: int | None = None
        self.epoch = 0
        self.deletions = deletions
        assignments = [each.assignment for each in running]
        self.unit = assignments[0].unit
        self.attributes = columns(each.plan.pattern for each in assignments)
        self.window = max(each.window for each in assignments)
        symbols = Symbols()
        self._matcher = Matcher(
            [each.plan for each in assignments],
            symbols,
            self.attributes,
            unit=self.unit,
            deletions=deletions,
            adaptive=True,
            limits=[_lenient(each.limits) for each in assignments],
            work=_SHARED_WORK,
        )
        self._decoder = ArrowDecoder(symbols, self.attributes, {}, ticks_per_second(self.unit))
        self._places = {each.name: place for place, each in enumerate(assignments)}
        self._starts = sorted((each.start, place) for place, each in enumerate(running))
        self._started = 0
        self._reports_from = min(each.reports_from for each in running)
        self._paused: dict[PatternName, PatternReport] = {}
        self._untold: dict[PatternName, PatternReport] = {}
        self._granted_at: float | None = None

    def anew(self, epoch: int) -> StreamPass:
        """Return a pass of the same plans for another epoch: nothing taken so far has a part in its matches.

        A plan that its limit paused stays paused, so that its host comes to say so.
        """
        begun = StreamPass(self._running, deletions=self.deletions)
        begun.epoch, begun.position = epoch, self.position
        begun._granted_at = self._granted_at
        begun._paused = {name: report for name, report in self.reports().items() if report.paused}
        begun._untold = dict(begun._paused)
        return begun

    @cached_property
    def forms(self) -> frozenset[str]:
        """Canonical forms of the query edges that its plans have."""
        return frozenset().union(*(each.assignment.forms for each in self._running))

    @property
    def running(self) -> Sequence[Running]:
        """The plans, in the order of the native matcher."""
        return self._running

    @property
    def alive_from(self) -> int:
        """Time of the oldest edges that are in the longest window."""
        return -(2**63) if self.newest is None else self.newest - self.window + 1

    def decode(self, record: Record) -> EdgeBatch:
        """Read an ordered record.

        Raises:
            UnreadableStreamError: it is not what an ordered record must be.
            DeletionsBeganError: see there.
        """
        return self._decoded(record.value or b"")

    def push(self, batch: EdgeBatch, offset: int) -> Iterator[list[MatchRecord]]:
        """Take the edges of the record at an offset; yield what is to be reported, in parts."""
        self._pass_starts(offset)
        for matches in self._matcher.push(batch):
            if self._reports_from <= offset:
                yield [match for match in matches.records() if self._reports(match.pattern.name, offset)]
        self._advance(batch, offset + 1)

    def grant(self, now: float) -> None:
        """Grant the plans work for the seconds since the last time: a quiet stream may have heavy patterns."""
        if self._granted_at is not None and now > self._granted_at:
            self._matcher.grant(int((now - self._granted_at) * _RECORDS_A_SECOND))
        self._granted_at = now

    @property
    def shed(self) -> frozenset[PatternName]:
        """Patterns that a limit made give up partial matches, here or where this pass comes from."""
        return frozenset(self._running[place].assignment.name for place in self._matcher.shed())

    def mark_shed(self, names: Collection[str]) -> None:
        """Mark the matches of these patterns as incomplete, as they were where this pass comes from."""
        for name, place in self._places.items():
            if name in names:
                self._matcher.mark_shed(place)

    def has(self, assignment: Assignment) -> bool:
        """Whether this very assignment is among its plans."""
        place = self._places.get(assignment.name)
        return place is not None and self._running[place].assignment == assignment

    def starts_at(self, offset: int) -> bool:
        """Whether some plan starts with the record at this offset, or began between the last one and it."""
        place = bisect_left(self._starts, (self.position,))
        return place < len(self._starts) and self._starts[place][0] <= offset

    def restore(self, selected: bytes, first: int) -> None:
        """Take edges that `select` gave earlier, of records from an offset on; no plan starts between two of them.

        Raises:
            DeletionsBeganError: see there.
        """
        self._pass_starts(first)
        batch = self._decoded(selected)
        for _ in self._matcher.push(batch):
            pass

    def select(self, batch: EdgeBatch) -> EdgeBatch:
        """Return the edges of a batch that the pass's state can depend on."""
        return self._matcher.select(batch)

    def replan(self, running: Running) -> bool:
        """Give a pattern another plan from the next record on, or another end; says whether it has it."""
        place = self._places[running.assignment.name]
        plan, old = running.assignment.plan, self._running[place].assignment.plan
        if plan.physical != old.physical and not self._matcher.replan(place, plan):
            return False
        self._running[place] = running
        self._reports_from = min(self._reports_from, running.reports_from)
        return True

    def reports(self) -> dict[PatternName, PatternReport]:
        """Return the counts of every plan since the pass was made; of one that was paused before, those up to then."""
        found = zip(self._running, self._matcher.patterns(), strict=True)
        return {each.assignment.name: report for each, report in found} | self._paused

    def changes(self, most: int) -> dict[PatternName, PatternReport]:
        """Return the counts that are others than when they were returned last, of so many plans at most; all have their turn.

        Of a plan that was paused before the pass was made they are those up to then, once.
        """
        changed = {self._running[place].assignment.name: report for place, report in self._matcher.changed(most).items()}
        told = {name: report for name, report in changed.items() if name not in self._paused} | self._untold
        self._untold = {}
        return told

    def _reports(self, name: PatternName, offset: int) -> bool:
        return self._running[self._places[name]].reports(offset) and name not in self._paused

    def _decoded(self, value: bytes) -> EdgeBatch:
        batch = self._decoder.decode(value)
        if self._decoder.has_operations() and not self.deletions:
            raise DeletionsBeganError
        return batch

    def _pass_starts(self, offset: int) -> None:
        """Let plans whose start is reached forget what was found before: nobody was told."""
        while self._started < len(self._starts) and self._starts[self._started][0] <= offset:
            self._matcher.forget_reported(self._starts[self._started][1])
            self._started += 1

    def _advance(self, batch: EdgeBatch, position: int) -> None:
        self.position = position
        if len(batch):
            self.newest = batch.last_ts


def _lenient(limits: Limits) -> Limits:
    """One pattern's limit must not end the pass of all: where it would fail, it is paused, and the host says that it failed."""
    return replace(limits, policy="pause") if limits.policy == "fail" else limits
