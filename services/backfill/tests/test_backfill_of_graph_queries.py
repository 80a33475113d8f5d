"""A backfill of streaming graph queries reports, of files and topics, what `graphtide match` reports of them."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graphtide_backfill.adapters.files import Files
from graphtide_backfill.adapters.one_process import OneProcess
from graphtide_backfill.adapters.output import counted_by_time, write_all
from graphtide_backfill.adapters.result_folder import ResultFolder
from graphtide_backfill.application.backfill import Asked, Backfill
from graphtide_backfill.bootstrap import OverTheLog
from graphtide_backfill.domain.sizing import Machine
from graphtide_backfill.domain.task import Task
from graphtide_core.errors import InvalidPatternError, InvalidQueryError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import TopicPartition
from graphtide_log.memory import MemoryLog
from graphtide_query import parse
from graphtide_testing.ordered_records import ordered_records
from graphtide_testing.records import to_csv, to_json_lines
from graphtide_testing.strategies.streams import StreamShape, random_stream
from graphtide_wire.operations import OperationRecord
from graphtide_wire.topics import Topics
from pyarrow import csv, feather

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from graphtide_backfill.application.backfill import RunTotals

TEXT = """
QUERY reach near(x, y) <- a+(x, y) AS way. ON s WINDOW(6) RETURN way
QUERY notify RL(x, y) <- a+(x, y), b(x, m), c(m, y). notify(x, m) <- RL+(x, y), c(m, y). ON s WINDOW(9) SLIDE(3)
QUERY once pair(x, y) <- /(:a | :b)+/(x, y). ON s WINDOW(5) INTERNAL
QUERY wide Answer(x, y, z) <- a(x, y), b(y, z). ON s WINDOW(4)
PATTERN chain MATCH (u)-[p:a]->(v)-[q:b]->(w) ORDER p < q ON s WINDOW 7
"""
BIG = Machine(2, 2 << 30)
DENSE = StreamShape(max_records=300, vertices=4, labels=("a", "b", "c"), gaps=(0, 0, 1, 0, 2, 5), negative_ts=False)
EDGES = random_stream(random.Random(11), DENSE)
IN_ORDER = random_stream(random.Random(12), replace(DENSE, duplicates=False))


def list_results(records: Iterable[bytes | str]) -> list[tuple[object, ...]]:
    """Return the reports, sorted; of a result whether it has a path, because any of several is right."""
    return sorted(_read_result(json.loads(record)) for record in records)


def _read_result(record: dict[str, Any]) -> tuple[object, ...]:
    head = (record["query"], record["detected_at"], record["kind"])
    if "valid" not in record:
        return (*head, record["match_id"])
    ends = tuple(record["bindings"].values()) if "bindings" in record else (record["src"], record["dst"])
    return (*head, record["label"], ends, str(record["valid"][1]), "path" in record)


def match(text: str, history: Path, folder: Path) -> list[tuple[object, ...]]:
    """Return the reports of one pass."""
    (folder / "queries.gtp").write_text(text)
    command = [sys.executable, "-m", "graphtide", "match", str(folder / "queries.gtp"), str(history)]
    return list_results(subprocess.run(command, check=True, capture_output=True).stdout.splitlines())


def run_backfill(text: str, history: Path, format: str, run: Path, asked: Asked) -> tuple[RunTotals, ResultFolder]:
    results = ResultFolder(run)
    made = Backfill(
        Task(parse(text)), Files(str(history), format), OneProcess(BIG), results, asked,
        on_progress=lambda _: None, is_wanted=lambda: True,
    )  # fmt: skip
    return made.run(made.prepare()), results


def write(path: Path, format: str) -> None:
    if format == "jsonl":
        path.write_bytes(to_json_lines(EDGES))
        return
    path.write_text(to_csv(EDGES))
    if format != "csv":
        table = csv.read_csv(path, convert_options=csv.ConvertOptions(strings_can_be_null=True))
        pq.write_table(table, path, row_group_size=50)


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_files_of_edges_give_what_one_pass_gives(tmp_path: Path, format: str) -> None:
    history = tmp_path / f"history.{format}"
    write(history, format)
    totals, results = run_backfill(TEXT, history, format, tmp_path / "run", Asked(slice_length=11))
    assert list_results(each.record for number in results.finished() for each in results.records(number)) == match(
        TEXT, history, tmp_path
    )
    assert totals.slices > 10
    assert min(totals.matches, totals.extensions, totals.retractions, totals.duplicates) > 0
    by_time = counted_by_time(results, results.finished(), 50)
    assert sum(each["extensions"] for each in by_time) == totals.extensions
    assert {each["query"] for each in by_time} == {"reach", "notify", "once", "wide", "chain"}


@pytest.mark.parametrize(("start", "end"), [(20, 60), (33, 40), (0, 40), (41, 10_000)])
def test_reports_between_two_times_are_those_of_one_pass_then(tmp_path: Path, start: int, end: int) -> None:
    history, first = tmp_path / "history.jsonl", EDGES[0].ts
    write(history, "jsonl")
    _, results = run_backfill(TEXT, history, "jsonl", tmp_path / "run", Asked(first + start, first + end, 7))
    found = list_results(each.record for number in results.finished() for each in results.records(number))
    assert found == [each for each in match(TEXT, history, tmp_path) if each[1] in range(first + start, first + end)]
    assert found


@pytest.fixture(scope="module")
def in_slices(tmp_path_factory: pytest.TempPathFactory) -> tuple[ResultFolder, list[tuple[object, ...]]]:
    """The results of a run in slices, and those of one pass."""
    folder = tmp_path_factory.mktemp("slices")
    history = folder / "history.jsonl"
    write(history, "jsonl")
    _, results = run_backfill(TEXT, history, "jsonl", folder / "run", Asked(slice_length=11))
    return results, match(TEXT, history, folder)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl"])
def test_results_are_merged_into_one_file_in_the_order_of_detection(
    in_slices: tuple[ResultFolder, list[tuple[object, ...]]], tmp_path: Path, ending: str
) -> None:
    results, expected = in_slices
    output = tmp_path / f"results.{ending}"
    write_all(results, results.finished(), output)
    readers = {"parquet": pq.read_table, "arrow": feather.read_table}
    table = readers[ending](output) if ending in readers else None
    records = output.read_text().splitlines() if table is None else table.column("record").to_pylist()
    assert list_results(records) == expected
    times = [json.loads(each)["detected_at"] for each in records]
    assert times == sorted(times)
    if table is not None:
        assert table.column("detected_at").to_pylist() == times
        assert {*table.column("kind").cast(pa.string()).to_pylist()} == {"match", "extend", "retract"}


def over_the_log(text: str, folder: Path) -> list[bytes]:
    """Ask for a backfill of the ordered topic of `s`; return the records of the topic of matches."""
    log, topics = MemoryLog(), Topics("t")
    log.admin().ensure([*topics.of_deployment(), *topics.of_stream(StreamName("s"))])
    log.writer().write(list(ordered_records(topics.ordered(StreamName("s")), IN_ORDER)))
    asked = OperationRecord("aaaaaaaa", "reach", 3, text, "s", "done", datetime(2024, 1, 1, tzinfo=UTC))
    work = OverTheLog(lambda: log, topics, folder, lambda: nullcontext(OneProcess(BIG)))
    work(asked, lambda _: None, Event())
    reader = log.reader(None)
    reader.assign({TopicPartition(topics.matches, 0): 0})
    return [record.value for record in reader.poll(0, 1_000_000) if record.value is not None]


def test_an_operation_reports_the_results_of_a_topic(tmp_path: Path) -> None:
    text = "QUERY reach near(x, y) <- a+(x, y) AS way. ON s WINDOW(6) RETURN way"
    (tmp_path / "history.jsonl").write_bytes(to_json_lines(IN_ORDER))
    found = over_the_log(text, tmp_path / "folder")
    assert list_results(found) == match(text, tmp_path / "history.jsonl", tmp_path)
    assert {json.loads(record)["kind"] for record in found} == {"match", "extend", "retract"}


def test_a_query_that_reads_what_no_file_has_is_refused(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    history.write_text("ts,src,dst,label,amount\n1,a,b,pays,3\n")
    text = "CONSTRUCT (u)-[:r]->(v) MATCH (u)-[e:pays]->(v) ON s WINDOW(9) WHERE e.amuont > 3"
    with pytest.raises(InvalidPatternError, match="pattern 'r': the stream has no attribute 'amuont'") as refused:
        run_backfill(text, history, "csv", tmp_path / "run", Asked())
    assert "amount" in (refused.value.hint or "")


def test_an_engine_of_patterns_is_refused() -> None:
    with pytest.raises(InvalidQueryError, match="the engine timing is not for streaming graph queries, as 'q' is"):
        Task(parse("QUERY q r(x, y) <- a(x, y). ON s WINDOW(9)"), "timing")
