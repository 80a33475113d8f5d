"""A stream's edges go out once each, in order, through crashes of the sequencer."""

from __future__ import annotations

import json

from graphtide_core.formats import CSV
from graphtide_core.ports.log import Message
from graphtide_native.records import CsvDecoder, Sequencer, Symbols, take_dead_letters
from graphtide_testing.sequencing_stage import FLOWS, SOME_EDGES, TOPICS, SequencingStage, edge, lines, outcome
from graphtide_wire import ordered, raw
from graphtide_wire.raw import RawEdges
from hypothesis import example, given
from hypothesis import strategies as st


def test_edges_leave_in_order_of_time_and_then_of_arrival() -> None:
    stage = SequencingStage(lateness=3)
    stage.send(lines(edge(5, "a"), edge(3, "b"), edge(5, "c")))
    stage.send(lines(edge(4, "d"), edge(9, "e")))
    assert stage.run().ids() == ["b", "d", "a", "c"]
    assert stage.fall_silent().ids() == ["b", "d", "a", "c", "e"]


def test_one_producer_without_lateness_gives_the_order_and_the_dead_letters_of_the_command_line() -> None:
    body = b"5,a,b,x\n7,b,c,x\n6,c,d,x\nno number,a,b,x\n7,d,e,x\n9,e,f,x\n1,f,g,x\n"
    decoder, sequencer = CsvDecoder(Symbols(), [], {}, keep_raw=True), Sequencer(0)
    expected = sequencer.push(decoder.decode(b"ts,src,dst,label\n" + body)).to_records()
    stage = SequencingStage()
    stage.write(raw.encode(TOPICS.raw(FLOWS), RawEdges(body, CSV, "ts,src,dst,label")))
    found = stage.run().ordered()
    assert [(each["ts"], each["src"], each["id"]) for each in found] == [
        (each["ts"], each["src"], each["id"]) for each in expected
    ]
    letters = [*take_dead_letters(decoder), *take_dead_letters(sequencer)]
    assert [(each.raw, each.reason, each.source.line) for each in stage.letters()] == [
        (letter.raw, letter.reason, letter.line - 1) for letter in letters
    ]


def test_a_letter_says_where_its_record_stood_and_why_it_was_rejected() -> None:
    stage = SequencingStage()
    stage.send(lines(edge(5), "{", edge(6, op="upsert"), edge(4)), producer="probe", line=100)
    stage.send(b"\xff")
    stage.write(Message(TOPICS.raw(FLOWS), None, b"<edge/>", (("content-type", b"application/xml"),)))
    stage.write(Message(TOPICS.raw(FLOWS), None, None))
    stage.run()
    topic = TOPICS.raw(FLOWS)
    reported = [(each.code, each.source.offset, each.source.line, each.producer) for each in stage.letters()]
    assert reported == [
        ("malformed", 0, 101, "probe"),
        ("unknown-operation", 0, 102, "probe"),
        ("late", 0, 103, "probe"),
        ("malformed", 1, 1, None),
        ("malformed", 2, None, None),
        ("malformed", 3, None, None),
    ]
    first, *_, xml, empty = stage.letters()
    assert (first.raw, first.source.topic, first.time) == (b"{", topic, "2026-01-01T00:00:00+00:00")
    assert (xml.raw, empty.reason) == (b"<edge/>", "a record without a value")


def test_a_bad_edge_among_records_read_together_is_named_by_its_own_record() -> None:
    stage = SequencingStage(most_records=100)
    stage.send(lines(edge(5, "a")))
    stage.send(lines(edge(6, "b"), "{", edge(7, "c")), line=40)
    stage.send(lines(edge(6, "late"), "["))
    stage.send(lines(edge(8, "d")).strip())
    assert stage.run().ids() == ["a", "b", "c", "d"]
    reported = [(each.code, each.raw, each.source.offset, each.source.line) for each in stage.letters()]
    late = lines(edge(6, "late")).strip()
    assert reported == [("malformed", b"{", 1, 41), ("malformed", b"[", 2, 2), ("late", late, 2, 1)]


def test_cloud_events_are_edges_in_both_modes() -> None:
    stage = SequencingStage()
    binary = (("ce_specversion", b"1.0"), ("content-type", b"application/json"))
    stage.write(Message(TOPICS.raw(FLOWS), None, json.dumps(edge(1, "a"), indent=2).encode(), binary))
    event = {"specversion": "1.0", "type": "t", "source": "s", "id": "1", "data": [edge(2, "b"), edge(3, "c")]}
    structured = (("content-type", b"application/cloudevents+json"),)
    stage.write(Message(TOPICS.raw(FLOWS), None, json.dumps(event).encode(), structured))
    assert stage.run().ids() == ["a", "b", "c"]


def test_all_attributes_are_kept_also_those_that_come_up_late() -> None:
    stage = SequencingStage(lateness=5)
    stage.send(lines(edge(1, "a", n=1)))
    stage.send(lines(edge(2, "b", n=2, m="t"), edge(3, "c")))
    stage.write(raw.encode(TOPICS.raw(FLOWS), RawEdges(b"4,a,b,x,d,true\n", CSV, "ts,src,dst,label,id,o")))
    found = {
        each["id"]: {name: value for name, value in each["attributes"].items() if value is not None}
        for each in stage.fall_silent().ordered()
    }
    assert found == {"a": {"n": 1}, "b": {"n": 2, "m": "t"}, "c": {}, "d": {"o": True}}


def test_large_output_goes_out_in_several_records() -> None:
    stage = SequencingStage(most_edges=3)
    stage.send(lines(*(edge(ts, str(ts)) for ts in range(8))))
    assert stage.run().ids() == [str(ts) for ts in range(8)]
    assert [ordered.header(each.headers).records for each in stage.read(TOPICS.ordered(FLOWS))] == [3, 3, 2]


def test_the_last_record_of_large_output_has_the_watermark() -> None:
    stage = SequencingStage(most_edges=2, lateness=1, most_records=10)
    stage.send(lines(*(edge(ts) for ts in (1, 2, 3, 4, 5, 9))))
    stage.run()
    reported = [ordered.header(record.headers) for record in stage.read(TOPICS.ordered(FLOWS))]
    assert [(each.last_ts, each.watermark) for each in reported] == [(2, 2), (4, 4), (5, 8)]


def test_what_goes_out_waits_for_more_as_long_as_it_may() -> None:
    stage = SequencingStage(linger=0.05)
    stage.send(lines(edge(1, "a")))
    assert stage.run().ids() == []
    stage.clock.sleep(0.05)
    assert stage.run().ids() == ["a"]


@given(
    st.lists(st.tuples(st.sampled_from([None, "one", "other"]), SOME_EDGES), max_size=12),
    st.sampled_from([0, 1, 3, 20]),
    st.integers(1, 8),
)
@example([("one", [edge(1)]), ("other", [edge(9)]), ("one", [edge(5)]), ("one", [edge(3)])], 0, 8)
@example([("one", [edge(5), edge(6)]), ("one", [edge(4)])], 20, 1)
def test_what_records_are_read_with_changes_nothing(
    records: list[tuple[str | None, list[dict[str, object] | str]]], lateness: int, most_pending: int
) -> None:
    outcomes = []
    for most_records in (1, 3, 100):
        stage = SequencingStage(lateness, most_pending=most_pending, most_records=most_records)
        stage.register("p", "4ms")
        for producer, record in records:
            stage.send(lines(*record), producer=producer)
        outcomes.append(outcome(stage.run(len(records) + 1).fall_silent()))
    assert outcomes[1:] == outcomes[:1] * 2
