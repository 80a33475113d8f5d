"""Attributes of a stream can be declared, and are shown, declared or seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_wire.stream_schema import SchemaRecord, encode_schema, schema_key
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from conftest import Deployment

SCHEMA = "/api/v1/streams/s/schema"


def test_declared_and_seen_attributes_are_shown_together(deployment: Deployment) -> None:
    assert deployment.http.get(SCHEMA).json() == {"stream": "s", "attributes": [], "labels": {}}
    seen = SchemaRecord("s", "seen", {"zip": "integer", "n": "any"})
    deployment.write(Topics().schemas, schema_key("s", "seen"), encode_schema(seen))
    answer = deployment.http.put(SCHEMA, json={"attributes": {"zip": "string", "amount": "number"}})
    deployment.until(lambda: len(deployment.http.get(SCHEMA).json()["attributes"]) == 3)
    assert answer.status_code == 200
    assert deployment.http.get(SCHEMA).json()["attributes"] == [
        {"name": "amount", "type": "number", "source": "declared", "examples": []},
        {"name": "n", "type": "any", "source": "seen", "examples": []},
        {"name": "zip", "type": "string", "source": "declared", "examples": []},
    ]
    # None declared is none left.
    emitted = deployment.http.put(SCHEMA, json={"attributes": {}}).json()["attributes"]
    assert [(each["name"], each["source"]) for each in emitted] == [("n", "seen"), ("zip", "seen")]


@pytest.mark.parametrize(
    "attributes",
    [{"zip": "text"}, {"zip": "any"}, {"": "string"}, {"src": "string"}, {"op": "string"}, {"x" * 201: "string"}, []],
)
def test_what_is_not_a_declaration_is_refused(empty_deployment: Deployment, attributes: list[str] | dict[str, str]) -> None:
    answer = empty_deployment.http.put(SCHEMA, json={"attributes": attributes})
    assert answer.status_code == 422
    assert answer.json()["code"] == ("reserved-attribute" if {*attributes} & {"src", "op"} else "invalid-request")
    assert empty_deployment.http.get(SCHEMA).json()["attributes"] == []


def test_a_schema_of_what_is_not_a_stream_is_refused(deployment: Deployment) -> None:
    assert deployment.http.get("/api/v1/streams/No/schema").json()["code"] == "bad-stream"
    assert deployment.http.put("/api/v1/streams/No/schema", json={"attributes": {}}).json()["code"] == "bad-stream"
