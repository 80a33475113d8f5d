"""The verb `partial`, and the client, against a server that has views of partial matches."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import httpx2
import pytest
from graphtide.cli.app import app
from graphtide.client import Client
from graphtide.server_errors import NotFoundError
from graphtide_admin_api.bootstrap import assemble
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_core.partial_matches import BoundEdge, CountedStep, PartialMatch, PartialMatches
from graphtide_log.memory import MemoryLog
from graphtide_log.partial_matches.memory import MemoryPartialMatches
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.settings import KeySettings
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until
from graphtide_wire.partial_matches import FORMAT, PartialMatchesRecord, encode_partial_matches
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = "PATTERN p MATCH (a)-[x]->(b)-[y]->(c) ORDER x < y ON s WINDOW 10"
ONE = PartialMatch({"x": BoundEdge("e1", 5)}, {"a": "u", "b": "v"}, ("y",), 15)
TWO = PartialMatch({"x": BoundEdge("e2", 4)}, {"a": "o", "b": "w"}, ("y",), 14)


@pytest.fixture
def store() -> MemoryPartialMatches:
    return MemoryPartialMatches()


@pytest.fixture
def url(store: MemoryPartialMatches) -> Iterator[str]:
    keys = [KeySettings(name="root", hash=hash_key("root"), scopes=["admin"])]
    settings = AdminApiSettings(api_keys=keys, requests_per_second=10_000, burst=10_000)
    with serve(assemble(settings, MemoryLog(), store).app) as url:
        wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 200, 60, pause=0.01)
        with Client(url, api_key="root") as client:
            client.register(TEXT)
        yield url


def put(store: MemoryPartialMatches, *nearest: PartialMatch, stored: bool = True, truncated: bool = False) -> None:
    steps = (CountedStep("L1.1", ("x",), 1234), CountedStep("held", (), 7))
    view = PartialMatches(6, stored, truncated, steps, nearest)
    record = PartialMatchesRecord(FORMAT, "p", 1, "m.0/s", datetime(2024, 1, 1, tzinfo=UTC), 17, view)
    store.put("p", "m.0/s", encode_partial_matches(record), 60)


def run(url: str, *arguments: str) -> tuple[list[str], list[str]]:
    """Run the verb; return the ids of what it wrote, and the lines of standard error."""
    ended = CliRunner().invoke(app, ["partial", "p", *arguments, "--server", url, "--api-key", "root"], catch_exceptions=False)
    assert ended.exit_code == 0, ended.output
    return [json.loads(line)["edges"]["x"]["id"] for line in ended.stdout.splitlines()], ended.stderr.splitlines()


def test_partial_writes_the_nearest_and_what_each_step_stores(url: str, store: MemoryPartialMatches) -> None:
    assert run(url) == ([], ["no host has published partial matches of p lately"])
    put(store, ONE, TWO)
    head = "m.0/s at 2024-01-01T00:00:00Z, position 17"
    steps = ["  L1.1 (x): 1,234", "  held: 7"]
    assert run(url) == (["e1", "e2"], [head, *steps])
    assert run(url, "--vertex", "w")[0] == ["e2"]
    assert run(url, "--min-steps", "2")[0] == []
    assert run(url, "--most", "1")[0] == ["e1"]
    put(store, truncated=True)
    assert run(url)[1][0] == f"{head}; there may be nearer ones"
    put(store, stored=False)
    assert run(url)[1][0] == f"{head}; the engine stores no partial matches, these are sizes of what it holds"


def test_partial_watches_those_that_come_close(url: str, store: MemoryPartialMatches) -> None:
    put(store, ONE, TWO)
    assert run(url, "--watch", "--count", "2")[0] == ["e1", "e2"]
    assert run(url, "--watch", "--count", "1", "--vertex", "o", "--min-steps", "1")[0] == ["e2"]


def test_the_client_reads_partial_matches(url: str, store: MemoryPartialMatches) -> None:
    put(store, ONE, TWO)
    with Client(url, api_key="root") as client:
        page = client.partial_matches("p", vertex="u")
        assert [each.edges["x"].id for each in page.partial_matches] == ["e1"]
        assert [each.alive for part in page.parts for each in part.steps] == [1234, 7]
        with pytest.raises(NotFoundError):
            client.partial_matches("q")
