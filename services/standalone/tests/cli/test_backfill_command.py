"""`graphtide backfill` says clearly what is missing or wrong before it starts anything."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import pytest
from graphtide.cli.app import app
from graphtide_core.errors import FatalError, InvalidQueryError
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


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["backfill", *(str(each) for each in arguments)], catch_exceptions=False)


@pytest.mark.parametrize("absent", ["graphtide_backfill", "pyspark"])
def test_without_spark_it_says_what_to_install(pattern: Path, monkeypatch: pytest.MonkeyPatch, absent: str) -> None:
    real = builtins.__import__

    def without(name: str, *more: object, **named: object) -> object:
        if name.split(".", maxsplit=1)[0] == absent or (absent == "pyspark" and name == "graphtide_backfill.adapters.session"):
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


def test_finished_slices_of_an_earlier_run_are_not_taken_unasked(pattern: Path) -> None:
    (pattern.parent / "m.parquet.run").mkdir()
    with pytest.raises(FatalError, match=r"--resume m\.parquet\.run goes on"):
        run(pattern, "history.parquet", "--output", "m.parquet")
