"""Streams of events are bounded: so many in all, and a share of them a caller."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import httpx2
import pytest
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_log.memory import MemoryLog
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.settings import KeySettings
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS = "/api/v1/patterns/p/matches:stream"
NAMES = ("ann", "bob", "cid", "dan", "eve")


@pytest.fixture
def http() -> Iterator[httpx2.Client]:
    """A client of the API, with a pattern registered."""
    keys = [KeySettings(name=name, hash=hash_key(name), scopes=["admin"]) for name in NAMES]
    settings = AdminApiSettings(api_keys=keys, requests_per_second=10_000, burst=10_000)
    unbounded = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    with (
        serve(admin_api(settings, MemoryLog())) as url,
        httpx2.Client(base_url=url, limits=unbounded, timeout=60) as http,
    ):
        wait_until(lambda: http.get("/readyz").status_code == 200, 60, pause=0.05)
        text = {"text": "PATTERN p MATCH (a)-[x]->(b) ON s WINDOW 10"}
        assert http.post("/api/v1/patterns", json=text, headers={"X-API-Key": "ann"}).status_code == 201
        yield http


def follow(http: httpx2.Client, stack: ExitStack, name: str) -> int:
    """Open a stream of events until the stack is closed; return the status."""
    return stack.enter_context(http.stream("GET", EVENTS, headers={"X-API-Key": name})).status_code


def test_so_many_may_be_open_and_a_share_of_them_a_caller(http: httpx2.Client) -> None:
    def refused(name: str) -> tuple[int, str, str]:
        answer = http.get(EVENTS, headers={"X-API-Key": name})
        return answer.status_code, answer.json()["code"], answer.headers["Retry-After"]

    with ExitStack() as of_ann, ExitStack() as others:
        assert {follow(http, of_ann, "ann") for _ in range(50)} == {200}
        assert refused("ann") == (429, "too-many-streams", "30")
        assert {follow(http, others, name) for name in NAMES[1:4] for _ in range(50)} == {200}
        assert refused("eve") == (429, "too-many-streams", "30")
        of_ann.close()
        wait_until(lambda: follow(http, others, "eve") == 200, 60, pause=0.1)


def test_one_that_cannot_begin_takes_no_place(http: httpx2.Client) -> None:
    for _ in range(60):
        assert http.get(EVENTS, headers={"X-API-Key": "ann", "Last-Event-ID": "nowhere"}).status_code == 400
    with ExitStack() as stack:
        assert follow(http, stack, "ann") == 200
