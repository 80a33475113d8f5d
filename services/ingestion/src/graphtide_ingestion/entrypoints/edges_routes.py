"""The routes of edges, of events, and of dead letters that are sent again."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from graphtide_serving.access.rights import WRITE_EDGES
from graphtide_serving.described import describe
from graphtide_serving.http import Authorize
from graphtide_serving.routes import StrictRoute
from graphtide_wire.bodies.sent import SentPage

from graphtide_ingestion.entrypoints.description import (
    DEFAULT_WAIT_SECONDS,
    EDGE,
    EDGES,
    EVENTS,
    PROBLEMS,
    ColumnsQuery,
    PlacePath,
    StreamPath,
    WaitQuery,
    WaitSecondsQuery,
)
from graphtide_ingestion.entrypoints.edges_api import EdgesApi, Wait

_ORDERED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": describe(SentPage), "description": "The edges were put in order; `ordering` says what became of them."}
}
"""The answer to a sender who waited."""


def _wait(wait: WaitQuery = None, wait_seconds: WaitSecondsQuery = DEFAULT_WAIT_SECONDS) -> Wait:
    return Wait.of(wait, wait_seconds)


WaitParameter = Annotated[Wait, Depends(_wait)]
"""How long a sender waits for the ordering of its edges."""


def edges_routes(api: EdgesApi, authorize: Authorize) -> APIRouter:
    """Return the routes of edges and of dead letters that are sent again."""
    writes = [Depends(authorize(WRITE_EDGES))]
    router = APIRouter(prefix="/api/v1", tags=["edges"], dependencies=writes, responses=PROBLEMS, route_class=StrictRoute)

    @router.post(
        "/streams/{stream}/edges",
        status_code=HTTPStatus.ACCEPTED,
        summary="Send edges",
        response_model=describe(SentPage),
        responses=_ORDERED,
        openapi_extra=EDGES,
    )
    async def send_edges(
        stream: StreamPath,
        request: Request,
        wait: WaitParameter,
        columns: ColumnsQuery = "",
    ) -> Response:
        return (await api.send(stream, columns, request, wait=wait)).response()

    @router.post(
        "/streams/{stream}/events",
        status_code=HTTPStatus.ACCEPTED,
        summary="Send events",
        response_model=describe(SentPage),
        responses=_ORDERED,
        openapi_extra=EVENTS,
    )
    async def send_events(
        stream: StreamPath,
        request: Request,
        wait: WaitParameter,
        columns: ColumnsQuery = "",
    ) -> Response:
        return (await api.send(stream, columns, request, wait=wait, is_of_events=True)).response()

    @router.post(
        "/dead-letters/{stream}:replay",
        status_code=HTTPStatus.ACCEPTED,
        summary="Send corrected edges",
        response_model=describe(SentPage),
        responses=_ORDERED,
        openapi_extra=EDGES,
    )
    async def send_corrected_edges(
        stream: StreamPath,
        request: Request,
        wait: WaitParameter,
        columns: ColumnsQuery = "",
    ) -> Response:
        return (await api.send(stream, columns, request, wait=wait)).response()

    @router.post(
        "/dead-letters/{stream}/{place}:replay",
        status_code=HTTPStatus.ACCEPTED,
        summary="Send a dead letter again, corrected or as it was",
        response_model=describe(SentPage),
        responses=_ORDERED,
        openapi_extra=EDGE,
    )
    async def replay_dead_letter(
        stream: StreamPath,
        place: PlacePath,
        request: Request,
        wait: WaitParameter,
    ) -> Response:
        return (await api.replay(stream, place, request, wait)).response()

    return router
