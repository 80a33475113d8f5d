"""Backfills that users ask for over the log: taken one after the other, reported on, cancelled, continued after a restart.

Requests and statuses are in the topic of operations, under different keys. The worker holds the transactional id of its
deployment. A second one that starts shuts out the first, so one worker alone does an operation. An operation without a final
status is taken again after a restart, and continues from its finished slices.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, Literal, Protocol

import structlog
from graphtide_core.errors import GraphtideError, PoisonRecordError
from graphtide_core.ports.log import Message
from graphtide_log.follower import Follower
from graphtide_telemetry import events
from graphtide_wire import operations
from graphtide_wire.operations import OperationRecord, OperationStatus

from graphtide_backfill.application.backfill import Progress
from graphtide_backfill.application.ports import CancelledError

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogTransactor, Record
    from graphtide_wire.topics import Topics

    State = Literal["running", "done", "failed", "cancelled"]

_LOG = structlog.get_logger()
_LINGER_SECONDS: Final = 0.2
_REPORT_SECONDS: Final = 1.0
_END_SECONDS: Final = 60.0
_NOTHING: Final = Progress(0, 0, 0, 0, 0.0)


class Work(Protocol):
    """Does a backfill."""

    def __call__(self, asked: OperationRecord, on_progress: Callable[[Progress], None], stop: Event) -> None:
        """Do it, or continue it.

        Raises:
            CancelledError: `stop` was set; what is finished stays.
            GraphtideError: it cannot be done.
        """
        ...


@dataclass(slots=True)
class _Running:
    """An operation that is being done, in a thread of its own."""

    asked: OperationRecord
    thread: Thread | None = None
    stop: Event = field(default_factory=Event)
    progress: Progress = _NOTHING
    reported: Progress | None = None
    reported_at: float = 0.0
    failed: str | None = None
    was_stopped: bool = False


class Operations:
    """A `Worker` that does backfills, one at a time; its name is its transactional id."""

    def __init__(self, log: Log, topics: Topics, clock: Clock, work: Work) -> None:
        """Prepare; nothing is opened yet."""
        self.name = f"{topics.prefix}.backfill"
        self._log = log
        self._topics = topics
        self._clock = clock
        self._work = work
        self._transactor: LogTransactor | None = None
        self._follower: Follower | None = None
        self._asked: dict[str, OperationRecord] = {}
        self._ended: set[str] = set()
        self._running: _Running | None = None

    def open(self) -> None:
        """See `Worker.open`."""
        self._log.admin().ensure(self._topics.of_deployment())
        self._transactor = self._log.transactor(self.name)
        self._transactor.open()
        self._asked, self._ended = {}, set()
        self._follower = Follower(self._log, self._topics.operations)
        for record in self._follower.committed():
            self._take(record)

    def step(self) -> None:
        """See `Worker.step`."""
        if self._follower is None:
            return
        for record in self._follower.poll(_LINGER_SECONDS):
            self._take(record)
        if self._running is not None:
            self._watch(self._running)
            return
        waiting = [each for id, each in self._asked.items() if id not in self._ended]
        if waiting:
            self._begin(min(waiting, key=lambda each: (each.created_at, each.id)))

    def close(self) -> None:
        """See `Worker.close`."""
        running, self._running = self._running, None
        if running is not None and running.thread is not None:
            running.stop.set()
            running.thread.join(_END_SECONDS)
        if self._follower is not None:
            self._follower.close()
            self._follower = None
        if self._transactor is not None:
            self._transactor.close()
            self._transactor = None

    def _take(self, record: Record) -> None:
        key = record.key or b""
        if operations.is_of_run(key):
            return
        try:
            if operations.is_status(key):
                self._take_status(record)
            elif record.value is None:
                self._asked.pop(key.decode(errors="replace"), None)
            else:
                asked = operations.decode_operation(record.value)
                self._asked[asked.id] = asked
        except PoisonRecordError as error:
            _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)

    def _take_status(self, record: Record) -> None:
        if record.value is not None:
            status = operations.decode_status(record.value)
            if status.state != "running":
                self._ended.add(status.id)

    def _begin(self, asked: OperationRecord) -> None:
        if asked.desired == "cancelled":
            self._end(_Running(asked), "cancelled")
            return
        running = self._running = _Running(asked)
        running.thread = Thread(target=self._do, args=(running,), name=f"backfill-{asked.id}", daemon=True)
        running.thread.start()
        self._report(running, "running")

    def _do(self, running: _Running) -> None:
        def progress(made: Progress) -> None:
            running.progress = made

        try:
            self._work(running.asked, progress, running.stop)
        except CancelledError:
            running.was_stopped = True
        except GraphtideError as error:
            running.failed = str(error)
        except Exception as error:  # The operation fails, not the service.
            _LOG.exception(events.BACKFILL_FAILED, pattern=running.asked.pattern)
            running.failed = f"{type(error).__name__}: {error}"

    def _watch(self, running: _Running) -> None:
        wanted = self._asked.get(running.asked.id)
        if wanted is None or wanted.desired == "cancelled":
            running.stop.set()
        if running.thread is not None and running.thread.is_alive():
            if running.progress != running.reported and time.monotonic() - running.reported_at >= _REPORT_SECONDS:
                self._report(running, "running")
            return
        self._running = None
        if running.failed is not None:
            self._end(running, "failed")
        else:
            self._end(running, "cancelled" if running.was_stopped else "done")

    def _end(self, running: _Running, state: State) -> None:
        self._report(running, state)
        self._ended.add(running.asked.id)

    def _report(self, running: _Running, state: State) -> None:
        made = running.progress
        running.reported, running.reported_at = made, time.monotonic()
        status = OperationStatus(
            id=running.asked.id,
            state=state,
            at=self._clock.now(),
            slices_done=made.slices_done,
            slices=made.slices,
            edges=made.edges,
            matches=made.matches,
            edges_per_second=made.edges_per_second,
            reason=running.failed,
        )
        if self._transactor is None:
            return
        self._transactor.begin()
        message = Message(self._topics.operations, operations.status_key(status.id), operations.encode_status(status))
        self._transactor.write([message])
        self._transactor.commit(self.name, {})
