"""Estimate cardinalities: how many edges, prefixes and joins of a pattern are alive in its window.

Edges are an edge type's share of the stream, times the edges in the window. Counted 2-edge paths give how often two types meet
at a vertex, including hubs; without them, edges are spread evenly over the distinct vertices. The timing order keeps the share
of permutations that agree with it. Predicates pass `PREDICATE_SHARE` each. Without statistics, only structure decides: a label,
a fixed vertex and a predicate each make an edge rarer by a fixed factor. The estimates rank plans; they are not predictions.

Parts of the pattern that were counted on a running plan correct them. A counted part has the counted factor over its estimate.
A larger part has that of the largest counted parts in it that share no edge, as a correlation found there holds there, too.

Reference: paper 004, section 6 (expected joins an edge) with the edge-type histogram of paper 003, section 5.1.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar, cast

from graphtide_core.predicate import variables
from graphtide_core.statistics import StatisticsSnapshot
from graphtide_core.window import EdgeCount

from graphtide_query.estimates.budget import PlanningBudget, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from graphtide_core.pattern import QueryEdge, SubgraphPattern
    from graphtide_core.plans import CountedPart
    from graphtide_core.window import Extent

Made = TypeVar("Made")

PREDICATE_SHARE = 0.3
EDGE_LABEL_SHARE = 0.2
VERTEX_LABEL_SHARE = 0.5
CLOSING_SHARE = 0.005
"""The smallest share of pairs of vertices joined by a path that an edge also joins: streams repeat themselves."""
MOST = 1e250
"""The largest estimate, so that sums of estimates stay finite."""
DEFAULT_VERTICES = 1000
DEFAULT_EDGES_IN_WINDOW = 1000.0


class CostModel:
    """Estimates for one pattern over one stream.

    Parts of a pattern are sets of positions of its edges; estimates of a part are cached. Every estimate counts as work.

    Attributes:
        pattern: the pattern.
        statistics: statistics of the stream; may be empty.
        vertices: the number of distinct vertices that edges are spread over.
        edges_in_window: edges of any kind alive at once, by the known rates.
        closing: how much likelier an edge is between two vertices that other edges already join.
        has_counted_meetings: whether meetings of edges were counted.
        work: the work of planning the pattern so far.
        fan_outs: the estimated open bindings of searches, step by step, by their whole order.
        has_evidence: whether some parts of two edges or more were counted.
    """

    def __init__(
        self,
        pattern: SubgraphPattern,
        statistics: StatisticsSnapshot = StatisticsSnapshot(),  # noqa: B008 - frozen, so one instance serves all
        extent: Extent = 0,
        budget: PlanningBudget = PlanningBudget(),  # noqa: B008 - frozen as well
        evidence: Sequence[CountedPart] = (),
    ) -> None:
        """Estimates are computed on demand. Complexity: O(edges^2 + terms of the predicates).

        Args:
            pattern: the pattern.
            statistics: of the stream.
            extent: the pattern's window on the stream; with 0 ticks, the statistics cover one window.
            budget: the work budget.
            evidence: parts of the pattern that were counted; those with edges of other names are passed over.
        """
        self.pattern = pattern
        self.statistics = statistics
        self.vertices = max(1, statistics.vertices or DEFAULT_VERTICES)
        self.edges_in_window = edges_in_window(statistics, extent)
        likelier = CLOSING_SHARE * self.vertices**2 / self.edges_in_window
        self.closing = max(1.0, likelier) if statistics.edges else 1.0
        self.has_counted_meetings = bool(statistics.edges and statistics.paths)
        self.work = Work(pattern.name, budget)
        self.fan_outs: dict[tuple[int, ...], tuple[float, ...]] = {}
        self._made: dict[Callable[[CostModel], object], object] = {}
        self._vertices = {vertex.name: vertex for vertex in pattern.vertices}
        self._ends = [frozenset((edge.source, edge.target)) for edge in pattern.edges]
        self._at = _edges_at(pattern)
        self._before, self._after = _order_edges(pattern)
        self._deciding = _deciding(pattern)
        self._alone, self._together = _corrections(pattern, evidence)
        self.has_evidence = bool(self._together)
        self._shares: dict[str, float] = {}
        self._alive: dict[int, float] = {}
        self._occurrences: dict[int, float] = {}
        self._consistent: dict[int, float] = {}
        self._meetings: dict[tuple[str, int, int], float] = {}
        self._meetings_of_all: dict[tuple[str, int], float] = {}
        self._log_likelier: dict[str, dict[int, dict[int, float]]] = {}
        self._likelier: dict[str, dict[int, dict[int, float]]] = {}

    def once(self, make: Callable[[CostModel], Made]) -> Made:
        """Return the cached result of a function of these estimates; its first call counts as work."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast("Made", self._made[make])  # the function's own

    def share(self, edge: QueryEdge) -> float:
        """Return the share of the stream's edges that the query edge can match by itself; cached: types may be many."""
        share = self._shares.get(edge.name)
        if share is None:
            share = self._counted_share(edge)
            if self._alone:
                share = min(1.0, share * self._alone.get(edge.name, 1.0))
            self._shares[edge.name] = share
        return share

    def _counted_share(self, edge: QueryEdge) -> float:
        source, target = self._vertices[edge.source], self._vertices[edge.target]
        if self.statistics.edges:
            share = self.statistics.share(self.pattern, edge)
        else:
            labelled = (source.label is not None) + (target.label is not None)
            share = math.pow(VERTEX_LABEL_SHARE, labelled) * (EDGE_LABEL_SHARE if edge.label is not None else 1.0)
        fixed = (source.key is not None) + (target.key is not None)
        share /= math.pow(self.vertices, fixed)
        return share * math.pow(PREDICATE_SHARE, self._decided(edge))

    def _decided(self, edge: QueryEdge) -> int:
        """Return how many predicates read only the edge."""
        own = {edge.name, edge.source, edge.target}
        return sum(count for names, count in self._deciding.items() if names <= own)

    def kinds(self) -> tuple[float, ...]:
        """Return the shares of the kinds of edges of the pattern; equal query edges are one kind."""
        found: dict[tuple[object, ...], float] = {}
        for edge in self.pattern.edges:
            source, target = self._vertices[edge.source], self._vertices[edge.target]
            asked = (source.label, source.key, edge.label, target.label, target.key, source == target)
            found[(*asked, edge.name) if self._decided(edge) else asked] = self.share(edge)
        return tuple(found.values())

    def alive(self, edge: int) -> float:
        """Return how many edges that the query edge can match are alive at once."""
        if edge not in self._alive:
            self._alive[edge] = self.share(self.pattern.edges[edge]) * self.edges_in_window
        return self._alive[edge]

    def occurrences(self, edges: Iterable[int]) -> float:
        """Return how many subgraphs of alive edges have the shape and labels of these, without regard to the order.

        Every vertex where edges meet divides the number of combinations. Of three or more edges at one vertex, each pair makes
        a hub likelier, with diminishing effect.
        """
        chosen = frozenset(edges)
        part = self.part(chosen)
        if part not in self._occurrences:
            found = math.prod([self.alive(edge) for edge in chosen])
            ends = 0
            for vertex, at in self._at.items():
                here = at & part
                ends += here != 0
                if here & (here - 1):
                    found *= self._meeting_of_all(vertex, here)
            if self.statistics.edges:
                found *= math.pow(self.closing, len(chosen) - ends + 1)
            if self.has_evidence:
                found *= self._correction(part)
            # Overflow times underflow gives NaN.
            self._occurrences[part] = found if found < MOST else MOST
        return self._occurrences[part]

    def _correction(self, part: int) -> float:
        """Return how many times as many subgraphs of a part there are as estimated: by the largest counted parts in it."""
        left, found = part, 1.0
        for counted, factor in self._together:
            if counted & ~left == 0:
                left &= ~counted
                found *= factor
        return found

    def partial_matches(self, edges: Iterable[int]) -> float:
        """Return how many matches of this part of the pattern are alive."""
        part = tuple(edges)
        return self.occurrences(part) * self.consistent(part)

    def consistent(self, edges: Iterable[int]) -> float:
        """Return the share of the permutations of edges that agree with the timing order.

        By the hook length formula over the edges before or after each edge: exact if the order is a forest, else a lower bound.
        """
        chosen = tuple(edges)
        part = self.part(chosen)
        if part not in self._consistent:
            earlier = math.prod([(self._before[edge] & part).bit_count() + 1 for edge in chosen])
            later = math.prod([(self._after[edge] & part).bit_count() + 1 for edge in chosen])
            self._consistent[part] = 1 / min(earlier, later)
        return self._consistent[part]

    def part(self, edges: Iterable[int]) -> int:
        """Return a set of edges as the bits of a number; counts a unit of work for each."""
        part = 0
        for edge in edges:
            part |= 1 << edge
        self.work.do(part.bit_count())
        return part

    def before(self, edge: int) -> int:
        """Return the edges that the timing order has before this one, as bits."""
        return self._before[edge]

    def after(self, edge: int) -> int:
        """Return the edges that the timing order has after this one, as bits."""
        return self._after[edge]

    def near(self, edges: Iterable[int]) -> int:
        """Return the other edges that share a query vertex with one of these, as bits."""
        part = self.part(edges)
        found = 0
        for at in self._at.values():
            if at & part:
                found |= at
        return found & ~part

    def ends_of(self, edge: int) -> frozenset[str]:
        """Return the query vertices of one edge."""
        return self._ends[edge]

    def precedes(self, first: int, second: int) -> bool:
        """Return whether the timing order has the first edge before the second."""
        return bool(self._after[first] >> second & 1)

    def meeting(self, one: int, other: int) -> float:
        """Return how likely two edges lie at one vertex, where the two query edges share some vertices."""
        shared = self.ends((one,)) & self.ends((other,))
        return math.prod(self._meeting(vertex, one, other) for vertex in shared)

    def _meeting_of_all(self, vertex: str, here: int) -> float:
        key = (vertex, here)
        if key not in self._meetings_of_all:
            edges = members(here)
            even = 1 / self.vertices
            found = math.pow(even, len(edges) - 1)
            if self.has_counted_meetings:
                self.work.do(len(edges) ** 2 // 4)
                pairs = self._likelier_by_pair(vertex)
                likelier = math.prod([pairs[one][other] for one, other in combinations(edges, 2)])
                found *= math.pow(likelier, (len(edges) + 2) / (2 * len(edges)))
            self._meetings_of_all[key] = found
        return self._meetings_of_all[key]

    def _likelier_by_pair(self, vertex: str) -> dict[int, dict[int, float]]:
        """Return, for every two query edges at a vertex, how much likelier their edges meet there than any two edges."""
        if vertex not in self._likelier:
            edges = members(self._at[vertex])
            found: dict[int, dict[int, float]] = {edge: {} for edge in edges}
            for one, other in combinations(edges, 2):
                found[one][other] = found[other][one] = self._meeting(vertex, one, other) / (1 / self.vertices)
            self._likelier[vertex] = found
        return self._likelier[vertex]

    def likelier_by_pair(self, vertex: str) -> dict[int, dict[int, float]]:
        """Return the logarithms of `_likelier_by_pair`, for every two query edges at a vertex."""
        if vertex not in self._log_likelier:
            by_pair = self._likelier_by_pair(vertex)
            self._log_likelier[vertex] = {
                one: {other: math.log(times) for other, times in row.items()} for one, row in by_pair.items()
            }
        return self._log_likelier[vertex]

    def _meeting(self, vertex: str, one: int, other: int) -> float:
        key = (vertex, one, other)
        if key not in self._meetings:
            self._meetings[key] = self._counted_meeting(*key)
        return self._meetings[key]

    def _counted_meeting(self, vertex: str, one: int, other: int) -> float:
        """Return how likely two edges that fit two query edges share a vertex, as these share `vertex`.

        `m` meetings were counted, and independent ends of all edges would give `expected`. Rare labels have few, so they are
        taken as drawn from a Poisson distribution whose mean is itself exponentially distributed around `expected`. The
        posterior mean is `expected * (1 + m) / (1 + expected)`.
        """
        known, pattern = self.statistics, self.pattern
        even = 1 / self.vertices
        if not self.has_counted_meetings:
            return even
        first, second = pattern.edges[one], pattern.edges[other]
        pairs = known.share(pattern, first) * known.share(pattern, second) * known.edges**2
        skew = known.paths_in_all * self.vertices / (2 * known.edges**2)
        expected = pairs * even * skew
        if expected == 0:
            return even * skew
        return min(1.0, expected * (1 + known.meetings(pattern, vertex, first, second)) / (1 + expected) / pairs)

    def ends(self, edges: Iterable[int]) -> set[str]:
        """Return the query vertices that the edges touch."""
        return {end for edge in edges for end in self._ends[edge]}


def edges_in_window(known: StatisticsSnapshot, extent: Extent) -> float:
    """Return how many edges of any kind a window holds, by the known rates."""
    if isinstance(extent, EdgeCount):
        return float(extent.edges)
    if known.edges == 0:
        return DEFAULT_EDGES_IN_WINDOW
    if known.span <= 0 or extent <= 0:
        return float(known.edges)
    return max(1.0, known.edges * extent / known.span)


@lru_cache(maxsize=1 << 14)
def members(part: int) -> tuple[int, ...]:
    """Return the positions of the bits, ascending. Cached: searches ask for the same parts again and again."""
    return tuple([place for place, bit in enumerate(reversed(f"{part:b}")) if bit == "1"])


def _corrections(
    pattern: SubgraphPattern, evidence: Iterable[CountedPart]
) -> tuple[dict[str, float], tuple[tuple[int, float], ...]]:
    """Return factors of single edges by name, and of larger parts beyond those of their edges; the largest parts first."""
    places = {edge.name: place for place, edge in enumerate(pattern.edges)}
    known = [each for each in evidence if each.edges and places.keys() >= set(each.edges)]
    alone = {each.edges[0]: each.factor for each in known if len(each.edges) == 1}
    together = [
        (sum(1 << places[name] for name in each.edges), each.factor / math.prod(alone.get(name, 1.0) for name in each.edges))
        for each in known
        if len(each.edges) > 1
    ]
    return alone, tuple(sorted(together, key=lambda each: (-each[0].bit_count(), each[0])))


def _edges_at(pattern: SubgraphPattern) -> dict[str, int]:
    """Return the edges at every vertex as bits."""
    found = dict.fromkeys((vertex.name for vertex in pattern.vertices), 0)
    for place, edge in enumerate(pattern.edges):
        found[edge.source] |= 1 << place
        found[edge.target] |= 1 << place
    return found


def _order_edges(pattern: SubgraphPattern) -> tuple[list[int], list[int]]:
    """Return the edges before and after every edge in the timing order, as bits."""
    places = {edge.name: place for place, edge in enumerate(pattern.edges)}
    before, after = [0] * len(places), [0] * len(places)
    for first, second in pattern.order.before:
        before[places[second]] |= 1 << places[first]
        after[places[first]] |= 1 << places[second]
    return before, after


def _deciding(pattern: SubgraphPattern) -> dict[frozenset[str], int]:
    """Return how many predicates read exactly these edges and vertices; predicates that read none do not count."""
    found: dict[frozenset[str], int] = {}
    for predicate in pattern.predicates:
        names = variables(predicate)
        if names:
            found[names] = found.get(names, 0) + 1
    return found
