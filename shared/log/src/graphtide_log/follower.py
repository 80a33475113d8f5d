"""Reads a compacted topic: first the present records, then new ones.

A record with headers that cannot be read is skipped; the reader counts it.

A follower keeps no values: its owner folds the changes into a state of its own, empty at every opening.

An open transaction hides later records of others, even committed ones, until it ends. If several processes write to a topic,
everything is read only when all transactions that were open have ended. Otherwise a host that comes back would not see its own
reports, and repeat them. If one identity writes, taking it ends its last transaction, and what can be read is all.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from graphtide_core.errors import TransientError
from graphtide_telemetry.health import beat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_core.ports.log import Log, LogReader, Record, TopicPartition

_MOST = 1_000
_PATIENCE = 10.0
_BETWEEN_LOOKS = 0.02


class Follower:
    """Reads every partition of a topic from its first record on."""

    def __init__(self, log: Log, topic: str) -> None:
        """Begin at the first record.

        Raises:
            TransientError: the topic is not there.
        """
        self._topic = topic
        self._log = log
        self._reader: LogReader = log.reader(None)
        self._partitions = self._reader.partitions(topic)
        if not self._partitions:
            message = f"there is no topic {topic}"
            raise TransientError(message)
        self._reader.assign(dict.fromkeys(self._partitions, 0))

    def committed(self) -> Iterator[Record]:
        """Yield all records that were committed before the call, at least; nothing may have been read before.

        Raises:
            TransientError: a transaction that was open does not end, or the log gives no records and does not report the end.
        """
        _wait_for_open_transactions(self._log, self._reader, self._partitions)
        # An end that was found meanwhile may be the end of what could be read then.
        self._reader.assign(dict.fromkeys(self._partitions, 0))
        return to_the_end(self._reader, self._topic)

    def to_the_end(self) -> Iterator[Record]:
        """Yield what can be read now; an open transaction may hide what others committed after it began.

        Raises:
            TransientError: the log gives no records, and does not report the end.
        """
        return to_the_end(self._reader, self._topic)

    def catch_up(self) -> Iterator[Record]:
        """Yield what can be read now and was not read yet, after `to_the_end`; if there is nothing, it costs two requests.

        Raises:
            TransientError: the log gives no records, and does not report the end.
        """
        ends = self._reader.ends(self._partitions)
        deadline = time.monotonic() + _PATIENCE
        while any((self._reader.ended_at(place) or 0) < end for place, (_, end) in ends.items()):
            records = self._reader.poll(_BETWEEN_LOOKS, _MOST)
            beat()
            if records:
                deadline = time.monotonic() + _PATIENCE
                yield from (record for record in records if not record.flaw)
            elif time.monotonic() > deadline:
                message = f"topic {self._topic} was not read to its end within {_PATIENCE:g} seconds"
                raise TransientError(message)

    def poll(self, timeout: float = 0.0) -> list[Record]:
        """Return the records that came since; wait for them up to `timeout` seconds."""
        return [record for record in self._reader.poll(timeout, _MOST) if not record.flaw]

    def close(self) -> None:
        """Close the reader."""
        self._reader.close()


def to_the_end(reader: LogReader, topic: str) -> Iterator[Record]:
    """Yield the records of a topic up to the end.

    Raises:
        TransientError: the log gives no records, and does not report the end.
    """
    while True:
        records = reader.poll(_PATIENCE, _MOST)
        beat()
        yield from (record for record in records if not record.flaw)
        if reader.at_end():
            return
        if not records:
            message = f"topic {topic} was not read to its end within {_PATIENCE:g} seconds"
            raise TransientError(message)


def _wait_for_open_transactions(log: Log, reader: LogReader, partitions: Sequence[TopicPartition]) -> None:
    """Return when everything written by now can be read, or never will be.

    Raises:
        TransientError: a transaction stays open. The log ends it in time: then opening again succeeds.
    """
    written = log.admin().written(partitions)
    deadline = time.monotonic() + _PATIENCE
    while held := [place for place, (_, end) in reader.ends(partitions).items() if end < written[place]]:
        beat()
        if time.monotonic() > deadline:
            message = f"a transaction in {held[0].topic}/{held[0].partition} was not ended within {_PATIENCE:g} seconds"
            raise TransientError(message)
        time.sleep(_BETWEEN_LOOKS)
