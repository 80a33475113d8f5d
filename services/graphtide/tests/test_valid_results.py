"""`match --at`: the results that are valid at an instant are those of the oracle's snapshot, as far as is known by then."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import graphtide
import pytest
from graphtide.cli.app import app
from graphtide_core.match import IntervalMatch, MatchKind, result_id
from graphtide_core.stream_window import WindowKind
from graphtide_core.time import EventTime
from graphtide_core.valid_results import ValidResults
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
    from typer.testing import Result

STREAM = StreamShape(labels=("a", "b", "c"), vertices=4, max_records=30, negative_ts=False)
SHAPE = GraphQueryShape(
    kinds=(WindowKind.EXTERNAL, WindowKind.EXTERNAL, WindowKind.NOW), conditions=False, paths=False, max_window=40
)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False, env={"COLUMNS": "300"})


def valid(folder: Path, at: object, *options: object) -> list[dict[str, Any]]:
    result = run("match", folder / "q.gtp", folder / "s.jsonl", "--at", at, *options)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def find_expected(query: GraphQuery, edges: tuple[Edge, ...], at: int) -> set[tuple[tuple[str, ...], tuple[int, int]]]:
    """Return the rows of the snapshot with their intervals, from the records up to the instant.

    A result that one record of an instant takes away and another brings back begins anew at that instant.
    """
    oracle = GraphQueryOracle(query)
    begun: dict[tuple[str, ...], int] = {}
    for edge in edges:
        if edge.ts <= at:
            begun |= {each.row: each.valid[0] for each in oracle.push(edge) if each.kind is MatchKind.MATCH}
    rows = oracle.snapshot(at)[query.outputs[0].head]
    intervals = {key[1]: each for key, each in oracle.intervals().items()}
    ends = {row: next(end for start, end in intervals[row] if start <= at < end) for row in rows}
    return {(row, (begun[row], end)) for row, end in ends.items()}


def test_what_is_valid_at_an_instant_is_the_snapshot(tmp_path: Path) -> None:
    results = 0
    for seed in seeds(25):
        rng = random.Random(seed)
        query, edges = random_graph_query(rng, SHAPE), random_stream(rng, STREAM)
        (tmp_path / "q.gtp").write_text(print_pattern(query))
        (tmp_path / "s.jsonl").write_bytes(to_json_lines(edges))
        at = int(edges[-1].ts) - rng.randrange(4)
        found = valid(tmp_path, at)
        rows = {((each["src"], each["dst"]) if "src" in each else tuple(each["bindings"].values())): each for each in found}
        assert len(rows) == len(found)
        assert {(row, tuple(each["valid"])) for row, each in rows.items()} == find_expected(query, edges, at)
        for row, each in rows.items():
            assert (each["kind"], each["detected_at"], each["first_ts"]) == ("match", each["valid"][0], each["valid"][0])
            assert each["valid"][0] <= each["last_ts"] <= at
            assert each["query"] == "generated"
            assert each["label"] == "Answer"
            assert each["match_id"] == result_id(query.name, 1, "Answer", row)
        results += len(found)
    assert results > 15, "there must be results"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "q.gtp").write_text("QUERY q near(x, y) <- a+(x, y) AS p. ON s WINDOW(10) RETURN p")
    records = [
        {"ts": 1, "src": "u", "dst": "v", "label": "a", "id": "e1"},
        {"ts": 3, "src": "v", "dst": "w", "label": "a", "id": "e2"},
        {"ts": 5, "src": "u", "dst": "v", "label": "a", "id": "e3"},
        {"ts": 6, "op": "delete", "id": "e3"},
        {"ts": 9, "op": "delete", "id": "e2"},
    ]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    return tmp_path


def test_only_records_up_to_the_instant_count(small: Path) -> None:
    emitted = {
        at: [(each["src"], each["dst"], each["valid"], each.get("path")) for each in valid(small, at)] for at in (0, 5, 6, 9)
    }
    assert emitted[0] == []
    assert emitted[5] == [
        ("u", "v", [1, 15], ["e3"]),
        ("u", "w", [3, 13], ["e3", "e2"]),
        ("v", "w", [3, 13], ["e2"]),
    ]
    # A deletion shortened them: a path reported before may be gone.
    assert emitted[6] == [("u", "v", [1, 11], None), ("u", "w", [3, 11], None), ("v", "w", [3, 13], ["e2"])]
    assert emitted[9] == [("u", "v", [1, 11], None)]
    assert valid(small, "1970-01-01T00:00:00.009Z") == valid(small, 9)
    assert valid(small, 9, "--lateness", 3) == valid(small, 9)


@pytest.mark.parametrize(
    ("at", "options", "said"),
    [
        ("soon", (), "'soon' is not a time of a stream: give ticks, or a date"),
        ("9" * 19, (), "is not a time of a stream"),
        ("5", ("--output", "x.parquet"), "results that are valid at a time are written as lines"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    small: Path, monkeypatch: pytest.MonkeyPatch, at: str, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(small)
    result = run("match", "q.gtp", "s.jsonl", "--at", at, *options)
    assert (result.exit_code, said in result.stderr) == (2, True)


def test_patterns_have_no_results_at_an_instant(small: Path) -> None:
    (small / "q.gtp").write_text("PATTERN p MATCH (x)-[:a]->(y) ON s WINDOW 5")
    result = run("match", small / "q.gtp", small / "s.jsonl", "--at", 5)
    assert (result.exit_code, "only streaming graph queries do" in result.stderr) == (2, True)


def test_results_at_any_instant_are_those_of_all_reports_up_to_it(tmp_path: Path) -> None:
    shape = GraphQueryShape(conditions=False)
    results = paths = 0
    for seed in seeds(10):
        rng = random.Random(seed)
        query, edges = random_graph_query(rng, shape), random_stream(rng, STREAM)
        (tmp_path / "s.jsonl").write_bytes(to_json_lines(edges))
        reports = [*graphtide.match(print_pattern(query), tmp_path / "s.jsonl")]
        for at in sorted({int(edge.ts) for edge in edges})[::4]:
            expected = ValidResults(EventTime(at))
            for report in reports:
                assert isinstance(report, IntervalMatch)
                expected.take(report)
            found = graphtide.match(print_pattern(query), tmp_path / "s.jsonl").valid_at(at)
            assert found == [*expected.results()]
            results += len(found)
            paths += sum(isinstance(each, IntervalMatch) and each.path is not None for each in found)
    assert results > 20
    assert paths


def test_results_that_have_ended_are_dropped_and_others_stay_whole() -> None:
    text = "QUERY q near(x, y) <- a+(x, y) AS p. ON s WINDOW(3) RETURN p"
    records = [{"ts": ts, "src": f"u{ts}", "dst": f"v{ts}", "label": "a", "id": f"e{ts}"} for ts in range(9_000)]
    found = graphtide.match(text, records).valid_at(8_500)
    assert [(each.first_ts, *each.bindings.values(), each.path) for each in found if isinstance(each, IntervalMatch)] == [
        (ts, f"u{ts}", f"v{ts}", (f"e{ts}",)) for ts in (8_498, 8_499, 8_500)
    ]


def test_matches_that_were_handed_on_are_not_taken_again() -> None:
    matches = graphtide.match("PATTERN p MATCH (a)-[x:k]->(b) ON s WINDOW 9", [
        {"ts": ts, "src": "a", "dst": "b", "label": "k"} for ts in range(5)
    ])  # fmt: skip
    assert next(matches).detected_at == 0
    assert matches.to_arrow()["edges.x"].to_pylist() == ["1", "2", "3", "4"]
    assert [*matches] == []
