"""The host: follows its plans, matches ordered streams, commits matches and positions together.

One round does, in this order, and may be killed between any two steps:

1. Follow the plans. What changed is adopted in a transaction of its own: matches that a new plan missed, what is said of it.
2. Read ordered records.
3. Match them, writing the matches into a transaction.
4. Commit matches, what is said of plans, and positions: all or nothing.
5. Save checkpoints that are due. None is ahead of what was committed.

After a crash the host goes on from the positions committed. The state of the window before comes from the checkpoint and the
log, so matches that were committed are found again and not reported again, and those that were not are reported.
Two hosts of one identity: the second to open shuts the first out, whose next call raises `FencedError`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog
from graphtide_core.errors import PoisonRecordError, TransientError, UnreadableStreamError
from graphtide_core.ports.log import Position, TopicPartition

from graphtide_runtime.follower import Follower
from graphtide_runtime.matcher_host.assignment import Assignment, Running, Standing, State
from graphtide_runtime.matcher_host.figures import HostFigures
from graphtide_runtime.matcher_host.stream_pass import StreamPass
from graphtide_runtime.matcher_host.stream_work import StreamWork
from graphtide_runtime.telemetry import events

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.ids import PatternName, StreamName
    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogReader, LogTransactor, Message, Record
    from graphtide_native.matcher import MatchRecord, PatternReport

    from graphtide_runtime.matcher_host.records import HostRecords

_LOG = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class HostSettings:
    """How a host works.

    Attributes:
        linger_seconds: how long a round waits for records.
        most_records: ordered records a round takes at most.
        checkpoint_seconds: time between two checkpoints of a stream.
        figures_seconds: time between two reports of counts.
    """

    linger_seconds: float = 0.2
    most_records: int = 16
    checkpoint_seconds: float = 5.0
    figures_seconds: float = 2.0


@dataclass(slots=True)
class _Opened:
    """What an open host holds."""

    transactor: LogTransactor
    reader: LogReader
    side: LogReader
    plans: Follower


class MatcherHost:
    """A `Worker` that runs the plans of one shard of a matcher service."""

    def __init__(
        self, log: Log, checkpoints: CheckpointStore, records: HostRecords, clock: Clock, settings: HostSettings | None = None
    ) -> None:
        """Prepare; nothing is opened yet."""
        self._settings = settings or HostSettings()
        self._log = log
        self._store = checkpoints
        self._records = records
        self._clock = clock
        self._opened: _Opened | None = None
        self._desired: dict[PatternName, Assignment] = {}
        self._standings: dict[PatternName, Standing] = {}
        self._works: dict[StreamName, StreamWork] = {}
        self._figures: dict[PatternName, PatternReport] = {}
        self._told_at = 0.0
        self._telemetry = HostFigures(records.group, clock)

    @property
    def name(self) -> str:
        """Its group, which only one process at once may have."""
        return self._records.group

    def open(self) -> None:
        """Shut other hosts of this identity out, and go on from what was committed.

        Raises:
            TransientError: the log does not answer.
        """
        transactor, reader = self._log.transactor(self._records.group), self._log.reader(self._records.group)
        self._opened = _Opened(transactor, reader, self._log.reader(None), Follower(self._log, self._records.plans))
        transactor.open()
        self._desired, self._standings, self._works, self._figures = {}, {}, {}, {}
        self._telemetry.follow(self._standings, self._figures, self._works)
        self._recall()
        self._adopt(self._note(self._opened.plans.to_the_end()))

    def step(self) -> None:
        """Do one round; the module's docstring numbers its steps.

        Raises:
            TransientError: something did not answer; open again to go on.
            FencedError: another host took the identity.
        """
        opened = self._needed()
        # Step 1.
        changed = self._note(opened.plans.poll())
        if changed:
            self._adopt(changed)
        if not self._works:
            self._clock.sleep(self._settings.linger_seconds)
            return
        # Step 2.
        records = opened.reader.poll(self._settings.linger_seconds, self._settings.most_records)
        self._telemetry.polled({self._records.stream_of(record): record for record in records}, self._works)
        is_due = self._clock.monotonic() - self._told_at >= self._settings.figures_seconds
        figures = self._due_figures() if is_due else []
        # Without records, too, so that a host that was shut out learns of it.
        if records or is_due:
            # Step 3.
            opened.transactor.begin()
            for record in records:
                opened.transactor.write(self._matched(record))
            opened.transactor.write(figures)
            # Step 4.
            positions = {work.partition: Position(work.position) for work in self._works.values()}
            opened.transactor.commit(self._records.group, positions)
            self._telemetry.committed()
        # Step 5.
        for work in self._works.values():
            work.save(self._clock.monotonic(), self._settings.checkpoint_seconds)

    def close(self) -> None:
        """Give back everything; what was not committed is forgotten."""
        if self._opened is not None:
            for each in (self._opened.reader, self._opened.side, self._opened.plans, self._opened.transactor):
                each.close()
            self._opened = None
        self._telemetry.close()

    def _needed(self) -> _Opened:
        if self._opened is None:
            message = "the host is not open"
            raise TransientError(message)
        return self._opened

    def _recall(self) -> None:
        """Read what this host said of plans before."""
        status = Follower(self._log, self._records.status)
        try:
            for record in status.to_the_end():
                if (standing := self._records.standing(record)) is not None:
                    self._standings[standing.name] = standing
        finally:
            status.close()

    def _note(self, records: Iterable[Record]) -> set[StreamName]:
        """Take what the planner wrote; return the streams whose plans changed."""
        changed: set[StreamName] = set()
        refused: list[Standing] = []
        for record in records:
            before = self._desired.pop(self._records.name_of(record), None)
            try:
                wanted = self._records.assignment(record)
            except PoisonRecordError as error:
                _LOG.warning(events.PLAN_REFUSED, pattern=self._records.name_of(record), error=error.reason)
                standing = self._records.refused(record, error.reason)
                refused += [standing] if standing is not None else []
                wanted = None
            if wanted is not None:
                self._desired[wanted.name] = wanted
            changed |= {each.stream for each in (before, wanted) if each is not None and before != wanted}
        if refused:
            self._commit([self._tell(standing) for standing in refused], {})
        return changed

    def _adopt(self, streams: Iterable[StreamName]) -> None:
        """Bring the passes of streams in line with the plans wanted, and say so."""
        for stream in sorted(streams):
            work = self._work(stream)
            wanted = [each for each in self._desired.values() if each.stream == stream]
            running, told = self._judged(wanted, work)
            missed = work.adopt(running) if running else []
            messages = [message for record, match in missed for message in self._reported(record, [match])]
            told += [each.standing for each in running]
            messages += [self._tell(standing) for standing in told if standing != self._standings.get(standing.name)]
            self._commit(messages, {work.partition: Position(work.position)})
            if not running:
                work.end()
                del self._works[stream]
        self._needed().reader.assign({work.partition: work.position for work in self._works.values()})

    def _judged(self, wanted: Iterable[Assignment], work: StreamWork) -> tuple[list[Running], list[Standing]]:
        """Split plans into those that are to run, and what is to be said of the others."""
        running: list[Running] = []
        told: list[Standing] = []
        for each in wanted:
            known = self._standings.get(each.name)
            goes_on = known is not None and known.version == each.version and known.state is State.RUNNING
            if each.desired is not State.RUNNING:
                if known is None or known.epoch != each.epoch:
                    # One that never ran here leaves all that it was to report to the next.
                    end = work.position if goes_on else Running.begun(each, work.position).reports_from
                    told.append(Standing(each.name, each.version, each.epoch, each.desired, end))
            elif goes_on and known is not None:
                start = known.start or 0
                running.append(Running(each, start, start).reported_to(work.position))
            elif known is None or known.epoch != each.epoch:
                new = Running.begun(each, work.position)
                if known is not None and known.version == each.version and known.start is not None:
                    # It ended here before: what was reported then is not reported again, whatever the plan knew of it.
                    new = new.reported_to(known.start)
                reason = _flaw(new)
                if reason is None:
                    running.append(new)
                else:
                    told.append(replace(new.standing, state=State.FAILED, reason=reason))
        return running, told

    def _work(self, stream: StreamName) -> StreamWork:
        if stream not in self._works:
            opened, partition = self._needed(), TopicPartition(self._records.ordered(stream), 0)
            self._works[stream] = StreamWork(
                partition,
                self._first_position(stream, partition),
                side=opened.side,
                store=self._store,
                stream=stream,
                key=f"{self._records.group}.{stream}",
            )
        return self._works[stream]

    def _first_position(self, stream: StreamName, partition: TopicPartition) -> int:
        """Where to begin: where plans that ran were committed; where none did, at the first start, else at the end."""
        opened = self._needed()
        wanted = [each for each in self._desired.values() if each.stream == stream]
        stood = [self._standings.get(each.name) for each in wanted]
        committed = opened.reader.committed([partition])[partition]
        if committed is not None and any(each is not None and each.state is State.RUNNING for each in stood):
            return committed.offset
        _, end = opened.side.ends([partition])[partition]
        return min([end, *(Running.begun(each, end).reports_from for each in wanted)])

    def _matched(self, record: Record) -> list[Message]:
        """Match one ordered record; return what it brings about."""
        work = self._works[self._records.stream_of(record)]
        try:
            edges = self._records.edges_of(record)
            with self._records.matching(record):
                messages = self._reported(record, work.take(record))
            self._telemetry.matched(self._records.stream_of(record), edges)
        except (UnreadableStreamError, PoisonRecordError) as error:
            work.position = record.offset + 1
            _LOG.warning(events.ORDERED_UNREADABLE, error=str(error), topic=record.topic, offset=record.offset)
            return [self._records.dead_letter(record, str(error))]
        return messages

    def _reported(self, record: Record, matches: Sequence[MatchRecord]) -> list[Message]:
        self._telemetry.reported(matches)
        return self._records.matches(record, matches)

    def _due_figures(self) -> list[Message]:
        """Say how plans do that did something since the last time, and which of them a limit ended."""
        self._told_at = self._clock.monotonic()
        messages: list[Message] = []
        for work in self._works.values():
            running = work.built.stream_pass.running if work.built is not None else ()
            reports = work.built.stream_pass.reports() if work.built is not None else {}
            for each in running:
                name, report = each.assignment.name, reports[each.assignment.name]
                standing = self._standings[name]
                trouble = f"its checkpoints are not saved: {work.unsaved}" if work.unsaved else ""
                if report.paused and standing.state is State.RUNNING:
                    state = State.PAUSED if each.assignment.limits.policy == "pause" else State.FAILED
                    standing = replace(standing, state=state, start=work.position, reason="it reached a limit of its state")
                elif standing.state is State.RUNNING and standing.reason != trouble:
                    standing = replace(standing, reason=trouble)
                elif report == self._figures.get(name):
                    continue
                self._figures[name] = report
                messages.append(self._tell(standing, report, work.position))
        return messages

    def _tell(self, standing: Standing, report: PatternReport | None = None, position: int | None = None) -> Message:
        self._standings[standing.name] = standing
        return self._records.told(standing, report, position)

    def _commit(self, messages: Iterable[Message], positions: dict[TopicPartition, Position]) -> None:
        transactor = self._needed().transactor
        transactor.begin()
        transactor.write(messages)
        transactor.commit(self._records.group, positions)
        self._telemetry.committed()


def _flaw(running: Running) -> str | None:
    """Return why the engines refuse a plan; None if they do not."""
    try:
        StreamPass([running], deletions=False)
    except ValueError as error:
        return str(error)
    return None
