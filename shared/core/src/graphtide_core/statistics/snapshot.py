"""Statistics of a stream for the planner: how often each edge type and each 2-edge path occurs in a window."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_core.statistics.kinds import Direction
from graphtide_core.statistics.path_counts import PathCounts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.pattern import QueryEdge, SubgraphPattern
    from graphtide_core.statistics.kinds import AskedEnd, EdgeType, Labels, PathType
    from graphtide_core.time import EventTime


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A stretch of event time: `start` belongs to it, `end` does not."""

    start: EventTime
    end: EventTime

    @property
    def ticks(self) -> int:
        """Its length."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class DegreeMoments:
    """Sum, sum of squares and maximum of the degrees of the `vertices` with a degree above zero."""

    vertices: int = 0
    total: int = 0
    squares: int = 0
    most: int = 0

    @property
    def mean(self) -> float:
        """Mean degree of those vertices; 0.0 if there are none."""
        return self.total / self.vertices if self.vertices else 0.0


@dataclass(frozen=True, slots=True)
class StatisticsSnapshot:
    """The statistics of one window. One without edges means that nothing is known.

    Events count as edges of their type, without labels of ends; they have no vertices, paths and degrees.

    Attributes:
        version: number of the snapshot among those of its stream.
        window: the stretch of time looked at; None before the first record.
        first_ts: time of the first edge; None if there is none.
        last_ts: time of the last edge.
        edges: how many edges there are.
        vertices: distinct vertices of the edges.
        types: edges of each type.
        paths: 2-edge paths of each type; None if they were not counted.
        out_degrees: of the vertices, by outgoing edges.
        in_degrees: by incoming ones.
    """

    version: int = 0
    window: TimeRange | None = None
    first_ts: EventTime | None = None
    last_ts: EventTime | None = None
    edges: int = 0
    vertices: int = 0
    types: Mapping[EdgeType, int] = field(default_factory=dict)
    paths: Mapping[PathType, int] | None = None
    out_degrees: DegreeMoments = DegreeMoments()
    in_degrees: DegreeMoments = DegreeMoments()
    _by_labels: dict[Labels, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _totals: list[int] = field(default_factory=list, init=False, repr=False, compare=False)
    _counted: list[PathCounts] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def span(self) -> int:
        """Ticks from the first edge to the last."""
        return 0 if self.first_ts is None or self.last_ts is None else self.last_ts - self.first_ts

    @property
    def rate(self) -> float:
        """Edges a tick of the window; 0.0 where nothing was looked at."""
        return self.edges / self.window.ticks if self.window is not None and self.window.ticks > 0 else 0.0

    @property
    def paths_in_all(self) -> int:
        """2-edge paths of all types; 0 if they were not counted. Complexity: O(types of paths) once."""
        if not self._totals:
            self._totals.append(self.path_counts.total())
        return self._totals[0]

    @property
    def path_counts(self) -> PathCounts:
        """The 2-edge paths by number; none if they were not counted. Complexity: O(types of paths) once, if they are others."""
        if not self._counted:
            self._counted.append(PathCounts.of(self.paths or {}))
        return self._counted[0]

    def share(self, pattern: SubgraphPattern, edge: QueryEdge) -> float:
        """Return the share of edges whose labels fit the query edge (1.0 where nothing is known).

        Complexity: O(types) for the first call, O(1) for later ones: plans for thousands of patterns ask again and again.
        """
        if self.edges == 0:
            return 1.0
        if not self._by_labels:
            for kind, count in self.types.items():
                for labels in _fitting(kind):
                    self._by_labels[labels] = self._by_labels.get(labels, 0) + count
        return self._by_labels.get(_ask(pattern, edge), 0) / self.edges

    def path_share(self, pattern: SubgraphPattern, edge: QueryEdge, other: QueryEdge) -> float:
        """Return the share of 2-edge paths that fit two query edges at a vertex they share.

        A missing label of the query fits every label; predicates are not looked at. If the query edges share two vertices, or
        one of them is a self-loop, there are several pairs of ends. Each bounds what all can match, so the least counts. 1.0
        where nothing is known of paths, 0.0 where there are none.

        Raises:
            ValueError: the edges are one, or share no vertex.
        Complexity: see `PathCounts.paths`.
        """
        pairs = [pair for vertex in {edge.source, edge.target} for pair in _meeting_ends(pattern, vertex, edge, other)]
        if edge == other or not pairs:
            message = f"the edges {edge.name} and {other.name} make no 2-edge path"
            raise ValueError(message)
        if self.edges == 0 or self.paths is None:
            return 1.0
        if self.paths_in_all == 0:
            return 0.0
        return min(self.path_counts.paths(*pair) for pair in pairs) / self.paths_in_all

    def meetings(self, pattern: SubgraphPattern, vertex: str, edge: QueryEdge, other: QueryEdge) -> int:
        """Return how often an edge that fits the one lies at one vertex with another that fits the other.

        Both lie there as the query edges lie at `vertex`; a self-loop counts for each of its ends. Two edges that can change
        places count twice. 0 where nothing is known of paths. Predicates are not looked at.
        Complexity: see `PathCounts.paths`.
        """
        return sum(self.path_counts.meetings(*asked) for asked in _meeting_ends(pattern, vertex, edge, other))


def _fitting(kind: EdgeType) -> set[Labels]:
    """Return the labels a query edge can ask for and be given this type; None asks for nothing."""
    sources, labels, targets = (kind.source_label, None), (kind.label, None), (kind.target_label, None)
    return {(source, label, target) for source in sources for label in labels for target in targets}


def _ask(pattern: SubgraphPattern, edge: QueryEdge) -> Labels:
    return pattern.vertex(edge.source).label, edge.label, pattern.vertex(edge.target).label


def _meeting_ends(pattern: SubgraphPattern, vertex: str, edge: QueryEdge, other: QueryEdge) -> list[tuple[AskedEnd, AskedEnd]]:
    """Return the pairs of ends with which two query edges lie at a vertex."""
    return [(one, two) for one in _ends_at(pattern, vertex, edge) for two in _ends_at(pattern, vertex, other)]


def _ends_at(pattern: SubgraphPattern, vertex: str, edge: QueryEdge) -> list[AskedEnd]:
    asked = _ask(pattern, edge)
    ends = ((edge.source, Direction.OUT), (edge.target, Direction.IN))
    return [(asked, direction) for end, direction in ends if end == vertex]
