"""Which attributes of a stream's edges are known: those that patterns read come first, with any names that edges invent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from graphtide_core.formats import CSV, JSON_LINES, StreamFormat
from graphtide_core.ports.log import Message
from graphtide_ingestion.application.stream_schemas import StreamSchemas
from graphtide_ingestion.domain.body_reading import BodyReader
from graphtide_log.memory import MemoryLog
from graphtide_testing.wire_examples import PATTERN
from graphtide_wire import control
from graphtide_wire.reads_form import LookbackForm, ReadsForm
from graphtide_wire.stream_schema import MOST_ATTRIBUTES, decode_schema, merge
from graphtide_wire.topics import Topics
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_wire.stream_schema import Kind

TOPICS = Topics()
INVENTED: dict[str, Kind] = {f"n{number}": "integer" for number in range(MOST_ATTRIBUTES)}
EDGE = {"ts": 1, "src": "a", "dst": "b", "label": "x"}


@pytest.fixture
def log() -> MemoryLog:
    log = MemoryLog()
    log.admin().ensure(TOPICS.of_deployment())
    return log


@pytest.fixture
def schemas(log: MemoryLog) -> Iterator[StreamSchemas]:
    found = StreamSchemas(log, TOPICS)
    found.open()
    yield found
    found.close()


def register(log: MemoryLog, schemas: StreamSchemas, *attributes: str) -> None:
    reads = ReadsForm(("flows",), LookbackForm("10s"), None, attributes)
    value = control.encode_pattern(replace(PATTERN, stream="flows", reads=reads))
    log.writer().write([Message(TOPICS.patterns, PATTERN.name.encode(), value)])
    schemas.step()


def body(format: StreamFormat, attributes: dict[str, Kind]) -> bytes:
    edge = {**EDGE, **dict.fromkeys(attributes, 7)}
    if format is JSON_LINES:
        return json.dumps(edge).encode() + b"\n"
    return ",".join(edge).encode() + b"\n" + ",".join(map(str, edge.values())).encode() + b"\n"


def read_schema(schemas: StreamSchemas, format: StreamFormat, attributes: dict[str, Kind]) -> dict[str, Kind]:
    """Return what is known of the stream after a body."""
    reader = BodyReader(format, types=schemas.of("flows"))
    reader.push(body(format, attributes))
    reader.finish()
    for message in schemas.seen("flows", reader.seen):
        assert len(decode_schema(message.key, message.value).attributes) <= MOST_ATTRIBUTES
    return dict(schemas.of("flows").seen)


@pytest.mark.parametrize("format", [JSON_LINES, CSV])
def test_what_patterns_read_has_room_in_an_edge_with_a_thousand_invented_names(
    log: MemoryLog, schemas: StreamSchemas, format: StreamFormat
) -> None:
    register(log, schemas, "amount")
    found = read_schema(schemas, format, {**INVENTED, "amount": "integer"})
    assert (len(found), found["amount"]) == (MOST_ATTRIBUTES, "integer")


@pytest.mark.parametrize("format", [JSON_LINES, CSV])
def test_invented_names_make_room_for_what_a_later_pattern_reads(
    log: MemoryLog, schemas: StreamSchemas, format: StreamFormat
) -> None:
    assert read_schema(schemas, format, INVENTED) == INVENTED
    assert "amount" not in read_schema(schemas, format, {"amount": "integer"})
    register(log, schemas, "amount")
    found = read_schema(schemas, format, {"amount": "integer"})
    assert (len(found), found["amount"]) == (MOST_ATTRIBUTES, "integer")


def test_another_instance_makes_the_same_room(log: MemoryLog, schemas: StreamSchemas) -> None:
    register(log, schemas, "amount")
    other = StreamSchemas(log, TOPICS)
    other.open()
    other.seen("flows", INVENTED)
    log.writer().write(schemas.seen("flows", {"amount": "integer"}))
    other.step()
    assert other.of("flows").seen["amount"] == "integer"
    other.close()


def test_that_names_are_left_out_is_logged_once_for_a_stream(
    schemas: StreamSchemas, capsys: pytest.CaptureFixture[str]
) -> None:
    schemas.seen("flows", INVENTED)
    assert "attributes.left_out" not in capsys.readouterr().out
    for name in ("one", "two"):
        schemas.seen("flows", {name: "integer"})
    assert capsys.readouterr().out.count("attributes.left_out") == 1


def test_more_read_attributes_than_a_schema_has_are_bounded() -> None:
    many: dict[str, Kind] = {f"r{number}": "string" for number in range(2 * MOST_ATTRIBUTES)}
    assert len(merge(INVENTED, many, read=many.keys())) == MOST_ATTRIBUTES
