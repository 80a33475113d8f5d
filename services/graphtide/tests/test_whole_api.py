"""The description of the whole API is the one in the documentation, of the use that generators want, and a page of its own."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient
from graphtide.dev.deployment import DevOptions, application, description
from graphtide_admin_api import entrypoints
from graphtide_serving.api_pages import merge, page_of
from graphtide_serving.http import PROBLEM_TYPE
from graphtide_testing.addresses import address
from graphtide_testing.waiting import wait_until
from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
DOCUMENTED = ROOT / "docs/reference/openapi.json"


@cache
def whole() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(description())
    return found


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in whole()["paths"].items():
        for method, operation in item.items():
            yield method, path, operation


def test_the_description_has_not_drifted() -> None:
    assert DOCUMENTED.read_text("utf-8") == description(), "python -m graphtide.dev.description FILE writes it anew"


def test_all_routes_are_in_it() -> None:
    paths = set(whole()["paths"])
    assert {"/api/v1/streams/{stream}/edges", "/api/v1/dead-letters/{stream}/{place}:replay", "/api/v1/patterns"} <= paths
    assert {"/api/v1/streams/{stream}:reset-watermark", "/api/v1/matches:stream", "/api/v1/tickets"} <= paths


def test_operations_have_names_that_stay_and_say_who_may_call() -> None:
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(names) == len(set(names))
    assert all(re.fullmatch("[a-z]+(_[a-z]+)+", name) for name in names), names
    schemes = whole()["components"]["securitySchemes"]
    assert {each["type"] for each in schemes.values()} == {"apiKey", "http"}
    for method, path, operation in operations():
        shown = {name: scopes for each in operation["security"] for name, scopes in each.items()}
        assert set(shown) <= set(schemes)
        # Every known caller may ask who it is.
        needed = 0 if path == "/api/v1/me" else 1
        assert len(shown["APIKeyHeader"]) == len(shown["HTTPBearer"]) == needed, (method, path)
        assert ("Ticket" in shown) == path.endswith(":stream")
        assert operation["summary"], (method, path)
        assert operation["tags"], (method, path)


def test_problems_are_described_once_and_every_operation_refers_to_them() -> None:
    described = whole()["components"]["responses"]
    referred = set()
    for method, path, operation in operations():
        for status, answer in operation["responses"].items():
            if status >= "400":
                assert answer.keys() == {"$ref"}, (method, path, status)
                assert answer["$ref"].endswith(f"-{status}")
                referred.add(answer["$ref"].rpartition("/")[2])
    assert referred == set(described)
    for problem in described.values():
        assert problem["content"] == {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
        assert problem["description"]


def test_the_reference_and_the_description_have_the_same_problems() -> None:
    pages = [(ROOT / "docs/reference" / page).read_text("utf-8") for page in ("http.md", "ingestion.md")]
    lines = [line for page in pages for line in page.splitlines()]
    rows = [row for line in lines if (row := re.fullmatch(r"\| ([\d, ]+) \| (.*?) \| .*", line))]
    documented = {code: set(re.findall(r"\d+", row[1])) for row in rows for code in codes(row[2])}
    described = {
        code: name.rpartition("-")[2]
        for name, problem in whole()["components"]["responses"].items()
        for code in codes(problem["description"])
    }
    assert documented.keys() - described.keys() == {"method-not-allowed"}, "described operations have the methods they have"
    assert {code: status for code, status in described.items() if status not in documented.get(code, ())} == {}


def codes(text: str) -> list[str]:
    return re.findall(r"`([a-z][a-z-]+)`", text)


def test_bodies_have_examples() -> None:
    schemas = whole()["components"]["schemas"]
    for method, path, operation in operations():
        for kind, body in operation.get("requestBody", {}).get("content", {}).items():
            name = body["schema"].get("$ref", "").rpartition("/")[2]
            assert "example" in body or schemas[name]["examples"], (method, path, kind)


def models() -> list[type[BaseModel]]:
    found: list[type[BaseModel]] = [
        each
        for module in iter_modules(entrypoints.__path__, f"{entrypoints.__name__}.")
        for each in vars(import_module(module.name)).values()
        if isinstance(each, type) and issubclass(each, BaseModel) and each.__module__ == module.name
    ]
    return [each for each in found if each.model_config.get("json_schema_extra")]


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_examples_are_what_they_are_examples_of(model: type[BaseModel]) -> None:
    extra = model.model_config["json_schema_extra"]
    assert isinstance(extra, dict)
    examples = extra["examples"]
    assert isinstance(examples, list)
    for example in examples:
        model.model_validate(example)


@pytest.fixture(scope="module")
def http() -> Iterator[TestClient]:
    with TestClient(application(DevOptions())) as http:
        yield http


def test_dev_up_serves_it_and_a_page_of_it_that_loads_nothing(http: TestClient) -> None:
    assert http.get("/openapi.json").json() == whole()
    page = http.get("/docs")
    assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    for _, path, operation in operations():
        assert f"<code>{path}</code>" in page.text
        assert f"id='{operation['operationId']}'" in page.text
    for name, problem in whole()["components"]["responses"].items():
        assert page.text.count(f"id='problem-{name}'") == 1
        assert f"href='#problem-{name}'" in page.text
        assert page.text.count(f"<code>{codes(problem['description'])[0]}</code>") <= 2, "once for each API"
    assert not re.search(r"<script|<link|src=|https?://(?!localhost)", re.sub("<pre>.*?</pre>", "", page.text, flags=re.DOTALL))


def test_dev_up_answers_head_wherever_it_answers_get(http: TestClient) -> None:
    for path in ("/livez", "/metrics", "/docs", "/openapi.json", "/api/v1/patterns", "/api/v1/operations"):
        got, head = http.get(path), http.head(path)
        assert (head.status_code, head.headers["Content-Type"], head.content) == (200, got.headers["Content-Type"], b"")


def test_every_route_that_is_described_is_served_by_dev_up(http: TestClient) -> None:
    for method, path, _ in operations():
        refused = http.request("TRACE", address(path))
        assert refused.status_code == 405, (method, path)
        assert method.upper() in refused.headers["Allow"], (method, path)


def test_descriptions_that_contradict_each_other_are_not_merged() -> None:
    one = {"paths": {"/a": {}}, "components": {"schemas": {"A": {"type": "string"}}}}
    two = {"paths": {"/b": {}}, "components": {"schemas": {"A": {"type": "integer"}}}}
    with pytest.raises(ValueError, match="differ in A"):
        merge(one, two)
    assert set(merge(one, {"paths": {"/b": {}}})["paths"]) == {"/a", "/b"}


def test_a_page_shows_what_it_is_given_as_text() -> None:
    bad = "<script>alert('1')</script>"
    operation = {"operationId": bad, "summary": bad, "description": f"`{bad}`", "responses": {bad: {"description": bad}}}
    page = page_of({"info": {"title": bad, "version": bad}, "paths": {f"/{bad}": {"get": operation}}})
    assert "<script" not in page


def test_edges_of_a_stream_are_sent_and_read_at_one_address() -> None:
    with TestClient(application(DevOptions())) as http:
        wait_until(lambda: http.get("/readyz").status_code == 200, 120, pause=0.1)
        edge = {"ts": 1, "src": "a", "dst": "b", "label": "pays", "id": "e1"}
        sent = http.post("/api/v1/streams/s/edges?wait=ordered", json=edge)
        assert sent.status_code in {200, 202}
        wait_until(lambda: http.get("/api/v1/streams/s/edges").json().get("edges", []) != [], 120, pause=0.1)
        assert [each["id"] for each in http.get("/api/v1/streams/s/edges?last=5").json()["edges"]] == ["e1"]
