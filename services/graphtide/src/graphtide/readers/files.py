"""A reader of many files that are one stream: each in order of time by itself, all merged in order of time.

Files are looked into once, for their times; then each is opened when its time has come, and sorted if it is out of order. So
files that follow one another are open one at a time, whatever their number. Of equal times the order of the files decides.
Memory: some batches of each file that is open, and what its lateness holds back.
"""

from __future__ import annotations

import glob
import os
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import UnreadableStreamError
from graphtide_core.time import MAX_EVENT_TIME, MIN_EVENT_TIME
from graphtide_native.records import EdgeBatch

from graphtide.readers.in_order import OrderedReader
from graphtide.readers.reader import times_alone
from graphtide.readers.remote import files_at, is_hidden, is_several_at, is_uri
from graphtide.readers.sorting import SortingReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from graphtide_core.ports.dead_letter_sink import DeadLetter

    from graphtide.readers.reader import Reader, ReaderOptions, Settled, UnusableValues

MOST_FILES: Final = 10_000
"""Files of one stream."""

MOST_OPEN: Final = 64
"""Files that overlap in time: of each some batches are in memory."""

_MOST_REPORTED: Final = 1_000
"""Columns with something to report, and changes of file, that are remembered."""

_GLOB: Final = frozenset("*?[")


def is_several(name: str) -> bool:
    """Return whether a name stands for several files: a folder, or a pattern of names."""
    if is_uri(name):
        return is_several_at(name)
    return os.path.isdir(name) or (not _GLOB.isdisjoint(name) and not os.path.exists(name))


def files_of(name: str) -> list[str]:
    """Return the files of a folder and the folders in it, or those that a pattern names, in the order of their names.

    Files whose name, or a folder's on the way, begins with a point or an underscore are left out: programs keep their own in
    them.

    Raises:
        UnreadableStreamError: there is none, or there are too many.
    """
    if is_uri(name):
        found = files_at(name)
    elif os.path.isdir(name):
        root = Path(name)
        listed = (path for path in root.rglob("*") if path.is_file())
        found = [str(path) for path in sorted(listed) if not is_hidden(path.relative_to(root).as_posix())]
    else:
        found = [str(path) for path in sorted(map(Path, glob.iglob(name, recursive=True))) if path.is_file()]
    if not found:
        message = f"{name}: there is no file" + (" in this folder" if os.path.isdir(name) else " of this name")
        raise UnreadableStreamError(message)
    return found


@dataclass(frozen=True, slots=True)
class _FirstLook:
    """What the beginning of a file shows: the time of its earliest record there, and what it says of itself.

    Attributes:
        number: its place among the files.
        path: of the file.
        earliest: the least time of the first records; None if it has none.
        columns: its columns, if it has a list of them.
        has_ids: whether it gives ids, as far as is known.
        has_operations: likewise.
        place: what the line of a dead letter counts.
        size: in bytes, if it is known.
        is_in_order: whether it is to be read as it lies there.
    """

    number: int
    path: str
    earliest: int | None
    columns: list[str] | None
    has_ids: bool
    has_operations: bool
    place: str
    size: int | None
    is_in_order: bool


@dataclass(slots=True)
class _Totals:
    """What readers say of themselves, of files that are read to their ends."""

    records: int = 0
    filtered: int = 0
    bytes_read: int = 0
    has_zoneless_times: bool = False
    unusable_values: list[UnusableValues] = field(default_factory=list)
    settled: list[Settled] = field(default_factory=list)

    def add(self, reader: Reader) -> None:
        """Add one."""
        self.records += reader.records
        self.filtered += reader.filtered
        self.bytes_read += reader.bytes_read
        self.has_zoneless_times |= reader.has_zoneless_times
        self.unusable_values = [*self.unusable_values, *reader.unusable_values][:_MOST_REPORTED]
        self.settled = [*self.settled, *reader.settled][:_MOST_REPORTED]


class FilesReader:
    """A reader of many files that are one stream; see `Reader`. Its batches are in order."""

    def __init__(
        self,
        paths: Sequence[str],
        open_file: Callable[[str, ReaderOptions], Reader],
        options: ReaderOptions,
        *,
        is_sure: Callable[[str, ReaderOptions], bool] = lambda _path, _options: False,
    ) -> None:
        """Look into each file: at its beginning or, if files out of order are to be sorted, at all its times.

        Args:
            paths: in the order that decides between records of one time.
            open_file: opens one, to be read as it lies there.
            options: how to read each.
            is_sure: returns whether a file is surely in order of time; a no says nothing.

        Raises:
            UnreadableStreamError: there are too many files, or one cannot be opened.
        """
        if len(paths) > MOST_FILES:
            message = f"{len(paths):,} files are more than one stream may have, {MOST_FILES:,}"
            raise UnreadableStreamError(message)
        self._open_file = open_file
        self._options = options
        self._is_sure = is_sure
        self._looks = [self._look(number, path) for number, path in enumerate(paths)]
        self._open: dict[int, OrderedReader] = {}
        self._closed = _Totals()
        self._letters: list[DeadLetter] = []
        self._first_ordinal = 0
        self._origins: deque[tuple[int, list[str]]] = deque(maxlen=_MOST_REPORTED)

    def batches(self) -> Iterator[EdgeBatch]:
        """Yield batches; see `Reader.batches`. Ids that are made count the records of all files, in their order."""
        waiting = deque(sorted(self._looks, key=self._due))
        ordinal = self._first_ordinal
        try:
            while waiting or self._open:
                self._read_on(waiting)
                files = sorted(self._open.items())
                # Bad records alone: the caller takes them before there are more.
                empty = next((each.head for _, each in files if not each.is_at_hand), None)
                if empty is not None:
                    yield empty
                elif files:
                    merged, places = EdgeBatch.merged([*self._heads(files, waiting)])
                    self._note_origin(
                        ordinal, [each.name for (_, each), place in zip(files, places, strict=True) if place > each.place]
                    )
                    for (_, each), place in zip(files, places, strict=True):
                        each.place = place
                    merged, ordinal = merged.as_one_stream(ordinal)
                    yield merged
        finally:
            self.close()

    def _note_origin(self, ordinal: int, names: list[str]) -> None:
        """Note that records from an ordinal on are of these files."""
        if not self._origins or self._origins[-1][1] != names:
            self._origins.append((ordinal, names))

    def _due(self, look: _FirstLook) -> int:
        """Return the time before which no record of a file comes; of one without records the end of time."""
        return MAX_EVENT_TIME if look.earliest is None else max(MIN_EVENT_TIME, look.earliest - self._options.lateness)

    def _heads(
        self, files: Iterable[tuple[int, OrderedReader]], waiting: Sequence[_FirstLook]
    ) -> Iterator[tuple[EdgeBatch, int, int | None, str]]:
        before = self._due(waiting[0]) if waiting else None
        for number, each in files:
            if each.head is not None:
                yield each.head, each.place, before, str(number)

    def _read_on(self, waiting: deque[_FirstLook]) -> None:
        """Read on in files without a record at hand, close those that have no more, and open those whose time has come."""
        for number, each in [*self._open.items()]:
            self._close_if_done(number, each)
        while waiting and all(self._is_due(waiting[0], each) for each in self._open.values()):
            look = waiting.popleft()
            if len(self._open) == MOST_OPEN:
                message = f"{look.path}: more than {MOST_OPEN} files overlap in time; merge some of them first"
                raise UnreadableStreamError(message)
            reader = self._open_file(look.path, self._options)
            if not look.is_in_order:
                reader = SortingReader(reader, self._options, times=None, kept_bytes=0)
            lateness, most = self._options.lateness, self._options.max_pending
            opened = OrderedReader(look.path, reader, lateness=lateness, max_pending=most)
            self._open[look.number] = opened
            self._close_if_done(look.number, opened)
        self._take_letters()

    def _is_due(self, look: _FirstLook, other: OrderedReader) -> bool:
        """Return whether a file may have a record that comes before what another has at hand."""
        return other.is_at_hand and other.earliest is not None and self._due(look) <= other.earliest

    def _close_if_done(self, number: int, each: OrderedReader) -> None:
        if not each.has_more():
            self._take_letters()
            del self._open[number]
            self._closed.add(each.reader)
            each.reader.close()

    def _take_letters(self) -> None:
        for _, each in sorted(self._open.items()):
            self._letters += each.letters
            each.letters = []

    def _look(self, number: int, path: str) -> _FirstLook:
        sorts = self._options.sorts
        reader = self._open_file(path, times_alone(self._options) if sorts else self._options)
        earliest: int | None = None
        newest: int = MIN_EVENT_TIME
        is_in_order = True
        try:
            for batch in reader.batches():
                reader.take_dead_letters()
                if not len(batch):
                    continue
                is_first = earliest is None
                is_in_order = is_in_order and batch.is_ordered_from(newest)
                newest = newest if batch.last_ts is None else batch.last_ts
                first = min(batch.ts)
                earliest = first if earliest is None else min(earliest, first)
                if not sorts or (is_first and is_in_order and self._is_sure(path, self._options)):
                    break
            return _FirstLook(
                number,
                path,
                earliest,
                reader.columns,
                reader.has_ids,
                reader.has_operations,
                reader.place,
                reader.bytes_total,
                is_in_order or not sorts,
            )
        finally:
            reader.close()

    def take_dead_letters(self) -> list[DeadLetter]:
        """Return the records rejected since the last call, bad ones and late ones; the reason names the file."""
        letters, self._letters = self._letters, []
        return letters

    def start_at(self, ordinal: int) -> None:
        """Continue to count from an ordinal; see `Reader.start_at`."""
        self._first_ordinal = ordinal

    @property
    def records(self) -> int:
        """How many records were read, bad ones too, from where the count started."""
        return self._first_ordinal + self._closed.records + sum(each.reader.records for each in self._open.values())

    def close(self) -> None:
        """Close the files."""
        for each in self._open.values():
            each.reader.close()

    @property
    def columns(self) -> list[str] | None:
        """The columns of all files; None where one has no list of them."""
        known = [look.columns for look in self._looks if look.columns is not None]
        return list(dict.fromkeys(name for columns in known for name in columns)) if len(known) == len(self._looks) else None

    @property
    def has_ids(self) -> bool:
        """Whether a file gives ids, as far as is known."""
        return any(look.has_ids for look in self._looks) or any(each.reader.has_ids for each in self._open.values())

    @property
    def has_operations(self) -> bool:
        """Whether a file gives operations, as far as is known."""
        return any(look.has_operations for look in self._looks)

    @property
    def has_zoneless_times(self) -> bool:
        """Whether dates of one were read as those of UTC."""
        return self._closed.has_zoneless_times or any(each.reader.has_zoneless_times for each in self._open.values())

    @property
    def is_sorted_here(self) -> bool:
        """Whether a file was sorted."""
        return any(not look.is_in_order for look in self._looks)

    @property
    def filtered(self) -> int:
        """Records that are not of the stream."""
        return self._closed.filtered + sum(each.reader.filtered for each in self._open.values())

    @property
    def is_live(self) -> bool:
        """Whether records are handed on as they come: files are there."""
        return False

    @property
    def unusable_values(self) -> list[UnusableValues]:
        """Wanted attributes whose values are missing because none can have them; see `Reader.unusable_values`."""
        return [
            *self._closed.unusable_values,
            *(found for each in self._open.values() for found in each.reader.unusable_values),
        ]

    @property
    def settled(self) -> list[Settled]:
        """Columns of CSV that were found to hold texts; see `Reader.settled`."""
        return [*self._closed.settled, *(found for each in self._open.values() for found in each.reader.settled)]

    @property
    def place(self) -> str:
        """What the line of a dead letter counts; see `Reader.place`."""
        places = {look.place for look in self._looks}
        return places.pop() if len(places) == 1 else "record"

    def locate(self, record: int, line: int) -> str:
        """Return where a record is; see `Reader.locate`. Of files that overlap in time it names all."""
        names = next((names for first, names in reversed(self._origins) if first < record), ["a file"])
        return f"{' or '.join(names)}, {self.place} {line:,}: record {record:,}"

    @property
    def bytes_read(self) -> int:
        """Bytes read so far."""
        return self._closed.bytes_read + sum(each.reader.bytes_read for each in self._open.values())

    @property
    def bytes_total(self) -> int | None:
        """Size of all files, if each has one."""
        sizes = [look.size for look in self._looks if look.size is not None]
        return sum(sizes) if len(sizes) == len(self._looks) else None
