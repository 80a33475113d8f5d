"""What EMIT gives is what the oracle gives, for any stream, batches, windows and conditions, and over any restart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from graphtide_core.edge import Edge, Operation
from graphtide_core.event import Event
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.predicate import Aggregation
from graphtide_core.stream_emissions import Emission, EmittedEnd, Summary
from graphtide_core.stream_features import FIELDS
from graphtide_core.stream_windows import StreamWindows
from graphtide_core.time import Duration, EventTime, TimeUnit
from graphtide_native.features import MOST_KEYS, MOST_RECORDS, StreamFeatures
from graphtide_native.records import EdgeBatch, JsonLinesDecoder, Symbols
from graphtide_testing.oracles.stream_emissions import add_emitted
from graphtide_testing.oracles.stream_features import is_emitted
from graphtide_testing.strategies.stream_emissions import stream_emissions
from graphtide_testing.windowed_streams import ordered_records, to_mixed_lines
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.edge import Value

UNIT: Final = TimeUnit.MILLISECOND
NAMES: Final = ["x", "y", "src", "dst", "label", "src_label", "type", "ts", "id", "absent"]
VALUES: Final = st.sampled_from((None, 0, 1, 1.0, -1, 2.5, 1e16, 2**63 - 1, 2.0**63, "", "a", "7", "é", True, False))
STREAMS: Final = ordered_records(VALUES, (0, 0, 1, 1, 2, 9, 40), least=0)
BURST: Final = Emission("burst", Duration(10), (EmittedEnd("src"), EmittedEnd("dst")), sets=(Summary("n", Aggregation.COUNT),))


def describe(record: Edge | Event, names: Sequence[str]) -> tuple[Any, ...]:
    """Return all of a record that matters, with the types of its values; ids that were made are not compared."""
    identity = None if record.made else record.id
    values = tuple((name, type(value).__name__, value) for name in names if (value := record.attributes.get(name)) is not None)
    if record.operation is Operation.DELETE:
        return (record.operation.value, identity, record.ts)
    kind = (record.type,) if isinstance(record, Event) else (record.source, record.target, record.label)
    labels = () if isinstance(record, Event) else (record.source_label, record.target_label)
    return (record.operation.value, identity, record.ts, *kind, *labels, values)


def describe_row(row: dict[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    """Return a row of a batch as `describe` does."""
    identity = None if row["made"] else row["id"]
    if row["op"] == "delete":
        return (row["op"], identity, row["ts"])
    values: list[tuple[str, str, Value]] = []
    # The decoder reads fields as attributes, too, if they are asked for.
    for name in names if str(row["id"]).startswith("emit:") else [each for each in names if each not in FIELDS]:
        if (value := row["attributes"].get(name)) is not None:
            values.append((name, type(value).__name__, value))
    if not row["src"]:
        return (row["op"], identity, row["ts"], row["label"], tuple(values))
    ends = (row["src"], row["dst"], row["label"], row["src_label"] or None, row["dst_label"] or None)
    return (row["op"], identity, row["ts"], *ends, tuple(values))


class Run:
    """A stage that takes a stream in batches."""

    def __init__(self, emissions: Sequence[Emission], most_records: int = MOST_RECORDS, most_keys: int = MOST_KEYS) -> None:
        windows = StreamWindows(emissions=tuple(emissions))
        self.stage = StreamFeatures(windows, UNIT, most_records=most_records, most_keys=most_keys)
        self.names = tuple(dict.fromkeys((*self.stage.inputs, *self.stage.names)))
        self._decoder = JsonLinesDecoder(Symbols(), self.names, {}, keep_raw=False)
        self.found: list[tuple[Any, ...]] = []

    def take(self, records: Sequence[Edge | Event], time: int | None = None) -> Run:
        """Take the next records, and let time pass."""
        self.put(self.stage.add_to(self._decoder.decode(to_mixed_lines(records))))
        if time is not None and (given := self.stage.advance(time)) is not None:
            self.put(given)
        return self

    def put(self, batch: EdgeBatch) -> None:
        self.found += [describe_row(row, self.names) for row in batch.to_records()]


@given(STREAMS, stream_emissions(NAMES), st.integers(1, 7), st.none() | st.integers(0, 30))
def test_what_is_given_is_what_the_oracle_gives(
    records: list[Edge | Event], emissions: tuple[Emission, ...], size: int, passed: int | None
) -> None:
    run = Run(emissions)
    for start in range(0, len(records), size):
        run.take(records[start : start + size])
    end = None if passed is None or not records else records[-1].ts + passed
    run.take([], end)
    expected = add_emitted(emissions, records, UNIT, end)
    assert run.found == [describe(each, run.names) for each in expected]


# Ids that are made differ, as the second stage decodes what the first gave.
@given(STREAMS, stream_emissions([each for each in NAMES if each != "id"]), st.integers(0, 20), st.integers(0, 30))
def test_a_stage_that_reads_what_went_out_continues_as_the_first(
    records: list[Edge | Event], emissions: tuple[Emission, ...], cut: int, passed: int
) -> None:
    before, after = records[:cut], records[cut:]
    # Time may have passed before the break, up to the next record.
    time = None if not before else before[-1].ts + passed
    if time is not None and after:
        time = min(time, after[0].ts)
    went_out = add_emitted(emissions, before, UNIT, time)
    run = Run(emissions)
    run.take(went_out, time)
    run.found = []
    run.take(after)
    expected = add_emitted(emissions, records, UNIT, time)
    assert run.found == [describe(each, run.names) for each in expected[len(went_out) :]]


def edge(number: int, ts: int, target: str = "b") -> Edge:
    return Edge(EdgeId(f"e{number}"), EventTime(ts), VertexId("a"), VertexId(target), "x")


def test_a_full_window_counts_no_further_keys() -> None:
    run = Run([BURST], most_keys=2)
    run.take([edge(0, 1, "b"), edge(1, 2, "c"), edge(2, 3, "d"), edge(3, 4, "b"), edge(4, 25, "d")])
    given = [each for each in run.found if str(each[1]).startswith("emit:")]
    assert [(each[4], each[-1]) for each in given] == [("b", (("n", "int", 2),)), ("c", (("n", "int", 1),))]
    assert run.stage.uncounted == 1
    # The next window has room again.
    run.take([], 30)
    assert run.found[-1][2:5] == (30, "a", "d")


def test_only_records_that_can_be_deleted_are_held() -> None:
    made = [Edge(EdgeId(str(n)), EventTime(1), VertexId("a"), VertexId("b"), "x", made=True) for n in range(50)]
    run = Run([BURST], most_records=3)
    run.take([*made, *(edge(n, 2) for n in range(5))])
    assert (run.stage.held, run.stage.uncounted) == (3, 2)
    run.take([], 10)
    assert run.found[-1][-1] == (("n", "int", 53),)
    assert run.stage.held == 0


def test_times_that_begin_anew_close_no_window() -> None:
    run = Run([BURST])
    run.take([edge(0, 1)])
    run.stage.clear()
    run.take([edge(1, 2)], 10)
    assert run.found[-1][-1] == (("n", "int", 1),)


def test_the_last_window_of_time_never_ends() -> None:
    run = Run([BURST])
    run.take([edge(0, 2**63 - 2)], 2**63 - 1)
    assert [each[1] for each in run.found] == ["e0"]


def test_the_oracle_gives_the_window_of_a_beacon() -> None:
    stream = add_emitted([BURST], [edge(0, 1), edge(1, 9), edge(2, 10)], UNIT)
    assert [(each.id.partition(":")[0], each.ts, is_emitted(each)) for each in stream] == [
        ("e0", 1, False),
        ("e1", 9, False),
        ("emit", 10, True),
        ("e2", 10, False),
    ]
    assert stream[2].attributes == {"n": 2}
