"""Matches of finished slices into the log, those of each slice once.

The matches of a slice and a marker that they are there are written in one transaction. Who opens the run's transactional id
shuts out who had it, and reads the markers after that: so a slice that is tried again, by whomever, is not written twice.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import TransientError
from graphtide_core.ports.log import Message
from graphtide_runtime.follower import Follower
from graphtide_wire import matches
from graphtide_wire.operations import SliceMarker, decode_marker, encode_marker, is_marker, marker_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_core.ports.log import Log
    from graphtide_core.time import TimeUnit

    from graphtide_backfill.application.ports import FoundRecord

_AT_ONCE: Final = 1_000


class Publisher:
    """Writes slices of one run."""

    def __init__(self, log: Log, topic: str, operations: str, run: str, unit: TimeUnit) -> None:
        """Take the run's id, and read what of it is there.

        Args:
            log: where to.
            topic: of the matches.
            operations: topic of the markers.
            run: name of the run.
            unit: what ticks of the matches count.

        Raises:
            TransientError: the log does not answer.
        """
        self._topic, self._operations, self._run = topic, operations, run
        self._unit = unit
        self._transactor = log.transactor(f"{operations}.{run}")
        self._transactor.open()
        self.published = {marker.slice for marker in _markers(log, operations) if marker.run == run}

    def publish(self, slice: int, records: Iterable[FoundRecord]) -> None:
        """Write the records of a slice, unless they are there.

        Raises:
            FencedError: another process works on the run.
            TransientError: the log does not answer; whether the slice is there is known when the run is taken again.
        """
        if slice in self.published:
            return
        self._transactor.begin()
        count = 0
        for part in _parts(records):
            self._transactor.write([self._message(each) for each in part])
            count += len(part)
        marker = SliceMarker(self._run, slice, count)
        self._transactor.write([Message(self._operations, marker_key(marker), encode_marker(marker))])
        self._transactor.commit(f"{self._operations}.{self._run}", {})
        self.published.add(slice)

    def close(self) -> None:
        """Give back the id."""
        self._transactor.close()

    def _message(self, found: FoundRecord) -> Message:
        return matches.as_backfilled(matches.encode(self._topic, found.record, found.version, self._unit))


def _markers(log: Log, operations: str) -> Iterator[SliceMarker]:
    try:
        follower = Follower(log, operations)
    except TransientError:
        # The topic is made by the first who writes to it.
        return
    try:
        for record in follower.to_the_end():
            if record.value is not None and is_marker(record.key or b""):
                yield decode_marker(record.value)
    finally:
        follower.close()


def _parts(records: Iterable[FoundRecord]) -> Iterator[list[FoundRecord]]:
    rest = iter(records)
    while part := list(islice(rest, _AT_ONCE)):
        yield part
