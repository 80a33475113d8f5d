"""The oracle of STREAM statements, against results worked out by hand: each clause, and two whole statements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.event import Event
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.record_expression import FieldPath
from graphtide_core.time import EventTime
from graphtide_query import parse_streams
from graphtide_testing.oracles.stream_records import (
    Change,
    FilteredRecord,
    GivenRecord,
    RefusedRecord,
    read_stream,
    unnest,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.edge import Value
    from graphtide_testing.oracles.stream_records import Outcome

FILTERED = FilteredRecord()
FLOWS = """
STREAM flows
FORMAT zeek
EDGE (`id.orig_h`:ip)-[proto]->(`id.resp_h`:ip)
AT ts IN s
ID uid
SET bytes = orig_bytes + resp_bytes, state = conn_state, port = `id.resp_p`
WHERE proto <> 'icmp'
NULL '-', '(empty)'
LATENESS 30s DUPLICATES REJECT CLOCK data
"""
TRAIL = """
STREAM trail
FORMAT json UNNEST Records
EDGE (userIdentity.arn:principal)-[eventName]->(requestParameters.roleArn:role) WHERE requestParameters.roleArn IS NOT NULL
EDGE (userIdentity.arn:principal)-['from']->(sourceIPAddress:ip)
EVENT eventName SET user = userIdentity.arn, ok = errorCode IS NULL
AT eventTime
ID eventID
"""


def read(statement: str, *records: object) -> list[Outcome]:
    (definition,) = parse_streams(statement)
    return read_stream(definition, records)


def read_one(statement: str, record: object) -> Outcome:
    (outcome,) = read(statement, record)
    return outcome


def edge(  # noqa: PLR0917 - the fields of an edge
    identity: str,
    ts: int,
    source: str,
    target: str,
    label: str = "edge",
    labels: tuple[str | None, str | None] = (None, None),
    attributes: Mapping[str, Value] | None = None,
    *,
    made: bool = False,
    change: Change = Change.INSERT,
) -> GivenRecord:
    whole = Edge(
        EdgeId(identity), EventTime(ts), VertexId(source), VertexId(target), label, *labels, attributes or {}, made=made
    )
    return GivenRecord(change, whole)


def event(
    identity: str, ts: int, kind: str, attributes: Mapping[str, Value] | None = None, *, made: bool = False
) -> GivenRecord:
    return GivenRecord(Change.INSERT, Event(EdgeId(identity), EventTime(ts), kind, attributes or {}, made=made))


def deleted_edge(identity: str, ts: int) -> GivenRecord:
    whole = Edge(EdgeId(identity), EventTime(ts), VertexId(""), VertexId(""), "", operation=Operation.DELETE)
    return GivenRecord(Change.DELETE, whole)


def deleted_event(identity: str, ts: int) -> GivenRecord:
    return GivenRecord(Change.DELETE, Event(EdgeId(identity), EventTime(ts), "", operation=Operation.DELETE))


# ---- the two examples


def test_a_log_of_connections() -> None:
    line = {
        "ts": "1521911721.258458",
        "uid": "C1",
        "id.orig_h": "10.0.0.1",
        "id.resp_h": "10.0.0.2",
        "id.resp_p": 443,
        "proto": "tcp",
        "orig_bytes": 10,
        "resp_bytes": 20,
        "conn_state": "SF",
    }
    unknown = line | {"uid": "C2", "resp_bytes": "-", "conn_state": "(empty)"}
    ping = line | {"uid": "C3", "proto": "icmp"}
    no_proto = line | {"uid": "C4", "proto": "-"}
    no_target = line | {"uid": "C5", "id.resp_h": "-"}
    no_time = line | {"uid": "C6", "ts": "-"}
    no_uid = line | {"uid": "-"}
    labels = ("ip", "ip")
    whole: dict[str, Value] = {"bytes": 30, "state": "SF", "port": 443}
    assert read(FLOWS, line, unknown, ping, no_proto, no_target, no_time, no_uid) == [
        (edge("C1", 1521911721258, "10.0.0.1", "10.0.0.2", "tcp", labels, whole),),
        (edge("C2", 1521911721258, "10.0.0.1", "10.0.0.2", "tcp", labels, {"port": 443}),),
        FILTERED,
        FILTERED,
        RefusedRecord("no target"),
        RefusedRecord("no time"),
        (edge("6", 1521911721258, "10.0.0.1", "10.0.0.2", "tcp", labels, whole, made=True),),
    ]


def test_a_trail_of_calls() -> None:
    assumed = {
        "eventID": "e-1",
        "eventName": "AssumeRole",
        "eventTime": "2024-01-31T12:00:01Z",
        "userIdentity": {"arn": "arn:ann"},
        "requestParameters": {"roleArn": "arn:admin"},
        "sourceIPAddress": "198.51.100.7",
    }
    listed = assumed | {"eventID": "e-2", "eventName": "ListBuckets", "requestParameters": None, "errorCode": "AccessDenied"}
    service = assumed | {"eventID": "e-3", "userIdentity": {"type": "AWSService"}}
    (definition,) = parse_streams(TRAIL)
    assert definition.format is not None
    records = unnest({"Records": [assumed, listed, service]}, definition.format.unnest)
    ts = 1706702401000
    assert read_stream(definition, records) == [
        (
            edge("e-1#1", ts, "arn:ann", "arn:admin", "AssumeRole", ("principal", "role"), _rest(assumed)),
            edge("e-1#2", ts, "arn:ann", "198.51.100.7", "from", ("principal", "ip"), _rest(assumed)),
            event("e-1#3", ts, "AssumeRole", {"user": "arn:ann", "ok": True}),
        ),
        (
            edge("e-2#2", ts, "arn:ann", "198.51.100.7", "from", ("principal", "ip"), _rest(listed)),
            event("e-2#3", ts, "ListBuckets", {"user": "arn:ann", "ok": False}),
        ),
        RefusedRecord("no source"),
    ]


def _rest(record: dict[str, Any]) -> dict[str, Value]:
    """Return the attributes of an edge of the trail, which has no SET: all values, by their paths."""
    found = {name: value for name, value in record.items() if isinstance(value, str)}
    found |= {f"userIdentity.{name}": value for name, value in record["userIdentity"].items()}
    return found | {f"requestParameters.{name}": value for name, value in (record["requestParameters"] or {}).items()}


# ---- clauses


EDGE = "STREAM s EDGE (a)-[k]->(b) "


def test_ends_and_labels_become_texts() -> None:
    record = {"ts": 1, "a": 5, "b": 0.1, "k": True, "x": 1}
    assert read_one("STREAM s EDGE (a:(k))-[k]->(b:'two words') SET x = x", record) == (
        edge("0", 1, "5", "0.1", "true", ("true", "two words"), {"x": 1}, made=True),
    )


@pytest.mark.parametrize(
    ("statement", "label", "labels"),
    [
        ("STREAM s EDGE (a)-->(b) SET x = y", "edge", (None, None)),
        ("STREAM s EDGE (a)-[]->(b) SET x = y", "edge", (None, None)),
        ("STREAM s EDGE (a:ip)-[:pay]->(b) SET x = y", "pay", ("ip", None)),
        ("STREAM s EDGE (a)-['pay']->(b:(none)) SET x = y", "pay", (None, None)),
        ("STREAM s EDGE (a)-[none]->(b) SET x = y", "edge", (None, None)),
    ],
)
def test_labels_may_be_missing(statement: str, label: str, labels: tuple[str | None, str | None]) -> None:
    assert read_one(statement, {"ts": 1, "a": "u", "b": "v"}) == (edge("0", 1, "u", "v", label, labels, made=True),)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"ts": 1, "b": "v"}, "no source"),
        ({"ts": 1, "a": None, "b": "v"}, "no source"),
        ({"ts": 1, "a": "u", "b": ["v"]}, "no target"),
        ({"a": "u", "b": "v"}, "no time"),
        ({"ts": True, "a": "u", "b": "v"}, "the time True cannot be read"),
        ({"ts": "soon", "a": "u", "b": "v"}, "the time 'soon' cannot be read"),
        ({"ts": 2**63, "a": "u", "b": "v"}, f"the time {2**63} is out of range"),
        ("text", "not an object with fields"),
        ([1], "not an object with fields"),
    ],
)
def test_a_record_that_gives_no_edge_is_a_dead_letter(record: object, reason: str) -> None:
    assert read_one(EDGE, record) == RefusedRecord(reason)


def test_an_event_needs_its_type() -> None:
    assert read("STREAM s EVENT k", {"ts": 1, "k": "beat"}, {"ts": 1}) == [
        (event("0", 1, "beat", {"k": "beat"}, made=True),),
        RefusedRecord("no type"),
    ]


def test_a_record_is_refused_as_a_whole() -> None:
    text = "STREAM s EDGE (a)-->(b) EDGE (a)-->(c) WHERE c IS NOT NULL OR d"
    assert read(text, {"ts": 1, "a": "u", "b": "v"}, {"ts": 1, "a": "u", "b": "v", "d": True}) == [
        (edge("0#1", 1, "u", "v", attributes={"a": "u", "b": "v"}, made=True),),
        RefusedRecord("no target"),
    ]


def test_a_record_of_no_clause_is_filtered() -> None:
    text = "STREAM s EDGE (a)-->(b) WHERE k = 1 EVENT k WHERE k = 2"
    records = [{"ts": 1, "a": "u", "b": "v", "k": kind} for kind in (1, 3, None)]
    assert read(text, *records) == [
        (edge("0#1", 1, "u", "v", attributes={"a": "u", "b": "v", "k": 1}, made=True),),
        FILTERED,
        FILTERED,
    ]


def test_what_is_filtered_needs_no_time() -> None:
    assert read_one(EDGE + "AT ts WHERE k = 'x'", {}) == FILTERED


def test_made_ids_count_all_records() -> None:
    good = {"ts": 1, "a": "u", "b": "v", "k": "x"}
    outcomes = read("STREAM s EDGE (a)-[k]->(b) SET n = n AT ts WHERE k = 'x'", good, good | {"k": "y"}, {"k": "x"}, good)
    assert outcomes == [
        (edge("0", 1, "u", "v", "x", made=True),),
        FILTERED,
        RefusedRecord("no time"),
        (edge("3", 1, "u", "v", "x", made=True),),
    ]


def test_an_own_id_has_no_suffix() -> None:
    text = "STREAM s EDGE (a)-->(b) SET n = n ID own EDGE (b)-->(a) SET n = n AT ts ID uid"
    record = {"ts": 1, "a": "u", "b": "v", "own": 7, "uid": "x"}
    assert read(text, record, record | {"own": None}) == [
        (edge("7", 1, "u", "v"), edge("x#2", 1, "v", "u")),
        (edge("1#1", 1, "u", "v", made=True), edge("x#2", 1, "v", "u")),
    ]


def test_attributes_of_a_clause_add_to_those_of_the_stream() -> None:
    text = "STREAM s EDGE (a)-->(b) SET n = 1, m = none EVENT a AT ts SET n = 0, o = a"
    assert read_one(text, {"ts": 1, "a": "u", "b": "v"}) == (
        edge("0#1", 1, "u", "v", attributes={"n": 1, "o": "u"}, made=True),
        event("0#2", 1, "u", {"n": 0, "o": "u"}, made=True),
    )


def test_without_set_every_value_is_an_attribute() -> None:
    record = {
        "ts": 1,
        "a": "u",
        "b": "v",
        "label": "own",
        "type": "t",
        "in": {"x": 1, "y": {"z": True}, "list": [2.5, {"q": None}, {"q": "r"}]},
        "in.x": "whole",
    }
    names: dict[str, Value] = {"in.x": "whole", "in.y.z": True, "in.list[0]": 2.5, "in.list[2].q": "r", "a": "u", "b": "v"}
    assert read_one("STREAM s EDGE (a)-->(b)", record) == (edge("0", 1, "u", "v", attributes=names | {"type": "t"}, made=True),)
    assert read_one("STREAM s EVENT a", record) == (event("0", 1, "u", names | {"label": "own"}, made=True),)


def test_null_texts_are_missing_at_any_depth() -> None:
    text = "STREAM s EDGE (a.b[0])-->(coalesce(c, d)) NULL '-', ''"
    assert read_one(text, {"ts": 1, "a": {"b": ["-"]}, "c": "", "d": "v"}) == RefusedRecord("no source")
    assert read_one(text, {"ts": 1, "a": {"b": ["u", "-"]}, "c": "", "d": "-v"}) == (
        edge("0", 1, "u", "-v", attributes={"a.b[0]": "u", "d": "-v"}, made=True),
    )


def test_deletions_retract_what_every_clause_may_have_given() -> None:
    text = "STREAM s EDGE (a)-->(b) WHERE k = 1 SET n = n EVENT k SET n = n AT ts ID uid DELETE WHERE op = 'd'"
    assert read(text, {"ts": 5, "uid": "x", "op": "d"}, {"ts": 5, "op": "d"}, {"uid": "x", "op": "d"}) == [
        (deleted_edge("x#1", 5), deleted_event("x#2", 5)),
        RefusedRecord("no id, which a deletion needs"),
        RefusedRecord("no time"),
    ]


def test_updates_replace_or_retract() -> None:
    text = """STREAM s EDGE (a)-->(b) SET n = n EDGE (b)-->(a) WHERE k = 1 SET n = n
              AT ts ID uid UPDATE WHERE op = 'u' OR op = 'd' DELETE WHERE op = 'd'"""
    record = {"ts": 5, "uid": "x", "a": "u", "b": "v", "op": "u"}
    assert read(text, record, record | {"op": "d"}, record | {"op": "c", "k": 1}, record | {"uid": None}) == [
        (edge("x#1", 5, "u", "v", change=Change.UPDATE), deleted_edge("x#2", 5)),
        (deleted_edge("x#1", 5), deleted_edge("x#2", 5)),
        (edge("x#1", 5, "u", "v"), edge("x#2", 5, "v", "u")),
        RefusedRecord("no id, which an update needs"),
    ]


def test_records_with_fields_of_their_own() -> None:
    whole = {"ts": 1, "src": "u", "dst": "v", "label": "x", "src_label": "A", "id": 7, "n": 2, "type": "t"}
    assert read(
        "STREAM s",
        whole,
        {"ts": 2, "type": "beat", "n": 1, "src": None},
        whole | {"op": "delete"},
        whole | {"op": "upsert"},
        {"ts": 1, "src": "u", "dst": "v"},
    ) == [
        (edge("7", 1, "u", "v", "x", ("A", None), {"n": 2, "type": "t"}),),
        (event("1", 2, "beat", {"n": 1}, made=True),),
        (deleted_edge("7", 1),),
        RefusedRecord("unknown operation 'upsert'"),
        (edge("4", 1, "u", "v", made=True),),
    ]


def test_own_operations_count_only_without_those_of_the_statement() -> None:
    record = {"ts": 1, "src": "u", "dst": "v", "id": "x", "op": "delete", "gone": False}
    assert read("STREAM s DELETE WHERE gone SET n = n", record, record | {"gone": True}) == [
        (edge("x", 1, "u", "v"),),
        (deleted_edge("x", 1),),
    ]


@pytest.mark.parametrize(
    ("document", "path", "records"),
    [
        ({"Records": [1, {"a": 2}]}, ("Records",), [1, {"a": 2}]),
        ({"Records": {"a": 1}}, ("Records",), [{"a": 1}]),
        ({"Records": None}, ("Records",), []),
        ({}, ("Records",), []),
        ([{"a": 1}, {"a": 2}], None, [{"a": 1}, {"a": 2}]),
        ({"a": 1}, None, [{"a": 1}]),
        (
            {"r": [{"s": [{"x": 1}, {"x": 2}]}, {"s": []}, {"t": 0}, {"s": [{"x": 3}]}]},
            ("r", "s"),
            [{"x": 1}, {"x": 2}, {"x": 3}],
        ),
        ({"r": [{"x": 1}, {"x": 2}]}, ("r", 1), [{"x": 2}]),
    ],
)
def test_documents_are_unnested(document: object, path: tuple[str | int, ...] | None, records: list[object]) -> None:
    assert unnest(document, None if path is None else FieldPath(path)) == records
