"""The oracle of the simulation family: the greatest fixpoint over the live edges, by naive removal, anew for every record.

A pair of a query edge and a data edge stands for one being a match of the other. All pairs are taken at first that labels, keys
and predicates allow; then those are removed that break the definition, until none does. What is left is the greatest set that
keeps it, in any order of removal. No removed pair could be of use to those that stay.
Invariant: before a record is matched, the live edges are the inserts, not deleted since, of its window.
Cost: O(pairs) rounds of O(pairs ^ 3) at worst. Reference: paper 000, Definitions 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from graphtide_core.edge import Operation
from graphtide_core.match import MatchKind
from graphtide_core.pattern import Report
from graphtide_core.predicate import attributes
from graphtide_core.time import TimeUnit

from graphtide_testing.oracles.conditions import look_up
from graphtide_testing.oracles.instants import Instants
from graphtide_testing.oracles.one_per_key import OncePerKey
from graphtide_testing.oracles.predicates import aggregate, edge_attribute, evaluate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from graphtide_core.edge import Edge, Value
    from graphtide_core.ids import EdgeId, VertexId
    from graphtide_core.pattern import QueryEdge, SubgraphPattern
    from graphtide_core.predicate import Aggregate, Expression

Pair = tuple[str, int]
"""Name of a query edge, place of a data edge among those given."""

_Part = frozenset[Pair]
"""Pairs of a component, with the numbers of their edges in the stream."""


@dataclass(frozen=True, slots=True)
class Component:
    """A match component as it is reported: which data edges, by id, match which query edges, by name.

    If changes are reported, `pairs` are those that entered or left it, and `component` is the id of its oldest edge now.
    `former` are the ids, sorted, of those that merged into it, or the id of the one that it was part of.
    """

    kind: MatchKind
    detected_at: int
    pairs: frozenset[tuple[str, EdgeId]]
    component: EdgeId | None = None
    former: tuple[EdgeId, ...] = ()


def match_graph(query: SubgraphPattern, edges: Sequence[Edge]) -> frozenset[Pair]:
    """Return the maximal match graph of edges that are all of one window."""
    pairs = {(each.name, place) for each in query.edges for place, edge in enumerate(edges) if fits(query, each, edge)}
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

    def __init__(self, query: SubgraphPattern, unit: TimeUnit = TimeUnit.MILLISECOND) -> None:
        """Start with an empty window; `unit` is what a tick counts."""
        self._query = query
        self._instants = Instants.of(query, unit)
        self._emits_changes = query.report is Report.CHANGES
        self._consumes = query.report is Report.INSTANCES
        self._edges: list[Edge] = []
        self._came: list[int] = []
        self._inside: list[int] = []
        self._consumed = -1
        self._unit = unit
        self._emitted_anew()

    @property
    def _live(self) -> list[int]:
        """Edges in the window that may be of use: a consumed one still is a duplicate's first."""
        return [number for number in self._inside if number > self._consumed]

    def push(self, edge: Edge) -> list[Component]:
        """Take one record; return first what the passing of time emits, and then what the record emits."""
        now = self._instants.of_record(edge)
        alive = [number for number in self._inside if self._instants.is_within(self._came[number], now)]
        same = next((number for number in alive if self._edges[number].shares_id(edge)), None)
        if edge.operation is Operation.DELETE:
            emitted = self._expire(now, edge.ts)
            return emitted if same is None else emitted + self._delete(same, edge.ts)
        if same is not None:
            return []
        emitted = self._expire(now, edge.ts)
        before = self._graph()
        self._inside.append(len(self._edges))
        self._edges.append(edge)
        self._came.append(now)
        self._instants.take()
        if self._emits_changes:
            return emitted + self._entered(before, self._graph(), edge.ts)
        part = next((part for part in self._graph() if any(of == self._inside[-1] for _, of in part)), None)
        if part is None:
            return emitted
        if self._once_per_key.emits(edge.ts, self._keys(part)):
            self._emitted.add(frozenset(part))
            emitted.append(Component(MatchKind.MATCH, edge.ts, self._named(part)))
        self._consume(part)
        return emitted

    def _emitted_anew(self) -> None:
        self._once_per_key = OncePerKey(self._query.one_per, self._unit)
        # By places of edges: an id may be given again, and one that was made reads like one that was given.
        self._emitted: set[frozenset[Pair]] = set()

    def _keys(self, part: _Part) -> list[Value]:
        """Return the values that ONE PER distinguishes a component by."""
        keys = () if self._query.one_per is None else self._query.one_per.keys
        return [evaluate(key, lambda _: None, lambda over: self._computed(over, part)) for key in keys]

    def _computed(self, over: Aggregate, part: _Part) -> Value:
        """Return what is computed over the edges, or the vertices, that a name of the query stands for."""
        name = over.operand.variable
        ends = {each.name: (each.source, each.target) for each in self._query.edges}
        if name in ends:
            taken = [self._edges[number] for number in sorted(number for of, number in part if of == name)]
            return aggregate(over.function, [edge_attribute(edge, over.operand.name) for edge in taken])
        vertices = {
            end: None
            for of, number in sorted(part, key=_number)
            for query, end in zip(ends[of], (self._edges[number].source, self._edges[number].target), strict=True)
            if query == name
        }
        return aggregate(over.function, list(vertices))

    def begin(self) -> None:
        """Let reports count from the next record on: what is consumed is what would be if the edges there were the first.

        ONE PER starts anew: no match of its keys was emitted.
        """
        self._emitted_anew()
        self._consumed = -1
        alive = self._inside
        for place, last in enumerate(alive):
            now = self._came[last]
            self._inside = [each for each in alive[: place + 1] if self._instants.is_within(self._came[each], now)]
            for part in self._graph():
                if any(number == last for _, number in part):
                    self._consume(part)
        self._inside = alive

    def pass_time(self, watermark: int) -> list[Component]:
        """Take it that no edge before a time comes; return what that alone emits."""
        is_emitted = self._emits_changes and self._instants.counted is None
        return self._expire(watermark, watermark) if is_emitted else []

    def finish(self) -> list[Component]:
        """Take the end of the stream; return what the passing of time emits. No edge comes, so none leaves for others."""
        return [] if self._instants.counted is not None else self._expire(2**64, 2**64)

    def _consume(self, part: _Part) -> None:
        if self._consumes:
            self._consumed = self._oldest(part)

    def _expire(self, now: int, ts: int) -> list[Component]:
        """Let the edges of one instant after the other leave the window of a record.

        In a window of time each edge expires at its own time plus the window, and is emitted then; else the record emits it.
        """
        emitted: list[Component] = []
        while self._inside and not self._instants.is_within(first := self._came[self._inside[0]], now):
            before = self._graph()
            self._inside = [number for number in self._inside if self._came[number] > first]
            last = first + int(self._instants.length) - 1 if self._instants.counted is None else ts
            if self._emits_changes:
                emitted += self._left(before, self._graph(), last)
        return emitted

    def _delete(self, number: int, now: int) -> list[Component]:
        before = self._graph()
        self._inside.remove(number)
        if self._emits_changes:
            return self._left(before, self._graph(), now)
        # Instances that were reported are consumed: what is left of them was never reported.
        parts = [] if self._consumes else [part for part in before if any(of == number for _, of in part)]
        emitted = [part for part in parts if self._query.one_per is None or frozenset(part) in self._emitted]
        return [Component(MatchKind.RETRACT, now, self._named(part)) for part in emitted]

    def _entered(self, before: list[_Part], after: list[_Part], now: int) -> list[Component]:
        """Return what entered: nothing else can have changed, for more edges take nothing away."""
        emitted: list[Component] = []
        for part in after:
            merged = [former for former in before if former & part]
            new = part.difference(*merged)
            if new:
                kind, oldest = (MatchKind.EXTEND if merged else MatchKind.MATCH), self._oldest(part)
                former = {self._oldest(each) for each in merged} - {oldest}
                emitted.append(Component(kind, now, self._named(new), self._id(oldest), tuple(sorted(map(self._id, former)))))
        return emitted

    def _left(self, before: list[_Part], after: list[_Part], now: int) -> list[Component]:
        """Return what left. A component that falls apart continues as its oldest part; the others are emitted as new ones."""
        emitted: list[Component] = []
        for former in before:
            parts = sorted((part for part in after if part <= former), key=self._oldest)
            gone = former.difference(*parts)
            if not gone:
                continue
            name = self._oldest(former)
            oldest = self._oldest(parts[0]) if parts else name
            former_id = () if name == oldest else (self._id(name),)
            emitted.append(Component(MatchKind.RETRACT, now, self._named(gone), self._id(oldest), former_id))
            for part in parts[1:]:
                own, split_from = self._id(self._oldest(part)), (self._id(name),)
                emitted.append(Component(MatchKind.MATCH, now, self._named(part), own, split_from))
        return emitted

    def _graph(self) -> list[_Part]:
        """Return the components of the match graph of the live edges."""
        live = [self._edges[number] for number in self._live]
        parts = components(live, match_graph(self._query, live))
        return [frozenset((name, self._live[place]) for name, place in part) for part in parts]

    def _oldest(self, part: _Part) -> int:
        return min(number for _, number in part)

    def _id(self, number: int) -> EdgeId:
        return self._edges[number].id

    def _named(self, part: _Part) -> frozenset[tuple[str, EdgeId]]:
        return frozenset((name, self._edges[number].id) for name, number in part)


def _number(pair: tuple[str, int]) -> int:
    return pair[1]


def fits(query: SubgraphPattern, of: QueryEdge, edge: Edge) -> bool:
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

    @cache
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
    given: dict[str, int] = {}
    for name, before in _one_after_the_other(tuple(each.name for each in query.edges), frozenset(query.order.before)):
        times = [edges[place].ts for each, place in part if each == name and (name != of[0] or place == of[1])]
        least = min((ts for ts in times if all(given[earlier] < ts for earlier in before)), default=None)
        if least is None:
            return False
        given[name] = least
    return True


@cache
def _one_after_the_other(names: tuple[str, ...], order: frozenset[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Return query edges, each after those before it, and with them."""
    before = {name: [a for a, b in order if b == name] for name in names}
    return [(name, before[name]) for name in TopologicalSorter(before).static_order()]
