"""The host: follows its plans, matches ordered streams, commits matches and positions together.

One round does, in this order, and may be killed between any two steps:

1. Follow the plans. What changed is adopted in a transaction of its own: matches that a new plan missed, and its status.
   Plans that are new beside others read their past first, a while in each round, so that the others need not wait.
2. Read ordered records.
3. Match them, writing the matches into a transaction.
4. Commit matches, statuses of plans, and positions: all or nothing.
5. Save checkpoints that are due. None is ahead of what was committed.
6. Look at the partial matches of a pattern, if that is due.

After a crash the host continues from the positions committed. The state of the window before comes from the checkpoint and the
log. So matches that were committed are found again and not reported again, and those that were not are reported. Two hosts of
one identity: the second to open shuts the first out, whose next call raises `FencedError`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import (
    CollidingTopicError,
    FatalError,
    FencedError,
    PoisonRecordError,
    UnreadableStreamError,
)
from graphtide_core.ports.log import Position, TopicPartition
from graphtide_log.committed_offset_check import CommittedOffsetCheck
from graphtide_log.follower import Follower
from graphtide_ordering.faults import is_foreseen, reason_of
from graphtide_serving.opened import close_all, open_worker
from graphtide_telemetry import events
from graphtide_telemetry.resident import resident_bytes
from graphtide_wire import ordered
from graphtide_wire.hosts import StreamPlace

from graphtide_matcher_host.assignment import NO_STREAM, PlanStatus, Refusal, Running, State
from graphtide_matcher_host.checkpoint_form import key_of
from graphtide_matcher_host.faults import Faults
from graphtide_matcher_host.grouping import flaw_of
from graphtide_matcher_host.host_metrics import HostMetrics
from graphtide_matcher_host.occupancy import Occupancy
from graphtide_matcher_host.partial_matches import PartialMatchViews
from graphtide_matcher_host.reconciling import drop, reconcile, refuse_plan, runs
from graphtide_matcher_host.stream_work import StreamWork
from graphtide_matcher_host.tracing import matching
from graphtide_matcher_host.trouble import limit_reached, trouble
from graphtide_matcher_host.views import Views

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from graphtide_core.ids import PatternName, StreamName
    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogReader, LogTransactor, Message, Record
    from graphtide_core.ports.partial_matches import PartialMatchStore
    from graphtide_native.match_batch import EncodedMatch
    from graphtide_native.reports import PatternReport
    from graphtide_wire.ordered import OrderedHeader

    from graphtide_matcher_host.assignment import Assignment
    from graphtide_matcher_host.building import Built
    from graphtide_matcher_host.partial_matches import ViewSettings
    from graphtide_matcher_host.records import HostRecords

_LOG = structlog.get_logger()

JOIN_SECONDS: Final = 0.008
"""How long new plans read their past in a round, while running plans wait."""


@dataclass(frozen=True, slots=True)
class HostSettings:
    """How a host works.

    Attributes:
        linger_seconds: how long a round waits for records.
        most_records: ordered records a round takes at most.
        checkpoint_seconds: time between two checkpoints of a stream.
        counts_seconds: time between two reports of counts.
    """

    linger_seconds: float = 0.2
    most_records: int = 16
    checkpoint_seconds: float = 5.0
    counts_seconds: float = 2.0


@dataclass(slots=True)
class _Opened:
    """The resources of an open host."""

    transactor: LogTransactor
    reader: LogReader
    side: LogReader
    plans: Follower
    views: Views


class MatcherHost:
    """A `Worker` that runs the plans of one shard of a matcher service."""

    def __init__(
        self,
        log: Log,
        checkpoints: CheckpointStore,
        records: HostRecords,
        clock: Clock,
        settings: HostSettings | None = None,
        *,
        partial_matches: tuple[PartialMatchStore, ViewSettings] | None = None,
    ) -> None:
        """Prepare; nothing is opened yet. With a store for views of partial matches, they are published there."""
        self._settings = settings or HostSettings()
        self._log = log
        self._store = checkpoints
        self._records = records
        self._clock = clock
        self._opened: _Opened | None = None
        self._desired: dict[PatternName, Assignment] = {}
        self._refusals: dict[PatternName, Refusal] = {}
        self._plan_statuses: dict[PatternName, PlanStatus] = {}
        self._works: dict[StreamName, StreamWork] = {}
        self._counts: dict[PatternName, PatternReport] = {}
        self._reported_at = 0.0
        self._committed_offset_check = CommittedOffsetCheck(records.group, TopicPartition(records.plans, 0))
        self._telemetry = HostMetrics(records.group, clock)
        self._occupancy = Occupancy(clock)
        self._has_topic_of_costs = False
        self._faults = Faults(records.group)
        self._partial_matches = (
            None if partial_matches is None else PartialMatchViews(partial_matches[0], records.group, clock, partial_matches[1])
        )

    @property
    def name(self) -> str:
        """Its group, which only one process at once may have."""
        return self._records.group

    def open(self) -> None:
        """Shut other hosts of this identity out, and continue from what was committed.

        Raises:
            TransientError: the log does not answer.
        """
        transactor, reader = self._log.transactor(self._records.group), self._log.reader(self._records.group)
        side = self._log.reader(None)
        views = Views(self._log, self._records.topics, side, self._clock)
        self._opened = _Opened(transactor, reader, side, Follower(self._log, self._records.plans), views)
        transactor.open()
        self._desired, self._refusals, self._plan_statuses, self._works, self._counts = {}, {}, {}, {}, {}
        self._telemetry.follow(self._plan_statuses, self._counts, self._works)
        self._recall()
        ran = [(each.stream, each.name) for each in self._plan_statuses.values() if each.state is State.RUNNING]
        self._adopt(_by_stream([*ran, *self._note(self._opened.plans.to_the_end())]))

    def step(self) -> None:
        """Do one round; the module's docstring numbers its steps.

        Raises:
            TransientError: something did not answer; open again to continue.
            FencedError: another host took the identity.
        """
        opened = self._needed()
        # Step 1.
        opened.views.poll()
        changed = self._note(opened.plans.poll())
        if changed:
            self._adopt(_by_stream(changed))
        if not self._works:
            with self._occupancy.waiting():
                self._clock.sleep(self._settings.linger_seconds)
            return
        self._let_join()
        for work in self._works.values():
            work.refill(self._clock.monotonic())
        # Step 2.
        is_hurried = any(work.has_newcomers for work in self._works.values())
        with self._occupancy.waiting():
            records = opened.reader.poll(0 if is_hurried else self._settings.linger_seconds, self._settings.most_records)
        self._telemetry.polled({self._records.stream_of(record): record for record in records}, self._works)
        is_due = self._clock.monotonic() - self._reported_at >= self._settings.counts_seconds
        header = self._due_counts() if is_due else []
        if not records:
            for work in self._works.values():
                work.pass_over_gap()
        over = self._over()
        # Without records, too, so that a host that was shut out learns of it.
        if records or is_due or over:
            # Step 3.
            opened.transactor.begin()
            for record in records:
                opened.transactor.write(self._matched(record))
            opened.transactor.write(header)
            opened.transactor.write(self._report_consumption())
            over = self._over()
            opened.transactor.write([self._record_status(plan_status) for plan_status in over])
            # Step 4.
            positions = {work.partition: Position(work.position) for work in self._works.values()}
            opened.transactor.commit(self._records.group, positions)
            self._telemetry.committed()
            if over:
                self._adopt(_by_stream((plan_status.stream, plan_status.name) for plan_status in over))
        # Step 5.
        for work in self._works.values():
            work.save(self._clock.monotonic(), self._settings.checkpoint_seconds)
        for work in self._works.values():
            work.regroup(self._clock.monotonic())
        # Step 6.
        if self._partial_matches is not None:
            self._partial_matches.look(self._works.values())

    def close(self) -> None:
        """Release everything; uncommitted work is lost."""
        if self._opened is not None:
            of = self._opened
            close_all([of.reader, of.side, of.plans, of.views, of.transactor, *self._works.values()])
            self._opened = None
        if self._partial_matches is not None:
            self._partial_matches.close()
        self._telemetry.close()

    def _needed(self) -> _Opened:
        return open_worker(self._opened, "the host")

    def _recall(self) -> None:
        """Read the statuses of plans that this host reported before."""
        status = Follower(self._log, self._records.status)
        try:
            for record in status.committed():
                if (plan_status := self._records.plan_status(record)) is not None:
                    self._plan_statuses[plan_status.name] = plan_status
        finally:
            status.close()

    def _note(self, records: Iterable[Record]) -> list[tuple[StreamName, PatternName]]:
        """Take what the planner wrote; return what changed: patterns, with the streams that it concerns."""
        changed: list[tuple[StreamName, PatternName]] = []
        for record in records:
            name = self._records.name_of(record)
            before, known = self._desired.pop(name, None), self._plan_statuses.get(name)
            self._refusals.pop(name, None)
            try:
                wanted = self._records.assignment(record)
            except Exception as error:
                if is_foreseen(error) and not isinstance(error, PoisonRecordError):
                    raise
                reason = error.reason if isinstance(error, PoisonRecordError) else reason_of(error)
                _LOG.warning(events.PLAN_REFUSED, pattern=name, error=reason)
                self._refusals[name] = self._records.refusal(record, reason)
                wanted = None
            if wanted is not None:
                self._desired[name] = wanted
            if before != wanted:
                changed += [(each.stream, name) for each in (before, wanted) if each is not None]
                changed += [(known.stream, name)] if known is not None and known.state is State.RUNNING else []
        self._refuse()
        return changed

    def _refuse(self) -> None:
        """Report why plans cannot be read; for plans that run here, `_adopt` reports it at their end."""
        known = ((refusal, self._plan_statuses.get(name)) for name, refusal in self._refusals.items())
        emitted = (refuse_plan(refusal, each) for refusal, each in known if each is None or each.state is not State.RUNNING)
        messages = [
            self._record_status(each) for each in emitted if each is not None and each != self._plan_statuses.get(each.name)
        ]
        if messages:
            self._commit(messages, {})

    def _adopt(self, changed: Mapping[StreamName, Collection[PatternName]]) -> None:
        """Reconcile the passes of streams with the desired plans of some patterns, and report it."""
        for stream, names in sorted(changed.items()):
            if self._refused_stream(stream, names):
                continue
            left: Collection[PatternName] = names
            while left:
                left = self._adopt_one(stream, left)
        self._needed().reader.assign({work.partition: work.position for work in self._works.values()})

    def _refused_stream(self, stream: StreamName, names: Collection[PatternName]) -> bool:
        """Fail the plans of a stream whose topics cannot be read or made; other streams continue. Return whether it did.

        Raises:
            FatalError: plans run on the stream: what they have reported is not known before the log is.
        """
        try:
            self._work(stream)
        except FencedError:
            raise
        except (CollidingTopicError, FatalError) as error:
            if any(each.state is State.RUNNING and each.stream == stream for each in self._plan_statuses.values()):
                raise
            for name in names:
                wanted = self._desired.get(name)
                if wanted is not None and wanted.stream == stream:
                    del self._desired[name]
                    self._refusals[name] = Refusal(name, wanted.version, wanted.epoch, f"stream {stream!r}: {error}")
            self._refuse()
            return True
        return False

    def _adopt_one(self, stream: StreamName, names: Collection[PatternName]) -> list[PatternName]:
        """Reconcile the pass of a stream; return the patterns whose plans ended by that: they need another look."""
        work = self._work(stream)
        to_run, emitted = self._reconcile(stream, names, work)
        running: list[Running] = []
        newcomers: list[Running] = []
        for each in to_run:
            # The reported status must not fall behind the commits.
            goes_on = runs(each.assignment, self._plan_statuses.get(each.assignment.name))
            (running if goes_on else newcomers).append(each)
        if not running and not work.has_others(names):
            # No plan waits for them.
            running, newcomers = [*newcomers, *work.newcomers(names)], []
        if any(work.has_of(name) and self._moves(name) for name in names):
            work.hand_over(self._clock.monotonic())
        try:
            missed = work.adopt(running, set(names) - {each.assignment.name for each in running})
        except BaseException as error:
            self._faults.decide(error, work, running)
            raise
        views = self._needed().views
        for name in names:
            views.end(name)
        for each in running:
            views.begin(each.assignment)
        work.welcome(newcomers)
        messages = [message for each in missed for message in self._reported(each.record, each.header, each.matches)]
        over = work.over()
        emitted += [each.plan_status for each in running] + over
        moved = work.moved()
        for plan_status in emitted:
            if plan_status.name in moved or not plan_status.is_said_by(self._plan_statuses.get(plan_status.name)):
                position = work.position if plan_status.state is State.RUNNING else None
                messages.append(self._record_status(plan_status, position=position))
        self._commit(messages, {work.partition: Position(work.position)})
        if not len(work):
            work.end()
            work.close()
            del self._works[stream]
        return [plan_status.name for plan_status in over]

    def _moves(self, name: PatternName) -> bool:
        """Whether a plan is to stop here at once, so that another host continues."""
        wanted = self._desired.get(name)
        return wanted is not None and wanted.desired is State.STOPPED and wanted.until is None

    def _let_join(self) -> None:
        """Let newcomers read their past for a while, and report those that run now."""
        for work in self._works.values():
            newcomers = work.newcomers(())
            try:
                joined, missed = work.let_join(JOIN_SECONDS)
            except BaseException as error:
                self._faults.decide(error, work, newcomers)
                raise
            for each in joined:
                self._needed().views.begin(each.assignment)
            if joined:
                messages = [message for each in missed for message in self._reported(each.record, each.header, each.matches)]
                messages += [self._record_status(each.plan_status, position=work.position) for each in joined]
                work.moved()
                self._commit(messages, {work.partition: Position(work.position)})

    def _reconcile(
        self, stream: StreamName, names: Collection[PatternName], work: StreamWork
    ) -> tuple[list[Running], list[PlanStatus]]:
        """Split the plans of some patterns into those to run, and the statuses of the others."""
        running: list[Running] = []
        emitted: list[PlanStatus] = []
        wanted: list[Assignment] = []
        for name in sorted(names):
            each, known = self._desired.get(name), self._plan_statuses.get(name)
            if each is not None and each.stream == stream:
                wanted.append(each)
            elif known is not None and known.state is State.RUNNING and known.stream == stream:
                emitted.append(drop(known, work.position, self._refusals.get(name)))
        for each in sorted(wanted, key=lambda each: not runs(each, self._plan_statuses.get(each.name))):
            match reconcile(each, self._plan_statuses.get(each.name), work.position):
                case Running() as plan:
                    unit = work.unit or (running[0].assignment.unit if running else each.unit)
                    reason = None if work.has(plan) else self._faults.reason(plan.assignment) or flaw_of(plan.assignment, unit)
                    if reason is None:
                        running.append(plan)
                    else:
                        emitted.append(plan.ended(State.FAILED, plan.reports_from, reason))
                case PlanStatus() as plan_status:
                    emitted.append(plan_status)
        return running, emitted

    def _over(self) -> list[PlanStatus]:
        """Return the statuses of the plans whose end is reached."""
        return [plan_status for work in self._works.values() for plan_status in work.over()]

    def _work(self, stream: StreamName) -> StreamWork:
        if stream not in self._works:
            opened, partition = self._needed(), TopicPartition(self._records.ordered(stream), 0)
            if not opened.side.partitions(partition.topic):
                # A plan of a stream that was never made must not keep the others waiting for it.
                self._log.admin().ensure(self._records.topics_of(stream))
            self._works[stream] = StreamWork(
                partition,
                self._first_position(stream, partition),
                side=opened.side,
                reader=lambda: self._log.reader(None),
                store=self._store,
                stream=stream,
                key=key_of(self._records.group, stream),
            )
        return self._works[stream]

    def _first_position(self, stream: StreamName, partition: TopicPartition) -> int:
        """Return where to begin: at the commit of the plans that ran; if none did, at the first start, else at the end.

        Raises:
            TransientError: the log does not know, or not any more, what was committed.
        """
        opened = self._needed()
        wanted = [each for each in self._desired.values() if each.stream == stream]
        known = [self._plan_statuses[each.name] for each in wanted if runs(each, self._plan_statuses.get(each.name))]
        ran = any(each.state is State.RUNNING and each.stream == stream for each in self._plan_statuses.values())
        _, end = opened.side.ends([partition])[partition]
        # A position past the end was written by another process.
        emitted = max((each.position for each in known if each.position is not None and each.position <= end), default=0)
        committed = self._committed(partition, emitted if known else None)
        if committed is not None and (ran or known):
            return committed.offset
        plans = (reconcile(each, self._plan_statuses.get(each.name), end) for each in wanted)
        return min([end, *(plan.reports_from for plan in plans if isinstance(plan, Running))])

    def _committed(self, partition: TopicPartition, emitted: int | None) -> Position | None:
        """Return the position, unless this host reported a later one in the same transactions: matches would come again.

        Raises:
            TransientError: it is.
        """

        def contradiction(positions: Mapping[TopicPartition, Position | None]) -> str | None:
            committed = positions[partition]
            if emitted is None or (committed is not None and committed.offset >= emitted):
                return None
            found = "no position" if committed is None else f"the position {committed.offset}"
            return f"has {found} in {partition.topic}, and said before that it was at {emitted} or later"

        opened = self._needed()
        return self._committed_offset_check.settled(opened.reader, [partition], contradiction, opened.transactor)[partition]

    def _matched(self, record: Record) -> list[Message]:
        """Match one ordered record; return its reports."""
        stream = self._records.stream_of(record)
        work = self._works[stream]
        if (work.partition, record.offset) in self._faults.poison:
            work.position = record.offset + 1
            return [self._records.dead_letter(record, "a matcher failed on it twice, with no pattern to blame")]
        try:
            header = ordered.header(record.headers)
            with matching(record, header, stream):
                messages = self._reported(record, header, work.take(record, header))
            self._telemetry.matched(stream, header.records)
        except (UnreadableStreamError, PoisonRecordError) as error:
            work.position = record.offset + 1
            _LOG.warning(events.ORDERED_UNREADABLE, error=str(error), topic=record.topic, offset=record.offset)
            return [self._records.dead_letter(record, str(error))]
        except BaseException as error:
            plans = [] if work.built is None else work.built.stream_pass.plans.running()
            self._faults.decide(error, work, plans, record, lambda built: self._tried(built, record))
            raise
        return messages

    def _tried(self, built: Built, record: Record) -> None:
        """Let a pass take a record apart from all others, and write its matches; discard them."""
        header = ordered.header(record.headers)
        self._records.matches(record, header, built.take(record, header))

    def _reported(self, record: Record, header: OrderedHeader, matches: Sequence[EncodedMatch]) -> list[Message]:
        self._telemetry.reported(matches)
        edges = self._needed().views.emit(self._records.stream_of(record), header, matches, self._clock.monotonic())
        return [*self._records.matches(record, header, matches), *edges]

    def _due_counts(self) -> list[Message]:
        """Report the counts of plans that worked since the last time, and the plans that a limit ended."""
        self._reported_at = self._clock.monotonic()
        messages: list[Message] = []
        for work in self._works.values():
            changed = work.changes()
            for name, report in (work.troubled_reports() | changed).items():
                plan_status = self._plan_statuses[name]
                found = trouble(report, work.unsaved)
                if report.paused and plan_status.state is State.RUNNING:
                    state = State.PAUSED if self._desired[name].limits.policy == "pause" else State.FAILED
                    end = plan_status.end(work.position)
                    reason = limit_reached(name, report)
                    plan_status = replace(plan_status, state=state, start=end, reports_from=None, reason=reason)
                elif plan_status.state is State.RUNNING and plan_status.reason != found:
                    plan_status = replace(plan_status, reason=found)
                elif name not in changed:
                    continue
                self._counts[name] = report
                messages.append(self._record_status(plan_status, report, work.position))
        return messages + self._cost()

    def _cost(self) -> list[Message]:
        """Report what this host costs, if the topic exists: an older planner does not make it."""
        if not self._has_topic_of_costs:
            self._has_topic_of_costs = bool(self._needed().side.partitions(self._records.hosts))
        if not self._has_topic_of_costs:
            return []
        places = [
            StreamPlace(stream, work.position, self._telemetry.lag_seconds(stream))
            for stream, work in sorted(self._works.items())
        ]
        return [self._records.cost(self._occupancy.taken(), resident_bytes(), places)]

    def _report_consumption(self) -> list[Message]:
        """Report how far patterns have consumed, at their positions."""
        moved = [(work, name) for work in self._works.values() for name in work.moved()]
        return [self._record_status(self._plan_statuses[name], self._counts.get(name), work.position) for work, name in moved]

    def _record_status(
        self, plan_status: PlanStatus, report: PatternReport | None = None, position: int | None = None
    ) -> Message:
        work = self._works.get(plan_status.stream)
        here = None if work is None else work.consumption(plan_status.name, plan_status.version)
        plan_status = plan_status if here is None else replace(plan_status, consumption=here)
        self._plan_statuses[plan_status.name] = plan_status
        return self._records.status_message(plan_status, report, position)

    def _commit(self, messages: Iterable[Message], positions: dict[TopicPartition, Position]) -> None:
        transactor = self._needed().transactor
        transactor.begin()
        transactor.write(messages)
        transactor.commit(self._records.group, positions)
        self._telemetry.committed()


def _by_stream(changed: Iterable[tuple[StreamName, PatternName]]) -> dict[StreamName, set[PatternName]]:
    """Return the changed patterns by the streams that they concern."""
    by_stream: dict[StreamName, set[PatternName]] = {}
    for stream, name in changed:
        if stream != NO_STREAM:
            by_stream.setdefault(stream, set()).add(name)
    return by_stream
