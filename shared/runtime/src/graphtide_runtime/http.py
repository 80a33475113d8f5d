"""What every HTTP service does alike: errors as problem documents (RFC 9457), routes of health and figures, who may call.

A problem has `type`, `title`, `status`, `detail` and `code`, a short name for programs; some have more members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus

import structlog
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from graphtide_core.errors import FatalError, GraphtideError, InvalidPatternError, InvalidQueryError, TransientError
from starlette.exceptions import HTTPException

from graphtide_runtime.metrics import CONTENT_TYPE, Metric, exposition

_LOG = structlog.get_logger()

Authorize = Callable[[str], Callable[..., object]]
"""Gives for a scope the dependency of a route that lets those with the scope pass and raises `ProblemError` for others."""

PROBLEM_TYPE = "application/problem+json"


class ProblemError(GraphtideError):
    """A request that gets a problem document as its answer.

    Attributes:
        status: of HTTP.
        code: what is wrong, for programs.
        detail: what is wrong, for people.
        headers: beside the document.
        more: further members.
    """

    def __init__(
        self,
        status: HTTPStatus,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, object] | None = None,
    ) -> None:
        """Keep the parts."""
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})
        self.more = dict(more or {})

    def response(self) -> Response:
        """Return the answer."""
        document = {
            "type": f"urn:graphtide:problem:{self.code}",
            "title": self.status.phrase,
            "status": self.status.value,
            "detail": self.detail,
            "code": self.code,
            **self.more,
        }
        return JSONResponse(document, self.status.value, self.headers, PROBLEM_TYPE)


def problem_of(error: GraphtideError) -> ProblemError:
    """Return what to answer where an error ended a request."""
    match error:
        case ProblemError():
            return error
        case TransientError():
            return ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", str(error), headers={"Retry-After": "1"})
        case InvalidPatternError():
            place = {"line": error.line, "column": error.column}
            return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-pattern", str(error), more=place)
        case InvalidQueryError():
            return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-request", str(error))
        case FatalError():
            return ProblemError(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "the service cannot go on; see its log")
        case _:
            return ProblemError(HTTPStatus.BAD_REQUEST, "bad-request", str(error))


def answer_with_problems(app: FastAPI) -> None:
    """Make every error of the app a problem document."""

    @app.exception_handler(GraphtideError)
    async def _graphtide(_: Request, error: GraphtideError) -> Response:
        if isinstance(error, FatalError):
            _LOG.error("request.failed", error=str(error))
        return problem_of(error).response()

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-request", f"{where}: {first['msg']}").response()

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> Response:
        status = HTTPStatus(error.status_code)
        code = status.phrase.lower().replace(" ", "-")
        return ProblemError(status, code, str(error.detail), headers=error.headers).response()


def health_routes(ready: Callable[[], None], metrics: Callable[[], Iterable[Metric]]) -> APIRouter:
    """Return `/livez`, `/readyz` and `/metrics`.

    `ready` raises a `GraphtideError` while the service cannot do its work; it may block.
    """
    router = APIRouter(include_in_schema=False)

    @router.get("/livez")
    async def livez() -> dict[str, str]:
        return {"status": "alive"}

    @router.get("/readyz")
    def readyz() -> Response:
        try:
            ready()
        except GraphtideError as error:
            return ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "not-ready", str(error)).response()
        return JSONResponse({"status": "ready"})

    @router.get("/metrics")
    def figures() -> Response:
        return Response(exposition(metrics()), media_type=CONTENT_TYPE)

    return router


def open_to_all(_scope: str) -> Callable[..., object]:
    """Let everybody pass: the `Authorize` of tests and of one machine alone."""

    async def allow() -> None:
        """Let the request pass."""

    return allow
