"""Registered STREAM statements: the versions of one stream's, for its sequencer, and the last ones of all, for the HTTP API."""

from __future__ import annotations

from threading import Condition
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import PoisonRecordError, TransientError
from graphtide_log.follower import Follower
from graphtide_ordering.statements import Statement
from graphtide_serving.opened import close_all, open_worker
from graphtide_telemetry import events
from graphtide_wire.stream_statement import decode_statement, stream_of_key

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log, Record
    from graphtide_ordering.statements import StatementSurroundings
    from graphtide_wire.topics import Topics

_LOG = structlog.get_logger()
_WAIT_SECONDS: Final = 0.2


class StreamStatements:
    """What is registered of one stream.

    Attributes:
        versions: all versions, by their numbers.
        last: the one that holds, which may be that there is none any more; None if none was ever registered.
    """

    def __init__(self, log: Log, topic: str, stream: StreamName, surroundings: StatementSurroundings | None = None) -> None:
        """Read all that is there; `surroundings` are those of each statement.

        Raises:
            TransientError: the log does not answer.
        """
        self.versions: dict[int, Statement] = {}
        self.last: Statement | None = None
        self._stream = stream
        self._surroundings = surroundings
        self._follower = Follower(log, topic)
        for record in self._follower.to_the_end():
            self._take(record)

    def poll(self) -> None:
        """Take what is new."""
        for record in self._follower.poll():
            self._take(record)

    def catch_up(self) -> None:
        """Take what was registered before this call.

        Raises:
            TransientError: the log does not answer.
        """
        for record in self._follower.catch_up():
            self._take(record)

    def close(self) -> None:
        """Give back the reader."""
        self._follower.close()

    def _take(self, record: Record) -> None:
        stream, version = stream_of_key(record.key)
        if stream != self._stream:
            return
        if record.value is None:
            self._forget(version)
            return
        statement = _read(record, self._surroundings)
        if statement is None:
            return
        self.versions[statement.version] = statement
        if version is None:
            self.last = statement

    def _forget(self, version: int | None) -> None:
        if version is None:
            self.last = None
        else:
            self.versions.pop(version, None)


class LastStatements:
    """A `Worker` that knows the last statement of each stream; safe for threads.

    Until all earlier records were read the answer is "not known yet": a body must not be read as if there was no statement.
    """

    def __init__(self, log: Log, topics: Topics, surroundings: StatementSurroundings | None = None) -> None:
        """Prepare; nothing is opened yet. `surroundings` are those of each statement."""
        self._surroundings = surroundings
        self._log = log
        self._topics = topics
        self._changed = Condition()
        self._known: dict[str, Statement] | None = None
        self._follower: Follower | None = None

    @property
    def name(self) -> str:
        """What logs call it."""
        return "statements"

    def wait(self, seconds: float) -> None:
        """Wait until all earlier records were read, at most for so long."""
        with self._changed:
            self._changed.wait_for(lambda: self._known is not None, seconds)

    @property
    def is_whole(self) -> bool:
        """Whether all that was there at the start was read."""
        return self._known is not None

    def of(self, stream: str) -> Statement | None:
        """Return the statement of a stream, or that it was removed; None if none was ever registered.

        Raises:
            TransientError: they are being read.
        """
        with self._changed:
            if self._known is None:
                message = "statements of streams are being read; try again in a moment"
                raise TransientError(message)
            return self._known.get(stream)

    def open(self) -> None:
        """Read all that is there.

        Raises:
            TransientError: the log does not answer.
        """
        self._log.admin().ensure(self._topics.of_deployment())
        self._follower = Follower(self._log, self._topics.statements)
        known: dict[str, Statement] = {}
        for record in self._follower.to_the_end():
            _take_last(known, record, self._surroundings)
        with self._changed:
            self._known = known
            self._changed.notify_all()

    def step(self) -> None:
        """Take what is new."""
        for record in open_worker(self._follower, self.name).poll(_WAIT_SECONDS):
            with self._changed:
                _take_last(self._known if self._known is not None else {}, record, self._surroundings)

    def close(self) -> None:
        """Give back the reader; what was read stays."""
        close_all([self._follower])
        self._follower = None


def _take_last(known: dict[str, Statement], record: Record, surroundings: StatementSurroundings | None) -> None:
    stream, version = stream_of_key(record.key)
    if version is not None:
        return
    known.pop(stream, None)
    if record.value is not None and (statement := _read(record, surroundings)) is not None:
        known[stream] = statement


def _read(record: Record, surroundings: StatementSurroundings | None) -> Statement | None:
    """Return the statement of a record; None if it cannot be read, which the log of the service says."""
    try:
        found = decode_statement(record.key, record.value)
        return Statement(found) if surroundings is None else Statement(found, surroundings)
    except PoisonRecordError as error:
        _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)
        return None
