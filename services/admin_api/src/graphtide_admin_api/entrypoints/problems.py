"""Answers that are no success, as RFC 9457 documents."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from graphtide_core.errors import GraphtideError, TransientError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from graphtide_admin_api.domain.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_admin_api.domain.problems import Extra

_LOG = structlog.get_logger()
MEDIA_TYPE = "application/problem+json"


class ProblemDocument(BaseModel):
    """A problem document; `code` is for programs, and a problem with a pattern's text has its place."""

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


def answer(problem: ProblemError) -> JSONResponse:
    """Return the document of a problem."""
    return _document(problem.status, problem.code, problem.detail, problem.extra, problem.headers)


def _document(
    status: int, code: str, detail: str, extra: Mapping[str, Extra] | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    body = {
        "type": f"urn:graphtide:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        **(extra or {}),
    }
    return JSONResponse(body, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def handle(app: FastAPI) -> None:
    """Let every error of the application end in a document."""

    async def problem(_: Request, error: Exception) -> JSONResponse:
        if isinstance(error, ProblemError):
            return answer(error)
        if isinstance(error, TransientError):
            return _document(503, "unavailable", str(error), headers={"Retry-After": "1"})
        _LOG.error("request.failed", error=str(error))
        return _document(500, "internal", "the request failed; the log of the service says why")

    async def invalid(_: Request, error: Exception) -> JSONResponse:
        errors = error.errors() if isinstance(error, RequestValidationError) else []
        parts = (f"{'.'.join(str(step) for step in each['loc'])}: {each['msg']}" for each in errors[:5])
        return _document(422, "invalid-request", "; ".join(parts))

    async def http(_: Request, error: Exception) -> JSONResponse:
        status = error.status_code if isinstance(error, HTTPException) else 500
        detail = str(error.detail) if isinstance(error, HTTPException) else ""
        headers = error.headers if isinstance(error, HTTPException) else None
        return _document(status, HTTPStatus(status).phrase.lower().replace(" ", "-"), detail, headers=headers)

    app.add_exception_handler(GraphtideError, problem)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
