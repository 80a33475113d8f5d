"""The end of a run on the command line says what was lost, in words and in the summary.

Every verb that reads a stream does so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graphtide.cli.app import app
from graphtide.cli.status import status_of
from graphtide_core.errors import GraphtideError
from pyarrow import feather
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.testing import Result

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 100\n"
VERBS: dict[str, tuple[str, ...]] = {
    "match": ("match", "p.gtp"),
    "statistics": ("statistics",),
    "explain": ("explain", "p.gtp", "--analyze"),
}
Record = dict[str, object]


def record(ts: int, id: str, source: str = "a", target: str = "b") -> Record:
    return {"ts": ts, "src": source, "dst": target, "label": "pays", "id": id}


REPEATED = [record(1, "one"), record(2, "two", "b", "c"), record(3, "one"), record(4, "two"), record(5, "five")]


def write_csv(records: list[Record], path: Path) -> None:
    lines = [",".join(map(str, each.values())) for each in records]
    path.write_text("\n".join([",".join(records[0]), *lines, ""]))


def write_json_lines(records: list[Record], path: Path) -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in records))


WRITERS: dict[str, Callable[[list[Record], Path], None]] = {
    "csv": write_csv,
    "jsonl": write_json_lines,
    "parquet": lambda records, path: pq.write_table(pa.Table.from_pylist(records), path),
    "arrow": lambda records, path: feather.write_feather(pa.Table.from_pylist(records), path, compression="uncompressed"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.gtp").write_text(PATTERN)
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False, env={"COLUMNS": "300"})


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("verb", VERBS)
def test_duplicates_are_reported_with_the_first_and_how_to_read_the_file_without_ids(verb: str, format: str) -> None:
    stream = Path(f"s.{format}")
    WRITERS[format](REPEATED, stream)
    ended = run(*VERBS[verb], stream)
    assert ended.exit_code == 0, "duplicates do not count"
    said = (
        "2 of 5 records were dropped as duplicates, the first is record 3 (id 'one'): their ids came before in the window; "
        "if 'id' is not an id, --column id= reads the stream without it"
    )
    assert f"graphtide: {said}\n" in ended.stderr
    without = run(*VERBS[verb], stream, "--column", "id=")
    assert (without.exit_code, "duplicates" in without.stderr) == (0, False)


def test_without_ids_all_records_are_matched() -> None:
    write_csv([record(1, "x"), record(2, "x", "b", "c"), record(3, "x", "c", "d")], Path("s.csv"))
    assert run("match", "p.gtp", "s.csv").stdout == ""
    found = [json.loads(line)["edges"] for line in run("match", "p.gtp", "s.csv", "--column", "id=").stdout.splitlines()]
    assert found == [{"x": "0", "y": "1"}, {"x": "1", "y": "2"}]


def test_the_column_that_is_named_is_that_of_the_stream() -> None:
    Path("s.csv").write_text("ts,src,dst,label,uid\n1,a,b,pays,x\n2,b,c,pays,x\n")
    ended = run("match", "p.gtp", "s.csv", "--column", "id=uid")
    assert "if 'uid' is not an id, --column id= reads the stream without it" in ended.stderr


def test_streams_by_name_report_their_duplicates() -> None:
    Path("q.gtp").write_text(
        "CONSTRUCT (u)-[:r]->(w)\nMATCH (u)-[:pays]->(v) ON s WINDOW(90)\nMATCH (v)-[:pays]->(w) ON t WINDOW(90)\n"
    )
    write_csv([record(1, "one"), record(2, "one")], Path("s.csv"))
    write_csv([record(1, "one", "b", "c")], Path("t.csv"))
    ended = run("match", "q.gtp", "--input", "s=s.csv", "--input", "t=t.csv")
    assert "1 of 3 records was dropped as a duplicate, the first is record 2 (id 'one')" in ended.stderr


@pytest.mark.parametrize(
    ("share", "status"),
    [("1%", 5), ("0", 5), ("0%", 5), ("2%", 5), ("2.1 %", 0), ("5%", 0), ("100%", 0)],
)
@pytest.mark.parametrize("verb", VERBS)
def test_the_share_of_rejected_records_decides_the_status(verb: str, share: str, status: int) -> None:
    good = [f"{ts},a{ts},b{ts},pays\n" for ts in range(1, 50)]
    Path("s.csv").write_text("ts,src,dst,label\n" + "".join(good) + "soon,a,b,pays\n")
    ended = run(*VERBS[verb], "s.csv", "--max-rejected", share)
    assert ended.exit_code == status
    assert ("status 5, since 2 % of the records were rejected" in ended.stderr) == (status == 5)


@pytest.mark.parametrize("verb", VERBS)
def test_less_than_one_in_a_hundred_is_a_success_unless_none_may_be(verb: str) -> None:
    good = [f"{ts},a{ts},b{ts},pays\n" for ts in range(1, 150)]
    Path("s.csv").write_text("ts,src,dst,label\n" + "".join(good) + "soon,a,b,pays\n")
    assert [run(*VERBS[verb], "s.csv", *more).exit_code for more in ((), ("--max-rejected", "0"))] == [0, 5]
    Path("s.csv").write_text("ts,src,dst,label\n" + "".join(good))
    assert run(*VERBS[verb], "s.csv", "--max-rejected", "0").exit_code == 0


@pytest.mark.parametrize("share", ["5", "-1%", "101%", "half", "", "1e1%", "%"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_share_that_is_no_percentage_is_refused(verb: str, share: str) -> None:
    write_csv(REPEATED, Path("s.csv"))
    ended = run(*VERBS[verb], "s.csv", f"--max-rejected={share}")
    assert ended.exit_code == 2
    assert "--max-rejected" in ended.output
    assert "is not a percentage from 0% to 100%" in ended.output


def test_with_status_5_all_matches_are_written_and_the_summary_has_the_reasons() -> None:
    rows = "10,a,b,pays\n11,b,c,pays\nsoon,a,b,pays\nnow,a,b,pays\n12,b\n1,c,d,pays\n"
    Path("s.csv").write_text("ts,src,dst,label\n" + rows)
    ended = run("match", "p.gtp", "s.csv", "--lateness", "0", "--summary", "summary.json", "--output", "m.jsonl")
    assert ended.exit_code == 5
    assert Path("m.jsonl").read_text().count("\n") == 1
    summary = json.loads(Path("summary.json").read_text())
    assert (summary["outcome"], summary["read"], summary["dead_letters"], summary["late"]) == ("done", 6, 4, 1)
    assert summary["rejected"] == [
        {"reason": "ts … is not an integer", "records": 2, "line": 4, "example": 'ts "soon" is not an integer'},
        {"reason": "expected … fields, found …", "records": 1, "line": 6, "example": "expected 4 fields, found 2"},
        {"reason": "late", "records": 1, "line": 7, "example": "late: ts 1 is before the watermark 11 (lateness 0)"},
    ]


def test_the_lateness_that_is_proposed_loses_nothing() -> None:
    write_json_lines([record(ts, str(ts)) for ts in (5, 40, 3, 50, 12, 49)], Path("s.jsonl"))
    ended = run("match", "p.gtp", "s.jsonl", "--lateness", "2")
    assert "--lateness 38ms puts them back in order" in ended.stderr
    assert "rejected" not in run("match", "p.gtp", "s.jsonl", "--lateness", "38ms").stderr
    assert "1 of 6 records was rejected" in run("match", "p.gtp", "s.jsonl", "--lateness", "37ms").stderr


def test_as_many_reasons_as_a_stream_has_are_counted_in_bounded_memory() -> None:
    numbers = range(40)
    rows = ["0,a,b,pays,id", *(f"{ts},a,b,pays" + "".join(",x" if ts == each else ",1" for each in numbers) for ts in numbers)]
    Path("s.csv").write_text("\n".join(["ts,src,dst,label" + "".join(f",c{each}" for each in numbers), *rows, ""]))
    types = [part for each in numbers for part in ("--type", f"c{each}:integer")]
    ended = run("match", "p.gtp", "s.csv", "--summary", "summary.json", *types)
    rejected = json.loads(Path("summary.json").read_text())["rejected"]
    assert ended.exit_code == 3
    assert sum(each["records"] for each in rejected) == 41
    assert (len(rejected), rejected[0]["reason"]) == (17, "other reasons")
    assert "for other reasons" in ended.stderr


@pytest.mark.parametrize("policy", ["shed", "pause"])
def test_a_limit_speaks_at_the_first_loss_and_at_the_end(policy: str) -> None:
    fans = [record(ts, f"i{ts}", f"a{ts}") for ts in range(1, 9)] + [record(9, "nine", "b", "c")]
    write_csv(fans, Path("s.csv"))
    arguments = ("--engine", "timing", "--limit-partial-matches", "5", "--on-limit", policy, "--summary", "summary.json")
    ended = run("match", "p.gtp", "s.csv", *arguments)
    assert ended.exit_code == 0
    first, *_, last = [line for line in ended.stderr.splitlines() if "limit" in line]
    assert first.startswith("graphtide: note: pattern 'p' reached its limit of 5 partial matches at time ")
    said = {"pause": "was paused by its limit of 5 ", "shed": "partial matches or searches at its limit of 5 "}
    assert said[policy] in last
    assert last.endswith("; --limit-partial-matches raises it")
    (pattern,) = json.loads(Path("summary.json").read_text())["patterns"]
    assert (pattern["limit"], pattern["paused"]) == ("5 partial matches", policy == "pause")
    assert pattern["limited_at"] is not None
    unlimited = run("match", "p.gtp", "s.csv", "--engine", "timing")
    assert "limit" not in unlimited.stderr


def refuse(*arguments: object) -> tuple[int, str]:
    """Return the status of a call that fails, and what it says."""
    ended = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(ended.exception, GraphtideError):
        return status_of(ended.exception), str(ended.exception)
    return ended.exit_code, ended.stderr


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("verb", [*VERBS, "validate"])
def test_a_column_that_is_not_there_is_an_error(verb: str, format: str) -> None:
    stream = Path(f"s.{format}")
    WRITERS[format](REPEATED, stream)
    line = ("validate", "p.gtp", "--stream") if verb == "validate" else VERBS[verb]
    for name, column in (("id", "idd"), ("src_label", "kind"), ("op", "action"), ("src", "source")):
        status, said = refuse(*line, stream, "--column", f"{name}={column}")
        assert status == 3
        assert f"(for {name}); the columns are " in said
    assert "did you mean" in refuse(*line, stream, "--column", "id=idd")[1]


def test_a_column_that_no_record_of_lines_had_is_noted() -> None:
    write_json_lines([{**each, "id": None} for each in REPEATED], Path("s.jsonl"))
    for verb in VERBS.values():
        ended = run(*verb, "s.jsonl", "--column", "id=uid", "--column", "op=action")
        assert "no record had 'uid', which should be its 'id'" in ended.stderr
        assert "no record had 'action', which should be its 'op'" in ended.stderr


@pytest.mark.parametrize("name", ["ts", "src", "dst", "label"])
def test_a_field_that_a_record_needs_has_a_column(name: str) -> None:
    write_csv(REPEATED, Path("s.csv"))
    ended = run("match", "p.gtp", "s.csv", "--column", f"{name}=")
    assert ended.exit_code == 2
    assert f"there is no column that a record can do without {name!r}" in ended.output


def test_a_query_edge_that_no_record_could_be_is_noted_by_explain_too() -> None:
    Path("p.gtp").write_text(PATTERN.replace("y:pays", "y:payz"))
    write_csv(REPEATED, Path("s.csv"))
    for verb in ("match", "explain"):
        assert "no record could be edge 'y'" in run(*VERBS[verb], "s.csv").stderr


def test_records_whose_own_text_says_late_or_future_are_counted_for_what_is_wrong_with_them() -> None:
    times = ('"late: ts 1"', '"9 is in the future: now"', "99999999999999")
    rows = "".join(f"{ts},a,b,pays\n" for ts in times)
    Path("s.csv").write_text("ts,src,dst,label\n" + rows + "3,a,b,late: ts 1,extra\n")
    run("match", "p.gtp", "s.csv", "--max-ahead", "1h", "--summary", "summary.json")
    summary = json.loads(Path("summary.json").read_text())
    assert summary["late"] == 0
    assert {each["reason"]: each["records"] for each in summary["rejected"]} == {
        "ts … is not an integer": 2,
        "too far ahead": 1,
        "expected … fields, found …": 1,
    }
