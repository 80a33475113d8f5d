"""The statistics of a whole stream: read, put in order, cleared of duplicates, with what EMIT gives, counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.duplicate_policy import DuplicatePolicy
from graphtide_native.records import Sequencer, take_dead_letters
from graphtide_native.statistics import StreamStatistics

from graphtide.losses import (
    notes_on_columns,
    notes_on_duplicates,
    notes_on_filtered,
    notes_on_nothing_left,
    notes_on_replaced,
)
from graphtide.rejections import Rejections
from graphtide.repeated_ids import RepeatedIds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from graphtide_core.ports.dead_letter_sink import DeadLetterSink
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_native.records import EdgeBatch, Symbols

    from graphtide.counted_features import CountedFeatures
    from graphtide.readers import Reader
    from graphtide.remedies import Remedies

_ALWAYS = 2**63 - 1


class Counting:
    """One pass over a stream.

    Attributes:
        rejections: records that were bad or late, and did not count.
        duplicates: the filter of records whose ids came before; None for a stream without ids.
        on_progress: called after every batch.
    """

    def __init__(
        self,
        reader: Reader,
        symbols: Symbols,
        window_ticks: int | None,
        *,
        tumbling: bool,
        lateness: int = 0,
        duplicates: DuplicatePolicy = DuplicatePolicy.REJECT,
        dead_letters: DeadLetterSink | None = None,
        emitted: CountedFeatures | None = None,
    ) -> None:
        """Prepare; the reader decodes with these symbols, and the attributes that `emitted` reads."""
        self._emitted = emitted
        self.rejections = Rejections()
        self._dead_letters = dead_letters
        self._reader = reader
        self._symbols = symbols
        self._window_ticks = window_ticks
        self._tumbling = tumbling
        self._sequencer = Sequencer(lateness)
        self._policy = duplicates
        self.duplicates: RepeatedIds | None = None
        self.on_progress: Callable[[], None] = lambda: None

    def snapshots(self) -> Iterator[StatisticsSnapshot]:
        """Yield every tumbling window that ends, and at last the window at the end of the stream; call once.

        Raises:
            UnreadableStreamError: the stream cannot be read, or not further.
        """
        statistics: StreamStatistics | None = None
        for batch in self._reader.batches():
            # Only a stream that began can say whether it gives ids and deletions.
            statistics = statistics or self._begin()
            yield from statistics.push(self._distinct(self._sequencer.push(batch)))
            self._count_rejections()
            self.on_progress()
        statistics = statistics or self._begin()
        rest = self._sequencer.finish()
        if rest is not None:
            yield from statistics.push(self._distinct(rest))
        self._count_rejections()
        yield statistics.snapshot()

    def losses(self, how: str, remedies: Remedies, columns: Mapping[str, str]) -> list[str]:
        """Return sentences about the records that did not count; `how` says what shows rejected ones."""
        reader, duplicates = self._reader, self.duplicates
        dropped, first = (0, None) if duplicates is None else (duplicates.dropped, duplicates.first)
        return [
            *self.rejections.sentences(reader.records, reader.place, how, remedies),
            *notes_on_duplicates(dropped, first, reader.records, columns.get("id", "id"), remedies),
            *notes_on_columns(reader, columns),
            *notes_on_filtered(reader.filtered, reader.records),
            *notes_on_nothing_left(reader.filtered, reader.records),
            *notes_on_replaced(0 if duplicates is None else duplicates.replaced, reader.records),
            *(() if self._emitted is None else self._emitted.losses()),
        ]

    def _begin(self) -> StreamStatistics:
        reader = self._reader
        # A format without columns may turn out to give ids and deletions at any record.
        if reader.columns is None or reader.has_ids:
            window = min(self._window_ticks or _ALWAYS, _ALWAYS)
            self.duplicates = RepeatedIds(window, policy=self._policy, locate=reader.locate)
        deletions = reader.columns is None or reader.has_operations or self._policy is DuplicatePolicy.UPDATE
        return StreamStatistics(self._symbols, self._window_ticks, tumbling=self._tumbling, deletions=deletions)

    def _distinct(self, batch: EdgeBatch) -> EdgeBatch:
        kept = batch if self.duplicates is None else self.duplicates.filter(batch)
        return kept if self._emitted is None else self._emitted.add_to(kept, batch.last_ts)

    def _count_rejections(self) -> None:
        letters = [*self._reader.take_dead_letters(), *take_dead_letters(self._sequencer)]
        self.rejections.add(letters)
        if self._dead_letters is not None:
            for letter in letters:
                self._dead_letters.write(letter)
            self._dead_letters.flush()
