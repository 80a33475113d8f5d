"""One snapshot of two parts of a stream: two windows that follow each other, or two partitions of one window.

The parts have no edge in common. Merging has the empty snapshot as its neutral element and does not depend on order or
grouping.

It gives exactly: edges, their types, their times, the sums of degrees. It cannot know which vertices the parts have in common.
2-edge paths of one edge here and one there are lost, so `paths`, the squares and the greatest degree are lower bounds. A vertex
of both parts counts twice, so the numbers of vertices are upper bounds. For parts without a common vertex all of it is exact.
The rate is that of the whole stretch from the earlier start to the later end, gaps included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from graphtide_core.statistics.snapshot import DegreeMoments, StatisticsSnapshot, TimeRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.statistics.kinds import PathType
    from graphtide_core.time import EventTime

_Kind = TypeVar("_Kind")


def merge(a: StatisticsSnapshot, b: StatisticsSnapshot) -> StatisticsSnapshot:
    """Return the statistics of both parts together; the version is the later one. Complexity: O(types + paths)."""
    return StatisticsSnapshot(
        version=max(a.version, b.version),
        window=_hull(a.window, b.window),
        first_ts=_least(a.first_ts, b.first_ts),
        last_ts=_greatest(a.last_ts, b.last_ts),
        edges=a.edges + b.edges,
        vertices=a.vertices + b.vertices,
        types=_add(a.types, b.types),
        paths=_paths(a, b),
        out_degrees=_moments(a.out_degrees, b.out_degrees),
        in_degrees=_moments(a.in_degrees, b.in_degrees),
    )


def _paths(a: StatisticsSnapshot, b: StatisticsSnapshot) -> Mapping[PathType, int] | None:
    """Unknown if they are of a part that has edges, or of both."""
    if any(part.paths is None and part.edges for part in (a, b)) or (a.paths is None and b.paths is None):
        return None
    return _add(a.paths or {}, b.paths or {})


def _add(a: Mapping[_Kind, int], b: Mapping[_Kind, int]) -> dict[_Kind, int]:
    counts = dict(a)
    for kind, count in b.items():
        counts[kind] = counts.get(kind, 0) + count
    return counts


def _moments(a: DegreeMoments, b: DegreeMoments) -> DegreeMoments:
    return DegreeMoments(a.vertices + b.vertices, a.total + b.total, a.squares + b.squares, max(a.most, b.most))


def _hull(a: TimeRange | None, b: TimeRange | None) -> TimeRange | None:
    if a is None or b is None:
        return a or b
    return TimeRange(min(a.start, b.start), max(a.end, b.end))


def _least(a: EventTime | None, b: EventTime | None) -> EventTime | None:
    return min((ts for ts in (a, b) if ts is not None), default=None)


def _greatest(a: EventTime | None, b: EventTime | None) -> EventTime | None:
    return max((ts for ts in (a, b) if ts is not None), default=None)
