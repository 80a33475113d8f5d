"""Arrow IPC: every type a column may have, and for each way a row can be bad its exact dead letter."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from graphtide_core.errors import UnreadableStreamError
from graphtide_native.records import ArrowDecoder, Symbols
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def ipc(*tables: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)
    return bytes(sink.getvalue())


def table(**columns: object) -> pa.Table:
    return pa.table({"ts": [1, 2], "src": ["a", "b"], "dst": ["c", "d"], "label": ["x", "y"]} | columns)


def decode(
    *streams: bytes, attributes: Sequence[str] = (), columns: Mapping[str, str] | None = None, ticks: int = 1000
) -> tuple[list[dict[str, Any]], list[tuple[int, str, bytes]], ArrowDecoder]:
    decoder = ArrowDecoder(Symbols(), attributes, columns or {}, ticks)
    records = [record for stream in streams for record in decoder.decode(stream).to_records()]
    assert len(decoder.finish()) == 0
    return records, decoder.take_dead_letters(), decoder


INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]


@pytest.mark.parametrize("type_", INTEGERS)
def test_times_and_vertices_are_integers_of_any_width(type_: pa.DataType) -> None:
    numbers = pa.array([7, 100], type_)
    records, dead, _ = decode(ipc(table(ts=numbers, src=numbers, id=numbers, a=numbers)), attributes=["a"])
    assert dead == []
    assert [(r["ts"], r["src"], r["id"], r["attributes"]["a"]) for r in records] == [(7, "7", "7", 7), (100, "100", "100", 100)]


@pytest.mark.parametrize("type_", [*TEXTS, pa.dictionary(pa.uint32(), pa.large_string())])
def test_vertices_labels_and_ids_are_texts_of_any_kind(type_: pa.DataType) -> None:
    names = pa.array(["ü", "10"], pa.string()).cast(type_)
    columns = dict.fromkeys(("src", "dst", "label", "src_label", "dst_label", "id", "a"), names)
    records, dead, decoder = decode(ipc(table(**columns)), attributes=["a"])
    assert dead == []
    assert [[r[name] for name in columns if name != "a"] for r in records] == [["ü"] * 6, ["10"] * 6]
    assert [r["attributes"]["a"] for r in records] == ["ü", "10"]
    assert decoder.has_ids()
    assert not decoder.has_operations()


def test_wide_and_negative_vertices_are_the_texts_json_would_give() -> None:
    numbers = [-5, 10**18]
    records, _, _ = decode(ipc(table(src=numbers, dst=pa.array([2**64 - 1, 10**18 - 1], pa.uint64()))))
    assert [(r["src"], r["dst"]) for r in records] == [("-5", "18446744073709551615"), (str(10**18), str(10**18 - 1))]


@pytest.mark.parametrize(("unit", "per_second"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
@pytest.mark.parametrize("ticks", [1, 10**3, 10**6, 10**9])
def test_timestamps_become_ticks_rounded_down(unit: str, per_second: int, ticks: int) -> None:
    stored = [1_500_000_001, -1]
    times = pa.array(stored, pa.int64()).cast(pa.timestamp(unit, "UTC"))
    records, dead, _ = decode(ipc(table(ts=times)), ticks=ticks)
    exact = [number * ticks // per_second for number in stored]
    assert [r["ts"] for r in records] == [number for number in exact if -(2**63) <= number < 2**63]
    assert len(dead) == len(stored) - len(records)


WRITTEN = [
    ([Decimal("12.50"), Decimal("-0.10"), None], pa.decimal128(10, 2), [12.5, -0.1, None]),
    ([Decimal(7), Decimal(10**25), None], pa.decimal128(30), [7, 1e25, None]),
    ([Decimal("9007199254740993")], pa.decimal256(50), [9007199254740993]),
    ([Decimal("1.5")], pa.decimal32(4, 1), [1.5]),
    ([Decimal("-1.5")], pa.decimal64(12, 1), [-1.5]),
    ([Decimal(1200)], pa.decimal128(4, -2), [1200]),
    ([dt.date(2024, 1, 31), dt.date(1, 1, 1), None], pa.date32(), ["2024-01-31", "0001-01-01", None]),
    ([dt.date(2024, 1, 31)], pa.date64(), ["2024-01-31"]),
    ([dt.time(23, 59, 58), None], pa.time32("s"), ["23:59:58", None]),
    ([dt.time(0, 0, 1, 5000)], pa.time32("ms"), ["00:00:01.005"]),
    ([dt.time(0, 0, 1, 5)], pa.time64("us"), ["00:00:01.000005"]),
    ([5], pa.time64("ns"), ["00:00:00.000000005"]),
    ([dt.datetime(2024, 1, 31, 12, 0, 5), None], pa.timestamp("s"), ["2024-01-31T12:00:05", None]),  # noqa: DTZ001 - as it is stored
    ([-1], pa.timestamp("ms", "Europe/Berlin"), ["1969-12-31T23:59:59.999Z"]),
    ([1], pa.timestamp("us"), ["1970-01-01T00:00:00.000001"]),
    ([-(2**63) + 1], pa.timestamp("ns", "UTC"), ["1677-09-21T00:12:43.145224193Z"]),
]


@pytest.mark.parametrize("coded", [False, True], ids=["plain", "dictionary"])
@pytest.mark.parametrize(("stored", "type_", "expected"), WRITTEN, ids=[str(type_) for _, type_, _ in WRITTEN])
def test_decimals_dates_and_times_are_what_texts_would_have(
    stored: list[Any], type_: pa.DataType, expected: list[Any], coded: bool
) -> None:
    column = pa.array(stored, type_)
    codes = list(range(len(stored)))
    if coded:
        column = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), column)
    rows = pa.table(
        {"ts": codes, "src": ["a"] * len(codes), "dst": ["b"] * len(codes), "label": ["x"] * len(codes), "v": column}
    )
    records, dead, _ = decode(ipc(rows), attributes=["v"])
    found = [record["attributes"]["v"] for record in records]
    assert (found, dead) == (expected, [])
    assert list(map(type, found)) == list(map(type, expected))


DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=5, min_value=-(10**20), max_value=10**20)


@given(st.lists(st.none() | DECIMALS, min_size=2, max_size=2))
def test_a_decimal_is_the_number_nearest_to_it(numbers: list[Decimal | None]) -> None:
    records, _, _ = decode(ipc(table(v=pa.array(numbers, pa.decimal128(38, 5)))), attributes=["v"])
    assert [record["attributes"]["v"] for record in records] == [None if each is None else float(each) for each in numbers]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([[1], None]), "List(Int64)"),
        (pa.array([b"x", b"y"]), "Binary"),
        (pa.array([{"a": 1}, None]), 'Struct("a": Int64)'),
        (pa.array([dt.timedelta(1), None]), "Duration(µs)"),
        (pa.array([1, 2]).cast(pa.duration("s")), "Duration(s)"),
        (pa.DictionaryArray.from_arrays([0, 0], pa.array([b"x"])), "Dictionary(Int64, Binary)"),
    ],
    ids=str,
)
def test_an_attribute_of_another_type_is_refused_by_name(column: pa.Array, kind: str) -> None:
    given = table(v=column)
    for rows in (given, given.slice(0, 0)):
        with pytest.raises(UnreadableStreamError) as caught:
            decode(ipc(rows), attributes=["v"])
        assert str(caught.value) == f'column "v" is of type {kind}, not a truth value, a number, a text, a date or a time'
    assert len(decode(ipc(given))[0]) == 2, "nobody asked for it"


def test_an_impossible_date_is_rejected() -> None:
    days = pa.array([2**31 - 1, 1], pa.int32()).cast(pa.date32())
    records, dead, _ = decode(ipc(table(day=days)), attributes=["day"])
    assert [record["attributes"]["day"] for record in records] == ["1970-01-02"]
    assert [(line, reason) for line, reason, _ in dead] == [(1, "day is past the range of dates and times")]


def test_attributes_of_every_type_are_values_or_missing() -> None:
    columns = {
        "bool": pa.array([True, None]),
        "half": pa.array([1.5, None], pa.float16()),
        "single": pa.array([0.5, float("nan")], pa.float32()),
        "double": pa.array([0.1, None]),
        "big": pa.array([2**63, 5], pa.uint64()),
        "null": pa.nulls(2),
        "codes": pa.array(["p", None]).dictionary_encode(),
        "numbers": pa.array([3, 3]).dictionary_encode(),
        "no values": pa.array([None, None], pa.string()).dictionary_encode(),
    }
    records, dead, _ = decode(ipc(table(**columns)), attributes=[*columns, "absent"])
    assert dead == []
    assert list(records[0]["attributes"].values()) == [True, 1.5, 0.5, 0.1, 2.0**63, None, "p", 3, None, None]
    assert list(records[1]["attributes"].values()) == [None, None, None, None, 5, None, None, 3, None, None]


BAD = [
    ({"ts": [None, 2]}, "ts is missing"),
    ({"ts": pa.array([2**63, 2], pa.uint64())}, 'ts "9223372036854775808" does not fit in 64 bits'),
    ({"src": [None, "b"]}, "src is missing"),
    ({"dst": ["", "d"]}, "dst is empty"),
    ({"label": [None, "y"]}, "label is missing"),
    ({"label": ["", "y"]}, "label is empty"),
    ({"label": pa.array(["", "y"]).dictionary_encode()}, "label is empty"),
    ({"label": pa.array([None, "y"]).dictionary_encode()}, "label is missing"),
    ({"op": ["drop", None]}, 'op "drop" is neither "insert" nor "delete"'),
    ({"op": ["delete", "insert"], "id": [None, "1"]}, "a delete needs the id of the edge it retracts"),
    ({"op": ["delete", "insert"], "id": ["", "1"]}, "a delete needs the id of the edge it retracts"),
]


@pytest.mark.parametrize(("columns", "reason"), BAD)
def test_a_bad_row_is_rejected_as_json_and_its_neighbours_are_read(columns: dict[str, object], reason: str) -> None:
    given = table(**columns)
    records, dead, _ = decode(ipc(given), ipc(given))
    expected = given.to_pylist()[0]
    assert [(line, why, json.loads(raw)) for line, why, raw in dead] == [(1, reason, expected), (3, reason, expected)]
    assert [(r["ordinal"], r["line"]) for r in records] == [(1, 2), (3, 4)]


def test_a_bad_row_with_a_timestamp_shows_it_as_it_is_stored() -> None:
    times = pa.array([5, 6], pa.int64()).cast(pa.timestamp("ns"))
    _, dead, _ = decode(ipc(table(ts=times, src=[None, 'q"\n'], x=[float("inf"), 1.0])))
    assert dead == [(1, "src is missing", b'{"ts":5,"src":null,"dst":"c","label":"x","x":null}')]


def test_a_text_longer_than_a_batch_can_hold_is_a_bad_row() -> None:
    long = "x" * (1 << 24)
    reasons = [decode(ipc(table(**{name: [long, "k"]})), attributes=["note"])[1][0][1] for name in ("src", "dst", "note", "id")]
    tail = "is 16777216 bytes long; at most 16777215 are allowed"
    assert reasons == [f"{name} {tail}" for name in ("src", "dst", "note", "id")]


def test_dictionaries_that_grow_from_batch_to_batch_keep_their_meaning() -> None:
    parts = [table(label=pa.array(labels).dictionary_encode()) for labels in (["x", "y"], ["z", "x"], ["y", "z"])]
    records, _, _ = decode(ipc(*parts))
    assert [r["label"] for r in records] == ["x", "y", "z", "x", "y", "z"]


UNREADABLE = [
    (b"", "this is not a readable Arrow IPC stream: it has no schema"),
    (ipc(table())[:-200], "this is not a readable Arrow IPC stream: Ipc error: Unexpected End of Stream"),
    (ipc(table().drop(["dst"])), 'no column "dst"; the columns are "ts", "src", "label"'),
    (ipc(table(ts=[1.0, 2.0])), 'column "ts" is of type Float64, not an integer, a timestamp or a date'),
    (ipc(table(ts=["1", "2"])), 'column "ts" is of type Utf8, not an integer, a timestamp or a date'),
    (ipc(table(src=[1.5, 2.5])), 'column "src" is of type Float64, not a text or an integer'),
    (ipc(table(label=[1, 2])), 'column "label" is of type Int64, not a text'),
    (ipc(table(op=[1, 2])), 'column "op" is of type Int64, not a text'),
]


@pytest.mark.parametrize(("data", "reason"), UNREADABLE)
def test_an_unusable_stream_is_an_error_that_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableStreamError) as caught:
        decode(data)
    assert str(caught.value) == reason


def test_an_id_that_was_made_stays_made() -> None:
    made = {"graphtide.made": [True, False]}
    (own, given_id), letters, _ = decode(ipc(table(id=["7", "7"], **made)))
    assert ([own["id"], own["made"]], [given_id["id"], given_id["made"]]) == (["7", True], ["7", False])
    assert letters == []


@pytest.mark.parametrize("text", ["e7", "07", "-1", str(2**62)])
def test_what_cannot_have_been_made_is_a_dead_letter(text: str) -> None:
    kept, letters, _ = decode(ipc(table(id=[text, text], **{"graphtide.made": [True, False]})))
    assert [(each["id"], each["made"]) for each in kept] == [(text, False)]
    assert [reason for _, reason, _ in letters] == [f'id "{text}" is marked as made, and is not the number of a record']


def test_a_second_has_at_least_one_tick() -> None:
    with pytest.raises(UnreadableStreamError, match="a second cannot have 0 ticks"):
        decode(ticks=0)


GOOD = ipc(table(label=pa.array(["x", "y"]).dictionary_encode(), a=pa.array(["p", "q"], pa.string_view())))


@given(st.binary(max_size=200) | st.builds(lambda cut: GOOD[:cut], st.integers(0, len(GOOD))))
def test_random_bytes_never_crash(data: bytes) -> None:
    try:
        decode(data, attributes=["a"])
    except UnreadableStreamError:
        return
    assert data == GOOD[: len(data)]


@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_damaged_stream_never_crashes(damage: list[tuple[int, int]]) -> None:
    data = bytearray(GOOD)
    for place, byte in damage:
        data[place] = byte
    with contextlib.suppress(UnreadableStreamError):
        decode(bytes(data), attributes=["a"])
