"""Streaming graph queries on the command line and in Python: results, paths, tables, EXPLAIN, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide.cli.app import app
from graphtide_core.errors import InvalidPatternError, InvalidQueryError
from graphtide_core.match import IntervalMatch
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

NOTIFY = """
PATH RL = (u1)-/ <:follows^*> /->(u2),
          (u1)-[:likes]->(m1)<-[:posts]-(u2)
CONSTRUCT (u) -[:notify]-> (m)
MATCH (u)-/ p<~RL*> /->(v),
      (v)-[:posts]->(m),
ON social_stream WINDOW(24h) SLIDE(1h)
RETURN p
"""

HOUR = 3_600_000
ROWS = [
    {"ts": hour * HOUR, "id": f"e{hour}", "src": source, "dst": target, "label": label}
    for hour, (source, target, label) in enumerate(
        (("ann", "bob", "follows"), ("bob", "song", "posts"), ("ann", "song", "likes"), ("bob", "poem", "posts")), 1
    )
]


def run_query(text: str = NOTIFY, rows: list[dict[str, object]] | None = None) -> list[IntervalMatch]:
    found = graphtide.match(text, ROWS if rows is None else rows)
    return [each for each in found if isinstance(each, IntervalMatch)]


def test_figure_6_runs_as_printed_and_returns_its_paths() -> None:
    first, second = run_query()
    assert (first.query, first.label, first.source, first.target) == ("notify", "notify", "ann", "song")
    assert (first.valid, first.detected_at) == ((3 * HOUR, 25 * HOUR), 3 * HOUR)
    assert second.target == "poem"
    assert [(step.label, step.source, step.target) for step in first.path or () if not isinstance(step, str)] == [
        ("RL", "ann", "bob")
    ]


def test_the_record_of_a_result_is_that_of_the_object(tmp_path: Path) -> None:
    query, stream, output = tmp_path / "q.gcore", tmp_path / "s.jsonl", tmp_path / "out.jsonl"
    query.write_text(NOTIFY)
    stream.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    ended = CliRunner().invoke(app, ["match", str(query), str(stream), "--output", str(output)])
    assert ended.exit_code == 0, ended.output
    records = [json.loads(line) for line in output.read_text().splitlines()]
    found = run_query()
    assert [record["match_id"] for record in records] == [each.match_id for each in found]
    assert records[0] == {
        "match_id": found[0].match_id,
        "query": "notify",
        "kind": "match",
        "detected_at": 3 * HOUR,
        "first_ts": 3 * HOUR,
        "last_ts": 3 * HOUR,
        "src": "ann",
        "dst": "song",
        "label": "notify",
        "valid": [3 * HOUR, 25 * HOUR],
        "path": [{"label": "RL", "src": "ann", "dst": "bob"}],
    }


def test_an_answer_of_another_arity_has_bindings_and_paths_of_edges_have_their_ids() -> None:
    text = "Answer(x, y, m) <- follows+(x, y) as P, posts(y, m). ON s WINDOW(24h) RETURN P"
    (first, second) = run_query(text)
    assert first.bindings == {"x": "ann", "y": "bob", "m": "song"}
    assert (first.path, second.path) == (("e1",), ("e1",))


def test_results_are_withdrawn_with_what_they_rest_on_and_extended_by_what_supports_them() -> None:
    text = "Answer(x, y) <- follows+(x, y). ON s WINDOW(24h)"
    again = [
        {"ts": 2 * HOUR, "id": "f", "src": "ann", "dst": "bob", "label": "follows"},
        {"ts": 3 * HOUR, "id": "f", "op": "delete"},
        {"ts": 4 * HOUR, "id": "e1", "op": "delete"},
    ]
    kinds = [(each.kind.value, each.valid) for each in run_query(text, [ROWS[0], *again])]
    assert kinds == [
        ("match", (HOUR, 25 * HOUR)),
        ("extend", (2 * HOUR, 26 * HOUR)),
        ("retract", (25 * HOUR, 26 * HOUR)),
        ("retract", (4 * HOUR, 25 * HOUR)),
    ]


def test_reported_results_of_internal_windows_stay() -> None:
    text = "Answer(x, y) <- follows+(x, y). ON s WINDOW(24h) INTERNAL"
    rows = [{"ts": ts * HOUR, "src": "ann", "dst": "bob", "label": "follows"} for ts in (1, 2, 60)]
    assert [(each.kind.value, each.valid) for each in run_query(text, rows)] == [
        ("match", (HOUR, None)),
        ("match", (60 * HOUR, None)),
    ]


def test_a_table_of_results_has_their_validity_and_their_paths() -> None:
    table = graphtide.match(NOTIFY, ROWS).to_arrow()
    assert table.column("vertices.u").to_pylist() == ["ann", "ann"]
    assert table.column("label").to_pylist() == ["notify", "notify"]
    (first, _) = table.column("path").to_pylist()
    assert [json.loads(step) for step in first] == [{"label": "RL", "src": "ann", "dst": "bob"}]
    assert [each.timestamp() for each in table.column("valid_to").to_pylist()] == [25 * 3600, 25 * 3600]


def test_explain_shows_expressions_and_operators_with_what_they_held() -> None:
    plain = str(graphtide.explain(NOTIFY))
    assert plain.startswith("notify: engine s-path")
    assert "PATH[" in plain
    seen = str(graphtide.explain(NOTIFY, analyze=ROWS))
    assert "scan follows of social_stream" in seen
    assert "actual peak" in seen


@pytest.mark.parametrize("engine", ["s-path", "delta-tree"])
def test_engines_answer_alike(engine: str) -> None:
    found = list(graphtide.match(NOTIFY, ROWS, graphtide.MatchOptions(engine=engine)))
    assert found == run_query()


def test_engines_of_other_families_and_attributes_that_are_not_there_are_refused() -> None:
    with pytest.raises(InvalidQueryError, match="the engine timing is not for streaming graph queries"):
        graphtide.match(NOTIFY, ROWS, graphtide.MatchOptions(engine="timing"))
    text = "SELECT u, v MATCH (u)-[e:pays]->(v) ON s WINDOW(1h) WHERE e.amont > 5"
    table = {"ts": [1], "src": ["a"], "dst": ["b"], "label": ["pays"], "amount": [7]}
    import pyarrow as pa  # noqa: PLC0415 - for this test alone

    with pytest.raises(InvalidPatternError, match="did you mean 'amount'"):
        list(graphtide.match(text, pa.table(table)))
