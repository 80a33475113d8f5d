"""The results of graph queries as a stream of edges: one for each result that becomes valid, deleted with what is withdrawn."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import graphtide
import pytest
from graphtide.cli.app import app
from graphtide_core import result_edges
from graphtide_core.edge import Operation
from graphtide_core.match import MatchKind
from graphtide_query import print_pattern
from graphtide_testing.oracles.graph_queries import GraphQueryOracle
from graphtide_testing.records import to_json_lines
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import StreamShape, random_stream
from graphtide_testing.strategies.graph_queries import GraphQueryShape, random_graph_query
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

    from graphtide_core.edge import Edge
    from graphtide_core.graph_query import GraphQuery

STREAM = StreamShape(labels=("a", "b", "c"), vertices=3, max_records=40, negative_ts=False, duplicates=False)
SHAPE = GraphQueryShape(conditions=False, paths=False, wide_answers=False, max_window=20)
NEAR = "GRAPH VIEW near AS ( CONSTRUCT (x)-[:near]->(y) MATCH (x)-/<:a+>/->(y) ON s WINDOW(10ms) )"


def find_expected(query: GraphQuery, edges: tuple[Edge, ...]) -> list[list[tuple[Any, ...]]]:
    """Return what the oracle's results are as edges, by the record that brings them about; a deletion by its edge's time."""
    oracle, born, found = GraphQueryOracle(query), dict[tuple[str, ...], int](), list[list[tuple[Any, ...]]]()
    for edge in edges:
        said: list[tuple[Any, ...]] = []
        for emitted in oracle.push(edge):
            row = tuple(map(str, emitted.row))
            if emitted.kind is MatchKind.MATCH:
                born[row] = int(edge.ts)
                said.append(("insert", int(edge.ts), *row))
            elif emitted.kind is MatchKind.RETRACT and emitted.valid[0] == edge.ts:
                said.append(("delete", int(edge.ts), born.pop(row)))
        found += [said] if said else []
    return found


def as_reported(edges: list[Edge]) -> list[tuple[Any, ...]]:
    times = {edge.id: int(edge.ts) for edge in edges if edge.operation is Operation.INSERT}
    assert len(times) == sum(edge.operation is Operation.INSERT for edge in edges), "no id comes twice"
    return [
        ("delete", int(edge.ts), times[edge.id])
        if edge.operation is Operation.DELETE
        else ("insert", int(edge.ts), edge.source, edge.target)
        for edge in edges
    ]


def test_edges_come_with_results_and_go_with_what_is_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_edges, "_FEW", 2)
    deletions = 0
    for seed in seeds(30):
        rng = random.Random(seed)
        query, edges = random_graph_query(rng, SHAPE), random_stream(rng, STREAM)
        found = as_reported(list(graphtide.match(query, list(edges)).edges()))
        for said in find_expected(query, edges):
            assert sorted(found[: len(said)], key=repr) == sorted(said, key=repr), print_pattern(query)
            found = found[len(said) :]
        assert not found
        deletions += sum(each[0] == "delete" for each in as_reported(list(graphtide.match(query, list(edges)).edges())))
    assert deletions > 10, "something must be withdrawn"


def as_records(edges: list[Edge]) -> list[dict[str, Any]]:
    return [
        {"ts": edge.ts, "op": "delete", "id": edge.id}
        if edge.operation is Operation.DELETE
        else {"ts": edge.ts, "src": edge.source, "dst": edge.target, "label": edge.label, "id": edge.id}
        for edge in edges
    ]


def test_lines_of_edges_are_the_edges_of_the_interface(tmp_path: Path) -> None:
    text, stream, found = tmp_path / "q.gtp", tmp_path / "s.jsonl", tmp_path / "edges.jsonl"
    deletions = 0
    for seed in seeds(30):
        rng = random.Random(seed)
        query, edges = random_graph_query(rng, SHAPE), random_stream(rng, STREAM)
        text.write_text(print_pattern(query))
        stream.write_bytes(to_json_lines(edges))
        run("match", text, stream, "--edges", "--lateness", "0", "--output", found)
        expected = as_records(list(graphtide.match(query, list(edges)).edges()))
        assert [json.loads(line) for line in found.read_text().splitlines()] == expected, print_pattern(query)
        deletions += sum("op" in each for each in expected)
    assert deletions > 10, "something must be withdrawn"


def test_names_in_lines_of_edges_are_json(tmp_path: Path) -> None:
    names = ['"', "\\", "\n", "\x01", "ü", "7", "\u2028"]
    records = [{"ts": at, "src": name, "dst": "a", "label": "a"} for at, name in enumerate(names)]
    (tmp_path / "v.gtp").write_text("GRAPH VIEW one AS ( CONSTRUCT (x)-[:one]->(y) MATCH (x)-[:a]->(y) ON s WINDOW(1ms) )")
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    lines = run("match", tmp_path / "v.gtp", tmp_path / "s.jsonl", "--edges").encode().split(b"\n")
    assert [json.loads(line)["src"] for line in lines if line] == names


def test_what_reads_a_view_reads_its_edges(tmp_path: Path) -> None:
    records = [
        {"ts": 1, "src": "u", "dst": "v", "label": "a", "id": "e1"},
        {"ts": 3, "src": "v", "dst": "w", "label": "a", "id": "e2"},
        {"ts": 5, "op": "delete", "id": "e1"},
    ]
    pattern = "PATTERN p MATCH (x)-[d:near]->(y), (y)-[e:near]->(z) ORDER d < e ON near WINDOW 9ms"
    found = graphtide.match(pattern, graphtide.match(NEAR, records).edges())
    emitted = [(each.kind.value, each.detected_at, dict(each.vertices)) for each in found]
    assert emitted == [("match", 3, {"x": "u", "y": "v", "z": "w"}), ("retract", 5, {"x": "u", "y": "v", "z": "w"})]
    view, stream, edges = tmp_path / "v.gtp", tmp_path / "s.jsonl", tmp_path / "edges.jsonl"
    view.write_text(NEAR)
    stream.write_text("".join(json.dumps(each) + "\n" for each in records))
    run("match", view, stream, "--edges", "--output", edges)
    written = [json.loads(line) for line in to_json_lines(list(graphtide.match(NEAR, records).edges())).splitlines()]
    lines_of = [json.loads(line) for line in edges.read_text().splitlines()]
    assert [each["id"] for each in lines_of] == [each["id"] for each in written]
    assert lines_of[:3] == written[:3]
    (tmp_path / "p.gtp").write_text(pattern)
    lines = run("match", tmp_path / "p.gtp", edges).splitlines()
    assert [json.loads(line)["detected_at"] for line in lines] == [3, 5]


def run(*arguments: object, fails: bool = False) -> str:
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False, env={"COLUMNS": "300"})
    assert (result.exit_code == 2) is fails, result.output
    return result.stderr if fails else result.stdout


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("PATTERN p MATCH (x)-[e]->(y) ON s WINDOW 5", (), "what 'p' reports is not an edge"),
        ("QUERY q Answer(x, y, z) <- a(x, y), a(y, z). ON s WINDOW(5)", (), "what 'q' reports is not an edge"),
        (NEAR, ("--at", "5"), "what is valid at a time is not a stream of edges"),
        (NEAR, ("--output", "x.parquet"), "edges are written as lines"),
    ],
)
def test_what_is_not_a_stream_of_edges_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.gtp").write_text(text)
    (tmp_path / "s.jsonl").write_text('{"ts": 1, "src": "u", "dst": "v", "label": "a"}\n')
    assert said in run("match", "q.gtp", "s.jsonl", "--edges", *options, fails=True)
