"""Edges as text, and match records read back."""

from __future__ import annotations

import msgspec
import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.ids import EdgeId, PatternName, VertexId
from graphtide_core.match import MatchKind, SubgraphMatch
from graphtide_core.time import EventTime
from graphtide_testing.found import key, keys, keys_in_json_lines
from graphtide_testing.records import to_csv, to_json_lines

EDGES = (
    Edge(EdgeId("1"), EventTime(-5), VertexId("a"), VertexId('b,"c'), "x", "A", None, {"n": 1, "f": 2.0, "s": "é"}),
    Edge(EdgeId("1"), EventTime(7), VertexId("a"), VertexId("b"), "x", None, None, {"t": True}, Operation.DELETE),
)
MATCH = SubgraphMatch(
    query=PatternName("p"),
    version=1,
    kind=MatchKind.MATCH,
    detected_at=EventTime(9),
    first_ts=EventTime(3),
    last_ts=EventTime(9),
    edges={"b": EdgeId("2"), "a": EdgeId("1")},
    vertices={"x": VertexId("u")},
)


def test_csv_has_every_column_and_leaves_missing_values_empty() -> None:
    assert to_csv(EDGES).splitlines() == [
        "ts,src,dst,label,src_label,dst_label,id,op,f,n,s,t",
        '-5,a,"b,""c",x,A,,1,,2.0,1,é,',
        "7,a,b,x,,,1,delete,,,,true",
    ]


def test_csv_of_no_edges_is_its_header() -> None:
    assert to_csv(()) == "ts,src,dst,label,src_label,dst_label,id,op\n"


def test_json_lines_keep_types_and_leave_missing_values_out() -> None:
    first, second = to_json_lines(EDGES).splitlines()
    assert msgspec.json.decode(first) == {
        "ts": -5, "src": "a", "dst": 'b,"c', "label": "x", "src_label": "A", "id": "1", "n": 1, "f": 2.0, "s": "é",
    }  # fmt: skip
    assert msgspec.json.decode(second) == {
        "ts": 7, "src": "a", "dst": "b", "label": "x", "id": "1", "op": "delete", "t": True,
    }  # fmt: skip


def test_a_match_compares_by_its_content_however_it_came() -> None:
    found = key(MATCH)
    assert found.edges == (("a", "1"), ("b", "2"))
    assert keys_in_json_lines(MATCH.to_json() + "\n") == [found] == keys([MATCH])
    assert len({found, key(MATCH)}) == 1


def test_a_match_reported_twice_is_seen_twice() -> None:
    assert len(keys_in_json_lines(f"{MATCH.to_json()}\n{MATCH.to_json()}\n")) == 2


def test_a_record_that_lacks_a_field_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="kind"):
        keys_in_json_lines('{"match_id": "1"}\n')
