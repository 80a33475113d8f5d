"""Matches of every family written to files: the same rows and types as the tables that Python makes of them."""

from __future__ import annotations

import csv
import json
import random
from typing import TYPE_CHECKING

import graphtide
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from graphtide import MatchOptions, match_files
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


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "stream.jsonl").write_bytes(to_json_lines(random_stream(random.Random(5), STREAM)))
    return tmp_path


def check(folder: Path, text: str, ending: str, *more: object, options: MatchOptions | None = None) -> pa.Table:
    """Compare a file with the table of the same matches; return it."""
    (folder / "patterns.gtp").write_text(text)
    stream, output = folder / "stream.jsonl", folder / f"matches{ending}"
    engine = () if options is None else ("--engine", options.engine)
    assert run("match", folder / "patterns.gtp", stream, "--output", output, *engine, *more).exit_code == 0
    expected = graphtide.match(text, stream, options).to_arrow()
    found = read(output)
    assert found.schema.names == expected.schema.names
    # A column without a value has no type in memory, and is one of texts in a file.
    types = [pa.string() if pa.types.is_null(each) else each for each in expected.schema.types]
    assert found.schema.types == types
    assert found.to_pylist() == expected.to_pylist()
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


EDGES = """
PATTERN edges MATCH (x)-[e:a]->(y)-[f:b]->(z) ON s WINDOW 50 RETURN e.n AS n, f.s AS s
PATTERN `two, "edges"` MATCH (x)-[e:a]->(y), (y)-[f:c]->(`q.r`) ON s WINDOW 50
"""


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@pytest.mark.parametrize("text", [EDGES, EDGES.replace("RETURN e.n AS n, f.s AS s", "")], ids=["fields", "no fields"])
def test_matches_of_subgraphs_alone_are_the_rows_of_their_table(files: Path, ending: str, text: str) -> None:
    records: list[dict[str, object]] = [
        {"ts": 1, "src": "p", "dst": "q", "label": "a", "id": "2024-01-31", "n": 1},
        {"ts": 2, "src": "q", "dst": 'r "ü"', "label": "b", "id": "12", "s": "2024-01-31T12:00:00Z"},
        {"ts": 3, "src": "q", "dst": "true", "label": "c"},
        {"ts": 4, "op": "delete", "id": "2024-01-31"},
    ]
    (files / "stream.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    found = check(files, text, ending)
    assert found["query"].cast(pa.string()).to_pylist() == ["edges", 'two, "edges"'] * 2
    assert found["kind"].cast(pa.string()).to_pylist() == ["match", "match", "retract", "retract"]
    assert found["edges.e"].to_pylist() == ["2024-01-31"] * 4
    assert (found["vertices.z"].null_count, found["vertices.q.r"].null_count) == (2, 2)


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_matches_that_are_not_exact_say_so(files: Path, ending: str) -> None:
    options = MatchOptions(engine="timing", limit_partial_matches=2, on_limit="shed")
    with pytest.warns(graphtide.StreamWarning, match="gave up"):
        found = check(files, EDGES, ending, "--limit-partial-matches", 2, "--on-limit", "shed", options=options)
    assert "SHED" in found["completeness"].cast(pa.string()).to_pylist()


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


VALUES: dict[str, tuple[list[object], pa.DataType]] = {
    "integers": ([1, 2, None, 3], pa.int64()),
    "numbers": ([1.5, 2.25], pa.float64()),
    "integers, then numbers": ([1, 2, 3, 2.5], pa.float64()),
    "large integers, then numbers": ([2**60 + 1, 2, 3, 2.5], pa.string()),
    "numbers, then large integers": ([2.5, 1.5, 2**60 + 1], pa.string()),
    "truth values": ([True, None, False], pa.bool_()),
    "texts": (["a", "b"], pa.string()),
    "integers, then texts": ([1, 2, 3, "x", 4], pa.string()),
    "truth values, then integers": ([True, False, True, 1], pa.string()),
    "nothing, then integers": ([None, None, None, 7], pa.int64()),
    "nothing": ([None, None], pa.string()),
    "nothing, numbers, texts": ([None, 1, None, 2.5, True, "x", 1], pa.string()),
}


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@pytest.mark.parametrize("rows", [1, 2, 1 << 17])
@pytest.mark.parametrize("name", VALUES)
def test_what_patterns_return_has_one_type_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, rows: int, ending: str
) -> None:
    monkeypatch.setattr(match_files, "ROWS", rows)
    values, type = VALUES[name]
    text = "PATTERN p MATCH (a)-[x:k]->(b) ON s WINDOW 9 RETURN x.v AS v, x.w AS w"
    (tmp_path / "p.gtp").write_text(text)
    records = [
        {"ts": ts, "src": "a", "dst": "b", "label": "k", "w": "w"} | ({} if value is None else {"v": value})
        for ts, value in enumerate(values)
    ]
    stream, output = tmp_path / "s.jsonl", tmp_path / f"m{ending}"
    stream.write_text("".join(json.dumps(each) + "\n" for each in records))
    assert run("match", tmp_path / "p.gtp", stream, "--output", output).exit_code == 0
    found = read(output)
    assert found.schema.field("fields.v").type == type
    expected = values if type != pa.string() else [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
    assert found["fields.v"].to_pylist() == expected
    assert found["fields.w"].to_pylist() == ["w"] * len(values)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["p.gtp", "s.jsonl", output.name])


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_lists_have_types_too(tmp_path: Path, ending: str) -> None:
    (tmp_path / "p.gtp").write_text("PATTERN p SEQ(a:A+, b:B) ON s WITHIN 9ms RETURN a.v AS v, count(a) AS n")
    kinds = [("A", 1), ("A", 2.5), ("B", 0)]
    stream, output = tmp_path / "s.jsonl", tmp_path / f"m{ending}"
    stream.write_text("".join(json.dumps({"ts": ts, "type": kind, "v": v}) + "\n" for ts, (kind, v) in enumerate(kinds)))
    assert run("match", tmp_path / "p.gtp", stream, "--output", output).exit_code == 0
    found, expected = read(output), graphtide.match((tmp_path / "p.gtp").read_text(), stream).to_arrow()
    assert found.schema.types == expected.schema.types
    assert found.to_pylist() == expected.to_pylist()


ODD = ["plain", 'a "quote"', "comma, here", "line\nend", "carriage\rreturn", "", "ünïcode", " blanks "]


def test_csv_is_read_back_by_others_as_the_rows_of_the_table(files: Path) -> None:
    (files / "p.gtp").write_text(OTHERS + QUERIES)
    assert run("match", files / "p.gtp", files / "stream.jsonl", "--output", files / "m.csv").exit_code == 0
    expected = graphtide.match(OTHERS + QUERIES, files / "stream.jsonl").to_arrow()
    with (files / "m.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == expected.schema.names
    assert len(rows) == len(expected)
    for name, column in zip(header, zip(*rows, strict=True), strict=True):
        assert [*column] == [as_field(value) for value in in_ticks(expected[name]).to_pylist()], name
    frame = pl.read_csv(files / "m.csv", infer_schema_length=None)
    assert frame["detected_at"].to_list() == in_ticks(expected["detected_at"]).to_pylist()


def in_ticks(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def as_field(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def test_fields_of_csv_are_quoted_where_they_must_be(tmp_path: Path) -> None:
    (tmp_path / "p.gtp").write_text("PATTERN p MATCH (a)-[x:k]->(b) ON s WINDOW 9 RETURN x.v AS `the, field`, x.n AS n")
    stream = tmp_path / "s.jsonl"
    records = [{"ts": ts, "src": value or "-", "dst": "b", "label": "k", "v": value} for ts, value in enumerate(ODD)]
    stream.write_text("".join(json.dumps(each) + "\n" for each in records))
    assert run("match", tmp_path / "p.gtp", stream, "--output", tmp_path / "m.CSV").exit_code == 0
    text = (tmp_path / "m.CSV").read_bytes().decode()
    with (tmp_path / "m.CSV").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header[-2:] == ["fields.the, field", "fields.n"]
    assert [row[-2] for row in rows] == ODD
    assert [row[header.index("vertices.a")] for row in rows] == [value or "-" for value in ODD]
    assert '"a ""quote""",\n' in text
    assert '"",\n' in text, "an empty text is not a missing value"


@pytest.mark.parametrize("name", ["m.txt", "m.json", "m.CVS", "m.jsonl.gz", "m.parquet.zst", "m.gz"])
def test_an_ending_that_is_not_known_is_an_error_that_lists_the_known_ones(files: Path, name: str) -> None:
    (files / "patterns.gtp").write_text(QUERIES)
    result = run("match", files / "patterns.gtp", files / "stream.jsonl", "--output", files / name)
    assert result.exit_code == 2
    known = ".jsonl, .ndjson, .csv, .parquet, .arrow, .feather, .ipc, .sqlite or .sqlite3"
    assert (f"leave .{name.rpartition('.')[2]} out" if name.endswith(("gz", "zst")) else known) in result.stderr
    assert not (files / name).exists()


def test_a_name_without_an_ending_has_lines(files: Path) -> None:
    (files / "patterns.gtp").write_text(QUERIES)
    assert run("match", files / "patterns.gtp", files / "stream.jsonl", "--output", files / "matches").exit_code == 0
    assert (files / "matches").read_text().startswith('{"match_id"')


def test_what_cannot_be_written_is_said(files: Path) -> None:
    (files / "patterns.gtp").write_text(QUERIES)
    result = run("match", files / "patterns.gtp", files / "stream.jsonl", "--output", files / "m.parquet.gz")
    assert result.exit_code == 2
    assert "leave .gz out" in result.stderr
    with pytest.raises(graphtide.GraphtideError, match="cannot be written"):
        run("match", files / "patterns.gtp", files / "stream.jsonl", "--output", files / "nowhere" / "m.parquet")
