"""Whatever a door loses or leaves out, it says: each kind of loss at files, pipes, Python, services, raw topics and history."""

from __future__ import annotations

import json
import os
import threading
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import graphtide
import httpx2
import pytest
from graphtide import MatchOptions, PatternWarning, Session, StreamWarning, UnreadableStreamError
from graphtide.cli.app import app
from graphtide.dev.deployment import DevOptions, application
from graphtide_backfill import bootstrap
from graphtide_backfill.adapters.one_process import OneProcess
from graphtide_backfill.domain.sizing import Machine
from graphtide_core.errors import GraphtideError
from graphtide_ordering.progress_reports import progress_of
from graphtide_testing.sequencing_stage import FLOWS, TOPICS, SequencingStage
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from graphtide.summary import Summary

Record = dict[str, Any]

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON flows WINDOW 1h"
READS = "STREAM flows EDGE (src)-[label]->(dst) AT ts ID id"


def edge(ts: object, id: str, **more: object) -> Record:
    return {"ts": ts, "src": "a", "dst": "b", "label": "pays", "id": id, "n": 9, **more}


GOOD = [edge(5, "one"), edge(6, "two")]


@dataclass(frozen=True)
class Loss:
    """One kind of loss: a stream that has it, and what says so.

    Attributes:
        records: the stream.
        said: what the command line and Python say.
        pattern: what is matched.
        statement: what reads the stream; empty is nothing.
        options: of the command line; `MatchOptions` has them, too.
        counted: what the summary says, by name.
    """

    records: list[Record]
    said: str
    pattern: str = PATTERN
    statement: str = ""
    options: dict[str, str] = field(default_factory=dict)
    counted: dict[str, object] = field(default_factory=dict)


LOSSES = {
    "rejected": Loss([*GOOD, edge("soon", "x")], "1 of 3 records was rejected, the first at", counted={"dead_letters": 1}),
    "late": Loss(
        [*GOOD, edge(1, "x")], "(late: ts 1 is before the watermark 6", options={"lateness": "0"}, counted={"late": 1}
    ),
    "duplicate": Loss(
        [*GOOD, edge(7, "one")],
        "1 of 3 records was dropped as a duplicate, the first is record 3 (id 'one')",
        counted={"duplicates": 1},
    ),
    "replaced": Loss(
        [*GOOD, edge(7, "one")],
        "1 of 3 records took the place of an earlier one with the same id: it counts as a deletion and an insert",
        options={"duplicates": "update"},
        counted={"replaced": 1, "read": 3, "records": 4},
    ),
    "filtered": Loss(
        [*GOOD, edge(7, "x", n=0)],
        "1 of 3 records was filtered: WHERE of the statement leaves it out",
        statement=f"{READS} WHERE n > 1",
        counted={"filtered": 1},
    ),
    "nothing left": Loss(
        GOOD,
        "2 of 2 records were filtered: WHERE of the statement leaves them out",
        statement=f"{READS} WHERE n > 99",
        counted={"filtered": 2},
    ),
    "a label that no record had": Loss(
        GOOD, "no edge of label 'payz' among the first 2 edges", pattern=PATTERN.replace("y:pays", "y:payz")
    ),
    "an attribute that no record had": Loss(
        GOOD,
        "no edge with attribute 'amuont' among the first 2 edges",
        pattern=PATTERN.replace("ORDER", "WHERE x.amuont > 1 ORDER"),
    ),
    "a column that no record had": Loss(GOOD, "no record had 'uid', which should be its 'id'", options={"column": "id=uid"}),
    "work that was shed": Loss(
        [edge(ts, str(ts)) for ts in range(9)],
        "partial matches or searches at its limit of 2 partial matches",
        options={"engine": "timing", "limit_partial_matches": "2", "on_limit": "shed"},
    ),
    "a pattern that was paused": Loss(
        [edge(ts, str(ts)) for ts in range(9)],
        "was paused by its limit of 2 partial matches",
        options={"engine": "timing", "limit_partial_matches": "2", "on_limit": "pause"},
    ),
}
"""Each kind of loss."""

QUIET_IN_PYTHON = {"replaced", "filtered"}
"""What a statement or an option asks for is no warning in Python; the summary counts it."""

OF_PATTERNS = {name for name, loss in LOSSES.items() if loss.pattern != PATTERN or "engine" in loss.options}
"""What `statistics`, which matches nothing, cannot lose."""


def write(records: list[Record]) -> str:
    return "".join(json.dumps(each) + "\n" for each in records)


def arguments(loss: Loss, folder: Path) -> list[str]:
    """Return the options of a run on the command line."""
    found = [part for name, value in loss.options.items() for part in (f"--{name.replace('_', '-')}", value)]
    if loss.statement:
        (folder / "flows.gts").write_text(loss.statement)
        found += ["--stream", "flows.gts"]
    return found


def run(*line: str) -> tuple[int, str]:
    ended = CliRunner().invoke(app, line, env={"COLUMNS": "300"})
    if isinstance(ended.exception, GraphtideError):
        return 3, str(ended.exception)
    return ended.exit_code, ended.stderr


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", LOSSES)
def test_a_run_over_a_file_says_it_and_its_summary_counts_it(kind: str, folder: Path) -> None:
    loss = LOSSES[kind]
    (folder / "p.gtp").write_text(loss.pattern)
    (folder / "s.jsonl").write_text(write(loss.records))
    line = ["match", "p.gtp", "s.jsonl", "--output", "found.jsonl", "--summary", "summary.json", *arguments(loss, folder)]
    _, said = run(*line)
    assert loss.said in said
    summary = json.loads((folder / "summary.json").read_text())
    assert {name: summary[name] for name in loss.counted} == loss.counted


@pytest.mark.parametrize("kind", [name for name, loss in LOSSES.items() if "on_limit" not in loss.options])
def test_an_analyzed_plan_says_it(kind: str, folder: Path) -> None:
    loss = LOSSES[kind]
    (folder / "p.gtp").write_text(loss.pattern)
    (folder / "s.jsonl").write_text(write(loss.records))
    assert loss.said in run("explain", "p.gtp", "--analyze", "s.jsonl", *arguments(loss, folder))[1]


@pytest.mark.parametrize("kind", LOSSES)
def test_a_run_over_a_pipe_says_it(kind: str, folder: Path) -> None:
    loss = LOSSES[kind]
    (folder / "p.gtp").write_text(loss.pattern)
    os.mkfifo("pipe")
    writer = threading.Thread(target=(folder / "pipe").write_text, args=(write(loss.records),), daemon=True)
    writer.start()
    _, said = run("match", "p.gtp", "pipe", "--format", "jsonl", "--output", "found.jsonl", *arguments(loss, folder))
    writer.join(60)
    assert loss.said in said


@pytest.mark.parametrize("kind", sorted(LOSSES.keys() - OF_PATTERNS))
def test_statistics_say_it(kind: str, folder: Path) -> None:
    loss = LOSSES[kind]
    (folder / "s.jsonl").write_text(write(loss.records))
    assert loss.said in run("statistics", "s.jsonl", "--output", "table.txt", *arguments(loss, folder))[1]


def options_of(loss: Loss) -> MatchOptions:
    options: dict[str, Any] = {name: int(value) if value.isdigit() else value for name, value in loss.options.items()}
    if "column" in options:
        options["columns"] = dict([options.pop("column").split("=")])
    if loss.statement:
        options["stream"] = loss.statement
    return MatchOptions(**options)


def in_pieces(loss: Loss) -> Summary:
    """Match a stream record by record."""
    session = Session(loss.pattern, options_of(loss))
    for each in loss.records:
        session.push(each)
    session.finish()
    return session.summary()


def as_a_whole(loss: Loss) -> Summary:
    """Match a stream at once."""
    matches = graphtide.match(loss.pattern, loss.records, options_of(loss))
    list(matches)
    return matches.summary()


@pytest.mark.parametrize("match", [as_a_whole, in_pieces])
@pytest.mark.parametrize("kind", LOSSES)
def test_python_warns_of_it_and_the_summary_counts_it(kind: str, match: Callable[[Loss], Summary]) -> None:
    loss = LOSSES[kind]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        summary = match(loss)
    assert {name: getattr(summary, name) for name in loss.counted} == loss.counted
    said = [str(each.message) for each in caught if issubclass(each.category, StreamWarning | PatternWarning)]
    if kind in QUIET_IN_PYTHON:
        assert said == []
        assert loss.said in "".join(summary.notes)
    else:
        assert loss.said in "\n".join(said)


def test_an_id_that_comes_again_is_an_error_that_names_file_and_line(folder: Path) -> None:
    (folder / "p.gtp").write_text(PATTERN)
    csv = "ts,src,dst,label,id\n5,a,b,pays,one\n\n6,a,b,pays,one\n"
    (folder / "s.csv").write_text(csv)
    (folder / "many").mkdir()
    (folder / "many/1.csv").write_text(csv.replace("6,a,b,pays,one", "6,a,b,pays,two"))
    (folder / "many/2.csv").write_text(
        csv.replace("5,a,b,pays,one", "8,a,b,pays,three").replace("6,a,b,pays,one", "9,a,b,pays,two")
    )
    said = "record 2 has the id 'one', which came before in the window"
    ended = run("match", "p.gtp", "s.csv", "--duplicates", "error", "--output", "found.jsonl")
    assert ended == (3, f"graphtide: s.csv, line 4: {said}\n")
    many = run("match", "p.gtp", "many", "--duplicates", "error", "--output", "found.jsonl")
    assert many == (3, "graphtide: many/2.csv, line 4: record 4 has the id 'two', which came before in the window\n")
    assert f"s.csv, line 4: {said}" in run("statistics", "s.csv", "--duplicates", "error")[1]
    with pytest.raises(UnreadableStreamError, match=f"^s.csv, line 4: {said}$"):
        list(graphtide.match(PATTERN, "s.csv", MatchOptions(duplicates="error")))
    rows = [edge(5, "one"), edge(6, "one")]
    with pytest.raises(UnreadableStreamError, match=f"^the edges: {said}$"):
        list(graphtide.match(PATTERN, rows, MatchOptions(duplicates="error")))


@pytest.mark.parametrize("kind", ["rejected", "duplicate", "filtered", "nothing left", "a label that no record had"])
def test_a_backfill_says_it(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "spark_cluster", lambda _: nullcontext(OneProcess(Machine(2, 2 << 30))))
    loss = LOSSES[kind]
    (folder / "p.gtp").write_text(loss.pattern)
    (folder / "s.jsonl").write_text(write(loss.records))
    line = ["backfill", "p.gtp", "s.jsonl", "--source", "jsonl", "--output", "found.jsonl", "--summary", "summary.json"]
    _, said = run(*line, *arguments(loss, folder))
    # History is cut before it is matched, so the first duplicate is not known.
    expected = {
        "duplicate": "1 record was dropped as a duplicate",
        "a label that no record had": "pattern 'p': no record could be edge 'y'",
    }
    assert expected.get(kind, loss.said) in said
    summary = json.loads((folder / "summary.json").read_text())
    names = {"dead_letters": "rejected"}
    assert {name: summary[names.get(name, name)] for name in loss.counted} == loss.counted


@dataclass(frozen=True)
class Sent:
    """A kind of loss through services: what is sent, and what says so.

    Attributes:
        records: the body, after two good edges.
        answered: of the answer.
        ordered: of what ordering did, in the answer that waits for it.
        counted: of the status of the stream.
        clause: of the statement; None is a stream without one.
    """

    records: list[Record]
    answered: dict[str, int]
    ordered: dict[str, int]
    counted: dict[str, int]
    clause: str | None = None


SENT = {
    "rejected": Sent([edge("soon", "x")], {"accepted": 2, "rejected": 1}, {"ordered": 2}, {"ordered": 2, "rejected": 1}),
    "rejected by a statement": Sent([edge("soon", "x")], {"rejected": 1}, {"rejected": 1}, {"ordered": 2, "rejected": 1}, ""),
    "late": Sent([edge(9, "x"), edge(1, "y")], {"accepted": 4}, {"late": 1}, {"ordered": 3, "late": 1}),
    "duplicate": Sent([edge(7, "one")], {"accepted": 3}, {"duplicates": 1}, {"ordered": 2, "duplicates": 1}),
    "replaced": Sent([edge(7, "one")], {"accepted": 3}, {"replaced": 1}, {"ordered": 3, "replaced": 1}, "DUPLICATES update"),
    "an id as an error": Sent(
        [edge(7, "one")], {"accepted": 3}, {"duplicates": 1}, {"ordered": 2, "duplicates": 1}, "DUPLICATES error"
    ),
    "filtered": Sent([edge(7, "x", n=0)], {"accepted": 2, "filtered": 1}, {"ordered": 2}, {"filtered": 1}, "WHERE n > 1"),
    "nothing left": Sent([], {"accepted": 0, "filtered": 2}, {"ordered": 0}, {"filtered": 2}, "WHERE n > 99"),
}


@pytest.fixture(scope="module")
def http() -> Iterator[httpx2.Client]:
    """All services in one process: a stream, and a pattern of it, for each kind of loss and each of both routes."""
    with serve(application(DevOptions(low_latency=True))) as url, httpx2.Client(base_url=url, timeout=60) as client:
        wait_until(lambda: client.get("/readyz").status_code == 200, 120, pause=0.1)
        names = []
        for number, sent in enumerate(SENT.values()):
            for route in ("edges", "events"):
                name = f"{route}{number}"
                clause = "EVENT type" if route == "events" else "EDGE (src)-[label]->(dst)"
                if sent.clause is not None:
                    text = f"STREAM {name} {clause} AT ts ID id {sent.clause}"
                    assert client.put(f"/api/v1/streams/{name}", json={"text": text}).status_code == 201
                edges = f"MATCH (a)-[x:pays]->(b)-[y:payz]->(c) ORDER x < y ON {name} WINDOW 1h"
                text = f"PATTERN {name} " + (edges if route == "edges" else f"SEQ(x:pays, y:payz) ON {name} WITHIN 1h")
                assert client.post("/api/v1/patterns", json={"text": text}).status_code == 201, text
                names.append(name)
        wait_until(lambda: all(client.get(f"/api/v1/patterns/{name}").json()["state"] == "running" for name in names), 120)
        yield client


@pytest.mark.parametrize("route", ["edges", "events"])
@pytest.mark.parametrize("kind", SENT)
def test_an_answer_over_http_says_it_and_so_does_the_status_of_the_stream(kind: str, route: str, http: httpx2.Client) -> None:
    sent, name = SENT[kind], f"{route}{[*SENT].index(kind)}"
    records = [*GOOD, *sent.records]
    if route == "events":
        records = [{"type": "pays", **{key: each[key] for key in ("ts", "id", "n")}} for each in records]
    answer = http.post(
        f"/api/v1/streams/{name}/{route}?wait=ordered&wait_seconds=60",
        content=write(records),
        headers={"content-type": "application/x-ndjson"},
    ).json()
    assert {key: answer[key] for key in sent.answered} == sent.answered
    assert {key: answer["ordering"][key] for key in sent.ordered} == sent.ordered

    def count() -> dict[str, int]:
        counted = http.get(f"/api/v1/streams/{name}").json()["standing"] or {}
        return {key: counted.get(key, 0) for key in ("read", *sent.counted)}

    wait_until(lambda: count() == {"read": len(records), **sent.counted}, 120, pause=0.1)
    if sent.counted.get("ordered"):
        unseen = "no edge of label 'payz'" if route == "edges" else "no event of type 'payz'"
        wait_until(lambda: unseen in "".join(http.get(f"/api/v1/patterns/{name}").json()["warnings"]), 120, pause=0.1)


@pytest.mark.parametrize("kind", SENT)
def test_a_raw_topic_counts_it_in_the_status_of_the_stream_and_rejected_records_are_dead_letters(kind: str) -> None:
    sent = SENT[kind]
    stage = SequencingStage()
    stage.register("p", "1h")
    if sent.clause is not None:
        stage.state(f"{READS} {sent.clause}", 1)
    stage.send(write([*GOOD, *sent.records]).encode())
    stage.fall_silent()
    progress = progress_of(stage.log, TOPICS, FLOWS)
    assert progress is not None
    counted = progress.counted
    assert {name: getattr(counted, name) for name in sent.counted} == sent.counted
    assert counted.read == len(GOOD) + len(sent.records)
    errors = counted.duplicates if sent.clause == "DUPLICATES error" else 0
    assert len(stage.letters()) == counted.late + counted.future + counted.rejected + errors
