"""Avro that a STREAM statement reads is the same at every door: files, history, raw topics; and its schema travels with it."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING

import pytest
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
VALUES = [{"at": 1_000 + place, "from": "a", "to": (place % 2, "b" if place % 2 else None), "n": place} for place in range(4)]
TEXT = "STREAM flows FORMAT avro (SCHEMA 'flow.avsc') EDGE (from)-[:to]->(to) AT at IN s SET n = n"
EXPECTED = [("1", 1_001, "a", "b", 1), ("3", 1_003, "a", "b", 3)]


@pytest.fixture
def statement(tmp_path: Path) -> Path:
    """Write the statement, and its schema beside it."""
    (tmp_path / "flow.avsc").write_text(SCHEMA)
    (tmp_path / "flows.gts").write_text(TEXT)
    return tmp_path / "flows.gts"


def test_files_history_and_messages_give_the_same(statement: Path, tmp_path: Path) -> None:
    definition = Stream.from_file(statement).definition
    file = tmp_path / "flows.avro"
    file.write_bytes(avro.write_file(SCHEMA, VALUES, "snappy"))
    reader = open_stream(file, ReaderOptions(attributes=("n",), record_options=RecordOptions(stream=(definition,))))
    rows = [row for batch in reader.batches() for row in batch.to_records()]
    assert [(row["id"], row["ts"], row["src"], row["dst"], row["attributes"]["n"]) for row in rows] == EXPECTED
    assert [(letter.line, letter.reason) for letter in reader.take_dead_letters()] == [(1, "no target"), (3, "no target")]
    assert (reader.place, reader.records) == ("record", 4)

    (piece,) = statement_files(str(file), definition, "avro").pieces()
    piece = pickle.loads(pickle.dumps(piece))  # noqa: S301 - as executors get it
    rows = [row for batch in piece.batches(Reading(Symbols(), ("n",), definition.unit)) for row in batch.to_records()]
    assert [(row["id"], row["ts"], row["src"], row["dst"], row["attributes"]["n"]) for row in rows] == EXPECTED

    stage = SequencingStage()
    stage.state(print_stream(definition), 1)
    for value in VALUES:
        stage.send(avro.write_message(SCHEMA, 1, value))
    found = stage.fall_silent().ordered()
    assert [(each["id"], each["ts"], each["src"], each["dst"], each["attributes"]["n"]) for each in found] == EXPECTED
    assert [letter.raw for letter in stage.letters()] == [avro.write_message(SCHEMA, 1, value) for value in VALUES[::2]]


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
