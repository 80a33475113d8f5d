"""A reader in a thread of its own: while one batch is matched, the next is read and decoded.

Decoders and engines release Python's lock, so that two cores work at once. What a reader reports of itself goes with its
batches: with a batch comes the reader's state after that batch, and never a later one. Cost: three more batches in memory;
after a batch with many rejected records, nothing is read until they were taken.
"""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, Queue
from threading import Condition, Event, Thread
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.dead_letter_sink import DeadLetter
    from graphtide_native.records import EdgeBatch

    from graphtide.readers.reader import Reader, Settled, UnusableValues

_MOST_WAITING: Final = 2

_MOST_LETTERS: Final = 1 << 16
"""Records rejected with one batch, past which the reader waits until they were taken: each is larger than its bytes."""


class _ReaderReport(NamedTuple):
    """What a reader says of itself."""

    records: int
    columns: list[str] | None
    has_ids: bool
    has_operations: bool
    has_zoneless_times: bool
    is_sorted_here: bool
    filtered: int
    unusable_values: list[UnusableValues]
    settled: list[Settled]
    bytes_read: int


class _Handed(NamedTuple):
    """What the thread hands over: a batch, or the end, or what broke it off."""

    batch: EdgeBatch | None
    letters: list[DeadLetter]
    report: _ReaderReport
    error: BaseException | None = None


def read_ahead(reader: Reader) -> Reader:
    """Return a reader of the same stream that works ahead, if that is a file: others are read batch by batch on demand."""
    return reader if reader.bytes_total is None else AheadReader(reader)


class AheadReader:
    """A reader that works between calls; see `Reader`."""

    def __init__(self, reader: Reader) -> None:
        """Prepare; the thread starts with the first batch."""
        self._reader = reader
        self._waiting: Queue[_Handed] = Queue(_MOST_WAITING)
        self._is_closed = Event()
        self._changed = Condition()
        self._asked = 0
        self._handed = 0
        self._thread = Thread(target=self._work, name="reader", daemon=True)
        self._report_of: _ReaderReport | None = None
        self._letters: list[DeadLetter] = []

    def batches(self) -> Iterator[EdgeBatch]:
        """Yield batches; see `Reader.batches`."""
        self._report_of = _report_of(self._reader)
        self._thread.start()
        try:
            while (batch := self._next()) is not None:
                yield batch
        finally:
            self.close()

    def _next(self) -> EdgeBatch | None:
        with self._changed:
            self._asked += 1
            self._changed.notify()
        handed = self._waiting.get()
        self._report_of = handed.report
        self._letters += handed.letters
        if handed.error is not None:
            raise handed.error
        return handed.batch

    def _work(self) -> None:
        error: BaseException | None = None
        try:
            for batch in self._reader.batches():
                self._hand(batch)
                if self._is_closed.is_set():
                    return
        except BaseException as broken:
            error = broken
        self._hand(None, error)

    def _hand(self, batch: EdgeBatch | None, error: BaseException | None = None) -> None:
        letters = self._reader.take_dead_letters()
        self._waiting.put(_Handed(batch, letters, _report_of(self._reader), error))
        self._handed += 1
        if len(letters) > _MOST_LETTERS:
            del letters
            with self._changed:
                # A call for the next batch means that the caller has done with this one.
                self._changed.wait_for(lambda: self._asked > self._handed or self._is_closed.is_set())

    def close(self) -> None:
        """Close the stream, and wait for the thread, which ends after its current batch."""
        with self._changed:
            self._is_closed.set()
            self._changed.notify()
        while self._thread.is_alive():
            with suppress(Empty):
                self._waiting.get(timeout=0.01)
        self._reader.close()

    def take_dead_letters(self) -> list[DeadLetter]:
        """Return the records rejected since the last call, up to the batch that was taken last."""
        letters, self._letters = self._letters, []
        return letters

    def start_at(self, ordinal: int) -> None:
        """Continue to count from an ordinal; before the first batch."""
        self._reader.start_at(ordinal)

    @property
    def records(self) -> int:
        """Ordinal that the next record will have."""
        return self._now.records

    @property
    def columns(self) -> list[str] | None:
        """The stream's columns, once known."""
        return self._now.columns

    @property
    def has_ids(self) -> bool:
        """Whether the stream gives ids."""
        return self._now.has_ids

    @property
    def has_operations(self) -> bool:
        """Whether the stream gives operations."""
        return self._now.has_operations

    @property
    def has_zoneless_times(self) -> bool:
        """Whether dates were read as those of UTC."""
        return self._now.has_zoneless_times

    @property
    def is_sorted_here(self) -> bool:
        """Whether records were sorted; see `Reader.is_sorted_here`."""
        return self._now.is_sorted_here

    @property
    def filtered(self) -> int:
        """Records that are not of the stream, up to the batch that was taken last."""
        return self._now.filtered

    @property
    def is_live(self) -> bool:
        """Whether records are handed on as they come; see `Reader.is_live`."""
        return self._reader.is_live

    @property
    def unusable_values(self) -> list[UnusableValues]:
        """Wanted attributes whose values are missing because none can have them; see `Reader.unusable_values`."""
        return self._now.unusable_values

    @property
    def settled(self) -> list[Settled]:
        """Columns of CSV that were found to hold texts; see `Reader.settled`."""
        return self._now.settled

    @property
    def place(self) -> str:
        """What the line of a dead letter counts; see `Reader.place`."""
        return self._reader.place

    def locate(self, record: int, line: int) -> str:
        """Return where a record is; see `Reader.locate`."""
        return self._reader.locate(record, line)

    @property
    def bytes_read(self) -> int:
        """Bytes of the source read up to the batch that was taken last."""
        return self._now.bytes_read

    @property
    def bytes_total(self) -> int | None:
        """Size of the source."""
        return self._reader.bytes_total

    @property
    def _now(self) -> _ReaderReport:
        return self._report_of or _report_of(self._reader)


def _report_of(reader: Reader) -> _ReaderReport:
    return _ReaderReport(
        reader.records,
        reader.columns,
        reader.has_ids,
        reader.has_operations,
        reader.has_zoneless_times,
        reader.is_sorted_here,
        reader.filtered,
        reader.unusable_values,
        reader.settled,
        reader.bytes_read,
    )
