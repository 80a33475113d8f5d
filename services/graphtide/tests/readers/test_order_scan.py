"""A look at the times alone says yes only where a decoder finds the file in order; and it says yes where times are plain."""

from __future__ import annotations

import datetime
import json
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graphtide.readers import order_scan
from graphtide.readers.opening import _is_surely_in_order, _open_file
from graphtide.readers.reader import ReaderOptions, times_alone
from graphtide.readers.sorting import is_in_order
from graphtide.record_options import RecordOptions
from graphtide_query.language import parse_streams

if TYPE_CHECKING:
    from pathlib import Path

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
FORMS: dict[str, Any] = {
    "integers": lambda ts: ts,
    "decimals": lambda ts: f"{ts // 10}.{ts % 10}",
    "dates": lambda ts: (START + datetime.timedelta(hours=ts)).isoformat().replace("+00:00", "Z"),
}
ODD: dict[str, tuple[str, ...]] = {
    "csv": ("", "x", "-3", "007", '"5', "2026-01-01", "1e3", "9" * 30, " 4"),
    "jsonl": ('"x"', "-3", "1e3", "null", '"\\u0035"', '{"ts":5}', "5.0", "9" * 30),
}


@pytest.fixture(autouse=True)
def small_files_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_scan, "LEAST_BYTES", 0)


def write(path: Path, times: list[object], odd: list[str]) -> None:
    """Write records with these times, and some that are written as they are."""
    if path.suffix == ".csv":
        cells = [*map(str, times), *odd]
        path.write_text("src,ts,dst,label\n" + "".join(f"a,{cell},b,k\n" for cell in cells))
    elif path.suffix == ".jsonl":
        cells = [*map(json.dumps, times), *odd]
        path.write_text("".join(f'{{"src":"a","ts":{cell},"dst":"b","label":"k"}}\n' for cell in cells))
    else:
        rows = {"ts": times, "src": ["a"] * len(times), "dst": ["b"] * len(times), "label": ["k"] * len(times)}
        pq.write_table(pa.table(rows), path)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_yes_is_never_wrong(tmp_path: Path, ending: str) -> None:
    answers = {(True, True): 0, (False, True): 0, (False, False): 0}
    for seed in range(60):
        rng = random.Random(seed)
        name = "integers" if ending == "parquet" else rng.choice([*FORMS])
        form = FORMS[name]
        times = sorted(rng.choices(range(60), k=8))
        if rng.random() < 0.4:
            rng.shuffle(times)
        odd = rng.choices(ODD[ending], k=rng.choice([0, 0, 1])) if ending in ODD else []
        path = tmp_path / f"s.{ending}"
        write(path, [form(ts) for ts in times], odd)
        written = RecordOptions(time_format={"decimals": "s", "dates": "iso"}.get(name, "ticks"))
        options = ReaderOptions(record_options=written)
        found = _is_surely_in_order(str(path), options), is_in_order(_open_file(str(path), times_alone(options)))
        answers[found] += 1
        if not odd and times == sorted(times):
            assert found == (True, True)
    assert all(count for found, count in answers.items() if ending in ODD or found != (False, True)), answers


@pytest.mark.parametrize(
    ("at", "is_looked_at"),
    [("at", True), ("at IN s", True), ("at IN auto", False), ("at * 2", False), ("at ZONE 'Europe/Berlin'", False)],
)
def test_a_statement_is_looked_at_where_a_field_is_its_time(tmp_path: Path, at: str, is_looked_at: bool) -> None:
    path = tmp_path / "s.csv"
    path.write_text("at,who\n1,a\n2,b\n")
    options = ReaderOptions(record_options=RecordOptions(stream=parse_streams(f"STREAM s EDGE (who)-[:k]->(who) AT {at}")))
    assert _is_surely_in_order(str(path), options) is is_looked_at


@pytest.mark.parametrize(
    "written",
    [{"delimiter": "whitespace"}, {"has_header": False}, {"time_format": "%d%m%Y"}, {"time_zone": "+02:00"}, {"comment": "#"}],
    ids=str,
)
def test_what_may_be_written_otherwise_is_left_to_the_decoder(tmp_path: Path, written: dict[str, Any]) -> None:
    path = tmp_path / "s.csv"
    path.write_text("ts,src,dst,label\n1,a,b,k\n")
    assert not _is_surely_in_order(str(path), ReaderOptions(record_options=RecordOptions(**written)))
