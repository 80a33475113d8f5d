"""A family is one object in a dict: a toy that is added to it is matched wherever patterns are, with no other edit."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import graphtide
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient
from graphtide.cli.app import app
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_backfill.domain.blocks import cut
from graphtide_backfill.domain.matching import SliceMatching
from graphtide_backfill.domain.slices import slices_at
from graphtide_backfill.domain.task import Task
from graphtide_core.edge import Edge, Operation
from graphtide_core.errors import InvalidPatternError, InvalidQueryError
from graphtide_core.ids import EdgeId, StreamName, VertexId
from graphtide_core.match import SubgraphMatch
from graphtide_core.plans import SearchPlan
from graphtide_core.ports.log import TopicPartition
from graphtide_core.time import EventTime
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_matcher_host.checkpointing import Checkpointer
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.stages import WHOLE
from graphtide_planner.application.planner import Planner
from graphtide_planner.domain.planning import PlanningPolicy
from graphtide_query import parse, print_pattern
from graphtide_query.families import FAMILIES, SERVICES, VARIANTS, is_pattern
from graphtide_query.planner import plan
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.settings import KeySettings
from graphtide_serving.clock import SystemClock
from graphtide_testing.host_world import TOPICS, HostWorld
from graphtide_testing.labelled import ENGINE, LABELLED, LabelPattern, LabelScan
from graphtide_testing.waiting import wait_until
from graphtide_wire.plans import form_of
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from graphtide_core.match import Match

PAYMENTS: Final = StreamName("payments")
TEXT: Final = "PATTERN paid LABELLED pays ON payments WINDOW 10"
BESIDE: Final = "PATTERN chain MATCH (a)-[x:pays]->(b)-[y:owes]->(c) ORDER x < y ON payments WINDOW 10"
OWES: Final = TEXT.replace("pays", "owes")


def edge(number: int, label: str, source: str, target: str) -> Edge:
    return Edge(EdgeId(f"p{number}"), EventTime(number), VertexId(source), VertexId(target), label)


STREAM: Final = (
    edge(1, "pays", "a", "b"),
    edge(2, "owes", "b", "c"),
    edge(3, "pays", "c", "c"),
    edge(4, "pays", "a", "b"),
)


DELETED: Final = replace(STREAM[0], ts=EventTime(5), operation=Operation.DELETE)


def match_of(match: Match) -> tuple[str, str]:
    assert isinstance(match, SubgraphMatch)
    return match.kind.value, str(match.edges["edge"])


def find_expected(label: str = "pays") -> list[str]:
    """Return the edges with the label: the definition, which is its own oracle."""
    return [str(each.id) for each in STREAM if each.label == label]


def lines() -> str:
    records = ({"ts": each.ts, "src": each.source, "dst": each.target, "label": each.label, "id": each.id} for each in STREAM)
    return "".join(json.dumps(each) + "\n" for each in records)


@pytest.fixture(autouse=True)
def _added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAMILIES, LABELLED.name, LABELLED)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "payments.jsonl").write_text(lines(), "utf-8")
    (tmp_path / "paid.gtq").write_text(f"{TEXT}\n{BESIDE}\n", "utf-8")
    return tmp_path


def run(folder: Path, *line: str) -> str:
    places = [str(folder / each) if (folder / each).is_file() else each for each in line]
    ended = CliRunner().invoke(app, places, catch_exceptions=False, env={"COLUMNS": "200"})
    assert ended.exit_code == 0, ended.output
    return ended.stdout


def find(records: list[dict[str, Any]], query: str) -> list[str]:
    return [each["edges"]["edge"] for each in records if each["query"] == query]


# ---- text


def test_its_patterns_are_written_in_one_text_with_those_of_others() -> None:
    paid, chain = parse(f"{TEXT} {BESIDE}")
    assert isinstance(paid, LabelPattern)
    assert (chain.family, is_pattern(paid)) == ("isomorphism", True)
    assert parse(print_pattern(paid)) == (paid,)


def test_errors_of_a_text_name_what_it_takes() -> None:
    with pytest.raises(InvalidPatternError) as error:
        parse("PATTERN paid LABELED pays ON payments WINDOW 10")
    assert error.value.expected == ("MATCH", "SEQ", "AND", "OR", "LABELLED")


def test_its_engine_is_for_its_patterns_alone() -> None:
    (paid,), (chain,) = parse(TEXT), parse(BESIDE)
    assert (VARIANTS[ENGINE], SERVICES[ENGINE]) == ((), "matcher_timing")
    with pytest.raises(InvalidQueryError, match="the engine timing is not for labelled edges, as 'paid' is; one of auto"):
        plan(paid, "timing")
    with pytest.raises(InvalidQueryError, match="the engine label-scan is not for patterns under isomorphism, as 'chain' is"):
        plan(chain, ENGINE)
    with pytest.raises(ValueError, match="does not match patterns of the family of 'chain'"):
        FAMILIES["isomorphism"].hosted(chain, LabelScan())


# ---- in one process


def test_it_is_matched_by_the_command_line(folder: Path) -> None:
    records = [json.loads(line) for line in run(folder, "match", "paid.gtq", "payments.jsonl").splitlines()]
    assert find(records, "paid") == find_expected()
    assert [each["edges"] for each in records if each["query"] == "chain"] == [{"x": "p1", "y": "p2"}]


def test_it_is_validated_by_the_command_line(folder: Path) -> None:
    assert "paid" in run(folder, "validate", "paid.gtq")


def test_it_is_explained_by_the_command_line(folder: Path) -> None:
    text = run(folder, "explain", "paid.gtq", "--analyze", "payments.jsonl")
    assert "edges labelled pays" in text
    assert "share: 75%" in text


@pytest.mark.parametrize("format", ["text", "json", "dot", "mermaid", "svg", "html"])
def test_it_is_explained_in_every_format(folder: Path, format: str) -> None:
    text = run(folder, "explain", "paid.gtq", "--analyze", "payments.jsonl", "--format", format)
    assert "edges labelled pays" in text


def test_its_matches_are_written_as_a_table(folder: Path) -> None:
    run(folder, "match", "paid.gtq", "payments.jsonl", "--output", str(folder / "found.parquet"))
    table = pq.read_table(folder / "found.parquet").to_pylist()
    assert [each["edges.edge"] for each in table if each["query"] == "paid"] == find_expected()


def test_it_is_searched_for_in_slices_of_history() -> None:
    task = Task(parse(TEXT))
    batch = JsonLinesDecoder(Symbols(), task.attributes, {}).decode(lines().encode())
    slices = slices_at([1, 3, 5])
    blocks = list(cut(batch, slices, task.window, place=0, settled=WHOLE))
    records: list[list[dict[str, Any]]] = []
    for each in slices:
        own = [block for block in blocks if block.slice == each.number]
        parts = SliceMatching(task, each, deletions=False).matches(own)
        records.append([json.loads(record.json) for part in parts for record in part])
    assert [find(each, "paid") for each in records] == [["p1"], ["p3", "p4"]]


def test_it_is_matched_in_python() -> None:
    # Parsed in here, where it is known; patterns that are parsed are taken as texts are.
    for given in (TEXT, parse(TEXT)[0], list(parse(TEXT))):
        assert [match_of(each) for each in graphtide.match(given, STREAM)] == [("match", each) for each in find_expected()]


def test_its_matches_are_retracted_where_an_edge_is_deleted() -> None:
    found = [match_of(each) for each in graphtide.match(TEXT, [*STREAM, DELETED])]
    assert found == [*(("match", each) for each in find_expected()), ("retract", "p1")]


# ---- on a host


def start_host() -> HostWorld:
    world = HostWorld(PAYMENTS)
    world.plan(parse(TEXT)[0], ENGINE, start=0)
    world.plan(parse(BESIDE)[0], "timing", start=0)
    return world


def send(world: HostWorld, *edges: Edge) -> None:
    for each in edges:
        world.send([each])
    world.settle()


def list_matches(world: HostWorld, name: str = "paid") -> list[tuple[str, str]]:
    reader = world.log.reader(None)
    reader.assign({TopicPartition(TOPICS.matches, 0): 0})
    records = [json.loads(record.value or b"") for record in reader.poll(0, 10**6)]
    return [(each["kind"], each["edges"]["edge"]) for each in records if each["query"] == name]


def test_its_plan_is_sent_as_it_is() -> None:
    plans = world_plans(start_host())
    assert plans["paid"]["engine"] == ENGINE
    assert plans["paid"]["plan"] == {"physical": {"engine": ENGINE, "share": 1.0}, "considered": []}


def world_plans(world: HostWorld) -> dict[str, Any]:
    reader = world.log.reader(None)
    reader.assign({TopicPartition(TOPICS.plans, 0): 0})
    return {str(each["name"]): each for each in (json.loads(record.value or b"") for record in reader.poll(0, 10**6))}


@pytest.mark.parametrize("keeps_checkpoint", [True, False])
def test_a_host_that_is_restarted_continues_with_it(*, keeps_checkpoint: bool) -> None:
    world = start_host()
    send(world, *STREAM[:2])
    kept = Checkpointer(world.checkpoints, f"{world.new_host().name}.{PAYMENTS}").load()
    assert kept is not None
    world.host, world.checkpoints = None, world.checkpoints if keeps_checkpoint else MemoryCheckpoints()
    send(world, *STREAM[2:], DELETED)
    assert world.states() == {"paid": "running", "chain": "running"}
    assert list_matches(world) == [*(("match", each) for each in find_expected()), ("retract", "p1")]


def test_it_joins_and_leaves_a_pass_and_changes_its_plan_while_others_run() -> None:
    world = start_host()
    send(world, *STREAM[:1])
    world.plan(parse(TEXT.replace("paid", "late"))[0], ENGINE)
    world.plan(parse(TEXT)[0], ENGINE, plan=form_of(LabelScan(0.5)), start=0)
    send(world, *STREAM[1:3])
    world.forget(parse(TEXT)[0])
    send(world, *STREAM[3:])
    assert list_matches(world) == [("match", "p1"), ("match", "p3")]
    assert list_matches(world, "late") == [("match", "p3"), ("match", "p4")]
    assert world.said()["late"].version == 1


def test_a_plan_of_another_engine_is_refused_by_name() -> None:
    world = HostWorld(PAYMENTS)
    world.plan(parse(TEXT)[0], ENGINE, plan=form_of(SearchPlan(((0,),))))
    send(world)
    said = world.said()["paid"]
    assert (said.state, said.reason) == ("failed", "the engine re-search does not match patterns of the family of 'paid'")


# ---- over HTTP


@pytest.fixture
def http() -> Iterator[tuple[HostWorld, TestClient]]:
    world = HostWorld(PAYMENTS)
    key = KeySettings(name="root", hash=hash_key("root"), scopes=["admin"])
    settings = AdminApiSettings(prefix="test", api_keys=[key], requests_per_second=10_000, burst=10_000)
    with TestClient(admin_api(settings, world.log), headers={"X-API-Key": "root"}) as client:
        wait_until(lambda: client.get("/readyz").status_code == 200, 10, pause=0.01)
        yield world, client


def test_it_is_registered_planned_matched_and_explained_over_http(http: tuple[HostWorld, TestClient]) -> None:
    world, client = http
    assert client.post("/api/v1/patterns", json={"text": TEXT, "engine": "timing"}).json()["code"] == "unknown-engine"
    registered = client.post("/api/v1/patterns", json={"text": TEXT})
    assert registered.status_code == 201, registered.text

    planner = Planner(world.log, TOPICS, SystemClock(), PlanningPolicy())
    planner.open()

    def is_running() -> bool:
        planner.step()
        world.live(1)
        return bool(client.get("/api/v1/patterns/paid").json()["state"] == "running")

    wait_until(is_running, 10, pause=0.01)
    send(world, *STREAM)
    assert list_matches(world) == [("match", each) for each in find_expected()]

    described = client.get("/api/v1/patterns/paid").json()
    assert (described["name"], described["stream"], described["text"]) == ("paid", "payments", TEXT)
    wait_until(
        lambda: len(client.get("/api/v1/patterns/paid/matches").json()["matches"]) == len(find_expected()), 10, pause=0.01
    )
    (explained,) = [client.get("/api/v1/patterns/paid/plan").json()]
    assert (explained["engine"], explained["nodes"][0]["does"]) == (ENGINE, "edges labelled pays")
    assert "edges labelled pays" in client.get("/api/v1/patterns/paid/plan", params={"format": "text"}).text
    assert client.get("/api/v1/patterns/paid/statistics").status_code == 200
    assert client.get("/api/v1/patterns/paid/results").json()["code"] == "no-graph-query"

    changed = client.put("/api/v1/patterns/paid", json={"text": OWES}, headers={"If-Match": "*"})
    assert changed.status_code == 200, changed.text


def test_it_is_summed_up_and_tried_over_http(http: tuple[HostWorld, TestClient]) -> None:
    _, client = http
    validated = client.post("/api/v1/patterns:validate", json={"text": f"{TEXT} {BESIDE}"}).json()
    summary = validated["patterns"][0]
    assert (summary["window"], summary["edges"], summary["vertices"]) == ("10", ["edge"], ["source", "target"])
    assert parse(summary["canonical"]) == parse(TEXT)
    edges = [json.loads(line) for line in lines().splitlines()]
    tried = client.post("/api/v1/patterns:simulate", json={"text": TEXT, "edges": edges}).json()
    assert [each["edges"]["edge"] for each in tried["matches"]] == find_expected()
    assert tried["engines"] == {"paid": ENGINE}
