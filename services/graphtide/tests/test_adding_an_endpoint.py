"""A route of the control plane is one function: a toy that is added is protected, described and counted like every other."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from graphtide.dev.deployment import DevOptions, description
from graphtide.dev.deployment import application as dev_up
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.entrypoints import app as control_plane
from graphtide_admin_api.entrypoints.forms import Strict
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_ingestion.bootstrap import bootstrap as ingestion
from graphtide_ingestion.settings import Settings
from graphtide_log.memory import MemoryLog
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.rights import READ_PATTERNS, WRITE_PATTERNS
from graphtide_serving.access.settings import KeySettings
from graphtide_serving.routes import JsonRoute, StrictRoute
from graphtide_testing.telemetry import count_metrics, metrics_of
from graphtide_wire.bodies import Body
from pydantic import Field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI
    from graphtide_admin_api.entrypoints.parts import Parts

ROOT: Final = Path(__file__).parents[3]
RECIPE: Final = "Adding an HTTP endpoint"
KEYS: Final = {"reader": [READ_PATTERNS], "writer": [WRITE_PATTERNS], "stranger": []}
NAMES_ROUTES: Final = {
    "services/admin_api/src/graphtide_admin_api/entrypoints/app.py": "says where tickets come from",
    "services/graphtide/src/graphtide/dev/demo_streams.py": "sends edges and events as programs outside do",
    "services/graphtide/src/graphtide/dev/deployment.py": "shows first requests",
    "shared/ordering/src/graphtide_ordering/stream_progress.py": "says in a note what helps",
}
"""Files of the product outside of routers and clients that write down an address, and why."""


class ToyIn(Strict):
    """A toy that is to be made."""

    size: int = Field(ge=0)


class Toy(Body, frozen=True):
    """A toy."""

    name: str
    size: int


def toys(parts: Parts) -> APIRouter:
    routes = APIRouter(prefix="/api/v1", tags=["patterns"], route_class=JsonRoute)

    @routes.get("/toys/{name}", dependencies=[Depends(parts.requires(READ_PATTERNS))])
    def get_toy(name: str, size: int = 1) -> Toy:
        """Return a toy."""
        return Toy(name, size)

    @routes.put("/toys/{name}", dependencies=[Depends(parts.requires(WRITE_PATTERNS))])
    def make_toy(name: str, toy: ToyIn) -> Toy:
        """Make a toy."""
        return Toy(name, toy.size)

    return routes


@pytest.fixture(autouse=True)
def _added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "ROUTERS", (*control_plane.ROUTERS, toys))


@pytest.fixture
def http() -> Iterator[TestClient]:
    keys = [KeySettings(name=name, hash=hash_key(name), scopes=scopes) for name, scopes in KEYS.items()]
    settings = AdminApiSettings(api_keys=keys, most_body_bytes=1000, hosts=["graphtide.example"])
    with TestClient(admin_api(settings, MemoryLog()), base_url="http://graphtide.example") as http:
        yield http


def recipe() -> str:
    _, _, after = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition(f"## {RECIPE}\n")
    return after.partition("\n## ")[0]


def test_it_answers(http: TestClient) -> None:
    got = http.get("/api/v1/toys/bear?size=7", headers={"X-API-Key": "reader"})
    made = http.put("/api/v1/toys/bear", json={"size": 7.0}, headers={"X-API-Key": "writer"})
    assert (got.status_code, got.json()) == (made.status_code, made.json()) == (200, {"name": "bear", "size": 7})


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({}, 401, "unauthenticated"),
        ({"X-API-Key": "guess"}, 401, "unauthenticated"),
        ({"X-API-Key": "stranger"}, 403, "forbidden"),
        ({"X-API-Key": "writer", "Host": "evil.example"}, 421, "unknown-host"),
        ({"X-API-Key": "writer", "Origin": "https://evil.example"}, 403, "foreign-origin"),
        ({"X-API-Key": "writer", "Content-Type": "text/plain"}, 415, "unsupported-media-type"),
        ({"X-API-Key": "writer", "Content-Encoding": "gzip"}, 415, "unsupported-encoding"),
    ],
)
def test_it_is_protected(http: TestClient, headers: dict[str, str], status: int, code: str) -> None:
    answer = http.put("/api/v1/toys/bear", content='{"size":7}', headers={"Content-Type": "application/json", **headers})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("query", "body", "status", "code"),
    [
        ("", '{"size":-1}', 422, "invalid-request"),
        ("", '{"size":"7"}', 422, "invalid-request"),
        ("", '{"size":7,"colour":"red"}', 422, "invalid-request"),
        ("", '{"size":NaN}', 422, "invalid-request"),
        ("", "{", 422, "invalid-request"),
        ("?sise=7", '{"size":7}', 422, "unknown-parameter"),
        ("", '{"size":' + "7" * 1000 + "}", 413, "too-large"),
    ],
)
def test_it_is_strict(http: TestClient, query: str, body: str, status: int, code: str) -> None:
    headers = {"X-API-Key": "writer", "Content-Type": "application/json"}
    answer = http.put(f"/api/v1/toys/bear{query}", content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_it_knows_its_methods(http: TestClient) -> None:
    head = http.head("/api/v1/toys/bear", headers={"X-API-Key": "reader"})
    assert (head.status_code, head.content, head.headers["Content-Type"]) == (200, b"", "application/json")
    refused = http.delete("/api/v1/toys/bear", headers={"X-API-Key": "reader"})
    assert (refused.status_code, refused.headers["Allow"]) == (405, "GET, HEAD, PUT")


def test_it_is_described_with_its_scope_its_answer_and_problems() -> None:
    described = admin_api(AdminApiSettings(insecure=True), MemoryLog()).openapi()
    get, put = (described["paths"]["/api/v1/toys/{name}"][each] for each in ("get", "put"))
    assert (get["operationId"], put["operationId"]) == ("get_toy", "make_toy")
    assert {"APIKeyHeader": [READ_PATTERNS]} in get["security"]
    assert {"HTTPBearer": [WRITE_PATTERNS]} in put["security"]
    assert put["responses"]["200"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Toy"}
    assert {"401", "403", "415", "422", "429", "503"} <= put["responses"].keys()
    assert described["components"]["schemas"]["Toy"]["required"] == ["name", "size"]


def test_it_is_counted_by_its_route(http: TestClient) -> None:
    count_metrics()

    def counted() -> float:
        found = metrics_of(http.get("/metrics", headers={"Host": "localhost"}).text)
        name = "http_server_request_duration_seconds_count"
        return sum(value for each, value in found.items() if each.startswith(name) and 'route="/api/v1/toys/{name}"' in each)

    before = counted()
    http.get("/api/v1/toys/bear", headers={"X-API-Key": "reader"})
    assert counted() == before + 1


def test_dev_up_serves_it_and_its_description() -> None:
    with TestClient(dev_up(DevOptions())) as http:
        assert http.get("/api/v1/toys/bear").json() == {"name": "bear", "size": 1}
        assert "/api/v1/toys/{name}" in http.get("/openapi.json").json()["paths"]
        assert "<code>/api/v1/toys/{name}</code>" in http.get("/docs").text
    assert '"/api/v1/toys/{name}"' in description()


def serve() -> list[APIRoute]:
    """Return all routes of both services that are described."""
    apps: list[FastAPI] = [
        admin_api(AdminApiSettings(insecure=True), MemoryLog()),
        ingestion(MemoryLog(), Settings(insecure=True)).app,
    ]
    routers = [getattr(each, "original_router", None) for app in apps for each in app.routes]
    found = [each for router in routers if isinstance(router, APIRouter) for each in router.routes]
    return [each for each in found if isinstance(each, APIRoute) and each.include_in_schema]


def test_every_route_is_strict_and_has_one_of_the_tags() -> None:
    tags = {each["name"] for each in control_plane._TAGS} | {"edges"}  # noqa: SLF001 - the list that descriptions have
    found = serve()
    assert {"get_toy", "send_edges", "list_patterns"} <= {each.name for each in found}
    for route in found:
        assert isinstance(route, StrictRoute), route.path
        assert isinstance(route, JsonRoute) or route.body_field is None, f"{route.path} takes JSON, which JsonRoute checks"
        assert tags.issuperset(map(str, route.tags)), route.path


def is_documented(path: str, method: str, line: str) -> bool:
    """Return whether a line has a route: as an example, or in a row of a table, where an end may follow another route."""
    if re.match(method + " " + re.sub(r"\\{\w+\\}", "[^/:?]+", re.escape(path)), line):
        return True
    by_end = any(f"`{path[at:]}`" in line or f"…{path[at:]}`" in line for at in range(1, len(path)) if path[:at] in line)
    return f"`{method} " in line and (by_end or path in line)


def test_the_reference_has_every_route() -> None:
    pages = [(ROOT / "docs/reference" / each).read_text("utf-8") for each in ("http.md", "ingestion.md")]
    lines = [line for page in pages for line in page.splitlines()]
    routes = {(method, route.path_format) for route in serve() for method in route.methods or ()}
    missing = {(method, path) for method, path in routes if not any(is_documented(path, method, line) for line in lines)}
    assert missing == {("GET", "/api/v1/toys/{name}"), ("PUT", "/api/v1/toys/{name}")}


def test_the_recipe_names_each_file_that_knows_addresses() -> None:
    listed = set(re.findall(r"`((?:services|shared)/[^`]+?)/?`", recipe()))
    assert all((ROOT / each).exists() for each in listed)
    knowing = {
        path.relative_to(ROOT).as_posix()
        for folder in ("services/*/src", "shared/*/src")
        for place in ROOT.glob(folder)
        for path in place.rglob("*.py")
        if not {"bench", "testing"} & {*path.relative_to(ROOT).parts}
        for each in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and "/api/v1" in each.value
    }
    assert NAMES_ROUTES.keys() <= knowing
    assert not {each for each in knowing - NAMES_ROUTES.keys() if not listed & {each, each.rpartition("/")[0]}}
