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

from graphtide_backfill.domain.task import Outcome, is_uncuttable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_native.match_batch import EncodedMatch, MatchBatch
    from graphtide_native.matcher import Matcher
    from graphtide_native.records import EdgeBatch

    from graphtide_backfill.domain.blocks import Block
    from graphtide_backfill.domain.slices import Slice
    from graphtide_backfill.domain.task import Task


class SliceMatching:
    """One slice; iterate `matches` once, then ask for the `outcome`."""

    def __init__(self, task: Task, piece: Slice, *, deletions: bool) -> None:
        """Prepare; `deletions` says whether history may delete edges."""
        self._task = task
        self._piece = piece
        self._deletions = deletions
        self._stages = Stages(task.unit, tuple(task.attributes))
        self._decoder = self._stages.arrow_decoder()
        windows = task.read_windows
        self._features = StreamFeatures(windows, task.unit, columns(task.patterns)) if windows else None
        self._matcher: Matcher | None = None
        self._edges = self._overlap = 0
        self._counts = dict.fromkeys(MatchKind, 0)
        self._seconds = 0.0
        self._has_begun = False
        self._uncuttable = [number for number, pattern in enumerate(task.patterns) if is_uncuttable(pattern)]

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
            edges=self._edges,
            overlap=self._overlap,
            matches=self._counts[MatchKind.MATCH],
            extensions=self._counts[MatchKind.EXTEND],
            retractions=self._counts[MatchKind.RETRACT],
            timeouts=self._counts[MatchKind.TIMEOUT],
            seconds=round(self._seconds, 6),
            state_bytes=self._matcher.totals().peak_state_bytes if self._matcher is not None else 0,
            is_exact=not any(report.limited or report.paused for report in reports),
            unmatched=tuple(
                (pattern.name, name)
                for pattern, report in zip(self._task.patterns, reports, strict=False)
                for name, hits in zip(family_of(pattern).layout(pattern).edges, report.hits, strict=True)
                if not hits
            ),
        )

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
            records = list(found.records())
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
        task = self._task
        known = sample(first, self._stages.symbols)
        colocated = ColocatedLoad.of(len(task.patterns))
        plans = plan_all(task.patterns, PlannerOptions(task.engine), unit=task.unit, statistics=known, colocated=colocated)
        matcher = self._stages.matcher(plans, deletions=self._deletions, limits=task.limits)
        for number in self._uncuttable:
            matcher.wait(number)
        return matcher


def _forget(batches: Iterable[MatchBatch]) -> None:
    for _ in batches:
        pass
