"""Records that a STREAM statement reads natively are those of the oracle, whole, and so are dead letters."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import pyarrow as pa
from graphtide_core.ids import StreamName
from graphtide_core.record_expression import FieldPath
from graphtide_core.record_format import RecordFormat
from graphtide_core.record_time import RecordTime
from graphtide_core.stream_definition import EdgeClause, EventClause, LabelledEnd, StreamDefinition
from graphtide_native.record_form import clocks_of_zones
from graphtide_native.records import StatementDecoder, Symbols
from graphtide_native.tables import table_files
from graphtide_testing.given_rows import class_of, expected_rows, values_of
from graphtide_testing.oracles.record_decoding import decode_field, decode_json, decode_rows
from graphtide_testing.oracles.record_files import read_records
from graphtide_testing.oracles.stream_records import FilteredRecord, RefusedRecord, read_stream, unnest
from graphtide_testing.strategies.read_records import ATTRIBUTES, FIELDS, flat_records, nested_records, reading_definitions
from graphtide_testing.strategies.stream_definitions import CONSTANTS, NAMES, stream_definitions
from graphtide_wire.stream_definition import encode_definition
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

TIMES = st.sampled_from([0, 1700000000, 1700000000.25, "1700000000", "2024-01-31T12:00:00", "31/01/2024 12:00", "2024031"])
VALUES: st.SearchStrategy[object] = st.recursive(
    CONSTANTS | TIMES, lambda part: st.lists(part, max_size=3) | st.dictionaries(NAMES, part, max_size=3), max_leaves=6
)
RECORDS = st.lists(
    st.dictionaries(NAMES | st.just("ts"), VALUES, max_size=6) | VALUES.filter(lambda each: each is not None), max_size=4
)
CUTS = st.lists(st.floats(0, 1), max_size=4)
slowly = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def decoder_of(definition: StreamDefinition, format: str, attributes: Sequence[str] = (), **options: Any) -> StatementDecoder:
    zones, encoded = clocks_of_zones(definition.zones()), encode_definition(definition)
    tables = {each.name: each.empty() for each in table_files(definition, encode_definition)}
    return StatementDecoder(Symbols(), attributes, encoded, format=format, zones=zones, tables=tables, **options)


def decode(decoder: StatementDecoder, text: bytes, cuts: Sequence[float] = ()) -> list[dict[str, Any]]:
    places = [0, *sorted(int(cut * len(text)) for cut in cuts), len(text)]
    blocks = [text[start:end] for start, end in pairwise(places)]
    return [row for block in blocks for row in decoder.decode(block).to_records()] + decoder.finish().to_records()


def names_in(outcomes: Sequence[Any]) -> list[str]:
    found = {name for outcome in outcomes if isinstance(outcome, tuple) for each in outcome for name in each.record.attributes}
    return [*sorted(found), "a", "absent.name"] if "a" not in found else [*sorted(found), "absent.name"]


def assert_same(
    decoder: StatementDecoder,
    rows: list[dict[str, Any]],
    outcomes: Sequence[Any],
    attributes: Sequence[str],
    places: Sequence[int] | None = None,
    *,
    are_lines_known: bool = True,
) -> None:
    lines = range(1, len(outcomes) + 1) if places is None else places
    assert [values_of(row) for row in rows] == [values_of(row) for row in expected_rows(outcomes, attributes, lines)]
    refused = [
        (line, class_of(each.reason)) for line, each in zip(lines, outcomes, strict=True) if isinstance(each, RefusedRecord)
    ]
    letters = [(line, class_of(reason)) for line, reason, _ in decoder.take_dead_letters()]
    if are_lines_known:
        assert letters == refused
    assert [reason for _, reason in letters] == [reason for _, reason in refused]
    assert decoder.filtered() == sum(isinstance(each, FilteredRecord) for each in outcomes)
    assert decoder.ordinal() == len(outcomes)
    event(f"rows: {min(len(rows), 3)}, refused: {min(len(refused), 1)}")


@slowly
@given(stream_definitions(), RECORDS, CUTS)
def test_lines_of_json(definition: StreamDefinition, records: list[object], cuts: list[float]) -> None:
    definition = replace(definition, format=None)
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    outcomes = read_stream(definition, map(decode_json, lines))
    attributes = names_in(outcomes)
    decoder = decoder_of(definition, "jsonl", attributes)
    assert_same(decoder, decode(decoder, "\n".join(lines).encode(), cuts), outcomes, attributes)


@slowly
@given(reading_definitions(), st.lists(nested_records(), min_size=1, max_size=6), CUTS)
def test_lines_of_json_that_have_what_is_read(definition: StreamDefinition, records: list[object], cuts: list[float]) -> None:
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    outcomes = read_stream(definition, map(decode_json, lines))
    decoder = decoder_of(definition, "jsonl", ATTRIBUTES)
    assert_same(decoder, decode(decoder, "\n".join(lines).encode(), cuts), outcomes, ATTRIBUTES)


COLUMNS = st.none() | st.just(tuple(f"c{place}" for place in range(len(FIELDS)))) | st.just(FIELDS)
SIGNS = [(None, "."), (",", None), (";", ","), ("\t", ","), ("|", None), ("::", ","), ("whitespace", "."), ("whitespace", ",")]
FORMATS = st.builds(
    lambda signs, **others: RecordFormat("csv", delimiter=signs[0], decimal=signs[1], **others),
    st.sampled_from(SIGNS),
    header=st.none() | st.booleans(),
    columns=COLUMNS,
    comment=st.none() | st.sampled_from(["//", "//~"]),
    quote=st.none() | st.sampled_from(["", "'", '"']),
)


@slowly
@given(reading_definitions(), FORMATS, st.lists(flat_records(), min_size=1, max_size=5), CUTS)
def test_csv(definition: StreamDefinition, stated: RecordFormat, records: list[dict[str, object]], cuts: list[float]) -> None:
    definition = replace(definition, format=stated)
    text, read, lines = write_csv(stated, [[write_field(record[name]) for name in FIELDS] for record in records])
    nulls = definition.nulls
    columns = stated.columns or (FIELDS if stated.header is not False else [str(place) for place in range(1, len(FIELDS) + 1)])
    fields = [[decode_field(each, nulls, decimal=stated.decimal or ".") for each in row] for row in read]
    outcomes = read_stream(definition, [dict(zip(columns, row, strict=True)) for row in fields])
    decoder = decoder_of(definition, "jsonl", ATTRIBUTES)
    rows = decode(decoder, text, cuts)
    assert decoder.columns() == list(columns)
    assert_same(decoder, rows, outcomes, ATTRIBUTES, lines)


def write_field(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def write_csv(stated: RecordFormat, rows: list[list[str]]) -> tuple[bytes, list[list[str]], list[int]]:
    """Return a text of CSV in a dialect, the fields that it holds, and the line of each record."""
    delimiter = stated.delimiter or ","
    quote = '"' if stated.quote is None else stated.quote
    is_quoted = bool(quote) and len(delimiter) == 1
    text, lines = [], []
    has_heading = stated.header is True or (stated.header is None and stated.columns is None)
    if has_heading:
        rows = [list(FIELDS), *rows]
    for number, row in enumerate(rows):
        if not is_quoted:
            row[:] = [each.replace("\n", "~").replace("\t", "~").replace('"', "~").replace(delimiter, "~") for each in row]
        if delimiter == "whitespace":
            row[:] = [each.replace(" ", "~") or "~" for each in row]
        if number % 2 and stated.comment:
            text.append(f"{stated.comment} a comment\n")
        start = 1 + "".join(text).count("\n")
        between = " \t " if delimiter == "whitespace" else delimiter
        needed = (delimiter, quote, "\n", "\r")
        written = [
            f"{quote}{each.replace(quote, 2 * quote)}{quote}" if is_quoted and any(sign in each for sign in needed) else each
            for each in row
        ]
        text.append(between.join(written) + "\n")
        lines.append(start)
    first = int(has_heading)
    return "".join(text).encode(), rows[first:], lines[first:]


TEXT = pa.string()
KINDS = {
    "ts": [pa.int64(), pa.float64(), TEXT, pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.date32(), pa.uint64()],
    "a": [TEXT, pa.large_string(), pa.dictionary(pa.int8(), TEXT), pa.int32()],
    "b": [TEXT, pa.int64(), pa.decimal128(12, 2)],
    "k": [TEXT, pa.bool_(), pa.timestamp("ms")],
    "n": [pa.float64(), pa.float32(), pa.uint64(), pa.null()],
    "in.x": [TEXT, pa.int8()],
    "op": [TEXT],
    "src": [TEXT],
    "dst": [TEXT],
}
ITEMS = [pa.int64(), TEXT, pa.struct([("y", pa.int64()), ("z", TEXT)])]


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """A table of the fields that definitions read, flat and nested, of any type that they may have."""
    kinds = {name: draw(st.sampled_from(each)) for name, each in KINDS.items() if draw(st.integers(0, 7))}
    item = draw(st.sampled_from(ITEMS))
    several = draw(st.sampled_from([pa.list_(item), pa.large_list(item), pa.list_(item, 2)]))
    # A missing struct has an index into an empty dictionary, which readers refuse.
    inner = draw(st.sampled_from([TEXT, pa.large_string(), pa.int32(), pa.date32()]))
    kinds["in"] = pa.struct([("x", inner), ("list", several), ("at", pa.timestamp("us"))])
    count = draw(st.integers(1, 5))
    columns = {name: pa.array([draw(cells(kind)) for _ in range(count)], kind) for name, kind in kinds.items()}
    return pa.table(columns)


def cells(kind: pa.DataType) -> st.SearchStrategy[object]:
    """Values of a type of Arrow."""
    if pa.types.is_struct(kind):
        return maybe(st.fixed_dictionaries({each.name: cells(each.type) for each in kind}))
    if pa.types.is_fixed_size_list(kind):
        return maybe(st.lists(cells(kind.value_type), min_size=kind.list_size, max_size=kind.list_size))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return maybe(st.lists(cells(kind.value_type), max_size=3))
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return maybe(
            st.sampled_from(
                ["u", "v", "d", "insert", "u", "v", "", "-", "007", "1700000000", "2024-01-31T12:00:00", "31/01/2024 12:00"]
            )
        )
    if pa.types.is_integer(kind):
        return maybe(st.sampled_from([0, 1, 7, 100]) | st.sampled_from([1, 2]) | st.integers(*LIMITS[kind]))
    if pa.types.is_floating(kind):
        return maybe(st.floats(width=32) | st.sampled_from([1.0, 0.5, 1700000000.0]))
    if pa.types.is_timestamp(kind):
        return maybe(st.datetimes(datetime(1800, 1, 1), datetime(2200, 1, 1)))  # noqa: DTZ001 - the type has the zone
    if pa.types.is_date(kind):
        return maybe(st.dates())
    if pa.types.is_decimal(kind):
        return maybe(st.decimals(-(10**9), 10**9, places=2))
    return maybe(
        st.booleans() if pa.types.is_boolean(kind) else st.binary(max_size=2) if pa.types.is_binary(kind) else st.none()
    )


def maybe(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.integers(0, 7).flatmap(lambda rarely: st.none() if rarely == 7 else values)


LIMITS = {
    pa.int8(): (-128, 127),
    pa.int32(): (-(2**31), 2**31 - 1),
    pa.int64(): (-(2**63), 2**63 - 1),
    pa.uint64(): (0, 2**64 - 1),
}


@slowly
@given(reading_definitions(), tables(), st.booleans())
def test_rows_of_arrow(definition: StreamDefinition, table: pa.Table, is_stream: bool) -> None:
    decoder = decoder_of(definition, "arrow", ATTRIBUTES)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    if is_stream:
        rows = decode(decoder, sink.getvalue().to_pybytes())
    else:
        decoder.check_columns(table.schema)
        rows = [row for each in table.to_batches() for row in decoder.decode_rows(each).to_records()]
    assert_same(decoder, rows, read_stream(definition, decode_rows(table)), ATTRIBUTES)


UNNESTED = st.sampled_from([None, ("Records",), ("in", "a"), ("Records", 1), ("in", "list", 0, "b")])


@st.composite
def documents(draw: st.DrawFn) -> object:
    """A document with records somewhere in it."""
    several = st.lists(nested_records() | st.none(), max_size=3)
    inner = st.fixed_dictionaries(
        {"a": several | nested_records(), "list": st.lists(st.fixed_dictionaries({"b": several}), max_size=2)}
    )
    wrapped = st.fixed_dictionaries(
        {"m": st.just([1, {"Records": 2}]), "Records": several, "in": inner | st.lists(inner, max_size=2)}
    )
    return draw(st.one_of(wrapped, wrapped, st.lists(wrapped, max_size=2), nested_records(), several))


@slowly
@given(reading_definitions(), UNNESTED, st.lists(documents(), min_size=1, max_size=3), st.sampled_from([None, 1]), CUTS)
def test_json_anywhere(
    definition: StreamDefinition, path: tuple[str | int, ...] | None, texts: list[object], indent: int | None, cuts: list[float]
) -> None:
    unnested = None if path is None else FieldPath(path)
    definition = replace(definition, format=RecordFormat("json", unnest=unnested))
    text = "\n".join(json.dumps(each, ensure_ascii=False, indent=indent) for each in texts)
    records = [record for each in texts for record in unnest(decode_json(json.dumps(each)), unnested)]
    decoder = decoder_of(definition, "csv", ATTRIBUTES)
    rows = decode(decoder, text.encode(), cuts)
    for row in rows:
        row["line"] = row["ordinal"] + 1
    assert_same(decoder, rows, read_stream(definition, records), ATTRIBUTES, are_lines_known=False)


@slowly
@given(reading_definitions(), UNNESTED.filter(bool), st.lists(documents(), min_size=1, max_size=3), CUTS)
def test_lines_that_hold_records(
    definition: StreamDefinition, path: tuple[str | int, ...], texts: list[object], cuts: list[float]
) -> None:
    definition = replace(definition, format=RecordFormat("jsonl", unnest=FieldPath(path)))
    lines = [json.dumps(each) for each in texts]
    records = [
        (number, record) for number, line in enumerate(lines, 1) for record in unnest(decode_json(line), FieldPath(path))
    ]
    decoder = decoder_of(definition, "csv", ATTRIBUTES)
    rows = decode(decoder, "\n".join(lines).encode(), cuts)
    outcomes = read_stream(definition, [record for _, record in records])
    assert_same(decoder, rows, outcomes, ATTRIBUTES, [number for number, _ in records])


@slowly
@given(reading_definitions(), st.lists(st.lists(nested_records(), max_size=3), min_size=1, max_size=3))
def test_pieces(definition: StreamDefinition, pieces: list[list[object]]) -> None:
    texts = ["\n".join(json.dumps(record) for record in piece) for piece in pieces]
    decoder = decoder_of(definition, "jsonl", ATTRIBUTES, keep_raw=True)
    batch, ends = decoder.decode_pieces([text.encode() for text in texts], 1)
    outcomes = read_stream(definition, [decode_json(json.dumps(record)) for piece in pieces for record in piece])
    places = [first[4] + number for first, piece in zip(ends, pieces, strict=True) for number in range(len(piece))]
    assert [end[2] for end in ends] == list(accumulate(map(len, pieces)))
    lines = {
        line: text.encode() for text, end in zip(texts, ends, strict=True) for line, text in enumerate(text.split("\n"), end[4])
    }
    rows = batch.to_records()
    assert [row["raw"] for row in rows] == [lines[row["line"]] for row in rows]
    assert_same(decoder, rows, outcomes, ATTRIBUTES, places)


PATTERNS = [
    r"^(?P<a>\S+) (?P<b>\S*) \[(?P<ts>[^\]]*)\] \"(?P<k>[A-Z]+)?(?: (?P<n>[^\"]*))?\" (?P<src>\d+)?$",
    r"(?P<ts>\d+)[;,](?P<a>\w+)>(?P<b>\w+)(?:#(?P<k>.*))?",
    r"(?P<a>.)(?P<b>.)",
]
LINES = st.one_of(
    st.builds(
        '{} {} [{}] "{}{}" {}'.format,
        st.sampled_from(["u", "10.0.0.1", "007", "ü"]),
        st.sampled_from(["v", "-", ""]),
        st.sampled_from(["1700000000", "1700000000.5", "2024-01-31T12:00:00", ""]),
        st.sampled_from(["GET", "", "get"]),
        st.sampled_from(["", " /x 1.50", " "]),
        st.sampled_from(["200", "", "x"]),
    ),
    st.from_regex(r"[0-9]{1,12}[;,][a-z]{1,3}>[a-z]{0,3}(#.{0,3})?", fullmatch=True),
    st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=1, max_size=8),
)


@slowly
@given(reading_definitions(), st.sampled_from(PATTERNS), st.lists(LINES, min_size=1, max_size=5), CUTS)
def test_lines_of_a_regular_expression(definition: StreamDefinition, pattern: str, lines: list[str], cuts: list[float]) -> None:
    definition = replace(definition, format=RecordFormat("regex", pattern=pattern))
    text = "\n".join(lines).encode()
    outcomes = read_stream(definition, read_records(definition, text))
    decoder = decoder_of(definition, "jsonl", ATTRIBUTES)
    assert_same(decoder, decode(decoder, text, cuts), outcomes, ATTRIBUTES)


VALUES_OF_XML = st.sampled_from(
    ["u", "v", "007", "1.50", "", "true", "<&>\"'", "\u00fc\U0001f600", "1700000000", "a > b", "x\u00a0y"]
)
AROUND = st.sampled_from(
    ["", "\n", "<!-- <row a='1'/> > -->", "<rows x='>'/>", "<other>text &amp; <![CDATA[<row a='1'/>]]></other>", "<?p ?>"]
)


def written_as_xml(fields: dict[str, str], quote: str, end: str) -> str:
    entities = {'"': "&quot;", "'": "&#39;", ">": "&#x3E;"}
    return "<row " + " ".join(f"{name} = {quote}{escape(value, entities)}{quote}" for name, value in fields.items()) + end


ROWS = st.builds(
    written_as_xml,
    st.dictionaries(st.sampled_from(["ts", "a", "b", "k", "n", "src", "dst"]), VALUES_OF_XML, max_size=7).map(
        lambda fields: {"ts": "1700000000", **fields}
    ),
    st.sampled_from(["'", '"']),
    st.sampled_from(["/>", "></row>", "\n>text</row>"]),
)


@slowly
@given(reading_definitions(), st.lists(st.tuples(ROWS, AROUND), min_size=1, max_size=4), CUTS)
def test_rows_of_xml(definition: StreamDefinition, rows: list[tuple[str, str]], cuts: list[float]) -> None:
    definition = replace(definition, format=RecordFormat("xml", row="row"))
    head = "\ufeff<?xml version='1.0'?><!DOCTYPE posts [<!ELEMENT row ANY>]>\n<posts>"
    text, lines = head, []
    for row, around in rows:
        lines.append(text.count("\n") + 1)
        text += row + around
    data = (text + "</posts>").encode()
    outcomes = read_stream(definition, read_records(definition, data.removeprefix("\ufeff".encode())))
    decoder = decoder_of(definition, "jsonl", ATTRIBUTES)
    assert_same(decoder, decode(decoder, data, cuts), outcomes, ATTRIBUTES, lines)


OLD = st.builds(
    "{}{}{} {}{}{}".format,
    st.sampled_from(["", "<34>", "<0>", "<191>", "<192>", "<034>", "<>", "<1"]),
    st.sampled_from(["Oct 11 22:14:15", "Feb 29 00:00:00.25", "oct  1 2024 22:14:15:", "2024-01-31T12:00:00+01:00"])
    | st.sampled_from(["Oct 32 22:14:15", "Sep  9 9:00:00", "", "noon", "Oct 11", "2024-01-31", "31/01/2024 12:00"]),
    st.sampled_from(["", " u", " 10.0.0.1", " fe80::1", "  m"]),
    st.sampled_from(["su: ", "su[7]: ", "cron[007]", "kernel:", "", "last ", "[x]: ", "a:b[c]:d "]),
    st.sampled_from(["'su root' failed", "", "1.50", "repeated 2 times", "<34>1", "\u00fc\ufeff"]),
    st.sampled_from(["", "\r"]),
)
PARAMETERS = st.builds(
    '{}{}="{}"'.format,
    st.sampled_from([" ", "  "]),
    st.sampled_from(["a", "x", "y.z", "b"]),
    st.sampled_from(["1", "", "u", '\\"', "\\]\\\\", "\\n", "] [", "\u00fc", "007"]),
)
ELEMENTS = st.builds("[{}{}]".format, st.sampled_from(["x", "x", "ex@32473"]), st.lists(PARAMETERS, max_size=3).map("".join))
DATA = (
    st.just("-")
    | st.lists(ELEMENTS, min_size=1, max_size=3).map("".join)
    | st.sampled_from(["", "[", "[x", '[x a="1]', "[]", "[x]-", '[x a= "1"]', '[x ="1"]'])
)
WORDS = st.sampled_from(["u", "v", "007", "-", "10.0.0.1", "1700000000", "su"])
NEW = st.builds(
    "<{}>{} {} {} {} {} {} {}{}".format,
    st.sampled_from(["34", "165", "0"]),
    st.sampled_from(["1", "1", "1", "12", "0", "1234"]),
    st.sampled_from(["2003-10-11T22:14:15.003Z", "2003-08-24T05:14:15.000003-07:00", "-", "1700000000"]),
    *[WORDS] * 4,
    DATA,
    st.sampled_from(["", " ", " \ufeffno", " -", " 1.50", "x"]),
)
SYSLOG_FIELDS = ("priority", "facility", "severity", "version", "timestamp", "hostname", "appname", "procid", "msgid")
SYSLOG_ATTRIBUTES = (*SYSLOG_FIELDS, "structured_data", "message", "sd", "sd.x.a", "sd.x.y.z", "sd.ex@32473.a", "sd.x")
OF_SYSLOG = st.sampled_from([*((name,) for name in SYSLOG_FIELDS), ("sd", "x", "a"), ("message",)]).map(FieldPath)


@slowly
@given(st.lists(OLD | NEW, min_size=1, max_size=5), OF_SYSLOG, OF_SYSLOG, st.sampled_from([None, "2025-03-01"]), st.data())
def test_messages_of_syslog(
    lines: list[str], source: FieldPath, kind: FieldPath, before: str | None, data: st.DataObject
) -> None:
    time = RecordTime(FieldPath(("timestamp",)), format="syslog", before=before)
    clause = EventClause(kind) if data.draw(st.booleans()) else EdgeClause(LabelledEnd(source), LabelledEnd(kind))
    nulls = data.draw(st.sampled_from([(), ("1", "007")]))
    definition = StreamDefinition(StreamName("s"), RecordFormat("syslog"), (clause,), time, nulls=nulls)
    text = "\n".join(lines).encode()
    outcomes = read_stream(definition, read_records(definition, text))
    decoder = decoder_of(definition, "jsonl", SYSLOG_ATTRIBUTES)
    assert_same(decoder, decode(decoder, text, data.draw(CUTS)), outcomes, SYSLOG_ATTRIBUTES)
