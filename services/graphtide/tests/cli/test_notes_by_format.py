"""An attribute that no record ever had is noted in every format of the stream and by every family of the pattern."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import graphtide
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from graphtide import MatchOptions, PatternWarning
from graphtide.cli.app import app
from graphtide_core.formats import ARROW, CSV, JSON_LINES, PARQUET, StreamFormat
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    Records = Sequence[Mapping[str, object]]

FAMILIES = {
    "isomorphism": "PATTERN p MATCH (a)-[x:pay]->(b) WHERE x.amount > 5 ON s WINDOW 10s",
    "simulation": "PATTERN p MATCH (a)-[x:pay]->(b) WHERE x.amount > 5 UNDER DUAL SIMULATION ON s WINDOW 10s",
    "events": "PATTERN p SEQ(x: pay, y: pay) WHERE y.amount > 5 ON s WITHIN 1s",
    "algebra": "QUERY p INPUT i = ()-[e:pay]->() ON s WINDOW(1h) WHERE e.amount > 5 r(x, y) <- i(x, y).",
}

NOTE = "pattern 'p': no edge with attribute 'amount' among the first 3 edges"

COLUMNS = {"ts": pa.int64(), "src": pa.string(), "dst": pa.string(), "label": pa.string(), "amount": pa.float64()}


def note_of(family: str) -> str:
    """The note in the words of the family: records of an event pattern are events."""
    return NOTE.replace("edge", "event") if family == "events" else NOTE


def records(*amounts: object) -> list[dict[str, object]]:
    return [
        {"ts": ts, "src": "a" * 150, "dst": "b", "label": "pay", "amount": amount} for ts, amount in enumerate(amounts, start=1)
    ]


def table(rows: Records) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=pa.schema(COLUMNS))


def write_csv(path: Path, rows: Records) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*COLUMNS])
        writer.writeheader()
        writer.writerows(rows)


def write_json_lines(path: Path, rows: Records) -> None:
    # What is missing is left out, or null.
    members = [{name: value for name, value in row.items() if value is not None or row["ts"] == 1} for row in rows]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in members))


WRITERS: dict[StreamFormat, Callable[[Path, Records], None]] = {
    CSV: write_csv,
    JSON_LINES: write_json_lines,
    PARQUET: lambda path, rows: pq.write_table(table(rows), path, row_group_size=1_000),
    ARROW: lambda path, rows: pyarrow.feather.write_feather(table(rows), path, chunksize=1_000),
}


def stream(folder: Path, form: StreamFormat, *amounts: object) -> Path:
    path = folder / f"s.{form.value}"
    WRITERS[form](path, records(*amounts))
    return path


def read_notes(folder: Path, text: str, path: Path, verb: str) -> str:
    (folder / "p.gt").write_text(text)
    option = {"match": [], "validate": ["--stream"], "explain": ["--analyze"]}[verb]
    ended = CliRunner().invoke(app, [verb, str(folder / "p.gt"), *option, str(path)])
    assert ended.exit_code == 0, ended.output
    return ended.stderr


@pytest.mark.parametrize("verb", ["match", "validate", "explain"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("form", WRITERS)
def test_an_attribute_that_no_record_had_is_noted(tmp_path: Path, form: StreamFormat, family: str, verb: str) -> None:
    path = stream(tmp_path, form, None, None, None)
    assert f"note: {note_of(family)}" in read_notes(tmp_path, FAMILIES[family], path, verb)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("form", WRITERS)
def test_one_that_the_last_record_alone_had_is_not(tmp_path: Path, form: StreamFormat, family: str) -> None:
    path = stream(tmp_path, form, *[None] * 8_000, 1)
    assert path.stat().st_size > 1 << 20 or form in {PARQUET, ARROW}, "more than a block of text"
    assert "attribute" not in read_notes(tmp_path, FAMILIES[family], path, "match")


@pytest.mark.parametrize("verb", ["match", "validate"])
@pytest.mark.parametrize("form", WRITERS)
def test_a_pattern_with_matches_is_noted_too(tmp_path: Path, form: StreamFormat, verb: str) -> None:
    text = "PATTERN p MATCH (a)-[x:pay]->(b) ON s WINDOW 10s RETURN x.amount"
    assert f"note: {NOTE}" in read_notes(tmp_path, text, stream(tmp_path, form, None, None, None), verb)


@pytest.mark.parametrize("verb", ["match", "validate"])
@pytest.mark.parametrize("form", WRITERS)
def test_a_text_for_a_number_is_noted_where_there_are_numbers_alone(tmp_path: Path, form: StreamFormat, verb: str) -> None:
    text = "PATTERN p MATCH (a)-[x:pay]->(b) WHERE x.amount > '5' ON s WINDOW 10s"
    numbers = "attribute 'amount' is compared with a text, and its values are numbers"
    assert numbers in read_notes(tmp_path, text, stream(tmp_path, form, None, 7.5, None), verb)
    assert numbers not in read_notes(tmp_path, text, stream(tmp_path, form, None, None, None), verb)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("form", WRITERS)
def test_python_warns_once_at_the_end(tmp_path: Path, form: StreamFormat, family: str) -> None:
    matches = graphtide.match(FAMILIES[family], stream(tmp_path, form, None, None, None))
    with pytest.warns(PatternWarning, match=f"^{note_of(family)}$") as caught:
        assert list(matches) == []
    assert [warning.filename for warning in caught] == [__file__]


def test_declared_texts_are_not_numbers(tmp_path: Path) -> None:
    text = "PATTERN p MATCH (a)-[x:pay]->(b) WHERE x.amount > '5' ON s WINDOW 10s"
    path = stream(tmp_path, CSV, 3)
    assert list(graphtide.match(text, path, MatchOptions(types={"amount": "string"}))) == []
