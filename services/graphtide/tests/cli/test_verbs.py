"""The verbs of the command line on what is right."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide.cli.app import app
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10\n"
STREAM = "ts,src,dst,label\n1,a,b,pays\n2,b,c,pays\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "p.gtp").write_text(PATTERN)
    (tmp_path / "s.csv").write_text(STREAM)
    return tmp_path / "p.gtp", tmp_path / "s.csv"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--engine", "timing", "--plan", "independent"),
        ("--engine", "timing", "--threads", "2", "--locking", "all"),
        ("--engine", "sj-tree", "--plan", "path-lazy"),
        ("--engine", "re-search"),
    ],
)
def test_match_writes_matches_and_summary(files: tuple[Path, Path], tmp_path: Path, options: tuple[str, ...]) -> None:
    out, summary, plans = tmp_path / "out.jsonl", tmp_path / "summary.json", tmp_path / "plans.txt"
    ended = run("match", *files, "--output", out, "--summary", summary, "--explain", plans, *options)
    assert ended.exit_code == 0
    (match,) = [json.loads(line) for line in out.read_text().splitlines()]
    assert match["edges"] == {"x": "0", "y": "1"}
    counts = json.loads(summary.read_text())
    assert (counts["records"], counts["matches"], counts["outcome"]) == (2, 1, "done")
    assert plans.read_text().startswith("p: engine ")


def test_columns_may_have_other_names(files: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("when;payer;payee;kind\n1;a;b;pays\n2;b;c;pays\n")
    names = ("ts=when", "src=payer", "dst=payee", "label=kind")
    columns = [part for name in names for part in ("--column", name)]
    reading = files[0].with_name("reading.gtp")
    reading.write_text(PATTERN.replace(" ON s", " WHERE x.src = 'a' AND x.dst = y.src ON s"))
    for patterns in (files[0], reading):
        ended = run("match", patterns, other, "--format", "csv", "--delimiter", ";", *columns)
        assert json.loads(ended.output)["vertices"] == {"a": "a", "b": "b", "c": "c"}


def test_explain_shows_estimates_and_after_a_run_what_was(files: tuple[Path, Path]) -> None:
    before = run("explain", files[0], "--engine", "timing")
    assert "estimated" in before.output
    assert "actual" not in before.output
    after = run("explain", files[0], "--engine", "timing", "--analyze", files[1])
    assert "actual peak" in after.output
    assert "match funnel" in after.output
    nodes = json.loads(run("explain", files[0], "--engine", "timing", "--format", "json").output)[0]["nodes"]
    assert [node["name"] for node in nodes] == ["L1.1", "L1.2", "match"]
    assert run("explain", files[0], "--format", "dot").output.startswith("digraph plans {")


def test_explain_draws_a_unit_of_event_patterns_with_estimated_and_actual_instances(tmp_path: Path) -> None:
    patterns, stream = tmp_path / "p.gtp", tmp_path / "s.jsonl"
    texts = (f"PATTERN p{kind} SEQ(a:A, b:B, c:{kind}) ON s WITHIN 9ms" for kind in "CD")
    patterns.write_text("\n".join(texts))
    stream.write_text("".join(f'{{"ts": {ts}, "type": "{kind}"}}\n' for ts, kind in enumerate("AABBCD")))
    planner_options = ("--engine", "aggregation", "--plan", "casem")
    for form, start in (
        ("text", "event patterns: engine aggregation"),
        ("dot", "digraph plans {"),
        ("mermaid", "flowchart BT"),
    ):
        before = run("explain", patterns, *planner_options, "--format", form).output
        assert before.startswith(start)
        assert "estimated" in before
        assert "actual" not in before
        after = run("explain", patterns, *planner_options, "--format", form, "--analyze", stream).output
        assert after.startswith(start)
        # Two of A and two of B are four instances of what both patterns share.
        assert "actual peak 4" in after


def test_validate_names_the_patterns_and_prints_them(files: tuple[Path, Path]) -> None:
    assert "1 valid pattern: p" in run("validate", files[0], "--stream", files[1]).output
    assert graphtide.parse(run("validate", files[0], "--print").output) == graphtide.parse(PATTERN)


@pytest.mark.parametrize("kind", ["deposits", "logins"])
def test_generate_writes_events_in_which_match_finds_what_is_planted(kind: str, tmp_path: Path) -> None:
    stream, truth, pattern, out = (tmp_path / name for name in ("s.csv", "truth.json", "p.gtp", "out.jsonl"))
    ended = run("generate", kind, "-o", stream, "--ground-truth", truth, "--pattern", pattern, "--records", "20000")
    records = stream.read_text().count("\n") - 1
    assert ended.output == f"{stream}: {records:,} records, 5 planted, 10 near misses\n"
    planted = json.loads(truth.read_text())["planted"]
    (name,) = {instance["pattern"] for instance in planted}
    assert run("validate", pattern).output == f"{pattern}: 1 valid pattern: {name} (event pattern)\n"
    run("match", pattern, stream, "--output", out)
    found = [json.loads(line)["events"] for line in out.read_text().splitlines()]
    assert sorted(found, key=str) == sorted((instance["events"] for instance in planted), key=str)
    assert len(found) == 5


@pytest.mark.parametrize("kind", ["network", "payments", "social", "traffic"])
def test_generate_writes_what_match_finds(kind: str, tmp_path: Path) -> None:
    stream, truth, pattern, out = (tmp_path / name for name in ("s.parquet", "truth.json", "p.gtp", "out.jsonl"))
    ended = run("generate", kind, "-o", stream, "--ground-truth", truth, "--pattern", pattern, "--records", "3000")
    assert ended.exit_code == 0
    run("match", pattern, stream, "--output", out)
    found = sorted(sorted(json.loads(line)["edges"].items()) for line in out.read_text().splitlines())
    planted = sorted(sorted(instance["edges"].items()) for instance in json.loads(truth.read_text())["planted"])
    assert found == planted
    assert planted


@pytest.mark.parametrize("kind", ["calls", "citations", "retweets", "roads"])
def test_generate_writes_streams_of_nature_that_have_components(kind: str, tmp_path: Path) -> None:
    stream, pattern, out = (tmp_path / name for name in ("s.parquet", "p.gtp", "out.jsonl"))
    assert run("generate", kind, "-o", stream, "--pattern", pattern, "--records", "20000").exit_code == 0
    run("match", pattern, stream, "--output", out)
    assert {json.loads(line)["kind"] for line in out.read_text().splitlines()} == {"match"}
    for refused in (("--planted", "1"), ("--swap-labels",), ("--ground-truth", tmp_path / "truth.json")):
        ended = run("generate", kind, "-o", stream, *refused)
        assert ended.exit_code == 2
        assert "nothing is planted" in ended.output


def test_demo_finds_all_and_nothing_else(tmp_path: Path) -> None:
    ended = run("demo", "--folder", tmp_path / "demo", "--records", "5000", "--planted", "3")
    assert ended.exit_code == 0
    assert "all 3 planted attacks found, and nothing else" in ended.output


OTHER = "when;payer;payee;kind;amount\n1;a;b;pays;1\n12;b;c;pays;1\n11;c;d;pays;1\n99999999999999999;d;e;pays;1\n"
NAMES = ("ts=when", "src=payer", "dst=payee", "label=kind")
AS_WRITTEN = ("--delimiter", ";", *(part for name in NAMES for part in ("--column", name)))


@pytest.fixture
def other(tmp_path: Path) -> Path:
    path = tmp_path / "other.txt"
    path.write_text(OTHER)
    return path


def test_every_verb_reads_a_stream_as_match_does(files: tuple[Path, Path], other: Path) -> None:
    options = ("--stream-format", "csv", *AS_WRITTEN, "--time-unit", "s", "--lateness", "1s", "--max-ahead", "1h")
    emitted = run("explain", files[0], "--engine", "timing", "--analyze", other, *options)
    assert "records as x          3" in emitted.output
    assert "1 of 4 records was rejected, the first at line 5" in emitted.stderr
    emitted = run("explain", files[0], "--statistics-from", other, *options)
    assert "rejected, the first at line 5" in emitted.stderr
    emitted = run("validate", files[0], "--stream", other, *options)
    assert "1 valid pattern: p" in emitted.output
    assert "1 of 4 records was rejected, the first at line 5" in emitted.stderr
    emitted = run("statistics", other, *options)
    assert "1 of 4 records was rejected, the first at line 5" in emitted.stderr
    emitted = run("match", files[0], other, *options, "--statistics-from", other, "--dead-letters", files[0].with_name("d"))
    assert (emitted.exit_code, files[0].with_name("d").read_text().count("\n")) == (5, 1)


def test_validate_says_which_records_are_late_and_which_columns_there_are_not(files: tuple[Path, Path], other: Path) -> None:
    emitted = run("validate", files[0], "--stream", other, "--format", "csv", *AS_WRITTEN)
    assert "1 of 4 records was rejected, the first at line 4 (late: ts 11" in emitted.stderr
    files[0].write_text(PATTERN.replace(" ON", " WHERE x.amuont > 1 ON"))
    ended = CliRunner().invoke(app, ["validate", str(files[0]), "--stream", str(other), "--format", "csv", *AS_WRITTEN])
    assert "amount" in str(ended.exception)


@pytest.mark.parametrize("verb", ["explain", "statistics"])
def test_a_wrong_format_of_a_stream_is_refused_by_the_option_that_says_it(verb: str, files: tuple[Path, Path]) -> None:
    arguments = (files[0], "--analyze", files[1]) if verb == "explain" else (files[1],)
    refused = run(verb, *arguments, "--stream-format", "xml")
    assert refused.exit_code == 2
    assert "--stream-format" in refused.output
    assert "'xml' is not one of csv, jsonl, parquet, arrow" in " ".join(refused.output.replace("│", " ").split())


@pytest.mark.parametrize("form", ["svg", "html"])
def test_explain_draws(files: tuple[Path, Path], form: str) -> None:
    emitted = run("explain", files[0], "--analyze", files[1], "--format", form)
    assert "<svg xmlns=" in emitted.output
    assert "</svg>" in emitted.output


def test_a_streaming_graph_query_is_checked_and_printed(files: tuple[Path, Path]) -> None:
    query = files[0].with_name("q.gtp")
    query.write_text(PATTERN + "CONSTRUCT (u)-[:near]->(v)\nMATCH (u)-/:pays+/->(v)\nON s WINDOW(10)\n")
    emitted = run("validate", query)
    assert (emitted.exit_code, emitted.output) == (0, f"{query}: 2 valid patterns: p, near (streaming graph query)\n")
    assert "near(u, v) <- pays+(u, v)." in run("validate", query, "--print").output
