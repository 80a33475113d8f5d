"""Matching one slice: the same engines as on a live stream, over the slice's edges and a window before them.

Matches of the edges before the slice are found and thrown away; the slices of these edges reported them.
`graphtide_backfill.domain.slices` shows why that is exact. Memory: the edges of a window with the engines' state, and what
waits for its order; the slice's length does not count.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from graphtide_core.match import MatchKind
from graphtide_native.features import StreamFeatures
from graphtide_native.sampling import sample
from graphtide_native.spec import columns
from graphtide_native.stages import Stages
from graphtide_query.estimates.colocation import ColocatedLoad
from graphtide_query.families import PlannerOptions, family_of
from graphtide_query.planner import plan_all

from graphtide_backfill.domain.division import Owners
from graphtide_backfill.domain.task import Outcome, is_uncuttable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphtide_native.match_batch import EncodedMatch, MatchBatch
    from graphtide_native.matcher import Matcher
    from graphtide_native.records import EdgeBatch
    from graphtide_native.reports import PatternReport

    from graphtide_backfill.domain.blocks import Block
    from graphtide_backfill.domain.division import Division
    from graphtide_backfill.domain.slices import Slice
    from graphtide_backfill.domain.task import Task


class SliceMatching:
    """One slice; iterate `matches` once, then ask for the `outcome`."""

    def __init__(self, task: Task, piece: Slice, *, deletions: bool, division: Division | None = None) -> None:
        """Prepare; `deletions` says whether history may delete edges, and `division` by which key it is divided."""
        self._task = task
        self._piece = piece
        self._patterns = task.patterns if division is None else division.matched(task.patterns, piece.part)
        self._owners = Owners(division, piece.part)
        self._deletions = deletions
        self._stages = Stages(task.unit, tuple(task.attributes))
        self._decoder = self._stages.arrow_decoder()
        windows = task.read_windows
        self._features = StreamFeatures(windows, task.unit, columns(task.patterns)) if windows else None
        self._matcher: Matcher | None = None
        self._edges = self._overlap = self._copies = 0
        self._counts = dict.fromkeys(MatchKind, 0)
        self._seconds = 0.0
        self._has_begun = False
        self._uncuttable = [number for number, pattern in enumerate(self._patterns) if is_uncuttable(pattern)]

    def matches(self, blocks: Iterable[Block]) -> Iterator[list[EncodedMatch]]:
        """Take the slice's blocks by their places; yield the records of what is detected in the slice, in order, in parts.

        Raises:
            LimitExceededError: a pattern reached a bound under the policy `fail`.
        """
        started = time.perf_counter()
        for batch in self._completed(blocks):
            own = batch.later_than(self._piece.start - 1) if self._piece.start > -(2**63) else batch
            before = batch.part(0, len(batch) - len(own))
            matcher = self._matcher = self._matcher or self._planned(batch)
            self._overlap += len(before)
            self._edges += len(own)
            _forget(matcher.push(before))
            if len(own):
                self._begin(matcher)
                yield from self._emitted(matcher.push(own))
        if self._matcher is not None:
            self._begin(self._matcher)
            yield from self._emitted(self._ended(self._matcher))
        self._seconds = time.perf_counter() - started

    @property
    def outcome(self) -> Outcome:
        """What was done; true once `matches` has ended."""
        reports = self._matcher.patterns() if self._matcher is not None else ()
        return Outcome(
            slice=self._piece.number,
            edges=self._edges - self._copies,
            overlap=self._overlap + self._copies,
            matches=self._counts[MatchKind.MATCH],
            extensions=self._counts[MatchKind.EXTEND],
            retractions=self._counts[MatchKind.RETRACT],
            timeouts=self._counts[MatchKind.TIMEOUT],
            seconds=round(self._seconds, 6),
            state_bytes=self._matcher.totals().peak_state_bytes if self._matcher is not None else 0,
            is_exact=not any(report.limited or report.paused for report in reports),
            unmatched=tuple(self._unmatched(reports)),
        )

    def _unmatched(self, reports: Sequence[PatternReport]) -> Iterator[tuple[str, str]]:
        """Yield the query edges that nothing here could be; those of patterns that other parts match are among them."""
        hits = {pattern.name: report.hits for pattern, report in zip(self._patterns, reports, strict=False)}
        for pattern in self._task.patterns:
            names = family_of(pattern).layout(pattern).edges
            for name, count in zip(names, hits.get(pattern.name, [0] * len(names)), strict=True):
                if not count:
                    yield pattern.name, name

    def _begin(self, matcher: Matcher) -> None:
        """Let time pass to the beginning of the slice: what is settled by then was reported by slices before."""
        if not self._has_begun:
            self._has_begun = True
            _forget(matcher.advance(self._piece.start))
            for number in self._uncuttable:
                matcher.begin(number)

    def _ended(self, matcher: Matcher) -> Iterator[MatchBatch]:
        """Let time pass to the end of the slice; if history ends with it, to its last record, which may be a duplicate."""
        if not self._piece.is_last:
            yield from matcher.advance(self._piece.end)
            return
        yield from matcher.advance(self._piece.end - 1)
        yield from matcher.finish()

    def _emitted(self, batches: Iterable[MatchBatch]) -> Iterator[list[EncodedMatch]]:
        for found in batches:
            records = [each for each in found.records() if self._owners.report(each.pattern, each.json)]
            for record in records:
                self._counts[record.kind] += 1
            yield records

    def _completed(self, blocks: Iterable[Block]) -> Iterator[EdgeBatch]:
        """Yield the edges in order with features, and what EMIT gives before the end of the slice."""
        for ordered in self._ordered(blocks):
            if len(ordered):
                yield ordered if self._features is None else self._features.add_to(ordered)
        given = None if self._features is None else self._features.advance(self._piece.end - 1)
        if given is not None:
            yield given

    def _ordered(self, blocks: Iterable[Block]) -> Iterator[EdgeBatch]:
        """Yield the edges in the order (ts, arrival)."""
        sequencer = self._stages.sequencer()
        for block in blocks:
            self._copies += block.copies
            batch = self._decoder.decode(block.edges)
            last = batch.last_ts
            if last is not None and last <= block.settled and not sequencer.pending:
                # No record waits, and no later one is earlier in time.
                yield batch
                continue
            yield sequencer.push(batch)
            ready = sequencer.settle(block.settled)
            if ready is not None:
                yield ready
        rest = sequencer.finish()
        if rest is not None:
            yield rest

    def _planned(self, first: EdgeBatch) -> Matcher:
        task, patterns = self._task, self._patterns
        known = sample(first, self._stages.symbols)
        colocated = ColocatedLoad.of(len(patterns))
        plans = plan_all(patterns, PlannerOptions(task.engine), unit=task.unit, statistics=known, colocated=colocated)
        matcher = self._stages.matcher(plans, deletions=self._deletions, limits=task.limits)
        for number in self._uncuttable:
            matcher.wait(number)
        return matcher


def _forget(batches: Iterable[MatchBatch]) -> None:
    for _ in batches:
        pass
