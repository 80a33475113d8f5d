"""Batches of the raw topic: what they keep of a body, and what is refused of those that somebody else wrote."""

from __future__ import annotations

import pyarrow as pa
import pytest
from graphtide_core.errors import UnreadableStreamError
from graphtide_native.records import JsonLinesDecoder, RawBatchDecoder, Symbols, take_dead_letters

EDGE = {"ts": 1, "src": "a", "dst": "b", "label": "x"}
LINES = b"""{"ts":1,"src":"a","dst":"b","label":"x","n":1.50}
bad

{"ts":9,"dst":"a","src":"b","label":"y","id":"e","src_label":"s"}
{"ts":2,"id":"e","op":"delete"}
{"ts":3,"type":"on","n":"text"}
"""


def stream(rows: list[dict[str, object]], metadata: dict[str, str] | None = None, schema: pa.Schema | None = None) -> bytes:
    table = pa.Table.from_pylist(rows, schema=schema).replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def batch_of(lines: bytes) -> bytes:
    decoder = JsonLinesDecoder(Symbols(), ["n"], {}, keep_raw=True)
    batch, _ = decoder.decode_pieces([lines], 1)
    return batch.to_raw_batch(1, 0, decoder.ordinal())


def test_a_batch_keeps_bytes_lines_and_ordinals_and_moves_them_on() -> None:
    decoder = RawBatchDecoder(Symbols(), ["n"])
    decoder.start_at(100)
    edges, pieces = decoder.decode_pieces([batch_of(LINES)] * 2, 1, [5, 5])
    found = [(each["ordinal"], each["line"], each["id"], each["raw"]) for each in edges.to_records()]
    own = LINES.split(b"\n")
    assert found == [
        (100, 1, "100", own[0]), (103, 5, "e", own[4]), (104, 6, "104", own[5]),
        (105, 8, "105", own[0]), (108, 12, "e", own[4]), (109, 13, "109", own[5]),
    ]  # fmt: skip
    assert [each["attributes"]["n"] for each in edges.to_records()[:3]] == [1.5, None, "text"]
    assert pieces == [(3, 1, 105, 3, 1), (6, 2, 110, 3, 8)]
    assert [(each.line, each.raw) for each in take_dead_letters(decoder)] == [(4, own[3]), (11, own[3])]


def test_names_that_nobody_asked_for_are_discovered_and_marks_are_none() -> None:
    decoder = RawBatchDecoder(Symbols(), ["graphtide.raw", "graphtide.line"])
    edges, _ = decoder.decode_pieces([batch_of(LINES), stream([{**EDGE, "type": "t", "m": 1}])], 1)
    assert decoder.discovered() == ["n", "type", "m"]
    assert {str(each["attributes"]) for each in edges.to_records()} == {"{'graphtide.raw': None, 'graphtide.line': None}"}


def test_a_batch_without_marks_is_rows_that_follow_each_other() -> None:
    decoder = RawBatchDecoder(Symbols(), [])
    edges, pieces = decoder.decode_pieces([stream([EDGE, {**EDGE, "ts": None}, EDGE])], 1)
    assert [(each["ordinal"], each["line"], each["raw"]) for each in edges.to_records()] == [(0, 1, b""), (2, 3, b"")]
    assert pieces == [(2, 1, 3, 1, 1)]
    assert [each.raw for each in take_dead_letters(decoder)] == [b'{"ts":null,"src":"a","dst":"b","label":"x"}']


def test_no_record_says_that_its_id_was_made_or_of_which_stream_it_is() -> None:
    given = {**EDGE, "id": "7", "graphtide.made": True, "graphtide.stream": "other"}
    (edge,) = RawBatchDecoder(Symbols(), []).decode_pieces([stream([given])], 1)[0].to_records()
    assert (edge["id"], edge["made"], "stream" in edge) == ("7", False, False)


SMALL = pa.schema([("ts", pa.int8()), *((name, pa.dictionary(pa.int8(), pa.string())) for name in ("src", "dst", "label"))])
PLACES = pa.schema(
    [("ts", pa.int64()), *((name, pa.string()) for name in ("src", "dst", "label")), ("graphtide.ordinal", pa.uint32())]
)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (stream([EDGE] * 5_000, schema=SMALL), "5000 rows in "),
        (stream([{**EDGE, **{f"a{n}": 1 for n in range(2_000)}}]), "it has 2004 columns; up to 2000 are allowed"),
        (stream([EDGE], {"graphtide.ordinals": "1048577"}), "graphtide.ordinals is not a number up to 1048576"),
        (stream([EDGE], {"graphtide.ordinals": "-1"}), "graphtide.ordinals is not a number up to 1048576"),
        (stream([EDGE, EDGE], {"graphtide.ordinals": "1"}), "its records take 2 ordinals, and graphtide.ordinals says 1"),
        (stream([{**EDGE, "graphtide.ordinal": n} for n in (1, 1)], schema=PLACES), "graphtide.ordinal does not rise"),
        (stream([{**EDGE, "graphtide.line": 1}]), "not a 32-bit unsigned integer without missing values"),
        (stream([{**EDGE, "graphtide.raw": None}]), "not a binary without missing values"),
        (b"", "it has no schema"),
    ],
)  # fmt: skip
def test_what_a_batch_cannot_be_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(UnreadableStreamError) as refused:
        RawBatchDecoder(Symbols(), []).decode_pieces([body], 1)
    assert reason in str(refused.value)
