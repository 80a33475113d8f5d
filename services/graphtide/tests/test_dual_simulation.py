"""Patterns under dual simulation, as users of the command line and of Python have them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide.cli.app import app
from graphtide_core.errors import InvalidQueryError
from graphtide_core.match import ComponentMatch
from graphtide_query.families import FAMILIES
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

PAYOUT = """
PATTERN payout
MATCH (gang)-[calls:call *2]->(mule), (mule)-[pays:pay]->(drop)
ORDER calls < pays
UNDER DUAL SIMULATION
ON phone WINDOW 10m
"""
CALLS = """ts,src,dst,label,id
1000,ann,bob,call,c1
1500,ann,bob,call,c2
2000,ann,cid,call,c3
2500,ann,cid,call,c4
3000,bob,dan,pay,p1
4000,cid,dan,pay,p2
5000,ann,eve,call,c5
6000,eve,dan,pay,p3
"""
ONE = ["c1", "c2"]
BOTH = ["c1", "c2", "c3", "c4"]


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    file = tmp_path / "calls.csv"
    file.write_text(CALLS, "utf-8")
    return file


@pytest.fixture
def payout(tmp_path: Path) -> Path:
    file = tmp_path / "payout.gtp"
    file.write_text(PAYOUT, "utf-8")
    return file


@pytest.mark.parametrize("engine", ["auto", *FAMILIES["simulation"].names])
def test_match_writes_components(calls: Path, payout: Path, engine: str) -> None:
    done = CliRunner().invoke(app, ["match", str(payout), str(calls), "--engine", engine])
    assert done.exit_code == 0, done.output
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["edges"] for record in records] == [
        {"calls_1": ONE, "calls_2": ONE, "pays": ["p1"]},
        {"calls_1": BOTH, "calls_2": BOTH, "pays": ["p1", "p2"]},
    ]
    assert records[1]["vertices"] == {"gang": ["ann"], "mule": ["bob", "cid"], "drop": ["dan"]}


def test_an_engine_of_another_family_is_refused_by_name(calls: Path, payout: Path) -> None:
    done = CliRunner().invoke(app, ["match", str(payout), str(calls), "--engine", "timing"])
    assert isinstance(done.exception, InvalidQueryError)
    assert "the engine timing is not for patterns under dual simulation, as 'payout' is" in str(done.exception)


def test_explain_shows_the_engines_that_were_considered(calls: Path, payout: Path) -> None:
    done = CliRunner().invoke(app, ["explain", str(payout), "--analyze", str(calls)])
    assert done.exit_code == 0, done.output
    assert all(engine in done.stdout for engine in FAMILIES["simulation"].names)
    assert "verify" in done.stdout


def test_python_gives_components_and_tables_of_lists(calls: Path) -> None:
    matches = list(graphtide.match(PAYOUT, calls))
    assert all(isinstance(match, ComponentMatch) for match in matches)
    assert [match.edges["pays"] for match in matches] == [("p1",), ("p1", "p2")]
    table = graphtide.match(PAYOUT, calls).to_arrow()
    assert table["edges.calls_1"].to_pylist() == [ONE, BOTH]
    assert table["vertices.mule"].to_pylist() == [["bob"], ["bob", "cid"]]
    assert table.column_names[-3:] == ["component", "merged", "split_from"]


def test_both_families_fit_into_one_table(calls: Path) -> None:
    both = PAYOUT + "PATTERN single MATCH (gang)-[pays:pay]->(drop) ON phone WINDOW 10m"
    table = graphtide.match(both, calls).to_arrow()
    rows = {(row["query"], row["match_id"]): row["edges.pays"] for row in table.to_pylist()}
    assert sorted(pays for (query, _), pays in rows.items() if query == "single") == [["p1"], ["p2"], ["p3"]]


def test_changes_are_reported_with_the_component_that_they_change(calls: Path) -> None:
    emitted = graphtide.match(PAYOUT.replace("SIMULATION", "SIMULATION REPORT CHANGES"), calls)
    components = [match for match in emitted if isinstance(match, ComponentMatch)]
    assert [(match.kind.value, match.component, match.edges["pays"]) for match in components] == [
        ("match", "c1", ("p1",)),
        ("extend", "c1", ("p2",)),
        # At the end of the file the window passes.
        ("retract", "c3", ("p1",)),
        ("retract", "c3", ("p2",)),
    ]
    assert [match.split_from for match in components] == [None, None, "c1", None]
