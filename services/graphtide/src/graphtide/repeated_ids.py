"""Duplicates that are dropped, counted, with the first of them: what a run says of them at its end.

Cost beyond the filter's: once a stream, a look at the batch that has the first duplicate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from graphtide_native.records import Duplicates, EdgeBatch


class FirstDuplicate(NamedTuple):
    """The first record that was dropped: its place in the stream, from 1 on, and its id."""

    record: int
    id: str


class RepeatedIds:
    """A filter of duplicates that knows the first one.

    Attributes:
        first: the first record dropped; None if none was.
    """

    def __init__(self, filter: Duplicates) -> None:
        """Wrap the filter of a stream."""
        self._filter = filter
        self.first: FirstDuplicate | None = None

    def filter(self, batch: EdgeBatch) -> EdgeBatch:
        """Return the batch without its duplicates: the same object if there are none."""
        kept = self._filter.filter(batch)
        if kept is not batch and self.first is None and len(kept) < len(batch):
            left = iter(kept.ordinals)
            place = next(place for place, ordinal in enumerate(batch.ordinals) if ordinal != next(left, None))
            (record,) = batch.part(place, place + 1).to_records()
            self.first = FirstDuplicate(batch.ordinals[place] + 1, str(record["id"]))
        return kept

    @property
    def dropped(self) -> int:
        """Records dropped so far."""
        return self._filter.dropped
