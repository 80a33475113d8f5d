"""HTTP bodies of the partial matches of a pattern."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - msgspec reads annotations while the program runs
from typing import Annotated, Any, ClassVar, Final

from msgspec import Meta

from graphtide_wire.bodies import TIME, Body

_STEP: Final[dict[str, Any]] = {"name": "L1.1", "edges": ["x"], "alive": 12}
_PART: Final[dict[str, Any]] = {
    "part": "matcher_timing.0/flows",
    "version": 1,
    "at": TIME,
    "time": 1704067201000,
    "position": 17,
    "stored": True,
    "truncated": False,
    "steps": [_STEP],
}
_PARTIAL_MATCH: Final[dict[str, Any]] = {
    "part": "matcher_timing.0/flows",
    "edges": {"x": {"id": "e1", "ts": 1704067200000}},
    "vertices": {"a": "10.0.0.7", "b": "203.0.113.1"},
    "awaited": ["y"],
    "until": 1704067210000,
}


class StepCount(Body, frozen=True, kw_only=True):
    """What a step of the plan stores: how many partial matches, and the query edges that they bind.

    `edges` is empty if the step stores something else.
    """

    examples: ClassVar[tuple[dict[str, Any], ...]] = (_STEP,)

    name: str
    edges: tuple[str, ...]
    alive: int


class PartView(Body, frozen=True, kw_only=True):
    """What one host last said of the pattern on one stream.

    `position` is the offset of the ordered record that it takes next, `time` that of the stream in ticks. If the engine stores
    no partial matches, `stored` is false, and `steps` are the sizes of what it holds instead. `truncated` says that there may
    be nearer ones.
    """

    schema: ClassVar[str | None] = "PartialMatchesPart"
    examples: ClassVar[tuple[dict[str, Any], ...]] = (_PART,)

    part: str
    version: int
    at: datetime
    time: int | None
    position: int
    stored: bool
    truncated: bool
    steps: tuple[StepCount, ...]


class DataEdge(Body, frozen=True, kw_only=True):
    """A data edge by its id, and its time in ticks."""

    id: str
    ts: int


class PartialMatchView(Body, frozen=True, kw_only=True):
    """A partial match: its edges and vertices by their names in the pattern.

    `awaited` are the query edges that it lacks. `until` is the first tick at which its oldest edge is not in the window; null
    if the window counts edges.
    """

    schema: ClassVar[str | None] = "PartialMatchOut"
    examples: ClassVar[tuple[dict[str, Any], ...]] = (_PARTIAL_MATCH,)

    part: str
    edges: dict[str, DataEdge]
    vertices: dict[str, str]
    awaited: tuple[str, ...]
    until: int | None


class PartialMatchesPage(Body, frozen=True, kw_only=True):
    """The partial matches of a pattern that are nearest to completion, nearest first.

    `parts` is empty if no host has published a view lately.
    """

    schema: ClassVar[str | None] = "PartialMatchesOut"
    examples: ClassVar[tuple[dict[str, Any], ...]] = ({"parts": [_PART], "partial_matches": [_PARTIAL_MATCH]},)

    parts: tuple[PartView, ...]
    partial_matches: Annotated[
        tuple[PartialMatchView, ...],
        Meta(description="those with most edges first, then those whose oldest edge is newest"),
    ]
