"""Edges of several streams go out once each, by (epoch, time, name of the stream), whatever happens to who merges them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest
from graphtide_core.errors import FencedError, TransientError
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import merged
from graphtide_core.ports.log import Message, TopicPartition, TopicSpec
from graphtide_core.time import MIN_EVENT_TIME, EventTime, TimeUnit
from graphtide_ingestion.application.merging_worker import Merging, MergingWorker
from graphtide_log.doubts import MOST_DOUBTS
from graphtide_log.memory import MemoryLog
from graphtide_native.records import ArrowDecoder, JsonLinesDecoder, Symbols
from graphtide_ordering.raw_decoding import MOST_ATTRIBUTES
from graphtide_testing.clock import ManualClock
from graphtide_testing.forgetful import ForgetfulLog
from graphtide_testing.mortal import Fuse, KilledError, Mortal
from graphtide_testing.registrations import registering, registration
from graphtide_testing.telemetry import spans_in_memory
from graphtide_wire import dead_letters, ordered, ordered_body
from graphtide_wire.ordered import OrderedFigures, TracedRows
from graphtide_wire.reads_form import ReachForm, ReadsForm
from graphtide_wire.topics import Topics
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.ports.log import Log, Record
    from graphtide_wire.dead_letters import DeadLetterRecord

TOPICS = Topics("test")
HEARTBEAT = 1.0
FOREVER = str(2**62)
A, B, C = map(StreamName, ("a", "b", "c"))
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Out(NamedTuple):
    """An edge as it went out: epoch, time, stream, id."""

    epoch: int
    ts: int
    stream: str
    id: str


@dataclass
class Source:
    """Writes the ordered records of a stream, as its sequencer would."""

    log: Log
    name: StreamName
    epoch: int = 0
    ordinal: int = 0
    number: int = 0
    newest: int = MIN_EVENT_TIME
    sent: list[Out] = field(default_factory=list)

    def send(self, *times: int, watermark: int | None = None, traces: tuple[TracedRows, ...] = (), **more: object) -> None:
        """Send edges as one record; each has a number as its id."""
        first = self.ordinal
        edges = [
            {"ts": ts, "src": "v", "dst": "w", "label": "x", "id": f"{first + row}", **more} for row, ts in enumerate(times)
        ]
        decoder = JsonLinesDecoder(Symbols(), sorted(more), {})
        body = decoder.decode("".join(f"{dumps(edge)}\n" for edge in edges).encode()).to_arrow()
        self.sent += [Out(self.epoch, ts, self.name, f"{first + row}") for row, ts in enumerate(times)]
        self.newest = times[-1]
        self._write(len(times), times[0], times[-1] if watermark is None else watermark, body, traces)
        self.ordinal, self.number = self.ordinal + len(times), self.number + len(times)

    def beat(self, watermark: int) -> None:
        """Tell how far the stream is."""
        self._write(0, self.newest, watermark, ordered_body.NO_EDGES)

    def reset(self) -> None:
        """Begin another epoch."""
        self.epoch, self.newest = self.epoch + 1, MIN_EVENT_TIME
        self._write(0, MIN_EVENT_TIME, MIN_EVENT_TIME, ordered_body.NO_EDGES)

    def write(self, value: bytes | None, headers: tuple[tuple[str, bytes], ...] = ()) -> None:
        """Write anything."""
        writer = self.log.writer()
        writer.write([Message(TOPICS.ordered(self.name), None, value, headers, partition=0)])
        writer.flush(5)
        writer.close()

    def _write(self, records: int, first: int, watermark: int, body: bytes, traces: tuple[TracedRows, ...] = ()) -> None:
        figures = OrderedFigures(
            EventTime(first),
            EventTime(self.newest),
            records,
            self.ordinal,
            EventTime(watermark),
            TimeUnit.MILLISECOND,
            epoch=self.epoch,
            number=self.number,
            traces=traces,
            traceparent=TRACE if traces else None,
        )
        message = ordered.encode(TOPICS.ordered(self.name), figures, body)
        self.write(message.value, message.headers)


def dumps(value: object) -> str:
    return msgspec.json.encode(value).decode()


@dataclass
class Stage:
    """A log with streams, and who merges them, who can be killed."""

    names: tuple[StreamName, ...] = (A, B)
    most_edges: int = 100
    most_bytes: int = 1 << 20
    most_records: int = 3
    log: Any = field(default_factory=MemoryLog)
    clock: ManualClock = field(default_factory=ManualClock)
    fuse: Fuse = field(default_factory=Fuse)
    more_fuses: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stream = merged(self.names)
        self.log.admin().ensure(TOPICS.of_deployment())
        for name in self.names:
            self.log.admin().ensure(TOPICS.of_stream(name))
        self.sources = {name: Source(self.log, name) for name in self.names}
        self.register("all", FOREVER)
        self.restart()

    def register(self, name: str, reach: str, **more: Any) -> None:
        """Register a pattern that reads all streams so far back."""
        reads = ReadsForm(tuple(self.names), ReachForm(reach), None, ())
        text = f"PATTERN {name} MATCH (v)-[e:x]->(w) ON {self.names[0]} WINDOW 1"
        writer = self.log.writer()
        writer.write([registering(TOPICS, registration(text, self.clock.now(), reads=reads, **more))])
        writer.flush(5)
        writer.close()

    def restart(self) -> None:
        self.worker, self.is_open = self.new_worker(self.log), False

    def new_worker(self, log: Log) -> MergingWorker:
        options = Merging(
            linger_seconds=0.0,
            heartbeat_seconds=HEARTBEAT,
            most_edges=self.most_edges,
            most_bytes=self.most_bytes,
            most_records=self.most_records,
            poll_seconds=0.0,
        )
        mortal: Any = Mortal(log, self.fuse)
        return MergingWorker(mortal, TOPICS, self.stream, self.clock, options)

    def run(self, rounds: int = 12) -> Stage:
        """Do rounds; who is killed is replaced by another, as long as the next fuse. Time passes: positions are committed."""
        left = rounds
        while left:
            try:
                if not self.is_open:
                    self.worker.open()
                    self.is_open = True
                self.worker.step()
                self.clock.sleep(HEARTBEAT / 2)
                left -= 1
            except KilledError:
                self.restart()
                self.fuse.length = self.more_fuses.pop() if self.more_fuses else 0
                left = rounds
        return self

    def read(self, topic: str) -> list[Record]:
        reader = self.log.reader(None)
        reader.assign(dict.fromkeys(reader.partitions(topic), 0))
        found: list[Record] = reader.poll(0.0, 100_000)
        reader.close()
        return found

    def records(self) -> list[Record]:
        return self.read(TOPICS.ordered(self.stream))

    def out(self, left_out: int = 0) -> list[Out]:
        """Edges as they went out; what records say of themselves is checked. `left_out` had numbers, and were put aside."""
        found: list[Out] = []
        epoch, passed, edges = 0, MIN_EVENT_TIME, 0
        for record in self.records():
            figures = ordered.figures(record.headers)
            assert figures.ordinal == len(found)
            assert edges <= (figures.number or 0) <= edges + left_out
            decoder = ArrowDecoder(Symbols(), [], {})
            batch = decoder.decode(record.value or b"")
            assert len(batch) == figures.records
            if not figures.records and figures.epoch > epoch:
                epoch, passed = figures.epoch, MIN_EVENT_TIME
                continue
            assert figures.epoch == epoch
            if not figures.records:
                assert figures.watermark > passed, "it tells that time has passed"
                assert figures.last_ts == found[-1].ts
                passed = figures.watermark
                continue
            assert passed <= figures.first_ts <= figures.last_ts <= figures.watermark
            rows = batch.to_records()
            assert (figures.first_ts, figures.last_ts) == (rows[0]["ts"], rows[-1]["ts"])
            passed = figures.last_ts
            found += [Out(epoch, each["ts"], each["stream"], each["id"]) for each in rows]
            edges += batch.edges
        return found

    def expected(self) -> list[Out]:
        """The oracle: a plain sort, which keeps the order of equals."""
        sent = [edge for source in self.sources.values() for edge in source.sent]
        return sorted(sent, key=lambda edge: (edge.epoch, edge.ts, edge.stream))

    def letters(self) -> list[DeadLetterRecord]:
        return [dead_letters.decode(record) for record in self.read(TOPICS.dead_letters(self.stream))]

    def end(self) -> Stage:
        """Let every stream tell that time has passed all edges, in an epoch that all have reached."""
        last = max(source.epoch for source in self.sources.values())
        for source in self.sources.values():
            while source.epoch < last:
                source.reset()
            source.beat(10**6)
        return self.run()


def ids(edges: Sequence[Out]) -> list[str]:
    return [f"{edge.stream}{edge.id}" for edge in edges]


def test_edges_go_out_by_time_then_by_the_name_of_the_stream_then_as_each_has_them() -> None:
    stage = Stage()
    a, b = stage.sources[A], stage.sources[B]
    b.send(1, 3, 3, 5)
    assert stage.run().out() == [], "nothing is known of the other stream"
    a.send(0, 3, 3, 4)
    went_out = ["a0", "b0", "a1", "a2", "b1", "b2", "a3"]
    assert ids(stage.run().out()) == went_out, "more of a may come at 4, so b waits at 5"
    a.send(4, 9)
    assert ids(stage.run().out()) == [*went_out, "a4", "b3"]


def test_a_stream_whose_name_sorts_first_is_waited_for_at_its_time_and_one_that_sorts_later_is_not() -> None:
    stage = Stage()
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
    stage = Stage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(1)
    a.beat(100)
    b.send(2)
    stage.run()
    stage.restart()
    b.send(50)
    assert ids(stage.run().out()) == ["a0", "b0", "b1"], "the heartbeat was committed, and is not read again"


def test_a_record_of_which_a_part_went_out_is_gone_on_with_where_it_was() -> None:
    stage = Stage()
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
    stage = Stage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(1)
    a.reset()
    b.send(2, 9)
    assert ids(stage.run().out()) == ["a0", "b0", "b1"]


def test_an_epoch_begins_when_all_streams_have_begun_it() -> None:
    stage = Stage()
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
    stage = Stage(most_records=2)
    for ts in range(40):
        stage.sources[A].send(ts)
    stage.run(60)
    assert stage.worker.merger.pending <= 6
    stage.sources[B].beat(100)
    assert ids(stage.run(60).out()) == [f"a{number}" for number in range(40)]


def test_what_is_left_after_a_full_transaction_goes_out_as_soon_as_it_may() -> None:
    stage = Stage(most_edges=1, most_records=10)
    stage.sources[A].send(*range(9))
    stage.sources[A].send(10)
    stage.sources[B].beat(100)
    assert ids(stage.run(1).out()) == [f"a{number}" for number in range(10)]


def test_what_cannot_be_read_is_put_aside_once_and_the_rest_goes_on() -> None:
    stage = Stage()
    a, b = stage.sources[A], stage.sources[B]
    a.write(b"nothing")
    a.send(1)
    a.write(b"no Arrow", ordered.encode("t", figures_of(2), b"").headers)
    a.send(3)
    b.beat(100)
    stage.run()
    stage.restart()
    assert ids(stage.end().out()) == ["a0", "a1"]
    assert [(each.raw, each.code, each.source.topic, each.source.offset) for each in stage.letters()] == [
        (b"nothing", "malformed", TOPICS.ordered(A), 0),
        (b"no Arrow", "malformed", TOPICS.ordered(A), 2),
    ]


def figures_of(ts: int, records: int = 1, unit: TimeUnit = TimeUnit.MILLISECOND) -> OrderedFigures:
    return OrderedFigures(EventTime(ts), EventTime(ts), records, 0, EventTime(ts), unit, number=0)


def test_times_of_another_unit_and_edges_in_no_order_are_put_aside() -> None:
    stage = Stage()
    b = stage.sources[B]
    b.send(1)
    (record,) = stage.read(TOPICS.ordered(B))
    b.write(record.value, ordered.encode("t", figures_of(1, unit=TimeUnit.SECOND), b"").headers)
    decoder = JsonLinesDecoder(Symbols(), [], {})
    lines = "".join(f'{{"ts":{ts},"src":"v","dst":"w","label":"x"}}\n' for ts in (5, 4))
    b.write(decoder.decode(lines.encode()).to_arrow(), ordered.encode("t", figures_of(5, 2), b"").headers)
    stage.end()
    assert ids(stage.out()) == ["b0"]
    assert [each.reason for each in stage.letters()] == [
        "times in s, where those of merged streams are in ms",
        "its edges are in no order of time",
    ]


def test_a_stream_that_goes_back_has_its_edges_put_aside_as_late() -> None:
    stage = Stage()
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


def test_an_edge_that_is_too_large_by_itself_is_put_aside_and_others_are_split() -> None:
    stage = Stage(most_bytes=6_000)
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
    stage = Stage()
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
    stage = Stage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(1, id="e")
    b.send(1, id="e")
    b.send(2, id="e", op="delete")
    stage.end()
    rows = [row for record in stage.records() for row in decoded(record)]
    assert [(row["stream"], row["id"], row["op"]) for row in rows] == [
        ("a", "e", "insert"),
        ("b", "e", "insert"),
        ("b", "e", "delete"),
    ]


def decoded(record: Record) -> list[dict[str, Any]]:
    return ArrowDecoder(Symbols(), [], {}).decode(record.value or b"").to_records()


def test_readers_are_told_that_time_passes_while_no_edge_goes_out() -> None:
    stage = Stage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(1)
    b.send(1)
    a.beat(50)
    b.beat(40)
    stage.run()
    b.beat(60)
    stage.run()
    told = [ordered.figures(record.headers) for record in stage.records()]
    assert [(each.records, each.last_ts, each.watermark) for each in told if not each.records] == [(0, 1, 40), (0, 1, 50)] or [
        (each.records, each.last_ts, each.watermark) for each in told if not each.records
    ] == [(0, 1, 50)]
    assert told[-1].watermark == 50


def test_an_edge_of_a_trace_is_of_it_at_its_new_place() -> None:
    stage = Stage(most_records=10)
    a, b = stage.sources[A], stage.sources[B]
    a.send(1, 2, 3, 4, traces=(TracedRows(1, 2, TRACE),))
    b.send(2, 3, 3, traces=(TracedRows(1, 1, TRACE),))
    with spans_in_memory():
        stage.end()
    (record,) = [each for each in stage.records() if ordered.figures(each.headers).records]
    figures = ordered.figures(record.headers)
    assert ids(stage.out()) == ["a0", "a1", "b0", "a2", "b1", "b2", "a3"]
    assert [(each.first, each.rows) for each in figures.traces] == [(1, 1), (3, 2)]
    assert {each.traceparent.split("-")[1] for each in figures.traces} == {TRACE.split("-")[1]}


def test_who_is_shut_out_writes_nothing_more() -> None:
    stage = Stage()
    stage.sources[A].send(1)
    stage.sources[B].send(1)
    stage.run()
    other = stage.new_worker(stage.log)
    other.open()
    stage.sources[A].send(2)
    stage.sources[B].send(2)
    with pytest.raises(FencedError):
        stage.run()
    for _ in range(6):
        other.step()
    stage.worker = other
    assert stage.end().out() == stage.expected()


@pytest.mark.parametrize("is_old", [False, True], ids=["none", "old positions"])
@pytest.mark.parametrize("times", [1, 3])
def test_edges_do_not_go_out_again_where_the_log_forgets_positions_for_a_while(is_old: bool, times: int) -> None:
    stage = Stage()
    a, b = stage.sources[A], stage.sources[B]
    place = TopicPartition(TOPICS.ordered(A), 0)
    a.send(1, 2)
    b.send(1, 2)
    stage.run()
    reader = stage.log.reader(stage.worker.name)
    before = reader.committed([place])[place] if is_old else None
    a.send(3, 4)
    b.send(3, 4)
    stage.run()
    stage.worker = stage.new_worker(ForgetfulLog(stage.log, before, times))
    refused = 0
    for _ in range(times):
        with pytest.raises(TransientError, match="knows of"):
            stage.worker.open()
        refused += 1
    stage.worker.open()
    assert (refused, stage.end().out()) == (times, stage.expected())


@pytest.mark.parametrize("is_old", [False, True], ids=["none", "old positions"])
def test_edges_do_not_go_out_again_where_the_records_of_commits_are_right(is_old: bool) -> None:
    stage = Stage()
    a, b = stage.sources[A], stage.sources[B]
    place = TopicPartition(TOPICS.ordered(A), 0)
    a.send(1, 2)
    b.send(1, 2)
    stage.run()
    before = stage.log.reader(stage.worker.name).committed([place])[place] if is_old else None
    a.send(3, 4)
    b.send(3, 4)
    stage.run()
    stage.worker = stage.new_worker(ForgetfulLog(stage.log, before, 1_000, shows_commits=True))
    stage.worker.open()
    assert stage.end().out() == stage.expected()


def test_where_positions_are_forgotten_for_good_no_edge_is_lost_and_only_those_of_one_time_come_again() -> None:
    stage = Stage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(1, 2, 4)
    b.send(1, 3, 3)
    stage.run()
    went_out = stage.out()
    stage.worker = stage.new_worker(ForgetfulLog(stage.log, None, 2 * MOST_DOUBTS + 1))
    opened = False
    for _ in range(2 * MOST_DOUBTS + 2):
        try:
            stage.worker.open()
            opened = True
            break
        except TransientError:
            continue
    assert opened
    a.send(5)
    b.send(6)
    found = [Out(0, row["ts"], row["stream"], row["id"]) for record in stage.end().records() for row in decoded(record)]
    again = found[len(went_out) :]
    assert found[: len(went_out)] == went_out
    assert [edge for edge in again if edge not in went_out] == [edge for edge in stage.expected() if edge not in went_out]
    assert {edge.ts for edge in again if edge in went_out} <= {went_out[-1].ts}
    assert [edge.ts for edge in found] == sorted(edge.ts for edge in found)


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
    stage = Stage((A, B, C), most_edges=most_edges, most_records=most_records)
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


def test_a_crash_at_every_step_changes_nothing() -> None:
    for length in range(1, 200):
        stage = Stage(most_edges=2, fuse=Fuse(length))
        a, b = stage.sources[A], stage.sources[B]
        a.send(1, 2, 2)
        b.send(2, 2, 3)
        a.write(b"poison")
        stage.run(6)
        a.reset()
        b.send(4)
        a.send(1)
        stage.run(6)
        b.reset()
        b.send(1, 2)
        stage.end()
        assert stage.out() == stage.expected(), length
        assert len(stage.letters()) == 1, length
        if stage.fuse.length > 0:
            return
    pytest.fail("the fuse was never long enough")


def test_a_merged_stream_begins_where_the_reach_of_its_patterns_begins() -> None:
    stage = Stage()
    stage.register("all", "10")
    a, b = stage.sources[A], stage.sources[B]
    for ts in range(0, 100, 2):
        a.send(ts)
        b.send(ts + 1)
    b.send(200)
    assert stage.run(100).out() == [edge for edge in stage.expected() if 98 - 10 < edge.ts <= 98]


def test_what_comes_after_a_registration_is_merged_however_late_that_begins() -> None:
    stage = Stage()
    a, b = stage.sources[A], stage.sources[B]
    for ts in range(0, 100, 2):
        if ts == 20:
            ends = tuple(len(stage.read(TOPICS.ordered(name))) for name in stage.names)
            stage.register("all", "10", source_ends=ends)
            # One that comes later changes nothing about it; nor does one whose record does not say.
            stage.register("late", "4", source_ends=(1_000, 1_000))
            stage.register("mute", "2")
        a.send(ts)
        b.send(ts + 1)
    stage.run(100)
    stage.end()
    assert stage.out() == [edge for edge in stage.expected() if edge.ts > 18 - 10]


def test_what_comes_after_a_registration_is_merged_though_it_is_older_than_the_reach() -> None:
    stage = Stage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(100)
    stage.register("all", "10", source_ends=(1, 0))
    b.send(3, 4)
    b.send(200)
    a.send(300)
    stage.end()
    assert stage.out() == stage.expected()


def test_a_merged_stream_that_begins_in_a_later_epoch_says_so() -> None:
    stage = Stage()
    for source in stage.sources.values():
        source.send(5)
        source.reset()
        source.send(1)
    stage.end()
    assert stage.out() == [edge for edge in stage.expected() if edge.epoch == 1]


def test_a_stream_that_is_not_there_is_waited_for() -> None:
    stage = Stage()
    stage.log.admin().delete([TOPICS.ordered(B)])
    with pytest.raises(TransientError, match=r"there is no topic test\.ordered\.b\.v1"):
        stage.run()


def test_edges_of_a_stream_that_was_deleted_and_made_again_count_from_where_the_merged_one_is() -> None:
    stage = Stage()
    a, b = stage.sources[A], stage.sources[B]
    a.send(1)
    b.send(5)
    a.send(6)
    stage.run()
    stage.worker.close()
    stage.log.admin().delete([TOPICS.ordered(A)])
    stage.log.admin().ensure(TOPICS.of_stream(A))
    again = stage.sources[A] = Source(stage.log, A)
    again.send(2, 3, 8)
    stage.restart()
    for _ in range(MOST_DOUBTS):
        with pytest.raises(TransientError, match="knows of 0 edges"):
            stage.worker.open()
    stage.end()
    assert ids(stage.out()) == ["a0", "b0", "a2"]
    assert [letter.code for letter in stage.letters()] == ["late"]


def test_records_that_were_let_go_before_they_were_merged_are_passed_over() -> None:
    stage = Stage(log=MemoryLog(most_bytes=40_000))
    a, b = stage.sources[A], stage.sources[B]
    a.send(0)
    a.send(1, 2)
    b.send(1)
    stage.run()
    assert ids(stage.out()) == ["a0", "a1", "b0"]
    stage.worker.close()
    for ts in range(3, 43):
        a.send(ts)
    kept = [ordered.figures(record.headers).ordinal for record in stage.read(TOPICS.ordered(A))]
    assert kept[0] > 2
    stage.restart()
    stage.end()
    assert ids(stage.out()) == ["a0", "a1", "b0", *(f"a{number}" for number in kept)]


def test_a_merged_stream_goes_on_in_the_topic_of_its_old_name_until_that_is_deleted() -> None:
    stage = Stage()
    stage.log.admin().ensure([TopicSpec("test.ordered.a.b.v1")])
    topics = Topics("test", lambda topic: topic in stage.log.admin().topics())
    worker = MergingWorker(stage.log, topics, stage.stream, stage.clock, Merging(linger_seconds=0.0, poll_seconds=0.0))
    stage.sources[A].send(1)
    stage.sources[B].send(2, watermark=5)
    stage.worker, stage.is_open = worker, False
    stage.run()
    assert len(stage.read("test.ordered.a.b.v1")) > 0
    assert stage.records() == [], "none has the new name"
    stage.log.admin().delete(["test.ordered.a.b.v1", "test.dlq.a.b.v1"])
    worker.close()
    stage.is_open = False
    stage.sources[A].send(7)
    stage.sources[B].beat(9)
    assert len(stage.run().records()) > 0, "what comes goes to the new name"
    assert "test.ordered.a.b.v1" not in stage.log.admin().topics()


def test_attributes_of_all_records_are_merged_however_many_names_there_were() -> None:
    stage = Stage()
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
