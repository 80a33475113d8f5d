"""A record with a type and without ends is an event, in every format."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pyarrow as pa
import pytest
from graphtide_core.errors import UnreadableStreamError
from graphtide_native.records import ArrowDecoder, CsvDecoder, JsonLinesDecoder, Symbols, take_dead_letters
from hypothesis import given
from hypothesis import strategies as st

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1, max_size=5)
event = st.fixed_dictionaries(
    {
        "ts": st.integers(-(2**63), 2**63 - 1),
        "type": text,
        "id": st.none() | text,
        "speed": st.none() | st.integers(0, 9),
        # What says the label of an end says nothing where there is none.
        "src_label": st.none() | text.map(lambda value: "s" + value),
    }
)
edge = st.fixed_dictionaries({"ts": st.integers(0, 9), "src": text, "dst": text, "label": text}, optional={"type": text})
COLUMNS = ["ts", "type", "id", "speed", "src_label"]
ASKED = ["speed", "src_label", "type"]


def lines(records: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def as_csv(records: list[dict[str, Any]]) -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS)
    writer.writeheader()
    writer.writerows(records)
    return file.getvalue().encode()


def as_ipc(records: list[dict[str, Any]]) -> bytes:
    kinds = [pa.int64(), pa.string(), pa.string(), pa.int64(), pa.string()]
    table = pa.Table.from_pylist(records, pa.schema(list(zip(COLUMNS, kinds, strict=True))))
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def read_records(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    names = ("ordinal", "ts", "op", "src", "dst", "label", "src_label", "dst_label", "id", "made")
    return [(*(record[name] for name in names), record["attributes"]) for record in records]


@given(st.lists(event, max_size=6))
def test_events_are_the_same_in_every_format(records: list[dict[str, Any]]) -> None:
    expected = [
        (
            *(place, record["ts"], "insert", "", "", record["type"], "", ""),
            *((str(place), True) if record["id"] is None else (record["id"], False)),
            {"speed": record["speed"]},
        )
        for place, record in enumerate(records)
    ]
    json_lines = JsonLinesDecoder(Symbols(), ["speed"], {}).decode(lines(records))
    arrow = ArrowDecoder(Symbols(), ["speed"], {}).decode(as_ipc(records))
    reader = CsvDecoder(Symbols(), ["speed"], {})
    of_csv = reader.decode(as_csv(records)).followed_by([reader.finish()])
    assert [read_records(batch.to_records()) for batch in (json_lines, arrow, of_csv)] == [expected] * 3


@given(st.lists(event | edge, max_size=8))
def test_events_among_edges_are_written_and_read_back(records: list[dict[str, Any]]) -> None:
    symbols = Symbols()
    mixed = JsonLinesDecoder(symbols, ASKED, {}).decode(lines(records))
    read = ArrowDecoder(symbols, ASKED, {}).decode(mixed.to_arrow())

    def without_shadowed(batch: Any) -> list[tuple[Any, ...]]:
        found: list[dict[str, Any]] = batch.to_records()
        for record in found:
            # An attribute whose name is a column's is left out of what is written.
            record["attributes"].pop("src_label")
        return read_records(found)

    assert without_shadowed(read) == without_shadowed(mixed)
    assert mixed.edges == read.edges == sum("src" in record for record in records)
    assert [record["attributes"]["type"] for record in mixed.to_records()] == [record.get("type") for record in records]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"ts": 1, "type": ""}, "type is empty"),
        ({"ts": 1, "type": 5}, "type is not a text"),
        ({"ts": 1, "type": None, "speed": 1}, "src is missing"),
        ({"ts": 1, "type": "a", "src": "x"}, "dst is missing"),
        ({"type": "a"}, "ts is missing"),
    ],
)
def test_a_record_that_is_not_an_event_is_rejected(record: dict[str, Any], reason: str) -> None:
    decoder = JsonLinesDecoder(Symbols(), [], {})
    assert len(decoder.decode(lines([record]))) == 0
    assert [letter.reason for letter in take_dead_letters(decoder)] == [reason]


def test_a_row_without_a_type_is_rejected() -> None:
    decoder = CsvDecoder(Symbols(), [], {})
    assert read_records(decoder.decode(b"ts,type\n1,\n2,a\n").to_records())[0][:6] == (1, 2, "insert", "", "", "a")
    assert [letter.reason for letter in take_dead_letters(decoder)] == ["type is empty"]


def test_a_type_may_be_called_otherwise() -> None:
    batch = CsvDecoder(Symbols(), ["type"], {"type": "kind"}).decode(b"ts,kind,type\n1,a,b\n")
    assert read_records(batch.to_records())[0][5:] == ("a", "", "", "0", True, {"type": "b"})


def test_a_header_that_names_ends_otherwise_is_no_header_of_events() -> None:
    with pytest.raises(UnreadableStreamError, match='did you mean "source"'):
        CsvDecoder(Symbols(), [], {}).decode(b"ts,source,target,type\n1,a,b,x\n")


@pytest.mark.parametrize("where", ["{}", '{{"attributes":{}}}'])
def test_a_type_is_discovered_as_an_attribute_of_edges_alone(where: str) -> None:
    decoder = JsonLinesDecoder(Symbols(), [], {}, discover=True)
    decoder.decode(b'{"ts":1,"type":"a","speed":1}\n')
    assert decoder.discovered() == ["speed"]
    typed = json.loads(where.format('{"type":"a"}'))
    decoder.decode(lines([{"ts": 1, "src": "x", "dst": "y", "label": "l", **typed}]))
    assert decoder.discovered() == ["speed", "type"]


def test_an_event_is_deleted_by_its_id() -> None:
    batch = CsvDecoder(Symbols(), [], {}).decode(b"ts,type,id,op\n1,a,e,\n2,,e,delete\n")
    assert [record[2] for record in read_records(batch.to_records())] == ["insert", "delete"]
    assert batch.edges == 0
