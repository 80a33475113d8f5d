"""The application: all routes together."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from fastapi import FastAPI
from graphtide_serving.api_pages import serve_page
from graphtide_serving.http import describe
from graphtide_serving.protection.bodies import WholeBodies
from graphtide_serving.protection.protecting import protect
from graphtide_serving.routes import SERVERS, operation_id
from graphtide_serving.shared_problems import share_problems
from graphtide_telemetry.requests import REQUESTS
from graphtide_telemetry.version import version_of

from graphtide_admin_api.entrypoints import (
    deployment_health,
    health,
    looking,
    marks,
    matchers,
    matches,
    me,
    operations,
    partial_matches,
    patterns,
    results,
    series,
    statements,
    stream_schemas,
    streams,
    targets,
    trying,
)
from graphtide_admin_api.entrypoints.console import serve_console
from graphtide_admin_api.entrypoints.problems import handle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractContextManager

    from fastapi import APIRouter
    from graphtide_serving.protection.protecting import Protection

    from graphtide_admin_api.entrypoints.console import ConsoleSettings
    from graphtide_admin_api.entrypoints.parts import Parts

_PROBLEMS: Final = describe(
    {
        400: "A place, a cursor or the name of a stream is malformed: `bad-event-id`, `bad-place`, `bad-cursor`, `bad-stream`.",
        401: "The caller is unknown: `unauthenticated`.",
        403: "The caller lacks the scope, or a browser asks for another site: `forbidden`, `foreign-origin`.",
        404: "It does not exist, the pattern has no plan yet, or partial matches are not shared: `not-found`, `no-plan`, "
        "`no-partial-matches`.",
        408: "The body arrives too slowly: `slow-body`.",
        409: "It exists already, it is in use, a view would read itself, or a topic's name collides with another's: "
        "`exists`, `stream-exists`, `stream-in-use`, `view-circle`, `view-in-use`, `name-collides`. Or there are too many: "
        "`too-many-mutes`, `too-many-targets`.",
        412: "It has changed since: `precondition-failed`.",
        413: "The body, or a dry run, is too large: `too-large`.",
        415: "The body is not JSON in UTF-8: `unsupported-media-type`, `unsupported-encoding`.",
        421: "The service has another name: `unknown-host`.",
        422: (
            "The pattern, the statement or the request is invalid: `invalid-pattern`, `invalid-statement`, "
            "`name-differs`, `unknown-engine`, `too-many-matches`, "
            "`invalid-range`, `invalid-sample`, `invalid-target`, `invalid-time`, `no-graph-query`, "
            "`reserved-attribute`, `unknown-series`, `unknown-parameter`, `invalid-request`."
        ),
        428: "Give the state to change in `If-Match`: `precondition-required`.",
        429: (
            "Too many requests, or too many at once; see `Retry-After`: `too-many-requests`, `too-many-streams`, "
            "`too-many-simulations`, `too-many-results`."
        ),
        503: "The service cannot answer now; try again: `unavailable`, `simulation-too-long`.",
        504: "The service that delivers alerts does not answer: `no-answer`.",
    }
)


_TAGS: Final = [
    {"name": "patterns", "description": "What to find: registered in the pattern language, with limits and an engine."},
    {
        "name": "matches",
        "description": "What was found: pages of it, single matches with their edges, events as they come; and "
        "what has begun: partial matches.",
    },
    {
        "name": "streams",
        "description": "Where edges come from: how far they were put in order, what was counted and rejected.",
    },
    {
        "name": "matchers",
        "description": "Services that find matches: the cost of their shards, and the wanted number of shards.",
    },
    {"name": "alerts", "description": "Where matches are delivered, and which."},
    {"name": "access", "description": "Who asks, and what they may do."},
    {"name": "monitoring", "description": "How the deployment does: its health with reasons, and time series."},
    {"name": "operations", "description": "Long work: patterns run over history."},
]

ROUTERS: Final[tuple[Callable[[Parts], APIRouter], ...]] = (
    patterns.router,
    trying.router,
    looking.router,
    matches.router,
    marks.router,
    targets.router,
    partial_matches.router,
    results.router,
    statements.router,
    streams.router,
    stream_schemas.router,
    matchers.router,
    series.router,
    deployment_health.router,
    operations.router,
    me.router,
    health.router,
)
"""What the application serves; paths are tried in this order."""

_TICKET: Final = {
    "type": "apiKey",
    "in": "query",
    "name": "ticket",
    "description": "A ticket of `POST /api/v1/tickets`, for a minute: a browser sends no header of a page for events.",
}


def application(
    parts: Parts, life: Callable[[], AbstractContextManager[None]], protection: Protection, console: ConsoleSettings
) -> FastAPI:
    """Return the application behind its protection; `life` is entered around its own."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with life():
            yield

    app = FastAPI(
        title="graphtide",
        summary="Patterns in streams of graph edges: register them, look at them, follow their matches.",
        version=version_of("graphtide-admin-api"),
        lifespan=lifespan,
        responses=_PROBLEMS,
        telemetry=REQUESTS,
        servers=SERVERS,
        openapi_tags=_TAGS,
        generate_unique_id_function=operation_id,
        docs_url=None,
        redoc_url=None,
    )
    handle(app)
    serve_page(app)
    _describe_tickets(app)
    share_problems(app, "control-plane")
    for router in ROUTERS:
        app.include_router(router(parts))
    serve_console(app, console)
    app.add_middleware(WholeBodies, most_bytes=parts.bounds.most_body_bytes)
    protect(app, protection)
    return app


def _describe_tickets(app: FastAPI) -> None:
    """Let the description name the scheme of tickets, which FastAPI does not see: they are looked at before its routes."""
    describe = app.openapi

    def openapi() -> dict[str, Any]:
        description = describe()
        description["components"]["securitySchemes"]["Ticket"] = _TICKET
        return description

    app.openapi = openapi  # type: ignore[method-assign]
