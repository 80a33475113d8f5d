"""STREAM statements on the command line: `--stream`, statements in front of patterns, and `graphtide streams check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from graphtide.cli.app import app
from graphtide.cli.status import status_of
from graphtide.stream import Stream
from graphtide.stream_check import check_stream
from graphtide_core.errors import GraphtideError
from graphtide_query.presets import describe_preset, preset_names
from typer.testing import CliRunner

STATEMENT = """STREAM payments
EDGE (nameOrig:account)-[lower(type)]->(nameDest:account)
AT step * 3600 IN s
SET amount = amount
WHERE type <> 'DEBIT'
"""
PATTERN = (
    "PATTERN onward MATCH (a)-[x:transfer]->(b)-[y:cash_out]->(c) ORDER x < y WHERE y.amount = x.amount ON payments WINDOW 3h\n"
)
DATA = """step,type,amount,nameOrig,nameDest
1,TRANSFER,181.0,C1,C2
2,CASH_OUT,181.0,C2,C3
2,DEBIT,5.0,C2,C4
3,TRANSFER,7,C2,
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paysim.gts").write_text(STATEMENT)
    (tmp_path / "onward.gtp").write_text(PATTERN)
    (tmp_path / "both.gtp").write_text(STATEMENT + PATTERN)
    (tmp_path / "paysim.csv").write_text(DATA)


class Ended(NamedTuple):
    """How a command ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


def run(*arguments: str) -> Ended:
    result = CliRunner().invoke(app, arguments)
    if isinstance(result.exception, GraphtideError):
        return Ended(status_of(result.exception), result.stdout, result.stderr + str(result.exception))
    return Ended(result.exit_code, result.stdout, result.stderr)


def test_a_stream_is_matched_as_its_statement_says(tmp_path: Path) -> None:
    for given in (("onward.gtp", "paysim.csv", "--stream", "paysim.gts"), ("both.gtp", "paysim.csv")):
        result = run("match", *given, "--max-rejected", "50%", "--summary", "summary.json")
        assert result.exit_code == 0, result.output
        (found,) = map(json.loads, result.stdout.splitlines())
        assert (found["detected_at"], found["vertices"]) == (7_200_000, {"a": "C1", "b": "C2", "c": "C3"})
        summary = json.loads((tmp_path / "summary.json").read_text())
        assert [summary[each] for each in ("read", "records", "filtered", "dead_letters")] == [4, 2, 1, 1]
        assert "1 of 4 records was rejected" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("--stream", "none.gts"), "none.gts: no such file"),
        (("--stream", "onward.gtp"), "the text has no STREAM statement"),
        (("--stream", "paysim.gts", "--delimiter", ";"), "STREAM payments says how its records are written"),
        (("--stream", "paysim.gts", "--column", "src=nameOrig"), "STREAM payments says what its fields are"),
        (("--stream", "paysim.gts", "--time-unit", "s"), "STREAM payments counts ms"),
        (("--stream", "paysim.gts", "--time-unit", "auto"), "STREAM payments counts ms"),
        (("--stream", "paysim.gts", "--stream", "paysim.gts"), "two STREAM statements have the name 'payments'"),
    ],
)
def test_what_contradicts_a_statement_is_refused(arguments: tuple[str, ...], shown: str) -> None:
    result = run("match", "onward.gtp", "paysim.csv", *arguments)
    assert result.exit_code in {2, 3}
    assert shown in " ".join(result.output.replace("│", " ").split())


def test_errors_of_a_statement_name_its_file_and_place(tmp_path: Path) -> None:
    (tmp_path / "wrong.gts").write_text("STREAM s\nEDGE (a)-[:x]->(b) AT ts FOO 3\n")
    result = run("match", "onward.gtp", "paysim.csv", "--stream", "wrong.gts")
    assert result.exit_code == 2
    assert "line 2, column 26: wrong.gts: unexpected 'FOO'" in result.stderr
    assert "\n                           ^^^" in result.stderr
    checked = run("streams", "check", "wrong.gts", "paysim.csv")
    assert checked.exit_code == 2
    assert "line 2, column 26: wrong.gts: unexpected 'FOO'" in checked.stderr
    (tmp_path / "latin.gts").write_bytes(b"STREAM s\xe9")
    assert run("streams", "check", "latin.gts", "paysim.csv").stderr.count("latin.gts") == 1


def test_a_file_of_statements_alone_has_no_pattern() -> None:
    result = run("match", "paysim.gts", "paysim.csv")
    assert result.exit_code == 2
    assert "paysim.gts has STREAM statements and no pattern" in result.stderr


def test_other_verbs_read_statements() -> None:
    checked = run("validate", "onward.gtp", "--definition", "paysim.gts", "--stream", "paysim.csv")
    assert checked.exit_code == 0, checked.output
    assert "1 valid pattern: onward" in checked.stdout
    assert run("explain", "both.gtp", "--analyze", "paysim.csv", "--max-rejected", "50%").exit_code == 0
    counted = run("statistics", "paysim.csv", "--stream", "paysim.gts", "--max-rejected", "50%")
    assert counted.exit_code == 0
    assert "(account)-[transfer]->(account)" in counted.stdout


def test_check_shows_what_a_statement_makes_of_the_first_records() -> None:
    result = run("streams", "check", "paysim.gts", "paysim.csv", "--max-rejected", "50%")
    assert result.exit_code == 0, result.output
    assert "(C1:account)-[transfer]->(C2:account)" in result.stdout
    assert "1970-01-01T01:00:00Z" in result.stdout
    assert "amount = 181.0" in result.stdout
    assert "4 records: 2 edges and events, 1 filtered, 1 rejected" in result.stdout
    assert "the first at line 5 (no target)" in result.stderr
    assert run("streams", "check", "paysim.gts", "paysim.csv").exit_code == 5


def test_a_column_that_is_not_there_is_named_and_the_like_one_shown(tmp_path: Path) -> None:
    for statement, said in (
        ("EDGE (nameOrg)-[:x]->(nameDest) AT step", "no column 'nameOrg' (for a source)"),
        ("EDGE (nameOrig)-[:x]->(nameDst) AT step", "no column 'nameDst' (for a target)"),
        ("EDGE (nameOrig)-[:x]->(nameDest) AT stp SET n = amount", "no column 'stp' (for the time)"),
        ("EVENT kind AT step", "no column 'kind' (for a type)"),
    ):
        (tmp_path / "w.gts").write_text(f"STREAM s {statement}\n")
        refused = run("streams", "check", "w.gts", "paysim.csv")
        assert refused.exit_code == 3
        assert said in refused.stderr
        assert "the columns are 'step', 'type', 'amount', 'nameOrig', 'nameDest'" in refused.stderr
    (tmp_path / "w.gts").write_text("STREAM s EDGE (nameOrig)-[:x]->(nameDest) WHERE other > 1 AT step\n")
    assert run("streams", "check", "w.gts", "paysim.csv").stdout.endswith("0 edges and events, 4 filtered, 0 rejected\n")


CALLS = """ts,src,dst,bytes,id
1,a,b,5,e1
7,a,c,2,e3
4,a,b,7,e2
4,a,b,7,e2
12,a,b,1,e4
"""
EMITTING = """STREAM calls
EDGE (src:host)-['call']->(dst:host)
AT ts IN s
ID id
SET bytes = bytes
EMIT EDGE (src:host)-[:burst]->(dst) EVERY 10s SET calls = count(*), sent = sum(bytes) HAVING calls > 1
EMIT EVENT 'fan' PER src AS host EVERY 10s SET hosts = count(DISTINCT dst)
"""


def test_check_shows_what_windows_emit_of_the_sample_in_order(tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text(CALLS)
    (tmp_path / "calls.gts").write_text(EMITTING)
    result = run("streams", "check", "calls.gts", "calls.csv", "--shown", "1")
    assert result.exit_code == 0, result.output
    assert "5 records: 5 edges and events, 0 filtered, 0 rejected, 2 emitted" in result.stdout
    checked = check_stream(Stream.from_file("calls.gts").definition, "calls.csv")
    assert [(each.record, each.time, each.drawn, each.attributes) for each in checked.shown_emitted] == [
        (None, "1970-01-01T00:00:10Z", "(a:host)-[burst]->(b)", ("calls = 2", "sent = 12")),
        (None, "1970-01-01T00:00:10Z", "fan", ('host = "a"', "hosts = 2")),
    ]


def test_a_sample_that_ends_no_window_emits_nothing(tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text(CALLS.rpartition("12,")[0])
    (tmp_path / "calls.gts").write_text(EMITTING)
    assert (
        "4 records: 4 edges and events, 0 filtered, 0 rejected, 0 emitted"
        in run("streams", "check", "calls.gts", "calls.csv").stdout
    )
    (tmp_path / "calls.csv").write_text(CALLS.partition("\n")[0] + "\n")
    assert (
        "0 records: 0 edges and events, 0 filtered, 0 rejected, 0 emitted"
        in run("streams", "check", "calls.gts", "calls.csv").stdout
    )


def test_check_shows_all_fields_of_json_without_a_set(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"ts":1,"a":"x","b":"y","geo":{"at":[5,"z"]}}\n{"ts":2,"a":"x","b":"y","note":null}\n')
    (tmp_path / "a.gts").write_text("STREAM s EDGE (a)-[:x]->(b) AT ts\n")
    shown = run("streams", "check", "a.gts", "a.jsonl").stdout
    assert "geo.at[0] = 5" in shown
    assert 'geo.at[1] = "z"' in " ".join(shown.split())
    assert "2 records: 2 edges and events, 0 filtered, 0 rejected" in shown


def test_check_reads_a_part_alone(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text("ts,src,dst\n" + "".join(f"{ts},a{ts},b\n" for ts in range(200_000)))
    (tmp_path / "long.gts").write_text("STREAM s EDGE (src)-[:x]->(dst) AT ts\n")
    result = run("streams", "check", "long.gts", "long.csv", "--records", "1", "--shown", "2")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("┏")
    assert "the first " in result.stdout
    assert "a1" in result.stdout
    assert "a2" not in result.stdout


def test_presets_are_listed_printed_and_used(tmp_path: Path) -> None:
    listed = run("streams", "presets")
    assert listed.exit_code == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == [*preset_names()]
    printed = run("streams", "presets", "paysim")
    assert Stream(printed.stdout) == Stream.preset("paysim")
    assert run("streams", "presets", "zeek-ssh-json", "--pattern").stdout.startswith("// Many attempts to log in fail")
    refused = run("streams", "presets", "--pattern")
    assert (refused.exit_code, "give its NAME" in refused.stderr) == (2, True)
    (tmp_path / "sim.csv").write_text(
        "step,type,amount,nameOrig,oldbalanceOrg,newbalanceOrig,nameDest,oldbalanceDest,newbalanceDest,isFraud,isFlaggedFraud\n"
        "1,TRANSFER,181.0,C1,181.0,0.0,C2,0.0,0.0,1,0\n"
    )
    (tmp_path / "fraud.gtp").write_text("PATTERN fraud MATCH (a)-[x:TRANSFER]->(b) WHERE x.fraud ON s WINDOW 1h\n")
    found = run("match", "fraud.gtp", "sim.csv", "--preset", "paysim")
    assert json.loads(found.stdout)["vertices"] == {"a": "C1", "b": "C2"}
    assert "(C1:customer)-[TRANSFER]->(C2:customer)" in run("streams", "check", "paysim", "sim.csv").stdout
    wrong = run("match", "fraud.gtp", "sim.csv", "--preset", "paysin")
    assert (wrong.exit_code, "did you mean" in wrong.stderr) == (2, True)


def test_the_page_on_streams_lists_the_presets() -> None:
    page = (Path(__file__).parents[4] / "docs/reference/streams.md").read_text()
    rows = [f"| `{name}` | {describe_preset(name)} |" for name in preset_names()]
    assert [line for line in page.split("## Presets")[1].splitlines() if line.startswith("| `")] == rows
