"""A second opinion on the isomorphism family: all reports of a finished stream, from every permutation of its inserts.

Shares with the oracle the check of a complete assignment, and neither its window, its search nor its bookkeeping: here a record
has a lifetime in the finished stream, and a match is a question about lifetimes. Cost: O(records ^ edges); for tiny streams.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

from graphtide_core.edge import Operation
from graphtide_core.match import MatchKind
from graphtide_core.time import TimeUnit

from graphtide_testing.found import Found, key
from graphtide_testing.oracles.conditions import is_match, report

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from graphtide_core.edge import Edge
    from graphtide_core.pattern import SubgraphPattern


@dataclass(frozen=True, slots=True)
class _Lifetime:
    """An insert that counts, from its position in the stream to that of its deletion (the stream's length: never)."""

    edge: Edge
    born: int
    deleted: int


def from_scratch(pattern: SubgraphPattern, edges: Sequence[Edge], unit: TimeUnit = TimeUnit.MILLISECOND) -> frozenset[Found]:
    """Return every match and retraction of the stream `edges`, which is in the order of (ts, arrival)."""
    window = pattern.window.ticks(unit)
    found: set[Found] = set()
    for images in permutations(_lifetimes(edges, window), len(pattern.edges)):
        records = [image.edge for image in images]
        last = max(image.born for image in images)
        deleted = min(image.deleted for image in images)
        if deleted < last or not is_match(pattern, records, window):
            continue
        found.add(key(report(pattern, records, MatchKind.MATCH, edges[last].ts)))
        if deleted < len(edges) and all(edge.ts > edges[deleted].ts - window for edge in records):
            found.add(key(report(pattern, records, MatchKind.RETRACT, edges[deleted].ts)))
    return frozenset(found)


def _lifetimes(edges: Sequence[Edge], window: Fraction) -> list[_Lifetime]:
    """Leave out duplicates: inserts whose id is that of an insert still in the window and not deleted."""
    lifetimes: list[_Lifetime] = []
    for born, edge in enumerate(edges):
        if edge.operation is Operation.DELETE:
            continue
        earlier = [one for one in lifetimes if one.edge.shares_id(edge)]
        if not any(one.deleted > born and one.edge.ts > edge.ts - window for one in earlier):
            lifetimes.append(_Lifetime(edge, born, _deletion(edges, born, edge)))
    return lifetimes


def _deletion(edges: Sequence[Edge], born: int, edge: Edge) -> int:
    later = (at for at in range(born + 1, len(edges)) if _deletes(edges[at], edge))
    return next(later, len(edges))


def _deletes(record: Edge, edge: Edge) -> bool:
    return record.operation is Operation.DELETE and record.shares_id(edge)
