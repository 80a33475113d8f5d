"""Partial matches over HTTP: the nearest of a pattern, by vertex and steps, and those that come close as events."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx2
import msgspec
import pytest
from graphtide_admin_api.bootstrap import assemble
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_core.errors import TransientError
from graphtide_core.partial_matches import BoundEdge, CountedStep, PartialMatch, PartialMatches
from graphtide_log.memory import MemoryLog
from graphtide_log.partial_matches.memory import MemoryPartialMatches
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.settings import KeySettings
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until
from graphtide_wire.partial_matches import FORMAT, PartialMatchesRecord, encode_partial_matches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from graphtide_core.ports.partial_matches import PartialMatchStore

TEXT = "PATTERN p MATCH (a)-[x]->(b)-[y]->(c)-[z]->(d) ORDER x < y < z ON s WINDOW 10"
PARTIALS = "/api/v1/patterns/p/partial-matches"
PART = "graphtide.matcher_timing.0/s"


def partial(*edges: tuple[str, str, int], **vertices: str) -> PartialMatch:
    bound = {name: BoundEdge(id, ts) for name, id, ts in edges}
    return PartialMatch(bound, vertices, tuple(name for name in "xyz" if name not in bound), min(ts for *_, ts in edges) + 10)


ONE = partial(("x", "e1", 5), a="u", b="v")
TWO = partial(("x", "e0", 3), ("y", "e2", 6), a="o", b="v", c="w")


def put(store: PartialMatchStore, *nearest: PartialMatch, part: str = PART, version: int = 1, **changes: Any) -> None:
    steps = (CountedStep("L1.1", ("x",), 7), CountedStep("L1.2", ("x", "y"), 1))
    view = PartialMatches(6, stored=True, truncated=False, steps=steps, nearest=nearest)
    record = PartialMatchesRecord(FORMAT, "p", version, part, datetime(2024, 1, 1, tzinfo=UTC), 17, view)
    store.put("p", part, encode_partial_matches(msgspec.structs.replace(record, **changes)), 60)


@contextmanager
def serve_store(store: PartialMatchStore | None) -> Iterator[httpx2.Client]:
    keys = [
        KeySettings(name=name, hash=hash_key(name), scopes=scopes)
        for name, scopes in {"root": ["admin"], "patterns": ["patterns:read"]}.items()
    ]
    settings = AdminApiSettings(api_keys=keys, requests_per_second=10_000, burst=10_000)
    headers = {"X-API-Key": "root"}
    with (
        serve(assemble(settings, MemoryLog(), store).app) as url,
        httpx2.Client(base_url=url, headers=headers, timeout=60) as http,
    ):
        wait_until(lambda: http.get("/readyz").status_code == 200, 60, pause=0.05)
        assert http.post("/api/v1/patterns", json={"text": TEXT}).status_code == 201
        yield http


@pytest.fixture
def store() -> PartialMatchStore:
    return MemoryPartialMatches()


@pytest.fixture
def http(store: PartialMatchStore) -> Iterator[httpx2.Client]:
    with serve_store(store) as http:
        yield http


def ids(http: httpx2.Client, query: str = "") -> list[list[str]]:
    answer = http.get(f"{PARTIALS}{query}")
    assert answer.status_code == 200, answer.text
    return [[edge["id"] for edge in each["edges"].values()] for each in answer.json()["partial_matches"]]


def test_a_pattern_without_a_view_has_none(http: httpx2.Client) -> None:
    assert http.get(PARTIALS).json() == {"parts": [], "partial_matches": []}


def test_the_nearest_come_with_what_they_bind_and_await(http: httpx2.Client, store: PartialMatchStore) -> None:
    put(store, TWO, ONE)
    found = http.get(PARTIALS).json()
    assert found["parts"] == [
        {
            "part": PART,
            "version": 1,
            "at": "2024-01-01T00:00:00Z",
            "time": 6,
            "position": 17,
            "stored": True,
            "truncated": False,
            "steps": [
                {"name": "L1.1", "edges": ["x"], "alive": 7},
                {"name": "L1.2", "edges": ["x", "y"], "alive": 1},
            ],
        }
    ]
    assert found["partial_matches"][0] == {
        "part": PART,
        "edges": {"x": {"id": "e0", "ts": 3}, "y": {"id": "e2", "ts": 6}},
        "vertices": {"a": "o", "b": "v", "c": "w"},
        "awaited": ["z"],
        "until": 13,
    }
    assert ids(http) == [["e0", "e2"], ["e1"]]


def test_they_are_filtered_by_vertex_and_steps(http: httpx2.Client, store: PartialMatchStore) -> None:
    put(store, TWO, ONE)
    assert ids(http, "?vertex=u") == [["e1"]]
    assert ids(http, "?vertex=v") == [["e0", "e2"], ["e1"]]
    assert ids(http, "?vertex=nowhere") == []
    assert ids(http, "?min_steps=2") == [["e0", "e2"]]
    assert ids(http, "?min_steps=3") == []
    assert ids(http, "?limit=1") == [["e0", "e2"]]


def test_parts_are_merged_and_an_old_version_is_left_out(http: httpx2.Client, store: PartialMatchStore) -> None:
    put(store, ONE, version=2)
    put(store, TWO, part="graphtide.matcher_timing.1/s", version=2)
    put(store, partial(("x", "old", 9)), part="graphtide.matcher_sjtree.0/s", version=1)
    assert ids(http) == [["e0", "e2"], ["e1"]]


def test_views_that_cannot_be_read_are_left_out(http: httpx2.Client, store: PartialMatchStore) -> None:
    put(store, ONE)
    put(store, TWO, part="newer", form=FORMAT + 1)
    put(store, TWO, part="foreign", pattern="another")
    store.put("p", "damaged", b"\xc1\x00", 60)
    store.put("p", "empty", b"", 60)
    assert ids(http) == [["e1"]]


@pytest.mark.parametrize("query", ["?min_steps=0", "?min_steps=65", "?limit=0", "?steps=2"])
def test_wrong_parameters_are_refused(http: httpx2.Client, query: str) -> None:
    assert http.get(f"{PARTIALS}{query}").status_code == 422


def test_they_need_the_scope_of_matches_and_a_pattern(http: httpx2.Client) -> None:
    assert http.get(PARTIALS, headers={"X-API-Key": "patterns"}).status_code == 403
    assert http.get("/api/v1/patterns/q/partial-matches").json()["code"] == "not-found"


def test_an_api_without_redis_says_what_to_set() -> None:
    with serve_store(None) as http:
        for address in (PARTIALS, f"{PARTIALS}:stream"):
            answer = http.get(address)
            assert (answer.status_code, answer.json()["code"]) == (404, "no-partial-matches")
            assert "GRAPHTIDE_ADMIN_API_REDIS" in answer.json()["detail"]


class Gone(MemoryPartialMatches):
    def views(self, pattern: str) -> Mapping[str, bytes]:  # type: ignore[override]
        message = f"Redis: no answer for {pattern}"
        raise TransientError(message)


def test_a_store_that_does_not_answer_costs_these_views_alone() -> None:
    with serve_store(Gone()) as http:
        answer = http.get(PARTIALS)
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert http.get("/api/v1/patterns/p").status_code == 200
        assert http.get("/readyz").status_code == 200


def test_those_that_come_close_are_events_each_once(http: httpx2.Client, store: PartialMatchStore) -> None:
    put(store, ONE)
    with http.stream("GET", f"{PARTIALS}:stream") as answer:
        lines = answer.iter_lines()
        put(store, TWO, ONE)
        seen = [line for line in (next(lines) for _ in range(5)) if line]
        assert seen[:2] == ["retry: 1000", "id: 1"]
        assert seen[2] == "event: partial-match"
        assert msgspec.json.decode(seen[3].removeprefix("data: "))["edges"]["y"]["id"] == "e2"
        assert next(lines) == ""
        put(store, partial(("x", "e0", 3), ("y", "e9", 7)), TWO, ONE)
        assert next(lines) == "id: 2"
