"""A second opinion on the isomorphism family: all reports of a finished stream, from every permutation of its inserts.

Shares with the oracle the check of a complete assignment, and neither its window, its search nor its bookkeeping. Here a record
has a lifetime in the finished stream, and a match is a question about lifetimes. Cost: O(records ^ edges); for tiny streams.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING

from graphtide_core.edge import Operation
from graphtide_core.match import MatchKind
from graphtide_core.time import TimeUnit
from graphtide_core.window import EdgeCount

from graphtide_testing.found import Found, key
from graphtide_testing.oracles.conditions import is_match, report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.edge import Edge
    from graphtide_core.pattern import SubgraphPattern


@dataclass(frozen=True, slots=True)
class _Lifetime:
    """An insert that counts, from its position in the stream to that of its deletion (the stream's length: never).

    `instant` is its time, or under a window of edges how many inserts that count come before it.
    """

    edge: Edge
    born: int
    deleted: int
    instant: int


def from_scratch(pattern: SubgraphPattern, edges: Sequence[Edge], unit: TimeUnit = TimeUnit.MILLISECOND) -> frozenset[Found]:
    """Return every match and retraction of the stream `edges`, which is in the order of (ts, arrival)."""
    counts = isinstance(pattern.window, EdgeCount)
    window = Fraction(pattern.window.edges) if isinstance(pattern.window, EdgeCount) else pattern.window.ticks(unit)
    lifetimes = _lifetimes(edges, window, counts=counts)
    found: set[Found] = set()
    for images in permutations(lifetimes, len(pattern.edges)):
        records, instants = [image.edge for image in images], [image.instant for image in images]
        last = max(image.born for image in images)
        deleted = min(image.deleted for image in images)
        if deleted < last or not is_match(pattern, records, instants, window):
            continue
        found.add(key(report(pattern, records, MatchKind.MATCH, edges[last].ts)))
        now = sum(one.born < deleted for one in lifetimes) - 1 if counts else edges[min(deleted, len(edges) - 1)].ts
        if deleted < len(edges) and all(now - instant < window for instant in instants):
            found.add(key(report(pattern, records, MatchKind.RETRACT, edges[deleted].ts)))
    return frozenset(found)


def _lifetimes(edges: Sequence[Edge], window: Fraction, *, counts: bool) -> list[_Lifetime]:
    """Leave out duplicates: inserts whose id is that of an insert still in the window and not deleted."""
    lifetimes: list[_Lifetime] = []
    for born, edge in enumerate(edges):
        if edge.operation is Operation.DELETE:
            continue
        earlier = [one for one in lifetimes if one.edge.shares_id(edge)]
        now = len(lifetimes) if counts else edge.ts
        if not any(one.deleted > born and now - one.instant < window for one in earlier):
            lifetimes.append(_Lifetime(edge, born, _deletion(edges, born, edge), now))
    return lifetimes


def _deletion(edges: Sequence[Edge], born: int, edge: Edge) -> int:
    later = (at for at in range(born + 1, len(edges)) if _deletes(edges[at], edge))
    return next(later, len(edges))


def _deletes(record: Edge, edge: Edge) -> bool:
    return record.operation is Operation.DELETE and record.shares_id(edge)
