"""What every HTTP service does alike: errors as problem documents (RFC 9457), routes of health and figures, who may call.

A problem has `type`, `title`, `status`, `detail` and `code`, a short name for programs; some have more members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING

import structlog
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from graphtide_core.errors import FatalError, GraphtideError, InvalidPatternError, InvalidQueryError, TransientError
from starlette.exceptions import HTTPException

from graphtide_runtime.telemetry import events
from graphtide_runtime.telemetry.setup import CONTENT_TYPE, exposition

if TYPE_CHECKING:
    from graphtide_runtime.health import Finding, Look

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
            _LOG.error(events.REQUEST_FAILED, error=str(error))
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


def health_routes(alive: Look, ready: Look) -> APIRouter:
    """Return `/livez`, `/readyz` and `/metrics`: 200 with what was looked at, 503 with what is wrong with it."""
    router = APIRouter(include_in_schema=False)

    @router.get("/livez")
    def livez() -> Response:
        return _found("alive", alive())

    @router.get("/readyz")
    def readyz() -> Response:
        return _found("ready", ready())

    @router.get("/metrics")
    def figures() -> Response:
        return Response(exposition(), media_type=CONTENT_TYPE)

    return router


def _found(good: str, findings: Iterable[Finding]) -> Response:
    looked_at = list(findings)
    checks = {each.name: each.wrong or "ok" for each in looked_at}
    wrong = [f"{each.name}: {each.wrong}" for each in looked_at if each.wrong is not None]
    if wrong:
        return ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, f"not-{good}", "; ".join(wrong), more={"checks": checks}).response()
    return JSONResponse({"status": good, "checks": checks})


def open_to_all(_scope: str) -> Callable[..., object]:
    """Let everybody pass: the `Authorize` of tests and of one machine alone."""

    async def allow() -> None:
        """Let the request pass."""

    return allow
