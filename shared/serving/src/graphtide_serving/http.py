"""Shared code of HTTP services: errors as problem documents (RFC 9457), routes of health and metrics, access.

A problem has `type`, `title`, `status`, `detail` and `code`, a short name for programs; some have more members.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import structlog
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from graphtide_core.errors import (
    CollidingTopicError,
    FatalError,
    GraphtideError,
    InvalidPatternError,
    InvalidQueryError,
    TransientError,
)
from graphtide_telemetry import events
from graphtide_telemetry.setup import CONTENT_TYPE, exposition
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import Match

from graphtide_serving.protection.heads import HeadAsGet

if TYPE_CHECKING:
    from graphtide_telemetry.health import Finding, Look

_LOG = structlog.get_logger()
_T = TypeVar("_T")

Authorize = Callable[[str], Callable[..., object]]
"""Gives for a scope the dependency of a route that raises `ProblemError` for callers without the scope."""

PROBLEM_TYPE = "application/problem+json"
_METHODS: Final = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE")


class ProblemDocument(BaseModel):
    """A problem document; `code` is for programs, and a problem with a pattern's text or a parameter has its place."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    line: int | None = None
    column: int | None = None
    source_line: str | None = None
    expected: list[str] | None = None
    hint: str | None = None
    parameter: str | None = None
    accepted: int | None = None


PROBLEM_CONTENT: Final = {PROBLEM_TYPE: {"schema": {"$ref": f"#/components/schemas/{ProblemDocument.__name__}"}}}
"""The content of a problem in OpenAPI."""


def describe(problems: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """Return the description of problems for OpenAPI, given the meaning of each status; FastAPI takes any JSON here.

    The form of a problem is a reference, which `graphtide_serving.shared_problems` resolves. Of a model FastAPI would make one
    more for each status of each route: hundreds before the first answer.
    """
    return {status: {"content": PROBLEM_CONTENT, "description": meaning} for status, meaning in problems.items()}


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
    """Return the answer to a request that an error ended."""
    match error:
        case ProblemError():
            return error
        case TransientError():
            return ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", str(error), headers={"Retry-After": "1"})
        case InvalidPatternError():
            place = {"line": error.line, "column": error.column}
            return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-pattern", str(error), more=place)
        case CollidingTopicError():
            return ProblemError(HTTPStatus.CONFLICT, "name-collides", str(error))
        case InvalidQueryError():
            return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-request", str(error))
        case FatalError():
            return ProblemError(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "the service cannot continue; see its log")
        case _:
            return ProblemError(HTTPStatus.BAD_REQUEST, "bad-request", str(error))


def answer_with_problems(app: FastAPI) -> None:
    """Make every error of the app a problem document, and let it answer HEAD as GET, without the body."""
    app.add_middleware(HeadAsGet)

    @app.exception_handler(GraphtideError)
    async def _graphtide(_: Request, error: GraphtideError) -> Response:
        if isinstance(error, FatalError):
            _LOG.error(events.REQUEST_FAILED, error=str(error))
        return problem_of(error).response()

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        detail = f"{where}: {first['msg']}"
        if first["type"] == "json_invalid":
            detail = f"the body is not JSON: {first['ctx']['error']}"
        # The given value may hold characters that UTF-8 cannot.
        detail = detail.encode(errors="backslashreplace").decode()
        return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-request", detail).response()

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        status = HTTPStatus(error.status_code)
        code = status.phrase.lower().replace(" ", "-")
        headers = dict(error.headers or {})
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(_list_methods(request))
        return ProblemError(status, code, str(error.detail), headers=headers).response()

    @app.exception_handler(Exception)
    async def _unexpected(_: Request, error: Exception) -> Response:
        _LOG.error(events.REQUEST_FAILED, error=repr(error))
        return problem_of(FatalError()).response()


def _list_methods(request: Request) -> list[str]:
    """Return the methods that the path of a request knows."""
    asked = {"type": "http", "path": request.scope["path"], "root_path": request.scope.get("root_path", ""), "headers": []}
    routes = request.app.routes
    known = {each for each in _METHODS if any(route.matches({**asked, "method": each})[0] is Match.FULL for route in routes)}
    return [each for each in _METHODS if each in known or (each == "HEAD" and "GET" in known)]


def health_routes(alive: Look, ready: Look) -> APIRouter:
    """Return `/livez`, `/readyz` and `/metrics`: 200 with what was checked, 503 with what is wrong with it.

    They do not wait for the threads of other requests. `alive` must not block; `ready` may, and requests meanwhile share its
    result.
    """
    router = APIRouter(include_in_schema=False)
    looking, counting = _Shared(lambda: list(ready())), _Shared(exposition)

    @router.get("/livez")
    async def livez() -> Response:
        return _find("alive", alive())

    @router.get("/readyz")
    async def readyz() -> Response:
        return _find("ready", await looking())

    @router.get("/metrics")
    async def metrics() -> Response:
        return Response(await counting(), media_type=CONTENT_TYPE)

    return router


class _Shared(Generic[_T]):
    """Work in a thread of its own, done once for all concurrent callers; for one event loop at a time."""

    def __init__(self, work: Callable[[], _T]) -> None:
        """Do this."""
        self._work = work
        self._executor = ThreadPoolExecutor(1, "health")
        self._under_way: asyncio.Future[_T] | None = None

    async def __call__(self) -> _T:
        """Return the result of the work; if it is under way, wait for that."""
        loop = asyncio.get_running_loop()
        now = self._under_way
        if now is None or now.done() or now.get_loop() is not loop:
            self._under_way = now = loop.run_in_executor(self._executor, self._work)
        return await asyncio.shield(now)


def _find(good: str, findings: Iterable[Finding]) -> Response:
    looked_at = list(findings)
    checks = {each.name: each.summary for each in looked_at}
    wrong = [f"{each.name}: {each.wrong}" for each in looked_at if each.wrong is not None]
    if wrong:
        return ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, f"not-{good}", "; ".join(wrong), more={"checks": checks}).response()
    return JSONResponse({"status": good, "checks": checks})
