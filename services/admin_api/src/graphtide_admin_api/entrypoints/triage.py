"""Routes about what people decide of matches: acknowledgements and mutes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from graphtide_serving.access.callers import READ_MATCHES, WRITE_MATCHES
from graphtide_serving.access.guard import caller_of
from graphtide_serving.routes import JsonRoute
from graphtide_wire.triage import MOST_REASON, AcknowledgementRecord, MuteRecord
from pydantic import AwareDatetime, BaseModel, Field

from graphtide_admin_api.entrypoints.forms import Strict, like
from graphtide_admin_api.entrypoints.parts import Parts

_Name = Annotated[str, Field(min_length=1, max_length=1_000)]
_Reason = Annotated[str, Field(max_length=MOST_REASON)]


class MuteKey(Strict):
    """What a mute is about: matches that bind this vertex."""

    vertex: _Name


class MuteIn(Strict):
    """Matches to mute: of a pattern, of a vertex, or of both; null is any. Without `until` it holds until somebody ends it."""

    model_config = like({"pattern": "exfiltration", "key": {"vertex": "10.0.0.7"}, "until": None, "reason": "a backup"})

    pattern: _Name | None = None
    key: MuteKey | None = None
    until: Annotated[AwareDatetime | None, Field(strict=False)] = None
    reason: _Reason = ""


class MuteOut(BaseModel):
    """A mute that holds."""

    id: str
    pattern: str | None
    key: MuteKey | None
    until: datetime | None
    reason: str
    created_by: str
    created_at: datetime

    @classmethod
    def of(cls, record: MuteRecord) -> MuteOut:
        """Return what a record says."""
        return cls(
            id=record.id,
            pattern=record.pattern,
            key=None if record.vertex is None else MuteKey(vertex=record.vertex),
            until=record.until,
            reason=record.reason,
            created_by=record.created_by,
            created_at=record.created_at,
        )


class MutesOut(BaseModel):
    """The mutes that hold, the newest first."""

    mutes: list[MuteOut]


class AcknowledgementIn(Strict):
    """What somebody found of a match."""

    model_config = like({"note": "a planned transfer"})

    note: _Reason = ""


class AcknowledgementOut(BaseModel):
    """That somebody looked at a match."""

    pattern: str
    match_id: str
    note: str
    created_by: str
    created_at: datetime

    @classmethod
    def of(cls, record: AcknowledgementRecord) -> AcknowledgementOut:
        """Return what a record says."""
        return cls(
            pattern=record.pattern,
            match_id=record.match_id,
            note=record.note,
            created_by=record.created_by,
            created_at=record.created_at,
        )


class AcknowledgementsOut(BaseModel):
    """The newest acknowledgements, the newest first."""

    acknowledgements: list[AcknowledgementOut]


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["matches"], route_class=JsonRoute)
    reads = [Depends(parts.requires(READ_MATCHES))]
    writes = [Depends(parts.requires(WRITE_MATCHES))]
    one = "/patterns/{name}/matches/{match_id}/acknowledgement"

    @routes.get("/acknowledgements", dependencies=reads)
    def list_acknowledgements(limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000) -> AcknowledgementsOut:
        """Return the newest acknowledgements of matches."""
        found = parts.triage.acknowledgements(limit)
        return AcknowledgementsOut(acknowledgements=[AcknowledgementOut.of(each) for each in found])

    @routes.put(one, dependencies=writes)
    def acknowledge_match(name: str, match_id: str, given: AcknowledgementIn, request: Request) -> AcknowledgementOut:
        """Say that somebody looked at a match; the match itself stays as it is."""
        parts.patterns.get(name)
        return AcknowledgementOut.of(parts.triage.acknowledge(name, match_id, given.note, _name_of(request)))

    @routes.delete(one, status_code=204, dependencies=writes)
    def take_acknowledgement_back(name: str, match_id: str) -> None:
        """Take an acknowledgement back."""
        parts.triage.take_back(name, match_id)

    @routes.get("/mutes", dependencies=reads)
    def list_mutes() -> MutesOut:
        """Return the mutes that hold."""
        return MutesOut(mutes=[MuteOut.of(each) for each in parts.triage.mutes()])

    @routes.post("/mutes", status_code=201, dependencies=writes)
    def make_mute(given: MuteIn, request: Request) -> MuteOut:
        """Mute matches: they are found and shown, marked as muted."""
        vertex = None if given.key is None else given.key.vertex
        return MuteOut.of(parts.triage.mute(given.pattern, vertex, given.until, given.reason, _name_of(request)))

    @routes.delete("/mutes/{id}", status_code=204, dependencies=writes)
    def end_mute(id: str) -> None:
        """End a mute."""
        parts.triage.unmute(id)

    return routes


def _name_of(request: Request) -> str:
    caller = caller_of(request.scope)
    return "" if caller is None else caller.name
