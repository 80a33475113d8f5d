"""Matches of finished slices into the log, those of each slice once.

The matches of a slice and a marker that they are there are written in one transaction. Who opens the run's transactional id
shuts out who had it, and reads the markers after that: so a slice that is tried again, by whomever, is not written twice. Where
the run is cut is written before its first slice, so that a slice of a number is the same one to whoever goes on.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.errors import TransientError
from graphtide_core.ports.log import Message
from graphtide_runtime.follower import Follower
from graphtide_wire import matches, operations
from graphtide_wire.operations import RunCut, SliceMarker

from graphtide_backfill.application.manifest import OtherRunError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphtide_core.ports.log import Log, Record
    from graphtide_core.time import TimeUnit

    from graphtide_backfill.application.ports import FoundRecord

_AT_ONCE: Final = 1_000


class Written(NamedTuple):
    """What is there of a run: the bounds of its slices, None before it was cut, and the numbers of those that are written."""

    bounds: tuple[int, ...] | None
    slices: set[int]


def written(log: Log, topic: str, run: str) -> Written:
    """Return what the topic of operations says of a run.

    Raises:
        TransientError: the log does not answer.
    """
    bounds: tuple[int, ...] | None = None
    slices: set[int] = set()
    for record in _of_run(log, topic, run):
        if operations.is_cut(record.key or b""):
            bounds = operations.decode_cut(record.value).bounds
        else:
            slices.add(operations.decode_marker(record.value).slice)
    return Written(bounds, slices)


class Publisher:
    """Writes slices of one run."""

    def __init__(self, log: Log, topic: str, told: str, run: str, bounds: Sequence[int], *, unit: TimeUnit) -> None:
        """Take the run's id, and read what of it is there; say how it is cut if nobody has.

        Args:
            log: where to.
            topic: of the matches.
            told: topic of operations, where it is said what is written.
            run: name of the run.
            bounds: of its slices.
            unit: what ticks of the matches count.

        Raises:
            OtherRunError: it was cut otherwise.
            TransientError: the log does not answer.
        """
        self._topic, self._told, self._run = topic, told, run
        self._unit = unit
        self._transactor = log.transactor(f"{told}.{run}")
        self._transactor.open()
        before = written(log, told, run)
        self.published = before.slices
        if before.bounds is None:
            self._write_cut(RunCut(run, tuple(bounds)))
        elif before.bounds != tuple(bounds):
            self._transactor.close()
            message = (
                "slices of this run were written that were cut otherwise than those that are kept: "
                "resume it in another folder, then it is cut as it was"
            )
            raise OtherRunError(message)

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
        self._write_of_run(operations.marker_key(marker), operations.encode_marker(marker))
        self.published.add(slice)

    def close(self) -> None:
        """Give back the id."""
        self._transactor.close()

    def _write_cut(self, cut: RunCut) -> None:
        self._transactor.begin()
        self._write_of_run(operations.cut_key(cut.run), operations.encode_cut(cut))

    def _write_of_run(self, key: bytes, value: bytes) -> None:
        """Write what is said of the run, and end the transaction."""
        self._transactor.write([Message(self._told, key, value)])
        self._transactor.commit(f"{self._told}.{self._run}", {})

    def _message(self, found: FoundRecord) -> Message:
        return matches.as_backfilled(matches.encode(self._topic, found.record, found.version, self._unit))


def _of_run(log: Log, topic: str, run: str) -> Iterator[Record]:
    try:
        follower = Follower(log, topic)
    except TransientError:
        # The topic is made by the first who writes to it.
        return
    try:
        for record in follower.to_the_end():
            key = record.key or b""
            if record.value is not None and operations.is_of_run(key) and key.startswith(f"{run}@".encode()):
                yield record
    finally:
        follower.close()


def _parts(records: Iterable[FoundRecord]) -> Iterator[list[FoundRecord]]:
    rest = iter(records)
    while part := list(islice(rest, _AT_ONCE)):
        yield part
