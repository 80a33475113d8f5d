"""Lookbacks of the registered patterns into each stream, and the attributes that they read, from the topic of patterns.

A pattern that cannot be read counts as none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.lookbacks import Lookbacks
from graphtide_wire import control

from graphtide_log.follower import Follower

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log, Record
    from graphtide_core.time import TimeUnit


class RegisteredLookbacks:
    """Follows the registered patterns."""

    def __init__(self, log: Log, topic: str) -> None:
        """Read the patterns that there are.

        Raises:
            TransientError: the topic is not there, or does not answer.
        """
        self._lookbacks = Lookbacks()
        self._follower = Follower(log, topic)
        self._fold(self._follower.to_the_end())

    def poll(self) -> None:
        """Take what changed."""
        self._fold(self._follower.poll())

    def catch_up(self) -> None:
        """Take what changed before this call.

        Raises:
            TransientError: the log does not answer.
        """
        self._fold(self._follower.catch_up())

    def longest(self, stream: StreamName, unit: TimeUnit) -> tuple[int, int]:
        """Return the ticks of the longest lookback of a stream, and the most edges that one counts; 0 without one."""
        return self._lookbacks.longest(stream, unit), self._lookbacks.most_edges(stream)

    def attributes(self, stream: StreamName) -> frozenset[str]:
        """Return the attributes of a stream's edges that patterns read."""
        return self._lookbacks.attributes(stream)

    def close(self) -> None:
        """Stop following."""
        self._follower.close()

    def _fold(self, records: Iterable[Record]) -> None:
        for record in records:
            self._lookbacks.take((record.key or b"").decode(errors="replace"), control.registered_reads(record.value))
