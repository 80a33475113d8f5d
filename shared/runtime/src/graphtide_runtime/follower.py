"""Reading a compacted topic: first all that is there, then what comes.

A follower keeps no values: whoever follows folds the changes into a state of its own, starting empty at every opening.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import TransientError

from graphtide_runtime.health import beat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.log import Log, LogReader, Record

_MOST = 1_000
_PATIENCE = 10.0


class Follower:
    """Reads every partition of a topic from its first record on."""

    def __init__(self, log: Log, topic: str) -> None:
        """Begin at the first record.

        Raises:
            TransientError: the topic is not there.
        """
        self._topic = topic
        self._reader: LogReader = log.reader(None)
        partitions = self._reader.partitions(topic)
        if not partitions:
            message = f"there is no topic {topic}"
            raise TransientError(message)
        self._reader.assign(dict.fromkeys(partitions, 0))

    def to_the_end(self) -> Iterator[Record]:
        """Yield the records up to the end.

        Raises:
            TransientError: the log gives none, and does not say that there are none.
        """
        return to_the_end(self._reader, self._topic)

    def poll(self, timeout: float = 0.0) -> list[Record]:
        """Return what came since; wait for it up to `timeout` seconds."""
        return self._reader.poll(timeout, _MOST)

    def close(self) -> None:
        """Give back the reader."""
        self._reader.close()


def to_the_end(reader: LogReader, topic: str) -> Iterator[Record]:
    """Yield what a reader of a topic gives up to the end.

    Raises:
        TransientError: the log gives none, and does not say that there are none.
    """
    while True:
        records = reader.poll(_PATIENCE, _MOST)
        beat()
        yield from records
        if reader.at_end():
            return
        if not records:
            message = f"topic {topic} was not read to its end within {_PATIENCE:g} seconds"
            raise TransientError(message)
