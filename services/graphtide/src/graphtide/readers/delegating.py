"""A reader that does something with the batches of another, and reports what the other reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.dead_letter_sink import DeadLetter
    from graphtide_native.records import EdgeBatch

    from graphtide.readers.reader import Reader, Settled, UnusableValues


class DelegatingReader:
    """A reader that hands on what another gives; see `Reader`."""

    def __init__(self, reader: Reader) -> None:
        """Take the other one."""
        self._reader = reader

    def batches(self) -> Iterator[EdgeBatch]:
        """Yield batches; see `Reader.batches`."""
        return self._reader.batches()

    def take_dead_letters(self) -> list[DeadLetter]:
        """Return the records rejected since the last call."""
        return self._reader.take_dead_letters()

    def start_at(self, ordinal: int) -> None:
        """Continue to count from an ordinal; see `Reader.start_at`."""
        self._reader.start_at(ordinal)

    def close(self) -> None:
        """Close the stream."""
        self._reader.close()

    @property
    def records(self) -> int:
        """Ordinal that the next record will have."""
        return self._reader.records

    @property
    def columns(self) -> list[str] | None:
        """The stream's columns, once known."""
        return self._reader.columns

    @property
    def has_ids(self) -> bool:
        """Whether the stream gives ids."""
        return self._reader.has_ids

    @property
    def has_operations(self) -> bool:
        """Whether the stream gives operations."""
        return self._reader.has_operations

    @property
    def has_zoneless_times(self) -> bool:
        """Whether dates were read as those of UTC."""
        return self._reader.has_zoneless_times

    @property
    def filtered(self) -> int:
        """Records that are not of the stream."""
        return self._reader.filtered

    @property
    def is_sorted_here(self) -> bool:
        """Whether records were put in order; see `Reader.is_sorted_here`."""
        return self._reader.is_sorted_here

    @property
    def is_live(self) -> bool:
        """Whether records are handed on as they come; see `Reader.is_live`."""
        return self._reader.is_live

    @property
    def unusable_values(self) -> list[UnusableValues]:
        """Wanted attributes whose values are missing because none can have them; see `Reader.unusable_values`."""
        return self._reader.unusable_values

    @property
    def settled(self) -> list[Settled]:
        """Columns of CSV that were found to hold texts; see `Reader.settled`."""
        return self._reader.settled

    @property
    def place(self) -> str:
        """What the line of a dead letter counts; see `Reader.place`."""
        return self._reader.place

    def locate(self, record: int, line: int) -> str:
        """Return where a record is; see `Reader.locate`."""
        return self._reader.locate(record, line)

    @property
    def bytes_read(self) -> int:
        """Bytes of the source read so far."""
        return self._reader.bytes_read

    @property
    def bytes_total(self) -> int | None:
        """Size of the source, if it has one."""
        return self._reader.bytes_total
