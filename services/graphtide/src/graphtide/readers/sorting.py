"""A reader that puts a file in order of time before its first record is handed on, if it is not in order already.

A look at its times alone shows that most files are in order (`graphtide.readers.order_scan`). Else a small file is decoded
once, and kept in memory meanwhile; a larger one is decoded twice, first without its attributes. A file out of order is sorted
in memory or, past a bound, in parts. Each part is sorted and written to a temporary folder, and all are merged. Records of one
time keep their order, and ids that are made count the records of the file as it lies there.
Memory: `KEPT_BYTES` of records, or the bound of a part; and a batch of each part while they are merged.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from graphtide_core.errors import UnreadableStreamError
from graphtide_core.time import MAX_EVENT_TIME, MIN_EVENT_TIME
from graphtide_native.records import ArrowDecoder, EdgeBatch, Sequencer, take_dead_letters

from graphtide.readers.delegating import DelegatingReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from graphtide_core.ports.dead_letter_sink import DeadLetter

    from graphtide.readers.reader import Reader, ReaderOptions

KEPT_BYTES: Final = 64 << 20
"""Bytes of records that are kept until it is known that a file is in order."""

PART_BYTES: Final = 256 << 20
"""Bytes of records that are sorted at once."""

MOST_PARTS: Final = 64
"""Parts that are merged at once."""

_ROWS: Final = 1 << 13
"""Records of a part that are in memory while parts are merged."""

_AT_ONCE: Final = 1 << 16
"""Records that are handed on together."""


class SortingReader(DelegatingReader):
    """A reader of a file in order of time; see `Reader`."""

    def __init__(
        self,
        reader: Reader,
        options: ReaderOptions,
        *,
        times: Callable[[], Reader] | None,
        is_sure: Callable[[], bool] = lambda: False,
        kept_bytes: int = KEPT_BYTES,
        part_bytes: int = PART_BYTES,
    ) -> None:
        """Take a reader that was not read yet.

        Args:
            reader: of the file.
            options: those of the reader.
            times: opens another reader of the file, which decodes times at least; None if it is read once: past `kept_bytes`
                it is sorted.
            is_sure: returns whether the file is surely in order of time; a no says nothing.
            kept_bytes: see `KEPT_BYTES`.
            part_bytes: see `PART_BYTES`.
        """
        super().__init__(reader)
        self._options = options
        self._times = times
        self._is_sure = is_sure
        self._kept_bytes = kept_bytes
        self._part_bytes = part_bytes
        self._is_sorted_here = False
        self._letters: list[DeadLetter] = []

    def take_dead_letters(self) -> list[DeadLetter]:
        """Return the records rejected since the last call; late are those that are the whole range of time too late."""
        letters, self._letters = self._letters, []
        return [*self._reader.take_dead_letters(), *letters]

    @property
    def is_sorted_here(self) -> bool:
        """Whether the file was out of order."""
        return self._is_sorted_here or self._reader.is_sorted_here

    def batches(self) -> Iterator[EdgeBatch]:
        """Yield batches in order of time; see `Reader.batches`."""
        if self._is_sure():
            yield from self._reader.batches()
            return
        found = _Found(self._reader.batches())
        yield from self._look(found)
        if found.error is not None:
            raise found.error

    def _look(self, found: _Found) -> Iterator[EdgeBatch]:
        """Yield batches as they lie there, once all are known to be in order; else sort them."""
        kept, bytes_held = list[EdgeBatch](), 0
        newest: int = MIN_EVENT_TIME
        for batch in found:
            if not len(batch):
                yield batch
                continue
            kept.append(batch)
            bytes_held += batch.held_bytes
            is_large = bytes_held > self._kept_bytes
            self._is_sorted_here = not batch.is_ordered_from(newest)
            if self._is_sorted_here or (is_large and not self._is_known_to_be_in_order()):
                yield from self._sort(kept, found)
                return
            newest = newest if batch.last_ts is None else batch.last_ts
            if is_large:
                break
        yield from kept
        kept.clear()
        yield from found

    def _is_known_to_be_in_order(self) -> bool:
        return self._times is not None and is_in_order(self._times())

    def _sort(self, first: Sequence[EdgeBatch], rest: Iterator[EdgeBatch]) -> Iterator[EdgeBatch]:
        newest: int = max((each.last_ts for each in first if each.last_ts is not None), default=MIN_EVENT_TIME)
        part = _Part(first)
        with tempfile.TemporaryDirectory(prefix="graphtide-") as folder:
            parts = _SortedParts(Path(folder), self._options)
            for batch in rest:
                if not len(batch):
                    yield batch
                    continue
                self._is_sorted_here = self._is_sorted_here or not batch.is_ordered_from(newest)
                newest = newest if batch.last_ts is None else batch.last_ts
                part.add(batch)
                if part.bytes_held > self._part_bytes:
                    parts.write(part.sorted(self._letters))
                    part = _Part(())
            if not parts.count:
                yield from part.sorted(self._letters)
                return
            parts.write(part.sorted(self._letters))
            yield from parts.merged()


class _Found:
    """Batches up to where the stream cannot be read on.

    Attributes:
        error: why it cannot, once it came to that.
    """

    def __init__(self, batches: Iterator[EdgeBatch]) -> None:
        self._batches = batches
        self.error: UnreadableStreamError | None = None

    def __iter__(self) -> Iterator[EdgeBatch]:
        return self

    def __next__(self) -> EdgeBatch:
        try:
            return next(self._batches)
        except UnreadableStreamError as error:
            self.error = error
            raise StopIteration from error


def is_in_order(reader: Reader) -> bool:
    """Return whether the records of a reader come in order of time; it is read to the first that does not, and closed."""
    newest: int = MIN_EVENT_TIME
    try:
        for batch in reader.batches():
            reader.take_dead_letters()
            if not batch.is_ordered_from(newest):
                return False
            newest = newest if batch.last_ts is None else batch.last_ts
    except UnreadableStreamError:
        # The reader that hands records on says so.
        return True
    finally:
        reader.close()
    return True


class _Part:
    """Records that are sorted at once."""

    def __init__(self, batches: Iterable[EdgeBatch]) -> None:
        self._sequencer = Sequencer(MAX_EVENT_TIME, MAX_EVENT_TIME)
        self._early: list[EdgeBatch] = []
        self.bytes_held = 0
        for batch in batches:
            self.add(batch)

    def add(self, batch: EdgeBatch) -> None:
        """Add records that follow those added before."""
        self.bytes_held += batch.held_bytes
        # Only what is the whole range of time earlier goes at once.
        early = self._sequencer.push(batch)
        if len(early):
            self._early.append(early)

    def sorted(self, letters: list[DeadLetter]) -> Iterator[EdgeBatch]:
        """Yield the records in order of time; note those that are too late for any order."""
        letters += take_dead_letters(self._sequencer)
        yield from self._early
        while self._sequencer.pending:
            found = self._sequencer.relieve(max(0, self._sequencer.pending - _AT_ONCE))
            if found is not None:
                yield found


class _SortedParts:
    """Sorted parts in a folder: each a file of Arrow streams behind their lengths."""

    def __init__(self, folder: Path, options: ReaderOptions) -> None:
        self._folder = folder
        self._options = options
        self._paths: list[Path] = []
        self.count = 0

    def write(self, batches: Iterable[EdgeBatch]) -> None:
        """Write a part, whose records follow those of the parts before where times are equal.

        Raises:
            UnreadableStreamError: the folder has no room.
        """
        path = self._folder / str(self.count)
        self.count += 1
        try:
            with path.open("wb") as file:
                for batch in batches:
                    for start in range(0, len(batch), _ROWS):
                        packed = batch.part(start, min(len(batch), start + _ROWS)).to_arrow()
                        file.write(len(packed).to_bytes(8, "little") + packed)
        except OSError as error:
            message = f"the stream is not in order of time, and cannot be sorted in {self._folder}: {error.strerror or error}"
            raise UnreadableStreamError(message) from error
        self._paths.append(path)

    def merged(self) -> Iterator[EdgeBatch]:
        """Yield the records of all parts in order of time."""
        while len(self._paths) > MOST_PARTS:
            # Neighbours, so that records of one time keep their order.
            first, self._paths = self._paths[:MOST_PARTS], self._paths[MOST_PARTS:]
            self.write(self._merge(first))
            self._paths = [self._paths.pop(), *self._paths]
            for path in first:
                path.unlink()
        ordinal = 0
        for batch in self._merge(self._paths):
            yield batch.placed(ordinal)
            ordinal += len(batch)

    def _merge(self, paths: Sequence[Path]) -> Iterator[EdgeBatch]:
        parts = [_OpenPart(self._read(path)) for path in paths]
        while parts := [part for part in parts if part.has_more()]:
            heads = [(part.batch, part.place, None, "") for part in parts if part.batch is not None]
            merged, places = EdgeBatch.merged(heads)
            for part, place in zip(parts, places, strict=True):
                part.place = place
            yield merged

    def _read(self, path: Path) -> Iterator[EdgeBatch]:
        options = self._options
        with path.open("rb") as file:
            while packed := _next_packed(file):
                decoder = ArrowDecoder(options.symbols, options.attributes, {}, options.ticks_per_second)
                yield decoder.decode(packed)


class _OpenPart:
    """What is at hand of a part."""

    def __init__(self, batches: Iterator[EdgeBatch]) -> None:
        self._batches = batches
        self.batch: EdgeBatch | None = None
        self.place = 0

    def has_more(self) -> bool:
        """Return whether a record is at hand, after reading on."""
        if self.batch is None or self.place == len(self.batch):
            self.batch, self.place = next(self._batches, None), 0
        return self.batch is not None


def _next_packed(file: IO[bytes]) -> bytes:
    return file.read(int.from_bytes(file.read(8), "little"))
