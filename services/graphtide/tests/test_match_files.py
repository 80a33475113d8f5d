"""Matches of every family written to Parquet and Arrow files: the same rows as the tables that Python makes of them."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import graphtide
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from graphtide import match_files
from graphtide.cli.app import app
from graphtide_query import parse, print_pattern
from graphtide_testing.records import to_json_lines
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import StreamShape, random_stream
from graphtide_testing.strategies.graph_queries import GraphQueryShape, random_graph_query
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

STREAM = StreamShape(labels=("a", "b", "c"), vertices=4, max_records=60)
QUERIES = """
QUERY reach
RL(x, y) <- a+(x, y).
Answer(x, y) <- /~RL :b?/(x, y) AS p.
ON s WINDOW(40)
RETURN p

QUERY wide
Answer(one, y, third) <- a(one, y), b(y, third), c(third, w). ON s WINDOW(80)
"""
OTHERS = """
PATTERN edges MATCH (x)-[e:a]->(y)-[f:b]->(z) ON s WINDOW 50 RETURN e.n AS n, f.s AS s
PATTERN component MATCH (x)-[e:a]->(y)-[f:b]->(z) UNDER DUAL SIMULATION ON s WINDOW 50
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False, env={"COLUMNS": "300"})


def read(path: Path) -> pa.Table:
    return pq.read_table(path) if path.suffix == ".parquet" else pa.ipc.open_file(path).read_all()


def as_texts(table: pa.Table) -> list[dict[str, object]]:
    """Return rows, dictionaries as the words that they stand for, and what patterns return as texts."""
    rows: list[dict[str, object]] = table.to_pylist()
    for row in rows:
        for name, value in row.items():
            if name.startswith("fields.") and value is not None and not isinstance(value, str):
                row[name] = json.dumps(value)
    return rows


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "stream.jsonl").write_bytes(to_json_lines(random_stream(random.Random(5), STREAM)))
    return tmp_path


def check(folder: Path, text: str, ending: str) -> pa.Table:
    """Compare a file with the table of the same matches; return it."""
    (folder / "patterns.gtp").write_text(text)
    stream, output = folder / "stream.jsonl", folder / f"matches{ending}"
    assert run("match", folder / "patterns.gtp", stream, "--output", output).exit_code == 0
    expected = graphtide.match(text, stream).to_arrow()
    found = read(output)
    assert found.schema.names == expected.schema.names
    kept = [name for name in found.schema.names if not name.startswith("fields.")]
    assert found.select(kept).schema == expected.select(kept).schema
    assert as_texts(found) == as_texts(expected)
    return found


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_results_of_graph_queries_are_the_rows_of_their_table(files: Path, ending: str) -> None:
    text = QUERIES
    found = check(files, text, ending)
    assert {*pc.unique(found["kind"].cast(pa.string())).to_pylist()} == {"match", "extend", "retract"}
    assert {*pc.unique(found["query"].cast(pa.string())).to_pylist()} == {"reach", "wide"}
    assert found["path"].null_count < len(found)
    assert any("{" in step for path in found["path"].to_pylist() for step in path or ())


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_matches_of_all_families_together_are_too(files: Path, ending: str) -> None:
    found = check(files, OTHERS + QUERIES, ending)
    assert {*pc.unique(found["query"].cast(pa.string())).to_pylist()} == {"reach", "wide", "edges", "component"}


def test_random_queries(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # So that files have several parts.
    monkeypatch.setattr(match_files, "ROWS", 7)
    rows = 0
    for seed in seeds(20):
        rng = random.Random(seed)
        query = random_graph_query(rng, GraphQueryShape(conditions=False))
        (files / "stream.jsonl").write_bytes(to_json_lines(random_stream(rng, STREAM)))
        text = print_pattern(query)
        assert parse(text) == (query,)
        rows += sum(len(check(files, text, ending)) for ending in (".parquet", ".arrow"))
    assert rows > 250


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_a_file_without_matches_has_all_columns(files: Path, ending: str) -> None:
    found = check(files, "QUERY q nothing(x, y) <- unheard_of(x, y). ON s WINDOW(5)", ending)
    assert (len(found), found.schema.names[-1]) == (0, "path")


def test_what_cannot_be_written_is_said(files: Path) -> None:
    (files / "patterns.gtp").write_text(QUERIES)
    result = run("match", files / "patterns.gtp", files / "stream.jsonl", "--output", files / "m.parquet.gz")
    assert result.exit_code == 2
    assert "leave .gz out" in result.stderr
    with pytest.raises(graphtide.GraphtideError, match="cannot be written"):
        run("match", files / "patterns.gtp", files / "stream.jsonl", "--output", files / "nowhere" / "m.parquet")
