"""Read reports on results of streaming graph queries from match records."""

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
    """Return an event's report on a result; the columns of an edge are called `src` and `dst`.

    Raises:
        PoisonRecordError: it is not about a result.
    """
    reported = decode(event.body, _Result, "record of a result")
    if reported.bindings is not None:
        bindings = reported.bindings
    elif reported.src is not None and reported.dst is not None:
        bindings = {"src": reported.src, "dst": reported.dst}
    else:
        reason = "the record of a result has neither src and dst nor bindings"
        raise PoisonRecordError(reason, event.body)
    return IntervalMatch(
        query=PatternName(reported.query),
        version=event.version,
        kind=MatchKind(reported.kind),
        detected_at=EventTime(reported.detected_at),
        first_ts=EventTime(reported.first_ts),
        last_ts=EventTime(reported.last_ts),
        label=reported.label,
        bindings={name: VertexId(vertex) for name, vertex in bindings.items()},
        valid=(EventTime(reported.valid[0]), None if reported.valid[1] is None else EventTime(reported.valid[1])),
        match_id=MatchId(reported.match_id),
        completeness=Completeness(reported.completeness),
        path=None if reported.path is None else tuple(_step(step) for step in reported.path),
        nth=reported.nth,
    )


def _step(step: str | _Step) -> PathStep:
    return EdgeId(step) if isinstance(step, str) else DerivedEdge(step.label, VertexId(step.src), VertexId(step.dst))
