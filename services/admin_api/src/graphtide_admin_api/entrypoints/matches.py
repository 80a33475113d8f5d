"""Routes of matches: pages of them, one with its edges, events as they are reported."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from graphtide_core.message_template import render_message
from graphtide_serving.access.guard import known_caller
from graphtide_serving.access.rights import READ_MATCHES
from graphtide_serving.routes import StrictRoute
from graphtide_wire.bodies.matches import Acknowledgement, MatchesPage, ReportedMatch
from graphtide_wire.control import AnnotationsForm
from graphtide_wire.place import Place, Places
from pydantic.json_schema import SkipJsonSchema

from graphtide_admin_api.application.following import AsListed, Following, FollowingAll, Follows, FollowsMatches, WhileAllowed
from graphtide_admin_api.application.matches import Kept, Wanted, older
from graphtide_admin_api.application.pages import Page
from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.entrypoints.answers import MatchDetails, TicketOut
from graphtide_admin_api.entrypoints.events import BY_TICKET, EventsResponse, EventStreams, TicketQuery
from graphtide_admin_api.entrypoints.parameters import CursorQuery, PlacePath, Ticks, begin_of
from graphtide_admin_api.entrypoints.parts import Parts

LastEventId = Annotated[str | SkipJsonSchema[None], Header(description="Id of the last event that was seen.")]
AfterQuery = Annotated[
    str | SkipJsonSchema[None], Query(description="The same, for clients that can send no header.", examples=["0-17"])
]
LastQuery = Annotated[int, Query(ge=0, le=1_000, description="Matches reported before that come first.")]
ListedQuery = Annotated[
    bool, Query(description="Send each as a list of matches shows it: with its place, marks, severity and message.")
]
Since = Annotated[Ticks | SkipJsonSchema[None], Query(alias="from", description="Detected at this time or later.")]
Until = Annotated[Ticks | SkipJsonSchema[None], Query(alias="to", description="Detected before this time.")]

_EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events, until the client closes the connection.",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'id: 0-17\nevent: match\ndata: {"match_id":"4232d89a","query":"p","kind":"match"}\n\n',
            }
        },
    }
}


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    bounds = parts.bounds
    streams = EventStreams(bounds.most_event_streams, bounds.most_event_streams_a_caller, bounds.heartbeat_seconds)
    routes = APIRouter(prefix="/api/v1", route_class=StrictRoute)
    _add_routes_of_all(routes, parts, streams)
    _add_routes_of_one(routes, parts, streams)
    return routes


def _add_routes_of_all(routes: APIRouter, parts: Parts, streams: EventStreams) -> None:
    """Add the routes of the matches of all patterns that a caller may read."""
    sees = [Depends(parts.rights.some(READ_MATCHES))]

    @routes.get("/matches", tags=["matches"], dependencies=sees)
    def list_all_matches(
        request: Request,
        *,
        pattern: Annotated[str | SkipJsonSchema[None], Query(description="Of this pattern alone.")] = None,
        vertex: Annotated[str | SkipJsonSchema[None], Query(description="That bind this vertex.")] = None,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
        cursor: CursorQuery = None,
        since: Since = None,
        until: Until = None,
    ) -> MatchesPage:
        """Return matches and retractions of all patterns, the newest of each partition of their topic first.

        They are of the patterns whose matches the caller may read. A request searches 20,000 matches, so a page may be short or
        empty although another follows.
        """
        if pattern is not None:
            parts.rights.require(known_caller(request), READ_MATCHES, pattern)
        wanted = Wanted(pattern, since, until, vertex, parts.rights.selected(request, READ_MATCHES))
        return _page(parts, older(parts.log, parts.topics.matches, wanted, begin_of(cursor), limit))

    @routes.get(
        "/matches:stream",
        tags=["matches"],
        dependencies=sees,
        response_class=StreamingResponse,
        responses=_EVENTS,
        openapi_extra=BY_TICKET,
    )
    def follow_all_matches(
        request: Request,
        last_event_id: LastEventId = None,
        after: AfterQuery = None,
        last: LastQuery = 0,
        *,
        listed: ListedQuery = False,
        ticket: TicketQuery = None,  # noqa: ARG001 - looked at before anything else
    ) -> EventsResponse:
        """Send matches and retractions of all patterns, as those of one are sent; `query` in a record names its pattern.

        They are of the patterns whose matches the caller may read.
        An id is a place in each partition of the topic of matches, with dots between them: `0-17` where there is one.
        """
        seen = last_event_id or after
        try:
            begin = Places.of(seen) if seen else parts.recent.last_of_all(last)
        except ValueError as error:
            raise ProblemError(400, "bad-event-id", str(error)) from error
        may_read = parts.rights.selected(request, READ_MATCHES)
        following = FollowingAll(parts.log, parts.topics.matches, parts.recent, begin, may_read)
        return EventsResponse(streams, _as_listed(parts, following) if listed else following)

    @routes.post("/tickets", tags=["matches"], status_code=201, dependencies=sees)
    def make_ticket(request: Request, response: Response) -> TicketOut:
        """Make a ticket for a browser that follows matches: `?ticket=` in place of a header, for a minute."""
        response.headers["Cache-Control"] = "no-store"
        ticket, end = parts.tickets.new(known_caller(request))
        return TicketOut(ticket=ticket, expires_at=end)


def _add_routes_of_one(everything: APIRouter, parts: Parts, streams: EventStreams) -> None:
    """Add the routes of the matches of one pattern."""
    routes = APIRouter(prefix="/patterns/{name}", tags=["matches"], route_class=StrictRoute)
    sees = [Depends(parts.rights.of_pattern(READ_MATCHES))]

    @routes.get("/matches", dependencies=sees)
    def list_matches(
        name: str,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
        cursor: CursorQuery = None,
        since: Since = None,
        until: Until = None,
    ) -> MatchesPage:
        """Return matches and retractions, the newest first; of all versions of the pattern. Times are ticks of the stream."""
        parts.patterns.get(name)
        begin = begin_of(cursor)
        if begin is None and since is None and until is None:
            page = parts.recent.page(name, limit)
        else:
            page = older(parts.log, parts.topics.matches, Wanted(name, since, until), begin, limit)
        return _page(parts, page)

    @routes.get("/matches/{place}", dependencies=sees)
    def get_match(name: str, place: PlacePath) -> MatchDetails:
        """Return the match at a place, `partition-offset`, with its edges: all that it takes to draw it."""
        record, _ = parts.patterns.get(name)
        try:
            at = Place.of(place)
            found = parts.edges.match(record.ordered_streams, name, at)
        except ValueError as error:
            raise ProblemError(400, "bad-place", str(error)) from error
        if found is None:
            raise ProblemError(404, "not-found", f"pattern {name!r} has no match at {place}")
        return MatchDetails.of(_show_match(parts, Kept(at, found.body, name)), found)

    @routes.get(
        "/matches:stream", dependencies=sees, response_class=StreamingResponse, responses=_EVENTS, openapi_extra=BY_TICKET
    )
    def follow_matches(
        request: Request,
        name: str,
        *,
        last_event_id: LastEventId = None,
        after: AfterQuery = None,
        last: LastQuery = 0,
        listed: ListedQuery = False,
        ticket: TicketQuery = None,  # noqa: ARG001 - looked at before anything else
    ) -> EventsResponse:
        """Send matches and retractions as they are reported, as server-sent events; ids are `partition-offset`.

        With Last-Event-ID, or `after`, it continues after that event. Without one it begins with the last matches, if some are
        asked for, and continues with what is reported from then on.
        """
        parts.patterns.get(name)
        seen = last_event_id or after
        try:
            begin = Place.of(seen) if seen else parts.recent.before_newest(name, last)
        except ValueError as error:
            raise ProblemError(400, "bad-event-id", str(error)) from error
        matches = Following(parts.log, parts.topics.matches, parts.recent, name, begin)
        following: Follows = _as_listed(parts, matches) if listed else matches
        may_read = parts.rights.selected(request, READ_MATCHES)
        if may_read is not None:
            following = WhileAllowed(following, lambda: may_read(name))
        return EventsResponse(streams, following)

    everything.include_router(routes)


def _page(parts: Parts, page: Page[Kept]) -> MatchesPage:
    return MatchesPage(
        matches=[_show_match(parts, each) for each in page.found],
        next=None if page.following is None else str(page.following),
    )


def _as_listed(parts: Parts, following: FollowsMatches) -> AsListed:
    return AsListed(following, lambda kept: msgspec.json.encode(_show_match(parts, kept)))


def _show_match(parts: Parts, kept: Kept) -> ReportedMatch:
    """Return a match with what people said of it, and what its pattern says."""
    match = msgspec.json.decode(kept.body)
    found, muted = parts.marks.of_match(kept.pattern, match["match_id"], kept.body)
    pattern = parts.view.pattern(kept.pattern)
    said = AnnotationsForm() if pattern is None or pattern.annotations is msgspec.UNSET else pattern.annotations
    return ReportedMatch(
        place=str(kept.place),
        match=match,
        acknowledgement=None if found is None else Acknowledgement(note=found.note, by=found.by, at=found.at),
        muted=muted,
        severity=said.severity,
        message=None if said.message is None else render_message(said.message, match),
    )
