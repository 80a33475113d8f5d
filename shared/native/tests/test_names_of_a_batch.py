"""A batch says which of some labels and attributes its records have; deletions have none."""

from __future__ import annotations

import json

from graphtide_native.records import EdgeBatch, JsonLinesDecoder, Symbols


def batch(*records: dict[str, object]) -> EdgeBatch:
    decoder = JsonLinesDecoder(Symbols(), ["number", "text", "both", "never"], {})
    return decoder.decode("".join(json.dumps(each) + "\n" for each in records).encode())


def edge(**more: object) -> dict[str, object]:
    return {"ts": 1, "src": "a", "dst": "b", "label": "x", **more}


def test_labels_are_those_of_edges_events_and_vertices() -> None:
    found = batch(
        edge(src_label="S"),
        {"ts": 2, "type": "login"},
        {**edge(label="gone", dst_label="T"), "id": "1", "op": "delete"},
    )
    asked = ["login", "x", "gone", "S"]
    assert found.labels_among(asked, ["S", "T", "x"]) == (2, ["login", "x"], ["S"])
    assert found.labels_among([], []) == (2, [], [])


def test_attributes_with_a_value_are_numbers_where_all_values_are() -> None:
    found = batch(edge(number=1, both=1), edge(number=0.5, text="t", both="t"), {**edge(never=1), "id": "1", "op": "delete"})
    asked = ["never", "both", "text", "number", "unknown"]
    assert found.values_among(asked) == [("both", False), ("text", False), ("number", True)]
    assert batch().values_among(asked) == []
