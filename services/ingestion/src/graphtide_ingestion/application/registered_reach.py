"""The longest reach of the patterns on a stream: how long an id is remembered, and how much of a merged stream is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.merged_streams import is_merged
from graphtide_core.reaches import Reaches
from graphtide_runtime.follower import Follower
from graphtide_wire import control

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log, Record
    from graphtide_core.time import TimeUnit


class RegisteredReach:
    """Follows the registered patterns, of which one that cannot be read counts as none."""

    def __init__(self, log: Log, topic: str, stream: StreamName, unit: TimeUnit) -> None:
        """Read the patterns that there are.

        Raises:
            TransientError: the topic is not there, or does not answer.
        """
        self._stream = stream
        self._unit = unit
        self._reaches = Reaches()
        self._follower = Follower(log, topic)
        self._fold(self._follower.to_the_end())

    def poll(self) -> None:
        """Take what changed."""
        self._fold(self._follower.poll())

    @property
    def longest(self) -> tuple[int, int]:
        """Ticks of the longest reach, and the most edges that one counts; 0 where none is of that kind."""
        return self._reaches.longest(self._stream, self._unit), self._reaches.most_edges(self._stream)

    def close(self) -> None:
        """Follow no longer."""
        self._follower.close()

    def _fold(self, records: Iterable[Record]) -> None:
        for record in records:
            reads = control.registered_reads(record.value)
            if reads is not None and is_merged(self._stream):
                reads = reads.of_ordered
            self._reaches.take((record.key or b"").decode(errors="replace"), reads)
