"""Two processes of one identity: the second shuts the first out, and when it is gone, the first takes over again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import httpx2
import pytest
from graphtide_testing.servers.process import free_ports
from graphtide_testing.whole import PATIENCE, Whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Whole]:
    made = Whole(tmp_path)
    made.start()
    yield made
    made.end()


def edges(first: int) -> bytes:
    """Return two edges that complete a match."""
    lines = [
        {"id": f"e{first + n}", "ts": first + n, "src": f"v{first + n}", "dst": f"v{first + n + 1}", "label": "k"}
        for n in (0, 1)
    ]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def is_ready(port: int) -> bool:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
    except httpx2.TransportError:
        return False


def test_a_sequencer_whose_successor_is_gone_takes_over_again(whole: Whole) -> None:
    whole.register("PATTERN two MATCH (a)-[x:k]->(b)-[y:k]->(c) ON s WINDOW 2")
    whole.send("s", edges(0))
    whole.settle("s")
    (port,) = free_ports(1)
    emitted = {"PORT": str(port), "INSECURE": "true", "IDLE_SECONDS": "1.0"}
    successor = whole.deployment.service("ingestion", emitted, instance="-successor")
    successor.start(lambda: is_ready(port))
    whole.send("s", edges(50))
    whole.wait_until(lambda: "stands still since" in whole.edges.get("/readyz").text, "the first says that it was shut out")
    assert whole.edges.get("/livez").status_code == 200
    successor.kill()
    whole.wait_until(lambda: "stands still since" not in whole.edges.get("/readyz").text, "the first takes over", 2 * PATIENCE)
    whole.send("s", edges(100))
    whole.settle("s")
    assert len(whole.matches()) == 3
