"""A reader of several streams as one: each put in order and cleared of duplicates by itself, then merged in order of time.

Of equal times the names of the streams decide, then the order of each. The records know their streams. Memory: some batches of
each stream, and what its lateness holds back. A stream that has nothing to give is waited for. What it gives next may be
earlier than all that is at hand of others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_native.records import EdgeBatch

from graphtide.readers.in_order import OrderedReader
from graphtide.repeated_ids import RepeatedIds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from graphtide_core.duplicate_policy import DuplicatePolicy
    from graphtide_core.ports.dead_letter_sink import DeadLetter
    from graphtide_native.records import Symbols

    from graphtide.readers.reader import Reader, Settled, UnusableValues
    from graphtide.repeated_ids import FirstDuplicate


@dataclass(frozen=True, slots=True)
class Ordering:
    """How streams are put in order.

    Attributes:
        lateness: of each stream: ticks that a record may be late in it.
        max_pending: records of a stream that wait at once.
        lookbacks: of each stream: ticks within which two records of one id are duplicates.
        duplicates: of each stream: what becomes of such a record.
        complete: gives the next records of a stream what is counted of it; takes a batch, the time that it is at, and the name.
    """

    lateness: Mapping[str, int]
    max_pending: int
    lookbacks: Mapping[str, int]
    duplicates: Mapping[str, DuplicatePolicy]
    complete: Callable[[EdgeBatch, int | None, str], EdgeBatch] = lambda batch, _, __: batch


class _Stream(OrderedReader):
    """One of the streams, in order and without duplicates."""

    def __init__(self, name: str, reader: Reader, ordering: Ordering) -> None:
        super().__init__(
            f"stream {name}",
            reader,
            lateness=ordering.lateness[name],
            max_pending=ordering.max_pending,
            clear=self._cleared,
        )
        self.stream = name
        self._lookback = ordering.lookbacks[name]
        self._policy = ordering.duplicates[name]
        self._complete = ordering.complete
        self._duplicates: RepeatedIds | None = None

    @property
    def dropped(self) -> int:
        return self._duplicates.dropped if self._duplicates is not None else 0

    @property
    def replaced(self) -> int:
        return self._duplicates.replaced if self._duplicates is not None else 0

    @property
    def first_duplicate(self) -> FirstDuplicate | None:
        return self._duplicates.first if self._duplicates is not None else None

    def _locate(self, record: int, line: int) -> str:
        return f"stream {self.stream}: {self.reader.locate(record, line)}"

    def _cleared(self, batch: EdgeBatch) -> EdgeBatch:
        # A format without columns may turn out to give ids at any record.
        if self._duplicates is None and (self.reader.columns is None or self.reader.has_ids):
            self._duplicates = RepeatedIds(self._lookback, policy=self._policy, locate=self._locate)
        kept = batch if self._duplicates is None else self._duplicates.filter(batch)
        return self._complete(kept, self.newest, self.stream)


class MergedReader:
    """A reader of streams by name; see `Reader`. Its batches are in order.

    Attributes:
        passed: no record before this time follows, as far as is known; dropped duplicates count as records.
    """

    def __init__(self, readers: Mapping[str, Reader], ordering: Ordering, symbols: Symbols) -> None:
        """Take readers that decode the same attributes with one table of labels."""
        self._streams = [_Stream(name, reader, ordering) for name, reader in sorted(readers.items())]
        self.passed: int | None = None
        for name in readers:
            symbols.learn(name)

    def batches(self) -> Iterator[EdgeBatch]:
        """Yield batches; see `Reader.batches`. Where one of the streams cannot be read on, none is.

        One without records is given where time alone may have passed.
        """
        open_streams, last = self._streams, None
        try:
            while open_streams := [stream for stream in open_streams if stream.has_more()]:
                waited = next((stream.head for stream in open_streams if not stream.is_at_hand), None)
                if waited is not None:
                    self._pass(min, open_streams)
                    yield waited
                    continue
                heads = [(stream.head, stream.place, None, stream.stream) for stream in open_streams if stream.head is not None]
                merged, places = EdgeBatch.merged(heads)
                for stream, place in zip(open_streams, places, strict=True):
                    stream.place = place
                self._pass(min, open_streams)
                yield (last := merged)
            self._pass(max, [stream for stream in self._streams if stream.newest is not None])
            if last is not None:
                yield last.part(0, 0)
        finally:
            self.close()

    def _pass(self, of_all: Callable[[list[int]], int], streams: Sequence[_Stream]) -> None:
        """Note the time that some streams are at: the least, or at the end of all the greatest, of theirs."""
        times = [time for stream in streams if (time := stream.earliest) is not None]
        if times and len(times) == len(streams):
            self.passed = of_all(times)

    def streams(self) -> Iterator[tuple[str, Reader]]:
        """Yield the names of the streams with their readers."""
        yield from ((stream.stream, stream.reader) for stream in self._streams)

    @property
    def dropped(self) -> int:
        """Records that were dropped as duplicates."""
        return sum(stream.dropped for stream in self._streams)

    @property
    def replaced(self) -> int:
        """Records that are in the place of what had their id."""
        return sum(stream.replaced for stream in self._streams)

    @property
    def first_duplicate(self) -> FirstDuplicate | None:
        """The first of them, of the first stream that has one."""
        return next((stream.first_duplicate for stream in self._streams if stream.first_duplicate is not None), None)

    def take_dead_letters(self) -> list[DeadLetter]:
        """Return the records rejected since the last call, bad ones and late ones; the reason names the stream."""
        letters = [letter for stream in self._streams for letter in stream.letters]
        for stream in self._streams:
            stream.letters = []
        return letters

    def start_at(self, ordinal: int) -> None:
        """Refuse to continue from an ordinal: the streams are whole.

        Raises:
            ValueError: the ordinal is not 0.
        """
        if ordinal:
            message = "streams by name are whole, not pieces"
            raise ValueError(message)

    @property
    def records(self) -> int:
        """How many records were read, bad ones too."""
        return sum(stream.reader.records for stream in self._streams)

    def close(self) -> None:
        """Close the streams."""
        for stream in self._streams:
            stream.reader.close()

    @property
    def columns(self) -> list[str] | None:
        """The columns of all, once known; None where one has none."""
        each = [stream.reader.columns for stream in self._streams]
        known = [columns for columns in each if columns is not None]
        return list(dict.fromkeys(name for columns in known for name in columns)) if len(known) == len(each) else None

    @property
    def has_ids(self) -> bool:
        """Whether duplicates are to be looked for: they are gone."""
        return False

    @property
    def has_operations(self) -> bool:
        """Whether one of the streams gives operations, as far as is known."""
        return any(stream.reader.columns is None or stream.reader.has_operations for stream in self._streams)

    @property
    def has_zoneless_times(self) -> bool:
        """Whether dates of one were read as those of UTC."""
        return any(stream.reader.has_zoneless_times for stream in self._streams)

    @property
    def is_sorted_here(self) -> bool:
        """Whether one of the streams was sorted."""
        return any(stream.reader.is_sorted_here for stream in self._streams)

    @property
    def filtered(self) -> int:
        """Records that are not of their streams."""
        return sum(stream.reader.filtered for stream in self._streams)

    @property
    def is_live(self) -> bool:
        """Whether records of one are handed on as they come."""
        return any(stream.reader.is_live for stream in self._streams)

    @property
    def unusable_values(self) -> list[UnusableValues]:
        """Wanted attributes whose values are missing because none can have them; see `Reader.unusable_values`."""
        return [unusable_values for stream in self._streams for unusable_values in stream.reader.unusable_values]

    @property
    def settled(self) -> list[Settled]:
        """Columns of CSV that were found to hold texts; see `Reader.settled`."""
        return [settled for stream in self._streams for settled in stream.reader.settled]

    @property
    def place(self) -> str:
        """What the line of a dead letter counts; see `Reader.place`."""
        places = {stream.reader.place for stream in self._streams}
        return places.pop() if len(places) == 1 else "record"

    def locate(self, record: int, line: int) -> str:
        """Return where a record is; see `Reader.locate`. Each stream locates its own."""
        return f"{self.place} {line:,}: record {record:,}"

    @property
    def bytes_read(self) -> int:
        """Bytes read of those that are of bytes."""
        return sum(stream.reader.bytes_read for stream in self._streams)

    @property
    def bytes_total(self) -> int | None:
        """Size of all, if each has one."""
        sizes = [stream.reader.bytes_total for stream in self._streams]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None
