"""Every verb reports the records that could not be used."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from pathlib import Path

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10\n"
HEADER = "ts,src,dst,label,amount\n"
SOME = HEADER + "10,a,b,pays,5\nsoon,b,c,pays,6\n11,b\n11,b,c,pays,6\n3,c,d,pays,1\n12,b,,pays,1\n"
EMITTED = 'graphtide: 4 of 6 records were rejected, the first at line 3 (ts "soon" is not an integer); '
BY_REASON = (
    "graphtide: 1 of them: ts … is not an integer, the first at line 3\n"
    "graphtide: 1 of them: expected … fields, found …, the first at line 4\n"
    "graphtide: 1 of them: dst is empty, the first at line 7\n"
    "graphtide: 1 of them: late, the first at line 6; --lateness 8ms puts them back in order\n"
)
STATUS = "graphtide: status 5, since 66.67 % of the records were rejected; --max-rejected PERCENTAGE allows more\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.gtp").write_text(PATTERN)
    (tmp_path / "some.csv").write_text(SOME)
    (tmp_path / "none.csv").write_text(HEADER + "soon,a,b,pays,5\n1,b\n")
    (tmp_path / "good.csv").write_text(HEADER + "1,a,b,pays,5\n2,b,c,pays,6\n")
    return tmp_path


def graphtide(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graphtide", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=folder)


VERBS: dict[str, tuple[str, ...]] = {
    "match": ("match", "p.gtp"),
    "statistics": ("statistics",),
    "explain": ("explain", "p.gtp", "--analyze"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_one_line_says_how_many_and_the_first(folder: Path, verb: str) -> None:
    ended = graphtide(folder, *VERBS[verb], "some.csv", "--lateness", "0")
    assert (ended.returncode, ended.stderr) == (5, EMITTED + "--dead-letters FILE keeps them\n" + BY_REASON + STATUS)


@pytest.mark.parametrize("verb", VERBS)
def test_where_they_are_kept_it_says_so(folder: Path, verb: str) -> None:
    ended = graphtide(
        folder, *VERBS[verb], "some.csv", "--lateness", "0", "--dead-letters", "dead.jsonl", "--max-rejected", "70%"
    )
    assert (ended.returncode, ended.stderr) == (0, EMITTED + "they are in dead.jsonl\n" + BY_REASON)
    letters = [json.loads(line) for line in (folder / "dead.jsonl").read_text().splitlines()]
    assert [(letter["line"], letter["raw"]) for letter in letters] == [
        (3, "soon,b,c,pays,6"),
        (4, "11,b"),
        (7, "12,b,,pays,1"),
        (6, "3,c,d,pays,1"),
    ]


@pytest.mark.parametrize("verb", VERBS)
def test_status_3_where_none_could_be_used(folder: Path, verb: str) -> None:
    ended = graphtide(folder, *VERBS[verb], "none.csv")
    assert ended.returncode == 3
    assert "2 of 2 records were rejected, the first at line 2" in ended.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_is_said_where_all_were_of_use(folder: Path, verb: str) -> None:
    assert graphtide(folder, *VERBS[verb], "good.csv").stderr == ""


@pytest.mark.parametrize("verb", VERBS)
def test_the_file_of_letters_is_this_runs_from_the_start(folder: Path, verb: str) -> None:
    (folder / "dead.jsonl").write_text("of an earlier run\n")
    graphtide(folder, *VERBS[verb], "good.csv", "--dead-letters", "dead.jsonl")
    assert (folder / "dead.jsonl").read_text() == ""


def test_a_format_that_is_not_the_files_is_not_a_success(folder: Path) -> None:
    ended = graphtide(folder, "match", "p.gtp", "good.csv", "--format", "jsonl", "--summary", "summary.json")
    assert ended.returncode == 3
    assert "3 of 3 records were rejected, the first at line 1 (not a JSON object" in ended.stderr
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["dead_letters"], summary["records"], summary["outcome"]) == (3, 0, "unreadable")


def test_csv_of_a_pipe_that_is_read_as_json_lines_is_led_to_the_option(folder: Path) -> None:
    command = [sys.executable, "-m", "graphtide", "match", "p.gtp", "-"]
    content = (folder / "good.csv").read_text()
    ended = subprocess.run(command, input=content, capture_output=True, text=True, timeout=60, check=False, cwd=folder)
    assert ended.returncode == 3
    assert "; --format reads another format than JSON Lines\n" in ended.stderr
    read = subprocess.run(
        [*command, "--format", "csv"], input=content, capture_output=True, text=True, timeout=60, check=False, cwd=folder
    )
    assert (read.returncode, read.stderr) == (0, "")


def test_rows_of_a_table_are_counted_as_such(folder: Path) -> None:
    pq.write_table(
        pa.table(
            {"ts": [1, None], "src": "ab", "dst": "bc", "label": ["pays", "pays"]} | {"src": ["a", "b"], "dst": ["b", "c"]}
        ),
        folder / "s.parquet",
    )
    ended = graphtide(folder, "match", "p.gtp", "s.parquet")
    assert "1 of 2 records was rejected, the first at row 2 (ts is missing)" in ended.stderr


def test_it_is_said_however_the_run_ends(folder: Path) -> None:
    arguments = ("--engine", "timing", "--limit-partial-matches", "1", "--on-limit", "fail")
    (folder / "fans.csv").write_text(HEADER + "0,x\n1,a,b,pays,1\n2,c,d,pays,1\n3,e,f,pays,1\n")
    ended = graphtide(folder, "match", "p.gtp", "fans.csv", *arguments)
    assert ended.returncode == 4
    assert "1 of 4 records was rejected" in ended.stderr


def test_records_that_statistics_leave_out_are_reported_too(folder: Path) -> None:
    for verb in ("match", "explain"):
        stream = ("good.csv",) if verb == "match" else ()
        ended = graphtide(folder, verb, "p.gtp", *stream, "--statistics-from", "some.csv")
        assert ended.returncode == 0
        assert "3 of 6 records were rejected, the first at line 3" in ended.stderr
        assert "do not count in the statistics" in ended.stderr


def test_validating_against_a_stream_reports_them_too(folder: Path) -> None:
    ended = graphtide(folder, "validate", "p.gtp", "--stream", "some.csv")
    assert EMITTED in ended.stderr, "the late one too"
    assert ended.returncode == 0


def test_attributes_that_no_value_can_be_are_named(folder: Path) -> None:
    (folder / "w.gtp").write_text(PATTERN.replace("ORDER", "WHERE y.tags IS NULL ORDER"))
    edge = '"src": "a", "dst": "b", "label": "pays"'
    (folder / "s.jsonl").write_text(
        f'{{"ts": 1, {edge}}}\n{{"ts": 2, {edge}, "tags": ["x"]}}\n{{"ts": 3, {edge}, "tags": {{}}}}\n'
    )
    for verb in ("match", "explain"):
        ended = graphtide(folder, *VERBS[verb][:1], "w.gtp", *VERBS[verb][2:], "s.jsonl")
        said = "attribute 'tags' was a list or object in 2 records, the first at line 2; such a value counts as missing"
        assert (ended.returncode, f"graphtide: {said}\n" in ended.stderr) == (0, True)


def test_a_time_past_64_bits_is_shown_as_it_was_written(folder: Path) -> None:
    (folder / "s.jsonl").write_text('{"ts": 99999999999999999999, "src": "a", "dst": "b", "label": "pays"}\n')
    graphtide(folder, "match", "p.gtp", "s.jsonl", "--dead-letters", "dead.jsonl")
    assert json.loads((folder / "dead.jsonl").read_text())["reason"] == 'ts "99999999999999999999" does not fit in 64 bits'
