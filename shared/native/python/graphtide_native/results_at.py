"""The results of graph queries that are valid at an instant: as `graphtide_core.valid_results`, for many reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_native import _native

if TYPE_CHECKING:
    from graphtide_core.time import EventTime

    from graphtide_native.match_batch import MatchBatch


class ResultsAt:
    """Takes reports on results, in order, and gives those that are valid at an instant."""

    def __init__(self, at: EventTime) -> None:
        """Prepare for an instant."""
        self.at = at
        self._native = _native.ResultsAt(at)
        self._last: MatchBatch | None = None

    def take(self, batch: MatchBatch, start: int = 0) -> bool:
        """Take the reports of a batch from a place on; return whether one was after the instant. Such reports are ignored."""
        self._last = batch
        return self._native.take(batch.native, start)

    def results(self) -> MatchBatch | None:
        """Return the results that are valid at the instant, in the order in which they became valid; None without a report."""
        return None if self._last is None else self._last.with_matches(self._native.results())
