"""DISTINCT and ONE PER suppress and count matches, of every family."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide.cli.app import app
from graphtide_core.errors import InvalidPatternError
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

THREE_FAILURES = "PATTERN guessed MATCH (a)-[x:fails]->(h), (a)-[y:fails]->(h), (a)-[z:fails]->(h) ON s WINDOW 10m"
FAILURES = [{"ts": 1_000 * each, "id": f"f{each}", "src": f"a{each % 2}", "dst": "h", "label": "fails"} for each in range(30)]


def run_pattern(text: str, records: list[dict[str, object]]) -> list[tuple[int, list[object]]]:
    return [(each.detected_at, [*each.edges.values()]) for each in graphtide.match(text, records)]


def test_thirty_failed_logins_of_two_addresses_are_two_alerts_in_each_interval() -> None:
    assert len(run_pattern(THREE_FAILURES, FAILURES)) == 2 * 6 * 455, "15 over 3, in each order"
    distinct = run_pattern(f"{THREE_FAILURES} REPORT DISTINCT", FAILURES)
    assert len(distinct) == 2 * 455
    assert distinct[0] == (4_000, ["f0", "f2", "f4"])
    assert run_pattern(f"{THREE_FAILURES} REPORT ONE PER a.id, h.id EVERY 10s", FAILURES) == [
        (4_000, ["f0", "f2", "f4"]),
        (5_000, ["f1", "f3", "f5"]),
        (10_000, ["f0", "f2", "f10"]),
        (11_000, ["f1", "f3", "f11"]),
        (20_000, ["f0", "f2", "f20"]),
        (21_000, ["f1", "f3", "f21"]),
    ]


def test_a_retraction_is_reported_where_its_match_was() -> None:
    text = "PATTERN p MATCH (a)-[x:k]->(b) ON s WINDOW 1m REPORT ONE PER a.id EVERY 1m"
    edges = [{"ts": ts, "id": f"e{ts}", "src": "a", "dst": "b", "label": "k"} for ts in (1, 2)]
    gone = [{"ts": 3 + each, "id": f"e{ts}", "op": "delete"} for each, ts in enumerate((2, 1))]
    assert [(each.kind.value, each.detected_at) for each in graphtide.match(text, [*edges, *gone])] == [
        ("match", 1),
        ("retract", 4),
    ]


def test_a_component_is_reported_once_for_what_is_computed_from_it() -> None:
    text = """
    PATTERN ring MATCH (a)-[x:pays]->(b), (b)-[y:pays]->(a) UNDER DUAL SIMULATION ON s WINDOW 1m
    REPORT MAXIMAL ONE PER min(a.id) EVERY 1m
    """
    edges = [
        {"ts": ts, "src": src, "dst": dst, "label": "pays"}
        for ts, (src, dst) in enumerate((("u", "v"), ("v", "u"), ("u", "v"), ("b", "c"), ("c", "b"), ("v", "u")), 1)
    ]
    assert [each.detected_at for each in graphtide.match(text, edges)] == [2, 5]


def test_the_summary_counts_what_was_suppressed(tmp_path: Path) -> None:
    pattern, stream, summary = tmp_path / "p.gtp", tmp_path / "s.jsonl", tmp_path / "summary.json"
    pattern.write_text(f"{THREE_FAILURES} REPORT DISTINCT ONE PER a.id EVERY 1h")
    stream.write_text("".join(json.dumps(each) + "\n" for each in FAILURES))
    ended = CliRunner().invoke(app, ["match", str(pattern), str(stream), "--summary", str(summary)])
    assert ended.exit_code == 0, ended.output
    (counted,) = json.loads(summary.read_text())["patterns"]
    assert (counted["matches"], counted["suppressed"]) == (2, 2 * 455 - 2)


@pytest.mark.parametrize(
    ("report", "wrong"),
    [
        ("INSTANCES ONE PER min(a.id) EVERY 1m", "REPORT INSTANCES emits everything"),
        ("CHANGES ONE PER min(a.id) EVERY 1m", "REPORT CHANGES emits everything"),
    ],
)
def test_reports_that_follow_from_each_other_are_not_left_out(report: str, wrong: str) -> None:
    with pytest.raises(InvalidPatternError, match=wrong) as refused:
        graphtide.match(f"PATTERN p MATCH (a)-[x]->(b) UNDER DUAL SIMULATION ON s WINDOW 1m REPORT {report}", FAILURES)
    assert refused.value.hint


def test_what_is_reported_once_has_a_time_where_a_window_counts_edges() -> None:
    with pytest.raises(InvalidPatternError, match="the window counts edges"):
        graphtide.match("PATTERN p MATCH (a)-[x]->(b) ON s WINDOW 9 EDGES REPORT ONE PER a.id EVERY 1m", FAILURES)


def test_explain_says_how_many_matches_were_suppressed(tmp_path: Path) -> None:
    pattern, stream = tmp_path / "p.gtp", tmp_path / "s.jsonl"
    pairs = "PATTERN pairs SEQ(a:fails, b:fails) PARTITION BY src REPORT ONE PER a.src EVERY 1h ON s WITHIN 5s"
    pattern.write_text(f"{THREE_FAILURES} REPORT DISTINCT ONE PER a.id EVERY 1h {pairs}")
    stream.write_text("".join(json.dumps(each) + "\n" for each in FAILURES))
    ended = CliRunner().invoke(app, ["explain", str(pattern), "--analyze", str(stream), "--format", "json"])
    assert ended.exit_code == 0, ended.output
    edges, events = json.loads(ended.output)
    assert (edges["counts"]["matches"], edges["counts"]["suppressed"]) == (2, 2 * 455 - 2)
    emitted = {name: events["funnel"][name] for name in ("matches", "suppressed")}
    assert emitted == {"matches": {"pairs": 2}, "suppressed": {"pairs": 2 * (14 + 13) - 2}}
    drawn = CliRunner().invoke(app, ["explain", str(pattern), "--analyze", str(stream)])
    assert "suppressed: 908" in drawn.output
    assert "suppressed of pairs" in drawn.output


def test_a_retraction_is_reported_of_edges_whose_ids_were_given_again() -> None:
    text = "PATTERN p MATCH (a)-[x:k]->(b) UNDER DUAL SIMULATION ON s WINDOW 10 REPORT MAXIMAL ONE PER min(x.src) EVERY 5"

    def edge(ts: int, **more: object) -> dict[str, object]:
        return {"ts": ts, "id": "e", "src": "a", "dst": "b", "label": "k", **more}

    # The first is retracted at once; the second is still in the window when the first would have left it.
    records = [
        edge(1),
        {"ts": 2, "id": "e", "op": "delete"},
        edge(6),
        edge(12, id="f", src="c", dst="d"),
        {"ts": 14, "id": "e", "op": "delete"},
    ]
    assert [(each.kind.value, each.detected_at) for each in graphtide.match(text, records)] == [
        ("match", 1),
        ("retract", 2),
        ("match", 6),
        ("match", 12),
        ("retract", 14),
    ]
