"""What is around an unnested record, and items by a field, are read as the oracle reads them, wherever in JSON they stand."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.ids import StreamName
from graphtide_core.predicate import Literal
from graphtide_core.record_expression import FieldPath, ItemWhere
from graphtide_core.record_format import RecordFormat
from graphtide_core.record_time import RecordTime
from graphtide_core.stream_definition import EventClause, SetAttribute, StreamDefinition
from graphtide_core.time import TimeUnit
from graphtide_native.records import StatementDecoder, Symbols
from graphtide_testing.oracles.record_decoding import decode_json
from graphtide_testing.oracles.stream_records import RefusedRecord, read_stream, unnest_surrounded
from graphtide_wire.stream_definition import encode_definition
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.edge import Edge
    from graphtide_core.event import Event
    from graphtide_core.record_expression import PathStep

quickly = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

VALUES = st.sampled_from(["u", "a", "-", 'é"\\\n', 7, 2.5, True, None, {"s": "deep"}, [1], {"s": 5}])
TAGS = st.lists(
    st.dictionaries(st.sampled_from(["key", "name", "value", "\u00e9"]), VALUES | st.sampled_from(["a", "b"]), max_size=3)
    | st.sampled_from([None, "a", [{"key": "a"}]]),
    max_size=4,
) | st.sampled_from([None, {"key": "a", "value": 1}])
PATHS: tuple[tuple[PathStep, ...], ...] = (
    ("x",),
    ("tags", ItemWhere("key", "a"), "value"),
    ("tags", ItemWhere("key", "a"), "value", "s"),
    ("tags", ItemWhere("name", 'é"\\\n'), "key"),
    ("tags", 1, "value"),
    ("tags", ItemWhere("é", "a"), "value"),
    ("tags", ItemWhere("key", "-"), "value"),
)


def shuffle(draw: st.DrawFn, fields: dict[str, Any]) -> dict[str, Any]:
    """Return some of the fields, in any order."""
    names = draw(st.permutations(sorted(fields)))
    return {name: fields[name] for name in names if draw(st.integers(0, 9))}


@st.composite
def records(draw: st.DrawFn) -> object:
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([None, 7, "text", []]))
    return {"ts": draw(st.integers(0, 9)), **shuffle(draw, {"x": draw(VALUES), "tags": draw(TAGS)})}


@st.composite
def documents(draw: st.DrawFn) -> object:
    def scope() -> dict[str, Any]:
        several = draw(st.lists(records(), max_size=3))
        listed = draw(st.sampled_from([several, [several, several[:1]], several[0] if several else None]))
        return shuffle(draw, {"x": draw(VALUES), "tags": draw(TAGS), "list": listed, "other": [1, {"list": [2]}]})

    def resource() -> dict[str, Any]:
        scopes = [scope() for _ in range(draw(st.integers(0, 3)))]
        inside = draw(st.sampled_from([scopes, [scopes], scopes[0] if scopes else 5]))
        return shuffle(draw, {"x": draw(VALUES), "tags": draw(TAGS), "in": inside})

    whole = [resource() for _ in range(draw(st.integers(0, 2)))]
    return draw(st.sampled_from([whole, resource(), {"in": {"list": whole}}]))


def definition_of(format: str, path: tuple[str | int, ...], levels: int) -> StreamDefinition:
    names = [(outer, steps) for outer in range(levels + 1) for steps in PATHS]
    sets = tuple(SetAttribute(f"n{number}", FieldPath(steps, outer)) for number, (outer, steps) in enumerate(names))
    return StreamDefinition(
        StreamName("s"),
        RecordFormat(format, unnest=FieldPath(path)),
        (EventClause(Literal("e")),),
        RecordTime(FieldPath(("ts",))),
        TimeUnit.MILLISECOND,
        sets=sets,
        nulls=("-",),
    )


def decoder_of(definition: StreamDefinition, format: str = "jsonl") -> StatementDecoder:
    names = [each.name for each in definition.sets]
    return StatementDecoder(Symbols(), names, encode_definition(definition), format=format, zones={}, keep_raw=True)


def read(
    definition: StreamDefinition, text: bytes, cuts: Sequence[float]
) -> tuple[list[dict[str, Any]], list[tuple[int, str]]]:
    decoder = decoder_of(definition)
    places = sorted({0, len(text), *(int(cut * len(text)) for cut in cuts)})
    rows = [row for start, end in pairwise(places) for row in decoder.decode(text[start:end]).to_records()]
    rows += decoder.finish().to_records()
    found = [{name: value for name, value in row["attributes"].items() if value is not None} for row in rows]
    return found, [(line, reason) for line, reason, _ in decoder.take_dead_letters()]


WAYS = st.sampled_from(
    [(("list",), 1), (("in", "list"), 1), (("in", "list"), 2), (("in", 0, "list"), 2), (("in", "list", 1), 2)]
)


@quickly
@given(WAYS, st.lists(documents(), min_size=1, max_size=3), st.lists(st.floats(0, 1), max_size=3), st.sampled_from([None, 1]))
def test_what_is_around_a_record(
    way: tuple[tuple[str | int, ...], int], texts: list[object], cuts: list[float], indent: int | None
) -> None:
    path, levels = way
    for format in ("json", "jsonl"):
        definition = definition_of(format, path, levels)
        written = [json.dumps(each, indent=indent if format == "json" else None, ensure_ascii=False) for each in texts]
        given_records = [each for text in texts for each in unnest_surrounded(decode_json(json.dumps(text)), FieldPath(path))]
        outcomes = read_stream(definition, given_records)
        rows, letters = read(definition, "\n".join(written).encode(), cuts)
        events = [each[0].record for each in outcomes if isinstance(each, tuple)]
        assert [repr(row) for row in rows] == [repr(like(row, each)) for row, each in zip(rows, events, strict=True)]
        assert len(letters) == sum(isinstance(each, RefusedRecord) for each in outcomes)


def like(row: dict[str, Any], event: Edge | Event) -> dict[str, Any]:
    """Return the attributes of an event, in the order of a row."""
    assert row.keys() == event.attributes.keys()
    return {name: event.attributes[name] for name in row}


OTLP = {
    "resourceSpans": [
        {
            "scopeSpans": [{"spans": [{"ts": 1, "x": "a"}, {"ts": 2, "x": "b"}], "scope": {"name": "lib"}}],
            "resource": {"attributes": [{"value": {"s": "web"}, "key": "service.name"}]},
        }
    ]
}


def test_a_record_knows_what_stands_behind_it() -> None:
    path = ("resourceSpans", "scopeSpans", "spans")
    service = FieldPath(("resource", "attributes", ItemWhere("key", "service.name"), "value", "s"), 2)
    sets = (SetAttribute("service", service), SetAttribute("scope", FieldPath(("scope", "name"), 1)))
    definition = StreamDefinition(
        StreamName("s"), RecordFormat("json", unnest=FieldPath(path)), (EventClause(Literal("e")),), sets=sets
    )
    rows, letters = read(definition, json.dumps([OTLP, OTLP], indent=1).encode(), [])
    assert rows == [{"service": "web", "scope": "lib"}] * 4
    assert letters == []


def test_an_object_around_records_that_is_not_json_makes_them_dead_letters() -> None:
    definition = definition_of("jsonl", ("list",), 1)
    rows, letters = read(definition, b'{"x": 1.2.3, "list": [{"ts": 1}]}\n{"x": 1, "list": [{"ts": 2}]}\n', [])
    assert [row["n7"] for row in rows] == [1]
    assert letters == [(1, "the object around it cannot be read")]


def test_other_formats_refuse_what_they_cannot_read() -> None:
    sets = (SetAttribute("n", FieldPath(("tags", ItemWhere("key", "a"), "value"))),)
    definition = StreamDefinition(StreamName("s"), None, (EventClause(Literal("e")),), sets=sets)
    for format in ("csv", "arrow", "zeek"):
        with pytest.raises(UnreadableStreamError, match=f"paths read JSON, Avro and Protobuf, not {format}"):
            decoder_of(definition, format)
