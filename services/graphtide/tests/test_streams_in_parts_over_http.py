"""A stream that its statement divides, through all services: patterns find what they find in the same stream in one part."""

from __future__ import annotations

import json
import random
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from graphtide.dev.deployment import DevOptions, application
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 120.0
LOCAL = {
    "paths": "PATTERN {name} MATCH (a)-[x:pay]->(b)-[y:pay]->(c) WHERE x.tenant = y.tenant ORDER x < y ON {stream} WINDOW 60",
    "events": "PATTERN {name} SEQ(x:pay, NOT n:wire, y:pay) PARTITION BY tenant ON {stream} WITHIN 20",
    "query": "QUERY {name} SELECT u AS one, v MATCH (u)-[p:pay]->(v) WHERE p.tenant = 't1' ON {stream} WINDOW(40)",
}
STAR = {"star": "PATTERN {name} MATCH (a)-[x:pay]->(b), (c)-[y:pay]->(b) ORDER x < y ON {stream} WINDOW 40"}
MERGED = {"any": "PATTERN {name} MATCH (a)-[x:pay]->(b)-[y:wire]->(c) ORDER x < y ON {stream} WINDOW 30"}


@pytest.fixture(scope="module")
def http() -> Iterator[httpx2.Client]:
    """All services in one process, with the stream `one` and the stream `many`, which has four parts."""
    with serve(application(DevOptions(low_latency=True))) as url, httpx2.Client(base_url=url, timeout=60) as client:
        clauses = {"one": "", "many": "PARTITION BY tenant PARTS 4", "ends": "PARTITION BY VERTEX PARTS 3"}
        for stream, clause in clauses.items():
            text = f"STREAM {stream} SET tenant = tenant {clause}"
            assert client.put(f"/api/v1/streams/{stream}", json={"text": text}).status_code == 201, stream
        yield client


def edges(count: int, seed: int, at: int = 0) -> bytes:
    """Return edges with given ids, some of them deleted later, and one that is past every window of the others."""
    rng, ts = random.Random(seed), at
    written: list[dict[str, Any]] = []
    for number in range(count):
        ts += rng.choice((0, 1, 1, 2))
        ends = {"src": f"v{rng.randrange(9)}", "dst": f"v{rng.randrange(9)}", "label": rng.choice(("pay", "wire"))}
        written.append({"ts": ts, **ends, "id": f"e{at + number}", "tenant": f"t{rng.randrange(5)}"})
        if rng.random() < 0.1:
            written.append({"ts": ts, "id": f"e{at + rng.randrange(number + 1)}", "op": "delete"})
    written.append({"ts": ts + 1000, "src": "v", "dst": "w", "label": "end", "id": f"end{at}", "tenant": "t0"})
    return b"".join(json.dumps(each).encode() + b"\n" for each in written)


def reports(http: httpx2.Client, name: str) -> list[str]:
    """Return what was reported of a pattern, without what names it, in an order of its own."""
    found = http.get(f"/api/v1/patterns/{name}/matches", params={"limit": 1000}).json()["matches"]
    own = ({key: value for key, value in each["match"].items() if key not in {"match_id", "query", "nth"}} for each in found)
    return sorted(json.dumps(each, sort_keys=True) for each in own)


def matches_of(http: httpx2.Client, name: str) -> int | None:
    """Return how many matches a pattern had; None as long as nothing was counted."""
    counted = http.get(f"/api/v1/patterns/{name}").json()["figures"]
    return None if counted is None else int(counted["matches"])


def finds_the_same(http: httpx2.Client, name: str, stream: str = "many") -> bool:
    """Whether a pattern found something, and the same in a stream in parts as in one."""
    one = reports(http, f"{name}_one")
    return bool(one) and reports(http, f"{name}_{stream}") == one


def backfill(http: httpx2.Client, name: str, since: int = 0) -> dict[str, Any]:
    """Search history for a pattern; return what is said of that when it is done."""
    operation = http.post(f"/api/v1/patterns/{name}:backfill", json={"from": since}).json()["id"]
    wait_until(lambda: http.get(f"/api/v1/operations/{operation}").json()["state"] in {"done", "failed"}, PATIENCE)
    found: dict[str, Any] = http.get(f"/api/v1/operations/{operation}").json()
    assert found["state"] == "done", found
    return found


def test_patterns_find_in_four_parts_what_they_find_in_one(http: httpx2.Client) -> None:
    patterns = LOCAL | MERGED
    for name, text in patterns.items():
        for stream in ("one", "many"):
            whole = text.format(name=f"{name}_{stream}", stream=stream)
            answer = http.post("/api/v1/patterns", json={"text": whole})
            assert answer.status_code == 201, answer.text
            assert answer.json()["stream"] == stream
    names = [f"{name}_{stream}" for name in patterns for stream in ("one", "many")]
    wait_until(lambda: all(http.get(f"/api/v1/patterns/{name}").json()["state"] == "running" for name in names), PATIENCE)
    for stream in ("one", "many"):
        answer = http.post(
            f"/api/v1/streams/{stream}/edges", content=edges(200, 1), headers={"content-type": "application/x-ndjson"}
        )
        assert answer.status_code == 202
    for name in patterns:
        wait_until(partial(finds_the_same, http, name), PATIENCE)
    # The numbers are those of all parts together.
    wait_until(lambda: matches_of(http, "paths_many") == matches_of(http, "paths_one"), PATIENCE)
    parts = http.get("/api/v1/patterns/paths_many").json()["parts"]
    assert [(each["part"], each["state"], each["placement"] is not None) for each in parts] == [
        (number, "running", True) for number in range(4)
    ]
    assert http.get("/api/v1/patterns/any_many").json()["parts"] == []
    (place,) = [
        each["place"] for each in http.get("/api/v1/patterns/paths_many/matches", params={"limit": 1}).json()["matches"]
    ]
    shown = http.get(f"/api/v1/patterns/paths_many/matches/{place}").json()
    assert {name: each["id"] for name, each in shown["edges"].items()} == shown["match"]["edges"]


@pytest.mark.parametrize("name", ["paths", "any", "query"])
def test_a_backfill_finds_in_the_history_of_the_parts_what_it_finds_in_one(http: httpx2.Client, name: str) -> None:
    found = [backfill(http, f"{name}_{stream}") for stream in ("one", "many")]
    assert found[0]["matches"] > 0
    assert found[1]["matches"] == found[0]["matches"]


def test_patterns_find_by_vertex_what_they_find_in_one(http: httpx2.Client) -> None:
    """A star runs around its vertex in each part, and a path reads the parts merged; an edge is in two of them."""
    texts = STAR | {"path": MERGED["any"]}
    for name, text in texts.items():
        for stream in ("one", "ends"):
            whole = text.format(name=f"{name}_{stream}", stream=stream)
            assert http.post("/api/v1/patterns", json={"text": whole}).status_code == 201
    names = [f"{name}_{stream}" for name in texts for stream in ("one", "ends")]
    wait_until(lambda: all(http.get(f"/api/v1/patterns/{name}").json()["state"] == "running" for name in names), PATIENCE)
    body = edges(150, 2, at=1_000_000)
    for stream in ("one", "ends"):
        answer = http.post(f"/api/v1/streams/{stream}/edges", content=body, headers={"content-type": "application/x-ndjson"})
        assert answer.status_code == 202
    for name in texts:
        wait_until(partial(finds_the_same, http, name, "ends"), PATIENCE)
        found = [backfill(http, f"{name}_{stream}", 1_000_000)["matches"] for stream in ("one", "ends")]
        assert found[1] == found[0] > 0
    for name in names:
        assert http.delete(f"/api/v1/patterns/{name}", headers={"If-Match": "*"}).status_code == 204


def test_parts_are_shown_as_one_stream(http: httpx2.Client) -> None:
    assert [each["name"] for each in http.get("/api/v1/streams").json()["streams"]] == ["ends", "many", "one"]
    shown, one = http.get("/api/v1/streams/many").json(), http.get("/api/v1/streams/one").json()
    assert (shown["parts"], one["parts"]) == (4, None)
    assert shown["standing"]["read"] == edges(200, 1).count(b"\n")
    assert shown["patterns"] == sorted(f"{name}_many" for name in LOCAL | MERGED)


def test_a_stream_is_not_divided_otherwise_while_patterns_read_it(http: httpx2.Client) -> None:
    for text in ("STREAM many SET tenant = tenant PARTITION BY tenant PARTS 8", "STREAM many SET tenant = tenant"):
        answer = http.put("/api/v1/streams/many", json={"text": text})
        assert (answer.status_code, answer.json()["code"]) == (409, "stream-in-use")
        assert "paths_many" in answer.json()["detail"]
    assert http.delete("/api/v1/streams/many/statement").status_code == 409
    same = "STREAM many SET tenant = tenant, more = more PARTITION BY tenant PARTS 4"
    assert http.put("/api/v1/streams/many", json={"text": same}).status_code == 200


def test_what_is_valid_is_not_put_together_from_parts(http: httpx2.Client) -> None:
    answer = http.get("/api/v1/patterns/query_many/results", params={"at": 10})
    assert (answer.status_code, answer.json()["code"]) == (409, "results-in-parts")


def test_patterns_stop_in_every_part_and_the_stream_goes_with_its_parts(http: httpx2.Client) -> None:
    for name in LOCAL | MERGED:
        assert http.delete(f"/api/v1/patterns/{name}_many", headers={"If-Match": "*"}).status_code == 204
    wait_until(lambda: http.delete("/api/v1/streams/many").status_code in {204, 404}, PATIENCE, pause=0.5)
    assert [each["name"] for each in http.get("/api/v1/streams").json()["streams"]] == ["ends", "one"]
