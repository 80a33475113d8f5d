"""Bodies of Avro and Protobuf give the edges that the same messages give in the raw topic, however they arrive in blocks."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from graphtide_core.errors import UnreadableStreamError
from graphtide_ingestion.bootstrap import bootstrap
from graphtide_ingestion.domain.message_reading import AvroFile, BodyParts, DelimitedMessages
from graphtide_ingestion.settings import Settings
from graphtide_log.memory import MemoryLog
from graphtide_testing.oracles import avro
from graphtide_testing.sequencing_stage import SequencingStage
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from httpx2 import Response

EDGES = "/api/v1/streams/flows/edges"
FILE, MESSAGE, PROTO = "application/avro", "avro/binary", "application/x-protobuf"
SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "flow",
        "fields": [
            {"name": "at", "type": "long"},
            {"name": "from", "type": "string"},
            {"name": "to", "type": ["null", "string"]},
        ],
    }
)
STATED = f"STREAM flows FORMAT avro (SCHEMA '{SCHEMA}') EDGE (from)-[:to]->(to) AT at IN ms"
OF_REGISTRY = "STREAM flows FORMAT avro EDGE (from)-[:to]->(to) AT at IN ms"
VALUES: list[dict[str, Any]] = [
    {"at": number, "from": f"a{number}", "to": (1, "b") if number % 3 else (0, None)} for number in range(20)
]
GOOD = [("b", number) for number in range(20) if number % 3]


def _describe() -> descriptor_pb2.FileDescriptorSet:
    described = descriptor_pb2.FileDescriptorSet()
    file = described.file.add(name="flow.proto", package="net", syntax="proto3")
    fields = file.message_type.add(name="Flow").field
    for number, (name, kind) in enumerate((("at", 3), ("from", 9), ("to", 9)), 1):
        fields.add(name=name, number=number, type=kind, label=1)
    return described


DESCRIBED = _describe()
PROTOBUF = (
    f"STREAM flows FORMAT protobuf (DESCRIPTOR 'base64:{base64.b64encode(DESCRIBED.SerializeToString()).decode()}', "
    "MESSAGE 'net.Flow') EDGE (from)-[:to]->(to) AT at IN ms"
)


def proto(at: int, source: str, target: str) -> bytes:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(DESCRIBED.file[0])
    flow = message_factory.GetMessageClass(pool.FindMessageTypeByName("net.Flow"))(at=at)
    setattr(flow, "from", source)
    flow.to = target
    return bytes(flow.SerializeToString())


MESSAGES = [proto(number, f"a{number}", "b" if number % 3 else "") for number in range(20)]


def delimit(messages: Sequence[bytes]) -> bytes:
    return b"".join(bytes([len(each)]) + each for each in messages)


def send(statement: str, *bodies: bytes, kind: str) -> tuple[list[Response], SequencingStage]:
    stage = SequencingStage(log=MemoryLog(), most_records=20)
    stage.state(statement, 1)
    settings = Settings(prefix="test", streams=("flows",), roles=frozenset({"http"}), insecure=True, burst=10_000)
    with TestClient(bootstrap(stage.log, settings).app) as client:
        answers = [client.post(EDGES, content=body, headers={"content-type": kind}) for body in bodies]
    return answers, stage.fall_silent()


def edges(stage: SequencingStage) -> list[tuple[object, object]]:
    return [(each["dst"], each["ts"]) for each in stage.ordered()]


@pytest.mark.parametrize("statement", [STATED, OF_REGISTRY])
def test_an_avro_file_gives_its_edges_and_a_letter_for_each_bad_record(statement: str) -> None:
    (answer,), stage = send(statement, avro.write_file(SCHEMA, VALUES, "deflate"), kind=FILE)
    assert answer.status_code == 202
    assert (answer.json()["accepted"], answer.json()["rejected"]) == (13, 7)
    assert [each["line"] for each in answer.json()["errors"]] == [1, 4, 7, 10, 13, 16, 19]
    assert edges(stage) == GOOD
    assert [each["id"] for each in stage.ordered()] == [str(number) for _, number in GOOD]
    assert [letter.source.line for letter in stage.letters()] == [1, 4, 7, 10, 13, 16, 19]


def test_each_body_is_a_message_of_avro_or_protobuf() -> None:
    answers, stage = send(STATED, *(avro.write_message(SCHEMA, 1, value) for value in VALUES), kind=MESSAGE)
    assert {each.status_code for each in answers} == {202, 422}
    assert edges(stage) == GOOD
    _, other = send(PROTOBUF, *MESSAGES, kind=PROTO)
    assert edges(other) == GOOD
    assert [letter.raw for letter in other.letters()] == MESSAGES[::3]


@pytest.mark.parametrize("kind", ["encoding=delimited", 'proto=net.Flow; Encoding = "delimited"'])
def test_a_body_of_protobuf_may_be_many_messages(kind: str) -> None:
    body = [*MESSAGES, b"\x08", b""]
    (answer,), stage = send(PROTOBUF, delimit(body), kind=f"{PROTO}; {kind}")
    assert (answer.json()["accepted"], answer.json()["rejected"]) == (13, 9)
    assert [each["line"] for each in answer.json()["errors"]] == [1, 4, 7, 10, 13, 16, 19, 21, 22]
    assert edges(stage) == GOOD
    assert [letter.source.line for letter in stage.letters()] == [1, 4, 7, 10, 13, 16, 19, 21, 22]
    assert stage.letters()[-2].raw == b"\x08"


@pytest.mark.parametrize(
    ("statement", "kind", "body", "detail"),
    [
        (STATED, FILE, avro.write_file(SCHEMA, VALUES)[:-1], "the Avro file breaks off behind byte"),
        (STATED, FILE, b"Obj", "neither an Avro file nor a message"),
        (STATED, FILE, b"", "neither an Avro file nor a message"),
        (STATED, FILE, avro.write_file(SCHEMA, VALUES)[:-1] + b"x", "is damaged: its mark is not that of the file"),
        (
            OF_REGISTRY,
            MESSAGE,
            avro.write_message(SCHEMA, 7, VALUES[1]),
            "a message of Avro needs its schema here: state SCHEMA",
        ),
        (PROTOBUF, f"{PROTO};encoding=delimited", delimit(MESSAGES) + b"\x05a", "the message at byte 187 breaks off"),
        (PROTOBUF, f"{PROTO};encoding=delimited", delimit(MESSAGES) + b"\xff" * 11, "at byte 187 is no length of a message"),
        (
            PROTOBUF,
            f"{PROTO};encoding=delimited",
            b"\xff\xff\xff\x7f",
            "the message at byte 0 has 268,435,455 bytes; at most 524,288",
        ),
    ],
)
def test_a_body_that_cannot_be_cut_is_refused_with_the_place(statement: str, kind: str, body: bytes, detail: str) -> None:
    (answer,), _ = send(statement, body, kind=kind)
    assert (answer.status_code, answer.json()["code"]) == (400, "unreadable-body")
    assert detail in answer.json()["detail"]


def test_damage_in_a_block_is_named_by_its_place_in_the_body() -> None:
    whole = avro.write_file(SCHEMA, VALUES)
    # The last block has two records; the length of a text in it becomes negative.
    place = whole.rindex(b"a18") - 1
    body = whole[:place] + b"\x01" + whole[place + 1 :]
    (answer,), stage = send(STATED, body, kind=FILE)
    assert answer.status_code == 400
    assert "record 1 of the block at byte" in answer.json()["detail"]
    assert f"{whole.rindex(b'a18') - 4:,}" in answer.json()["detail"]
    assert edges(stage) == []


def test_a_type_that_names_another_format_than_the_statement_is_refused() -> None:
    (answer,), _ = send(PROTOBUF, b"Obj\x01", kind=FILE)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported-media-type")
    assert "is avro, and the statement of the stream reads protobuf" in answer.json()["detail"]
    assert "application/x-protobuf" in answer.headers["accept"]
    (answer,), _ = send("STREAM flows EDGE (a)-[b]->(c) AT at IN ms", b"Obj\x01", kind=FILE)
    assert answer.status_code == 415
    assert "no statement of the stream states one" in answer.json()["detail"]


def cut(parts: BodyParts, body: bytes, places: list[int]) -> list[bytes]:
    bounds = sorted({0, len(body), *(place % (len(body) + 1) for place in places)})
    found = [part.value for start, end in pairwise(bounds) for part in parts.push(body[start:end])]
    return found + [part.value for part in parts.finish()]


@given(st.lists(st.binary(max_size=300), max_size=8), st.lists(st.integers(0, 3_000), max_size=6))
def test_messages_with_lengths_are_cut_where_they_end(messages: list[bytes], places: list[int]) -> None:
    def length(number: int) -> bytes:
        return bytes([number]) if number < 128 else bytes([number & 127 | 128, number >> 7])

    body = b"".join(length(len(each)) + each for each in messages)
    assert cut(DelimitedMessages(300), body, places) == messages


@given(st.integers(0, 12), st.integers(1, 4), st.integers(60, 900), st.lists(st.integers(0, 3_000), max_size=6))
def test_an_avro_file_is_cut_into_files_of_its_blocks(count: int, size: int, most: int, places: list[int]) -> None:
    body = avro.write_file(SCHEMA, VALUES[:count], size=size)
    head = body.index(b"avro.schema") + len(SCHEMA) + 64
    files = cut(AvroFile(most + head), body, places)
    assert [value for each in files for value in avro.read_file(each)] == avro.read_file(body)
    assert all(len(each) <= most + 2 * head for each in files)


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=4), st.booleans())
def test_any_bytes_are_cut_or_refused(body: bytes, places: list[int], is_file: bool) -> None:
    parts: BodyParts = AvroFile(100) if is_file else DelimitedMessages(100)
    found: list[bytes] = []
    with suppress(UnreadableStreamError):
        found = cut(parts, b"Obj\x01" + body if is_file else body, places)
    assert sum(map(len, found)) <= (len(body) + 1) ** 2
