"""Types of attributes, declared or settled by the beginning of a CSV stream, against readers of one line each in Python."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from graphtide_core.errors import UnreadableStreamError
from graphtide_native.records import ArrowDecoder, CsvDecoder, JsonLinesDecoder, Symbols
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WORDS_FOR_MISSING = {"-", "?", "NA", "N/A", "n/a", "#N/A", "NULL", "Null", "null", "None", "none", "\\N", "NaN", "nan", "NAN"}
INTEGER = re.compile(r"-?(0|[1-9]\d*)")
DIGITS = re.compile(r"[+-]?\d+")
FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
PLAIN_FLOAT = re.compile(r"-?(0|[1-9]\d*)(\.\d*)?([eE][+-]?\d+)?|-?\.\d+([eE][+-]?\d+)?")

fields = st.sampled_from(
    ["", "7", "-3", "2.5", "1e3", "true", "false", "True", "x", "01234", "-007", "+49", "NA", "-", "null", "9" * 20, "10.0.0.7"]
)
tables = st.lists(st.tuples(fields, fields), max_size=6)
kinds = st.sampled_from(["any", "string", "integer", "number", "boolean"])


def looks_like(text: str) -> Any:
    """Return what a value without a type is."""
    if text == "":
        return None
    if text in {"true", "false"}:
        return text == "true"
    if INTEGER.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return int(text)
    return float(text) if PLAIN_FLOAT.fullmatch(text) else text


def convert(text: str, kind: str) -> Any:
    """Return the value, or raise ValueError if it is not of the type."""
    if text == "":
        return None
    match kind:
        case "string":
            return text
        case "integer" if DIGITS.fullmatch(text) and -(2**63) <= int(text) < 2**63:
            return int(text)
        case "number" if DIGITS.fullmatch(text) and -(2**63) <= int(text) < 2**63:
            return int(text)
        case "number" if FLOAT.fullmatch(text):
            return float(text)
        case "boolean" if text in {"true", "false"}:
            return text == "true"
        case "any":
            return looks_like(text)
    raise ValueError(text)


def decode(decoder: CsvDecoder | JsonLinesDecoder, data: bytes) -> tuple[list[list[Any]], list[tuple[int, str]]]:
    records = [*decoder.decode(data).to_records(), *decoder.finish().to_records()]
    values = [[record["attributes"].get(name) for name in ("one", "two")] for record in records]
    return values, [(line, reason) for line, reason, _ in decoder.take_dead_letters()]


def csv(rows: Sequence[Sequence[str]]) -> bytes:
    lines = [f"{n},a,b,x,{','.join(row)}" for n, row in enumerate(rows)]
    return "\n".join(["ts,src,dst,label,one,two", *lines, ""]).encode()


def same(one: object, other: object) -> bool:
    return one == other and type(one) is type(other)


@given(tables, kinds, kinds, st.booleans(), st.sampled_from([["one", "two"], ["two"], []]))
def test_a_column_holds_what_was_declared_or_texts_if_the_beginning_has_one(
    rows: list[tuple[str, str]], one: str, two: str, settle: bool, read: list[str]
) -> None:
    declared = {name: kind for name, kind in (("one", one), ("two", two)) if kind != "any"}
    decoder = CsvDecoder(Symbols(), read, {}, types=declared, settle=settle)
    values, dead = decode(decoder, csv(rows))

    shown = {}
    for place, name in enumerate(("one", "two")):
        texts = [
            (line, row[place])
            for line, row in enumerate(rows, 2)
            if isinstance(looks_like(row[place]), str) and row[place] not in WORDS_FOR_MISSING
        ]
        if settle and texts:
            shown[name] = texts[0]
    actual = [declared.get(name, "string" if name in shown else "any") for name in ("one", "two")]
    wanted: list[list[Any]] = []
    bad = []
    for line, row in enumerate(rows, 2):
        try:
            all_of_them = dict(zip(("one", "two"), map(convert, row, actual), strict=True))
            wanted.append([all_of_them[name] if name in read else None for name in ("one", "two")])
        except ValueError:
            bad.append(line)
    assert [line for line, _ in dead] == bad
    assert all(
        same(got, want) for gots, wants in zip(values, wanted, strict=True) for got, want in zip(gots, wants, strict=True)
    )
    assert {name: (line, text) for name, line, text in decoder.settled()} == shown


def test_the_reason_names_attribute_value_and_type() -> None:
    decoder = CsvDecoder(Symbols(), ["one", "two"], {}, types={"one": "integer"})
    _, dead = decode(decoder, csv([("x", "y"), ("1", "y"), ("1.5", "y")]))
    assert dead == [
        (2, 'one "x" is not of the type integer, which was declared'),
        (4, 'one "1.5" is not of the type integer, which was declared'),
    ]


def test_what_the_first_block_cuts_is_not_looked_at() -> None:
    data = csv([("1", "1"), ("x", "1")])
    for cut in range(data.index(b"1,a,b,x,x") + len(b"1,a,b,x,x,"), data.index(b"1,a,b,x,x") + len(b"1,a,b,x,x,1\n")):
        decoder = CsvDecoder(Symbols(), ["one", "two"], {}, settle=True)
        values = [*decoder.decode(data[:cut]).to_records(), *decoder.decode(data[cut:]).to_records()]
        assert decoder.settled() == []
        assert [value["attributes"]["one"] for value in values] == [1, "x"]


def test_a_text_after_the_beginning_of_a_stream_stays_a_text_and_the_numbers_before_it_numbers() -> None:
    rows = [("1", "")] * 30_000
    decoder = CsvDecoder(Symbols(), ["one", "two"], {}, settle=True)
    values, dead = decode(decoder, csv([*rows, ("x", "")]))
    assert (values[0], values[-1], dead, decoder.settled()) == ([1, None], ["x", None], [], [])


JSON_VALUES = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([2.5, -0.5]) | st.sampled_from(["x", "7", ""])


def is_of(value: object, kind: str) -> bool:
    if value is None or kind == "any":
        return True
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, int):
        return kind in {"integer", "number"}
    return kind == ("number" if isinstance(value, float) else "string")


@given(st.lists(JSON_VALUES, max_size=6), kinds, st.booleans())
def test_a_json_value_of_another_type_rejects_its_record(values: list[object], kind: str, is_read: bool) -> None:
    lines = [json.dumps({"ts": 1, "src": "a", "dst": "b", "label": "x", "one": value}) for value in values]
    decoder = JsonLinesDecoder(Symbols(), ["two", *["one"] * is_read], {}, types={} if kind == "any" else {"one": kind})
    found, dead = decode(decoder, "\n".join([*lines, ""]).encode())
    assert [row[0] for row in found] == [value if is_read else None for value in values if is_of(value, kind)]
    assert [line for line, _ in dead] == [line for line, value in enumerate(values, 1) if not is_of(value, kind)]
    assert all(f"is not of the type {kind}, which was declared" in reason for _, reason in dead)


COLUMNS: Mapping[str, pa.Array] = {
    "string": pa.array(["x"]),
    "integer": pa.array([1], pa.int16()),
    "number": pa.array([1.5]),
    "boolean": pa.array([True]),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("held", [*COLUMNS, "decimal", "codes", "nothing"])
def test_an_arrow_column_of_another_type_is_refused_by_name(held: str, kind: str) -> None:
    others = {
        "decimal": pa.array([Decimal("1.5")]),
        "codes": pa.array(["x"]).dictionary_encode(),
        "nothing": pa.nulls(1),
    }
    column = {**COLUMNS, **others}[held]
    table = pa.table({"ts": [1], "src": ["a"], "dst": ["b"], "label": ["x"], "one": column})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    decoder = ArrowDecoder(Symbols(), ["one"], {}, types={"one": kind})
    fits = {"decimal": {"number"}, "codes": {"string"}, "integer": {"integer", "number"}, "nothing": set(COLUMNS)}
    if kind in fits.get(held, {held}):
        assert len(decoder.decode(sink.getvalue().to_pybytes())) == 1
    else:
        with pytest.raises(UnreadableStreamError, match=r"one.*declared"):
            decoder.decode(sink.getvalue().to_pybytes())


def test_a_type_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match='no type "text"'):
        CsvDecoder(Symbols(), ["one"], {}, types={"one": "text"})
