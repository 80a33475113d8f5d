"""Routes that look at one pattern: its plan, its figures, its matches."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from graphtide_core.plan import Plan
from graphtide_query.explain import Actual, explain, to_dot, to_json, to_text
from graphtide_runtime.access.callers import READ_MATCHES, READ_PATTERNS
from graphtide_runtime.access.guard import caller_of
from graphtide_runtime.routes import StrictRoute
from graphtide_wire.place import Place, Places
from graphtide_wire.plan_form import plan_of
from pydantic.json_schema import SkipJsonSchema

from graphtide_admin_api.application.following import Following, FollowingAll
from graphtide_admin_api.application.matches import Wanted, older
from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.domain.registration import read
from graphtide_admin_api.domain.standing import Standing
from graphtide_admin_api.entrypoints.events import EventsResponse, EventStreams
from graphtide_admin_api.entrypoints.forms import (
    CursorQuery,
    MatchesOut,
    MatchOut,
    PatternStatistics,
    TicketOut,
    Ticks,
    begin_of,
    figures_of,
)
from graphtide_admin_api.entrypoints.parts import Parts

LastEventId = Annotated[str | SkipJsonSchema[None], Header(description="Id of the last event that was seen.")]
AfterQuery = Annotated[
    str | SkipJsonSchema[None], Query(description="The same, for whoever can send no header.", examples=["0-17"])
]
LastQuery = Annotated[int, Query(ge=0, le=1_000, description="Matches reported before that come first.")]
TicketQuery = Annotated[str | SkipJsonSchema[None], Query(description="A ticket, for whoever can send no header.")]

_EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events, for as long as anybody reads.",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'id: 0-17\nevent: match\ndata: {"match_id":"4232d89a","query":"p","kind":"match"}\n\n',
            }
        },
    }
}
_TYPES = {"json": "application/json", "text": "text/plain; charset=utf-8", "dot": "text/vnd.graphviz"}


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    everything = APIRouter(prefix="/api/v1", route_class=StrictRoute)
    routes = APIRouter(prefix="/patterns/{name}", tags=["patterns"], route_class=StrictRoute)
    reads, sees = [Depends(parts.requires(READ_PATTERNS))], [Depends(parts.requires(READ_MATCHES))]
    bounds = parts.bounds
    streams = EventStreams(bounds.most_event_streams, bounds.most_event_streams_a_caller, bounds.heartbeat_seconds)

    @routes.get("/plan", dependencies=reads, response_class=Response)
    def plan(name: str, format: Literal["json", "text", "dot"] = "json") -> Response:
        """Explain the plan that was published last: its steps with their estimates, and what its host has counted."""
        _, standing = parts.patterns.get(name)
        return Response(_explained(name, standing, format), media_type=_TYPES[format])

    @routes.get("/statistics", dependencies=reads)
    def statistics(name: str) -> PatternStatistics:
        """Return what the pattern's host has counted, and how far it is behind its stream."""
        record, standing = parts.patterns.get(name)
        figures = figures_of(standing)
        behind = None
        if figures is not None and figures.position is not None:
            behind = parts.streams.edges_from(record.stream, figures.position)
        return PatternStatistics(state=standing.state, reason=standing.reason, figures=figures, behind=behind)

    @routes.get("/matches", dependencies=sees)
    def matches(
        name: str,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
        cursor: CursorQuery = None,
        since: Annotated[
            Ticks | SkipJsonSchema[None], Query(alias="from", description="Detected at this time or later.")
        ] = None,
        until: Annotated[Ticks | SkipJsonSchema[None], Query(alias="to", description="Detected before this time.")] = None,
    ) -> MatchesOut:
        """Return matches and retractions, the newest first; of all versions of the pattern. Times are ticks of the stream."""
        parts.patterns.get(name)
        begin = begin_of(cursor)
        if begin is None and since is None and until is None:
            page = parts.recent.page(name, limit)
        else:
            page = older(parts.log, parts.topics.matches, Wanted(name, since, until), begin, limit)
        return MatchesOut(
            matches=[MatchOut(place=str(each.place), match=msgspec.json.decode(each.body)) for each in page.found],
            next=None if page.following is None else str(page.following),
        )

    @routes.get("/matches:stream", dependencies=sees, response_class=StreamingResponse, responses=_EVENTS)
    def follow_matches(
        name: str,
        last_event_id: LastEventId = None,
        after: AfterQuery = None,
        last: LastQuery = 0,
        ticket: TicketQuery = None,  # noqa: ARG001 - looked at before anything else
    ) -> EventsResponse:
        """Send matches and retractions as they are reported, as server-sent events; ids are `partition-offset`.

        With Last-Event-ID, or `after`, it goes on after that event. Without one it begins with the last matches, if some are
        asked for, and goes on with what is reported from then on.
        """
        parts.patterns.get(name)
        seen = last_event_id or after
        try:
            begin = Place.of(seen) if seen else parts.recent.before_newest(name, last)
        except ValueError as error:
            raise ProblemError(400, "bad-event-id", str(error)) from error
        return EventsResponse(streams, Following(parts.log, parts.topics.matches, parts.recent, name, begin))

    @everything.get("/matches:stream", tags=["matches"], dependencies=sees, response_class=StreamingResponse, responses=_EVENTS)
    def follow_all_matches(
        last_event_id: LastEventId = None,
        after: AfterQuery = None,
        last: LastQuery = 0,
        ticket: TicketQuery = None,  # noqa: ARG001 - looked at before anything else
    ) -> EventsResponse:
        """Send matches and retractions of all patterns, as those of one are sent; `query` in a record names its pattern.

        An id is a place in each partition of the topic of matches, with dots between them: `0-17` where there is one.
        """
        seen = last_event_id or after
        try:
            begin = Places.of(seen) if seen else parts.recent.last_of_all(last)
        except ValueError as error:
            raise ProblemError(400, "bad-event-id", str(error)) from error
        return EventsResponse(streams, FollowingAll(parts.log, parts.topics.matches, parts.recent, begin))

    @everything.post("/tickets", tags=["matches"], status_code=201, dependencies=sees)
    def make_ticket(request: Request, response: Response) -> TicketOut:
        """Make a ticket with which a browser may follow matches: `?ticket=` in place of a header, for a minute."""
        caller = caller_of(request.scope)
        if caller is None:
            raise ProblemError(401, "unauthenticated", "nobody knows for whom the ticket would be")
        response.headers["Cache-Control"] = "no-store"
        ticket, end = parts.tickets.new(caller)
        return TicketOut(ticket=ticket, expires_at=end)

    everything.include_router(routes)
    return everything


def _explained(name: str, standing: Standing, format: str) -> str:
    if standing.plan is None:
        raise ProblemError(404, "no-plan", f"pattern {name!r} has no plan: it is {standing.state}")
    pattern = read(standing.plan.pattern.text)
    status = standing.status
    counts = (
        {"matches": status.matches, "partial_matches": status.partial_matches, "state_bytes": status.state_bytes}
        if status is not None
        else {}
    )
    actuals = {item.name: Actual(item.peak, item.created, item.alive) for item in status.items} if status is not None else {}
    explanation = explain(Plan(pattern, *plan_of(standing.plan.plan)), actuals, counts=counts)
    if format == "json":
        (only,) = msgspec.json.decode(to_json([explanation]))
        return msgspec.json.encode(only).decode()
    return {"text": to_text, "dot": to_dot}[format]([explanation])
