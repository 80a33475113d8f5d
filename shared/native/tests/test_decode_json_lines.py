"""JSON Lines: types as written, and for each way a record can be bad its exact dead letter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_native.records import JsonLinesDecoder, Symbols
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def decode(
    data: bytes,
    *,
    step: int = 1 << 30,
    attributes: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    keep_raw: bool = False,
) -> tuple[list[dict[str, Any]], list[tuple[int, str, bytes]], JsonLinesDecoder]:
    decoder = JsonLinesDecoder(Symbols(), attributes, columns or {}, keep_raw=keep_raw)
    records = []
    for start in range(0, len(data), step):
        records += decoder.decode(data[start : start + step]).to_records()
    records += decoder.finish().to_records()
    return records, decoder.take_dead_letters(), decoder


scalar = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
value = st.recursive(
    scalar, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=5
)
name = st.text(min_size=1) | st.integers(0, 2**64 - 1) | st.integers(-(2**63), -1)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"ts": st.integers(-(2**63), 2**63 - 1), "src": name, "dst": name, "label": st.text(min_size=1)},
            optional={"src_label": st.text() | st.none(), "id": name | st.none(), "a": value, "other": value},
        ),
        max_size=6,
    ),
    st.booleans(),
    st.integers(1, 60),
)
def test_records_read_as_the_json_module_reads_them(objects: list[dict[str, Any]], escape: bool, step: int) -> None:
    data = "\n".join(json.dumps(item, ensure_ascii=escape) for item in objects).encode()
    records, dead, _ = decode(data, step=step, attributes=["a"])
    assert dead == []
    expected = [
        {
            "ts": item["ts"],
            "src": str(item["src"]),
            "dst": str(item["dst"]),
            "label": item["label"],
            "src_label": item.get("src_label") or "",
            "id": str(ordinal if item.get("id") is None else item["id"]),
            "attributes": {"a": None if isinstance(item.get("a"), list | dict) else item.get("a")},
        }
        for ordinal, item in enumerate(objects)
    ]
    assert [{key: record[key] for key in expected[0]} for record in records] == expected


def test_attributes_are_the_other_keys_and_the_members_of_the_nested_object() -> None:
    line = {"ts": 1, "src": "a", "dst": 2, "label": "x", "n": 1, "attributes": {"m": 2.5, "ts": 9, "deep": {"n": 3}, "n": None}}
    records, dead, _ = decode(json.dumps(line).encode(), attributes=["n", "m", "deep", "ts", "attributes"])
    assert dead == []
    assert records[0]["attributes"] == {"n": None, "m": 2.5, "deep": None, "ts": 9, "attributes": None}
    assert (records[0]["ts"], records[0]["dst"]) == (1, "2")
    line["attributes"] = "a text"
    assert decode(json.dumps(line).encode(), attributes=["attributes"])[0][0]["attributes"] == {"attributes": "a text"}


def test_keys_are_mapped_and_ids_and_operations_are_seen() -> None:
    data = b'{"when":1,"from":"a","to":"b","label":"x"}\n{"when":2,"id":"0","op":"delete"}\n'
    decoder = JsonLinesDecoder(Symbols(), [], {"ts": "when", "src": "from", "dst": "to"})
    lines = data.splitlines(keepends=True)
    assert [r["src"] for r in decoder.decode(lines[0]).to_records()] == ["a"]
    assert not decoder.has_ids()
    assert not decoder.has_operations()
    assert [(r["id"], r["op"]) for r in decoder.decode(lines[1]).to_records()] == [("0", "delete")]
    assert decoder.has_ids()
    assert decoder.has_operations()
    assert decoder.columns() is None


def record(**changes: object) -> bytes:
    return json.dumps({"ts": 1, "src": "a", "dst": "b", "label": "c"} | changes).encode()


BAD = [
    (b"{", "not a JSON object: EOF while parsing an object (column 1)"),
    (b"nonsense", "not a JSON object: expected ident (column 2)"),
    (b"[1,2]", "not a JSON object: invalid type: sequence, expected an object"),
    (b'"text"', 'not a JSON object: invalid type: string "text", expected an object (column 6)'),
    (record() + b" x", "not a JSON object: trailing characters (column 49)"),
    (b'{"ts":1,"src":"\xff"}', "not UTF-8 at byte 15"),
    (b'{"src":"a"}', "ts is missing"),
    (record(ts=None), "ts is missing"),
    (record(ts=1.0), 'ts "1.0" is not an integer'),
    (record(ts="17"), 'ts "17" is not an integer'),
    (record(ts=True), 'ts "true" is not an integer'),
    (record(ts=[1]), 'ts "a list or object" is not an integer'),
    (record(ts=2**63), 'ts "9223372036854775808" does not fit in 64 bits'),
    (record(ts=10**30), 'ts "1000000000000000000000000000000" does not fit in 64 bits'),
    (record(src=None), "src is missing"),
    (record(src=""), "src is empty"),
    (record(src=1.5), "src is neither a text nor an integer of 64 bits"),
    (record(dst={}), "dst is neither a text nor an integer of 64 bits"),
    (record(dst=2**64), "dst is neither a text nor an integer of 64 bits"),
    (record(label=None), "label is missing"),
    (record(label=""), "label is empty"),
    (record(label=5), "label is not a text"),
    (record(src_label=5), "src_label is not a text"),
    (record(op="DELETE"), 'op "DELETE" is neither "insert" nor "delete"'),
    (record(op="delete"), "a delete needs the id of the edge it retracts"),
]


@pytest.mark.parametrize(("raw", "reason"), BAD)
def test_a_bad_record_is_rejected_as_it_came_and_its_neighbours_are_read(raw: bytes, reason: str) -> None:
    records, dead, _ = decode(record() + b"\n" + raw + b"\r\n\n  \n" + record(), step=5)
    assert dead == [(2, reason, raw)]
    assert [(r["ordinal"], r["id"], r["line"]) for r in records] == [(0, "0", 1), (2, "2", 5)]


def test_deep_nesting_is_a_bad_record_and_no_crash() -> None:
    for opening in (b"[" * 100_000, b'{"a":' * 100_000):
        _, dead, _ = decode(b'{"x":' + opening + b"\n" + b'{"a":' + opening, attributes=["a"])
        assert len(dead) == 2


def test_a_record_past_the_bound_is_rejected_with_its_head() -> None:
    long = b'{"x":"' + b"y" * (16 << 20) + b'"}'
    records, dead, _ = decode(long + b"\n" + record(), step=1 << 16)
    assert dead == [(1, "the record is longer than 16777216 bytes; its first 65536 are kept", long[: 1 << 16])]
    assert [r["id"] for r in records] == ["1"]


def test_raw_bytes_are_kept_where_asked() -> None:
    assert decode(record() + b"\r\n", keep_raw=True)[0][0]["raw"] == record()


@given(st.lists(st.binary(max_size=40) | st.sampled_from([b"{", b'"ts":', b"1", b"\n", b"}", b"\\u", b'"']), max_size=10))
def test_each_line_of_random_bytes_is_a_record_or_a_dead_letter(blocks: list[bytes]) -> None:
    decoder = JsonLinesDecoder(Symbols(), ["a"], {})
    records = sum(len(decoder.decode(block).to_records()) for block in blocks) + len(decoder.finish().to_records())
    lines = [line for line in b"".join(blocks).split(b"\n") if line.strip(b" \t\r")]
    assert records + len(decoder.take_dead_letters()) == len(lines)
