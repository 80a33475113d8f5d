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
from graphtide_testing.data import DATA
from typer.testing import CliRunner

if TYPE_CHECKING:
    from typer.testing import Result

MATHOVERFLOW = DATA / "mathoverflow.csv.gz"
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
    ended = run(stream, "--lateness", "0")
    assert ended.exit_code == 5
    assert "(account)-[pays]->(account)" in ended.stdout
    assert "(account)-[pays]->(account)-[pays]->(account)" in ended.stdout
    assert "owns" not in ended.stdout, "a deleted edge does not count"
    assert "1 of 7 records was rejected, the first at line 5 (late: ts 2 is before the watermark 4" in ended.stderr


def test_tumbling_windows_come_one_a_line_as_json(stream: Path, tmp_path: Path) -> None:
    output = tmp_path / "windows.jsonl"
    allowed = ("--lateness", "0", "--max-rejected", "20%")
    assert run(stream, "--window", "10", "--tumbling", "--format", "json", "--output", output, *allowed).exit_code == 0
    first, second = (from_json(line) for line in output.read_text().splitlines())
    assert (first.edges, first.vertices, second.edges, second.vertices) == (2, 3, 1, 2)


def test_a_sliding_window_gives_the_counts_at_the_end(stream: Path) -> None:
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


def payments(path: Path, *times: int) -> Path:
    labels = ("pays", "owns", "asks")
    rows = (f"{ts},v{number},v{number + 1},{labels[number % 3]}\n" for number, ts in enumerate(times))
    path.write_text("ts,src,dst,label\n" + "".join(rows))
    return path


NOON = 1_706_702_400


def draw(stream: Path, *arguments: object) -> list[str]:
    """Return the texts of a picture."""
    ended = run(stream, "--format", "plot", *arguments)
    assert ended.exit_code == 0, ended.output
    root = ET.fromstring(ended.stdout)  # noqa: S314 - our own text
    return [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]


def test_times_of_windows_are_shown_as_times_in_the_streams_unit(tmp_path: Path) -> None:
    stream = payments(tmp_path / "s.csv", NOON, NOON + 3_600, NOON + 7_200)
    shown = run(stream, "--time-unit", "s", "--window", "1h", "--tumbling").stdout
    assert shown.index("2024-01-31T12:00:00Z") < shown.index("2024-01-31T14:00:00Z")
    snapshots = [from_json(line) for line in run(stream, "--time-unit", "s", "--format", "json").stdout.splitlines()]
    assert (snapshots[0].first_ts, snapshots[0].last_ts) == (NOON, NOON + 7_200)


@pytest.mark.parametrize(
    ("length", "ticks", "title"),
    [
        (40, ["12:00:10", "12:00:20", "12:00:30"], "time (UTC), 2024-01-31"),
        (4 * 3_600, ["01-31 13:00", "01-31 14:00", "01-31 15:00"], "time (UTC), 2024-01-31"),
        (40 * 86_400, ["2024-02-05", "2024-02-12", "2024-02-19", "2024-02-26", "2024-03-04"], "time (UTC)"),
        (400 * 86_400, ["2024-04", "2024-07", "2024-10", "2025-01"], "time (UTC)"),
        (4_000 * 86_400, ["2026", "2028", "2030", "2032", "2034"], "time (UTC)"),
    ],
)
def test_pictures_have_dates(tmp_path: Path, length: int, ticks: list[str], title: str) -> None:
    step = length // 20
    stream = payments(tmp_path / "s.csv", *range(NOON, NOON + length, step))
    texts = draw(stream, "--time-unit", "s", "--window", f"{step}s", "--chart", "rate")
    assert title in texts
    place = texts.index(ticks[0])
    assert texts[place : place + len(ticks)] == ticks


def test_times_that_are_not_dates_are_counted_from_the_start(tmp_path: Path) -> None:
    stream = payments(tmp_path / "s.csv", 2**62, 2**62 + 50, 2**62 + 100)
    assert "seconds since the start" in draw(stream, "--time-unit", "s", "--window", "20s")


def test_series_and_charts_are_chosen(tmp_path: Path) -> None:
    stream = payments(tmp_path / "s.csv", *range(0, 60_000, 500))
    texts = draw(stream, "--window", "5s", "--series", "owns", "--series", "()-[pays]->()")
    assert {"owns", "()-[pays]->()", "1 other types"} <= set(texts)
    assert texts.index("1 other types") < texts.index("()-[pays]->()") < texts.index("owns"), "the first at the bottom"
    charts = ("drift", "rate", "vertices", "degrees")
    texts = draw(stream, "--window", "5s", *(part for name in charts for part in ("--chart", name)))
    titles = [
        text for text in texts if text in {"Edge types", "2-edge paths", "Rate", "Vertices", "Degrees"} or "Drift" in text
    ]
    assert titles == ["Drift from the window before", "Rate", "Vertices", "Degrees"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--format", "plot", "--series", "ownes"), "there is no edge type or label 'ownes': did you mean 'owns'?"),
        (("--format", "plot", "--chart", "pie"), "'pie' is not one of types, paths, rate, vertices, degrees, drift"),
        (("--series", "owns"), "it says what to draw: add --format plot"),
        (("--chart", "rate"), "it says what to draw: add --format plot"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    refused = run(payments(tmp_path / "s.csv", 1, 2, 3), "--window", "1s", *arguments)
    assert refused.exit_code == 2
    assert said in " ".join(refused.output.replace("│", " ").split())
