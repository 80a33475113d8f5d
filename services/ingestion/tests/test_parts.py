"""The parts of the service do what they promise each other."""

from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import FatalError, TransientError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import MOST_METADATA_BYTES, Message, Position, Record, TopicSpec
from graphtide_core.time import MIN_EVENT_TIME
from graphtide_ingestion.application.answers import Answers
from graphtide_ingestion.application.appending import Appender
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_ingestion.application.streams import StreamOptions, Streams
from graphtide_log.memory import MemoryLog
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_ordering.ordered_records import Packing, Stretch
from graphtide_ordering.positions import PartitionPosition, read_remembered
from graphtide_ordering.progress import Progress
from graphtide_ordering.raw_decoding import MOST_ATTRIBUTES, Decoded, RawDecoder
from graphtide_ordering.raw_groups import UnreadableRecord, group_records
from graphtide_ordering.stream_progress import StreamProgress
from graphtide_ordering.tracing import Onward
from graphtide_serving.clock import SystemClock
from graphtide_serving.supervisor import Supervisor
from graphtide_telemetry.health import Finding
from graphtide_testing.clock import ManualClock
from graphtide_testing.waiting import wait_until
from graphtide_wire import ordered
from graphtide_wire.topics import Topics
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_core.ports.log import LogWriter
    from graphtide_native.records import EdgeBatch

PATIENCE = 10.0


def raw_record(value: bytes) -> Record:
    return Record("in", 0, 0, 0, None, value, ())


def batch(*times: int, note: str = "n") -> EdgeBatch:
    lines = (json.dumps({"ts": ts, "src": "a", "dst": "b", "label": "x", "note": note}) for ts in times)
    return JsonLinesDecoder(Symbols(), ["note"], {}, keep_raw=True).decode("".join(f"{line}\n" for line in lines).encode())


class TestPositions:
    def test_the_position_is_the_oldest_record_that_waits(self) -> None:
        place = PartitionPosition()
        for offset, newest in enumerate([5, 3, 9, None, 7]):
            place.read(offset, 2, newest)
        found = [place.position(StreamProgress(watermark=mark), 0, 0, {}) for mark in (4, 5, 8, 9)]
        reported = [(each.offset, read_remembered(each).ordinal) for each in found]
        assert reported == [(0, 0), (2, 4), (2, 4), (5, 10)]

    def test_one_edge_far_ahead_costs_no_memory_for_those_behind_it(self) -> None:
        place = PartitionPosition()
        for offset in range(1000):
            place.read(offset, 1, 10**12 if offset == 0 else offset)
        offset = place.position(StreamProgress(watermark=999), 0, 0, {}).offset
        assert (offset, len(place._waiting)) == (0, 1)  # noqa: SLF001 - memory shows nowhere else

    def test_more_sources_than_there_is_room_for_leave_the_slowest(self) -> None:
        place = PartitionPosition()
        position = place.position(StreamProgress(watermark=1), 2, 2, {f"=producer {number}": number for number in range(1000)})
        kept = read_remembered(position).sources
        assert len(position.metadata.encode()) <= MOST_METADATA_BYTES
        assert list(kept.values()) == list(range(len(kept)))
        assert len(kept) > 100

    @pytest.mark.parametrize("metadata", ["", "{}", "nonsense", '{"next":1,"ordinal":0,"watermark":0,"ordered":0,"form":4}'])
    def test_what_another_wrote_is_refused(self, metadata: str) -> None:
        with pytest.raises(FatalError):
            read_remembered(Position(1, metadata))


class TestProgress:
    def test_a_source_that_is_alone_and_leads_counts_edge_by_edge(self) -> None:
        progress = Progress()
        progress.open((), None, 0.0)
        assert progress.bound_for("=a", 0) is None
        progress.advance("=a", 0, 10, 0.0)
        assert progress.bound_for("=a", 0) is None
        assert progress.bound_for("=b", 1) == 10
        progress.advance("=b", 1, 3, 1.0)
        assert (progress.bound_for("=a", 0), progress.bound_for("=b", 1)) == (3, 3)
        assert progress.forget_idle(5.0, 5.0)
        assert progress.bound_for("=b", 1) == 3, "it is alone, but another was ahead of it"

    def test_a_silent_partition_is_waited_for_at_most_as_long_as_a_source(self) -> None:
        progress = Progress()
        progress.open({0, 1}, None, 0.0)
        progress.advance("#0", 0, 10, 4.0)
        assert progress.bound == MIN_EVENT_TIME
        assert not progress.forget_idle(4.9, 5.0)
        assert progress.forget_idle(5.0, 5.0)
        assert progress.bound == 10

    def test_names_of_producers_and_partitions_never_meet(self) -> None:
        progress = Progress()
        assert progress.name_of("#1", 0) != progress.name_of(None, 1)
        assert progress.name_of("p" * 201, 1) == progress.name_of(None, 1) == progress.name_of("", 1)


def decode(decoder: RawDecoder, *records: Record) -> Decoded:
    """What comes of records that are read together."""
    (group,) = group_records(records)
    return decoder.decode(group, 0)


BODIES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                b'{"ts":1,"src":"a","dst":"b","label":"x"}',
                b'{"ts":2,"src":"a","dst":"b","label":"x","n":1,"m":"t"}',
                b'{"ts":3,"src":',
                b'"',
                b"3,a,b,x,i,5",
                b'4,"a\nb",b,x,,',
                b'5,"a',
                b"\xef\xbb\xbf6,a,b,x,,",
                b'\xef\xbb\xbf{"ts":6,"src":"a","dst":"b","label":"x"}',
                b"",
                b"\r",
                b"\xff",
            ]
        ),
        st.binary(max_size=8),
    ),
    max_size=4,
).flatmap(lambda parts: st.sampled_from([b"\n".join(parts), b"\n".join([*parts, b""])]))


def strip_unknown(edges: EdgeBatch) -> list[dict[str, object]]:
    """Records without the attributes that they lack, and without the lines that differ between records read together."""
    return [
        {
            name: {key: value for key, value in field.items() if value is not None} if name == "attributes" else field
            for name, field in record.items()
            if name != "line"
        }
        for record in edges.to_records()
    ]


class TestRawDecoder:
    def test_names_without_end_do_not_fill_memory(self) -> None:
        decoder = RawDecoder()
        kept = 0
        for number in range(MOST_ATTRIBUTES + 50):
            edge = {"ts": 1, "src": "a", "dst": "b", "label": "x", f"a{number}": number}
            edges = decode(decoder, raw_record(json.dumps(edge).encode())).edges
            assert edges is not None
            assert len(edges) == 1
            kept = len(edges.attributes)
        assert kept == MOST_ATTRIBUTES

    @pytest.mark.parametrize("columns", [b"src,dst", b"", b"ts,src,dst,label\n1,a,b,x"])
    def test_a_header_of_csv_that_is_none_is_refused_as_a_whole(self, columns: bytes) -> None:
        headers = (("content-type", b"text/csv"), ("graphtide-columns", columns))
        found = decode(RawDecoder(), raw_record(b"ts,src,dst,label\n")._replace(headers=headers))
        assert (found.edges, [each.raw for each in found.pieces[0].refused]) == (None, [b"ts,src,dst,label\n"])

    def test_types_that_a_record_declares_hold_for_its_edges(self) -> None:
        declared = ("graphtide-types", b'{"n":"string"}')
        csv = (("content-type", b"text/csv"), ("graphtide-columns", b"ts,src,dst,label,n"), declared)
        typed, plain = raw_record(b"1,a,b,x,77\n")._replace(headers=csv), raw_record(b"1,a,b,x,77\n")._replace(headers=csv[:2])
        decoder = RawDecoder()
        # Neighbours that declare otherwise are not read together.
        assert len(list(group_records([typed, plain]))) == 2
        found = [decode(decoder, each).edges for each in (typed, plain)]
        assert [edges.to_records()[0]["attributes"]["n"] for edges in found if edges is not None] == ["77", 77]

        line = b'{"ts":1,"src":"a","dst":"b","label":"x","n":7}'
        (piece,) = decode(decoder, raw_record(line)._replace(headers=(declared,))).pieces
        assert [each.reason for each in piece.refused] == ['n "7" is not of the type string, which was declared']

    @pytest.mark.parametrize("declared", [b"{", b'{"n":"text"}', b'["n"]', b'{"n":"any"}'])
    def test_a_record_that_declares_no_types_is_rejected(self, declared: bytes) -> None:
        (found,) = group_records([raw_record(b"{}")._replace(headers=(("graphtide-types", declared),))])
        assert isinstance(found, UnreadableRecord)
        assert found.reason.startswith("the header graphtide-types does not declare types: ")

    def test_a_trace_of_any_length_does_not_travel(self) -> None:
        headers = (("traceparent", b"t" * 1_000_000),)
        origin = decode(RawDecoder(), raw_record(b"")._replace(headers=headers)).pieces[0].origin
        assert origin is not None
        assert origin.traceparent is None

    @given(st.lists(BODIES, min_size=1, max_size=6), st.sampled_from([None, b"ts,src,dst,label,id,n"]))
    def test_records_read_together_give_what_each_gives_alone(self, bodies: list[bytes], columns: bytes | None) -> None:
        headers = (
            (("graphtide-line", b"7"),) if columns is None else (("content-type", b"text/csv"), ("graphtide-columns", columns))
        )
        records = [raw_record(body)._replace(offset=place, headers=headers) for place, body in enumerate(bodies)]
        together = decode(RawDecoder(), *records)
        assert together.edges is not None
        start, ordinal, alone = 0, 0, RawDecoder()
        for record, piece in zip(records, together.pieces, strict=True):
            (group,) = group_records([record])
            single = alone.decode(group, ordinal)
            assert single.edges is not None
            assert strip_unknown(together.edges.part(start, piece.end)) == strip_unknown(single.edges)
            assert piece._replace(end=0, line=0) == single.pieces[0]._replace(end=0, line=0)
            start, ordinal = piece.end, ordinal + piece.ordinals


class TestPacking:
    def test_records_keep_to_their_bytes_and_an_edge_that_cannot_is_given_back(self) -> None:
        packing = Packing("ordered", most_bytes=6000)
        batches = [batch(1, 2, note="s" * 2500), batch(3, note="l" * 9000), batch(4, 5)]
        messages, packed, too_large = packing.pack([Stretch(batches=batches, watermark=5)], 10, Onward())
        header = [ordered.header(message.headers) for message in messages]
        assert [(each.ordinal, each.records, each.first_ts, each.last_ts) for each in header] == [
            (10, 1, 1, 1),
            (11, 1, 2, 2),
            (12, 2, 4, 5),
        ]
        assert all(len(message.value or b"") <= 6000 for message in messages)
        assert (packed, [(json.loads(each.raw)["ts"], each.ordinal) for each in too_large]) == (4, [(3, 0)])

    @given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 6))
    def test_how_edges_are_spread_over_batches_changes_no_record(self, sizes: list[int], most: int) -> None:
        whole, start = batch(*range(sum(sizes))), 0
        batches = []
        for size in sizes:
            batches.append(whole.part(start, start + size))
            start += size
        packing = Packing("ordered", most_edges=most)
        found = packing.pack([Stretch(batches=batches, watermark=99)], 0, Onward())
        assert found == packing.pack([Stretch(batches=[whole] if len(whole) else [], watermark=99)], 0, Onward())
        assert [ordered.header(each.headers).records for each in found[0]] == [
            min(most, len(whole) - first) for first in range(0, len(whole), most)
        ]


class TestAppender:
    def test_what_many_hand_over_is_kept_in_the_order_of_each(self) -> None:
        log = MemoryLog()
        log.admin().ensure([TopicSpec("t")])
        appender = Appender(log)
        appender.start()

        def hand_over(name: bytes) -> None:
            for number in range(50):
                appender.append([Message("t", name, b"%d" % number)]).result(PATIENCE)

        threads = [threading.Thread(target=hand_over, args=(name,)) for name in (b"a", b"b", b"c")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        appender.close()
        reader = log.reader(None)
        reader.assign(dict.fromkeys(reader.partitions("t"), 0))
        found = reader.poll(0.0, 1000)
        for name in (b"a", b"b", b"c"):
            assert [int(each.value or b"") for each in found if each.key == name] == list(range(50))

    def test_a_failure_is_reported_and_the_next_may_succeed(self) -> None:
        log = MemoryLog()
        appender = Appender(log)
        appender.start()
        assert isinstance(appender.append([Message("t", None, b"")]).exception(PATIENCE), TransientError)
        log.admin().ensure([TopicSpec("t")])
        assert appender.append([Message("t", None, b"")]).exception(PATIENCE) is None
        appender.close()
        assert isinstance(appender.append([]).exception(PATIENCE), TransientError)


class Breaking(MemoryLog):
    """A log whose first writer breaks in an unexpected way."""

    def __init__(self) -> None:
        super().__init__()
        self.breaks = True

    def writer(self) -> LogWriter:
        if self.breaks:
            self.breaks = False
            message = "returned a result with an exception set"
            raise SystemError(message)
        return super().writer()


def test_the_appender_outlives_unexpected_errors_of_a_log() -> None:
    log = Breaking()
    log.admin().ensure([TopicSpec("t")])
    appender = Appender(log)
    appender.start()
    assert isinstance(appender.append([Message("t", None, b"")]).exception(PATIENCE), TransientError)
    assert appender.append([Message("t", None, b"")]).exception(PATIENCE) is None
    appender.close()


def test_the_oldest_answers_leave_when_there_are_too_many_or_their_time_is_over() -> None:
    clock = ManualClock()
    answers: Answers[str] = Answers(clock, 10, 2)
    for key in ("a", "b", "c"):
        answers.put(key, key.upper())
        clock.sleep(4)
    assert [answers.get(key) for key in ("a", "b", "c")] == [None, "B", "C"]
    clock.sleep(2)
    assert [answers.get(key) for key in ("a", "b", "c")] == [None, None, "C"]
    answers.drop("c")
    assert answers.get("c") is None


def test_a_stream_that_comes_up_later_gets_its_sequencer_and_one_that_is_shut_out_takes_over_again() -> None:
    log, topics = MemoryLog(), Topics("test")
    log.admin().ensure(topics.of_deployment())
    streams = Streams(log, topics, StreamOptions())
    options = Sequencing(linger_seconds=0.0, poll_seconds=0.01)
    sequencers = Supervisor(
        "sequencers",
        streams.look,
        lambda stream: SequencingWorker(log, topics, StreamName(stream), SystemClock(), options),
        look_seconds=0.01,
    )
    sequencers.start()
    streams.make("late")
    wait_until(lambda: sequencers.running == 1, PATIENCE, pause=0.01)
    wait_until(lambda: all(each.wrong is None for each in sequencers.ready()), PATIENCE, pause=0.01)
    thief = SequencingWorker(log, topics, StreamName("late"), SystemClock(), options)
    log.writer().write(
        [Message(topics.raw(StreamName("late")), None, b'{"ts":1,"src":"a","dst":"b","label":"x"}', partition=0)]
    )

    def is_shut_out() -> bool:
        thief.open()
        log.writer().write([Message(topics.raw(StreamName("late")), None, b"{}", partition=0)])
        return (sequencers.ready()[0].note or "").startswith("it fails")

    wait_until(is_shut_out, PATIENCE)
    (finding,) = sequencers.ready()
    assert (finding.name, finding.wrong) == ("test.sequencer.late", None), "other streams continue"
    reason = "another took the transactional id test.sequencer.late"
    assert re.fullmatch(rf"it fails: {reason} \(stands still since [^)]+\)", finding.note or "")
    assert sequencers.running == 1
    thief.close()
    wait_until(lambda: sequencers.ready() == [Finding("test.sequencer.late")], 6 * PATIENCE)
    sequencers.close()


def test_a_stream_that_is_put_in_order_elsewhere_gets_no_sequencer() -> None:
    log, topics = MemoryLog(), Topics("test")
    log.admin().ensure(topics.of_deployment())
    streams = Streams(log, topics, StreamOptions())
    options = Sequencing(linger_seconds=0.0, poll_seconds=0.01)
    sequencers = Supervisor(
        "sequencers",
        lambda: streams.look() - {"spark"},
        lambda stream: SequencingWorker(log, topics, StreamName(stream), SystemClock(), options),
        look_seconds=0.01,
    )
    streams.make("spark")
    streams.make("here")
    sequencers.start()
    wait_until(lambda: [each.name for each in sequencers.ready() if each.wrong is None] == ["test.sequencer.here"], PATIENCE)
    streams.make("later")
    wait_until(lambda: sequencers.running == 2, PATIENCE)
    sequencers.close()
    assert {each.name for each in sequencers.ready()} == {"test.sequencer.here", "test.sequencer.later"}


def test_the_sequencer_of_a_stream_that_was_deleted_ends_and_no_other() -> None:
    log, topics = MemoryLog(), Topics("test")
    log.admin().ensure(topics.of_deployment())
    streams = Streams(log, topics, StreamOptions())
    options = Sequencing(linger_seconds=0.0, poll_seconds=0.01)
    sequencers = Supervisor(
        "sequencers",
        streams.look,
        lambda stream: SequencingWorker(log, topics, StreamName(stream), SystemClock(), options),
        look_seconds=0.01,
    )
    streams.make("gone")
    streams.make("kept")
    sequencers.start()

    def are_ready(*names: str) -> bool:
        found = {each.name.rpartition(".")[2] for each in sequencers.ready() if each.wrong is None}
        return found == set(names) and sequencers.running == len(sequencers.ready()) == len(names)

    wait_until(lambda: are_ready("gone", "kept"), PATIENCE, pause=0.01)
    log.admin().delete([spec.name for spec in topics.of_stream(StreamName("gone"))])
    wait_until(lambda: are_ready("kept"), PATIENCE, pause=0.01)
    streams.make("gone")
    wait_until(lambda: are_ready("gone", "kept"), PATIENCE, pause=0.01)
    sequencers.close()
    assert sequencers.running == 0
