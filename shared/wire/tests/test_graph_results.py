"""Reports of results are read as they were written."""

from __future__ import annotations

import json

import pytest
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ids import MatchId, PatternName
from graphtide_core.match import MatchKind
from graphtide_wire.graph_results import result_of
from graphtide_wire.matches import MatchEvent

RECORD = {
    "match_id": "0" * 32, "query": "q", "kind": "extend", "detected_at": 4, "first_ts": 4, "last_ts": 4,
    "src": "u", "dst": "v", "label": "near", "valid": [4, 9], "nth": 1,
    "path": ["e1", {"label": "RL", "src": "u", "dst": "v"}], "completeness": "SHED",
}  # fmt: skip
WIDE = {name: value for name, value in RECORD.items() if name not in {"src", "dst", "nth", "completeness"}}


def event(record: object) -> MatchEvent:
    return MatchEvent(MatchId("0" * 32), PatternName("q"), 3, MatchKind.EXTEND, json.dumps(record).encode())


@pytest.mark.parametrize("record", [RECORD, WIDE | {"bindings": {"z": "u", "a": "v", "b": "w"}, "valid": [4, None]}])
def test_a_record_is_read_as_it_was_written(record: dict[str, object]) -> None:
    found = result_of(event(record))
    assert (json.loads(found.to_json()), found.version) == (record, 3)


@pytest.mark.parametrize(
    "record",
    [
        WIDE,
        WIDE | {"src": "u"},
        RECORD | {"valid": [None, 9]},
        RECORD | {"valid": [2**64, 9]},
        RECORD | {"kind": "timeout"},
        RECORD | {"path": [1]},
        {"match_id": "0" * 32, "query": "q", "kind": "match", "detected_at": 4, "first_ts": 1, "last_ts": 4, "edges": {}},
    ],
)
def test_a_record_of_something_else_is_refused(record: object) -> None:
    with pytest.raises(PoisonRecordError):
        result_of(event(record))
