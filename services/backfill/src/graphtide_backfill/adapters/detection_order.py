"""Batches of matches of several parts, each in order of detection, as one such sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


# An array of Python values would import pandas, where that is installed, with this module.
_NO_ROWS: Final = pa.record_batch([pa.nulls(0, pa.int64())], ["detected_at"])


class _Head:
    """What is at hand of a part: the rows of a batch that did not go out yet."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self.rows = _NO_ROWS
        self._refill()

    @property
    def has_ended(self) -> bool:
        """Whether the part has no more."""
        return not self.rows.num_rows

    @property
    def times(self) -> NDArray[np.int64]:
        """Times of detection of what is at hand."""
        return np.asarray(self.rows.column("detected_at"))

    def _refill(self) -> None:
        while not self.rows.num_rows:
            following = next(self._batches, None)
            if following is None:
                return
            self.rows = following

    def take(self, until: int) -> pa.RecordBatch:
        """Take the rows at hand up to a time."""
        rows, count = self.rows, int(np.searchsorted(self.times, until, "right"))
        taken, self.rows = rows.slice(0, count), rows.slice(count)
        self._refill()
        return taken


def merge(parts: Sequence[Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """Yield the matches of parts in order of detection. Memory: one batch of each part."""
    heads = [head for part in parts if not (head := _Head(part)).has_ended]
    while len(heads) > 1:
        # What a part gives next is not earlier than the last that is at hand of it.
        until = min(int(head.times[-1]) for head in heads)
        taken = pa.Table.from_batches([head.take(until) for head in heads])
        order = np.argsort(np.asarray(taken.column("detected_at")), kind="stable")
        yield from taken.unify_dictionaries().take(pa.array(order)).combine_chunks().to_batches()
        heads = [head for head in heads if not head.has_ended]
    for head in heads:
        while not head.has_ended:
            yield head.take(int(head.times[-1]))
