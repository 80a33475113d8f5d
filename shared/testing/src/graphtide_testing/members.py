"""A matcher whose patterns come and go, and what each of them finds by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.edge import Edge, Operation
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime
from graphtide_native.matcher import Matcher
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.spec import Limits, columns

from graphtide_testing.found import keys
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.records import to_json_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import AnyPlan, Plan
    from graphtide_native.records import EdgeBatch

    from graphtide_testing.found import Found


class Alone:
    """What a pattern finds by itself; a match from before its start is not retracted either."""

    def __init__(self, pattern: SubgraphPattern, unreported: Sequence[Edge], reported: Sequence[Edge]) -> None:
        """Take the edges before its start, and the edges since."""
        self._oracle = SubgraphOracle(pattern)
        self._unreported = {(found.edges, found.vertices) for edge in unreported for found in self._oracle.push(edge)}
        self._oracle.begin()
        for edge in reported:
            self._oracle.push(edge)

    def push(self, edge: Edge) -> list[Found]:
        """Return what it emits for an edge."""
        found = self._oracle.push(edge)
        return [each for each in found if each.kind == "match" or (each.edges, each.vertices) not in self._unreported]


class Members:
    """A matcher of a stream whose patterns come and go."""

    def __init__(self, edges: Sequence[Edge], *plans: AnyPlan, deletions: bool = True, limits: Limits | None = None) -> None:
        """Begin before the first of some edges."""
        self.edges = edges
        self.taken = 0
        self.deletions = deletions
        self.symbols = Symbols()
        self.columns = list(columns(plan.pattern for plan in plans))
        self.matcher = Matcher(plans, self.symbols, self.columns, deletions=deletions, adaptive=True, limits=limits)

    def decoded(self, start: int, stop: int, known: Sequence[str] = "nm") -> EdgeBatch:
        """Decode edges, of whose attributes some are known."""
        decoder = JsonLinesDecoder(self.symbols, self.columns, {})
        # Ids that are made go by the place in the stream.
        decoder.decode(to_json_lines(self.edges[:start]))
        edges = (
            replace(edge, attributes={name: edge.attributes[name] for name in edge.attributes if name in known})
            for edge in self.edges[start:stop]
        )
        before = sum(edge.operation is Operation.INSERT for edge in self.edges[:start])
        return decoder.decode(to_json_lines(list(edges))).numbered(before)

    def add(self, plan: Plan, start: int, limits: Limits | None = None, known: Sequence[str] = "nm") -> int:
        """Add a pattern whose matches count as reported from a place in the stream on, with a past that has some attributes."""
        self.columns += [each for each in columns([plan.pattern]) if each not in self.columns]
        unreported = [self.decoded(0, start // 2, known), self.decoded(start // 2, start, known)]
        reported = [self.decoded(start, self.taken, known)]
        number = self.matcher.add(plan, limits or Limits(), unreported=unreported, reported=reported, projected=self.columns)
        if plan.pattern.one_per is not None:
            beside = Matcher([plan], self.symbols, self.columns, deletions=self.deletions, adaptive=True)
            take_past(beside, unreported, reported)
            self.matcher.take_deduplication(number, beside, 0)
        return number

    def push(self, count: int = 1) -> list[Found]:
        """Take the next edges; return what was found."""
        batch = self.decoded(self.taken, self.taken + count)
        self.taken += count
        return keys(found for matches in self.matcher.push(batch) for found in matches)


def take_past(matcher: Matcher, unreported: Sequence[EdgeBatch], reported: Sequence[EdgeBatch]) -> None:
    """Let a new matcher of one pattern take its past: first the records before the pattern's start, then those since."""
    matcher.wait(0, None)
    for batch in unreported:
        for _ in matcher.push(batch):
            pass
    matcher.begin(0)
    for batch in reported:
        for _ in matcher.push(batch):
            pass


def make_chain(count: int, label: str = "k") -> tuple[Edge, ...]:
    """Return a path."""
    places = ((place, VertexId(f"v{place}"), VertexId(f"v{place + 1}")) for place in range(count))
    return tuple(Edge(EdgeId(f"e{place}"), EventTime(place), source, target, label) for place, source, target in places)
