"""One stream of a host: where it is read from, how far, its pass and its checkpoints."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import TransientError
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_log.window_log import Instant, between
from graphtide_ordering.faults import failing, is_foreseen, reason_of
from graphtide_telemetry import attributes as key
from graphtide_telemetry import events, instruments, metrics

from graphtide_matcher_host.assignment import State
from graphtide_matcher_host.building import Builder
from graphtide_matcher_host.checkpointing import Checkpointer
from graphtide_matcher_host.regrouping import Regrouping
from graphtide_matcher_host.stream_pass import DeletionsBeganError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from graphtide_core.consumption import ConsumptionCursor
    from graphtide_core.ids import PatternName, StreamName
    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_core.ports.log import LogReader, Record, TopicPartition
    from graphtide_core.time import TimeUnit
    from graphtide_native.match_batch import EncodedMatch
    from graphtide_native.reports import PatternReport
    from graphtide_wire.ordered import OrderedHeader

    from graphtide_matcher_host.assignment import Assignment, PlanStatus, Running
    from graphtide_matcher_host.building import Built
    from graphtide_matcher_host.joining import Joining, Missed

_LOG = structlog.get_logger()

_MOST_NEWCOMERS: Final = 64
"""Plans that read their past together."""

_MOST_COUNTED: Final = 500
"""Plans whose counts are reported at once: more would keep records waiting."""

HANDOVER_SECONDS: Final = 10.0
"""How long a checkpoint stays as it is where a plan left for another host, which reads it first of all."""

_LAST_SECONDS: Final = 60
"""How long the checkpoint of a stream stays when no plan is left: another host may be taking it over."""


class StreamWork:
    """The plans of one stream at work.

    Attributes:
        partition: of the stream's ordered edges.
        position: offset of the next record to take.
        built: the pass; None before plans were adopted.
        covered_at: when a checkpoint last held all that there was, in seconds of the clock; None if none ever did.
        unsaved: why the last checkpoint could not be saved; empty if it could.
    """

    def __init__(
        self,
        partition: TopicPartition,
        position: int,
        *,
        stream: StreamName,
        side: LogReader,
        reader: Callable[[], LogReader],
        store: CheckpointStore,
        key: str,
    ) -> None:
        """Begin at a position.

        Args:
            partition: of the stream's ordered edges.
            position: offset of the next record to take.
            stream: its name.
            side: a reader for looking back, which is not used elsewhere meanwhile.
            reader: makes a reader for plans that read their past while others run.
            store: where checkpoints are kept.
            key: of this stream's checkpoints.
        """
        self.partition = partition
        self.position = position
        self.built: Built | None = None
        self.covered_at: float | None = None
        self.unsaved = ""
        self._stream = stream
        self._side = side
        self._new_reader = reader
        self._past: LogReader | None = None
        self._newcomers: dict[PatternName, Running] = {}
        self._joining: Joining | None = None
        self._store = store
        self._key = key
        self._checkpoints = Checkpointer(store, key)
        self._builder = Builder(side, partition, self._checkpoints, store)
        self._save_from = 0.0
        self._held_until = 0.0
        self._saved: Built | None = None
        self._saved_position = -1
        self._ends: dict[PatternName, int] = {}
        self._next_end: int | None = None
        self._reported_unsaved: str | None = None
        self._regrouping = Regrouping()

    def adopt(self, running: Sequence[Running], gone: Collection[PatternName]) -> list[Missed]:
        """Add these plans to the pass, and remove those; the others stay. Return the matches that the new ones missed.

        Complexity: that of the log in the lookback of new plans; nothing for the others.

        Raises:
            TransientError: the log does not answer.
        """
        for name in gone:
            self._remove(name)
        new = [each for each in running if not self._takes(each)]
        for each in new:
            self._remove(each.assignment.name)
        if new:
            if self.built is None or not len(self.built.stream_pass.plans):
                deletions = self.built is not None and self.built.stream_pass.deletions
                self.built = self._builder.build(new, self.position, deletions=deletions)
            else:
                self.built = self._builder.join(self.built, new)
        for each in running:
            self._note_end(each)
        if self.built is None:
            return []
        missed, self.built.missed = self.built.missed, []
        return missed

    def __len__(self) -> int:
        """Return how many plans it has, newcomers too."""
        return len(self._newcomers) + (0 if self.built is None else len(self.built.stream_pass.plans))

    @property
    def has_newcomers(self) -> bool:
        """Whether plans are joining the pass."""
        return bool(self._newcomers)

    def has_others(self, names: Collection[PatternName]) -> bool:
        """Whether the pass has plans of patterns other than these. Complexity: O(these)."""
        if self.built is None:
            return False
        return len(self.built.stream_pass.plans) > sum(self.built.stream_pass.plans.get(name) is not None for name in names)

    def newcomers(self, names: Collection[PatternName]) -> list[Running]:
        """Return the joining plans of patterns other than these."""
        return [each for name, each in self._newcomers.items() if name not in names]

    def welcome(self, running: Sequence[Running]) -> None:
        """Let plans join the pass, which has some, when they have read their past; `let_join` continues that."""
        self._newcomers |= {each.assignment.name: each for each in running}

    def let_join(self, seconds: float) -> tuple[list[Running], list[Missed]]:
        """Let newcomers read their past for a while; return those that are in the pass now, and what they have to report.

        Raises:
            TransientError: the log does not answer.
        """
        if self.built is None or not self._newcomers:
            return [], []
        if self._joining is not None and not self._joining.is_beside(self.built.stream_pass):
            self._joining = None
        try:
            if self._joining is None:
                some = list(self._newcomers.values())[:_MOST_NEWCOMERS]
                self._joining = self._builder.joining(self.built, some, self._reader_of_past())
            if not self._joining.follow(seconds):
                return [], []
            self.built, joined = self._builder.admit(self.built, self._joining, seconds)
        except DeletionsBeganError:
            joined = list(self._newcomers.values())
            self.built = self._builder.with_deletions(self.built, joined)
        for each in joined:
            self._newcomers.pop(each.assignment.name)
            self._note_end(each)
        self._end_joining()
        missed, self.built.missed = self.built.missed, []
        return joined, missed

    def close(self) -> None:
        """Close what it opened."""
        if self._past is not None:
            self._past.close()
            self._past = None

    @property
    def unit(self) -> TimeUnit | None:
        """What a tick of the stream's time is; None before plans were adopted."""
        return self.built.stream_pass.unit if self.built is not None else None

    def has(self, plan: Running) -> bool:
        """Whether the pass has this very plan, so that no change is needed."""
        return self.built is not None and self.built.stream_pass.plans.has(plan.assignment)

    def has_of(self, name: PatternName) -> bool:
        """Whether the pass has a plan of a pattern."""
        return self.built is not None and self.built.stream_pass.plans.get(name) is not None

    def consumption(self, name: PatternName, version: int) -> ConsumptionCursor | None:
        """Return how far a version of a pattern had consumed with the last record that its plan here reports on.

        Returns:
            None if it does not consume, or has no plan here.
        """
        plan = None if self.built is None else self.built.stream_pass.plans.get(name)
        if self.built is None or plan is None or plan.assignment.version != version:
            return None
        return self.built.stream_pass.plans.consumption(name)

    def moved(self) -> set[PatternName]:
        """Return the patterns that have consumed, or begun to, since the last call."""
        return set() if self.built is None else self.built.stream_pass.plans.moved()

    def over(self) -> list[PlanStatus]:
        """Return the statuses of the plans whose end is reached. Complexity: O(1) while there is none."""
        if self.built is None or self._next_end is None or self.position < self._next_end:
            return []
        over = ((self.built.stream_pass.plans.get(name), end) for name, end in self._ends.items() if end <= self.position)
        return [plan.ended(State.STOPPED, end) for plan, end in over if plan is not None]

    def pass_over_gap(self) -> None:
        """Go to the next end of a plan if the log has no record before it: after its last record it has marks of transactions.

        Call it where a poll gave nothing.

        Raises:
            TransientError: the log does not answer.
        """
        end = self._next_end
        if end is None or self.built is None or self.position >= end:
            return
        with closing(between(self._side, self.partition, self.position, end, 1)) as records:
            if next(records, None) is None:
                self.position = self.built.stream_pass.position = end

    def take(self, record: Record, header: OrderedHeader) -> list[EncodedMatch]:
        """Take the next record with its header; return the matches to report.

        Raises:
            UnreadableStreamError: it is not what an ordered record must be; it was passed over.
            TransientError: the log does not answer.
        """
        if self.built is None:
            return []
        self.position = record.offset + 1
        try:
            return self.built.take(record, header)
        except DeletionsBeganError:
            # From now on matches of the window are remembered, to be retracted; so are matches from before this record.
            before = self.built.stream_pass
            self.built = self._builder.build(before.plans.running_from(record.offset), record.offset, deletions=True)
            self.built.stream_pass.plans.mark_moved(before.plans.moved())
            return self.built.take(record, header)
        finally:
            self.built.stream_pass.position = self.position
            self._note_place()

    def failing(
        self, plans: Sequence[Running], position: int, then: Callable[[Built], object] = bool
    ) -> list[tuple[Running, str]]:
        """Return the plans that cannot be brought to a position, or that fail in `then` there, each with the reason.

        Each try is a pass of its own, with the window read from the log: a checkpoint may be what is wrong. The pass that runs
        is not touched.

        Raises:
            TransientError: the log does not answer.
        """

        def fault(some: Sequence[Running]) -> str | None:
            nothing = MemoryCheckpoints()
            builder = Builder(self._side, self.partition, Checkpointer(nothing, self._key), nothing)
            try:
                try:
                    then(builder.build(some, position))
                except DeletionsBeganError:
                    then(builder.build(some, position, deletions=True))
            except BaseException as error:
                if is_foreseen(error):
                    raise
                return reason_of(error)
            return None

        return failing(plans, fault) if plans else []

    def refill(self, now: float) -> None:
        """Refill the work budgets of the plans for the time since the last call."""
        if self.built is not None:
            self.built.stream_pass.refill(now)

    def changes(self) -> dict[PatternName, PatternReport]:
        """Return the counts that changed since they were returned last, of some plans; the next call has the others."""
        return {} if self.built is None else self.built.stream_pass.changes(_MOST_COUNTED)

    def troubled_reports(self) -> dict[PatternName, PatternReport]:
        """Return the counts of all plans if the trouble of any of them may have changed since the last call; else none.

        At the first call, statuses of the process before may not hold any more; later, checkpoints may fail or recover.
        """
        if self.built is None or self._reported_unsaved == self.unsaved:
            return {}
        self._reported_unsaved = self.unsaved
        return self.built.stream_pass.reports()

    def save(self, now: float, every: float) -> None:
        """Save a checkpoint if `every` seconds passed since the last; without one, coming back takes longer."""
        if self._is_saved:
            self.covered_at = now
        elif self.built is not None and now >= self._save_from:
            self._save_from = now + every
            self._save(self.built, now)

    def hand_over(self, now: float) -> None:
        """Save a checkpoint that stays for a while, so that other hosts can take over the plans that leave.

        If one stays already, plans that leave meanwhile are in it, too. If the last one could not be saved, they need none.
        """
        if self.built is None or now < self._held_until or self.unsaved:
            return
        if not self._is_saved:
            self._save(self.built, now)
        self._save_from = self._held_until = now + HANDOVER_SECONDS

    @property
    def _is_saved(self) -> bool:
        return self._saved is self.built and self._saved_position == self.position

    def _save(self, built: Built, now: float) -> None:
        recorder = built.recorder
        recorder.cut()
        begun, outcome = time.perf_counter(), "failed"
        try:
            size = self._checkpoints.save(built.stream_pass, recorder.frames)
        except TransientError as error:
            _LOG.warning(events.CHECKPOINT_NOT_SAVED, error=str(error), topic=self.partition.topic)
            self.unsaved = str(error)
            recorder.expire(built.stream_pass.alive_from)
        else:
            outcome, self.unsaved = "saved", ""
            recorder.forget()
            self._saved, self._saved_position = built, self.position
            self.covered_at = now
            instruments.record(metrics.CHECKPOINT_SIZE, size, {key.STREAM: self._stream})
        instruments.record(
            metrics.CHECKPOINT_DURATION, time.perf_counter() - begun, {key.STREAM: self._stream, key.OUTCOME: outcome}
        )

    @property
    def stream(self) -> StreamName:
        """The name of the stream."""
        return self._stream

    def names(self) -> list[PatternName]:
        """Return the patterns whose plans run. Complexity: O(plans)."""
        return [] if self.built is None else self.built.stream_pass.plans.names()

    def partial_matches(self, name: PatternName, most: int) -> tuple[Assignment, bytes] | None:
        """Return the plan of a pattern and its partial matches nearest to completion, as JSON; None if it has no plan here."""
        plan = None if self.built is None else self.built.stream_pass.plans.get(name)
        if self.built is None or plan is None:
            return None
        found = self.built.stream_pass.partial_matches(name, most)
        return None if found is None else (plan.assignment, found)

    def regroup(self, now: float) -> None:
        """Give event patterns a plan in common if that is due, unless patterns are joining."""
        if self.built is not None and not self._newcomers:
            self._regrouping.step(self.built.stream_pass, now)

    def drop_checkpoint(self) -> None:
        """Have the log read in place of the checkpoint at the next opening."""
        with suppress(TransientError):
            self._store.expire(self._key, 0)

    def end(self) -> None:
        """Let the checkpoint expire after a while: no plan is left."""
        with suppress(TransientError):
            self._store.expire(self._key, _LAST_SECONDS)

    def _remove(self, name: PatternName) -> None:
        """Stop matching a plan, if it runs or is joining."""
        self._ends.pop(name, None)
        self._newcomers.pop(name, None)
        if self._joining is not None:
            self._joining.withdraw(name)
            self._end_joining()
        if self.built is not None and self.built.stream_pass.plans.get(name) is not None:
            self.built.stream_pass.remove(name)

    def _reader_of_past(self) -> LogReader:
        if self._past is None:
            self._past = self._new_reader()
        return self._past

    def _note_place(self) -> None:
        """Note the time at the position, for plans that join later."""
        if self.built is not None and (newest := self.built.stream_pass.newest) is not None:
            self._builder.landmarks.note(self.position, Instant(self.built.stream_pass.epoch, newest))

    def _end_joining(self) -> None:
        """End the joining, if no plan joins with it any more."""
        if self._joining is not None and not any(each.assignment.name in self._newcomers for each in self._joining.running):
            self._joining.give_back()
            self._joining = None

    def _note_end(self, plan: Running) -> None:
        self._ends.pop(plan.assignment.name, None)
        if plan.until is not None:
            self._ends[plan.assignment.name] = plan.until
        self._next_end = min(self._ends.values(), default=None)

    def _takes(self, plan: Running) -> bool:
        """Give the pass a plan, if it differs from the present one only in how the pattern is matched, and until where."""
        before = None if self.built is None else self.built.stream_pass.plans.get(plan.assignment.name)
        if self.built is None or before is None or not _is_replanned(plan, before):
            return False
        if (plan.assignment, plan.until) == (before.assignment, before.until):
            return True
        if not self.built.stream_pass.replan(plan):
            return False
        if plan.assignment.plan != before.assignment.plan:
            instruments.add(metrics.REPLANS, 1, {key.PATTERN: plan.assignment.name})
        return True


def _is_replanned(new: Running, old: Running) -> bool:
    """Whether a plan is another for the same pattern, start and limits."""
    same_pattern = old.assignment.plan.pattern == new.assignment.plan.pattern
    return same_pattern and (old.start, old.assignment.limits) == (new.start, new.assignment.limits)
