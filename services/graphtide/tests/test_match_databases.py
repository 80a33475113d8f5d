"""Matches of every family written to a SQLite database: the rows of their table, and their edges and events."""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
from typing import TYPE_CHECKING

import graphtide
import pyarrow as pa
from graphtide import match_sqlite
from graphtide.cli.app import app
from graphtide_testing.records import to_json_lines
from graphtide_testing.strategies import StreamShape, random_stream
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from typer.testing import Result

STREAM = StreamShape(labels=("a", "b", "c"), vertices=4, max_records=60)
PATTERNS = """
PATTERN edges MATCH (x)-[e:a]->(y)-[f:b]->(z) ON s WINDOW 50 RETURN e.n AS n, f.s AS s
PATTERN component MATCH (x)-[e:a]->(y)-[f:b]->(z) UNDER DUAL SIMULATION ON s WINDOW 50 REPORT CHANGES
QUERY reach
RL(x, y) <- a+(x, y).
Answer(x, y) <- /~RL :b?/(x, y) AS p.
ON s WINDOW(40)
RETURN p
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "300"})


def read(path: Path, statement: str) -> list[dict[str, object]]:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute(statement)]


def match(folder: Path, text: str, records: bytes) -> tuple[Path, list[dict[str, object]]]:
    """Return a database of matches, and the rows of their table in memory, with ticks for times."""
    (folder / "p.gtp").write_text(text)
    (folder / "s.jsonl").write_bytes(records)
    output = folder / "m.sqlite"
    assert run("match", folder / "p.gtp", folder / "s.jsonl", "--output", output).exit_code == 0
    table = graphtide.match(text, folder / "s.jsonl").to_arrow()
    columns = [each.cast(pa.int64()) if pa.types.is_timestamp(each.type) else each for each in table.columns]
    return output, pa.Table.from_arrays(columns, table.schema.names).to_pylist()


def edges_of(row: dict[str, object]) -> list[tuple[str, str | None, int, object]]:
    """Return part, name, place and id of the edges and events in a row of a table."""
    found: list[tuple[str, str | None, int, object]] = []
    for column, value in row.items():
        part, _, name = column.partition(".")
        if part in {"edges", "events", "path"} and value is not None:
            ids = value if isinstance(value, list) else [value]
            found += [(part, name or None, place, id) for place, id in enumerate(ids)]
    return found


def test_matches_of_all_families_are_the_rows_of_their_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match_sqlite, "ROWS", 7)
    output, expected = match(tmp_path, PATTERNS, to_json_lines(random_stream(random.Random(5), STREAM)))
    found = read(output, "SELECT * FROM matches ORDER BY number")
    assert {row["query"] for row in expected} == {"edges", "component", "reach"}
    all_edges = read(output, "SELECT * FROM edges ORDER BY rowid")
    assert len(found) == len(expected)
    for row, of_table in zip(found, expected, strict=True):
        own = {name: value for name, value in of_table.items() if not name.startswith(("edges.", "events.", "path", "fields."))}
        texts = {name: json.dumps(value) if isinstance(value, list) else value for name, value in own.items()}
        assert {name: row[name] for name in own} == texts
        edges = [each for each in all_edges if each["match"] == row["number"]]
        assert {each["match_id"] for each in edges} <= {row["match_id"]}
        assert [(each["part"], each["name"], each["place"], each["edge"]) for each in edges] == edges_of(of_table)
    indexed = {row["tbl_name"] for row in read(output, "SELECT * FROM sqlite_master WHERE type = 'index'")}
    assert indexed == {"matches", "edges"}


def test_values_keep_their_types_and_events_are_rows(tmp_path: Path) -> None:
    text = "PATTERN p SEQ(a:A, b:B+) ON s WITHIN 9ms RETURN a.v AS v, b.v AS w"
    values: list[object] = [1, 2.5, "x", True, None]
    records = [{"ts": 10 * place, "type": "A", "v": value} for place, value in enumerate(values)]
    records += [{"ts": 10 * place + 1, "type": "B", "v": place} for place in range(len(values))]
    lines = "".join(json.dumps(each) + "\n" for each in sorted(records, key=lambda each: str(each["ts"]).zfill(4)))
    output, _ = match(tmp_path, text, lines.encode())
    rows = read(output, 'SELECT number, "fields.v", "fields.w" FROM matches ORDER BY number')
    assert [(row["fields.v"], row["fields.w"]) for row in rows] == [
        (1, "[0]"), (2.5, "[1]"), ("x", "[2]"), (1, "[3]"), (None, "[4]")
    ]  # fmt: skip
    events = read(output, "SELECT part, name, place, edge FROM edges WHERE match = 2 ORDER BY rowid")
    assert [tuple(each.values()) for each in events] == [("events", "a", 0, "2"), ("events", "b", 0, "3")]


def test_names_that_differ_in_case_alone_are_columns_of_their_own(tmp_path: Path) -> None:
    records = b'{"ts":1,"src":"p","dst":"q","label":"k","id":"i"}\n'
    output, _ = match(tmp_path, "PATTERN p MATCH (a)-[x:k]->(A) ON s WINDOW 9", records)
    (row,) = read(output, "SELECT * FROM matches")
    assert (row["vertices.a"], row["vertices.A_"]) == ("p", "q")


def test_a_file_that_is_there_is_overwritten_as_by_every_format(tmp_path: Path) -> None:
    records = b'{"ts":1,"src":"p","dst":"q","label":"k","id":"i"}\n'
    for name in ("m.sqlite", "m.jsonl", "m.csv", "m.parquet", "m.arrow"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "m.sqlite-wal").write_text("of another database")
    text = "PATTERN p MATCH (a)-[x:k]->(b) ON s WINDOW 9"
    for _ in range(2):
        output, _ = match(tmp_path, text, records)
        assert [row["match_id"] for row in read(output, "SELECT * FROM edges")] == [
            row["match_id"] for row in read(output, "SELECT * FROM matches")
        ]
    (tmp_path / "s.jsonl").write_bytes(records)
    for name in ("m.jsonl", "m.csv", "m.parquet", "m.arrow"):
        assert run("match", tmp_path / "p.gtp", tmp_path / "s.jsonl", "--output", tmp_path / name).exit_code == 0
        assert b"mine" not in (tmp_path / name).read_bytes()


def test_a_database_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "p.gtp").write_text("PATTERN p MATCH (a)-[x:k]->(b) ON s WINDOW 9")
    (tmp_path / "s.jsonl").write_text("")
    (tmp_path / "folder.sqlite").mkdir()
    for output in ("no/m.sqlite", "folder.sqlite"):
        found = run("match", tmp_path / "p.gtp", tmp_path / "s.jsonl", "--output", tmp_path / output).exception
        assert "cannot be written" in str(found)
