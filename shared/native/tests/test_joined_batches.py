"""Parts of batches become one batch, each record as it was."""

from __future__ import annotations

import json

import pytest
from graphtide_native.records import EdgeBatch, JsonLinesDecoder, Symbols
from hypothesis import given
from hypothesis import strategies as st


def batch(records: int, attributes: tuple[str, ...] = ("note",)) -> EdgeBatch:
    lines = (
        json.dumps({"ts": ts, "src": f"v{ts}", "dst": "a name that is longer than a key", "label": f"l{ts % 3}", "note": ts})
        for ts in range(records)
    )
    return JsonLinesDecoder(Symbols(), list(attributes), {}).decode("".join(f"{line}\n" for line in lines).encode())


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=6))
def test_a_joined_batch_has_the_records_of_its_parts(places: list[tuple[int, int]]) -> None:
    whole = batch(10)
    records = whole.to_records()
    joined = EdgeBatch.joined([(whole, start, stop) for start, stop in places])
    assert joined.to_records() == [record for start, stop in places for record in records[start:stop]]


def test_no_batch_and_batches_with_other_attributes_are_refused() -> None:
    with pytest.raises(ValueError, match="no batch is there to be joined"):
        EdgeBatch.joined([])
    with pytest.raises(ValueError, match="the batches have other attributes"):
        EdgeBatch.joined([(batch(1), 0, 1), (batch(1, ()), 0, 1)])
