"""The versions of one stream's STREAM statement, followed while its sequencer works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from graphtide_core.errors import PoisonRecordError
from graphtide_log.follower import Follower
from graphtide_ordering.statements import Statement
from graphtide_telemetry import events
from graphtide_wire.stream_statement import decode_statement, stream_of_key

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log, Record

_LOG = structlog.get_logger()


class StreamStatements:
    """What is registered of one stream.

    Attributes:
        versions: all versions, by their numbers.
        last: the one that holds; None if none is registered.
    """

    def __init__(self, log: Log, topic: str, stream: StreamName) -> None:
        """Read all that is there.

        Raises:
            TransientError: the log does not answer.
        """
        self.versions: dict[int, Statement] = {}
        self.last: Statement | None = None
        self._stream = stream
        self._follower = Follower(log, topic)
        for record in self._follower.to_the_end():
            self._take(record)

    def poll(self) -> None:
        """Take what is new."""
        for record in self._follower.poll():
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
        try:
            statement = Statement(decode_statement(record.key, record.value))
        except PoisonRecordError as error:
            _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)
            return
        self.versions[statement.version] = statement
        if version is None:
            self.last = statement

    def _forget(self, version: int | None) -> None:
        if version is None:
            self.last = None
        else:
            self.versions.pop(version, None)
