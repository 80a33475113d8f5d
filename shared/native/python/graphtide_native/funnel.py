"""The native trace of a pattern, in the pattern's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from graphtide_core.funnel import Answer, Funnel, Lack, Left, NearMiss, Part, Reason, Step, Store
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.pattern import SubgraphPattern

_Counts = tuple[int, dict[str, int], int]


class _NativeMiss(TypedDict):
    node: str
    edges: list[tuple[int, str, int]]
    vertices: list[tuple[int, str]]
    waits_for: list[int]
    expired_at: int | None
    searched_at: int | None
    refused: dict[str, int]


class _NativeLack(TypedDict):
    edge: int
    reason: str
    vertex: tuple[int, str] | None
    enters: bool
    edges: list[int]
    there: list[str]
    after: int | None


class _NativeAnswer(TypedDict):
    id: str
    ts: int
    refused: list[tuple[int, str]]
    lacks: list[_NativeLack]
    ends: tuple[str, str] | None
    chosen: bool
    matched_at: int | None
    component: str | None
    left_at: int | None
    left: str | None


class NativeFunnel(TypedDict):
    """A funnel as the extension gives it, with query edges and vertices by position."""

    edges: list[_Counts]
    discarded: list[int]
    steps: list[tuple[str, str, int | None, _Counts]]
    stores: list[tuple[str, int, int, int, int, int, int]]
    misses: list[_NativeMiss]
    answers: list[_NativeAnswer]


def funnel(native: NativeFunnel, pattern: SubgraphPattern, asked: Sequence[str] = ()) -> Funnel:
    """Return a funnel in the names of its pattern; `asked` are the ids that were asked about."""
    known = {answer["id"] for answer in native["answers"]}
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
        answers=tuple(_answer(answer, pattern) for answer in native["answers"]),
        # Under a mapping, near misses are reported instead of single edges.
        unknown=() if pattern.morphism.is_mapping else tuple(EdgeId(name) for name in asked if name not in known),
    )


def _step(counts: _Counts) -> Step:
    looked_at, refused, passed = counts
    return Step(looked_at, _reasons(refused), passed)


def _reasons(refused: Mapping[str, int]) -> dict[Reason, int]:
    return {Reason(name): count for name, count in refused.items()}


def _near_miss(native: _NativeMiss, pattern: SubgraphPattern) -> NearMiss:
    return NearMiss(
        node=native["node"],
        edges={pattern.edges[place].name: (EdgeId(found), EventTime(ts)) for place, found, ts in native["edges"]},
        vertices={pattern.vertices[place].name: VertexId(found) for place, found in native["vertices"]},
        waited_for=tuple(pattern.edges[place].name for place in native["waits_for"]),
        expired_at=_time(native["expired_at"]),
        searched_at=_time(native["searched_at"]),
        refused=_reasons(native["refused"]),
    )


def _answer(native: _NativeAnswer, pattern: SubgraphPattern) -> Answer:
    names = [edge.name for edge in pattern.edges]
    ends, component, left, left_at = native["ends"], native["component"], native["left"], native["left_at"]
    return Answer(
        id=EdgeId(native["id"]),
        ts=EventTime(native["ts"]),
        ends=None if ends is None else (VertexId(ends[0]), VertexId(ends[1])),
        is_asked=not native["chosen"],
        refused={names[place]: Reason(reason) for place, reason in native["refused"]},
        matched_at=_time(native["matched_at"]),
        component=None if component is None else EdgeId(component),
        lacks={names[lack["edge"]]: _lack(lack, pattern) for lack in native["lacks"]},
        left=None if left is None or left_at is None else (Left(left), EventTime(left_at)),
    )


def _lack(native: _NativeLack, pattern: SubgraphPattern) -> Lack:
    vertex = native["vertex"]
    return Lack(
        reason=Reason(native["reason"]),
        edges=tuple(pattern.edges[place].name for place in native["edges"]),
        vertex=None if vertex is None else (pattern.vertices[vertex[0]].name, VertexId(vertex[1])),
        enters=native["enters"],
        there=tuple(map(EdgeId, native["there"])),
        after=_time(native["after"]),
    )


def _time(ticks: int | None) -> EventTime | None:
    return None if ticks is None else EventTime(ticks)
