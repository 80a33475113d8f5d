"""Results of graph queries as a stream of edges, one JSON object a line: as `graphtide_core.result_edges`, for many reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_native import _native

if TYPE_CHECKING:
    from graphtide_native.match_batch import MatchBatch


class EdgeLines:
    """Takes reports of results, in order, and gives their edges as lines."""

    def __init__(self) -> None:
        """Know no result yet."""
        self._native = _native.ResultEdges()

    def of(self, batch: MatchBatch) -> bytes:
        """Return the edges and deletions of a batch; matches that are not edges, as those of patterns, give none."""
        return self._native.lines(batch.native)
