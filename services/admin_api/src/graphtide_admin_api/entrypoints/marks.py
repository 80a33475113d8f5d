"""Routes of what people say of matches: acknowledgements, and mutes of alerts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Request, Response
from graphtide_serving.access.guard import forbidden, known_caller, require
from graphtide_serving.access.rights import READ_MATCHES, WRITE_MATCHES
from graphtide_serving.routes import JsonRoute
from graphtide_wire.bodies import TIME
from graphtide_wire.bodies.matches import Acknowledgement
from graphtide_wire.mutes import MOST_REASON, MuteRecord
from pydantic import AwareDatetime, BaseModel, Field

from graphtide_admin_api.application.marks import no_mute
from graphtide_admin_api.entrypoints.forms import Strict, like
from graphtide_admin_api.entrypoints.parts import Parts

_MUTE: Final = {"pattern": "fan_out", "key": {"vertex": "10.0.0.7"}, "until": TIME, "reason": "a backup runs"}
_MADE: Final = {"id": "9f86d081884c7d65", **_MUTE, "created_at": TIME, "created_by": "ann"}

MatchIdPath = Annotated[str, Path(pattern="^[0-9a-f]{1,64}$", description="`match_id` of the match record.")]
_Text = Annotated[str, Field(max_length=MOST_REASON)]
_Name = Annotated[str, Field(min_length=1, max_length=1_000)]


class NoteIn(Strict):
    """A note on a match; who writes it and when follow from the request."""

    model_config = like({"note": "a test of ours"})

    note: _Text = ""


class MuteKeyIn(Strict):
    """What muted matches have in common."""

    vertex: _Name


class MuteIn(Strict):
    """A mute of alerts: of a pattern or, with null, of all; of matches that bind a vertex or, with null, of all."""

    model_config = like(_MUTE)

    pattern: _Name | None = None
    key: MuteKeyIn | None = None
    until: Annotated[AwareDatetime, Field(strict=False, description="RFC 3339; null is for ever.")] | None = None
    reason: _Text = ""


class MuteKeyOut(BaseModel):
    """What muted matches have in common."""

    vertex: str


class MuteOut(BaseModel):
    """A mute: muted matches are reported and listed as ever, and nobody is alerted of them."""

    model_config = like(_MADE)

    id: str
    pattern: str | None
    key: MuteKeyOut | None
    until: datetime | None
    reason: str
    created_at: datetime
    created_by: str

    @classmethod
    def of(cls, mute: MuteRecord) -> MuteOut:
        """Return what is shown of a mute."""
        return cls(
            id=mute.id,
            pattern=mute.pattern,
            key=None if mute.key is None else MuteKeyOut(vertex=mute.key.vertex),
            until=mute.until,
            reason=mute.reason,
            created_at=mute.created_at,
            created_by=mute.created_by,
        )


class MutesOut(BaseModel):
    """The mutes that hold, the newest first."""

    mutes: list[MuteOut]


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["matches"], route_class=JsonRoute)
    rights = parts.rights
    reads, writes = [Depends(rights.some(READ_MATCHES))], [Depends(rights.some(WRITE_MATCHES))]
    marks = [Depends(rights.of_pattern(WRITE_MATCHES))]

    def may(request: Request, scope: str, mute: MuteRecord) -> bool:
        """Whether a caller has a scope of the pattern of a mute, or of everything if it is of all."""
        caller = known_caller(request)
        return caller.may(scope) if mute.pattern is None else rights.may(caller, scope, mute.pattern)

    @routes.put("/patterns/{name}/matches/{match_id}/acknowledgement", dependencies=marks)
    def acknowledge_match(name: str, match_id: MatchIdPath, given: NoteIn, request: Request) -> Acknowledgement:
        """Acknowledge a match, or replace its note."""
        parts.patterns.get(name)
        found = parts.marks.acknowledge(name, match_id, given.note, _caller(request))
        return Acknowledgement(note=found.note, by=found.by, at=found.at)

    @routes.delete("/patterns/{name}/matches/{match_id}/acknowledgement", status_code=204, dependencies=marks)
    def take_back_acknowledgement(name: str, match_id: MatchIdPath) -> None:
        """Delete the acknowledgement of a match."""
        parts.marks.take_back(name, match_id)

    @routes.get("/mutes", dependencies=reads)
    def list_mutes(request: Request) -> MutesOut:
        """Return the mutes that hold, the newest first: those of the patterns whose matches the caller may read."""
        return MutesOut(mutes=[MuteOut.of(mute) for mute in parts.marks.mutes() if may(request, READ_MATCHES, mute)])

    @routes.post("/mutes", status_code=201, dependencies=writes)
    def make_mute(given: MuteIn, request: Request, response: Response) -> MuteOut:
        """Mute alerts of matches, until a time or for ever."""
        if given.pattern is None:
            require(known_caller(request), WRITE_MATCHES)
        else:
            rights.require(known_caller(request), WRITE_MATCHES, given.pattern)
            parts.patterns.get(given.pattern)
        vertex = None if given.key is None else given.key.vertex
        mute = parts.marks.mute(given.pattern, vertex, given.until, given.reason, _caller(request))
        response.headers["Location"] = f"/api/v1/mutes/{mute.id}"
        return MuteOut.of(mute)

    @routes.get("/mutes/{id}", dependencies=reads)
    def get_mute(id: str, request: Request) -> MuteOut:
        """Return a mute that holds."""
        found = parts.marks.get(id)
        if not may(request, READ_MATCHES, found):
            raise no_mute(id)
        return MuteOut.of(found)

    @routes.delete("/mutes/{id}", status_code=204, dependencies=writes)
    def end_mute(id: str, request: Request) -> None:
        """End a mute."""
        if not may(request, WRITE_MATCHES, found := parts.marks.get(id)):
            # Who may not even see it does not learn that it is there.
            raise forbidden(WRITE_MATCHES, found.pattern) if may(request, READ_MATCHES, found) else no_mute(id)
        parts.marks.end(id)

    return routes


def _caller(request: Request) -> str:
    return known_caller(request).name
