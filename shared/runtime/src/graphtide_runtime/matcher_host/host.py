"""The host: follows its plans, matches ordered streams, commits matches and positions together.

One round does, in this order, and may be killed between any two steps:

1. Follow the plans. What changed is adopted in a transaction of its own: matches that a new plan missed, what is said of it.
2. Read ordered records.
3. Match them, writing the matches into a transaction.
4. Commit matches, what is said of plans, and positions: all or nothing.
5. Save a checkpoint, now and then. It is never ahead of what was committed.

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
from graphtide_runtime.matcher_host.assignment import Running, Standing, State
from graphtide_runtime.matcher_host.building import Builder
from graphtide_runtime.matcher_host.checkpointing import Checkpointer
from graphtide_runtime.matcher_host.stream_pass import DeletionsBeganError, StreamPass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ids import PatternName, StreamName
    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogReader, LogTransactor, Message, Record
    from graphtide_native.matcher import MatchRecord

    from graphtide_runtime.matcher_host.assignment import Assignment
    from graphtide_runtime.matcher_host.building import Built
    from graphtide_runtime.matcher_host.records import HostRecords

_LOG = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class HostSettings:
    """How a host works.

    Attributes:
        service: of matchers; with the shard, whose plans it runs.
        shard: 0-based.
        linger_seconds: how long a round waits for records.
        most_records: ordered records a round takes at most.
        checkpoint_seconds: time between two checkpoints of a stream.
        figures_seconds: time between two reports of counts.
    """

    service: str
    shard: int = 0
    linger_seconds: float = 0.2
    most_records: int = 16
    checkpoint_seconds: float = 5.0
    figures_seconds: float = 2.0

    @property
    def identity(self) -> str:
        """What only one process at once may be."""
        return f"{self.service}.{self.shard}"


@dataclass(slots=True)
class _Work:
    """One stream: where it is read from, how far, and its pass."""

    partition: TopicPartition
    position: int
    checkpoints: Checkpointer
    built: Built | None = None
    saved_at: float = 0.0


class MatcherHost:
    """A `Worker` that runs the plans of one shard of a matcher service."""

    def __init__(
        self, settings: HostSettings, log: Log, checkpoints: CheckpointStore, records: HostRecords, clock: Clock
    ) -> None:
        """Prepare; nothing is opened yet."""
        self._settings = settings
        self._log = log
        self._store = checkpoints
        self._records = records
        self._clock = clock
        self._group = records.group(settings.identity)
        self._transactor: LogTransactor | None = None
        self._readers: list[LogReader] = []
        self._followers: list[Follower] = []
        self._desired: dict[PatternName, Assignment] = {}
        self._standings: dict[PatternName, Standing] = {}
        self._works: dict[StreamName, _Work] = {}
        self._told_at = 0.0

    @property
    def name(self) -> str:
        """Its identity."""
        return self._settings.identity

    def open(self) -> None:
        """Shut other hosts of this identity out, and go on from what was committed.

        Raises:
            TransientError: the log does not answer.
        """
        self._transactor = self._log.transactor(self._group)
        self._transactor.open()
        self._reader, self._side = self._log.reader(self._group), self._log.reader(None)
        self._readers = [self._reader, self._side]
        self._plans = Follower(self._log, self._records.topics.plans)
        status = Follower(self._log, self._records.topics.status)
        self._followers = [self._plans, status]
        self._standings = {}
        for record in status.to_the_end():
            if (standing := self._records.standing(record, self._settings)) is not None:
                self._standings[standing.name] = standing
        self._desired, self._works = {}, {}
        changed = self._note(self._plans.to_the_end())
        self._adopt(changed | self._streams_of_standings())

    def step(self) -> None:
        """Do one round; the module's docstring numbers its steps.

        Raises:
            TransientError: something did not answer; open again to go on.
            FencedError: another host took the identity.
        """
        # Step 1.
        changed = self._note(self._plans.poll(0.0))
        if changed:
            self._adopt(changed)
        # Step 2.
        records = self._reader.poll(self._settings.linger_seconds, self._settings.most_records) if self._works else []
        if not self._works:
            self._clock.sleep(self._settings.linger_seconds)
        tell = self._works and self._clock.monotonic() - self._told_at >= self._settings.figures_seconds
        if not records and not tell:
            return
        transactor = self._begun()
        # Step 3.
        for record in records:
            self._match(record)
        if tell:
            transactor.write(self._figures())
        # Step 4.
        transactor.commit(self._group, {work.partition: Position(work.position) for work in self._works.values()})
        # Step 5.
        self._save()

    def close(self) -> None:
        """Give back everything; what was not committed is forgotten."""
        for reader in self._readers:
            reader.close()
        for follower in self._followers:
            follower.close()
        if self._transactor is not None:
            self._transactor.close()
        self._readers, self._followers, self._transactor = [], [], None

    def _begun(self) -> LogTransactor:
        if self._transactor is None:
            message = "the host is not open"
            raise TransientError(message)
        self._transactor.begin()
        return self._transactor

    def _note(self, records: Iterable[Record]) -> set[StreamName]:
        """Take what the planner wrote; return the streams whose plans changed."""
        changed: set[StreamName] = set()
        for record in records:
            name = self._records.name_of(record)
            before = self._desired.pop(name, None)
            try:
                wanted = self._records.assignment(record, self._settings)
            except PoisonRecordError as error:
                _LOG.warning("plan.refused", pattern=name, error=error.reason)
                self._refuse(record, error.reason)
                wanted = None
            if wanted is not None:
                self._desired[name] = wanted
                changed.add(wanted.stream)
            if before is not None and before != wanted:
                changed.add(before.stream)
        return changed

    def _refuse(self, record: Record, reason: str) -> None:
        refused = self._records.refused(record, self._settings, reason)
        if refused is not None:
            transactor = self._begun()
            transactor.write([self._records.told(refused, self._settings)])
            transactor.commit(self._group, {})

    def _streams_of_standings(self) -> set[StreamName]:
        return {assignment.stream for assignment in self._desired.values()}

    def _adopt(self, streams: Iterable[StreamName]) -> None:
        """Bring the passes of streams in line with the plans wanted, and say so."""
        transactor = self._begun()
        positions: dict[TopicPartition, Position] = {}
        for stream in streams:
            work = self._work(stream)
            running = [self._running(each, work) for each in self._desired.values() if each.stream == stream]
            running, failed = self._possible(running)
            told = [*failed, *self._ended(work, running)]
            if running:
                work.built = self._built(work, running)
                transactor.write(self._records.match(record, match) for record, match in work.built.missed)
                work.built.missed = []
                told += [
                    _standing(each)
                    for each in running
                    if _standing(each) != self._standings.get(each.assignment.name)
                ]
            positions[work.partition] = Position(work.position)
            for standing in told:
                self._standings[standing.name] = standing
            transactor.write(self._records.told(standing, self._settings) for standing in told)
            if not running:
                del self._works[stream]
        transactor.commit(self._group, positions)
        self._reader.assign({work.partition: work.position for work in self._works.values()})

    def _work(self, stream: StreamName) -> _Work:
        if stream not in self._works:
            partition = TopicPartition(self._records.topics.ordered(stream), 0)
            committed = self._reader.committed([partition])[partition]
            position = committed.offset if committed is not None else self._first_position(stream, partition)
            key = f"{self._settings.identity}.{stream}"
            self._works[stream] = _Work(partition, position, Checkpointer(self._store, key))
        return self._works[stream]

    def _first_position(self, stream: StreamName, partition: TopicPartition) -> int:
        """Where a host begins that never read the stream: where its plans do, else at the end."""
        _, end = self._side.ends([partition])[partition]
        starts = [each.start for each in self._desired.values() if each.stream == stream]
        return min([end if start is None else min(start, end) for start in starts], default=end)

    def _running(self, assignment: Assignment, work: _Work) -> Running:
        standing = self._standings.get(assignment.name)
        if standing is not None and standing.version == assignment.version and standing.state is State.RUNNING:
            start = standing.start or 0
            return Running(assignment, start, max(start, work.position))
        start = work.position if assignment.start is None else assignment.start
        return Running(assignment, start, start)

    def _possible(self, running: Iterable[Running]) -> tuple[list[Running], list[Standing]]:
        """Split plans into those that can run and those that cannot, or did not when they were tried in this epoch."""
        possible: list[Running] = []
        failed: list[Standing] = []
        for each in running:
            standing = self._standings.get(each.assignment.name)
            ended = {State.FAILED, State.PAUSED}
            if standing is not None and standing.epoch == each.assignment.epoch and standing.state in ended:
                continue
            try:
                StreamPass([each], deletions=False)
            except ValueError as error:
                failed.append(replace(_standing(each), state=State.FAILED, reason=str(error)))
            else:
                possible.append(each)
        return possible, failed

    def _ended(self, work: _Work, running: Iterable[Running]) -> list[Standing]:
        """Say of plans that ran here and do not any more where they ended."""
        alive = {each.assignment.name for each in running}
        before = work.built.stream_pass.running if work.built is not None else ()
        ended = []
        for each in before:
            name = each.assignment.name
            if name not in alive and name not in self._desired:
                standing = self._standings[name]
                ended.append(replace(standing, state=State.STOPPED, start=work.position, reason=""))
        return ended

    def _built(self, work: _Work, running: list[Running]) -> Built:
        """Return a pass of these plans: the one there is, if it can take them, else a new one."""
        if work.built is not None and _takes(work.built.stream_pass, running):
            return work.built
        deletions = work.built is not None and work.built.stream_pass.deletions
        return Builder(self._side, work.partition, work.checkpoints).build(running, work.position, deletions=deletions)

    def _match(self, record: Record) -> None:
        """Match one ordered record, writing what it completes into the transaction that is open."""
        stream = self._records.stream_of(record)
        work = self._works.get(stream)
        if work is None or work.built is None or self._transactor is None:
            return
        try:
            found = self._taken(work, record)
        except UnreadableStreamError as error:
            _LOG.warning("ordered.unreadable", error=str(error), topic=record.topic, offset=record.offset)
            self._transactor.write([self._records.dead_letter(record, str(error))])
            found = []
        work.position = work.built.stream_pass.position = record.offset + 1
        self._transactor.write(self._records.match(record, match) for match in found)

    def _taken(self, work: _Work, record: Record) -> list[MatchRecord]:
        if work.built is None:
            return []
        try:
            return work.built.take(record)
        except DeletionsBeganError:
            # The first deletion of the stream: from now on matches of the window are remembered, to be retracted.
            builder = Builder(self._side, work.partition, work.checkpoints)
            work.built = builder.build(work.built.stream_pass.running, record.offset, deletions=True)
            return work.built.take(record)

    def _figures(self) -> list[Message]:
        """Say how plans do, and which of them a limit ended."""
        self._told_at = self._clock.monotonic()
        messages: list[Message] = []
        for work in self._works.values():
            if work.built is None:
                continue
            limits = {each.assignment.name: each.assignment.limits for each in work.built.stream_pass.running}
            for name, report in work.built.stream_pass.reports().items():
                standing = self._standings[name]
                if report.paused and standing.state is State.RUNNING:
                    state = State.PAUSED if limits[name].policy == "pause" else State.FAILED
                    standing = replace(standing, state=state, start=work.position, reason="it reached a limit of its state")
                    self._standings[name] = standing
                messages.append(self._records.told(standing, self._settings, report=report, position=work.position))
        return messages

    def _save(self) -> None:
        """Save checkpoints that are due; without one, coming back takes longer, and nothing else."""
        now = self._clock.monotonic()
        for work in self._works.values():
            if work.built is None or now - work.saved_at < self._settings.checkpoint_seconds:
                continue
            work.saved_at = now
            work.built.recorder.cut(work.position)
            try:
                work.checkpoints.save(work.built.stream_pass, work.built.recorder.frames)
            except TransientError as error:
                _LOG.warning("checkpoint.not_saved", error=str(error), topic=work.partition.topic)
                work.built.recorder.expire(work.built.stream_pass.alive_from)
            else:
                work.built.recorder.forget()


def _standing(running: Running) -> Standing:
    assignment = running.assignment
    return Standing(assignment.name, assignment.version, assignment.epoch, State.RUNNING, running.start)


def _takes(of: StreamPass, running: list[Running]) -> bool:
    """Let a pass have these plans, if they differ from its own in how the patterns are matched and in nothing else."""
    before = {each.assignment.name: each for each in of.running}
    if len(before) != len(running):
        return False
    for each in running:
        old = before.get(each.assignment.name)
        same_pattern = old is not None and old.assignment.plan.pattern == each.assignment.plan.pattern
        if old is None or not same_pattern or (old.start, old.assignment.limits) != (each.start, each.assignment.limits):
            return False
    return all(of.replan(each) for each in running if before[each.assignment.name].assignment != each.assignment)
