"""Problems are written once in the description of an API, and operations that contradict each other are found."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from graphtide_serving.http import PROBLEM_TYPE, describe
from graphtide_serving.shared_problems import move_problems, share_problems

GONE = {
    "description": "It is gone: `gone`.",
    "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}},
}


def api() -> FastAPI:
    app = FastAPI(responses=describe({410: "It is gone: `gone`."}))

    @app.get("/a")
    async def get_a() -> str:
        return ""

    @app.get("/b")
    async def get_b() -> str:
        return ""

    share_problems(app, "toys")
    return app


def test_operations_refer_to_a_problem_that_is_described_once() -> None:
    found = api().openapi()

    assert found["components"]["responses"] == {"toys-410": GONE}
    assert found["components"]["schemas"]["ProblemDocument"]["required"] == ["type", "title", "status", "detail", "code"]
    for path in ("/a", "/b"):
        answers = found["paths"][path]["get"]["responses"]
        assert answers["410"] == {"$ref": "#/components/responses/toys-410"}
        assert answers["200"]["description"] == "Successful Response"


def test_a_description_that_is_asked_for_again_is_the_same() -> None:
    app = api()

    assert app.openapi() == app.openapi()


def test_operations_that_describe_a_status_in_other_words_are_refused() -> None:
    def operation(name: str, meaning: str) -> dict[str, Any]:
        problem = {"description": meaning, "content": {PROBLEM_TYPE: {}}}
        return {"get": {"operationId": name, "responses": {"410": problem}}}

    description = {"paths": {"/a": operation("get_a", "It is gone."), "/b": operation("get_b", "It went.")}}

    with pytest.raises(ValueError, match="get_b describes status 410 in other words"):
        move_problems(description, "toys")
