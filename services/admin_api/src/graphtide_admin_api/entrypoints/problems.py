"""Problems of this service as the documents that all services answer with."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request, Response
from graphtide_serving import http
from graphtide_serving.http import answer_with_problems

from graphtide_admin_api.domain.problems import ProblemError


def answer(problem: ProblemError) -> Response:
    """Return the document of a problem."""
    status = HTTPStatus(problem.status)
    return http.ProblemError(status, problem.code, problem.detail, headers=problem.headers, more=problem.extra).response()


def handle(app: FastAPI) -> None:
    """Let every error of the application end in a document."""
    answer_with_problems(app)

    @app.exception_handler(ProblemError)
    async def _problem(_: Request, error: ProblemError) -> Response:
        return answer(error)
