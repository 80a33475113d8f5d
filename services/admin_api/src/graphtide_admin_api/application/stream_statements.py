"""Registered STREAM statements: how records of streams become edges and events.

Invariant: versions of a stream's statement ascend. A writer takes the id of all writers and reads the topic after that, so what
it replaces is what it read. A writer that another one overtakes writes nothing, and begins anew.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import CollidingTopicError, FencedError, PoisonRecordError, TransientError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message
from graphtide_log.follower import Follower
from graphtide_wire.stream_statement import StatementRecord, decode_statement, encode_statement, statement_key, version_key

from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.domain.statement import read_statement

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogTransactor
    from graphtide_core.stream_partition import Partition
    from graphtide_core.time import TimeUnit
    from graphtide_wire.topics import Topics

    from graphtide_admin_api.application.registry import Registry
    from graphtide_admin_api.application.view import View

    Following = Callable[[StatementRecord | None, int], StatementRecord]
    """Returns the version of this number, given the last one; that one if nothing changes. Raises if the change must not be."""

_ATTEMPTS: Final = 5
_SEEN_SECONDS: Final = 5.0
_MOST_NAMED: Final = 10


class StreamStatements:
    """Registers statements; safe for threads."""

    def __init__(self, log: Log, topics: Topics, clock: Clock, view: View, registry: Registry, *, unit: TimeUnit) -> None:
        """Work on a log; times count in the unit that plans of patterns have, or else in this one."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._view = view
        self._registry = registry
        self._unit = unit
        self._lock = Lock()

    def put(self, stream: str, text: str) -> tuple[StatementRecord, bool]:
        """Register the statement of a stream, or replace it; return it, and whether the stream had none.

        Another text is a new version; the same text changes nothing. The stream is made if it is not there.

        Raises:
            ProblemError: the text is not the statement of this stream, or the stream takes no records. Or it is divided into
                other parts than before, and patterns read it.
            TransientError: the log does not answer, or others write all the time. Whether it holds is then not known.
        """
        definition = read_statement(stream, text, self._view.unit() or self._unit)
        self._make(stream)

        def following(old: StatementRecord | None, version: int) -> StatementRecord:
            if old is not None and old.text == text and not old.is_removed:
                return old
            return StatementRecord.of(text, definition, version, self._clock.now())

        old, new = self._replace(stream, definition.partition, following)
        return new, old is None or old.is_removed

    def remove(self, stream: str) -> None:
        """Let a stream have no statement: that is a version, too. Records are read as edges are sent without one from then on.

        Raises:
            ProblemError: the stream has none.
            TransientError: as `put`.
        """

        def following(old: StatementRecord | None, version: int) -> StatementRecord:
            if old is None or old.is_removed:
                raise ProblemError(404, "not-found", f"stream {stream!r} has no statement")
            return StatementRecord.removed(stream, version, self._clock.now())

        self._replace(stream, None, following)

    def _make(self, stream: str) -> None:
        view = self._view.pattern(stream)
        if view is not None and view.view is True:
            detail = f"stream {stream!r} has the results of the view of this name, so it takes no records"
            raise ProblemError(409, "stream-exists", detail)
        try:
            self._log.admin().ensure(self._topics.of_stream(StreamName(stream)))
        except CollidingTopicError as error:
            raise ProblemError(409, "name-collides", str(error)) from error

    def _replace(
        self, stream: str, partition: Partition | None, following: Following
    ) -> tuple[StatementRecord | None, StatementRecord]:
        """Write what follows the registered version; return that version, and the one that holds now, once it is seen.

        Where it divides the stream otherwise than before, no pattern may read the stream, and none is registered meanwhile.
        """
        written: list[tuple[StatementRecord | None, StatementRecord]] = []

        def write() -> None:
            with self._lock:
                written.append(self._replaced(stream, following))
            self._view.wait_for_statement(written[0][1], _SEEN_SECONDS)

        def unless_read(patterns: list[str]) -> None:
            if patterns:
                named = ", ".join(patterns[:_MOST_NAMED]) + (" and others" if len(patterns) > _MOST_NAMED else "")
                detail = f"the statement divides stream {stream!r} otherwise than before, and patterns read it: {named}"
                hint = "Delete them first, and register them again: they begin where the parts end then"
                raise ProblemError(409, "stream-in-use", f"{detail}. {hint}", extra={"patterns": patterns})
            write()

        if partition == self._view.partition(stream):
            write()
        else:
            self._registry.exclusively(stream, unless_read)
        return written[0]

    def _replaced(self, stream: str, following: Following) -> tuple[StatementRecord | None, StatementRecord]:
        for _ in range(_ATTEMPTS):
            transactor = self._log.transactor(f"{self._topics.prefix}.statements")
            try:
                transactor.open()
                return self._written(transactor, stream, following)
            except FencedError:
                continue
            finally:
                transactor.close()
        message = "others register statements all the time"
        raise TransientError(message)

    def _written(
        self, transactor: LogTransactor, stream: str, following: Following
    ) -> tuple[StatementRecord | None, StatementRecord]:
        key = statement_key(stream)
        old, last = self._read(key)
        new = following(old, max(last, self._view.last_statement(stream)) + 1)
        if new is old:
            return old, new
        transactor.begin()
        value = encode_statement(new)
        transactor.write([Message(self._topics.statements, each, value) for each in (key, version_key(stream, new.version))])
        transactor.commit(f"{self._topics.prefix}.statements", {})
        return old, new

    def _read(self, key: bytes) -> tuple[StatementRecord | None, int]:
        """Return what is registered under a key, and the last version that the topic still has; what is unreadable is none."""
        old, last = None, 0
        follower = Follower(self._log, self._topics.statements)
        try:
            for record in follower.to_the_end():
                if record.key == key:
                    old = _decode(record.key, record.value)
                    last = last if old is None else max(last, old.version)
        finally:
            follower.close()
        return old, last


def _decode(key: bytes, value: bytes | None) -> StatementRecord | None:
    try:
        return None if value is None else decode_statement(key, value)
    except PoisonRecordError:
        return None
