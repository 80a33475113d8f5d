"""Generated streams are written in every format, with their ground truth."""

from __future__ import annotations

import csv
import gzip
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime
from graphtide_generate import GENERATORS
from graphtide_generate.stream import Recipe
from graphtide_generate.writer import write_ground_truth, write_patterns, write_stream
from graphtide_testing.records import to_csv, to_json_lines
from pyarrow import parquet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

STREAM = GENERATORS["network"](Recipe(records=200, planted=2, decoys=3))
EDGE = Edge(EdgeId("1"), EventTime(-5), VertexId("a"), VertexId('b,"c'), "x", "A", None, {"n": 1, "t": True, "s": "é"})
WITH_DELETION = (EDGE, replace(EDGE, ts=EventTime(3), attributes={}, operation=Operation.DELETE))


def read(path: Path) -> list[dict[str, object]]:
    """Return the records of a columnar file."""
    if path.suffix == ".parquet":
        table = parquet.read_table(path)
    else:
        with pa.ipc.open_file(path) as file:
            table = file.read_all()
    rows: list[dict[str, object]] = table.to_pylist()
    return rows


def read_edges(edges: Sequence[Edge]) -> list[dict[str, object]]:
    return [json.loads(line) for line in to_json_lines(edges).splitlines()]


@pytest.mark.parametrize("edges", [STREAM.edges, WITH_DELETION])
def test_json_lines_hold_every_record(tmp_path: Path, edges: Sequence[Edge]) -> None:
    path = tmp_path / "stream.jsonl"
    write_stream(path, edges)
    assert [json.loads(line) for line in path.read_bytes().splitlines()] == read_edges(edges)


def test_csv_has_a_column_for_operations_only_where_something_is_deleted(tmp_path: Path) -> None:
    path = tmp_path / "stream.csv"
    write_stream(path, WITH_DELETION)
    assert path.read_text("utf-8") == to_csv(WITH_DELETION)
    write_stream(path, STREAM.edges)
    header, first, *_ = csv.reader(io.StringIO(path.read_text("utf-8")))
    assert header == ["ts", "src", "dst", "label", "src_label", "dst_label", "id", "bytes", "packets", "port", "state"]
    assert first[:2] == [str(STREAM.edges[0].ts), STREAM.edges[0].source]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("edges", [STREAM.edges, WITH_DELETION])
def test_columnar_formats_hold_every_record_with_nulls_where_a_value_is_missing(
    tmp_path: Path, suffix: str, edges: Sequence[Edge]
) -> None:
    path = tmp_path / f"stream.{suffix}"
    write_stream(path, edges)
    rows = [{name: value for name, value in row.items() if value is not None} for row in read(path)]
    assert rows == read_edges(edges)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "arrow"])
def test_an_empty_stream_has_its_columns(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"stream.{suffix}"
    write_stream(path, ())
    if suffix in ("csv", "jsonl"):
        assert path.read_text("utf-8") == ("ts,src,dst,label,src_label,dst_label,id\n" if suffix == "csv" else "")
    else:
        assert read(path) == []


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "ndjson"])
def test_compressed_text_unpacks_to_the_same_text_and_has_the_same_bytes_every_time(tmp_path: Path, suffix: str) -> None:
    plain, packed, again = (tmp_path / name for name in (f"a.{suffix}", f"a.{suffix}.gz", f"b.{suffix}.gz"))
    for path in (plain, packed, again):
        write_stream(path, STREAM.edges)
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert packed.read_bytes() == again.read_bytes()


@pytest.mark.parametrize("name", ["stream.txt", "stream", "stream.gz", "stream.parquet.gz"])
def test_an_unknown_suffix_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="has no suffix of a known format"):
        write_stream(tmp_path / name, STREAM.edges)
    assert not (tmp_path / name).exists()


def test_ground_truth_and_pattern_are_files_of_their_own(tmp_path: Path) -> None:
    write_ground_truth(tmp_path / "truth.json", STREAM)
    write_patterns(tmp_path / "pattern.gtp", STREAM)
    truth = json.loads((tmp_path / "truth.json").read_bytes())
    assert [one["edges"] for one in truth["planted"]] == [dict(one.edges) for one in STREAM.planted]
    assert {one["flaw"] for one in truth["decoys"]} == {"wrong order", "too slow", "too few bytes"}
    assert (tmp_path / "pattern.gtp").read_text("utf-8") == STREAM.patterns
