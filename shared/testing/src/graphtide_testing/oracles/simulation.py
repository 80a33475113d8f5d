"""The oracle of the simulation family: the greatest fixpoint over the live edges, by naive removal, anew for every record.

A pair of a query edge and a data edge stands for one being a match of the other. All pairs are taken at first that labels,
keys and predicates allow; then those are removed that break the definition, until none does. What is left is the greatest set
that keeps it, whatever the order of removal, for nothing that is removed could be of use to what stays.
Invariant: before a record is matched, the live edges are the inserts, not deleted since, with ts >= now - window.
Cost: O(pairs) rounds of O(pairs ^ 3) at worst. Reference: paper 000, Definitions 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from graphtide_core.edge import Operation
from graphtide_core.match import MatchKind
from graphtide_core.predicate import attributes
from graphtide_core.time import TimeUnit

from graphtide_testing.oracles.conditions import look_up
from graphtide_testing.oracles.predicates import evaluate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from graphtide_core.edge import Edge
    from graphtide_core.ids import EdgeId, VertexId
    from graphtide_core.pattern import QueryEdge, SubgraphPattern
    from graphtide_core.predicate import Expression

Pair = tuple[str, int]
"""Name of a query edge, place of a data edge among those given."""


@dataclass(frozen=True, slots=True)
class Component:
    """A match component as it is reported: which data edges, by id, match which query edges, by name."""

    kind: MatchKind
    pairs: frozenset[tuple[str, EdgeId]]


def match_graph(query: SubgraphPattern, edges: Sequence[Edge]) -> frozenset[Pair]:
    """Return the maximal match graph of edges that are all of one window.

    Raises:
        ValueError: a predicate reads more than one query edge and its ends: no pair could satisfy it.
    """
    pairs = {(each.name, place) for each in query.edges for place, edge in enumerate(edges) if _fits(query, each, edge)}
    while True:
        kept = _with_matching_ends(query, edges, pairs)
        kept = {pair for part in components(edges, kept) for pair in part if _is_in_time(query, edges, part, pair)}
        if kept == pairs:
            return frozenset(pairs)
        pairs = kept


def components(edges: Sequence[Edge], pairs: Iterable[Pair]) -> list[frozenset[Pair]]:
    """Return the pairs of each connected component of the graph that their data edges are."""
    parts: list[tuple[set[VertexId], set[Pair]]] = []
    for pair in pairs:
        vertices, joined = {edges[pair[1]].source, edges[pair[1]].target}, {pair}
        for touched in [part for part in parts if part[0] & vertices]:
            parts.remove(touched)
            vertices, joined = vertices | touched[0], joined | touched[1]
        parts.append((vertices, joined))
    return [frozenset(joined) for _, joined in parts]


class SimulationOracle:
    """Reports the match components of one query while records are pushed in the order of (ts, arrival)."""

    def __init__(self, query: SubgraphPattern, unit: TimeUnit = TimeUnit.MILLISECOND, *, instances: bool = False) -> None:
        """Start with an empty window; `unit` is what a tick counts. Reports `instances`, each once, or else what is maximal."""
        self._query = query
        self._window = query.window.ticks(unit)
        self._instances = instances
        self._live: list[Edge] = []

    def push(self, edge: Edge) -> Component | None:
        """Take one record; return the component that an insert belongs to, or that a deletion takes back."""
        self._live = [live for live in self._live if live.ts >= edge.ts - self._window]
        if edge.operation is Operation.DELETE:
            found = next((place for place, live in enumerate(self._live) if live.shares_id(edge)), None)
            if found is None:
                return None
            part = self._component_of(found)
            # Instances that were reported are consumed: what is left of them was never reported.
            told = None if part is None or self._instances else self._told(MatchKind.RETRACT, part)
            del self._live[found]
            return told
        if any(live.shares_id(edge) for live in self._live):
            return None
        self._live.append(edge)
        part = self._component_of(len(self._live) - 1)
        if part is None:
            return None
        told = self._told(MatchKind.MATCH, part)
        if self._instances:
            self._live = self._live[min(place for _, place in part) + 1 :]
        return told

    def _component_of(self, place: int) -> frozenset[Pair] | None:
        parts = components(self._live, match_graph(self._query, self._live))
        return next((part for part in parts if any(of == place for _, of in part)), None)

    def _told(self, kind: MatchKind, part: Iterable[Pair]) -> Component:
        return Component(kind, frozenset((name, self._live[place].id) for name, place in part))


def _fits(query: SubgraphPattern, of: QueryEdge, edge: Edge) -> bool:
    """Whether a data edge can match a query edge as far as the two show; one from a vertex to itself asks for no loop."""
    source, target = query.vertex(of.source), query.vertex(of.target)
    if of.label not in (None, edge.label) or source.label not in (None, edge.source_label):
        return False
    if target.label not in (None, edge.target_label) or source.key not in (None, edge.source):
        return False
    return target.key in (None, edge.target) and _predicates_hold(query, of, edge)


def _predicates_hold(query: SubgraphPattern, of: QueryEdge, edge: Edge) -> bool:
    for predicate in query.predicates:
        reads = {attribute.variable for attribute in attributes(predicate)}
        if not any(reads <= {each.name, each.source, each.target} for each in query.edges):
            message = f"a predicate reads {sorted(reads)}, which no query edge has all of"
            raise ValueError(message)
        # One end after the other: both are the same query vertex where the query edge is from one to itself.
        for vertex, image in ((of.source, edge.source), (of.target, edge.target)):
            if reads <= {of.name, vertex} and not _holds(predicate, {of.name: edge}, {vertex: image}):
                return False
        both = {of.source: edge.source, of.target: edge.target}
        if len(both) > 1 and both.keys() <= reads <= {of.name, *both} and not _holds(predicate, {of.name: edge}, both):
            return False
    return True


def _holds(predicate: Expression, edges: Mapping[str, Edge], vertices: Mapping[str, VertexId]) -> bool:
    return evaluate(predicate, lambda read: look_up(read, edges, vertices)) is True


def _with_matching_ends(query: SubgraphPattern, edges: Sequence[Edge], pairs: Collection[Pair]) -> set[Pair]:
    """Return the pairs whose ends match: Definition 1, conditions (2b) and (2c)."""
    ends = {each.name: (each.source, each.target) for each in query.edges}

    def matches(vertex: str, image: VertexId) -> bool:
        out = [
            {place for name, place in pairs if name == each and edges[place].source == image}
            for each in ends
            if ends[each][0] == vertex
        ]
        into = [
            {place for name, place in pairs if name == each and edges[place].target == image}
            for each in ends
            if ends[each][1] == vertex
        ]
        return has_distinct(out) and has_distinct(into)

    return {
        (name, place)
        for name, place in pairs
        if matches(ends[name][0], edges[place].source) and matches(ends[name][1], edges[place].target)
    }


def has_distinct(choices: Sequence[Collection[int]]) -> bool:
    """Whether one can be taken of each, all of them different: a matching in a bipartite graph, by augmenting paths."""
    taken: dict[int, int] = {}

    def take(number: int, tried: set[int]) -> bool:
        for choice in choices[number]:
            if choice not in tried:
                tried.add(choice)
                if choice not in taken or take(taken[choice], tried):
                    taken[choice] = number
                    return True
        return False

    return all(take(number, set()) for number in range(len(choices)))


def _is_in_time(query: SubgraphPattern, edges: Sequence[Edge], part: Collection[Pair], of: Pair) -> bool:
    """Whether pairs of a component, this one and one for each other query edge, keep the order: Definition 2 (1).

    Each is given the least time after those before it: where these do not do, later ones would not either.
    """
    before = {each.name: [a for a, b in query.order.before if b == each.name] for each in query.edges}
    given: dict[str, int] = {}
    for name in TopologicalSorter(before).static_order():
        times = [edges[place].ts for each, place in part if each == name and (name != of[0] or place == of[1])]
        least = min((ts for ts in times if all(given[earlier] < ts for earlier in before[name])), default=None)
        if least is None:
            return False
        given[name] = least
    return True
