"""Avro that a STREAM statement reads natively is what the oracle reads: files in every codec, messages, records in records."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.errors import TransientError, UnreadableStreamError
from graphtide_core.ids import StreamName
from graphtide_core.predicate import Literal
from graphtide_core.record_expression import FieldPath, ItemWhere
from graphtide_core.record_format import RecordFormat
from graphtide_core.record_time import EpochUnit, RecordTime
from graphtide_core.stream_definition import EventClause, SetAttribute, StreamDefinition
from graphtide_native.record_form import clocks_of_zones
from graphtide_native.records import StatementDecoder, Symbols
from graphtide_testing.given_rows import class_of, expected_rows, values_of
from graphtide_testing.oracles import avro
from graphtide_testing.oracles.stream_records import FilteredRecord, RefusedRecord, read_stream, unnest, unnest_surrounded
from graphtide_testing.strategies.read_records import ATTRIBUTES, reading_definitions
from graphtide_wire.stream_definition import encode_definition
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphtide_core.record_expression import PathStep

slowly = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

TEXTS = st.sampled_from(["u", "v", "d", "", "-", "007", "\u00fc", "1700000000", "2024-01-31T12:00:00", "insert"])
LONGS = st.sampled_from([0, 1, -1, 7, 1700000000, 2**63 - 1, -(2**63)])
MOMENTS = st.integers(-(10**12), 10**12)


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


def scalars(name: str) -> list[tuple[Any, st.SearchStrategy[Any]]]:
    """Types that a field may have, and their values; named types are called after the field."""
    return [
        ("string", TEXTS),
        ("string", TEXTS),
        ({"type": "string", "logicalType": "uuid"}, TEXTS),
        ("long", LONGS),
        ("int", st.sampled_from([0, 1, 7, -1, 2**31 - 1, -(2**31)])),
        ("double", st.floats() | st.sampled_from([0.5, 1700000000.25])),
        ("float", st.floats(width=32)),
        ("boolean", st.booleans()),
        ("bytes", st.binary(max_size=3)),
        ({"type": "fixed", "name": f"f_{name}", "size": 2}, st.binary(min_size=2, max_size=2)),
        ({"type": "enum", "name": f"e_{name}", "namespace": "other", "symbols": ["u", "v"]}, st.sampled_from(["u", "v"])),
        (logical("bytes", "decimal", precision=9, scale=2), st.binary(max_size=4)),
        (logical("bytes", "decimal", precision=20), st.binary(max_size=9)),
        (logical("int", "date"), st.integers(-(10**5), 10**5)),
        (logical("int", "time-millis"), st.integers(0, 10**7)),
        (logical("long", "timestamp-millis"), MOMENTS),
        (logical("long", "timestamp-micros"), MOMENTS),
        (logical("long", "local-timestamp-nanos"), MOMENTS),
        ("null", st.none()),
    ]


@st.composite
def fields(draw: st.DrawFn, name: str) -> tuple[Any, st.SearchStrategy[Any]]:
    """A type of a field, perhaps with others in a union, in a list or in a map."""
    form = draw(st.integers(0, 9))
    first, values = draw(st.sampled_from(scalars(f"{name}_1")))
    if form < 5:
        return first, values
    if form < 7:
        several = [("null", st.none()), (first, values), draw(st.sampled_from(scalars(f"{name}_2")))]
        branches = [st.tuples(st.just(place), each) for place, (_, each) in enumerate(several)]
        return [kind for kind, _ in several], st.one_of(branches)
    if form < 9:
        return {"type": "array", "items": first}, st.lists(values, max_size=3)
    return {"type": "map", "values": first}, st.dictionaries(st.sampled_from(["x", "y", "list"]), values, max_size=2)


@st.composite
def streams(draw: st.DrawFn) -> tuple[str, list[Any]]:
    """A schema of records that definitions read, nested and with itself in it, and some values."""

    def record(name: str, parts: dict[str, Any]) -> tuple[dict[str, Any], st.SearchStrategy[Any]]:
        stated = [{"name": field, "type": kind} for field, (kind, _) in parts.items()]
        values = st.fixed_dictionaries({field: values for field, (_, values) in parts.items()})
        return {"type": "record", "name": name, "namespace": "n", "fields": stated}, values

    times = [("long", st.sampled_from([0, 1700000000])), (logical("long", "timestamp-millis"), MOMENTS), ("string", TEXTS)]
    item, items = record("item", {"y": draw(fields("y")), "z": ("long", LONGS)})
    inner, inners = record(
        "inner",
        {
            "x": draw(fields("x")),
            "list": ({"type": "array", "items": item}, st.lists(items, max_size=2)),
            "at": draw(st.sampled_from(times)),
        },
    )
    names = draw(st.lists(st.sampled_from(["a", "b", "k", "n", "src", "dst", "op", "uid", "in.x"]), unique=True))
    parts = {"ts": draw(st.sampled_from([*times, times[0]])), **{name: draw(fields(name.replace(".", "_"))) for name in names}}
    parts["in"] = (inner, inners)
    parts["nothing"] = ({"type": "array", "items": "null"}, st.lists(st.none(), max_size=2))
    parts["next"] = (["null", "record"], st.just((0, None)))
    whole, wholes = record("record", parts)
    values: list[Any] = draw(st.lists(wholes, max_size=4))
    has_itself: bool = draw(st.booleans())
    if values and has_itself:
        values[0] = values[0] | {"next": (1, values[-1])}
    return json.dumps(whole), values


def decoder_of(
    definition: StreamDefinition, attributes: Sequence[str] = ATTRIBUTES, schemas: Callable[[int], bytes] | None = None
) -> StatementDecoder:
    return StatementDecoder(
        Symbols(),
        attributes,
        encode_definition(definition),
        format="jsonl",
        zones=clocks_of_zones(definition.zones()),
        keep_raw=True,
        schemas=schemas,
    )


def assert_same(
    decoder: StatementDecoder,
    rows: list[dict[str, Any]],
    outcomes: Sequence[Any],
    lines: Sequence[int],
    attributes: Sequence[str] = ATTRIBUTES,
) -> None:
    assert [values_of(row) for row in rows] == [values_of(row) for row in expected_rows(outcomes, attributes, lines)]
    refused = [
        (line, class_of(each.reason)) for line, each in zip(lines, outcomes, strict=True) if isinstance(each, RefusedRecord)
    ]
    assert [(line, class_of(reason)) for line, reason, _ in decoder.take_dead_letters()] == refused
    assert decoder.filtered() == sum(isinstance(each, FilteredRecord) for each in outcomes)
    assert decoder.ordinal() == len(outcomes)


PATHS = st.sampled_from([None, None, ("in", "list"), ("in", "list", 1), ("in",), ("next",), ("a",), ("nothing",)])


@slowly
@given(reading_definitions(), streams(), PATHS, st.sampled_from(avro.CODECS), st.lists(st.floats(0, 1), max_size=4))
def test_files(
    definition: StreamDefinition,
    stream: tuple[str, list[Any]],
    path: tuple[str | int, ...] | None,
    codec: str,
    cuts: list[float],
) -> None:
    schema, values = stream
    unnested = None if path is None else FieldPath(path)
    definition = replace(definition, format=RecordFormat("avro", unnest=unnested))
    documents = avro.read_file(avro.write_file(schema, values))
    outcomes = read_stream(definition, [record for each in documents for record in unnest(each, unnested)])
    data = avro.write_file(schema, values, codec)
    places = [0, *sorted(int(cut * len(data)) for cut in cuts), len(data)]
    decoder = decoder_of(definition)
    rows = [row for start, end in pairwise(places) for row in decoder.decode(data[start:end]).to_records()]
    assert_same(decoder, rows + decoder.finish().to_records(), outcomes, range(1, len(outcomes) + 1))


@slowly
@given(reading_definitions(), streams(), PATHS, st.booleans())
def test_messages(
    definition: StreamDefinition, stream: tuple[str, list[Any]], path: tuple[str | int, ...] | None, is_stated: bool
) -> None:
    schema, values = stream
    unnested = None if path is None else FieldPath(path)
    stated = schema if is_stated else None
    definition = replace(definition, format=RecordFormat("avro", unnest=unnested, schema=stated))
    documents = [unnest(each, unnested) for each in avro.read_file(avro.write_file(schema, values))]
    outcomes = read_stream(definition, [record for each in documents for record in each])
    decoder = decoder_of(definition, schemas=lambda number: {7: schema}[number].encode())
    messages = [avro.write_message(schema, 7, value) for value in values]
    batch, ends = decoder.decode_pieces(messages, 1)
    lines = [end[4] for end, records in zip(ends, documents, strict=True) for _ in records]
    assert len({end[4] for end in ends}) == len(ends)
    assert [end[2] for end in ends] == list(accumulate(map(len, documents)))
    of_lines = {end[4]: message for end, message in zip(ends, messages, strict=True)}
    rows = batch.to_records()
    assert all(row["raw"] == of_lines[row["line"]] for row in rows)
    assert_same(decoder, rows, outcomes, lines)


INSIDE: tuple[tuple[PathStep, ...], ...] = (
    ("x",),
    ("at",),
    ("a",),
    ("b", "x"),
    ("k", 1),
    ("list", 1, "y"),
    ("list", ItemWhere("y", "u"), "z"),
    ("in", "list", ItemWhere("y", "v"), "y"),
    ("list", ItemWhere("z", "7"), "z"),
    ("nothing", ItemWhere("y", "u")),
)


def definition_around(path: tuple[str | int, ...]) -> StreamDefinition:
    """Return a definition of records at a path that reads what is around them; the time is that of the outermost."""
    levels = sum(isinstance(step, str) for step in path)
    paths = [FieldPath(steps, outer) for outer in range(levels + 1) for steps in INSIDE]
    return StreamDefinition(
        StreamName("s"),
        RecordFormat("avro", unnest=FieldPath(path)),
        (EventClause(Literal("e")),),
        RecordTime(FieldPath(("ts",), levels)),
        sets=tuple(SetAttribute(f"n{number}", each) for number, each in enumerate(paths)),
        nulls=("-",),
    )


@slowly
@given(streams(), st.sampled_from([("in", "list"), ("in", "list", 1), ("in",), ("next", "in", "list")]), st.floats(0, 1))
def test_what_is_around_a_record_and_items_by_a_field(
    stream: tuple[str, list[Any]], path: tuple[str | int, ...], cut: float
) -> None:
    schema, values = stream
    definition = definition_around(path)
    attributes = [each.name for each in definition.sets]
    data = avro.write_file(schema, values)
    documents = [unnest_surrounded(each, FieldPath(path)) for each in avro.read_file(data)]
    outcomes = read_stream(definition, [record for each in documents for record in each])
    decoder, place = decoder_of(definition, attributes), int(cut * len(data))
    rows = [row for block in (data[:place], data[place:]) for row in decoder.decode(block).to_records()]
    rows += decoder.finish().to_records()
    assert_same(decoder, rows, outcomes, range(1, len(outcomes) + 1), attributes)
    decoder = decoder_of(definition, attributes, schemas=lambda _: schema.encode())
    batch, ends = decoder.decode_pieces([avro.write_message(schema, 7, value) for value in values], 1)
    lines = [end[4] for end, records in zip(ends, documents, strict=True) for _ in records]
    assert_same(decoder, batch.to_records(), outcomes, lines, attributes)


SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "ts", "type": "long"},
            {"name": "k", "type": "string"},
            {"name": "m", "type": {"type": "map", "values": "double"}},
        ],
    }
)
DEFINITION = StreamDefinition(
    StreamName("s"),
    RecordFormat("avro", schema=SCHEMA),
    (EventClause(FieldPath(("k",)), sets=(SetAttribute("n", FieldPath(("m", "x"))),)),),
    RecordTime(FieldPath(("ts",)), EpochUnit.MILLISECOND),
)
VALUE = {"ts": 7, "k": "on", "m": {"x": 0.5}}


def letters_of(definition: StreamDefinition, message: bytes, schemas: Callable[[int], bytes] | None = None) -> list[str]:
    decoder = decoder_of(definition, ["n"], schemas)
    decoder.decode_pieces([message], 1)
    return [reason for _, reason, raw in decoder.take_dead_letters() if raw == message]


def test_a_damaged_message_is_a_dead_letter_with_its_bytes() -> None:
    message = avro.write_message(SCHEMA, 1, VALUE)
    assert letters_of(DEFINITION, message) == []
    reasons = {reason for end in range(1, len(message)) for reason in letters_of(DEFINITION, message[:end])}
    assert reasons == {"not a record of Avro: it breaks off"}
    assert letters_of(DEFINITION, message + b"\0") == ["not a record of Avro: bytes follow it"]
    huge = message[:6] + b"\xfe" * 8 + b"\x01"
    assert letters_of(DEFINITION, huge) == ["not a record of Avro: it breaks off"]
    longer = message[:5] + b"\xff" * 10
    assert letters_of(DEFINITION, longer) == ["not a record of Avro: an integer is longer than 64 bits"]
    bad = message.replace(b"on", b"\xff\xff")
    assert letters_of(DEFINITION, bad) == ["not UTF-8 at byte 0"]


def test_a_message_waits_for_a_registry_that_does_not_answer_and_is_a_dead_letter_where_there_is_no_schema() -> None:
    message = avro.write_message(SCHEMA, 12, VALUE)
    unstated = replace(DEFINITION, format=RecordFormat("avro"))

    def fail(number: int) -> bytes:
        message = f"{number} is not there"
        raise (UnreadableStreamError if number == 12 else TransientError)(message)

    reason = "its schema has the number 12: state SCHEMA, or set a registry of schemas"
    assert letters_of(unstated, message) == [f"not a record of Avro: {reason}"]
    assert letters_of(unstated, message, fail) == ["not a record of Avro: 12 is not there"]
    assert letters_of(unstated, message, lambda _: b"{}") == [
        'not a record of Avro: its schema has the number 12: a type of the schema lacks "type"'
    ]
    with pytest.raises(TransientError, match="13 is not there"):
        letters_of(unstated, avro.write_message(SCHEMA, 13, VALUE), fail)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data[:-1], "it breaks off"),
        (lambda data: b"", "it is empty"),
        (lambda data: b"ts,k\n1,a\n", "it does not begin as one"),
        (lambda data: data[:-1] + b"x", "its mark is not that of the file"),
        (lambda data: data.replace(b"avro.schema", b"avro.sch3ma"), "its header has no schema"),
        (lambda data: data.replace(b"null", b"lzma"), 'its codec "lzma" is not known'),
        (lambda data: data.replace(b'"long"', b'"lung"'), 'the schema does not say what "lung" is'),
    ],
)
def test_a_damaged_file_is_an_error_that_says_where(change: Callable[[bytes], bytes], reason: str) -> None:
    decoder, data = decoder_of(DEFINITION, ["n"]), change(avro.write_file(SCHEMA, [VALUE]))
    with pytest.raises(UnreadableStreamError, match=f"this is not an Avro file: .*{reason}"):
        decoder.decode_pieces([data], 1)


@pytest.mark.parametrize("codec", [each for each in avro.CODECS if each != "null"])
def test_a_damaged_block_is_an_error(codec: str) -> None:
    data = bytearray(avro.write_file(SCHEMA, [VALUE], codec))
    data[len(avro.write_file(SCHEMA, [], codec)) + 3] ^= 0xFF
    decoder = decoder_of(DEFINITION, ["n"])
    with pytest.raises(UnreadableStreamError, match="the block at byte"):
        decoder.decode(bytes(data))


def test_a_block_that_says_more_than_it_has_is_refused_at_once() -> None:
    data = avro.write_file('"null"', [None])
    head, mark = data[:-18], data[-16:]
    for counts, reason in (
        (b"\xfe\xff\xff\xff\x0f\x00", "more records than bytes"),
        (b"\x02\xfe\xff\xff\xff\x0f", "at most 67108864 are allowed"),
        (b"\x01\x00", "its counts are negative"),
    ):
        with pytest.raises(UnreadableStreamError, match=reason):
            decoder_of(DEFINITION, ["n"]).decode(head + counts + mark)
