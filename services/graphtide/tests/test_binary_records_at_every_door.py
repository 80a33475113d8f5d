"""Avro and Protobuf are the same at every door, files, history and raw topics; and what describes them travels along."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from graphtide import Stream
from graphtide.cli.arguments import read_statements
from graphtide.readers import ReaderOptions, open_stream
from graphtide.record_options import RecordOptions
from graphtide_backfill.application.pieces import Reading
from graphtide_backfill.bootstrap import statement_files
from graphtide_core.errors import InvalidPatternError, UnreadableStreamError
from graphtide_native.records import Symbols
from graphtide_ordering.statements import check_decodable
from graphtide_query import parse_streams, print_stream
from graphtide_testing.oracles import avro
from graphtide_testing.sequencing_stage import SequencingStage

if TYPE_CHECKING:
    from pathlib import Path

    from graphtide_core.stream_definition import StreamDefinition

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "flow",
        "fields": [
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "from", "type": "string"},
            {"name": "to", "type": ["null", "string"]},
            {"name": "n", "type": "long"},
        ],
    }
)
VALUES: list[dict[str, Any]] = [
    {"at": 1_000 + place, "from": "a", "to": (place % 2, "b" if place % 2 else None), "n": place} for place in range(4)
]
TEXT = "STREAM flows FORMAT avro (SCHEMA 'flow.avsc') EDGE (from)-[:to]->(to) AT at IN s SET n = n"
EXPECTED = [("1", 1_001, "a", "b", 1), ("3", 1_003, "a", "b", 3)]


@pytest.fixture
def statement(tmp_path: Path) -> Path:
    """Write the statement, and its schema beside it."""
    (tmp_path / "flow.avsc").write_text(SCHEMA)
    (tmp_path / "flows.gts").write_text(TEXT)
    return tmp_path / "flows.gts"


def read_everywhere(definition: StreamDefinition, file: Path, messages: list[bytes]) -> list[list[tuple[object, ...]]]:
    """Return what a file, history and a raw topic give, each beside its rejected records."""
    reader = open_stream(file, ReaderOptions(attributes=("n",), record_options=RecordOptions(stream=(definition,))))
    of_file = [row for batch in reader.batches() for row in batch.to_records()]
    assert [(letter.line, letter.reason) for letter in reader.take_dead_letters()] == [(1, "no target"), (3, "no target")]
    assert (reader.place, reader.records) == ("record", 4)
    assert definition.format is not None
    (piece,) = statement_files(str(file), definition, definition.format.name).pieces()
    piece = pickle.loads(pickle.dumps(piece))  # noqa: S301 - as executors get it
    reading = Reading(Symbols(), ("n",), definition.unit)
    of_history = [row for batch in piece.batches(reading) for row in batch.to_records()]
    stage = SequencingStage()
    stage.state(print_stream(definition), 1)
    for message in messages:
        stage.send(message)
    of_topic = stage.fall_silent().ordered()
    assert [letter.raw for letter in stage.letters()] == messages[::2]
    return [
        [(row["id"], row["ts"], row["src"], row["dst"], row["attributes"]["n"]) for row in rows]
        for rows in (of_file, of_history, of_topic)
    ]


def test_avro(statement: Path, tmp_path: Path) -> None:
    file = tmp_path / "flows.avro"
    file.write_bytes(avro.write_file(SCHEMA, VALUES, "snappy"))
    messages = [avro.write_message(SCHEMA, 1, value) for value in VALUES]
    assert read_everywhere(Stream.from_file(statement).definition, file, messages) == [EXPECTED] * 3


def test_protobuf(tmp_path: Path) -> None:
    described = descriptor_pb2.FileDescriptorSet()
    file = described.file.add(name="flow.proto", package="net", syntax="proto3")
    fields = file.message_type.add(name="Flow").field
    for number, (name, kind) in enumerate((("at", 3), ("from", 9), ("to", 9), ("n", 3)), 1):
        fields.add(name=name, number=number, type=kind, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    flow = message_factory.GetMessageClass(pool.FindMessageTypeByName("net.Flow"))
    messages = [flow(**{**each, "to": each["to"][1]}).SerializeToString() for each in VALUES]
    (tmp_path / "flow.desc").write_bytes(described.SerializeToString())
    stated = "FORMAT protobuf (DESCRIPTOR 'flow.desc', MESSAGE 'net.Flow')"
    (tmp_path / "flows.gts").write_text(f"STREAM flows {stated} EDGE (from)-[:to]->(to) AT at IN ms SET n = n")
    (tmp_path / "flows.binpb").write_bytes(b"".join(bytes([len(each)]) + each for each in messages))
    definition = Stream.from_file(tmp_path / "flows.gts").definition
    assert read_everywhere(definition, tmp_path / "flows.binpb", messages) == [EXPECTED] * 3
    (tmp_path / "flow.desc").unlink()
    with pytest.raises(UnreadableStreamError, match=r"flow\.desc: no such file"):
        Stream.from_file(tmp_path / "flows.gts")


def test_what_is_in_the_file_of_a_schema_travels_with_the_statement(statement: Path, tmp_path: Path) -> None:
    (definition,), _ = read_statements(statement)
    assert definition == Stream.from_file(statement).definition
    assert definition.format is not None
    assert definition.format.schema == SCHEMA
    assert Stream(print_stream(definition)).definition == definition
    check_decodable(definition)
    (tmp_path / "flow.avsc").write_text("long")
    with pytest.raises(InvalidPatternError, match="has no schema of Avro"):
        Stream.from_file(statement)
    (tmp_path / "flow.avsc").unlink()
    with pytest.raises(UnreadableStreamError, match=r"flow\.avsc: no such file"):
        Stream.from_file(statement)


def test_a_server_refuses_a_schema_that_it_cannot_read() -> None:
    def check(schema: str) -> None:
        quoted = schema.replace("\\", "\\\\").replace("'", "\\'")

        (definition,) = parse_streams(TEXT.replace("flow.avsc", quoted))
        check_decodable(definition)

    check(SCHEMA)
    with pytest.raises(UnreadableStreamError, match=r"SCHEMA .flow\.avsc. is a file, which is not here"):
        check("flow.avsc")
    with pytest.raises(UnreadableStreamError, match="the schema is not JSON"):
        check("{")
    (definition,) = parse_streams("STREAM s FORMAT protobuf (DESCRIPTOR 'f.desc', MESSAGE 'n.F') EVENT k AT t")
    with pytest.raises(UnreadableStreamError, match=r"DESCRIPTOR .f\.desc. is a file, which is not here"):
        check_decodable(definition)
