"""Tables and iterables of edges."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal
from types import MappingProxyType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from graphtide.readers import Reader, ReaderOptions
from graphtide.readers.memory import from_edges, from_table
from graphtide_core.edge import Edge, Operation
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime

COLUMNS = {"ts": [1, 2, 3], "src": ["a", "b", "c"], "dst": [7, 8, 9], "label": ["x", "x", "y"], "n": [0.5, None, 1.5]}
ARROW = pa.table(COLUMNS)
EXPECTED = [(1, "a", "7", "x", 0.5), (2, "b", "8", "x", None), (3, "c", "9", "y", 1.5)]


def read(reader: Reader) -> list[tuple[object, ...]]:
    records = [record for batch in reader.batches() for record in batch.to_records()]
    return [(r["ts"], r["src"], r["dst"], r["label"], r["attributes"]["n"]) for r in records]


TABLES = {
    "pyarrow": ARROW,
    "pyarrow in pieces": pa.concat_tables([ARROW.slice(0, 1), ARROW.slice(1)]),
    "record batch": ARROW.to_batches()[0],
    "record batch reader": None,
    "pandas": pd.DataFrame(COLUMNS),
    "pandas with an index": pd.DataFrame(COLUMNS, index=["p", "q", "r"]),
    "pandas with categories": pd.DataFrame(COLUMNS).astype({"label": "category"}),
    "polars": pl.DataFrame(COLUMNS),
    "polars with categories": pl.DataFrame(COLUMNS).with_columns(pl.col("label").cast(pl.Categorical)),
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_kind_of_table_gives_the_same_records(kind: str) -> None:
    table = ARROW.to_reader(max_chunksize=2) if kind == "record batch reader" else TABLES[kind]
    reader = from_table(table, ReaderOptions(attributes=("n",), block_rows=2))
    assert read(reader) == EXPECTED
    assert reader.columns is not None
    assert reader.columns[:5] == list(COLUMNS)
    assert reader.bytes_total is None


def test_times_of_pandas_are_converted() -> None:
    frame = pd.DataFrame(COLUMNS).assign(ts=pd.to_datetime([1, 2, 3], unit="ms"))
    assert [row[0] for row in read(from_table(frame, ReaderOptions(attributes=("n",))))] == [1, 2, 3]


def test_what_is_not_a_table_is_refused() -> None:
    with pytest.raises(UnreadableStreamError, match="a list is not a table of pyarrow, pandas or polars"):
        from_table([1, 2])
    with pytest.raises(UnreadableStreamError, match="the table cannot be read as Arrow"):
        from_table(pd.DataFrame({"ts": [1, "x"]}))
    with pytest.raises(UnreadableStreamError, match='the table: no column "label"; the columns are'):
        list(from_table(ARROW.drop(["label"])).batches())


def edge(ts: int, **changes: object) -> Edge:
    fields = {"id": EdgeId(f"e{ts}"), "ts": EventTime(ts), "source": VertexId("a"), "target": VertexId("5"), "label": "x"}
    return Edge(**fields | changes)  # type: ignore[arg-type]  # fields of a test


def test_edges_and_dictionaries_are_read_alike() -> None:
    items: list[Edge | dict[str, object]] = [
        edge(1, source_label="ip", attributes=MappingProxyType({"n": 2.5, "ts": "an attribute"})),
        edge(2, operation=Operation.DELETE),
        {"ts": np.int64(3), "src": "a", "dst": np.uint8(5), "label": "x", "n": np.float32(0.5), "at": ("t",)},
    ]
    reader = from_edges(iter(items), ReaderOptions(attributes=("n", "ts")))
    records = [record for batch in reader.batches() for record in batch.to_records()]
    shown = [(r["id"], r["op"], r["ts"], r["src"], r["dst"], r["src_label"], r["attributes"]) for r in records]
    assert shown == [
        ("e1", "insert", 1, "a", "5", "ip", {"n": 2.5, "ts": "an attribute"}),
        ("e2", "delete", 2, "a", "5", "", {"n": None, "ts": 2}),
        ("2", "insert", 3, "a", "5", "", {"n": 0.5, "ts": 3}),
    ]
    assert reader.has_ids
    assert reader.has_operations


def test_decimals_dates_and_times_mean_the_same_in_rows_and_in_tables() -> None:
    values = {
        "amount": Decimal("6.50"),
        "whole": Decimal(7),
        "day": dt.date(2024, 1, 31),
        "clock": dt.time(12, 0, 1, 5),
        "moment": dt.datetime(2024, 1, 31, 12, 0, 1, 5, tzinfo=dt.UTC),
    }
    row = {"ts": 1, "src": "a", "dst": "b", "label": "x"} | values
    options = ReaderOptions(attributes=tuple(values))
    readers = [from_edges([row], options), from_table(pa.Table.from_pylist([row]), options)]
    found = [record["attributes"] for reader in readers for batch in reader.batches() for record in batch.to_records()]
    texts = {"day": "2024-01-31", "clock": "12:00:01.000005", "moment": "2024-01-31T12:00:01.000005Z"}
    assert found == [{"amount": 6.5, "whole": 7, **texts}] * 2


def test_edges_are_written_under_the_names_of_the_options() -> None:
    reader = from_edges([edge(1)], ReaderOptions(attributes=("n",), columns={"src": "from"}))
    assert read(reader) == [(1, "a", "5", "x", None)]


@pytest.mark.parametrize("item", [17, {"ts": object()}, {"ts": 2**70}, {1: 2}, "text", None])
def test_an_item_that_is_not_a_record_is_rejected(item: object) -> None:
    reader = from_edges([item, edge(1)])  # type: ignore[list-item]  # that is the point
    assert [batch.ordinals for batch in reader.batches()] == [[1]]
    assert [letter.line for letter in reader.take_dead_letters()] == [1]


def test_an_endless_iterable_is_read_in_bounded_memory() -> None:
    batches = from_edges(edge(ts) for ts in itertools.count()).batches()
    assert [len(next(batches)) for _ in range(3)] == [4096] * 3
