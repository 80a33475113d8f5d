"""The merged streams that registered patterns read, and the patterns that read one."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidQueryError, PoisonRecordError, TransientError
from graphtide_core.merged_streams import is_merged
from graphtide_log.follower import Follower
from graphtide_wire import control

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log, Record
    from graphtide_wire.control import PatternRecord
    from graphtide_wire.topics import Topics


def readers_of(log: Log, topics: Topics, stream: StreamName) -> list[PatternRecord]:
    """Return the registered patterns that read a merged stream; one that cannot be read counts as none.

    Raises:
        TransientError: the log does not answer.
    """
    found: dict[bytes, PatternRecord] = {}
    with closing(Follower(log, topics.patterns)) as follower:
        for record in follower.to_the_end():
            key = record.key or b""
            found.pop(key, None)
            with suppress(PoisonRecordError):
                pattern = control.decode_pattern(record.value)
                if stream in pattern.ordered_streams:
                    found[key] = pattern
    return list(found.values())


class RegisteredMerges:
    """Follows the registered patterns; an unreadable one counts as none."""

    def __init__(self, log: Log, topics: Topics) -> None:
        """Prepare; the patterns are read at the first look."""
        self._log = log
        self._topics = topics
        self._follower: Follower | None = None
        self._read: dict[bytes, StreamName] = {}

    def look(self) -> frozenset[StreamName]:
        """Return the merged streams that patterns read.

        Raises:
            TransientError: the log does not answer.
        """
        try:
            if self._follower is None:
                self._read = {}
                self._follower = Follower(self._log, self._topics.patterns)
                for record in self._follower.to_the_end():
                    self._fold(record)
            while records := self._follower.poll():
                for record in records:
                    self._fold(record)
        except TransientError:
            self.close()
            raise
        return frozenset(self._read.values())

    def close(self) -> None:
        """Follow no longer; a look begins anew."""
        if self._follower is not None:
            self._follower.close()
            self._follower = None

    def _fold(self, record: Record) -> None:
        key, reads = record.key or b"", control.ordered_reads(record.value)
        self._read.pop(key, None)
        streams = () if reads is None else reads.streams
        # Of a pattern in parts, none is merged.
        if len(streams) == 1 and is_merged(streams[0]) and self._can_be(streams[0]):
            self._read[key] = streams[0]

    def _can_be(self, stream: StreamName) -> bool:
        """Whether a stream may be called so; records written by hand may call it anything."""
        try:
            self._topics.check(stream)
        except InvalidQueryError:
            return False
        return True
