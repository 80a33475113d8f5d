"""The commands say what they measured and checked, write it where asked, and refuse what they do not know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_bench.cli import app
from graphtide_bench.frame.report import read
from graphtide_bench.subgraphs import many
from graphtide_bench.subgraphs.measurement import PATTERNS
from graphtide_bench.workloads.workload import MANY_LABELS
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

RUNNER = CliRunner()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("cache"))


def test_a_quick_run_finds_the_known_matches_and_writes_its_results(cache: str, tmp_path: Path) -> None:
    output, markdown = tmp_path / "report.json", tmp_path / "report.md"
    run = RUNNER.invoke(
        app, ["subgraph", "--quick", "--details", "--cache", cache, "--output", str(output), "--markdown", str(markdown)]
    )
    assert run.exit_code == 0, run.output
    assert "27 patterns, 27 of them equal to known counts, 27 equal between all ways" in run.output
    found = {(each.pattern, each.engine): each.matches for each in read(output).of_kind(PATTERNS)}
    for shape, counts in {
        "path4": (598, 127, 20),
        "star4": (81_836, 25_722, 3_415),
        "cycle4": (15, 9, 1),
        "tree6": (270, 6, 1),
    }.items():
        for engine in ("timing", "re-search"):
            assert tuple(found[f"{shape}_{order}", engine] for order in ("empty", "partial", "total")) == counts
    assert "| B | 20,000 | star4_empty | timing, ms-dag |" in markdown.read_text()
    compared = RUNNER.invoke(app, ["compare", str(output), str(output)])
    assert compared.exit_code == 0
    assert "1.00x" in compared.output


def test_threads_are_measured_against_one(cache: str) -> None:
    run = RUNNER.invoke(app, ["concurrency", "--threads", "2", "--pattern", "cycle4_total", "--repeats", "1", "--cache", cache])
    assert run.exit_code == 0, run.output
    assert "fine" in run.output
    assert "2 of them equal to known counts" in run.output


def test_many_patterns_are_matched_in_one_pass(cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "MANY_LABELS", MANY_LABELS.of_length(30_000))
    run = RUNNER.invoke(app, ["many", "--patterns", "1,5", "--repeats", "1", "--cache", cache])
    assert run.exit_code == 0, run.output
    assert "Matches checked: at least one for each pattern" in run.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["subgraph", "--workload", "Z"], "'Z' is not one of B, E, F, T"),
        (["subgraph", "--engine", "magic"], "'magic' is not one of"),
        (["subgraph", "--storage", "heap"], "'heap' is not one of"),
        (["subgraph", "--window", "ten"], "invalid literal"),
        (["many", "--patterns", "0"], "at least 1"),
    ],
)
def test_unknown_values_are_refused(arguments: list[str], message: str) -> None:
    run = RUNNER.invoke(app, arguments)
    assert run.exit_code == 2
    assert message in " ".join(run.output.replace("│", " ").split())


def test_a_pattern_that_no_name_contains_is_refused(cache: str) -> None:
    run = RUNNER.invoke(app, ["subgraph", "--quick", "--pattern", "clique", "--cache", cache])
    assert run.exit_code == 2
    assert "no pattern has" in run.output


def test_a_file_that_is_no_report_ends_with_a_message(tmp_path: Path) -> None:
    run = RUNNER.invoke(app, ["compare", str(tmp_path / "a.json"), str(tmp_path / "b.json")])
    assert run.exit_code == 1
    assert "cannot be read" in " ".join(run.output.split())
