"""A backfill of event patterns finds in files of events, and of edges, what `graphtide match` finds in them."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graphtide_backfill.adapters.files import Files
from graphtide_backfill.adapters.one_process import OneProcess
from graphtide_backfill.adapters.output import counted_by_time
from graphtide_backfill.adapters.result_folder import ResultFolder
from graphtide_backfill.application.backfill import Asked, Backfill
from graphtide_backfill.domain.sizing import Machine
from graphtide_backfill.domain.task import Task
from graphtide_core.errors import InvalidPatternError, InvalidQueryError
from graphtide_testing.parsing import parse_matched
from graphtide_testing.strategies.event_streams import EventStreamShape, random_event_stream
from pyarrow import csv

if TYPE_CHECKING:
    from pathlib import Path

    from graphtide_backfill.application.backfill import RunTotals

TEXT = """
PATTERN pair SEQ(a:A, NOT c:C, b:B) WHERE a.user = b.user AND c.user = a.user ON s WITHIN 6
PATTERN silence SEQ(NOT c:C, a:A, NOT b:B) WHERE a.user = 'p' ON s WITHIN 7
PATTERN run SEQ(a:A+, b:B) SKIP TILL NEXT PARTITION BY user ON s WITHIN 5
PATTERN begun SEQ(a:A, b:B, c:C) ON TIMEOUT ON s WITHIN 4
PATTERN once SEQ(a:A, b:B) REPORT ONE PER a.user, b.user EVERY 30 ON s WITHIN 6
PATTERN absent SEQ(a:A, NOT c:C) REPORT ONE PER a.user EVERY 25 ON s WITHIN 4
PATTERN sets AND(a:A, b:A) REPORT DISTINCT ON s WITHIN 3
"""
"""NOT inside, before and after, a list, what begins and does not end, and a report once per key."""


def rows(count: int) -> list[dict[str, Any]]:
    """Return events with deletions and with ids that come again."""
    rng = random.Random(5)
    shape = EventStreamShape(max_records=count, negative_ts=False, attributes=False)
    return [
        {
            "ts": event.ts,
            "type": event.type,
            "id": None if event.made else event.id,
            "op": event.operation.value,
            "user": rng.choice("pq"),
        }
        for event in random_event_stream(rng, shape)
    ]


def write(path: Path, table: pa.Table, format: str) -> None:
    match format:
        case "parquet":
            pq.write_table(table, path, row_group_size=50)
        case "arrow":
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=50)
        case "csv":
            csv.write_csv(table, path)
        case _:
            given = ({name: value for name, value in row.items() if value is not None} for row in table.to_pylist())
            path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in given))


def match(text: str, history: Path, folder: Path) -> list[bytes]:
    """Return what one pass finds, in any order."""
    (folder / "patterns.gtp").write_text(text)
    command = [sys.executable, "-m", "graphtide", "match", str(folder / "patterns.gtp"), str(history)]
    return sorted(subprocess.run(command, check=True, capture_output=True).stdout.splitlines())


def run_backfill(text: str, history: Path, format: str, run: Path, asked: Asked) -> tuple[RunTotals, ResultFolder]:
    results = ResultFolder(run)
    made = Backfill(
        Task(parse_matched(text)), Files(str(history), format), OneProcess(Machine(2, 2 << 30)), results, asked,
        on_progress=lambda _: None, is_wanted=lambda: True,
    )  # fmt: skip
    return made.run(made.prepare()), results


def records(results: ResultFolder) -> list[bytes]:
    return sorted(each.record for number in results.finished() for each in results.records(number))


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Return what one pass finds in the rows."""
    folder = tmp_path_factory.mktemp("live")
    write(folder / "history.jsonl", pa.Table.from_pylist(rows(400)), "jsonl")
    return match(TEXT, folder / "history.jsonl", folder)


@pytest.mark.parametrize("format", ["parquet", "arrow", "csv", "jsonl"])
def test_files_of_events_give_what_one_pass_gives(tmp_path: Path, live: list[bytes], format: str) -> None:
    history = tmp_path / f"history.{format}"
    write(history, pa.Table.from_pylist(rows(400)), format)
    totals, results = run_backfill(TEXT, history, format, tmp_path / "run", Asked(slice_length=11))
    found = records(results)
    assert found == live
    assert totals.slices > 20
    assert totals.duplicates > 0
    assert min(totals.matches, totals.retractions, totals.timeouts) > 0
    by_time = counted_by_time(results, results.finished(), 50)
    assert sum(each["timeouts"] for each in by_time) == totals.timeouts


def test_edges_are_events_of_their_labels_and_stand_beside_patterns_of_edges(tmp_path: Path) -> None:
    text = (
        "PATTERN chain MATCH (a)-[x:A]->(b)-[y:B]->(c) ORDER x < y ON s WINDOW 5\n"
        "PATTERN seldom MATCH (a)-[x:A]->(b)-[y:B]->(c) REPORT DISTINCT ONE PER b.id EVERY 40 ON s WINDOW 5\n"
        "PATTERN quiet SEQ(x:A, NOT y:B, z:A) WHERE x.dst = z.src AND y.src = x.dst ON s WITHIN 5"
    )
    rng = random.Random(3)
    edges = [
        {"ts": ts // 2, "src": rng.choice("uvw"), "dst": rng.choice("uvw"), "label": rng.choice("AB")} for ts in range(300)
    ]
    history = tmp_path / "history.parquet"
    write(history, pa.Table.from_pylist(edges), "parquet")
    _, results = run_backfill(text, history, "parquet", tmp_path / "run", Asked(slice_length=13))
    assert records(results) == match(text, history, tmp_path)
    names = {"chain", "seldom", "quiet"}
    assert {name for record in records(results) for name in names if name.encode() in record} == names


def test_what_did_not_come_by_the_end_of_history_is_reported_and_by_the_asked_end_is_not(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    history.write_text("ts,type\n1,A\n8,A\n9,X\n")
    text = "PATTERN p SEQ(a:A, NOT b:B) ON s WITHIN 5"
    all_of_it, _ = run_backfill(text, history, "csv", tmp_path / "all", Asked())
    until, _ = run_backfill(text, history, "csv", tmp_path / "until", Asked(end=13))
    past, _ = run_backfill(text, history, "csv", tmp_path / "past", Asked(end=14))
    assert (all_of_it.matches, until.matches, past.matches) == (2, 1, 2)


def test_a_slice_without_an_event_reports_what_settles_in_it(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    history.write_text("ts,type\n1,A\n50,X\n")
    text = "PATTERN p SEQ(a:A, NOT b:B) ON s WITHIN 15"
    _, results = run_backfill(text, history, "csv", tmp_path / "run", Asked(slice_length=10))
    assert [results.finished()[number].matches for number in range(5)] == [0, 1, 0, 0, 0]


def test_events_that_read_what_no_file_has_are_refused(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    history.write_text("ts,type,amount\n1,A,3\n")
    with pytest.raises(InvalidPatternError, match="pattern 'p': the stream has no attribute 'amuont'") as refused:
        run_backfill("PATTERN p SEQ(a:A, b:A) WHERE a.amuont > 3 ON s WITHIN 5", history, "csv", tmp_path / "run", Asked())
    assert "amount" in (refused.value.hint or "")


def test_an_engine_of_subgraph_patterns_is_refused_for_events() -> None:
    with pytest.raises(
        InvalidQueryError, match="the engine timing is not for event patterns, as 'p' is; one of auto, aggregation"
    ):
        Task(parse_matched("PATTERN p SEQ(a:A, b:A) ON s WITHIN 5"), "timing")
