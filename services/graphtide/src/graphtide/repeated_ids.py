"""Records under an id that came before: what happens to them, and what a run says of them.

They are dropped, replace what had the id, or are an error.

Cost beyond the filter's: once a stream, a look at the batch that has the first duplicate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.errors import UnreadableStreamError
from graphtide_core.stream_definition import DuplicatePolicy
from graphtide_core.suggestion import show
from graphtide_native.records import Duplicates

if TYPE_CHECKING:
    from graphtide_native.records import EdgeBatch


class FirstDuplicate(NamedTuple):
    """The first record that was dropped: its place in the stream, from 1 on, and its id."""

    record: int
    id: str


class RepeatedIds:
    """A filter of duplicates that knows the first one.

    Attributes:
        first: the first record dropped; None if none was.
    """

    def __init__(self, window: int, edges: int = 0, policy: DuplicatePolicy = DuplicatePolicy.REJECT) -> None:
        """Look at the ids of a window of so many ticks, and of so many edges; see `Duplicates`."""
        self._filter = Duplicates(window, edges, replaces=policy is DuplicatePolicy.UPDATE)
        self._policy = policy
        self.first: FirstDuplicate | None = None

    def filter(self, batch: EdgeBatch) -> EdgeBatch:
        """Return the batch as the policy has it: the same object if it has no duplicate.

        Raises:
            UnreadableStreamError: it has one, and the policy is `error`.
        """
        kept = self._filter.filter(batch)
        if kept is not batch and self.first is None and len(kept) < len(batch):
            # One record may give several edges, so a place alone does not say which was dropped.
            left = iter([(row["ordinal"], row["id"]) for row in kept.to_records()])
            dropped = next(row for row in batch.to_records() if (row["ordinal"], row["id"]) != next(left, None))
            self.first = FirstDuplicate(dropped["ordinal"] + 1, str(dropped["id"]))
            if self._policy is DuplicatePolicy.ERROR:
                message = f"record {self.first.record:,} has the id {show(self.first.id)}, which came before in the window"
                raise UnreadableStreamError(message)
        return kept

    @property
    def dropped(self) -> int:
        """Records dropped so far."""
        return self._filter.dropped

    @property
    def replaced(self) -> int:
        """Records so far that are in the place of what had their id."""
        return self._filter.replaced
