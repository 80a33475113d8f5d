"""Results of graph queries as a stream of edges: what others read of a view.

An edge comes when a result becomes valid, at the time of that report, and is deleted when a deletion retracts the result. No
record says that a result is extended, shortened or ended: the window of the stream's reader says how long an edge counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.edge import Edge, Operation
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.match import IntervalMatch, MatchKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_core.ids import MatchId
    from graphtide_core.match import Match

_FEW: Final = 4096
"""Results that are known without a look whether they have ended."""

_COLUMNS: Final = 2
"""Vertices of a result that is an edge."""


def edge_id(result: str, since: int, nth: int) -> EdgeId:
    """Return the id of the edge of a result that became valid at an instant; `nth` is as of its match."""
    return EdgeId(f"{result}-{since}-{nth}" if nth else f"{result}-{since}")


class ResultEdges:
    """Gives the edges of emitted results, in order. Memory: the results that are valid, twice at most; those that stay too."""

    def __init__(self) -> None:
        """Know no result yet."""
        self._known: dict[MatchId, tuple[EdgeId, int | None]] = {}
        self._most = _FEW

    def of(self, emitted: Iterable[Match]) -> Iterator[Edge]:
        """Yield the edges and deletions of emitted results; matches that are not edges, as those of patterns, give none."""
        for match in emitted:
            if isinstance(match, IntervalMatch) and len(match.bindings) == _COLUMNS:
                yield from self._of(match)

    def _of(self, match: IntervalMatch) -> Iterator[Edge]:
        if match.kind is MatchKind.MATCH:
            id = edge_id(match.match_id, match.detected_at, match.nth)
            self._known[match.match_id] = (id, match.valid[1])
            self._sweep(match)
            yield Edge(id, match.detected_at, match.source, match.target, match.label)
        elif match.kind is MatchKind.EXTEND and match.match_id in self._known:
            self._known[match.match_id] = (self._known[match.match_id][0], match.valid[1])
        elif match.kind is MatchKind.RETRACT and match.valid[0] > match.detected_at:
            if match.match_id in self._known:
                self._known[match.match_id] = (self._known[match.match_id][0], match.valid[0])
        elif match.kind is MatchKind.RETRACT and (known := self._known.pop(match.match_id, None)) is not None:
            nobody = VertexId("")
            yield Edge(known[0], match.detected_at, nobody, nobody, "", operation=Operation.DELETE)

    def _sweep(self, last: IntervalMatch) -> None:
        """Forget results that have ended, when they have become twice as many: nothing withdraws them any more."""
        if len(self._known) > self._most:
            now = last.detected_at
            self._known = {id: each for id, each in self._known.items() if each[1] is None or each[1] >= now}
            self._most = max(_FEW, 2 * len(self._known))
