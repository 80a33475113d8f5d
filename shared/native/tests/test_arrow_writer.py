"""Batches written as Arrow are read back as they were, by our decoder and by others."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pytest
from graphtide_native.records import ArrowDecoder, EdgeBatch, JsonLinesDecoder, Sequencer, Symbols
from hypothesis import given
from hypothesis import strategies as st

text = st.text(max_size=5)
value = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | text
name = st.text(min_size=1, max_size=5)
record = st.fixed_dictionaries(
    {
        "ts": st.integers(-(2**63), 2**63 - 1),
        "src": name | st.integers(0, 2**64 - 1),
        "dst": name,
        "label": name,
        "id": name | st.integers(0, 9),
        "op": st.none() | st.sampled_from(["insert", "delete"]),
    },
    optional={"src_label": name, "a": value, "b": value, "c": st.booleans(), "d": st.floats(0, 1)},
)
ATTRIBUTES = ["a", "b", "c", "d", "src", "nobody"]


@given(st.lists(record, max_size=8))
def test_what_is_written_is_read_back(records: list[dict[str, object]]) -> None:
    symbols = Symbols()
    given_batch = JsonLinesDecoder(symbols, ATTRIBUTES, {}).decode("".join(json.dumps(r) + "\n" for r in records).encode())

    read = ArrowDecoder(symbols, ATTRIBUTES, {}).decode(given_batch.to_arrow())

    places = ("ordinal", "line")
    for before, after in zip(given_batch.to_records(), read.to_records(), strict=True):
        # A column's name identifies it: another record's attribute of that name is the same column.
        before["attributes"].pop("src"), after["attributes"].pop("src")
        assert {k: v for k, v in before.items() if k not in places} == {k: v for k, v in after.items() if k not in places}
        assert [type(v) for v in before["attributes"].values()] == [type(v) for v in after["attributes"].values()]


def test_columns_have_the_type_their_values_agree_on_and_some_are_there_only_where_they_say_something() -> None:
    decoder = JsonLinesDecoder(Symbols(), ["n", "x", "t", "mixed", "none"], {})
    line = {"ts": 1, "src": "a", "dst": "b", "label": "L", "n": 1, "x": 0.5, "t": "v", "mixed": 1}
    inserts = decoder.decode("".join(json.dumps(line | more) + "\n" for more in ({}, {"n": None, "mixed": "1"})).encode())
    deletion = decoder.decode(b'{"ts":2,"id":"0","op":"delete"}\n')

    table = pa.ipc.open_stream(io.BytesIO(inserts.to_arrow())).read_all()
    label = pa.dictionary(pa.int32(), pa.string())

    assert {field.name: field.type for field in table.schema} == {
        "ts": pa.int64(),
        **dict.fromkeys(("src", "dst", "id", "t", "mixed"), pa.string()),
        **dict.fromkeys(("label", "src_label", "dst_label"), label),
        "n": pa.int64(),
        "x": pa.float64(),
        "graphtide.made": pa.bool_(),
    }
    assert table.schema.field("mixed").metadata == {b"graphtide.encoding": b"json"}
    assert table.column("mixed").to_pylist() == ["1", '"1"']
    deleted = pa.ipc.open_stream(io.BytesIO(deletion.to_arrow())).read_all()
    assert deleted.column("op").to_pylist() == ["delete"]
    assert "graphtide.made" not in deleted.column_names


@given(st.lists(st.integers(0, 3), max_size=8), st.lists(st.integers(0, 3), max_size=8), st.booleans())
def test_records_of_several_streams_are_read_back_with_their_streams(one: list[int], other: list[int], gives_ids: bool) -> None:
    symbols = Symbols()

    def batch(times: list[int], attributes: list[str]) -> EdgeBatch:
        more = {"id": "e"} if gives_ids else {}
        lines = (json.dumps({"ts": ts, "src": "a", "dst": "b", "label": "x", "n": ts, **more}) for ts in sorted(times))
        return JsonLinesDecoder(symbols, attributes, {}).decode("".join(f"{line}\n" for line in lines).encode())

    merged, _ = EdgeBatch.merged([(batch(one, ["n"]), 0, None, "one"), (batch(other, []), 0, None, "other")])
    read = ArrowDecoder(symbols, ["n"], {}).decode(merged.to_arrow())

    expected = [{k: v for k, v in each.items() if k not in {"ordinal", "line"}} for each in merged.to_records()]
    assert [{k: v for k, v in each.items() if k not in {"ordinal", "line"}} for each in read.to_records()] == expected
    assert {(each["stream"], each["attributes"]["n"] is None) for each in expected} <= {("one", False), ("other", True)}
    assert ("graphtide.stream" in (ArrowDecoder.columns(decoder_of(merged)) or ())) == (len(merged) > 0)


def decoder_of(batch: EdgeBatch) -> ArrowDecoder:
    decoder = ArrowDecoder(Symbols(), [], {})
    decoder.decode(batch.to_arrow())
    return decoder


def test_streams_whose_attributes_begin_otherwise_are_merged_by_their_names() -> None:
    symbols = Symbols()
    line = b'{"ts":1,"src":"a","dst":"b","label":"x","n":1,"m":2,"k":3}\n'
    lines = line + line.replace(b'"ts":1', b'"ts":2')
    one, other = (JsonLinesDecoder(symbols, names, {}).decode(lines) for names in (["n", "m"], ["m", "k"]))
    merged, _ = EdgeBatch.merged([(one, 0, None, "one"), (other, 0, None, "other")])
    found = [each["attributes"] for each in merged.to_records()]
    of_one, of_other = {"n": 1, "m": 2, "k": None}, {"n": None, "m": 2, "k": 3}
    assert found == [of_one, of_other, of_one]
    with pytest.raises(ValueError, match="no stream"):
        EdgeBatch.merged([])


def test_records_that_stay_do_not_hold_those_of_other_streams_up() -> None:
    symbols = Symbols()
    line = '{{"ts":{},"src":"a","dst":"b","label":"x"}}\n'
    one, other = (
        JsonLinesDecoder(symbols, [], {}).decode("".join(line.format(ts) for ts in times).encode())
        for times in ((1, 3, 3, 7), (0, 3, 4, 5))
    )
    merged, places = EdgeBatch.merged([(one, 0, 3, "one"), (other, 0, 5, "other")])
    assert [(each["ts"], each["stream"]) for each in merged.to_records()] == [
        (0, "other"),
        (1, "one"),
        (3, "other"),
        (4, "other"),
    ]
    assert (places, merged.placed(7).ordinals) == ([1, 3], [7, 8, 9, 10])


def test_a_decoder_discovers_the_attributes_that_nobody_asked_for() -> None:
    lines = b'{"ts":1,"src":"a","dst":"b","label":"L","n":1,"attributes":{"m":true}}\n{"ts":2,"bad":1}\n'
    curious = JsonLinesDecoder(Symbols(), [], {}, discover=True)
    plain = JsonLinesDecoder(Symbols(), [], {})

    assert (len(curious.decode(lines)), len(plain.decode(lines))) == (1, 1)

    assert (curious.discovered(), plain.discovered()) == (["n", "m"], [])


def test_records_that_wait_get_other_columns_by_name() -> None:
    symbols, sequencer = Symbols(), Sequencer(10)
    sequencer.lay_out(["never pushed"])
    lines = b"".join(b'{"ts":%d,"src":"a","dst":"b","label":"x","n":1,"m":%d}\n' % (ts, ts) for ts in (5, 3))
    sequencer.push(JsonLinesDecoder(symbols, ["n"], {}).decode(lines))
    sequencer.push(JsonLinesDecoder(symbols, ["n", "m"], {}).decode(lines))
    sequencer.lay_out(["k", "m"])
    sequencer.push(JsonLinesDecoder(symbols, ["k", "m", "n"], {}).decode(lines))
    released = sequencer.finish()
    assert released is not None
    found = [(each["ts"], each["attributes"]) for each in released.to_records()]
    older, newer = {"k": None, "m": None, "n": None}, {"k": None, "n": 1}
    assert found == [
        (3, older),
        (3, {**older, "m": 3}),
        (3, {**newer, "m": 3}),
        (5, older),
        (5, {**older, "m": 5}),
        (5, {**newer, "m": 5}),
    ]
