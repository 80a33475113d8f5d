"""Definitions of streams as JSON: reading undoes writing, and what the model refuses is a damaged record."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ids import StreamName
from graphtide_core.predicate import Compare, Comparison, FunctionCall, Literal
from graphtide_core.record_expression import FieldPath
from graphtide_core.record_format import RecordFormat
from graphtide_core.record_time import EpochUnit, RecordTime
from graphtide_core.stream_definition import EdgeClause, EventClause, LabelledEnd, SetAttribute, StreamDefinition
from graphtide_core.time import Duration
from graphtide_testing.strategies.stream_definitions import stream_definitions
from graphtide_wire.stream_definition import decode_definition, encode_definition
from hypothesis import HealthCheck, given, settings

if TYPE_CHECKING:
    from typing import Any

FLOWS = StreamDefinition(
    StreamName("flows"),
    RecordFormat("json", unnest=FieldPath(("Records",))),
    (
        EdgeClause(LabelledEnd(FieldPath(("a", 0)), Literal("ip")), LabelledEnd(FieldPath(("b",)))),
        EventClause(FunctionCall("lower", (FieldPath(("k",)),)), sets=(SetAttribute("n", Literal(2.0)),)),
    ),
    RecordTime(FieldPath(("ts",)), EpochUnit.SECOND),
    where=Compare(Comparison.NOT_EQUAL, FieldPath(("k",)), Literal(2)),
    nulls=("-",),
    lateness=Duration(30, "s"),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(stream_definitions())
def test_reading_undoes_writing(definition: StreamDefinition) -> None:
    line = encode_definition(definition)
    assert b"\n" not in line
    assert decode_definition(line) == definition
    assert encode_definition(decode_definition(line)) == line


def test_a_line_stays_as_it_is() -> None:
    assert encode_definition(FLOWS) == (
        b'{"name":"flows","time":{"value":{"is":"path","steps":["ts"]},"unit":"s"},"unit":"ms",'
        b'"format":{"name":"json","unnest":["Records"]},"clauses":[{"gives":"edge",'
        b'"source":{"value":{"is":"path","steps":["a",0]},"label":{"is":"constant","value":"ip"}},'
        b'"target":{"value":{"is":"path","steps":["b"]}}},{"gives":"event",'
        b'"type":{"is":"call","function":"lower","arguments":[{"is":"path","steps":["k"]}]},'
        b'"sets":[["n",{"is":"constant","value":2.0}]]}],'
        b'"where":{"is":"operator","operator":"<>","operands":[{"is":"path","steps":["k"]},{"is":"constant","value":2}]},'
        b'"nulls":["-"],"lateness":"30s"}'
    )


def test_numbers_keep_their_kind() -> None:
    (_, event) = decode_definition(encode_definition(FLOWS)).clauses
    assert [type(each.value.value) for each in event.sets if isinstance(each.value, Literal)] == [float]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": ""}, "length"),
        ({"unit": "min"}, "Invalid enum value"),
        ({"unit": None}, "Expected"),
        ({"lateness": "soon"}, "is not a duration"),
        ({"lateness": "1us"}, "shorter than a tick"),
        ({"nulls": ["-", "-"]}, "NULL lists '-' twice"),
        ({"duplicates": "update"}, "DUPLICATES needs ID"),
        ({"format": {"name": "xlsx"}}, "there is no format"),
        ({"format": {"name": "json", "delimiter": ";"}}, "has no option DELIMITER"),
        ({"where": {"is": "path", "steps": []}}, "a path begins with"),
        ({"where": {"is": "call", "function": "now", "arguments": []}}, "there is no function"),
        ({"where": {"is": "operator", "operator": "=", "operands": []}}, "= does not take 0 operands"),
        ({"where": {"is": "operator", "operator": "XOR", "operands": []}}, "Invalid enum value"),
        ({"where": {"is": "constant", "value": 2**63}}, "Expected"),
        ({"where": {"is": "star"}}, "Invalid value"),
        ({"sets": [["src", {"is": "constant", "value": 1}]]}, "'src' is a field of every record"),
        ({"clauses": [{"gives": "vertex"}]}, "Invalid value"),
        ({"time": {"value": {"is": "constant", "value": 1}, "format": "%H"}}, "no full date"),
    ],
)
def test_what_the_model_refuses_is_damaged(change: dict[str, Any], said: str) -> None:
    line = json.dumps(json.loads(encode_definition(FLOWS)) | change).encode()
    with pytest.raises(PoisonRecordError, match="no definition of a stream") as caught:
        decode_definition(line)
    assert said in caught.value.reason
    assert caught.value.raw == line


@pytest.mark.parametrize("value", [None, b"", b"[]", b'{"name":"s"}', b"[" * 100_000])
def test_bytes_that_hold_no_definition(value: bytes | None) -> None:
    with pytest.raises(PoisonRecordError, match="definition of a stream"):
        decode_definition(value)


@pytest.mark.parametrize("levels", [200, 300, 5_000])
def test_deep_nesting_is_refused(levels: int) -> None:
    deep = '{"is":"operator","operator":"NOT","operands":[' * levels + '{"is":"path","steps":["a"]}' + "]}" * levels
    line = encode_definition(FLOWS).replace(b'"nulls"', f'"partition_by":{deep},"nulls"'.encode())
    with pytest.raises(PoisonRecordError, match="no definition of a stream"):
        decode_definition(line)
