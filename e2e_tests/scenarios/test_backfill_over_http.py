"""A backfill asked for over HTTP, on real servers and a real Spark: its matches are the live ones again, marked, each once.

The service is killed in the middle of one, and continues it when it comes back; another one is cancelled.
"""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import graphtide
import pytest
from graphtide_testing.whole import Whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from confluent_kafka import Message

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

CHAIN = "PATTERN chain MATCH (a)-[x:x]->(b)-[y:y]->(c) ORDER x < y ON s WINDOW 9"
EDGES = 2_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the service keeps finished slices."""
    return tmp_path / "slices"


@pytest.fixture
def whole(tmp_path: Path, folder: Path) -> Iterator[Whole]:
    """A deployment that reported the matches of a stream, with a service for backfills."""
    made = Whole(tmp_path)
    made.start()
    made.add("backfill", {"MASTER": "local[1]", "EXECUTOR_MEMORY": "1g", "FOLDER": str(folder)})
    made.register(CHAIN)
    answer = made.send("s", "".join(json.dumps(edge) + "\n" for edge in edges()).encode())
    assert answer["rejected"] == 0
    made.settle("s")
    yield made
    made.end()


def edges() -> list[dict[str, object]]:
    rng = Random(3)
    made: list[dict[str, object]] = []
    for place in range(EDGES):
        source, target = rng.sample("abcdefgh", 2)
        made.append({"id": f"e{place}", "ts": place, "src": source, "dst": target, "label": rng.choice("xy")})
    return made


def ask(whole: Whole) -> str:
    """Ask for a backfill of all history; return the operation's id."""
    answer = whole.control.post("/api/v1/patterns/chain:backfill", json={})
    assert answer.status_code == 202, answer.text
    found: str = answer.json()["id"]
    assert answer.headers["location"] == f"/api/v1/operations/{found}"
    return found


def operation(whole: Whole, id: str) -> dict[str, Any]:
    found: dict[str, Any] = whole.control.get(f"/api/v1/operations/{id}").json()
    return found


def end(whole: Whole, id: str) -> dict[str, Any]:
    """Follow an operation to its end."""
    whole.wait_until(lambda: operation(whole, id)["state"] in {"done", "failed", "cancelled"}, f"operation {id} ends")
    return operation(whole, id)


def live_and_backfilled(messages: list[Message]) -> tuple[Counter[str], Counter[str]]:
    """Count the events of matches by their ids."""
    live, backfilled = Counter[str](), Counter[str]()
    for message in messages:
        headers = dict(message.headers() or [])
        id, mark = headers["ce_id"], headers.get("graphtide-backfilled")
        assert isinstance(id, bytes)
        assert mark in {None, b"true"}
        (live if mark is None else backfilled)[id.decode()] += 1
    return live, backfilled


@pytest.mark.slow
def test_a_backfill_reports_every_live_match_again_once_and_another_is_cancelled(whole: Whole) -> None:
    done = end(whole, ask(whole))
    assert (done["state"], done["edges"], done["slices"], done["slices_done"]) == ("done", EDGES, 3, 3)
    live, backfilled = live_and_backfilled(whole.match_messages())
    assert done["matches"] == len(list(graphtide.match(graphtide.parse(CHAIN), edges()))) > 100
    assert backfilled == live
    assert set(live.values()) == {1}

    running, queued = ask(whole), ask(whole)
    whole.wait_until(lambda: operation(whole, running)["state"] == "running", "the next is begun")
    assert operation(whole, queued)["state"] == "queued"
    for id in (running, queued):
        assert whole.control.delete(f"/api/v1/operations/{id}").json()["state"] == "cancelling"
    assert [end(whole, id)["state"] for id in (running, queued)] == ["cancelled", "cancelled"]


@pytest.mark.slow
def test_a_backfill_whose_service_is_killed_goes_on_and_reports_every_match_once(whole: Whole, folder: Path) -> None:
    id, service = ask(whole), whole.services["backfill"]
    whole.wait_until(lambda: any(folder.glob(f"{id}/slices/[0-9]*.parquet")), "a slice is finished")
    service.kill()
    assert operation(whole, id)["state"] == "running"
    service.start()
    assert end(whole, id)["state"] == "done"
    live, backfilled = live_and_backfilled(whole.match_messages())
    assert backfilled == live
    assert set(live.values()) == {1}
    assert list(folder.iterdir()) == []
