"""One stream written in every format gives one batch."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from graphtide_native.records import ArrowDecoder, CsvDecoder, JsonLinesDecoder, Symbols
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_native.records import Decoder

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1, max_size=5)
vertex = text | st.integers(0, 2**63 - 1).map(str)
# Only values that CSV can distinguish: its fields have no types, and an empty one is missing.
attribute = st.none() | text.map(lambda value: "n" + value)
row = st.fixed_dictionaries(
    {
        "ts": st.integers(-(2**63), 2**63 - 1),
        "src": vertex,
        "dst": vertex,
        "label": text,
        "src_label": st.none() | text,
        "id": st.none() | vertex,
        "op": st.none() | st.sampled_from(["insert", "delete"]),
        "number": st.none() | st.integers(-(2**63), 2**63 - 1),
        "real": st.none()
        | st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value + 0.5).filter(lambda v: v % 1),
        "truth": st.none() | st.booleans(),
        "note": attribute,
    }
)
ATTRIBUTES = ["number", "real", "truth", "note"]
SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        *((name, pa.string()) for name in ("src", "dst", "label", "src_label", "id", "op")),
        ("number", pa.int64()),
        ("real", pa.float64()),
        ("truth", pa.bool_()),
        ("note", pa.string()),
    ]
)


def as_csv(rows: list[dict[str, Any]]) -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, SCHEMA.names)
    writer.writeheader()
    writer.writerows([{key: str(v).lower() if isinstance(v, bool) else v for key, v in item.items()} for item in rows])
    return file.getvalue().encode()


def as_ipc(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def through_parquet(table: pa.Table) -> pa.Table:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return pq.read_table(pa.BufferReader(sink.getvalue()), read_dictionary=["src", "label"])


@given(st.lists(row, max_size=8))
def test_one_stream_in_every_format_gives_one_batch(rows: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist(rows, SCHEMA)
    lines = "".join(json.dumps(item) + "\n" for item in rows).encode()
    ways: dict[str, tuple[Decoder, bytes]] = {
        "csv": (CsvDecoder(Symbols(), ATTRIBUTES, {}), as_csv(rows)),
        "json lines": (JsonLinesDecoder(Symbols(), ATTRIBUTES, {}), lines),
        "arrow": (ArrowDecoder(Symbols(), ATTRIBUTES, {}), as_ipc(table)),
        "parquet": (ArrowDecoder(Symbols(), ATTRIBUTES, {}), as_ipc(through_parquet(table))),
    }
    read, dead = {}, {}
    for name, (decoder, data) in ways.items():
        records = decoder.decode(data).to_records() + decoder.finish().to_records()
        # Lines count what a format has: a header, line ends within quotes.
        read[name] = [{key: value for key, value in record.items() if key != "line"} for record in records]
        dead[name] = [reason for _, reason, _ in decoder.take_dead_letters()]
    expected = [
        {
            "ordinal": ordinal,
            "ts": item["ts"],
            "op": item["op"] or "insert",
            "src": item["src"],
            "dst": item["dst"],
            "id": item["id"] or str(ordinal),
            "made": not item["id"],
            "label": item["label"],
            "src_label": item["src_label"] or "",
            "dst_label": "",
            "attributes": {name: item[name] for name in ATTRIBUTES},
            "raw": b"",
        }
        for ordinal, item in enumerate(rows)
        if item["op"] != "delete" or item["id"]
    ]
    for name in ways:
        assert read[name] == expected, name
        assert dead[name] == ["a delete needs the id of the edge it retracts"] * (len(rows) - len(expected)), name
