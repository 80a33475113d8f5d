"""What is at hand of a reader whose records are put in order of time: one of several that are merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.ports.dead_letter_sink import DeadLetter
from graphtide_native.records import Sequencer, take_dead_letters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from graphtide_native.records import EdgeBatch

    from graphtide.readers.reader import Reader


class OrderedReader:
    """A reader, its records in order of time.

    Attributes:
        name: what dead letters call it, `stream flows` or a file.
        reader: it.
        letters: records that were rejected, bad ones and late ones; the caller that takes them empties the list.
        head: the batch at hand; None before the first and behind the last.
        place: of the first record in it that was not taken.
        newest: time of the last record that was read in order; None before the first.
    """

    def __init__(
        self,
        name: str,
        reader: Reader,
        *,
        lateness: int,
        max_pending: int,
        clear: Callable[[EdgeBatch], EdgeBatch] | None = None,
    ) -> None:
        """Take a reader that was not read yet.

        Args:
            name: see the attributes.
            reader: it.
            lateness: ticks that a record may be late.
            max_pending: records that wait at once.
            clear: takes duplicates out of a batch in order; None leaves them.
        """
        self.name = name
        self.reader = reader
        self.letters: list[DeadLetter] = []
        self.head: EdgeBatch | None = None
        self.place = 0
        self.newest: int | None = None
        self._sequencer = Sequencer(lateness, max_pending)
        self._clear = clear
        self._ordered = self._in_order()

    def has_more(self) -> bool:
        """Return whether the stream continues, after reading on if no record is at hand: to duplicates alone, maybe."""
        if not self.is_at_hand:
            self.head, self.place = next(self._ordered, None), 0
        return self.head is not None

    @property
    def is_at_hand(self) -> bool:
        """Whether a record is at hand."""
        return self.head is not None and self.place < len(self.head)

    @property
    def earliest(self) -> int | None:
        """Time before which no record of the stream follows; None where that is not known."""
        if self.head is None or not self.is_at_hand:
            return self.newest
        return self.head.part(self.place, self.place + 1).last_ts

    def _in_order(self) -> Iterator[EdgeBatch]:
        for batch in self.reader.batches():
            ordered = self._sequencer.push(batch)
            self._collect()
            yield self._take(ordered)
        rest = self._sequencer.finish()
        self._collect()
        if rest is not None:
            yield self._take(rest)

    def _take(self, batch: EdgeBatch) -> EdgeBatch:
        self.newest = self.newest if batch.last_ts is None else batch.last_ts
        return batch if self._clear is None else self._clear(batch)

    def _collect(self) -> None:
        letters = [*self.reader.take_dead_letters(), *take_dead_letters(self._sequencer)]
        self.letters += [DeadLetter(each.line, f"{self.name}: {each.reason}", each.raw) for each in letters]
