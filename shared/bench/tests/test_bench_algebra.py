"""Plans of streaming graph queries are measured by name, and must emit the same."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from graphtide_bench.algebra.queries import PLANS, QUERIES, plans, query
from graphtide_bench.algebra.tables import ALGEBRA
from graphtide_bench.cli import app
from graphtide_bench.frame.report import read
from graphtide_core.plans import PathEngine
from graphtide_core.statistics import StatisticsSnapshot
from graphtide_core.time import TimeUnit
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

LABELS = {"a": "knows", "b": "likes", "c": "reply-of"}
RUNNER = CliRunner()


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    rng = random.Random(7)
    rows = [f"{at * 40},{rng.randint(1, 12)},{rng.randint(1, 12)},{rng.choice(tuple(LABELS.values()))}" for at in range(400)]
    path = tmp_path / "stream.csv"
    path.write_text("\n".join(("ts,src,dst,label", *rows, "16000,1,2,other")) + "\n", encoding="utf-8")
    return path


def find_named(name: str) -> set[str]:
    asked = query(name, LABELS, "1h", "5m")
    return {found for found, _ in plans(asked, PLANS, PathEngine.S_PATH, StatisticsSnapshot(), TimeUnit.SECOND)}


def test_queries_have_the_plans_that_the_paper_compares() -> None:
    assert find_named("Q2") == find_named("Q3") == {"canonical", "path", "searched"}
    assert find_named("Q4") == {"canonical", "P1", "P2", "P3", "searched"}
    assert find_named("Q6") == {"canonical", "searched"}


def test_the_command_measures_all_queries_and_checks_their_results(stream: Path, tmp_path: Path) -> None:
    output = tmp_path / "report.json"
    labels = ",".join(f"{place}={label}" for place, label in LABELS.items())
    options = ["--window", "1h", "--slide", "5m", "--repeats", "1", "--output", str(output)]
    run = RUNNER.invoke(app, ["algebra", "--stream", str(stream), "--labels", labels, *options])
    assert run.exit_code == 0, run.output
    assert "7 cases, equally many results and extensions by all plans and engines" in run.output
    found = read(output).of_kind(ALGEBRA)
    assert {each.query for each in found} == set(QUERIES)
    assert all(each.edges > 0 and each.rate > 0 and each.tail > 0 for each in found)
    assert {each.matches for each in found if each.query == "Q2"} != {0}


def test_what_cannot_be_measured_is_refused(stream: Path, tmp_path: Path) -> None:
    for arguments, message in (
        (["--stream", str(stream), "--labels", "a=knows,b=likes"], "each of a, b, c must be given a label once"),
        (["--stream", str(stream), "--labels", "a=x,b=y,c=z"], "no edge has a label of Q1: x"),
        (["--stream", str(tmp_path / "none.csv"), "--labels", "a=x,b=y,c=z"], "cannot be read as edges"),
        (["--stream", str(stream), "--labels", "a=knows,b=likes,c=x", "--query", "Q8"], "'Q8' is not one of"),
    ):
        run = RUNNER.invoke(app, ["algebra", *arguments])
        assert run.exit_code != 0
        assert message in " ".join(run.output.replace("│", " ").split())


def test_rates_over_windows_and_slides_are_drawn(stream: Path, tmp_path: Path) -> None:
    plot, labels = tmp_path / "rates.svg", ",".join(f"{place}={label}" for place, label in LABELS.items())
    options = ["--query", "Q1", "--plan", "canonical", "--repeats", "1", "--plot", str(plot)]
    lengths = ["--window", "1h,2h", "--slide", "5m,10m,20m"]
    run = RUNNER.invoke(app, ["algebra", "--stream", str(stream), "--labels", labels, *lengths, *options])
    assert run.exit_code == 0, run.output
    drawn = plot.read_text(encoding="utf-8")
    for title in ("Throughput over the window", "Throughput over the slide", "Slowest slides over the slide"):
        assert title in drawn
    # A line for each slide over windows, and for each window over slides.
    for line in ("slide 5m", "slide 10m", "slide 20m", "window 1h", "window 2h"):
        assert f"Q1 canonical s-path, {line}<" in drawn
