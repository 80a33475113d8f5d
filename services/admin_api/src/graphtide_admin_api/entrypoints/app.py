"""The application: all routes together."""

from __future__ import annotations

from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from graphtide_runtime.http import PROBLEM_TYPE
from graphtide_runtime.telemetry.requests import REQUESTS

from graphtide_admin_api.entrypoints import health, looking, operations, patterns, streams
from graphtide_admin_api.entrypoints.middleware import BoundedBody
from graphtide_admin_api.entrypoints.problems import ProblemDocument, handle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractContextManager

    from graphtide_admin_api.entrypoints.parts import Parts

_PROBLEM: dict[str, Any] = {"model": ProblemDocument, "content": {PROBLEM_TYPE: {}}}
"""What OpenAPI says of a problem; FastAPI takes any JSON here."""

_RESPONSES: dict[int | str, dict[str, Any]] = {
    code: {**_PROBLEM, "description": text}
    for code, text in {
        400: "The request cannot be understood.",
        401: "Nobody knows who you are.",
        403: "You may not do this.",
        404: "It is not there.",
        409: "There is one already.",
        412: "It has changed meanwhile.",
        413: "It is too large.",
        422: "The pattern, or the request, is invalid.",
        428: "Say which state is to be changed.",
        429: "You call too often.",
        503: "The log does not answer; try again.",
    }.items()
}


def application(parts: Parts, life: Callable[[], AbstractContextManager[None]]) -> FastAPI:
    """Return the application; `life` is entered around its own."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with life():
            yield

    app = FastAPI(
        title="graphtide",
        summary="Patterns in streams of graph edges: register them, look at them, follow their matches.",
        version=version("graphtide-admin-api"),
        lifespan=lifespan,
        responses=_RESPONSES,
        telemetry=REQUESTS,
        docs_url=None,
        redoc_url=None,
    )
    handle(app)
    for each in (patterns, looking, streams, operations, health):
        app.include_router(each.router(parts))
    app.add_middleware(BoundedBody, most_bytes=parts.bounds.most_body_bytes)
    return app
