"""`graphtide statistics`, by its function."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer
from graphtide.cli.statistics import statistics
from graphtide.statistics_report import edge_text, path_text
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.statistics import Direction, EdgeEnd, EdgeType, PathType, from_json, merge
from typer.testing import CliRunner

if TYPE_CHECKING:
    from typer.testing import Result

MATHOVERFLOW = Path(__file__).parents[5] / "shared" / "data" / "mathoverflow.csv.gz"
STREAM = """ts,src,dst,label,src_label,dst_label,id,op
0,a,b,pays,account,account,1,
4,b,c,pays,account,account,2,
4,b,c,pays,account,account,2,
2,c,a,late,,,3,
11,b,d,owns,account,,4,
12,x,x,x,,,4,delete
12,b,a,pays,account,account,5,
"""


def run(*arguments: object) -> Result:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(statistics)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "stream.csv"
    path.write_text(STREAM, encoding="utf-8")
    return path


def test_the_table_shows_types_and_paths_of_the_whole_stream(stream: Path) -> None:
    ended = run(stream)
    assert ended.exit_code == 0
    assert "(account)-[pays]->(account)" in ended.stdout
    assert "(account)-[pays]->(account)-[pays]->(account)" in ended.stdout
    assert "owns" not in ended.stdout, "a deleted edge does not count"
    assert "1 of 7 records was put aside, the first at line 5 (late: ts 2 is before the watermark 4" in ended.stderr


def test_tumbling_windows_come_one_a_line_as_json(stream: Path, tmp_path: Path) -> None:
    output = tmp_path / "windows.jsonl"
    assert run(stream, "--window", "10", "--tumbling", "--format", "json", "--output", output).exit_code == 0
    first, second = (from_json(line) for line in output.read_text().splitlines())
    assert (first.edges, first.vertices, second.edges, second.vertices) == (2, 3, 1, 2)


def test_a_sliding_window_gives_the_figures_at_the_end(stream: Path) -> None:
    snapshot = from_json(run(stream, "--window", "9ms", "--format", "json").stdout)
    assert (snapshot.edges, snapshot.first_ts, snapshot.last_ts) == (2, 4, 12)


def test_late_records_are_put_in_order_where_asked(stream: Path) -> None:
    ended = run(stream, "--lateness", "2", "--format", "json")
    assert from_json(ended.stdout).types[EdgeType(None, "late", None)] == 1


@pytest.mark.parametrize(
    "arguments", [("--tumbling",), ("--format", "plot"), ("--window", "soon"), ("--window", "0"), ("--format", "xml")]
)
def test_what_makes_no_sense_is_refused(stream: Path, arguments: tuple[str, ...]) -> None:
    assert run(stream, *arguments).exit_code == 2


def test_a_stream_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    assert isinstance(run(tmp_path / "none.csv").exception, UnreadableStreamError)


def test_a_stream_without_records_has_nothing_to_show(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text(STREAM.partition("\n")[0] + "\n", encoding="utf-8")
    for arguments in ((), ("--format", "json"), ("--window", "1s", "--format", "plot")):
        assert run(path, *arguments).exit_code == 0


def test_types_are_written_as_the_pattern_language_draws_them() -> None:
    pays, owns = EdgeType("account", "pays", None), EdgeType("person", "owns", "account", 3)
    assert edge_text(pays) == "(account)-[pays]->()"
    assert edge_text(owns) == "(person)-[owns #3]->(account)"
    path = PathType.of(EdgeEnd(pays, Direction.OUT), EdgeEnd(owns, Direction.IN))
    assert path_text(path) == "(person)-[owns #3]->(account)-[pays]->()"
    path = PathType.of(EdgeEnd(pays, Direction.IN), EdgeEnd(owns, Direction.OUT))
    assert path_text(path) == "(account)<-[owns #3]-(person|)<-[pays]-(account)"


@pytest.mark.skipif(not MATHOVERFLOW.exists(), reason="the stream is not at hand")
def test_a_real_stream_over_its_years(tmp_path: Path) -> None:
    windows = run(MATHOVERFLOW, "--time-unit", "s", "--window", "365d", "--tumbling", "--format", "json").stdout
    years = [from_json(line) for line in windows.splitlines()]
    assert (len(years), sum(year.edges for year in years)) == (8, 506_550)
    whole = from_json(run(MATHOVERFLOW, "--time-unit", "s", "--format", "json").stdout)
    merged = reduce(merge, years)
    assert (merged.types, merged.window) == (whole.types, whole.window)
    assert whole.paths is not None
    assert all(merged.paths[path] <= count for path, count in whole.paths.items()) if merged.paths else False

    output = tmp_path / "years.svg"
    assert run(MATHOVERFLOW, "--time-unit", "s", "--window", "30d", "--format", "plot", "--output", output).exit_code == 0
    assert output.read_text(encoding="utf-8").count("<polygon") == 3
    ET.parse(output)  # noqa: S314 - our own text
