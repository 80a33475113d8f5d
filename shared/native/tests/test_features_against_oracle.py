"""The values of features are those of the oracle, after every record, for any stream, batches and windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.predicate import Aggregation
from graphtide_core.stream_features import MOST_EXACT, Feature
from graphtide_core.stream_windows import StreamWindows
from graphtide_core.time import Duration, EventTime, TimeUnit
from graphtide_native.features import StreamFeatures
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_testing.oracles.stream_features import count_different, value_of
from graphtide_testing.records import to_json_lines
from graphtide_testing.strategies.stream_features import stream_features
from graphtide_testing.windowed_streams import ordered_records, to_mixed_lines
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.edge import Value
    from graphtide_core.event import Event

NAMES: Final = ["x", "y", "src", "dst", "label", "src_label", "dst_label", "type", "ts", "id", "absent"]
NUMBERS: Final = (0, 1, 1.0, -1, 2.5, -2.5, 1e16, -1e16, 0.1, 1e308, 5e-324, 2**63 - 1, -(2**63), 2.0**63)
VALUES: Final = st.sampled_from((None, *NUMBERS, "", "a", "p", "1", True, False))


def compute(features: Sequence[Feature], batches: Sequence[Sequence[Edge | Event]]) -> list[dict[str, Value]]:
    """Return the values of features for every insert, as the native stage has them."""
    stage = StreamFeatures(StreamWindows(tuple(features)), TimeUnit.MILLISECOND)
    symbols = Symbols()
    decoder = JsonLinesDecoder(symbols, (*stage.inputs, *stage.names), {}, keep_raw=False)
    found: list[dict[str, Value]] = []
    for batch in batches:
        records = stage.add_to(decoder.decode(to_mixed_lines(batch))).to_records()
        found += [{each.name: row["attributes"][each.name] for each in features} for row in records if row["op"] == "insert"]
    return found


def add_types(values: Sequence[dict[str, Value]]) -> list[dict[str, tuple[str, Value]]]:
    """Return values that differ by type, too."""
    return [{name: (type(value).__name__, value) for name, value in each.items()} for each in values]


@given(ordered_records(VALUES), stream_features(NAMES), st.integers(1, 7))
def test_values_are_those_of_the_oracle(records: list[Edge | Event], features: tuple[Feature, ...], size: int) -> None:
    expected = [
        {each.name: value_of(each, records[: place + 1], TimeUnit.MILLISECOND) for each in features}
        for place, record in enumerate(records)
        if record.operation is Operation.INSERT
    ]
    batches = [records[start : start + size] for start in range(0, len(records), size)]
    assert add_types(compute(features, batches)) == add_types(expected)


def edges(count: int, values: int, step: int = 1) -> list[Edge]:
    """Return edges of one vertex to many, a tick apart."""
    return [
        Edge(EdgeId(f"e{n}"), EventTime(n * step), VertexId("a"), VertexId(f"v{n % values}"), "x", attributes={"x": n % values})
        for n in range(count)
    ]


@pytest.mark.parametrize("of", ["dst", "x"])
def test_different_values_are_exact_in_short_windows_and_estimated_in_long_ones(of: str) -> None:
    length = 2 * MOST_EXACT + 300
    feature = Feature("f", Aggregation.COUNT, Duration(length), of, is_distinct=True, keys=("src",))
    # Windows grow past the bounds, and shrink below them, when the stream pauses.
    first = edges(length, 1_700)
    pause = length - MOST_EXACT + 200
    later = [
        Edge(EdgeId(f"l{n}"), EventTime(length + pause + n), VertexId("a"), VertexId(f"w{n}"), "x", attributes={"x": -n})
        for n in range(1_500)
    ]
    records = [*first, *later]
    found = [each["f"] for each in compute([feature], [records[:700], records[700:]])]
    values = [each.target if of == "dst" else each.attributes["x"] for each in records]
    times = [each.ts for each in records]
    for place in [10, MOST_EXACT - 1, MOST_EXACT, 2 * MOST_EXACT, length - 1, *range(length, len(records), 97)]:
        window = [value for value, ts in zip(values[: place + 1], times, strict=False) if ts > times[place] - length]
        assert found[place] == count_different(window), place
    exact = len(set(values[:length]))
    estimate = found[length - 1]
    assert isinstance(estimate, int)
    assert abs(estimate - exact) < 0.1 * exact


def test_deletions_leave_long_windows_too() -> None:
    feature = Feature("f", Aggregation.COUNT, Duration(10**6), "dst", is_distinct=True)
    inserts = edges(2 * MOST_EXACT + 50, 1_500)
    last = inserts[-1].ts
    deletions = [
        Edge(each.id, EventTime(last), each.source, each.target, "x", operation=Operation.DELETE) for each in inserts[::-2]
    ]
    # After each deletion an edge without a new value shows the count.
    shown = [Edge(EdgeId(f"s{n}"), EventTime(last), VertexId("a"), VertexId("v0"), "x") for n in range(len(deletions))]
    records = [*inserts, *(each for pair in zip(deletions, shown, strict=True) for each in pair)]
    found = [each["f"] for each in compute([feature], [records])]
    for place in (0, 20, 40, 60, 500, len(shown) - 1):
        gone = {each.id for each in deletions[: place + 1]}
        alive = [each.target for each in [*inserts, *shown[: place + 1]] if each.id not in gone]
        assert found[len(inserts) + place] == count_different(alive), place


def test_a_full_log_lets_the_oldest_go() -> None:
    feature = Feature("f", Aggregation.COUNT, Duration(100), keys=("src",))
    stage = StreamFeatures(StreamWindows((feature,)), TimeUnit.MILLISECOND, most_records=10)
    decoder = JsonLinesDecoder(Symbols(), stage.names, {}, keep_raw=False)
    records = stage.add_to(decoder.decode(to_json_lines(edges(15, 3)))).to_records()
    assert [each["attributes"]["f"] for each in records] == [*range(1, 12), 11, 11, 11, 11]
    assert (stage.shed, stage.held) == (5, 10)


def test_times_that_begin_anew_forget_all() -> None:
    stage = StreamFeatures(StreamWindows((Feature("f", Aggregation.COUNT, Duration(100)),)), TimeUnit.MILLISECOND)
    decoder = JsonLinesDecoder(Symbols(), stage.names, {}, keep_raw=False)

    def counts(records: Sequence[Edge]) -> list[Value]:
        return [each["attributes"]["f"] for each in stage.add_to(decoder.decode(to_json_lines(records))).to_records()]

    assert counts(edges(3, 3)) == [1, 2, 3]
    stage.clear()
    assert counts(edges(2, 3)) == [1, 2]
