"""Who may do what over HTTP, how much and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_log.memory import MemoryLog
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.settings import KeySettings
from graphtide_testing.addresses import address
from graphtide_testing.serving import raw, serve

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Deployment


def test_scopes_decide_what_a_caller_may_do(deployment: Deployment) -> None:
    def status(method: str, path: str, key: str | None, **given: Any) -> int:
        headers = {"X-API-Key": key} if key is not None else {"X-API-Key": ""}
        return int(deployment.http.request(method, f"/api/v1{path}", headers=headers, **given).status_code)

    text = {"text": "PATTERN p MATCH (a)-[x]->(b) ON s WINDOW 10"}
    assert status("POST", "/patterns", None, json=text) == 401
    assert status("POST", "/patterns", "guess", json=text) == 401
    assert status("POST", "/patterns", "reader", json=text) == 403
    assert status("POST", "/patterns", "writer", json=text) == 201
    assert status("GET", "/patterns/p", "reader") == 200
    assert status("GET", "/patterns/p/matches", "writer") == 403
    assert status("GET", "/patterns/p/matches", "reader") == 200
    assert status("GET", "/dead-letters", "reader") == 403
    assert status("GET", "/dead-letters", "root") == 200
    refused = deployment.http.get("/api/v1/patterns", headers={"X-API-Key": "guess"})
    assert (refused.headers["WWW-Authenticate"], refused.json()["code"]) == ("Bearer", "unauthenticated")


def test_every_route_but_health_asks_who_calls(deployment: Deployment) -> None:
    described = deployment.http.get("/openapi.json").json()
    for path, operations in described["paths"].items():
        for method in operations:
            status = deployment.http.request(method, address(path), headers={"X-API-Key": ""}).status_code
            assert (status == 401) == path.startswith("/api/"), (method, path)


def test_for_development_everyone_may_do_everything() -> None:
    with TestClient(admin_api(AdminApiSettings(insecure=True), MemoryLog())) as http:
        assert http.get("/api/v1/dead-letters").status_code == 200


def test_a_caller_who_calls_too_often_learns_when_to_come_back() -> None:
    settings = AdminApiSettings(insecure=True, requests_per_second=0.5, burst=2)
    with TestClient(admin_api(settings, MemoryLog())) as http:
        answers = [http.get("/api/v1/patterns") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].headers["Retry-After"] in {"1", "2"}


@pytest.mark.parametrize("declare", [lambda body: body, lambda body: iter([body[:10], body[10:]])])
def test_a_body_that_is_too_large_is_refused_declared_or_not(declare: Callable[[bytes], Any]) -> None:
    with TestClient(admin_api(AdminApiSettings(insecure=True, most_body_bytes=1000), MemoryLog())) as http:
        body, json = b'{"text":"' + b"x" * 1000 + b'"}', {"Content-Type": "application/json"}
        answer = http.post("/api/v1/patterns", content=declare(body), headers=json)
        assert (answer.status_code, answer.json()["code"]) == (413, "too-large")
        small = http.post("/api/v1/patterns:validate", content=declare(b'{"text":"PATTERN"}'), headers=json)
        assert small.json()["valid"] is False


def test_who_calls_is_asked_before_a_body_comes() -> None:
    keys = [KeySettings(name="ann", hash=hash_key("ann"), scopes=["admin"])]
    with serve(admin_api(AdminApiSettings(api_keys=keys), MemoryLog())) as url, raw(url) as connection:
        connection.send(b"POST /api/v1/patterns HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8000000\r\n\r\n")
        assert connection.answer().startswith(b"HTTP/1.1 401")


def test_what_a_browser_sends_for_another_site_changes_nothing() -> None:
    with TestClient(admin_api(AdminApiSettings(insecure=True, hosts=["graphtide.example"]), MemoryLog())) as http:
        for headers, status, code in (
            ({"Host": "evil.example"}, 421, "unknown-host"),
            ({"Origin": "https://evil.example"}, 403, "foreign-origin"),
            ({"Sec-Fetch-Site": "cross-site"}, 403, "foreign-origin"),
        ):
            for method, path in (("POST", "/api/v1/patterns/p:pause"), ("GET", "/api/v1/patterns"), ("GET", "/metrics")):
                answer = http.request(method, path, headers=headers)
                assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert http.get("/livez", headers={"Host": "10.0.0.7:8080"}).status_code == 200
        assert (
            http.get("/livez", headers={"Host": "graphtide.example", "Origin": "https://graphtide.example"}).status_code == 200
        )
