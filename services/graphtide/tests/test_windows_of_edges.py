"""Windows that count edges, as users of the command line and of Python have them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide.cli.app import app
from graphtide_core.errors import InvalidQueryError
from graphtide_query.families import FAMILIES
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

ROUND_TRIP = """
PATTERN round_trip
MATCH (a)-[out:pay]->(b)-[back:pay]->(a)
ORDER out < back
ON payments WINDOW 3 EDGES
"""
PAYMENTS = """ts,src,dst,label,id
1,ann,bob,pay,p1
2,cid,dan,call,c1
3000,bob,ann,pay,p2
3000,eve,fay,pay,p3
3000,eve,fay,pay,p3
4000,cid,dan,call,c2
4000,fay,eve,pay,p4
4000,ann,bob,pay,p5
"""


@pytest.fixture
def payments(tmp_path: Path) -> Path:
    file = tmp_path / "payments.csv"
    file.write_text(PAYMENTS, "utf-8")
    return file


@pytest.fixture
def round_trip(tmp_path: Path) -> Path:
    file = tmp_path / "round_trip.gtp"
    file.write_text(ROUND_TRIP, "utf-8")
    return file


@pytest.mark.parametrize("engine", ["auto", *FAMILIES["isomorphism"].names])
def test_a_match_lies_within_three_edges_of_any_label_and_duplicates_do_not_count(
    payments: Path, round_trip: Path, engine: str
) -> None:
    done = CliRunner().invoke(app, ["match", str(round_trip), str(payments), "--engine", engine])
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(match["edges"], match["detected_at"]) for match in found] == [
        ({"out": "p1", "back": "p2"}, 3000),
        ({"out": "p3", "back": "p4"}, 4000),
    ]


def test_edges_are_counted_in_the_order_of_the_stream_not_of_their_arrival(payments: Path) -> None:
    in_order = [match.match_id for match in graphtide.match(ROUND_TRIP, payments)]
    header, *records = PAYMENTS.splitlines()
    payments.write_text("\n".join([header, *reversed(records[:3]), *records[3:]]) + "\n", "utf-8")
    options = graphtide.MatchOptions(lateness=graphtide.Duration.of("10s"))
    assert [match.match_id for match in graphtide.match(ROUND_TRIP, payments, options=options)] == in_order


def test_both_kinds_of_window_are_matched_in_one_pass(payments: Path) -> None:
    both = ROUND_TRIP + ROUND_TRIP.replace("round_trip", "soon").replace("3 EDGES", "1s")
    found = [(match.query, match.edges["back"]) for match in graphtide.match(both, payments)]
    assert sorted(found) == [("round_trip", "p2"), ("round_trip", "p4")], "one second lies between p3 and p4"


def test_components_leave_a_window_of_edges_one_by_one(payments: Path) -> None:
    emitted = graphtide.match(
        "PATTERN pays MATCH (a)-[e:pay]->(b) UNDER DUAL SIMULATION REPORT CHANGES ON payments WINDOW 2 EDGES", payments
    )
    assert [(match.kind.value, match.edges["e"], match.detected_at) for match in emitted] == [
        ("match", ("p1",), 1),
        # The call between pushes nothing out, the second payment does.
        ("retract", ("p1",), 3000),
        ("match", ("p2",), 3000),
        ("match", ("p3",), 3000),
        ("retract", ("p2",), 4000),
        ("retract", ("p3",), 4000),
        ("match", ("p4",), 4000),
        ("match", ("p5",), 4000),
    ]


def test_a_near_miss_says_that_edges_pushed_it_out(payments: Path, round_trip: Path) -> None:
    arguments = ["explain", str(round_trip), "--analyze", str(payments), "--engine", "timing"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "1 of 2 edges, pushed out by later edges" in done.stdout
    (emitted,) = json.loads(CliRunner().invoke(app, [*arguments, "--format", "json"]).stdout)
    assert emitted["why_not"]["near_misses"][0]["expired_at"] is None


def test_backfill_says_why_it_cannot_match_such_a_pattern(payments: Path, round_trip: Path) -> None:
    done = CliRunner().invoke(app, ["backfill", str(round_trip), str(payments)])
    assert isinstance(done.exception, InvalidQueryError)
    assert "searched in slices of time, and 'round_trip' has a window of edges, WINDOW 3 EDGES" in str(done.exception)
