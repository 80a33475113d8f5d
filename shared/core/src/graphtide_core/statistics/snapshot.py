"""What a planner knows of a stream: how often each edge type and each 2-edge path occurs in a window of it.

An edge has two ends: it goes out of its source and into its target. A 2-edge path is an unordered pair of ends of two distinct
edges at one vertex. So two edges that share both vertices make two paths, one at each; a self-loop, which has both ends at its
vertex, makes two paths with every other end there and none with itself.

Reference: paper 003, section 5.1: `EdgeType` is what its `Map()` gives, `paths` what its Algorithm 5 counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.pattern import QueryEdge, SubgraphPattern
    from graphtide_core.time import EventTime


Labels = tuple[str | None, str | None, str | None]
"""Labels of source, edge and target that a query edge asks for."""

AskedEnd = tuple[Labels, "Direction"]
"""What a query edge asks for, and how it lies at the vertex in question."""


@dataclass(frozen=True, slots=True)
class EdgeType:
    """Labels of an edge and its two ends, and the class that its attributes put it in (0 where nobody classes them)."""

    source_label: str | None
    label: str
    target_label: str | None
    predicate_class: int = 0

    def sort_key(self) -> tuple[str, bool, str, bool, str, int]:
        """Return what puts types in an order: labels, those not given before the empty ones, then the class."""
        source, target = self.source_label, self.target_label
        return self.label, source is not None, source or "", target is not None, target or "", self.predicate_class


class Direction(Enum):
    """How an edge lies at a vertex."""

    OUT = "out"
    IN = "in"


@dataclass(frozen=True, slots=True)
class EdgeEnd:
    """One end of an edge: its type, and how it lies at the vertex there."""

    kind: EdgeType
    direction: Direction


@dataclass(frozen=True, slots=True)
class PathType:
    """Two edges at one vertex, in no order: make it with `of`, which gives equal paths for swapped ends."""

    first: EdgeEnd
    second: EdgeEnd

    def __post_init__(self) -> None:
        """Refuse ends in the order that `of` does not give."""
        if _sort_key(self.first) > _sort_key(self.second):
            message = "the ends of a path type are out of order; use PathType.of"
            raise ValueError(message)

    @classmethod
    def of(cls, one: EdgeEnd, other: EdgeEnd) -> PathType:
        """Return the type of paths with these ends."""
        return cls(*sorted((one, other), key=_sort_key))


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
    """Of the `vertices` with a degree above zero: the sum of their degrees, the sum of the squares, and the greatest."""

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
    """The figures of one window. One without edges means that nothing is known.

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
    _meetings: dict[tuple[AskedEnd, AskedEnd], int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _paths: dict[tuple[AskedEnd, AskedEnd], int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _totals: list[int] = field(default_factory=list, init=False, repr=False, compare=False)
    _indexes: list[_PathIndex] = field(default_factory=list, init=False, repr=False, compare=False)

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
            self._totals.append(sum((self.paths or {}).values()))
        return self._totals[0]

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
        return self._by_labels.get(_asked(pattern, edge), 0) / self.edges

    def path_share(self, pattern: SubgraphPattern, edge: QueryEdge, other: QueryEdge) -> float:
        """Return the share of 2-edge paths that fit two query edges at a vertex they share.

        A missing label of the query fits every label; predicates are not looked at. Where the query edges share two vertices,
        or one of them is a self-loop, there are several pairs of ends; each bounds what all can match, so the least counts.
        1.0 where nothing is known of paths, 0.0 where there are none.

        Raises:
            ValueError: the edges are one, or share no vertex.
        Complexity: O(types of paths) for the first call; O(types of paths that fit the one) for the first with its labels; O(1)
        for later ones.
        """
        pairs = [pair for vertex in {edge.source, edge.target} for pair in _meeting_ends(pattern, vertex, edge, other)]
        if edge == other or not pairs:
            message = f"the edges {edge.name} and {other.name} make no 2-edge path"
            raise ValueError(message)
        if self.edges == 0 or self.paths is None:
            return 1.0
        if self.paths_in_all == 0:
            return 0.0
        return min(self._paths_of(*pair) for pair in pairs) / self.paths_in_all

    def meetings(self, pattern: SubgraphPattern, vertex: str, edge: QueryEdge, other: QueryEdge) -> int:
        """Return how often an edge that fits the one lies at one vertex with another that fits the other.

        Both lie there as the query edges lie at `vertex`; a self-loop counts for each of its ends. Two edges that can change
        places count twice. 0 where nothing is known of paths. Predicates are not looked at.
        Complexity: O(types of paths) for the first call; O(types of paths that fit the one) for the first with its labels; O(1)
        for later ones.
        """
        return sum(self._meetings_of(*asked) for asked in _meeting_ends(pattern, vertex, edge, other))

    def _meetings_of(self, asked: AskedEnd, other: AskedEnd) -> int:
        if (asked, other) not in self._meetings:
            index = self._index()
            self._meetings[asked, other] = sum(
                count
                for end in index.fitting.get(asked, ())
                for partner, count in index.partners[end].items()
                if _fits(other, partner)
            )
        return self._meetings[asked, other]

    def _paths_of(self, asked: AskedEnd, other: AskedEnd) -> int:
        """Return how many paths have one end that fits the one and another that fits the other, each path once."""
        if (asked, other) not in self._paths:
            index = self._index()
            halves = 0
            for end in index.fitting.get(asked, ()):
                for partner, count in index.partners[end].items():
                    if _fits(other, partner):
                        comes_twice = end == partner or (_fits(asked, partner) and _fits(other, end))
                        halves += count if comes_twice else 2 * count
            self._paths[asked, other] = halves // 2
        return self._paths[asked, other]

    def _index(self) -> _PathIndex:
        if not self._indexes:
            self._indexes.append(_PathIndex.of(self.paths or {}))
        return self._indexes[0]


@dataclass(frozen=True, slots=True)
class _PathIndex:
    """Paths by their ends: of every end how often it meets which others, and what query edges can ask for and be given it."""

    partners: dict[EdgeEnd, dict[EdgeEnd, int]]
    fitting: dict[AskedEnd, list[EdgeEnd]]

    @classmethod
    def of(cls, paths: Mapping[PathType, int]) -> _PathIndex:
        index = cls({}, {})
        for path, count in paths.items():
            for one, two in ((path.first, path.second), (path.second, path.first)):
                if one not in index.partners:
                    for labels in _fitting(one.kind):
                        index.fitting.setdefault((labels, one.direction), []).append(one)
                partners = index.partners.setdefault(one, {})
                partners[two] = partners.get(two, 0) + count
        return index


def _fitting(kind: EdgeType) -> set[Labels]:
    """Return the labels a query edge can ask for and be given this type; None asks for nothing."""
    sources, labels, targets = (kind.source_label, None), (kind.label, None), (kind.target_label, None)
    return {(source, label, target) for source in sources for label in labels for target in targets}


def _asked(pattern: SubgraphPattern, edge: QueryEdge) -> Labels:
    return pattern.vertex(edge.source).label, edge.label, pattern.vertex(edge.target).label


def _fits(asked: AskedEnd, end: EdgeEnd) -> bool:
    (source, label, target), direction = asked
    kind = end.kind
    return (
        end.direction is direction
        and label in (None, kind.label)
        and source in (None, kind.source_label)
        and target in (None, kind.target_label)
    )


def _meeting_ends(pattern: SubgraphPattern, vertex: str, edge: QueryEdge, other: QueryEdge) -> list[tuple[AskedEnd, AskedEnd]]:
    """Return the pairs of ends with which two query edges lie at a vertex."""
    return [(one, two) for one in _ends_at(pattern, vertex, edge) for two in _ends_at(pattern, vertex, other)]


def _ends_at(pattern: SubgraphPattern, vertex: str, edge: QueryEdge) -> list[AskedEnd]:
    asked = _asked(pattern, edge)
    ends = ((edge.source, Direction.OUT), (edge.target, Direction.IN))
    return [(asked, direction) for end, direction in ends if end == vertex]


def _sort_key(end: EdgeEnd) -> tuple[tuple[str, bool, str, bool, str, int], str]:
    return end.kind.sort_key(), end.direction.value
