"""What the native matcher tells of a traced pattern, in the pattern's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from graphtide_core.funnel import Funnel, NearMiss, Part, Reason, Step, Store
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.pattern import SubgraphPattern

_Counts = tuple[int, dict[str, int], int]


class _NativeMiss(TypedDict):
    node: str
    edges: list[tuple[int, str, int]]
    vertices: list[tuple[int, str]]
    waits_for: list[int]
    expired_at: int
    searched_at: int | None
    refused: dict[str, int]


class NativeFunnel(TypedDict):
    """A funnel as the extension gives it, with query edges and vertices by position."""

    edges: list[_Counts]
    discarded: list[int]
    steps: list[tuple[str, str, int | None, _Counts]]
    stores: list[tuple[str, int, int, int, int, int, int]]
    misses: list[_NativeMiss]


def funnel(native: NativeFunnel, pattern: SubgraphPattern) -> Funnel:
    """Return a funnel in the names of its pattern."""
    names = [edge.name for edge in pattern.edges]
    return Funnel(
        edges={name: _step(counts) for name, counts in zip(names, native["edges"], strict=True)},
        discarded=dict(zip(names, native["discarded"], strict=True)),
        steps={
            (node, Part(part), None if edge is None else names[edge]): _step(counts)
            for node, part, edge, counts in native["steps"]
        },
        stores={node: Store(*fates) for node, *fates in native["stores"]},
        misses=tuple(_near_miss(miss, pattern) for miss in native["misses"]),
    )


def _step(counts: _Counts) -> Step:
    looked_at, refused, passed = counts
    return Step(looked_at, _reasons(refused), passed)


def _reasons(refused: Mapping[str, int]) -> dict[Reason, int]:
    return {Reason(name): count for name, count in refused.items()}


def _near_miss(native: _NativeMiss, pattern: SubgraphPattern) -> NearMiss:
    searched_at = native["searched_at"]
    return NearMiss(
        node=native["node"],
        edges={pattern.edges[place].name: (EdgeId(found), EventTime(ts)) for place, found, ts in native["edges"]},
        vertices={pattern.vertices[place].name: VertexId(found) for place, found in native["vertices"]},
        waited_for=tuple(pattern.edges[place].name for place in native["waits_for"]),
        expired_at=EventTime(native["expired_at"]),
        searched_at=None if searched_at is None else EventTime(searched_at),
        refused=_reasons(native["refused"]),
    )
