"""Matches of finished slices into the log, those of each slice once.

One transaction has the matches of a slice and a marker that they are there. A process that opens the run's transactional id
shuts out the one that had it. It writes a record that it did, and reads the markers up to that record. So a slice that another
process tries again is not written twice. Reading to the end would not do: it ends at another process's open transaction. The
cuts of the run are written before its first slice. So a slice of a number is the same one for a process that continues.
"""

from __future__ import annotations

import uuid
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.errors import TransientError
from graphtide_core.part_key import PartKey
from graphtide_core.ports.log import Message
from graphtide_log.follower import Follower
from graphtide_wire import matches, operations
from graphtide_wire.operations import RunCut, SliceMarker
from msgspec import UnsetType

from graphtide_backfill.application.manifest import OtherRunError
from graphtide_backfill.domain.division import Division
from graphtide_backfill.domain.slices import Cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_core.ports.log import Headers, Log, Record
    from graphtide_core.time import TimeUnit

    from graphtide_backfill.application.ports import FoundRecord

_AT_ONCE: Final = 1_000
_POLL_SECONDS: Final = 1.0
_PATIENCE: Final = 90
"""Seconds after which the log has ended the transaction of a dead process."""


class Written(NamedTuple):
    """What is there of a run: how it is cut, None before it was, and the numbers of the slices that are written."""

    cut: Cut | None
    slices: set[int]


def read_written(log: Log, topic: str, run: str) -> Written:
    """Return what can be read now of a run in the topic of operations; only a `Publisher` knows that it is all.

    Raises:
        TransientError: the log does not answer.
    """
    try:
        follower = Follower(log, topic)
    except TransientError:
        # The first writer makes the topic.
        return Written(None, set())
    try:
        return _read_written(follower.to_the_end(), run)
    finally:
        follower.close()


class Publisher:
    """Writes slices of one run."""

    def __init__(self, log: Log, topic: str, operations_topic: str, run: str, cut: Cut, *, unit: TimeUnit) -> None:
        """Take the run's id, and read what of it is there; write how it is cut if that is not there.

        Args:
            log: where to.
            topic: of the matches.
            operations_topic: topic of operations, with the marks of what is written.
            run: name of the run.
            cut: how it is cut.
            unit: what ticks of the matches count.

        Raises:
            OtherRunError: it was cut otherwise.
            TransientError: the log does not answer, or another process's transaction stays open.
        """
        self._topic, self._written, self._run = topic, operations_topic, run
        self._unit = unit
        self._transactor = log.transactor(f"{operations_topic}.{run}")
        self._transactor.open()
        before = self._all_written(log)
        self.published = before.slices
        if before.cut is None:
            # A run that finds no history yet may be cut when there is some.
            if cut.bounds:
                self._write_cut(_record_of(run, cut))
        elif before.cut != cut:
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

    def _all_written(self, log: Log) -> Written:
        mark = (("graphtide-opened", uuid.uuid4().hex.encode()),)
        self._transactor.begin()
        self._write_of_run(operations.opened_key(self._run), None, mark)
        follower = Follower(log, self._written)
        try:
            return _read_written(takewhile(lambda record: record.headers != mark, _patiently(follower)), self._run)
        finally:
            follower.close()

    def _write_cut(self, cut: RunCut) -> None:
        self._transactor.begin()
        self._write_of_run(operations.cut_key(cut.run), operations.encode_cut(cut))

    def _write_of_run(self, key: bytes, value: bytes | None, headers: Headers = ()) -> None:
        """Write the marks of the run, and end the transaction."""
        self._transactor.write([Message(self._written, key, value, headers)])
        self._transactor.commit(f"{self._written}.{self._run}", {})

    def _message(self, found: FoundRecord) -> Message:
        return matches.as_backfilled(matches.encode(self._topic, found.record, found.version, self._unit))


def _read_written(records: Iterable[Record], run: str) -> Written:
    cut: Cut | None = None
    slices: set[int] = set()
    for record in records:
        key = record.key or b""
        if record.value is None or not operations.is_of_run(key) or not key.startswith(f"{run}@".encode()):
            continue
        if operations.is_cut(key):
            cut = _cut_of(operations.decode_cut(record.value))
        else:
            slices.add(operations.decode_marker(record.value).slice)
    return Written(cut, slices)


def _record_of(run: str, cut: Cut) -> RunCut:
    division = cut.division
    return RunCut(run, cut.bounds) if division is None else RunCut(run, cut.bounds, division.key.field, division.parts)


def _cut_of(record: RunCut) -> Cut:
    if isinstance(record.by, UnsetType) or isinstance(record.parts, UnsetType) or not record.parts:
        return Cut(record.bounds, None)
    return Cut(record.bounds, Division(PartKey(record.by), record.parts))


def _patiently(follower: Follower) -> Iterator[Record]:
    """Yield records without end.

    Raises:
        TransientError: there are no more.
    """
    waits = 0
    while waits * _POLL_SECONDS < _PATIENCE:
        records = follower.poll(_POLL_SECONDS)
        waits = 0 if records else waits + 1
        yield from records
    message = "the topic of operations cannot be read to its end: another process's transaction stays open"
    raise TransientError(message)


def _parts(records: Iterable[FoundRecord]) -> Iterator[list[FoundRecord]]:
    rest = iter(records)
    while part := list(islice(rest, _AT_ONCE)):
        yield part
