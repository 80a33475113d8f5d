"""A folder of matches has each match once, by its query and the day of its detection."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from graphtide_backfill.adapters.files import Files
from graphtide_backfill.adapters.one_process import OneProcess
from graphtide_backfill.adapters.output import write_partitioned
from graphtide_backfill.adapters.result_folder import SCHEMA, ResultFolder
from graphtide_backfill.application.backfill import Asked, Backfill
from graphtide_backfill.domain.sizing import Machine
from graphtide_backfill.domain.task import Task
from graphtide_core.errors import FatalError
from graphtide_core.time import EventTime, TimeUnit
from graphtide_query import parse
from graphtide_testing.records import to_json_lines
from graphtide_testing.strategies.streams import StreamShape, random_stream

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3600
PATTERNS = """
PATTERN pair MATCH (a)-[x]->(b), (b)-[y]->(c) ORDER x < y ON s WINDOW 20h
PATTERN `one of/them` MATCH (a)-[e]->(b) ON s WINDOW 2h
"""


def run(folder: Path, times: range) -> ResultFolder:
    """Find matches in edges an hour apart, some of them before 1970, in slices of half a day."""
    edges = random_stream(random.Random(1), StreamShape(max_records=300, vertices=4))
    spread = [replace(each, ts=EventTime(ts * HOUR)) for each, ts in zip(edges, times, strict=False)]
    (folder / "history.jsonl").write_bytes(to_json_lines(spread))
    results = ResultFolder(folder / "run")
    backfill = Backfill(
        Task(parse(PATTERNS), unit=TimeUnit.SECOND),
        Files(str(folder / "history.jsonl"), "jsonl"),
        OneProcess(Machine(2, 2 << 30)),
        results,
        Asked(slice_length=12 * HOUR),
        on_progress=lambda _: None,
        is_wanted=lambda: True,
    )
    backfill.run(backfill.prepare())
    return results


def test_rows_are_in_the_folder_of_their_query_and_day(tmp_path: Path) -> None:
    results = run(tmp_path, range(-30, 60))
    write_partitioned(results, results.finished(), tmp_path / "matches", TimeUnit.SECOND)
    found: Counter[str] = Counter()
    places: set[tuple[str, ...]] = set()
    for file in sorted((tmp_path / "matches").rglob("*.parquet")):
        table = pq.ParquetFile(file).read()
        assert set(table.column_names) == {*SCHEMA.names} - {"query"}
        records = [json.loads(each) for each in table.column("record").to_pylist()]
        query, day = file.parent.parent.name, file.parent.name
        places.add((query, day))
        assert {each["query"] for each in records} == {{"query=pair": "pair"}.get(query, "one of/them")}
        assert {datetime.fromtimestamp(each["detected_at"], UTC).date().isoformat() for each in records} == {
            day[len("date=") :]
        }
        assert [each["detected_at"] for each in records] == sorted(each["detected_at"] for each in records)
        found.update(table.column("record").to_pylist())
    expected = [each.record.decode() for number in results.finished() for each in results.records(number)]
    assert found == Counter(expected)
    assert {query for query, _ in places} == {"query=pair", "query=one%20of%2Fthem"}
    assert {day for _, day in places} >= {"date=1969-12-31", "date=1970-01-01", "date=1970-01-02"}
    assert not (tmp_path / ".matches.part").exists()


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    results = run(tmp_path, range(3))
    (tmp_path / "matches").mkdir()
    with pytest.raises(FatalError, match="is there already"):
        write_partitioned(results, results.finished(), tmp_path / "matches", TimeUnit.SECOND)
    with pytest.raises(FatalError, match="cannot be written"):
        write_partitioned(results, results.finished(), tmp_path / "missing" / "matches", TimeUnit.SECOND)


def test_a_day_beyond_all_calendars_is_a_number(tmp_path: Path) -> None:
    results = run(tmp_path, range(10**10, 10**10 + 5))
    write_partitioned(results, results.finished(), tmp_path / "matches", TimeUnit.SECOND)
    days = {each.parent.name for each in (tmp_path / "matches").rglob("*.parquet")}
    assert days == {f"date={10**10 // 24}"}
