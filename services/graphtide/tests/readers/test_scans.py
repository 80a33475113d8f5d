"""Tables that are read batch by batch, and columns that folders say: the records of a table in memory, in order of time."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import graphtide
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from graphtide import MatchOptions
from graphtide.readers import sorting

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PATTERN = "PATTERN p MATCH (a)-[x:pay]->(b)-[y:pay]->(c) ORDER x < y ON s WINDOW 20 RETURN x.n AS n, y.n AS m"


def make_table(*, is_in_order: bool, rows: int = 300) -> pa.Table:
    rng = random.Random(7)
    times = [3 * place for place in range(rows)]
    if not is_in_order:
        rng.shuffle(times)
    return pa.table({
        "ts": times,
        "src": [str(rng.randrange(9)) for _ in times],
        "dst": [str(rng.randrange(9)) for _ in times],
        "label": ["pay"] * rows,
        "id": [f"i{place}" for place in range(rows)],
        "n": [*range(rows)],
        "unread": [None] * rows,
    })  # fmt: skip


class OnlyStream:
    """What gives an Arrow stream once, and nothing else, as relations of other libraries do."""

    def __init__(self, table: pa.Table) -> None:
        self._reader = table.to_reader(max_chunksize=40)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._reader.__arrow_c_stream__(requested_schema)


def as_dataset(table: pa.Table, folder: Path) -> object:
    for number in range(3):
        pq.write_table(table.slice(number * 100, 100), folder / f"{number}.parquet")
    return ds.dataset(folder)


KINDS: dict[str, Callable[[pa.Table, Path], object]] = {
    "dataset": as_dataset,
    "lazy frame": lambda table, _: pl.DataFrame(table).lazy(),
    "stream": lambda table, _: OnlyStream(table),
}


@pytest.mark.parametrize("kept", [0, sorting.KEPT_BYTES])
@pytest.mark.parametrize("is_in_order", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_what_need_not_fit_into_memory_gives_the_matches_of_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, is_in_order: bool, kept: int
) -> None:
    monkeypatch.setattr(pl.LazyFrame, "collect", None)
    defaults = {**(sorting.SortingReader.__init__.__kwdefaults__ or {}), "kept_bytes": kept, "part_bytes": 5_000}
    monkeypatch.setattr(sorting.SortingReader.__init__, "__kwdefaults__", defaults)
    table = make_table(is_in_order=is_in_order)
    expected = [*graphtide.match(PATTERN, table)]
    found = [*graphtide.match(PATTERN, KINDS[kind](table, tmp_path))]
    assert found == expected
    assert len(found) > 50


def test_what_cannot_be_computed_says_why() -> None:
    frame = pl.LazyFrame({"ts": [1], "src": ["a"], "dst": ["b"], "label": ["pay"]})
    with pytest.raises(graphtide.GraphtideError, match=r"the table.*nowhere"):
        [*graphtide.match(PATTERN, frame.with_columns(n=pl.col("nowhere")))]
    with pytest.raises(graphtide.GraphtideError, match="the table"):
        [*graphtide.match(PATTERN, frame.with_columns(ts=pl.lit("x").str.to_integer(), n=1))]


ROWS: list[dict[str, Any]] = [
    {"ts": 1, "src": "a", "dst": "b", "label": "k", "note": 'x "1", y'},
    {"ts": 2, "src": "b", "dst": "c", "label": "k", "note": "two\nlines"},
]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(path, table.schema) as file:
            file.write(table)
    elif path.suffix == ".csv":
        pc.write_csv(table, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


ENDINGS = ["csv", "jsonl", "parquet", "arrow"]
PARTS = "PATTERN p MATCH (v)-[x]->(w) ON s WINDOW 9 RETURN x.year AS year, x.month AS month, x.place AS place, x.note AS note"


@pytest.fixture(params=ENDINGS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    for number, row in enumerate(ROWS):
        path = tmp_path / f"year={2025 + number}" / "month=01" / "place=d%2C%20e" / f"part.{request.param}"
        write(path, [row])
    write(tmp_path / "year=2027" / "place=__HIVE_DEFAULT_PARTITION__" / f"part.{request.param}", [ROWS[0] | {"ts": 3}])
    return tmp_path


def test_folders_are_columns(folder: Path) -> None:
    found = [tuple(match.fields.values()) for match in graphtide.match(PARTS, folder)]
    notes = [row["note"] for row in ROWS]
    assert found == [(2025, 1, "d, e", notes[0]), (2026, 1, "d, e", notes[1]), (2027, None, None, notes[0])]
    some = [match.fields["year"] for match in graphtide.match(PARTS, str(folder / "year=202[67]" / "**" / "part.*"))]
    assert some == [2026, 2027]


def test_statements_and_options_read_such_columns(folder: Path) -> None:
    statement = "STREAM s EDGE (src)-[concat('in', year)]->(dst) AT ts WHERE year <> 2025 SET since = year - 2000, note = note"
    text = "PATTERN p MATCH (v)-[x:in2026]->(w) ON s WINDOW 9 RETURN x.since AS since"
    found = [match.fields for match in graphtide.match(text, folder, MatchOptions(stream=statement))]
    assert found == [{"since": 26}]
    by_label = "PATTERN p MATCH (v)-[x:`2026`]->(w) ON s WINDOW 9"
    options = MatchOptions(columns={"label": "year"})
    assert [match.detected_at for match in graphtide.match(by_label, folder, options)] == [2]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_column_of_the_file_comes_before_that_of_its_folder(tmp_path: Path, ending: str) -> None:
    write(tmp_path / "year=2026" / f"part.{ending}", [ROWS[0] | {"year": 7}])
    text = "PATTERN p MATCH (v)-[x]->(w) ON s WINDOW 9 RETURN x.year AS year"
    assert [match.fields for match in graphtide.match(text, tmp_path)] == [{"year": 7}]
