"""`graphtide backfill` says clearly what is missing or wrong before it starts anything."""

from __future__ import annotations

import builtins
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

import graphtide
import pytest
from graphtide.cli.app import app
from graphtide.cli.java import java_log
from graphtide_backfill import bootstrap
from graphtide_backfill.adapters.one_process import OneProcess
from graphtide_backfill.application.ports import CancelledError
from graphtide_backfill.domain.sizing import Machine
from graphtide_core.errors import FatalError, InvalidPatternError, InvalidQueryError, UnreadableStreamError
from graphtide_core.installing import line_for
from graphtide_core.match import IntervalMatch
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10\n"


@pytest.fixture
def pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.gtp").write_text(PATTERN)
    return tmp_path / "p.gtp"


@pytest.fixture
def in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work without Spark."""
    monkeypatch.setattr(bootstrap, "spark_cluster", lambda _: nullcontext(OneProcess(Machine(2, 2 << 30))))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["backfill", *(str(each) for each in arguments)], catch_exceptions=False)


# The second is what imports PySpark.
@pytest.mark.parametrize("absent", ["graphtide_backfill", "graphtide_backfill.adapters.spark_cluster"])
def test_without_spark_it_says_what_to_install(pattern: Path, monkeypatch: pytest.MonkeyPatch, absent: str) -> None:
    (pattern.parent / "history.parquet").touch()
    real = builtins.__import__

    def without(name: str, *more: object, **named: object) -> object:
        if name.startswith(absent):
            raise ImportError(name)
        return real(name, *more, **named)  # type: ignore[arg-type] # handed on as they came

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(FatalError, match=re.escape(line_for("spark"))):
        run(pattern, "history.parquet")


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [("--from", "soon", "not an instant"), ("--executor-memory", "much", "not a size"), ("--spark", "cores", "not NAME=VALUE")],
)
def test_values_that_cannot_be_are_refused(pattern: Path, option: str, value: str, said: str) -> None:
    with pytest.raises(InvalidQueryError, match=said):
        run(pattern, "history.parquet", option, value)


def test_a_topic_is_given_with_its_brokers(pattern: Path) -> None:
    result = run(pattern, "topic", "--source", "kafka")
    assert result.exit_code == 2
    assert "brokers/topic" in result.output


def test_an_attribute_that_history_does_not_have_is_shown_in_the_text(pattern: Path, in_one_process: None) -> None:
    pattern.write_text(PATTERN.replace("ORDER", "WHERE x.amonut > 3 ORDER"))
    (pattern.parent / "h.csv").write_text("ts,src,dst,label,amount\n1,a,b,pays,5\n2,b,c,pays,6\n")
    with pytest.raises(InvalidPatternError, match="no attribute 'amonut'") as refused:
        run(pattern, "h.csv", "--source", "csv", "--output", "m.jsonl")
    reason, line, caret, hint = str(refused.value).splitlines()
    assert reason.startswith("line 1, column")
    assert line[caret.index("^") :].startswith("x.amonut")
    assert hint == "hint: did you mean 'amount'?"
    # A run that cannot begin leaves nothing for the next one to remove.
    pattern.write_text(PATTERN)
    assert run(pattern, "h.csv", "--source", "csv", "--output", "m.jsonl").exit_code == 0
    assert len((pattern.parent / "m.jsonl").read_bytes().splitlines()) == 1


def test_finished_slices_of_an_earlier_run_are_not_taken_unasked(pattern: Path) -> None:
    (pattern.parent / "m.parquet.run").mkdir()
    with pytest.raises(FatalError, match=r"continue with --resume m\.parquet\.run"):
        run(pattern, "history.parquet", "--output", "m.parquet")


@pytest.mark.usefixtures("in_one_process")
def test_rejected_records_are_reported_and_where_all_were_it_is_not_a_success(pattern: Path) -> None:
    edges = "ts,src,dst,label\n1,a,b,pays\n2,b,c,pays\n"
    (pattern.parent / "some.csv").write_text(edges + "soon,b,c,pays\n")
    (pattern.parent / "none.csv").write_text("ts,src,dst,label\nsoon,b,c,pays\nlater,b,c,pays\n")
    some = run(pattern, "some.csv", "--source", "csv", "--output", "some.jsonl")
    none = run(pattern, "none.csv", "--source", "csv", "--output", "none.jsonl")
    allowed = run(pattern, "some.csv", "--source", "csv", "--output", "some.jsonl", "--max-rejected", "50%")
    assert (some.exit_code, allowed.exit_code, none.exit_code) == (5, 0, 3)
    assert "graphtide: 1 of 3 records was rejected, the first at line 4 of " in some.stderr
    assert 'some.csv (ts "soon" is not an integer); `graphtide match`' in some.stderr
    assert "graphtide: 2 of 2 records were rejected, the first at line 2 of " in none.stderr
    assert "status 5, since 33.33 % of the records were rejected" in some.stderr
    assert (pattern.parent / "some.jsonl").read_text().count("\n") == 1


@pytest.mark.usefixtures("in_one_process")
def test_duplicates_are_reported_and_history_is_read_without_ids(pattern: Path) -> None:
    (pattern.parent / "h.csv").write_text("ts,src,dst,label,id\n1,a,b,pays,x\n2,b,c,pays,x\n")
    some = run(pattern, "h.csv", "--source", "csv", "--output", "some.jsonl")
    assert some.exit_code == 0
    assert "graphtide: 1 record was dropped as a duplicate: the id came before in the window" in some.stderr
    whole = run(pattern, "h.csv", "--source", "csv", "--output", "whole.jsonl", "--column", "id=")
    assert (whole.exit_code, "duplicate" in whole.stderr) == (0, False)
    assert [(pattern.parent / f"{name}.jsonl").read_text().count("\n") for name in ("some", "whole")] == [0, 1]


@pytest.mark.usefixtures("in_one_process")
def test_matches_go_to_a_folder_by_query_and_day(pattern: Path) -> None:
    (pattern.parent / "h.csv").write_text("ts,src,dst,label\n1,a,b,pays\n2,b,c,pays\n")
    done = run(pattern, "h.csv", "--source", "csv", "--partitioned", "found")
    assert (done.exit_code, done.stdout) == (0, "")
    (file,) = (pattern.parent / "found").rglob("*.parquet")
    assert file.parent == pattern.parent / "found" / "query=p" / "date=1970-01-01"
    with pytest.raises(FatalError, match="found is there already"):
        run(pattern, "h.csv", "--source", "csv", "--partitioned", "found")


@pytest.mark.usefixtures("in_one_process")
def test_history_is_read_by_a_statement(pattern: Path) -> None:
    (pattern.parent / "h.csv").write_text("when,from,to,id\n2024-01-31,a,b,1\n2024-02-01,b,c,2\nsoon,b,d,3\n")
    (pattern.parent / "s.gts").write_text("STREAM s EDGE (`from`)-[:pays]->(to) AT when UNIT s ID id\n")
    (pattern.parent / "q.gtp").write_text(
        "STREAM s EDGE (`from`)-[:pays]->(to) AT when UNIT s ID id\n" + PATTERN.replace("WINDOW 10", "WINDOW 2d")
    )
    (pattern.parent / "p.gtp").write_text(PATTERN.replace("WINDOW 10", "WINDOW 2d"))
    for given in ((pattern, "--stream", "s.gts"), (pattern.parent / "q.gtp",)):
        name, *options = given
        ended = run(name, "h.csv", "--output", "m.jsonl", "--max-rejected", "50%", *options)
        assert ended.exit_code == 0, ended.output
        (found,) = map(json.loads, (pattern.parent / "m.jsonl").read_text().splitlines())
        assert (found["edges"], found["detected_at"]) == ({"x": "1", "y": "2"}, 1_706_745_600)
        assert "1 of 3 records was rejected" in ended.stderr
    for wrong, said in (
        (("--source", "kafka"), "a STREAM statement reads files"),
        (("--type", "n:string"), "a STREAM statement reads files"),
        (("--column", "ts=when"), "STREAM s says what its fields are"),
        (("--delimiter", ";"), "STREAM s says how its records are written"),
    ):
        refused = run(pattern, "h.csv", "--stream", "s.gts", *wrong)
        assert refused.exit_code == 2
        assert said in " ".join(refused.stderr.replace("│", " ").split())
    (pattern.parent / "u.gts").write_text("STREAM s EDGE (`from`)-[:pays]->(to) AT when UNIT s ID id DUPLICATES update\n")
    with pytest.raises(InvalidQueryError, match="a backfill drops duplicates, it has no DUPLICATES update"):
        run(pattern, "h.csv", "--stream", "u.gts")


@pytest.mark.usefixtures("in_one_process")
def test_a_duplicate_is_one_edge_of_a_record_that_gives_several(pattern: Path) -> None:
    rows = "1,a,b,s1,x\n2,b,c,s1,y\n2,b,d,s2,y\n3,c,e,s2,z\n"
    (pattern.parent / "h.csv").write_text("ts,from,to,seat,ticket\n" + rows)
    statement = "STREAM s EDGE (`from`)-[:pays]->(to) ID ticket EDGE (to)-[:pays]->(seat) ID seat AT ts\n"
    (pattern.parent / "p.gtp").write_text(statement + PATTERN)
    assert run(pattern, "h.csv", "--output", "m.jsonl").exit_code == 0
    live = CliRunner().invoke(app, ["match", str(pattern), "h.csv"])
    history = sorted((pattern.parent / "m.jsonl").read_text().splitlines())
    assert history == sorted(live.stdout.splitlines())
    assert len(history) > 1
    assert "2 of 4" in live.stderr or "3 of 4" in live.stderr


@pytest.fixture
def without_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where Spark is started."""

    def refuse(_: object) -> NoReturn:
        pytest.fail("Spark was started")

    monkeypatch.setattr(bootstrap, "spark_cluster", refuse)


@pytest.mark.usefixtures("without_a_cluster")
def test_columns_and_endings_are_checked_before_spark_starts(pattern: Path) -> None:
    (pattern.parent / "h.csv").write_text("ts,src,dst,label,uid\n1,a,b,pays,x\n")
    with pytest.raises(UnreadableStreamError, match=r"no column 'uidd' \(for id\); the columns are 'ts', .*did you mean uid"):
        run(pattern, "h.csv", "--source", "csv", "--column", "id=uidd")
    refused = run(pattern, "h.csv", "--source", "csv", "--output", "m.csv")
    assert refused.exit_code == 2
    said = " ".join(refused.stderr.replace("│", " ").split())
    assert "end the name in .jsonl, .ndjson, .parquet or .arrow" in said


@pytest.mark.usefixtures("without_a_cluster")
def test_what_is_missing_is_reported_before_spark_starts(pattern: Path) -> None:
    (pattern.parent / "h.csv").write_text("ts,src,dst,label,amount\n1,a,b,pays,5\n")
    with pytest.raises(UnreadableStreamError, match=r"none\.csv: there is no such file"):
        run(pattern, "none.csv", "--source", "csv")
    with pytest.raises(UnreadableStreamError, match="no such file"):
        run(pattern.parent / "none.gtp", "h.csv", "--source", "csv")
    for option in ("--output", "--summary"):
        with pytest.raises(FatalError, match="none/x cannot be written: No such file or directory"):
            run(pattern, "h.csv", "--source", "csv", option, "none/x")
        with pytest.raises(FatalError, match=r"cannot be written: Is a directory"):
            run(pattern, "h.csv", "--source", "csv", option, pattern.parent)
    pattern.write_text(PATTERN.replace("ORDER", "WHERE x.amonut > 3 ORDER"))
    with pytest.raises(InvalidPatternError, match="no attribute 'amonut'"):
        run(pattern, "h.csv", "--source", "csv")
    assert {path.name for path in pattern.parent.iterdir()} == {"p.gtp", "h.csv"}


def test_missing_java_is_reported_with_what_is_looked_for(pattern: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pattern.parent / "h.csv").write_text("ts,src,dst,label\n1,a,b,pays\n")
    monkeypatch.setenv("JAVA_HOME", str(pattern.parent))
    with pytest.raises(FatalError, match="Spark needs Java 17 or newer, and JAVA_HOME is"):
        run(pattern, "h.csv", "--source", "csv")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(pattern.parent))
    with pytest.raises(FatalError, match="Spark needs Java 17 or newer, and it is not on PATH"):
        run(pattern, "h.csv", "--source", "csv")


@pytest.mark.usefixtures("in_one_process")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_end_that_was_asked_for_is_reported_and_the_summary_is_true(
    pattern: Path, monkeypatch: pytest.MonkeyPatch, number: int, status: int
) -> None:
    (pattern.parent / "h.csv").write_text("ts,src,dst,label\n1,a,b,pays\n2,b,c,pays\n")
    whole = OneProcess.match

    def interrupted(*arguments: Any) -> None:
        whole(*arguments)
        os.kill(os.getpid(), number)
        raise CancelledError

    with monkeypatch.context() as patched:
        patched.setattr(OneProcess, "match", interrupted)
        ended = run(pattern, "h.csv", "--source", "csv", "--output", "m.jsonl", "--summary", "s.json")
    assert ended.exit_code == status
    words = "finished slices are in m.jsonl.run: --resume m.jsonl.run continues"
    assert f"graphtide: interrupted: 2 edges, 1 match; {words}\n" in ended.stderr
    emitted = json.loads((pattern.parent / "s.json").read_text())
    assert (emitted["outcome"], emitted["matches"]) == ("interrupted", 1)
    again = run(pattern, "h.csv", "--source", "csv", "--output", "m.jsonl", "--summary", "s.json", "--resume", "m.jsonl.run")
    assert again.exit_code == 0
    emitted = json.loads((pattern.parent / "s.json").read_text())
    assert (emitted["outcome"], emitted["matches"]) == ("done", 1)


def test_what_java_says_goes_to_a_log_that_stays_where_spark_fails(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    noise = [sys.executable, "-c", "import os; os.write(1, b'out '); os.write(2, b'WARN')"]
    with java_log() as log, log.taken():
        subprocess.run(noise, check=True)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []

    def fail() -> None:
        with java_log() as log:
            with log.taken():
                subprocess.run(noise, check=True)
            message = "no Spark at local[1]"
            raise FatalError(message)

    with pytest.raises(FatalError):
        fail()
    (kept,) = tmp_path.iterdir()
    assert kept.read_text() == "out WARN"
    assert capfd.readouterr() == ("", f"graphtide: what Java said is in {kept}\n")


LEFT_OUT = {
    "counted": "PATTERN counted MATCH (a)-[x:pays]->(b) ON s WINDOW 10 EDGES\n",
    "several": "QUERY several CONSTRUCT (u)-[:r]->(w)\n"
    "MATCH (u)-[:pays]->(v) ON s WINDOW(9) MATCH (v)-[:b]->(w) ON t WINDOW(9)\n",
    "viewer": "GRAPH VIEW near AS (near(x, y) <- pays(x, y). ON s WINDOW(9))\n"
    "QUERY viewer r(x, y) <- near(x, y). ON near WINDOW(9)\n",
}
"""Patterns that history cannot be searched for, of each kind, by their names."""


def history(folder: Path) -> Path:
    lines = ({"ts": ts, "src": f"v{ts}", "dst": f"v{ts + 1}", "label": "pays"} for ts in range(4))
    file = folder / "history.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return file


@pytest.mark.parametrize("report", ["INSTANCES", "CHANGES"])
def test_what_follows_from_all_before_is_one_slice_for_the_whole_file(pattern: Path, in_one_process: None, report: str) -> None:
    file = history(pattern.parent)
    pattern.write_text(f"PATTERN q MATCH (a)-[x:pays]->(b) UNDER DUAL SIMULATION REPORT {report} ON s WINDOW 2\n{PATTERN}")
    done = run(pattern, file, "--output", "found.jsonl")
    assert done.exit_code == 0
    found = [json.loads(line)["match_id"] for line in (pattern.parent / "found.jsonl").read_text().splitlines()]
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted(found) == sorted(each.match_id for each in graphtide.match(pattern.read_text(), records))
    with pytest.raises(FatalError, match="as q, history is one slice: leave --slice out"):
        run(pattern, file, "--slice", "2ms", "--output", "other.jsonl")


def test_patterns_that_history_cannot_be_searched_for_are_left_out_and_the_others_run(
    pattern: Path, in_one_process: None
) -> None:
    file = history(pattern.parent)
    both = pattern.parent / "both.gtp"
    both.write_text(PATTERN + "".join(LEFT_OUT.values()))
    assert run(pattern, file, "--output", "alone.jsonl").exit_code == 0
    done = run(both, file, "--output", "both.jsonl")
    assert done.exit_code == 0
    said = done.stderr
    for name in LEFT_OUT:
        assert f"warning: {name} is left out: " in said
    found = [json.loads(line) for line in (pattern.parent / "both.jsonl").read_text().splitlines()]
    alone = [json.loads(line) for line in (pattern.parent / "alone.jsonl").read_text().splitlines()]
    assert [each for each in found if each["query"] == "p"] == alone
    assert {each["query"] for each in found} == {"p", "near"}


@pytest.mark.parametrize("name", [name for name in LEFT_OUT if name != "viewer"])
def test_a_file_without_anything_to_search_is_refused_with_the_reason(pattern: Path, name: str) -> None:
    pattern.write_text(LEFT_OUT[name])
    with pytest.raises(InvalidQueryError, match=name):
        run(pattern, history(pattern.parent))


FAN = "PATTERN p MATCH (a)-[x:pays]->(b), (a)-[y:pays]->(c) ORDER x < y ON s WINDOW 10\n"
PAYMENTS = "ts,src,dst,label\n1,a,b,pays\n2,a,c,pays\n3,d,b,pays\n4,d,c,pays\n5,e,f,pays\n"


@pytest.mark.usefixtures("in_one_process")
def test_history_is_divided_by_the_key_that_is_asked_for(pattern: Path) -> None:
    pattern.write_text(FAN)
    (pattern.parent / "h.csv").write_text(PAYMENTS)
    plan = run(pattern, "h.csv", "--slice-by", "src:2", "--dry-run")
    assert plan.stdout.startswith("2 slices (1 of time, each in 2 parts by src) of 5 edges; 0 looked at again")
    assert re.search(r"^ +1  1 to 6  part 1 by src  about \d edges$", plan.stdout, re.MULTILINE)
    assert run(pattern, "h.csv", "--slice-by", "src:2", "--output", "m.jsonl").exit_code == 0
    assert run(pattern, "h.csv", "--output", "whole.jsonl").exit_code == 0
    assert (pattern.parent / "m.jsonl").read_bytes() == (pattern.parent / "whole.jsonl").read_bytes()


@pytest.mark.usefixtures("in_one_process")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FAN, r"\(\d of time, each in 6 parts by src\)"),
        (
            PATTERN,
            "note: history is not divided by src, the key of the stream: pattern 'p' is not local by src",
        ),
    ],
)
def test_history_is_divided_by_the_key_of_its_stream_if_patterns_are_local(pattern: Path, text: str, said: str) -> None:
    pattern.write_text(f"STREAM s FORMAT csv EDGE (src)-[label]->(dst) AT ts PARTITION BY src PARTS 3\n{text}")
    (pattern.parent / "h.csv").write_text(PAYMENTS)
    result = run(pattern, "h.csv", "--dry-run")
    assert result.exit_code == 0, result.output
    assert re.search(said, result.output)


def test_a_pattern_that_is_not_local_to_the_asked_key_is_refused_with_a_hint(pattern: Path) -> None:
    (pattern.parent / "h.csv").write_text(PAYMENTS)
    with pytest.raises(InvalidPatternError, match="pattern 'p' is not local by src") as refused:
        run(pattern, "h.csv", "--slice-by", "src", "--dry-run")
    assert refused.value.hint == "let all edges begin at one vertex"


QUERY = "QUERY q CONSTRUCT (u)-[:r]->(w) MATCH (u)-[:a]->(v) ON one WINDOW(9) MATCH (v)-[:b]->(w) ON other WINDOW(20)\n"


@pytest.fixture
def two_streams(pattern: Path) -> Path:
    """Two streams of different formats in the folder of a query over both."""
    pattern.write_text(QUERY)
    (pattern.parent / "one.csv").write_text("ts,src,dst,label\n1,x,y,a\n7,x,z,a\n")
    lines = ['{"ts":3,"src":"y","dst":"w","label":"b"}', '{"ts":7,"src":"z","dst":"w","label":"b"}']
    (pattern.parent / "other.jsonl").write_text("\n".join(lines) + "\n")
    return pattern


@pytest.mark.usefixtures("in_one_process")
def test_streams_are_given_by_name(two_streams: Path) -> None:
    run(two_streams, "--input", "one=one.csv", "--input", "other=other.jsonl", "--output", "m.jsonl")
    found = (two_streams.parent / "m.jsonl").read_text().splitlines()
    inputs = graphtide.Inputs(one=two_streams.parent / "one.csv", other=two_streams.parent / "other.jsonl")
    assert found == [each.to_json() for each in graphtide.match(QUERY, inputs) if isinstance(each, IntervalMatch)]
    assert len(found) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give the place of history, or --input NAME=LOCATION"),
        (["one.csv", "--input", "other=other.jsonl"], "give the place of history, or --input NAME=LOCATION"),
        (["--input", "one"], "'one' is not NAME=LOCATION"),
        (["--input", "one=one.csv", "--input", "one=other.jsonl"], "stream 'one' is given twice"),
    ],
)
def test_history_is_given_in_one_way(two_streams: Path, arguments: list[str], said: str) -> None:
    result = run(two_streams, *arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.output.replace("│", " ").split())


def test_a_stream_that_a_query_reads_and_that_is_not_given_is_named(two_streams: Path) -> None:
    with pytest.raises(InvalidQueryError, match="query 'q' reads the stream 'other', which history is not of"):
        run(two_streams, "--input", "one=one.csv")


def test_features_of_one_of_several_streams_are_refused(two_streams: Path) -> None:
    two_streams.write_text(f"STREAM one EDGE (src)-[label]->(dst) AT ts FEATURE n = count(*) PER src OVER 1m\n{QUERY}")
    with pytest.raises(InvalidQueryError, match="STREAM one: a backfill over several streams counts no features"):
        run(two_streams, "--input", "one=one.csv", "--input", "other=other.jsonl")
