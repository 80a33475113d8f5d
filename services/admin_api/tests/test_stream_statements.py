"""STREAM statements are registered, replaced, shown and deleted; a wrong text is refused at its place."""

from __future__ import annotations

import json
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import TopicPartition
from graphtide_query import parse_streams
from graphtide_wire.stream_definition import definition_of, encode_definition
from graphtide_wire.stream_schema import SchemaRecord, encode_schema, schema_key
from graphtide_wire.stream_statement import StatementRecord, decode_statement, encode_statement, statement_key, version_key
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from graphtide_core.ports.log import Log

    from conftest import Deployment

STREAM = "/api/v1/streams/flows"
TEXT = "STREAM flows EDGE (source.ip)-[proto]->(destination.ip) AT ts IN s // of Suricata"
OTHER = "STREAM flows EVENT kind AT ts IN ms"


def list_written(deployment: Deployment) -> list[StatementRecord | None]:
    """Return all statements that were ever written; each is written under the key of its version, too."""
    reader = deployment.log.reader(None)
    reader.assign({TopicPartition(Topics().statements, 0): 0})
    found = [
        (each.key, decode_statement(each.key, each.value) if each.value is not None else None) for each in reader.poll(0, 1000)
    ]
    versions = [record for key, record in found if key is not None and b"@" in key]
    last = [record for key, record in found if key is not None and b"@" not in key]
    assert versions == last
    return last


def test_a_statement_makes_its_stream_and_is_shown_as_text_and_as_json(deployment: Deployment) -> None:
    answer = deployment.http.put(STREAM, json={"text": TEXT})

    assert answer.status_code == 201
    shown = deployment.http.get(STREAM).json()
    assert answer.json() == shown
    assert (shown["name"], shown["partitions"], shown["end"]) == ("flows", 4, 0)
    assert (shown["statement"]["version"], shown["statement"]["text"]) == (1, TEXT)
    (definition,) = parse_streams(TEXT)
    assert shown["statement"]["definition"] == json.loads(encode_definition(definition))
    (record,) = list_written(deployment)
    assert record is not None
    assert record.definition is not None
    assert (record.text, definition_of(record.definition)) == (TEXT, definition)


def test_another_text_is_a_new_version_and_the_same_one_changes_nothing(deployment: Deployment) -> None:
    answers = [deployment.http.put(STREAM, json={"text": text}) for text in (TEXT, TEXT, OTHER, TEXT)]

    assert [each.status_code for each in answers] == [201, 200, 200, 200]
    assert [each.json()["statement"]["version"] for each in answers] == [1, 1, 2, 3]
    assert [record.version for record in list_written(deployment) if record is not None] == [1, 2, 3]


@pytest.mark.parametrize("clause", ["LATENESS 5s", "CLOCK live", "ID k DUPLICATES update", "ID k DUPLICATES error"])
def test_settings_of_a_stream_are_taken(deployment: Deployment, clause: str) -> None:
    answer = deployment.http.put(STREAM, json={"text": f"STREAM flows EDGE (a)-[b]->(c) AT ts {clause}"})
    assert answer.status_code == 201, answer.text


def test_a_statement_is_deleted_alone_and_the_next_one_has_the_next_number(deployment: Deployment) -> None:
    assert deployment.http.delete(f"{STREAM}/statement").status_code == 404
    deployment.http.put(STREAM, json={"text": TEXT})
    assert deployment.http.delete(f"{STREAM}/statement").status_code == 204
    shown = deployment.http.get(STREAM).json()
    assert (shown["name"], shown["statement"]) == ("flows", None)
    assert deployment.http.delete(f"{STREAM}/statement").status_code == 404
    answer = deployment.http.put(STREAM, json={"text": TEXT})
    assert (answer.status_code, answer.json()["statement"]["version"]) == (201, 3)
    assert [(record.version, record.is_removed) for record in list_written(deployment) if record is not None] == [
        (1, False), (2, True), (3, False),
    ]  # fmt: skip


def test_a_feature_over_an_attribute_that_the_stream_never_had_gives_a_warning(deployment: Deployment) -> None:
    text = "STREAM flows EDGE (src)-['flow']->(dst) AT ts FEATURE sent = sum({}) PER src OVER 1m"
    assert deployment.http.put(STREAM, json={"text": text.format("sise")}).json()["warnings"] == []

    seen = SchemaRecord("flows", "seen", {"size": "integer"})
    deployment.write(Topics().schemas, schema_key("flows", "seen"), encode_schema(seen))
    warning = "feature 'sent': the stream has no attribute 'sise'; did you mean size?"
    deployment.until(lambda: deployment.http.get(STREAM).json()["warnings"] == [warning])

    assert deployment.http.put(STREAM, json={"text": text.format("size")}).json()["warnings"] == []
    stated = text.format("sise").replace("AT ts", "SET bytes = size AT ts")
    warning = "feature 'sent': the stream has no attribute 'sise'"
    assert deployment.http.put(STREAM, json={"text": stated}).json()["warnings"] == [warning]
    assert deployment.http.put(STREAM, json={"text": stated.replace("SET bytes", "SET sise")}).json()["warnings"] == []


def test_a_stream_without_a_statement_is_shown_without_one(deployment: Deployment) -> None:
    deployment.log.admin().ensure(Topics().of_stream(StreamName("flows")))
    assert deployment.http.get(STREAM).json()["statement"] is None


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("", "the text holds no statement"),
        (f"{TEXT}\n{OTHER.replace('flows', 'logs')}", "one STREAM statement, this text has 2: flows, logs"),
        (f"{TEXT}\nPATTERN p MATCH (a)-[x]->(b) ON flows WINDOW 10", r"patterns beside the statement \(p\)"),
        ("PATTERN p MATCH (a)-[x]->(b) ON flows WINDOW 10", r"patterns beside the statement \(p\)"),
        ("STREAM flows FORMAT avro (SCHEMA 'a.avsc') EDGE (a)-[b]->(c) AT ts IN s", "SCHEMA 'a.avsc' is a file"),
        (
            "STREAM flows EDGE (a)-[b]->(c) AT ts UNIT s",
            "counts times in s, and the streams of this deployment in ms: write UNIT ms",
        ),
    ],
    ids=[
        "nothing",
        "two statements",
        "a pattern too",
        "a pattern",
        "a format that services do not read",
        "another unit",
    ],
)
def test_what_is_not_one_statement_is_refused(empty_deployment: Deployment, text: str, detail: str) -> None:
    answer = empty_deployment.http.put(STREAM, json={"text": text})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-statement")
    with pytest.raises(AssertionError, match=detail):
        raise AssertionError(answer.json()["detail"])
    assert list_written(empty_deployment) == []


def test_an_error_has_its_place_and_a_hint(empty_deployment: Deployment) -> None:
    answer = empty_deployment.http.put(STREAM, json={"text": "STREAM flows\nEDGE (src)-[kind]->(dst)\nATT ts IN s"})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "invalid-statement")
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert (problem["line"], problem["column"], problem["source_line"]) == (3, 1, "ATT ts IN s")
    assert problem["expected"] or problem["hint"]


def test_the_statement_of_another_stream_is_refused(empty_deployment: Deployment) -> None:
    answer = empty_deployment.http.put("/api/v1/streams/logs", json={"text": TEXT})
    assert (answer.status_code, answer.json()["code"]) == (422, "name-differs")
    assert answer.json()["detail"] == "the statement is of stream 'flows', not of 'logs'"


@pytest.mark.parametrize("name", ["Flows", "a.b"])
def test_a_stream_that_takes_no_records_has_no_statement(empty_deployment: Deployment, name: str) -> None:
    answer = empty_deployment.http.put(f"/api/v1/streams/{name}", json={"text": TEXT.replace("flows", f"`{name}`")})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-stream")


def test_the_stream_of_a_view_has_no_statement(deployment: Deployment) -> None:
    view = "GRAPH VIEW flows AS ( r(x, y) <- a(x, y). ON s WINDOW(1h) )"
    assert deployment.http.post("/api/v1/patterns", json={"text": view}).status_code == 201
    answer = deployment.http.put(STREAM, json={"text": TEXT})
    assert (answer.status_code, answer.json()["code"]) == (409, "stream-exists")


def test_only_an_administrator_registers_one(empty_deployment: Deployment) -> None:
    for key, status in (("writer", 403), ("reader", 403), ("", 401)):
        assert empty_deployment.http.put(STREAM, json={"text": TEXT}, headers={"X-API-Key": key}).status_code == status


def test_a_statement_goes_with_its_stream_and_versions_continue(deployment: Deployment) -> None:
    deployment.http.put(STREAM, json={"text": TEXT})

    assert deployment.http.delete(STREAM).status_code == 204
    deployment.until(lambda: deployment.http.get(STREAM).status_code == 404)
    assert list_written(deployment)[-1] is None

    answer = deployment.http.put(STREAM, json={"text": TEXT})
    assert (answer.status_code, answer.json()["statement"]["version"]) == (201, 2)


def test_a_record_that_cannot_be_read_counts_as_none(deployment: Deployment) -> None:
    deployment.http.put(STREAM, json={"text": TEXT})
    deployment.write(Topics().statements, statement_key("flows"), b"{")
    deployment.until(lambda: deployment.http.get(STREAM).json()["statement"] is None)
    answer = deployment.http.put(STREAM, json={"text": TEXT})
    assert (answer.status_code, answer.json()["statement"]["version"]) == (201, 2)


def test_a_statement_that_another_process_wrote_is_shown(deployment: Deployment) -> None:
    deployment.http.put(STREAM, json={"text": TEXT})
    (record,) = list_written(deployment)
    assert record is not None
    (definition,) = parse_streams(OTHER)
    later = StatementRecord.of(OTHER, definition, 7, record.updated_at)
    for key in (statement_key("flows"), version_key("flows", 7)):
        deployment.write(Topics().statements, key, encode_statement(later))
    deployment.until(lambda: deployment.http.get(STREAM).json()["statement"]["version"] == 7)
    assert deployment.http.put(STREAM, json={"text": TEXT}).json()["statement"]["version"] == 8


def test_statements_that_two_processes_register_at_once_have_versions_of_their_own(
    deployment: Deployment, serving: Callable[[Log], AbstractContextManager[Deployment]]
) -> None:
    with serving(deployment.log) as other:
        other.until(lambda: other.http.get("/readyz").status_code == 200)

        def register(at: Deployment, unit: str) -> None:
            for place in range(5):
                text = f"STREAM flows EVENT kind{place} AT ts IN {unit}"
                while at.http.put(STREAM, json={"text": text}).status_code == 503:
                    pass

        threads = [Thread(target=register, args=each) for each in ((deployment, "s"), (other, "ms"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [record.version for record in list_written(deployment) if record is not None] == list(range(1, 11))


def test_a_statement_with_tables_is_kept_with_them_and_names_no_file_outside_of_their_folder(deployment: Deployment) -> None:
    text = "TABLE risk FROM '{}' KEY id STREAM flows JOIN risk ON src = risk.id SET score = risk.score"
    outside = deployment.http.put(STREAM, json={"text": text.format("/etc/passwd")})
    assert (outside.status_code, outside.json()["code"]) == (422, "invalid-statement")
    assert "'/etc/passwd' is not in the folder of tables" in outside.json()["detail"]
    unknown = deployment.http.put(STREAM, json={"text": "STREAM flows JOIN risk ON src = risk.id SET score = risk.score"})
    assert (unknown.status_code, unknown.json()["detail"]) == (422, "there is no table 'risk'")
    assert (unknown.json()["line"], unknown.json()["column"]) == (1, 19)
    kept = deployment.http.put(STREAM, json={"text": text.format("sub/risk.csv")})
    assert kept.status_code == 201
    definition = kept.json()["statement"]["definition"]
    assert definition["tables"] == [{"name": "risk", "file": "sub/risk.csv", "key": "id"}]
    assert [join["table"] for join in definition["joins"]] == ["risk"]
