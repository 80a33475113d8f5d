"""Shared problems in the description of an API: written once, with a reference in every operation.

An API answers all its operations with the same problems, a description for each status. FastAPI repeats them under each
operation; here they move to `components.responses`, under the name of the API and the status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import FastAPI

from graphtide_serving.http import PROBLEM_CONTENT, PROBLEM_TYPE, ProblemDocument

if TYPE_CHECKING:
    from collections.abc import Mapping

RESPONSES: Final = "#/components/responses/"


def share_problems(app: FastAPI, api: str) -> None:
    """Let the description of an application have each problem once, and their form; `api` is the first part of their names."""
    describe = app.openapi

    def openapi() -> dict[str, Any]:
        description = describe()
        move_problems(description, api)
        schemas = description["components"].get("schemas", {})
        description["components"]["schemas"] = dict(sorted({**schemas, **_schema()}.items()))
        return description

    app.openapi = openapi  # type: ignore[method-assign]


def move_problems(description: dict[str, Any], api: str) -> None:
    """Move the problems of all operations into the components, unless they are there already.

    Raises:
        ValueError: two operations describe one status differently.
    """
    shared = description.setdefault("components", {}).setdefault("responses", {})
    for operation in (operation for item in description["paths"].values() for operation in item.values()):
        answers = operation.get("responses", {})
        for status, answer in answers.items():
            if PROBLEM_TYPE not in answer.get("content", {}):
                continue
            name = f"{api}-{status}"
            problem = {"description": answer["description"], "content": PROBLEM_CONTENT}
            if shared.setdefault(name, problem) != problem:
                message = f"{operation['operationId']} describes status {status} in other words than another operation"
                raise ValueError(message)
            answers[status] = {"$ref": RESPONSES + name}


def _schema() -> dict[str, Any]:
    """Return the schema of a problem under its name, as FastAPI describes it for a route that answers with one."""
    app = FastAPI()
    app.add_api_route("/", lambda: None, response_model=ProblemDocument)
    found: dict[str, Any] = app.openapi()["components"]["schemas"]
    return found


def split_name(reference: str) -> tuple[str, str]:
    """Return the API and the status that a name or a reference of a problem is made of."""
    api, _, status = reference.removeprefix(RESPONSES).rpartition("-")
    return api, status


def statuses_by_api(responses: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Return what each status means, by API, of the responses that a description shares."""
    found: dict[str, dict[str, str]] = {}
    for name, response in responses.items():
        api, status = split_name(name)
        found.setdefault(api, {})[status] = response.get("description", "")
    return {api: dict(sorted(meanings.items())) for api, meanings in sorted(found.items())}
