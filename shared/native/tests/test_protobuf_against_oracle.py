"""Messages of Protobuf that a STREAM statement reads natively are those of Protobuf's own library, and damage is reported."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, duration_pb2, message_factory, timestamp_pb2
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.ids import StreamName
from graphtide_core.predicate import Literal
from graphtide_core.record_expression import FieldPath, ItemWhere
from graphtide_core.record_format import RecordFormat
from graphtide_core.record_time import RecordTime
from graphtide_core.stream_definition import EventClause, SetAttribute, StreamDefinition
from graphtide_native.record_form import clocks_of_zones
from graphtide_native.records import StatementDecoder, Symbols
from graphtide_testing.given_rows import class_of, expected_rows, values_of
from graphtide_testing.oracles.protobuf import read_message
from graphtide_testing.oracles.stream_records import FilteredRecord, RefusedRecord, read_stream, unnest, unnest_surrounded
from graphtide_testing.strategies.read_records import ATTRIBUTES, reading_definitions
from graphtide_wire.stream_definition import encode_definition
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.record_expression import PathStep

slowly = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

Field = descriptor_pb2.FieldDescriptorProto
_Features = descriptor_pb2.FeatureSet
SCALARS: tuple[str, ...] = ("double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "bytes")
SCALARS += ("uint32", "sfixed32", "sfixed64", "sint32", "sint64")


def describe(syntax: str) -> descriptor_pb2.FileDescriptorSet:
    """Return a set with messages that have every type, in a syntax."""
    is_old, is_new = syntax == "proto2", syntax == "proto3"
    file = descriptor_pb2.FileDescriptorProto(name=f"{syntax}.proto", package=f"net.{syntax}", syntax=syntax)
    if syntax == "edition":
        file.syntax, file.edition = "editions", descriptor_pb2.EDITION_2023
        file.options.features.enum_type = _Features.CLOSED
    file.dependency.extend(["google/protobuf/timestamp.proto", "google/protobuf/duration.proto"])
    kinds = file.enum_type.add(name="Kind")
    for number, name in enumerate(("NONE", "u", "v")):
        kinds.value.add(name=name, number=number)
    record = file.message_type.add(name="Record")
    item, inner = record.nested_type.add(name="Item"), record.nested_type.add(name="Inner")
    space = f".net.{syntax}.Record"

    def add(message: Any, name: str, kind: str, label: str = "optional", **more: Any) -> Any:
        number = 1 + len(message.field) if len(message.field) < 12 else 100 + len(message.field)
        named: dict[str, Any] = {} if kind.islower() else {"type_name": kind if "." in kind else f"{space}.{kind}"}
        of_kind = kind if kind.islower() else "enum" if kind.endswith("Kind") else "message"
        return message.field.add(
            name=name, number=number, type=f"TYPE_{of_kind.upper()}", label=f"LABEL_{label.upper()}", **named, **more
        )

    def add_map(message: Any, name: str, key: str, value: str) -> None:
        entry = message.nested_type.add(name=f"{name.capitalize()}Entry")
        entry.options.map_entry = True
        add(entry, "key", key)
        add(entry, "value", value)
        add(message, name, f"{space}.{entry.name}", "repeated")

    add(item, "y", "string", default_value="on" if is_old else None)
    add(item, "z", "int64")
    add(inner, "x", f".net.{syntax}.Kind")
    add(inner, "list", "Item", "repeated")
    add(inner, "at", ".google.protobuf.Timestamp")
    add(record, "ts", "int64")
    add(record, "a", "string")
    record.oneof_decl.add(name="choice")
    add(record, "b", "string", oneof_index=0)
    add(record, "other", "Item", oneof_index=0)
    add(record, "uid", "int32", oneof_index=0)
    add(record, "k", f".net.{syntax}.Kind")
    add(record, "n", ".google.protobuf.Duration")
    add(record, "src", "bytes")
    add(record, "dst", "string", proto3_optional=True if is_new else None, oneof_index=1 if is_new else None)
    if is_new:
        record.oneof_decl.add(name="_dst")
    add(record, "in", "Inner")
    add_map(record, "m", "string", "Item")
    add_map(record, "x", "int32", "double")
    add_map(record, "flags", "bool", f".net.{syntax}.Kind")
    add(record, "next", space)
    add(record, "kinds", f".net.{syntax}.Kind", "repeated")
    for kind in SCALARS:
        add(record, f"one_{kind}", kind)
        add(record, f"all_{kind}", kind, "repeated")
    if syntax == "edition":
        _state_features(record)
    found = descriptor_pb2.FileDescriptorSet()
    for known in (timestamp_pb2, duration_pb2):
        known.DESCRIPTOR.CopyToProto(found.file.add())
    found.file.append(file)
    return found


def _state_features(record: Any) -> None:
    """State what fields of an edition are: without presence, not packed, and messages that are written as groups."""
    of_record = {field.name: field.options.features for field in record.field}
    of_record["a"].field_presence = of_record["one_int64"].field_presence = _Features.IMPLICIT
    of_record["kinds"].repeated_field_encoding = of_record["all_sint32"].repeated_field_encoding = _Features.EXPANDED
    of_record["in"].message_encoding = of_record["other"].message_encoding = _Features.DELIMITED
    # Of a message, which all that stands in it has: its list of items is written as groups.
    (inner,) = (each for each in record.nested_type if each.name == "Inner")
    of_inner = {field.name: field.options.features for field in inner.field}
    of_inner["list"].message_encoding = _Features.DELIMITED


def make_class(described: descriptor_pb2.FileDescriptorSet) -> Any:
    """Return the class of the records of a set."""
    pool = descriptor_pool.DescriptorPool()
    for file in described.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{described.file[-1].package}.Record"))


SETS = {syntax: describe(syntax) for syntax in ("proto2", "proto3", "edition")}
CLASSES = {syntax: make_class(described) for syntax, described in SETS.items()}
OF_SCALARS = tuple(f"{form}_{kind}{'[1]' if form == 'all' else ''}" for kind in SCALARS for form in ("one", "all"))
NAMES = (
    *ATTRIBUTES,
    *OF_SCALARS,
    "uid",
    "m.u.y",
    "m.u.z",
    "x.7",
    "flags.true",
    "kinds[0]",
    "kinds[1]",
    "next.other.y",
    "other.y",
)

LIMITS = {"int": (-(2**31), 2**31 - 1), "uint": (0, 2**32 - 1), "fixed": (0, 2**32 - 1), "sfixed": (-(2**31), 2**31 - 1)}
TEXTS = st.sampled_from(["u", "v", "", "-", "007", "\u00fc", "2024-01-31T12:00:00", "insert"])


def values_of_scalar(kind: str) -> st.SearchStrategy[Any]:
    """Values of a type."""
    match kind:
        case "double" | "float":
            return st.floats(width=32)
        case "bool":
            return st.booleans()
        case "string":
            return TEXTS
        case "bytes":
            return st.binary(max_size=3)
    least, most = (0, 2**32) if kind.startswith(("uint", "fixed")) else (-(2**31), 2**31)
    size = 2**32 if kind.endswith("64") else 1
    return st.sampled_from([least * size, most * size - 1, 0, 1, 7])


ITEMS = st.fixed_dictionaries({}, optional={"y": TEXTS, "z": st.sampled_from([0, 1, -1, 2**63 - 1])})
MOMENTS = st.fixed_dictionaries({"seconds": st.integers(-(10**9), 10**10), "nanos": st.integers(0, 10**9 - 1)})
DURATIONS = st.sampled_from([{}, {"seconds": 1, "nanos": 500_000_000}, {"seconds": -1, "nanos": -1}, {"seconds": 7}])
INNER: dict[str, st.SearchStrategy[Any]] = {"x": st.integers(0, 3), "list": st.lists(ITEMS, max_size=2), "at": MOMENTS}
MAPS: dict[str, st.SearchStrategy[dict[Any, Any]]] = {
    "m": st.dictionaries(st.sampled_from(["u", "v"]), ITEMS, max_size=2),
    "x": st.dictionaries(st.sampled_from([7, -1]), st.floats(width=32), max_size=2),
    "flags": st.dictionaries(st.booleans(), st.integers(0, 2), max_size=2),
}
PARTS: dict[str, st.SearchStrategy[Any]] = {
    "ts": st.sampled_from([0, 1700000000]),
    "a": TEXTS,
    "b": TEXTS,
    "other": ITEMS,
    "uid": st.integers(-2, 2),
    "k": st.integers(0, 2),
    "n": DURATIONS,
    "src": st.binary(max_size=2),
    "dst": TEXTS,
    "in": st.fixed_dictionaries({}, optional=INNER),
    "kinds": st.lists(st.integers(0, 2), max_size=3),
    **{f"one_{kind}": values_of_scalar(kind) for kind in SCALARS},
    **{f"all_{kind}": st.lists(values_of_scalar(kind), max_size=3) for kind in SCALARS},
}


def fill(message: Any, values: dict[str, Any], maps: dict[str, dict[Any, Any]]) -> None:
    """Set the fields of a message, in this order."""
    for name, value in values.items():
        field = message.DESCRIPTOR.fields_by_name[name]
        match value:
            case dict():
                getattr(message, name).SetInParent()
                fill(getattr(message, name), value, {})
            case list() if field.message_type is not None:
                for each in value:
                    fill(getattr(message, name).add(), each, {})
            case list():
                getattr(message, name).extend(value)
            case 3 if field.enum_type is not None and message.DESCRIPTOR.full_name.startswith(("net.proto2", "net.edition")):
                pass
            case _:
                setattr(message, name, value)
    for name, entries in maps.items():
        for key, value in entries.items():
            if isinstance(value, dict):
                fill(getattr(message, name)[key], value, {})
            else:
                getattr(message, name)[key] = value


@st.composite
def messages(draw: st.DrawFn, syntax: str) -> bytes:
    """The bytes of a message: often of two, one after the other, which are merged."""
    data = b""
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        names = draw(st.permutations(sorted(PARTS)))[: draw(st.integers(0, 12))]
        message = CLASSES[syntax]()
        fill(message, {name: draw(PARTS[name]) for name in ("ts", *names)}, draw(st.fixed_dictionaries({}, optional=MAPS)))
        if draw(st.integers(0, 3)) == 0:
            fill(message.next, {"other": draw(ITEMS)}, {})
        data += message.SerializeToString()
    # A field that nobody knows, an enum with a number that it does not have, and one that is written otherwise.
    return data + draw(st.sampled_from([b"", b"", b"\xb8\x3e\x01", b"\x30\x05", b"\x0a\x00", b"\xbb\x3e\x08\x01\xbc\x3e"]))


@st.composite
def streams(draw: st.DrawFn) -> tuple[str, list[bytes]]:
    """A syntax, and messages in it."""
    syntax = draw(st.sampled_from(sorted(CLASSES)))
    return syntax, draw(st.lists(messages(syntax), max_size=3))


def write_descriptor(syntax: str) -> str:
    return "base64:" + b64encode(SETS[syntax].SerializeToString()).decode()


def decoder_of(definition: StreamDefinition, attributes: Sequence[str] = NAMES) -> StatementDecoder:
    zones = clocks_of_zones(definition.zones())
    return StatementDecoder(Symbols(), attributes, encode_definition(definition), format="jsonl", zones=zones, keep_raw=True)


PATHS = st.sampled_from([None, None, None, ("in", "list"), ("in", "list", 1), ("in",), ("next",), ("other",)])


@slowly
@given(reading_definitions(), streams(), PATHS, st.sampled_from([None, b"\0\0\0\0\7\0", b"\0\0\0\0\7\4\2\0"]), st.floats(0, 1))
def test_messages_and_files(
    definition: StreamDefinition,
    stream: tuple[str, list[bytes]],
    path: tuple[str | int, ...] | None,
    head: bytes | None,
    cut: float,
) -> None:
    syntax, data = stream
    unnested = None if path is None else FieldPath(path)
    stated = RecordFormat("protobuf", descriptor=write_descriptor(syntax), message=f"net.{syntax}.Record", unnest=unnested)
    definition = replace(definition, format=stated)
    documents = [unnest(read_message(CLASSES[syntax].FromString(each)), unnested) for each in data]
    outcomes = read_stream(definition, [record for each in documents for record in each])
    decoder = decoder_of(definition)
    batch, ends = decoder.decode_pieces([(head or b"") + each for each in data], 1)
    assert_same(
        decoder, batch.to_records(), outcomes, [end[4] for end, each in zip(ends, documents, strict=True) for _ in each]
    )
    decoder = decoder_of(definition)
    file = b"".join(write_length(len(each)) + each for each in data)
    places = [0, int(cut * len(file)), len(file)]
    rows = [row for start, end in pairwise(places) for row in decoder.decode(file[start:end]).to_records()]
    assert_same(decoder, rows + decoder.finish().to_records(), outcomes, range(1, len(outcomes) + 1))


def write_length(length: int) -> bytes:
    return bytes([length]) if length < 0x80 else bytes([length & 0x7F | 0x80]) + write_length(length >> 7)


def assert_same(
    decoder: StatementDecoder,
    rows: list[dict[str, Any]],
    outcomes: Sequence[Any],
    lines: Sequence[int],
    attributes: Sequence[str] = NAMES,
) -> None:
    assert [values_of(row) for row in rows] == [values_of(row) for row in expected_rows(outcomes, attributes, lines)]
    refused = [
        (line, class_of(each.reason)) for line, each in zip(lines, outcomes, strict=True) if isinstance(each, RefusedRecord)
    ]
    assert [(line, class_of(reason)) for line, reason, _ in decoder.take_dead_letters()] == refused
    assert decoder.filtered() == sum(isinstance(each, FilteredRecord) for each in outcomes)
    assert decoder.ordinal() == len(outcomes)


INSIDE: tuple[tuple[PathStep, ...], ...] = (
    ("a",),
    ("uid",),
    ("dst",),
    ("other", "y"),
    ("m", "u", "y"),
    ("kinds", 1),
    ("x",),
    ("at",),
    ("y",),
    ("z",),
    ("list", 1, "y"),
    ("list", ItemWhere("y", "u"), "z"),
    ("list", ItemWhere("y", ""), "z"),
    ("in", "list", ItemWhere("y", "v"), "z"),
    ("kinds", ItemWhere("y", "u")),
)


@slowly
@given(streams(), st.sampled_from([("in", "list"), ("in", "list", 1), ("in",), ("next", "other")]))
def test_what_is_around_a_record_and_items_by_a_field(stream: tuple[str, list[bytes]], path: tuple[str | int, ...]) -> None:
    syntax, data = stream
    levels = sum(isinstance(step, str) for step in path)
    paths = [FieldPath(steps, outer) for outer in range(levels + 1) for steps in INSIDE]
    unnested = FieldPath(path)
    definition = StreamDefinition(
        StreamName("s"),
        RecordFormat("protobuf", descriptor=write_descriptor(syntax), message=f"net.{syntax}.Record", unnest=unnested),
        (EventClause(Literal("e")),),
        RecordTime(FieldPath(("ts",), levels)),
        sets=tuple(SetAttribute(f"n{number}", each) for number, each in enumerate(paths)),
        nulls=("-",),
    )
    attributes = [each.name for each in definition.sets]
    documents = [unnest_surrounded(read_message(CLASSES[syntax].FromString(each)), unnested) for each in data]
    outcomes = read_stream(definition, [record for each in documents for record in each])
    decoder = decoder_of(definition, attributes)
    batch, ends = decoder.decode_pieces(data, 1)
    lines = [end[4] for end, each in zip(ends, documents, strict=True) for _ in each]
    assert_same(decoder, batch.to_records(), outcomes, lines, attributes)


DEFINITION = StreamDefinition(
    StreamName("s"),
    RecordFormat("protobuf", descriptor=write_descriptor("proto3"), message="net.proto3.Record"),
    (EventClause(FieldPath(("a",))),),
    RecordTime(FieldPath(("ts",))),
)


def test_an_edition_that_is_not_known_is_refused_by_its_name() -> None:
    described = describe("edition")
    described.file[-1].edition = descriptor_pb2.EDITION_99999_TEST_ONLY
    text = "base64:" + b64encode(described.SerializeToString()).decode()
    with pytest.raises(UnreadableStreamError, match=r"edition.proto is of the edition 99999 of Protobuf; proto2, proto3 and"):
        decoder_of(replace(DEFINITION, format=RecordFormat("protobuf", descriptor=text, message="net.edition.Record")), [])


def test_a_damaged_message_is_a_dead_letter_with_its_bytes() -> None:
    message = CLASSES["proto3"]()
    fill(message, {"ts": 7, "a": "on", "in": {"list": [{"y": "deep"}]}}, {})
    data = message.SerializeToString()
    for damaged, reason in (
        (data[:-1], "not a message of Protobuf: it breaks off"),
        (data + b"\x00\x01", "not a message of Protobuf: a field has no number"),
        (data + b"\x0c", "not a message of Protobuf: a field is written in a way that Protobuf does not have"),
        (data + b"\x08" + b"\xff" * 10, "not a message of Protobuf: an integer is longer than 64 bits"),
        (data.replace(b"on", b"\xff\xff"), "not UTF-8 at byte 0"),
        (b"\0\0\0", "not a message of Protobuf: it breaks off"),
    ):
        decoder = decoder_of(DEFINITION, [])
        decoder.decode_pieces([damaged], 1)
        assert decoder.take_dead_letters() == [(1, reason, damaged)]
    with pytest.raises(UnreadableStreamError, match="the message at byte 0 has 99999999999 bytes"):
        decoder_of(DEFINITION, []).decode(write_length(99_999_999_999))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"message": "net.Flow"}, 'the descriptor has no message "net.Flow"; it has .*net.proto3.Record'),
        ({"descriptor": "base64:AAAA"}, "the descriptor cannot be read: a field has no number"),
        ({"descriptor": "base64:?"}, "DESCRIPTOR is not written in base 64"),
        ({"unnest": FieldPath(("a",))}, 'UNNEST has the field "a", which is no message'),
        ({"unnest": FieldPath(("in", "y"))}, 'UNNEST has the field "y", which its message does not have'),
        ({"unnest": FieldPath(("in", 1))}, "UNNEST has the position 1 of what is not repeated"),
    ],
)
def test_a_descriptor_that_cannot_be_used_is_refused(change: dict[str, Any], reason: str) -> None:
    assert DEFINITION.format is not None
    with pytest.raises(UnreadableStreamError, match=reason):
        decoder_of(replace(DEFINITION, format=replace(DEFINITION.format, **change)), [])
