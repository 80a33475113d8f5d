"""Tracks which edges of a stream belong to sampled traces, from their reading until they have gone out.

Edges of one raw record have ordinals in a row, so a record is a range of ordinals. A holder of a batch knows by its ordinals
which of its edges are traced. Without sampled traces it keeps and computes nothing.
Cost: O(edges of a batch) while there are some.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.time import MIN_EVENT_TIME
from graphtide_wire.headers import is_sampled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphtide_native.records import EdgeBatch

MOST_RECORDS: Final = 128
"""Traced records at once; the edges of further ones are in no trace from here on."""


class TracedRecord(NamedTuple):
    """A raw record of a trace: ordinals of its edges, the greatest of their times, the span that it comes from."""

    first: int
    end: int
    newest: int
    traceparent: str


class Run(NamedTuple):
    """Rows of a batch next to each other that come from one record."""

    row: int
    rows: int
    record: TracedRecord


@dataclass(slots=True)
class Traces:
    """The traced records of one stream."""

    _records: tuple[TracedRecord, ...] = ()
    """By their first ordinals."""

    @property
    def is_empty(self) -> bool:
        """Whether no edge is traced."""
        return not self._records

    def note(self, traceparent: str | None, first: int, ordinals: int, newest: int) -> None:
        """Take note of a record, if its trace is sampled."""
        if len(self._records) < MOST_RECORDS and is_sampled(traceparent):
            record = TracedRecord(first, first + ordinals, newest, traceparent or "")
            self._records = tuple(sorted((*self._records, record)))

    def release_all(self) -> None:
        """Note that what comes from these records waits no longer, at any time: an epoch is over."""
        self._records = tuple(each._replace(newest=MIN_EVENT_TIME) for each in self._records)

    def forget(self, watermark: int | None) -> None:
        """Drop the records without a waiting edge: all that is not after the watermark went out, or was dropped."""
        if self._records and watermark is not None:
            self._records = tuple(each for each in self._records if each.newest > watermark)

    def among(self, batches: Iterable[EdgeBatch]) -> list[TracedRecord]:
        """Return the records that edges of the batches come from, ordered by the first edge of each that goes out."""
        if not self._records:
            return []
        return list(dict.fromkeys(run.record for batch in batches for run in self.runs(batch.ordinals)))

    def runs(self, ordinals: Sequence[int]) -> Iterator[Run]:
        """Yield the rows that come from traced records, by the ordinals of all rows."""
        starts = [each.first for each in self._records]
        begun, current = 0, None
        for row, ordinal in enumerate(ordinals):
            if current is not None and current.first <= ordinal < current.end:
                continue
            if current is not None:
                yield Run(begun, row - begun, current)
            place = bisect_right(starts, ordinal) - 1
            current = self._records[place] if place >= 0 and ordinal < self._records[place].end else None
            begun = row
        if current is not None:
            yield Run(begun, len(ordinals) - begun, current)
