"""Estimated cardinalities: how many edges, prefixes and joins of a pattern are alive in its window.

Edges are an edge type's share of the stream, times the edges in the window. Where 2-edge paths were counted, these tell how
often two types meet at a vertex, hubs and all; elsewhere edges are spread evenly over the distinct vertices. The timing order
keeps the share of permutations that agree with it. Predicates pass `PREDICATE_SHARE` each. Where no statistics are given,
structure alone decides: a label, a fixed vertex and a predicate each make an edge rarer by a fixed factor. The estimates order
plans; they do not promise figures.

Reference: paper 004, section 6 (expected joins an edge) with the edge-type histogram of paper 003, section 5.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from graphtide_core.predicate import variables
from graphtide_core.statistics import StatisticsSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.pattern import QueryEdge, SubgraphPattern

PREDICATE_SHARE = 0.3
EDGE_LABEL_SHARE = 0.2
VERTEX_LABEL_SHARE = 0.5
CLOSING_SHARE = 0.005
"""Share of the pairs of vertices that a path joins which an edge joins, too, at least: streams repeat themselves."""
DEFAULT_VERTICES = 1000
DEFAULT_EDGES_IN_WINDOW = 1000.0


@dataclass(frozen=True, slots=True)
class CostModel:
    """Estimates for one pattern over one stream.

    Attributes:
        pattern: the pattern.
        statistics: what is known of the stream; empty if nothing is.
        ticks: the pattern's window in the stream's ticks.
    """

    pattern: SubgraphPattern
    statistics: StatisticsSnapshot = StatisticsSnapshot()  # noqa: RUF009 - frozen, so one instance serves all
    ticks: int = 0
    _shares: dict[QueryEdge, float] = field(default_factory=dict, init=False, repr=False, compare=False)
    _occurrences: dict[frozenset[int], float] = field(default_factory=dict, init=False, repr=False, compare=False)
    _meetings: dict[tuple[str, int, int], float] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def vertices(self) -> int:
        """Distinct vertices that edges are spread over."""
        return max(1, self.statistics.vertices or DEFAULT_VERTICES)

    @property
    def edges_in_window(self) -> float:
        """Edges of any kind alive at once, if the stream goes on as it is known."""
        known = self.statistics
        if known.edges == 0:
            return DEFAULT_EDGES_IN_WINDOW
        if known.span <= 0 or self.ticks <= 0:
            return float(known.edges)
        return max(1.0, known.edges * self.ticks / known.span)

    def share(self, edge: QueryEdge) -> float:
        """Return the share of the stream's edges that the query edge alone can match; counted once, as types may be many."""
        if edge not in self._shares:
            self._shares[edge] = self._counted_share(edge)
        return self._shares[edge]

    def _counted_share(self, edge: QueryEdge) -> float:
        source, target = self.pattern.vertex(edge.source), self.pattern.vertex(edge.target)
        if self.statistics.edges:
            share = self.statistics.share(self.pattern, edge)
        else:
            labelled = (source.label is not None) + (target.label is not None)
            share = math.pow(VERTEX_LABEL_SHARE, labelled) * (EDGE_LABEL_SHARE if edge.label is not None else 1.0)
        fixed = (source.key is not None) + (target.key is not None)
        share /= math.pow(self.vertices, fixed)
        return share * math.pow(PREDICATE_SHARE, self._decided(edge))

    def _decided(self, edge: QueryEdge) -> int:
        """Return how many predicates the edge alone decides."""
        own = {edge.name, edge.source, edge.target}
        return sum(1 for p in self.pattern.predicates if variables(p) and variables(p) <= own)

    def kinds(self) -> tuple[float, ...]:
        """Return the shares of the kinds of edges that the pattern asks for: query edges that ask for the same are one kind."""
        found: dict[tuple[object, ...], float] = {}
        for edge in self.pattern.edges:
            source, target = self.pattern.vertex(edge.source), self.pattern.vertex(edge.target)
            asked = (source.label, source.key, edge.label, target.label, target.key, source == target)
            found[(*asked, edge.name) if self._decided(edge) else asked] = self.share(edge)
        return tuple(found.values())

    def alive(self, edge: int) -> float:
        """Return how many edges that the query edge can match are alive at once."""
        return self.share(self.pattern.edges[edge]) * self.edges_in_window

    def occurrences(self, edges: Iterable[int]) -> float:
        """Return how many subgraphs of alive edges have the shape and labels of these, the order left aside.

        Every vertex where some of the edges meet divides what combinations of them there are. Of three and more edges at one
        vertex every two make it likelier that the vertex is a hub, each time less.
        """
        part = frozenset(edges)
        if part not in self._occurrences:
            found = math.prod(self.alive(edge) for edge in part)
            ends = self.ends(part)
            for vertex in ends:
                found *= self._meeting_of_all(vertex, sorted(edge for edge in part if vertex in self.ends((edge,))))
            if self.statistics.edges:
                cycles = len(part) - len(ends) + 1
                found *= max(1.0, CLOSING_SHARE * self.vertices**2 / self.edges_in_window) ** cycles
            self._occurrences[part] = found
        return self._occurrences[part]

    def partial_matches(self, edges: Iterable[int]) -> float:
        """Return how many matches of this part of the pattern are alive."""
        part = frozenset(edges)
        return self.occurrences(part) * self.consistent(part)

    def consistent(self, edges: Iterable[int]) -> float:
        """Return the share of the permutations of edges that agree with the timing order.

        By the hook length formula over what precedes or what follows each edge: exact where the order is a forest, and a lower
        bound elsewhere.
        """
        part = tuple(edges)
        earlier = math.prod(sum(self.precedes(other, edge) for other in part) + 1 for edge in part)
        later = math.prod(sum(self.precedes(edge, other) for other in part) + 1 for edge in part)
        return 1 / min(earlier, later)

    def precedes(self, first: int, second: int) -> bool:
        """Say whether the timing order has the first edge before the second."""
        names = self.pattern.edges
        return self.pattern.order.precedes(names[first].name, names[second].name)

    def meeting(self, one: int, other: int) -> float:
        """Return how likely two edges lie at one vertex, where the two query edges share some vertices."""
        shared = self.ends((one,)) & self.ends((other,))
        return math.prod(self._meeting(vertex, one, other) for vertex in shared)

    def _meeting_of_all(self, vertex: str, edges: Sequence[int]) -> float:
        if len(edges) == 1:
            return 1.0
        even = 1 / self.vertices
        likelier = math.prod(self._meeting(vertex, *pair) / even for pair in combinations(edges, 2))
        return math.pow(even, len(edges) - 1) * math.pow(likelier, (len(edges) + 2) / (2 * len(edges)))

    def _meeting(self, vertex: str, one: int, other: int) -> float:
        key = (vertex, one, other)
        if key not in self._meetings:
            self._meetings[key] = self._counted_meeting(*key)
        return self._meetings[key]

    def _counted_meeting(self, vertex: str, one: int, other: int) -> float:
        """Return how likely two edges that fit two query edges lie at one vertex, as these lie at `vertex`.

        `m` meetings were counted where the ends of all edges, independent of each other, would have given `expected`. These are
        few for rare labels, so they are taken as drawn from a Poisson distribution whose mean is itself exponentially
        distributed around `expected`; the mean of what the count leaves of it is `expected * (1 + m) / (1 + expected)`.
        """
        known, pattern = self.statistics, self.pattern
        even = 1 / self.vertices
        if not known.edges or not known.paths:
            return even
        first, second = pattern.edges[one], pattern.edges[other]
        pairs = known.share(pattern, first) * known.share(pattern, second) * known.edges**2
        skew = sum(known.paths.values()) * self.vertices / (2 * known.edges**2)
        expected = pairs * even * skew
        if expected == 0:
            return even * skew
        return min(1.0, expected * (1 + known.meetings(pattern, vertex, first, second)) / (1 + expected) / pairs)

    def ends(self, edges: Iterable[int]) -> set[str]:
        """Return the query vertices that the edges touch."""
        return {end for e in edges for end in (self.pattern.edges[e].source, self.pattern.edges[e].target)}
