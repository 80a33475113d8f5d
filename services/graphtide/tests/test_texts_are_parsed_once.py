"""A process parses the text of a pattern once, and hands on what it parsed."""

from __future__ import annotations

import json
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Final

import graphtide
import pytest
from fastapi.testclient import TestClient
from graphtide.cli.app import app
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, StreamName, VertexId
from graphtide_core.time import EventTime
from graphtide_planner.application.planner import Planner
from graphtide_planner.domain.planning import PlanningPolicy
from graphtide_query.language import parser
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.settings import KeySettings
from graphtide_serving.clock import SystemClock
from graphtide_testing.host_world import TOPICS, HostWorld
from graphtide_testing.waiting import wait_until
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_query.language.dialect import Dialect

TEXTS: Final = {
    "matcher_timing": "PATTERN {} MATCH (a)-[e:x]->(b) ON flows WINDOW 10",
    "matcher_simulation": "PATTERN {} MATCH (a)-[e:x]->(b) UNDER DUAL SIMULATION ON flows WINDOW 10",
    "matcher_event_pattern": "PATTERN {} SEQ(a:x, b:y) ON flows WITHIN 10",
    "matcher_algebra": "QUERY {} CONSTRUCT (a)-[:r]->(b) MATCH (a)-[:x]->(b) ON flows WINDOW(10)",
}
"""A text of each family, by the service that matches it."""

EDGES: Final = [
    Edge(EdgeId("1"), EventTime(1), VertexId("a"), VertexId("b"), "x"),
    Edge(EdgeId("2"), EventTime(2), VertexId("b"), VertexId("c"), "y"),
]
_NUMBERS: Final = count()


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each text is parsed."""
    found, parse_text = Counter[str](), parser.parse_text

    def counted(text: str, dialects: tuple[Dialect, ...] = ()) -> tuple[AnyPattern, ...]:
        found[text] += 1
        return parse_text(text, dialects)

    monkeypatch.setattr(parser, "parse_text", counted)
    return found


def fresh(service: str) -> tuple[str, str]:
    """Return a name and a text that no test parsed before."""
    name = f"once{next(_NUMBERS)}"
    return name, TEXTS[service].format(name)


@pytest.mark.parametrize("command", ["match", "explain", "validate"])
@pytest.mark.parametrize("service", TEXTS)
def test_a_command_parses_its_file_once(parsed: Counter[str], tmp_path: Path, service: str, command: str) -> None:
    _, text = fresh(service)
    patterns, stream = tmp_path / "p.gtq", tmp_path / "flows.jsonl"
    patterns.write_text(text, "utf-8")
    lines = [json.dumps({"ts": each.ts, "src": each.source, "dst": each.target, "label": each.label}) for each in EDGES]
    stream.write_text("\n".join(lines), "utf-8")
    more = {"match": [str(stream)], "explain": ["--analyze", str(stream)], "validate": []}[command]
    ended = CliRunner().invoke(app, [command, str(patterns), *more], catch_exceptions=False)
    assert ended.exit_code == 0, ended.output
    assert parsed == {text: 1}


@pytest.mark.parametrize("service", TEXTS)
def test_python_parses_a_text_once_however_often_it_is_given(parsed: Counter[str], service: str) -> None:
    _, text = fresh(service)
    for _ in range(3):
        list(graphtide.match(text, EDGES))
    assert parsed == {text: 1}


@pytest.mark.parametrize("service", TEXTS)
def test_services_of_one_process_parse_a_text_once(parsed: Counter[str], service: str) -> None:
    name, text = fresh(service)
    world = HostWorld(StreamName("flows"), service=service)
    key = KeySettings(name="root", hash=hash_key("root"), scopes=["admin"])
    settings = AdminApiSettings(prefix="test", api_keys=[key], requests_per_second=10_000, burst=10_000)
    planner = Planner(world.log, TOPICS, SystemClock(), PlanningPolicy())
    planner.open()

    with TestClient(admin_api(settings, world.log), headers={"X-API-Key": "root"}) as client:

        def is_running() -> bool:
            planner.step()
            world.live(1)
            return bool(client.get(f"/api/v1/patterns/{name}").json()["state"] == "running")

        wait_until(lambda: client.get("/readyz").status_code == 200, 10, pause=0.01)
        assert client.post("/api/v1/patterns:validate", json={"text": text}).json()["valid"]
        assert client.post("/api/v1/patterns", json={"text": text}).status_code == 201
        wait_until(is_running, 10, pause=0.01)
        world.send(EDGES)
        world.settle()
        assert client.get(f"/api/v1/patterns/{name}/plan").status_code == 200
        changed = client.patch(
            f"/api/v1/patterns/{name}",
            content=json.dumps({"limits": {"partial_matches": 7}}),
            headers={"If-Match": "*", "Content-Type": "application/merge-patch+json"},
        )
        assert changed.status_code == 200, changed.text
        world.host = None
        wait_until(is_running, 10, pause=0.01)
    assert parsed == {text: 1}
