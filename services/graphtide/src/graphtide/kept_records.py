"""Records that graph queries read, kept as long as another plan of theirs would begin with them.

Invariant: while `is_whole`, all records are here that queries read within their longest lookback before the newest, with
deletions, in the order of the stream. Past the bound all are given up, and none is kept from then on.
Cost: the bytes of those records; each is copied a few times, as small batches are joined in pairs of like size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphtide_native.records import EdgeBatch

MOST_BYTES: Final = 1 << 28
"""Bytes that records and state may take where no limit of state is set."""

JOINED: Final = 4_096
"""Largest number of records in a batch that joining makes."""

RECOUNTED: Final = 16
"""The share of the bound, as its inverse, after whose growth the bytes beside the records are asked for again."""


class KeptRecords:
    """Keeps records of one pass.

    Attributes:
        is_whole: whether none was given up.
        most: bytes that they may take, together with the state of the queries.
        bytes: that the records take.
    """

    def __init__(self, lookback: int, most: int, beside: Callable[[], int]) -> None:
        """Begin without records.

        Args:
            lookback: ticks within which a record is of use: while its time > newest - lookback.
            most: bytes that the records may take together with what is `beside`.
            beside: bytes of the state of the queries.
        """
        self.is_whole = True
        self.most = most
        self.bytes = 0
        self._lookback, self._beside = lookback, beside
        self._batches: list[tuple[int, EdgeBatch]] = []
        self._counted: int | None = None
        self._state = 0

    @property
    def past(self) -> Sequence[EdgeBatch]:
        """The records."""
        return tuple(batch for _, batch in self._batches)

    def take(self, batch: EdgeBatch, newest: int) -> None:
        """Take records that queries read; the stream is now at a time."""
        if not self.is_whole:
            return
        gone = 0
        while gone < len(self._batches) and self._batches[gone][0] <= newest - self._lookback:
            self.bytes -= self._batches[gone][1].held_bytes
            gone += 1
        del self._batches[:gone]
        last = batch.last_ts
        if last is not None:
            self._add(last, batch)
            self._give_up_past_bound()

    def _add(self, last: int, batch: EdgeBatch) -> None:
        while self._batches and len(before := self._batches[-1][1]) <= len(batch) and len(before) + len(batch) <= JOINED:
            self._batches.pop()
            self.bytes -= before.held_bytes
            batch = before.followed_by([batch])
        self._batches.append((last, batch))
        self.bytes += batch.held_bytes

    def _give_up_past_bound(self) -> None:
        if self._counted is None or abs(self.bytes - self._counted) * RECOUNTED > self.most:
            self._counted, self._state = self.bytes, self._beside()
        if self.bytes + self._state > self.most:
            self.is_whole, self.bytes, self._batches = False, 0, []
