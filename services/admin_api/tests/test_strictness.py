"""A request is taken as it is written or refused by name: types of bodies, parameters, methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_testing.addresses import address

if TYPE_CHECKING:
    from conftest import Deployment

TEXT = '{"text":"PATTERN p MATCH (a)-[x:pays]->(b) ON s WINDOW 10"}'
JSON = {"Content-Type": "application/json"}

BODIES = [
    ("POST", "/patterns", TEXT),
    ("PUT", "/patterns/p", TEXT),
    ("PATCH", "/patterns/p", '{"engine":"auto"}'),
    ("POST", "/patterns:validate", TEXT),
    ("POST", "/patterns:simulate", '{"text":"PATTERN p MATCH (a)-[x:pays]->(b) ON s WINDOW 10","edges":[]}'),
    ("POST", "/patterns/p:backfill", "{}"),
    ("POST", "/streams:check", '{"text":"STREAM s EVENT kind AT ts IN ms","sample":""}'),
    ("PUT", "/patterns/p/matches/0/acknowledgement", '{"note":"seen"}'),
    ("POST", "/mutes", '{"reason":"a backup runs"}'),
    ("PUT", "/targets/t", '{"kind":"file","address":"alerts.jsonl"}'),
    ("POST", "/targets/t/dead:replay", '{"ids":["4232d89a8d4c036f868a7bc9f0d7cb5f"]}'),
    ("PUT", "/streams/s", '{"text":"STREAM s EVENT kind AT ts IN ms"}'),
    ("PUT", "/streams/s/schema", '{"attributes":{"zip":"string"}}'),
]
"""A body that each route takes."""


def test_every_route_that_takes_json_has_a_body_here(deployment: Deployment) -> None:
    described = deployment.http.get("/openapi.json").json()["paths"].items()
    takes = {
        (method.upper(), address(path)) for path, item in described for method, each in item.items() if "requestBody" in each
    }
    assert takes == {(method, f"/api/v1{path}") for method, path, _ in BODIES}


@pytest.mark.parametrize(("method", "path", "body"), BODIES)
@pytest.mark.parametrize(
    "given",
    [
        ({"Content-Type": "text/plain"}, "unsupported-media-type"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, "unsupported-media-type"),
        ({}, "unsupported-media-type"),
        ({"Content-Type": "application/json; charset=iso-8859-1"}, "unsupported-media-type"),
        ({"Content-Type": "application/json", "Content-Encoding": "gzip"}, "unsupported-encoding"),
    ],
)
def test_a_body_that_is_not_json_is_refused_by_its_type(
    empty_deployment: Deployment, method: str, path: str, body: str, given: tuple[dict[str, str], str]
) -> None:
    headers, code = given
    answer = empty_deployment.http.request(method, f"/api/v1{path}", content=body, headers={"If-Match": "*", **headers})
    assert (answer.status_code, answer.json()["code"]) == (415, code)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["Accept"] == "application/json"
    assert ("Accept-Patch" in answer.headers) == (method == "PATCH")
    if code == "unsupported-media-type" and "charset" not in headers.get("Content-Type", ""):
        assert "application/json" in answer.json()["detail"]


@pytest.mark.parametrize(("method", "path", "body"), BODIES)
@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=UTF-8", "application/merge-patch+json"])
def test_json_is_taken_under_its_names(deployment: Deployment, method: str, path: str, body: str, kind: str) -> None:
    if path != "/patterns":
        deployment.http.post("/api/v1/patterns", content=TEXT, headers=JSON)
    headers = {"If-Match": "*", "Content-Type": kind}
    status = deployment.http.request(method, f"/api/v1{path}", content=body, headers=headers).status_code
    # The alert that it names is not there: the body was read.
    assert status == 404 if path.endswith("dead:replay") else status < 300


@pytest.mark.parametrize(
    ("method", "path", "hint"),
    [
        ("GET", "/patterns?steam=s", "did you mean stream?"),
        ("GET", "/patterns/p?limit=1", None),
        ("GET", "/patterns/p/matches?limt=1", "did you mean limit?"),
        ("GET", "/patterns/p/matches:stream?lasst=1", "did you mean last?"),
        ("GET", "/patterns/p/plan?Format=json", "did you mean format?"),
        ("GET", "/streams?x=%ED%A0%80", None),
        ("GET", "/dead-letters?strem=s", "did you mean stream?"),
        ("GET", "/operations?state=done", None),
        ("POST", "/patterns?dry_run=true", None),
        ("DELETE", "/patterns/p?forced=true", "did you mean force?"),
    ],
)
def test_an_unknown_parameter_is_refused(empty_deployment: Deployment, method: str, path: str, hint: str | None) -> None:
    answer = empty_deployment.http.request(method, f"/api/v1{path}", content=TEXT if method == "POST" else None, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown-parameter")
    assert answer.json().get("hint") == hint
    assert answer.json()["parameter"]
    assert empty_deployment.http.get("/api/v1/patterns").json()["patterns"] == []


def test_head_is_get_without_the_body_wherever_get_is(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", content=TEXT, headers=JSON)
    deployment.report(1)
    deployment.until(lambda: deployment.http.get("/api/v1/patterns/p/matches").json()["matches"] != [])
    described = deployment.http.get("/openapi.json").json()["paths"]
    for path in [path for path, operations in described.items() if "get" in operations] + ["/livez", "/readyz", "/metrics"]:
        at = address(path)
        head = deployment.http.head(at)
        assert head.content == b""
        if not at.endswith(":stream"):
            got = deployment.http.get(at)
            assert (head.status_code, head.headers["Content-Type"]) == (got.status_code, got.headers["Content-Type"])
    head = deployment.http.head("/api/v1/patterns/p/matches:stream")
    assert (head.status_code, head.headers["Content-Type"].partition(";")[0]) == (200, "text/event-stream")
    refused = deployment.http.head("/api/v1/patterns:validate")
    assert (refused.status_code, refused.headers["Allow"]) == (405, "POST")
    assert deployment.http.head("/api/v1/patterns", headers={"X-API-Key": ""}).status_code == 401


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/patterns", {"text": "PATTERN p MATCH (a)-[x:pays]->(b) ON s WINDOW 10", "limits": {"partial_matches": True}}),
        ("/patterns", {"text": "PATTERN p MATCH (a)-[x:pays]->(b) ON s WINDOW 10", "limits": {"work": "7"}}),
        ("/patterns", {"text": "PATTERN p MATCH (a)-[x:pays]->(b) ON s WINDOW 10", "limits": {"state_bytes": 1.5}}),
        ("/patterns/p:backfill", {"from": False}),
        ("/patterns/p:backfill", {"to": "7"}),
    ],
)
def test_a_value_of_another_type_is_not_a_number(deployment: Deployment, path: str, body: dict[str, object]) -> None:
    if path != "/patterns":
        deployment.http.post("/api/v1/patterns", content=TEXT, headers=JSON)
    answer = deployment.http.post(f"/api/v1{path}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")


@pytest.mark.parametrize(
    ("given", "status"), [("7", 201), ("7.0", 201), ("7e0", 201), ("7.5", 422), ("true", 422), ('"7"', 422)]
)
def test_an_integer_is_what_json_schema_takes_for_one(deployment: Deployment, given: str, status: int) -> None:
    body = TEXT[:-1] + ',"limits":{"partial_matches":' + given + "}}"
    answer = deployment.http.post("/api/v1/patterns", content=body, headers=JSON)
    assert answer.status_code == status
    if status == 201:
        assert '"partial_matches":7,' in answer.text
