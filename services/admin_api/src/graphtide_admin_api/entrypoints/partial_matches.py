"""Routes of partial matches: the nearest ones of a pattern, and those that come close as events."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse
from graphtide_query.families import family_of
from graphtide_serving.access.rights import READ_MATCHES
from graphtide_serving.routes import StrictRoute
from graphtide_wire.bodies.partial_matches import PartialMatchesPage
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from graphtide_admin_api.application.following import Follows, WhileAllowed
from graphtide_admin_api.application.partial_matches import Approaching, PartialMatchFilter
from graphtide_admin_api.domain.registration import read
from graphtide_admin_api.entrypoints.events import BY_TICKET, EventsResponse, EventStreams, TicketQuery
from graphtide_admin_api.entrypoints.parts import Parts

_LARGEST_PATTERN: Final = 64

VertexQuery = Annotated[str | SkipJsonSchema[None], Query(description="A data vertex that they bind.", max_length=10_000)]
Steps = Annotated[int, Field(ge=1, le=_LARGEST_PATTERN)]
MinStepsQuery = Annotated[Steps, Query(description="Query edges that they bind at least.")]
CloseQuery = Annotated[
    Steps | SkipJsonSchema[None],
    Query(description="Query edges that they bind at least; all but one by default."),
]
LimitQuery = Annotated[int, Query(ge=1, le=1_000)]

_EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events, until the client closes the connection.",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'id: 1\nevent: partial-match\ndata: {"edges":{"x":{"id":"e1","ts":1}},"awaited":["y"]}\n\n',
            }
        },
    }
}


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1/patterns/{name}", tags=["matches"], route_class=StrictRoute)
    sees = [Depends(parts.rights.of_pattern(READ_MATCHES))]
    bounds = parts.bounds
    streams = EventStreams(bounds.most_event_streams, bounds.most_event_streams_a_caller, bounds.heartbeat_seconds)

    @routes.get("/partial-matches", dependencies=sees)
    def list_partial_matches(
        name: str, vertex: VertexQuery = None, min_steps: MinStepsQuery = 1, limit: LimitQuery = 100
    ) -> PartialMatchesPage:
        """Return the partial matches nearest to completion, and how many there are by step of the plan.

        Hosts publish them every few seconds, for a while. Where a pattern has more, the nearest are shown.
        """
        parts.patterns.get(name)
        return parts.partial_matches.of(name, PartialMatchFilter(vertex, min_steps, limit))

    @routes.get(
        "/partial-matches:stream",
        dependencies=sees,
        response_class=StreamingResponse,
        responses=_EVENTS,
        openapi_extra=BY_TICKET,
    )
    def follow_partial_matches(
        request: Request,
        name: str,
        vertex: VertexQuery = None,
        min_steps: CloseQuery = None,
        ticket: TicketQuery = None,  # noqa: ARG001 - looked at before anything else
    ) -> EventsResponse:
        """Send partial matches as they come close to completion, as server-sent events, each once.

        Those that come and go between two views of the pattern's host are not seen. Ids count the events of this stream.
        """
        record, _ = parts.patterns.get(name)
        pattern = read(record.text)
        edges = len(family_of(pattern).layout(pattern).edges)
        wanted = PartialMatchFilter(vertex, min_steps if min_steps is not None else max(1, edges - 1), most=1_000)
        parts.partial_matches.of(name, wanted)
        following: Follows = Approaching(parts.partial_matches, name, wanted)
        may_read = parts.rights.selected(request, READ_MATCHES)
        if may_read is not None:
            following = WhileAllowed(following, lambda: may_read(name))
        return EventsResponse(streams, following, "partial-match")

    return routes
