"""What a column holds: settled by a stream's beginning, declared by `--type` and `--schema`, and reported where it matters."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide.cli.app import app
from graphtide_core.errors import InvalidQueryError
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b) WHERE x.zip = '{}' ON s WINDOW 10\n"
STREAM = "ts,src,dst,label,id,zip,amount\n1,a,b,pays,one,01234,5\n2,a,b,pays,two,1234,6\n3,a,b,pays,three,77,unknown\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text(STREAM)
    (tmp_path / "s.jsonl").write_text('{"ts":1,"src":"a","dst":"b","label":"pays","zip":77}\n')
    (tmp_path / "zip.gtp").write_text(PATTERN.format("77"))
    (tmp_path / "amount.gtp").write_text("PATTERN p MATCH (a)-[x:pays]->(b) WHERE x.amount > 5 ON s WINDOW 10\n")
    return tmp_path


def graphtide_match(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graphtide", "match", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def find(result: subprocess.CompletedProcess[str]) -> list[str]:
    return [json.loads(line)["edges"]["x"] for line in result.stdout.splitlines()]


def test_a_column_with_a_leading_zero_holds_texts_in_every_line(folder: Path) -> None:
    result = graphtide_match("zip.gtp", "s.csv")
    assert (find(result), result.returncode, result.stderr) == (["three"], 0, "")


def test_a_column_of_texts_that_a_pattern_takes_for_numbers_is_reported_with_what_to_do(folder: Path) -> None:
    result = graphtide_match("amount.gtp", "s.csv")
    assert (find(result), result.returncode) == ([], 0)
    assert result.stderr.startswith(
        "graphtide: column 'amount' holds texts, because of 'unknown' in line 4; a pattern takes it for numbers or "
        "Booleans, which texts never are; --type amount:number reads it as numbers\n"
    )


def test_a_declared_type_rejects_what_is_not_of_it(folder: Path) -> None:
    result = graphtide_match("amount.gtp", "s.csv", "--type", "amount:number")
    assert (find(result), result.returncode) == (["two"], 5)
    assert '1 of 3 records was rejected, the first at line 4 (amount "unknown" is not of the type number' in result.stderr


def test_a_schema_file_declares_and_an_option_comes_before_it(folder: Path) -> None:
    (folder / "schema.json").write_text('{"attributes": {"zip": "integer", "amount": "string"}}')
    assert find(graphtide_match("amount.gtp", "s.csv", "--schema", "schema.json")) == []
    result = graphtide_match("amount.gtp", "s.csv", "--schema", "schema.json", "--type", "amount:number")
    assert find(result) == ["two"]


def test_json_of_another_type_is_rejected(folder: Path) -> None:
    result = graphtide_match("zip.gtp", "s.jsonl", "--type", "zip:string")
    assert result.returncode == 3
    assert 'zip "77" is not of the type string, which was declared' in result.stderr


WRONG = {
    ("--type", "zip"): "'zip' is not NAME:TYPE, for example zip:string",
    ("--type", "zip:text"): "there is no type 'text' for 'zip', but string, integer, number, boolean",
    ("--type", "zip:strng"): "did you mean 'string'?",
    ("--type", "src:string"): "'src' is not an attribute",
    ("--type", "zpi:string"): "s.csv: a type is declared for 'zpi', but there is no such column; did you mean 'zip'?",
    ("--schema", "none.json"): "none.json: no such file",
    ("--schema", "s.csv"): "s.csv: this is not a schema",
    ("--schema", "odd.json"): "odd.json: this is not a schema: there is no type 'x' for 'zip'",
    ("--schema", "more.json"): "unknown field `types`",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_a_wrong_declaration_says_what_is_wrong(folder: Path, arguments: tuple[str, str]) -> None:
    (folder / "odd.json").write_text('{"attributes": {"zip": "x"}}')
    (folder / "more.json").write_text('{"attributes": {}, "types": {}}')
    result = graphtide_match("zip.gtp", "s.csv", *arguments)
    assert result.returncode in {2, 3}
    assert WRONG[arguments] in " ".join(result.stderr.replace("│", " ").split())


def test_python_declares_too_and_is_warned(folder: Path) -> None:
    pattern = (folder / "amount.gtp").read_text()
    with pytest.warns(graphtide.StreamWarning, match=r"MatchOptions\(types=\{'amount': 'number'\}\) reads it as numbers"):
        assert list(graphtide.match(pattern, "s.csv")) == []
    options = graphtide.MatchOptions(types={"amount": "number"})
    with pytest.warns(graphtide.StreamWarning, match="1 of 3 records was rejected"):
        assert [match.edges["x"] for match in graphtide.match(pattern, "s.csv", options)] == ["two"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = [{"ts": 1, "src": "a", "dst": "b", "label": "pays", "amount": 7}]
        assert len(list(graphtide.match(pattern, rows, options))) == 1


def test_python_refuses_a_type_that_is_none() -> None:
    with pytest.raises(InvalidQueryError, match="no type 'text'"):
        graphtide.MatchOptions(types={"zip": "text"})


@pytest.mark.parametrize("verb", ["explain", "validate"])
def test_other_verbs_take_types_as_match_does(verb: str, tmp_path: Path) -> None:
    (tmp_path / "p.gtp").write_text("PATTERN p MATCH (a)-[x:pays]->(b) WHERE x.zip = '01234' ON s WINDOW 10\n")
    (tmp_path / "s.csv").write_text("ts,src,dst,label,zip\n1,a,b,pays,01234\n")
    stream = "--analyze" if verb == "explain" else "--stream"
    arguments = [verb, str(tmp_path / "p.gtp"), stream, str(tmp_path / "s.csv"), "--type", "zip:string"]
    assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
    refused = CliRunner().invoke(app, [*arguments[:-1], "zip:text"])
    assert refused.exit_code == 2
