"""`graphtide dev up` does the backfills that it is asked for, in its one process, over a log in memory or a real Kafka."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from graphtide.dev.deployment import DevOptions, application
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

# Kafka's fixture is named here so that its tests run beside the others that need it.

TEXT = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10m"
PATIENCE = 60.0
NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture(params=["memory", "kafka"])
def client(request: pytest.FixtureRequest) -> Iterator[httpx2.Client]:
    kafka = None if request.param == "memory" else request.getfixturevalue("kafka")
    with serve(application(DevOptions(kafka))) as url, httpx2.Client(base_url=url, timeout=30) as client:
        wait_until(lambda: client.get("/readyz").status_code == 200, PATIENCE)
        yield client


def pays(ts: int, source: str, target: str) -> bytes:
    edge = {"ts": ts, "src": source, "dst": target, "label": "pays", "id": f"{source}{target}"}
    return json.dumps(edge).encode() + b"\n"


def find(client: httpx2.Client) -> Counter[str]:
    """Count the reports of every match."""
    return Counter(each["match"]["match_id"] for each in client.get("/api/v1/patterns/p/matches").json()["matches"])


def test_what_was_reported_is_reported_again(client: httpx2.Client) -> None:
    assert client.post("/api/v1/patterns", json={"text": TEXT}).status_code == 201
    wait_until(lambda: client.get("/api/v1/patterns/p").json()["state"] == "running", PATIENCE)
    lines = pays(1, "a", "b") + pays(2, "b", "c") + pays(3, "c", "d")
    assert client.post("/api/v1/streams/s/edges", content=lines, headers=NDJSON).status_code == 202
    wait_until(lambda: len(find(client)) == 2, PATIENCE)

    asked = client.post("/api/v1/patterns/p:backfill", json={})

    def operation() -> dict[str, Any]:
        said: dict[str, Any] = client.get(asked.headers["location"]).json()
        return said

    wait_until(lambda: operation()["state"] not in {"queued", "running"}, PATIENCE)
    assert (operation()["state"], operation()["edges"], operation()["matches"]) == ("done", 3, 2)
    wait_until(lambda: set(find(client).values()) == {2}, PATIENCE)
