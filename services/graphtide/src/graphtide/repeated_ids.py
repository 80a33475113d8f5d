"""Records under an id that came before: what happens to them, and what a run says of them.

They are dropped, replace what had the id, or are an error.

Cost beyond the filter's: once a stream, a look at the batch that has the first duplicate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.duplicate_policy import DuplicatePolicy
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.suggestion import show
from graphtide_native.records import Duplicates

if TYPE_CHECKING:
    from collections.abc import Callable

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

    def __init__(
        self,
        window: int,
        edges: int = 0,
        *,
        policy: DuplicatePolicy = DuplicatePolicy.REJECT,
        locate: Callable[[int, int], str],
    ) -> None:
        """Look at the ids of a window.

        Args:
            window: in ticks; see `Duplicates`.
            edges: how many edges it has at least.
            policy: what becomes of an id that comes again.
            locate: returns where a record is, from its number and line; see `Reader.locate`.
        """
        self._filter = Duplicates(window, edges, replaces=policy is DuplicatePolicy.UPDATE)
        self._policy = policy
        self._locate = locate
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
            first = FirstDuplicate(dropped["ordinal"] + 1, str(dropped["id"]))
            if self._policy is DuplicatePolicy.ERROR:
                where = self._locate(first.record, dropped["line"])
                message = f"{where} has the id {show(first.id)}, which came before in the window"
                raise UnreadableStreamError(message)
            self.first = first
        return kept

    @property
    def dropped(self) -> int:
        """Records dropped so far; none where the first is an error."""
        return 0 if self._policy is DuplicatePolicy.ERROR else self._filter.dropped

    @property
    def replaced(self) -> int:
        """Records so far that are in the place of what had their id."""
        return self._filter.replaced
