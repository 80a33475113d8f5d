"""What is told of results of streaming graph queries, read from match records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ids import EdgeId, MatchId, PatternName, VertexId
from graphtide_core.match import Completeness, DerivedEdge, IntervalMatch, MatchKind
from graphtide_core.time import EventTime

from graphtide_wire.json_form import Int64, decode

if TYPE_CHECKING:
    from graphtide_core.match import PathStep

    from graphtide_wire.matches import MatchEvent


class _Step(msgspec.Struct, frozen=True):
    """An edge that the query derives."""

    label: str
    src: str
    dst: str


class _Result(msgspec.Struct, frozen=True):
    """A match record of a graph query; `src` and `dst` of an edge, else `bindings`."""

    match_id: str
    query: str
    kind: Literal["match", "extend", "retract"]
    detected_at: Int64
    first_ts: Int64
    last_ts: Int64
    label: str
    valid: tuple[Int64, Int64 | None]
    src: str | None = None
    dst: str | None = None
    bindings: dict[str, str] | None = None
    path: tuple[str | _Step, ...] | None = None
    completeness: Literal["EXACT", "SHED"] = "EXACT"
    nth: Int64 = 0


def result_of(event: MatchEvent) -> IntervalMatch:
    """Return what an event tells of a result; the columns of an edge are called `src` and `dst`.

    Raises:
        PoisonRecordError: it tells of something else.
    """
    told = decode(event.body, _Result, "record of a result")
    if told.bindings is not None:
        bindings = told.bindings
    elif told.src is not None and told.dst is not None:
        bindings = {"src": told.src, "dst": told.dst}
    else:
        reason = "the record of a result has neither src and dst nor bindings"
        raise PoisonRecordError(reason, event.body)
    return IntervalMatch(
        query=PatternName(told.query),
        version=event.version,
        kind=MatchKind(told.kind),
        detected_at=EventTime(told.detected_at),
        first_ts=EventTime(told.first_ts),
        last_ts=EventTime(told.last_ts),
        label=told.label,
        bindings={name: VertexId(vertex) for name, vertex in bindings.items()},
        valid=(EventTime(told.valid[0]), None if told.valid[1] is None else EventTime(told.valid[1])),
        match_id=MatchId(told.match_id),
        completeness=Completeness(told.completeness),
        path=None if told.path is None else tuple(_step(step) for step in told.path),
        nth=told.nth,
    )


def _step(step: str | _Step) -> PathStep:
    return EdgeId(step) if isinstance(step, str) else DerivedEdge(step.label, VertexId(step.src), VertexId(step.dst))
