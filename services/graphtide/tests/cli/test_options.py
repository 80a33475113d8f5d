"""Options that cannot be are refused in words, and files are not written over by mistake."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide import Duration, Limits, MatchOptions
from graphtide.cli.app import app
from graphtide.cli.status import status_of
from graphtide_core.errors import FatalError, GraphtideError, UnreadableStreamError
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10\n"
STREAM = "ts,src,dst,label,id\n1,a,b,pays,1\n1,a,b,pays,1\n2,b,c,pays,2\n3,c\n"
PAST = str(2**63)
NUMBER_OF_MANY_DIGITS = "9" * 5000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.gtp").write_text(PATTERN)
    (tmp_path / "s.csv").write_text(STREAM)
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def read_output(result: Result) -> str:
    """Return what was said, without the frame that is drawn around it."""
    return " ".join(result.output.replace("│", " ").split())


MATCH = ("match", "p.gtp", "s.csv")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ((*MATCH, "--lateness", PAST), f"'{PAST}' is longer than times can be apart"),
        ((*MATCH, "--lateness", "9999999999999w"), "'9999999999999w' is longer than times can be apart"),
        ((*MATCH, "--lateness", NUMBER_OF_MANY_DIGITS), "is longer than times can be apart"),
        ((*MATCH, "--max-ahead", NUMBER_OF_MANY_DIGITS), "is longer than times can be apart"),
        ((*MATCH, "--limit-partial-matches", PAST), f"less than or equal to {2**63 - 1}"),
        ((*MATCH, "--limit-state-bytes", PAST), f"less than or equal to {2**63 - 1}"),
        ((*MATCH, "--limit-work", PAST), f"less than or equal to {2**63 - 1}"),
        ((*MATCH, "--delimiter", 'a"'), "cannot separate fields"),
        (("statistics", "s.csv", "--lateness", PAST), "is longer than times can be apart"),
        (("validate", "p.gtp", "--lateness", PAST), "is longer than times can be apart"),
        (("validate", "p.gtp", "--max-ahead", ""), "Invalid value for --max-ahead"),
        (("validate", "p.gtp", "--column", "src"), "'src' is not NAME=COLUMN"),
        (("validate", "p.gtp", "--format", ""), "'' is not one of csv, jsonl, parquet, arrow"),
        (("validate", "p.gtp", "--type", "zip"), "'zip' is not NAME:TYPE"),
        (("validate", "p.gtp", "--delimiter", ""), "'' cannot separate fields"),
        (("statistics", "s.csv", "--window", NUMBER_OF_MANY_DIGITS), "is longer than times can be apart"),
        (("statistics", "s.csv", "--top", PAST), f"less than or equal to {2**63 - 1}"),
        (("explain", "p.gtp", "--analyze", "s.csv", "--near-misses", PAST), "less than or equal to 1000000000"),
        (("generate", "network", "-o", "g.csv", "--records", PAST), "less than or equal to 1000000000"),
        (("dev", "up", "--lateness", PAST), f"less than or equal to {2**63 - 1}"),
        (("dev", "up", "--max-ahead", f"{PAST}w"), "is longer than times can be apart"),
        (("backfill", "p.gtp", "s.csv", "--source", "csv", "--slice", f"{PAST}w"), "is longer than times can be apart"),
        (("backfill", "p.gtp", "s.csv", "--source", "csv", "--from", PAST), f"'{PAST}' is not a time of a stream"),
        (("backfill", "p.gtp", "s.csv", "--source", "csv", "--limit-work", PAST), f"less than or equal to {2**63 - 1}"),
        (("wait", "p", "--timeout", "nan"), "greater than or equal to 0"),
        (("tail", "p", "--count", PAST), f"less than or equal to {2**63 - 1}"),
        ((*MATCH, "--plan", "ms-tree"), "ms-tree is a variant of the engine timing: add --engine timing"),
        ((*MATCH, "--engine", "timing", "--plan", "path"), "path is a variant of the engine sj-tree: add --engine sj-tree"),
        (("explain", "p.gtp", "--plan", "path-lazy"), "add --engine sj-tree"),
        ((*MATCH, "--plan", "nonsense"), "'nonsense' is not one of independent, ms-tree, ms-dag"),
        ((*MATCH, "--output", "s.csv"), "s.csv is given as STREAM_FILE too"),
        ((*MATCH, "--dead-letters", "./s.csv"), "s.csv is given as STREAM_FILE too"),
        ((*MATCH, "--summary", "p.gtp"), "p.gtp is given as PATTERN_FILE too"),
        ((*MATCH, "--output", "out", "--dead-letters", "./out"), "out is given as --output too"),
        (("statistics", "s.csv", "--output", "s.csv"), "s.csv is given as STREAM_FILE too"),
        (("generate", "network", "-o", "g", "--pattern", "g"), "g is given as --output too"),
        (("backfill", "p.gtp", "s.csv", "--source", "csv", "--output", "s.csv"), "s.csv is given as LOCATION too"),
        (("explain", "p.gtp", "--dead-letters", "d"), "add --analyze STREAM_FILE"),
        (("explain", "p.gtp", "--analyze", "s.csv", "--dead-letters", "s.csv"), "s.csv is given as --analyze too"),
    ],
)
def test_it_is_refused_in_words(folder: Path, call: tuple[str, ...], words: str) -> None:
    ended = run(*call)
    assert (ended.exit_code, type(ended.exception)) == (2, SystemExit)
    assert words in read_output(ended)
    assert (folder / "s.csv").read_text() == STREAM
    assert (folder / "p.gtp").read_text() == PATTERN


def test_the_longest_lateness_there_is_is_taken() -> None:
    allowed = ("--lateness", 2**63 - 1, "--max-rejected", "50%")
    assert run(*MATCH, *allowed).exit_code == 0
    assert run("statistics", "s.csv", *allowed).exit_code == 0


def test_options_of_python_are_refused_in_words_too() -> None:
    with pytest.raises(ValueError, match="a lateness of 9223372036854775808 is longer than times can be apart"):
        MatchOptions(lateness=Duration(2**63))
    with pytest.raises(ValueError, match=r"limits\.work is 0 to 9223372036854775807, not 9223372036854775808"):
        MatchOptions(limits=Limits(work=2**63))
    with pytest.raises(ValueError, match="max_pending is 0 to"):
        MatchOptions(max_pending=-1)


def test_the_summary_goes_to_standard_output_and_counts_what_was_left_out() -> None:
    ended = run(*MATCH, "--summary", "-")
    match, summary = (json.loads(line) for line in ended.stdout.splitlines())
    assert match["edges"] == {"x": "1", "y": "2"}
    assert {name: summary[name] for name in ("read", "records", "duplicates", "dead_letters")} == {
        "read": 4,
        "records": 2,
        "duplicates": 1,
        "dead_letters": 1,
    }


def test_matches_go_to_standard_output_by_its_name(folder: Path) -> None:
    assert run(*MATCH, "--output", "-").stdout == run(*MATCH).stdout
    assert run("statistics", "s.csv", "--output", "-").stdout == run("statistics", "s.csv").stdout
    assert not (folder / "-").exists()


@pytest.mark.parametrize("option", ["--summary", "--explain"])
def test_what_cannot_be_written_is_said_in_words(option: str) -> None:
    ended = run(*MATCH, option, "none/file")
    assert isinstance(ended.exception, FatalError)
    assert str(ended.exception) == "none/file cannot be written: No such file or directory"


@pytest.mark.parametrize(
    "call", [("match", "none.gtp", "s.csv"), ("explain", "none.gtp"), ("validate", "none.gtp"), ("apply", "none.gtp")]
)
def test_a_missing_file_of_patterns_is_status_3(call: tuple[str, ...]) -> None:
    error = run(*call).exception
    assert isinstance(error, UnreadableStreamError)
    assert (str(error), status_of(error)) == ("none.gtp: no such file", 3)


@pytest.mark.parametrize("call", [("get",), ("explain", "p")])
def test_the_url_of_a_server_has_a_scheme(call: tuple[str, ...]) -> None:
    error = run(*call, "--server", "localhost:8080").exception
    assert isinstance(error, GraphtideError)
    assert str(error) == "'localhost:8080' is not a URL of a server: add http://, as in http://localhost:8080"
    assert "neither http:// nor https://" in str(run(*call, "--server", "ftp://localhost").exception)


def test_a_session_with_all_the_room_there_is_works() -> None:
    limits = Limits(2**63 - 1, 2**63 - 1, "fail", 2**63 - 1)
    edges = [{"ts": 1, "src": "a", "dst": "b", "label": "pays"}, {"ts": 2, "src": "b", "dst": "c", "label": "pays"}]
    assert len(list(graphtide.match(PATTERN, edges, MatchOptions(lateness=Duration(2**63 - 1), limits=limits)))) == 1


def test_a_column_that_no_record_has_is_refused_with_the_nearest() -> None:
    refused = run("match", "p.gtp", "s.csv", "--column", "sorce=a")
    assert refused.exit_code == 2
    assert "there is no column of a record 'sorce': did you mean 'src'? one of ts, src, dst" in read_output(refused)
