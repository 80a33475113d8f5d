"""Statistics of a window by recounting its live edges: every pair of edges, every vertex, every time."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

from graphtide_core.edge import Operation
from graphtide_core.statistics import DegreeMoments, Direction, EdgeEnd, EdgeType, PathType, StatisticsSnapshot, TimeRange
from graphtide_core.time import MAX_EVENT_TIME, EventTime

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.edge import Edge
    from graphtide_core.ids import EdgeId, VertexId


class StatisticsOracle:
    """Keeps the live edges in a list. Complexity: O(edges^2) a snapshot."""

    def __init__(self, window: int | None, *, tumbling: bool, paths: bool, deletions: bool) -> None:
        """Start with nothing seen; arguments as for `StreamStatistics`."""
        self._window = window
        self._tumbling = tumbling
        self._paths = paths
        self._deletions = deletions
        self._live: list[tuple[int, Edge, int]] = []
        self._named: dict[EdgeId, tuple[int, Edge, int]] = {}
        self._seen: tuple[int, int] | None = None
        self._version = 0

    def push(self, edge: Edge, predicate_class: int = 0) -> list[StatisticsSnapshot]:
        """Take a record; return the window that it ends, if there is one with edges."""
        first, before = self._seen or (edge.ts, edge.ts)
        now = max(before, edge.ts)
        closed = []
        if self._window is not None and self._tumbling and now // self._window != before // self._window:
            if self._live:
                closed.append(self._recounted(ended=True))
            self._live = []
        elif self._window is not None and not self._tumbling:
            self._live = [item for item in self._live if now - item[0] < self._window]
        self._seen = (first, now)
        if edge.operation is Operation.INSERT:
            item = (now, edge, predicate_class)
            self._live.append(item)
            if not edge.made:
                self._named[edge.id] = item
        elif self._deletions:
            named = self._named.pop(edge.id, None)
            self._live = [item for item in self._live if item is not named]
        return closed

    def snapshot(self) -> StatisticsSnapshot:
        """Recount."""
        return self._recounted(ended=False)

    def _recounted(self, *, ended: bool) -> StatisticsSnapshot:
        self._version += 1
        times = [EventTime(ts) for ts, _, _ in self._live]
        edges = [edge for _, edge, _ in self._live]
        kinds = [EdgeType(e.source_label, e.label, e.target_label, number) for _, e, number in self._live]
        return StatisticsSnapshot(
            version=self._version,
            window=self._looked_at(ended=ended),
            first_ts=min(times, default=None),
            last_ts=max(times, default=None),
            edges=len(edges),
            vertices=len({end for edge in edges for end in (edge.source, edge.target)}),
            types=dict(Counter(kinds)),
            paths=dict(_paths(edges, kinds)) if self._paths else None,
            out_degrees=_moments(edge.source for edge in edges),
            in_degrees=_moments(edge.target for edge in edges),
        )

    def _looked_at(self, *, ended: bool) -> TimeRange | None:
        if self._seen is None:
            return None
        start, now = self._seen
        end = now + 1
        if self._window is not None and self._tumbling:
            stretch = now // self._window * self._window
            start, end = max(start, stretch), stretch + self._window if ended else end
        elif self._window is not None:
            start = max(start, now - self._window + 1)
        # The last tick of time has none after it.
        return TimeRange(EventTime(start), EventTime(min(end, MAX_EVENT_TIME)))


def _paths(edges: Sequence[Edge], kinds: Sequence[EdgeType]) -> Counter[PathType]:
    paths: Counter[PathType] = Counter()
    for (edge, kind), (other, other_kind) in combinations(zip(edges, kinds, strict=True), 2):
        for vertex, direction in _ends(edge):
            for other_vertex, other_direction in _ends(other):
                if vertex == other_vertex:
                    paths[PathType.of(EdgeEnd(kind, direction), EdgeEnd(other_kind, other_direction))] += 1
    return paths


def _ends(edge: Edge) -> tuple[tuple[VertexId, Direction], tuple[VertexId, Direction]]:
    return (edge.source, Direction.OUT), (edge.target, Direction.IN)


def _moments(vertices: Iterable[VertexId]) -> DegreeMoments:
    degrees = Counter(vertices).values()
    return DegreeMoments(len(degrees), sum(degrees), sum(d * d for d in degrees), max(degrees, default=0))
