"""`graphtide backfill` says clearly what is missing or wrong before it starts anything."""

from __future__ import annotations

import builtins
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest
from graphtide.cli.app import app
from graphtide_backfill import bootstrap
from graphtide_backfill.adapters.one_process import OneProcess
from graphtide_backfill.domain.sizing import Machine
from graphtide_core.errors import FatalError, InvalidPatternError, InvalidQueryError
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
    real = builtins.__import__

    def without(name: str, *more: object, **named: object) -> object:
        if name.startswith(absent):
            raise ImportError(name)
        return real(name, *more, **named)  # type: ignore[arg-type] # handed on as they came

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(FatalError, match="pip install"):
        run(pattern, "history.parquet")


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [("--from", "soon", "no instant"), ("--executor-memory", "much", "no size"), ("--spark", "cores", "not NAME=VALUE")],
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
    # A run that cannot begin leaves nothing that the next one had to remove.
    pattern.write_text(PATTERN)
    assert run(pattern, "h.csv", "--source", "csv", "--output", "m.jsonl").exit_code == 0
    assert len((pattern.parent / "m.jsonl").read_bytes().splitlines()) == 1


def test_finished_slices_of_an_earlier_run_are_not_taken_unasked(pattern: Path) -> None:
    (pattern.parent / "m.parquet.run").mkdir()
    with pytest.raises(FatalError, match=r"--resume m\.parquet\.run goes on"):
        run(pattern, "history.parquet", "--output", "m.parquet")


@pytest.mark.usefixtures("in_one_process")
def test_records_put_aside_are_told_and_where_all_were_it_is_no_success(pattern: Path) -> None:
    edges = "ts,src,dst,label\n1,a,b,pays\n2,b,c,pays\n"
    (pattern.parent / "some.csv").write_text(edges + "soon,b,c,pays\n")
    (pattern.parent / "none.csv").write_text("ts,src,dst,label\nsoon,b,c,pays\nlater,b,c,pays\n")
    some = run(pattern, "some.csv", "--source", "csv", "--output", "some.jsonl")
    none = run(pattern, "none.csv", "--source", "csv", "--output", "none.jsonl")
    assert (some.exit_code, none.exit_code) == (0, 3)
    assert "graphtide: 1 record was put aside; " in some.stderr
    assert "graphtide: 2 records were put aside; " in none.stderr
    assert (pattern.parent / "some.jsonl").read_text().count("\n") == 1
