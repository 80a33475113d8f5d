"""What users ask of a running chart beyond its own test.

They ask for a match of a stream that Spark puts in order, and for a backfill of it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import httpx2

from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_testing.cluster.network import Place

_PATIENCE: Final = 900.0
"""Seconds: what is asked for comes in some, where the pods are not all that a machine runs it comes in minutes."""

_PAIRS: Final = 50
_NAME: Final = "errand"
_TEXT: Final = "PATTERN {name} MATCH (a)-[x:{name}]->(b)-[y:{name}]->(c) ORDER x < y ON {stream} WINDOW 1000"
_LINES: Final = {"content-type": "application/x-ndjson"}


def backfill(edges: Place, control: Place, key: str, stream: str) -> int:
    """Register a pattern, send edges, wait for their live matches, and have them found again in history; return how many.

    Raises:
        AssertionError: what is asked for is refused, or does not come, or is not as much as it should be.
    """
    headers = {"x-api-key": key}
    with (
        httpx2.Client(base_url=_url(edges), headers=headers, timeout=300) as sending,
        httpx2.Client(base_url=_url(control), headers=headers, timeout=300) as asking,
    ):
        _accept(asking.post("/api/v1/patterns", json={"text": _TEXT.format(name=_NAME, stream=stream)}))
        _until(lambda: _got(asking, f"/api/v1/patterns/{_NAME}")["state"] == "running", f"{_NAME} runs")
        _accept(sending.post(f"/api/v1/streams/{stream}/edges", content=_edges(), headers=_LINES))
        _until(lambda: len(_got(asking, f"/api/v1/patterns/{_NAME}/matches?limit=1000")["matches"]) >= _PAIRS, "matches come")
        id = _accept(asking.post(f"/api/v1/patterns/{_NAME}:backfill", json={}))["id"]
        _until(lambda: _got(asking, f"/api/v1/operations/{id}")["state"] not in {"queued", "running"}, "the backfill ends")
        ended = _got(asking, f"/api/v1/operations/{id}")
        assert (ended["state"], ended["matches"]) == ("done", _PAIRS), ended
        return _PAIRS


def _edges() -> bytes:
    """Return pairs of edges, far apart in time. Each pair is one match."""
    lines = []
    for pair in range(_PAIRS):
        for number in range(2):
            ends = {"src": f"v{pair}-{number}", "dst": f"v{pair}-{number + 1}", "label": _NAME}
            lines.append(json.dumps({"id": f"{pair}-{number}", "ts": 10_000 * pair + number, **ends}) + "\n")
    return "".join(lines).encode()


def _url(place: Place) -> str:
    return f"http://{place[0]}:{place[1]}"


def _accept(answer: httpx2.Response) -> dict[str, Any]:
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found


def _got(client: httpx2.Client, path: str) -> dict[str, Any]:
    return _accept(client.get(path))


def _until(holds: Callable[[], bool], what: str) -> None:
    wait_until(holds, _PATIENCE, lambda: what, pause=0.3)
