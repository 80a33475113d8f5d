"""Edges of several streams go out once each, by (epoch, time, name of the stream), through crashes of the merger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphtide_core.ids import StreamName
from graphtide_core.time import MIN_EVENT_TIME, EventTime, TimeUnit
from graphtide_native.records import ArrowDecoder, JsonLinesDecoder, Symbols
from graphtide_ordering.raw_decoding import MOST_ATTRIBUTES
from graphtide_testing.telemetry import spans_in_memory
from graphtide_wire import ordered, ordered_body
from graphtide_wire.ordered import OrderedHeader, TracedRows
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

from graphtide_testing.merging_stage import TOPICS, TRACE, A, B, C, MergingStage, decode, ids


def test_edges_go_out_by_time_then_by_the_name_of_the_stream_then_as_each_has_them() -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    b.send(1, 3, 3, 5)
    assert stage.run().out() == [], "nothing is known of the other stream"
    a.send(0, 3, 3, 4)
    went_out = ["a0", "b0", "a1", "a2", "b1", "b2", "a3"]
    assert ids(stage.run().out()) == went_out, "more of a may come at 4, so b waits at 5"
    a.send(4, 9)
    assert ids(stage.run().out()) == [*went_out, "a4", "b3"]


def test_a_stream_whose_name_sorts_first_is_waited_for_at_its_time_and_one_that_sorts_later_is_not() -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(5)
    b.send(5)
    assert ids(stage.run().out()) == ["a0"], "a may have more at 5, which comes before b's"
    a.beat(6)
    assert ids(stage.run().out()) == ["a0", "b0"]
    a.send(6)
    b.beat(6)
    assert ids(stage.run().out()) == ["a0", "b0", "a1"], "what b may have at 6 comes later"


def test_a_watermark_lets_others_go_without_an_edge_and_so_after_a_crash() -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(1)
    a.beat(100)
    b.send(2)
    stage.run()
    stage.restart()
    b.send(50)
    assert ids(stage.run().out()) == ["a0", "b0", "b1"], "the heartbeat was committed, and is not read again"


def test_a_record_that_went_out_in_part_continues_where_it_was() -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    b.send(1, 3, 3, 9)
    a.send(3)
    a.send(3)
    stage.run()
    stage.restart()
    a.send(4, 5)
    stage.run()
    stage.restart()
    assert ids(stage.end().out()) == ["b0", "a0", "a1", "b1", "b2", "a2", "a3", "b3"]
    assert stage.letters() == []


def test_a_stream_that_has_nothing_in_its_epoch_yet_does_not_hold_the_one_before_up() -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(1)
    a.reset()
    b.send(2, 9)
    assert ids(stage.run().out()) == ["a0", "b0", "b1"]


def test_an_epoch_begins_when_all_streams_have_begun_it() -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(7)
    a.reset()
    a.send(1)
    b.send(3)
    assert ids(stage.run().out()) == ["b0"]
    b.send(9)
    stage.run()
    assert ids(stage.out()) == ["b0", "a0", "b1"], "a is past all of the first epoch"
    b.reset()
    b.send(2)
    assert ids(stage.run().out()) == ["b0", "a0", "b1", "a1"]
    assert [each.epoch for each in stage.out()] == [0, 0, 0, 1]


def test_a_stream_that_is_ahead_is_read_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphtide_ordering.merging.stream_merger.MOST_WAITING_RECORDS", 4)
    stage = MergingStage(most_records=2)
    for ts in range(40):
        stage.sources[A].send(ts)
    stage.run(60)
    assert stage.worker.merger.pending <= 6
    stage.sources[B].beat(100)
    assert ids(stage.run(60).out()) == [f"a{number}" for number in range(40)]


def test_what_is_left_after_a_full_transaction_goes_out_as_soon_as_it_may() -> None:
    stage = MergingStage(most_edges=1, most_records=10)
    stage.sources[A].send(*range(9))
    stage.sources[A].send(10)
    stage.sources[B].beat(100)
    assert ids(stage.run(1).out()) == [f"a{number}" for number in range(10)]


def test_what_cannot_be_read_is_rejected_once_and_the_rest_is_merged() -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    a.write(b"nothing")
    a.send(1)
    a.write(b"no Arrow", ordered.encode("t", header_of(2), b"").headers)
    a.send(3)
    b.beat(100)
    stage.run()
    stage.restart()
    assert ids(stage.end().out()) == ["a0", "a1"]
    assert [(each.raw, each.code, each.source.topic, each.source.offset) for each in stage.letters()] == [
        (b"nothing", "malformed", TOPICS.ordered(A), 0),
        (b"no Arrow", "malformed", TOPICS.ordered(A), 2),
    ]


def header_of(ts: int, records: int = 1, unit: TimeUnit = TimeUnit.MILLISECOND) -> OrderedHeader:
    return OrderedHeader(EventTime(ts), EventTime(ts), records, 0, EventTime(ts), unit, number=0)


def test_times_of_another_unit_and_edges_in_no_order_are_rejected() -> None:
    stage = MergingStage()
    b = stage.sources[B]
    b.send(1)
    (record,) = stage.read(TOPICS.ordered(B))
    b.write(record.value, ordered.encode("t", header_of(1, unit=TimeUnit.SECOND), b"").headers)
    decoder = JsonLinesDecoder(Symbols(), [], {})
    lines = "".join(f'{{"ts":{ts},"src":"v","dst":"w","label":"x"}}\n' for ts in (5, 4))
    b.write(decoder.decode(lines.encode()).to_arrow(), ordered.encode("t", header_of(5, 2), b"").headers)
    stage.end()
    assert ids(stage.out()) == ["b0"]
    assert [each.reason for each in stage.letters()] == [
        "times in s, where those of merged streams are in ms",
        "its edges are not in order of time",
    ]


def test_a_stream_that_goes_back_has_its_edges_rejected_as_late() -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(10)
    b.send(10)
    stage.run()
    b.send(3, 4, 12)
    stage.end()
    assert ids(stage.out()) == ["a0", "b0", "b3"]
    (letter,) = stage.letters()
    assert (letter.code, letter.source.offset) == ("late", 1)
    assert letter.reason.startswith("2 of its 3 edges are earlier than what has gone out")


def test_an_edge_that_is_too_large_by_itself_is_rejected_and_others_are_split() -> None:
    stage = MergingStage(most_bytes=6_000)
    stage.sources[A].send(*range(60), text="long " * 40)
    stage.sources[A].send(70, text="x" * 8_000)
    stage.sources[A].send(80)
    stage.end()
    assert ids(stage.out(left_out=1)) == [*(f"a{number}" for number in range(60)), "a61"]
    assert len(stage.records()) > 3
    (letter,) = stage.letters()
    assert letter.code == "too-large"
    table = ordered_body.decode(letter.raw)
    assert table.column("ts").to_pylist() == [70]


def test_attributes_of_all_streams_are_kept_also_those_that_come_up_late() -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(1, n=1)
    b.send(2, m="t")
    a.send(3, n=2, o=True)
    b.send(4)
    stage.end()
    found: list[dict[str, object]] = []
    for record in stage.records():
        decoder = ArrowDecoder(Symbols(), ["m", "n", "o"], {})
        batch = decoder.decode(record.value or b"")
        found += [
            {name: value for name, value in each["attributes"].items() if value is not None} for each in batch.to_records()
        ]
    assert found == [{"n": 1}, {"m": "t"}, {"n": 2, "o": True}, {}]


def test_deletions_and_ids_stay_those_of_their_streams() -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(1, id="e")
    b.send(1, id="e")
    b.send(2, id="e", op="delete")
    stage.end()
    rows = [row for record in stage.records() for row in decode(record)]
    assert [(row["stream"], row["id"], row["op"]) for row in rows] == [
        ("a", "e", "insert"),
        ("b", "e", "insert"),
        ("b", "e", "delete"),
    ]


def test_readers_learn_that_time_passes_while_no_edge_goes_out() -> None:
    stage = MergingStage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(1)
    b.send(1)
    a.beat(50)
    b.beat(40)
    stage.run()
    b.beat(60)
    stage.run()
    reported = [ordered.header(record.headers) for record in stage.records()]
    assert [(each.records, each.last_ts, each.watermark) for each in reported if not each.records] == [
        (0, 1, 40),
        (0, 1, 50),
    ] or [(each.records, each.last_ts, each.watermark) for each in reported if not each.records] == [(0, 1, 50)]
    assert reported[-1].watermark == 50


def test_an_edge_of_a_trace_is_of_it_at_its_new_place() -> None:
    stage = MergingStage(most_records=10)
    a, b = stage.sources[A], stage.sources[B]
    a.send(1, 2, 3, 4, traces=(TracedRows(1, 2, TRACE),))
    b.send(2, 3, 3, traces=(TracedRows(1, 1, TRACE),))
    with spans_in_memory():
        stage.end()
    (record,) = [each for each in stage.records() if ordered.header(each.headers).records]
    header = ordered.header(record.headers)
    assert ids(stage.out()) == ["a0", "a1", "b0", "a2", "b1", "b2", "a3"]
    assert [(each.first, each.rows) for each in header.traces] == [(1, 1), (3, 2)]
    assert {each.traceparent.split("-")[1] for each in header.traces} == {TRACE.split("-")[1]}


@st.composite
def scripts(draw: st.DrawFn) -> list[tuple[str, str, list[int]]]:
    """Draw what streams do: (stream, what, times as steps from the newest)."""
    step = st.integers(0, 2)
    act: st.SearchStrategy[tuple[str, str, list[int]]] = st.one_of(
        st.tuples(st.sampled_from("abc"), st.just("send"), st.lists(step, min_size=1, max_size=4)),
        st.tuples(st.sampled_from("abc"), st.just("beat"), st.lists(step, min_size=1, max_size=1)),
        st.tuples(st.sampled_from("abc"), st.sampled_from(["reset", "poison"]), st.builds(list[int])),
        st.tuples(st.just(""), st.just("run"), st.lists(st.integers(1, 3), min_size=1, max_size=1)),
    )
    return draw(st.lists(act, max_size=30))


@settings(deadline=None)
@given(scripts(), st.integers(1, 5), st.integers(1, 6), st.lists(st.integers(1, 250), max_size=8))
def test_what_goes_out_is_the_sorted_merge_of_all_streams(
    script: list[tuple[str, str, list[int]]], most_edges: int, most_records: int, fuses: list[int]
) -> None:
    stage = MergingStage((A, B, C), most_edges=most_edges, most_records=most_records)
    for source in stage.sources.values():
        source.send(0)
    stage.run(4)
    stage.more_fuses = fuses
    stage.fuse.length = 20
    now = dict.fromkeys("abc", 0)
    poison = 0
    for name, what, numbers in script:
        if what == "run":
            stage.run(numbers[0])
        else:
            source = stage.sources[StreamName(name)]
            if what == "send":
                times = _rising(now[name], numbers)
                now[name] = times[-1]
                source.send(*times)
            elif what == "beat" and source.newest > MIN_EVENT_TIME:
                now[name] += numbers[0]
                source.beat(now[name])
            elif what == "reset":
                source.reset()
                now[name] = 0
            elif what == "poison":
                source.write(b"poison")
                poison += 1
        went_out = stage.out()
        assert went_out == stage.expected()[: len(went_out)]
    assert stage.end().run(40).out() == stage.expected()
    assert len(stage.letters()) == poison


def _rising(start: int, steps: Sequence[int]) -> list[int]:
    times: list[int] = []
    for step in steps:
        start += step
        times.append(start)
    return times


def test_attributes_of_all_records_are_merged_however_many_names_there_were() -> None:
    stage = MergingStage()
    for ts in range(6):
        more: dict[str, Any] = {f"a{ts}_{number}": ts for number in range(MOST_ATTRIBUTES)}
        stage.sources[A if ts % 2 else B].send(20 * ts, 20 * ts + 10, zone=ts, **more)
    for source in stage.sources.values():
        source.beat(1_000)
    stage.run()
    found: dict[int, tuple[object, int]] = {}
    for record in stage.read(TOPICS.ordered(stage.stream)):
        names = [name for name in ordered_body.decode(record.value or b"").column_names if name.startswith(("a", "zone"))]
        for edge in ArrowDecoder(Symbols(), names, {}).decode(record.value or b"").to_records():
            values = {name: value for name, value in edge["attributes"].items() if value is not None}
            found[edge["ts"]] = (values.pop("zone"), len(values))
    assert found == {20 * ts + later: (ts, MOST_ATTRIBUTES) for ts in range(6) for later in (0, 10)}
