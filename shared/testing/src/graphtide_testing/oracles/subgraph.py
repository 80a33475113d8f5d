"""The oracle of the isomorphism family: brute force over the live edges, once for every record.

Invariant: before a record is matched, the live edges are the inserts, not deleted since, of its window. Backtracking
assigns query edges in the order of the text; all that prunes it is what one edge shows and what two edges share. Every
condition is checked again on the complete assignment.
Cost: O(edges * live ^ (edges - 1)) a record. Reference: docs/reference/semantics.md; paper 004, Definition 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.edge import Operation
from graphtide_core.match import MatchKind
from graphtide_core.time import TimeUnit

from graphtide_testing.found import Found, key
from graphtide_testing.oracles.conditions import bind, fits_alone, is_match, look_up, report
from graphtide_testing.oracles.instants import Instants
from graphtide_testing.oracles.one_per_key import OncePerKey
from graphtide_testing.oracles.predicates import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_core.edge import Edge, Value
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.time import EventTime


@dataclass(frozen=True, slots=True, eq=False)
class Live:
    """An insert in the window, and when it came. Equal to itself alone: two records may carry one id at different times.

    Attributes:
        places: the query edges that it can stand for as far as one edge shows, by their places in the text.
    """

    edge: Edge
    instant: int
    number: int
    places: frozenset[int]


class SubgraphOracle:
    """Reports the matches of one pattern while records are pushed in the order of (ts, arrival)."""

    def __init__(self, pattern: SubgraphPattern, unit: TimeUnit = TimeUnit.MILLISECOND) -> None:
        """Start with an empty window; `unit` is what one tick of the stream counts."""
        self._pattern = pattern
        self._instants = Instants.of(pattern, unit)
        self._now: EventTime | None = None
        self._live: list[Live] = []
        self._reported: list[tuple[Live, ...]] = []
        self._came = 0
        self._unit = unit
        self.begin()

    def begin(self) -> None:
        """Let reports count from the next record on; ONE PER starts anew: no match of its keys was emitted."""
        self._once_per_key = OncePerKey(self._pattern.one_per, self._unit)

    def push(self, edge: Edge) -> frozenset[Found]:
        """Take one record and return what it brings about: matches of an insert, retractions of a deletion.

        Raises:
            ValueError: the record is older than the one before it.
        """
        if self._now is not None and edge.ts < self._now:
            message = f"records must come in order: {edge.ts} after {self._now}"
            raise ValueError(message)
        self._now = edge.ts
        now = self._instants.of_record(edge)
        alive = [live for live in self._live if self._instants.is_within(live.instant, now)]
        if edge.operation is Operation.INSERT and any(live.edge.shares_id(edge) for live in alive):
            return frozenset()
        self._live = alive
        self._reported = [match for match in self._reported if set(alive).issuperset(match)]
        if edge.operation is Operation.DELETE:
            return self._delete(edge)
        return self._insert(edge, now)

    def run(self, edges: Iterable[Edge]) -> frozenset[Found]:
        """Push every record and return all that was reported.

        Raises:
            ValueError: the records are not in order.
        """
        found: set[Found] = set()
        for edge in edges:
            found |= self.push(edge)
        return frozenset(found)

    def _insert(self, edge: Edge, now: int) -> frozenset[Found]:
        self._came += 1
        queries = enumerate(self._pattern.edges)
        places = frozenset(place for place, query in queries if fits_alone(self._pattern, query, edge))
        arrived = Live(edge, now, self._came, places)
        self._instants.take()
        self._live.append(arrived)
        new = [
            match
            for position in range(len(self._pattern.edges))
            for match in self._complete((), position, arrived)
            if self._is_match(match)
        ]
        emitted = [match for match in self._distinct(new) if self._once_per_key.emits(edge.ts, self._keys(match))]
        self._reported += emitted
        return self._found(emitted, MatchKind.MATCH, edge.ts)

    def _distinct(self, matches: list[tuple[Live, ...]]) -> list[tuple[Live, ...]]:
        """Return them by their edges in the order of the text; under DISTINCT, of those of the same edges the first."""
        first: dict[frozenset[Live], tuple[Live, ...]] = {}
        ordered = sorted(matches, key=lambda match: [live.number for live in match])
        for match in ordered:
            first.setdefault(frozenset(match), match)
        return list(first.values()) if self._pattern.is_distinct else ordered

    def _keys(self, match: tuple[Live, ...]) -> list[Value]:
        """Return the values that ONE PER distinguishes it by."""
        keys = () if self._pattern.one_per is None else self._pattern.one_per.keys
        edges = [live.edge for live in match]
        of = {query.name: edge for query, edge in zip(self._pattern.edges, edges, strict=True)}
        bound = bind(self._pattern, edges) or {}
        return [evaluate(key, lambda read: look_up(read, of, bound)) for key in keys]

    def _delete(self, deletion: Edge) -> frozenset[Found]:
        # The window was just brought up to date: a reported match that is still here has all its edges in it.
        gone = [match for match in self._reported if any(live.edge.shares_id(deletion) for live in match)]
        self._reported = [match for match in self._reported if match not in gone]
        self._live = [live for live in self._live if not live.edge.shares_id(deletion)]
        return self._found(gone, MatchKind.RETRACT, deletion.ts)

    def _complete(self, chosen: tuple[Live, ...], position: int, arrived: Live) -> Iterator[tuple[Live, ...]]:
        """Yield the assignments that extend `chosen` and put `arrived` at `position`."""
        if len(chosen) == len(self._pattern.edges):
            yield chosen
            return
        place = len(chosen)
        for candidate in [arrived] if place == position else self._live:
            if place not in candidate.places or candidate in chosen or (candidate is arrived and place != position):
                continue
            extended = (*chosen, candidate)
            if self._agree(extended, position, arrived):
                yield from self._complete(extended, position, arrived)

    def _is_match(self, match: tuple[Live, ...]) -> bool:
        edges, instants = [live.edge for live in match], [live.instant for live in match]
        return is_match(self._pattern, edges, instants, self._instants.length)

    def _agree(self, chosen: tuple[Live, ...], position: int, arrived: Live) -> bool:
        """Whether the chosen edges agree about the vertices they share, also with `arrived` where it is to stand."""
        bound = bind(self._pattern, [live.edge for live in chosen])
        query = self._pattern.edges[position]
        return (
            bound is not None
            and bound.get(query.source, arrived.edge.source) == arrived.edge.source
            and bound.get(query.target, arrived.edge.target) == arrived.edge.target
        )

    def _found(self, matches: list[tuple[Live, ...]], kind: MatchKind, at: EventTime) -> frozenset[Found]:
        return frozenset(key(report(self._pattern, [live.edge for live in match], kind, at)) for match in matches)
