"""A stream's edges go out once each, in order, whatever happens to who puts them in order."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.errors import FencedError, TransientError
from graphtide_core.formats import CSV, JSON_LINES, StreamFormat
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_core.time import MIN_EVENT_TIME, TimeUnit
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_log.doubts import MOST_DOUBTS
from graphtide_log.memory import MemoryLog
from graphtide_native.records import ArrowDecoder, CsvDecoder, Sequencer, Symbols, take_dead_letters
from graphtide_ordering import raw_decoding
from graphtide_ordering.raw_decoding import MOST_ATTRIBUTES, Ahead
from graphtide_ordering.standing import standing_of
from graphtide_ordering.stream_sequencer import Ordering
from graphtide_serving.clock import SystemClock
from graphtide_telemetry import events
from graphtide_telemetry.health import CURRENT, Pulse
from graphtide_testing.clock import ManualClock
from graphtide_testing.forgetful import ForgetfulLog
from graphtide_testing.mortal import Fuse, KilledError, Mortal
from graphtide_testing.registrations import registering, registration
from graphtide_wire import dead_letters, ordered, ordered_body, raw
from graphtide_wire.raw import RawEdges, Reset
from graphtide_wire.topics import Topics
from hypothesis import example, given
from hypothesis import strategies as st
from structlog.testing import capture_logs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.ports.log import Log, Record
    from graphtide_wire.dead_letters import DeadLetterRecord

TOPICS = Topics("test")
FLOWS = StreamName("flows")
IDLE = 5.0
HEARTBEAT = 1.0
MOST_ATTEMPTS = 5
"""How often a sequencer may find that it cannot open, before it does."""

COLUMNS = {"ts", "src", "dst", "label", "src_label", "dst_label", "id", "op", ordered_body.MADE}


def edge(ts: int, id: str | None = None, **more: object) -> dict[str, object]:
    given = {} if id is None else {"id": id}
    return {"ts": ts, "src": "a", "dst": "b", "label": "x", **given, **more}


def lines(*edges: dict[str, object] | str) -> bytes:
    return b"".join((each if isinstance(each, str) else json.dumps(each)).encode() + b"\n" for each in edges)


@dataclass
class Stage:
    """A log with one stream, and its sequencer, which can be killed."""

    lateness: int = 0
    partitions: int = 1
    most_pending: int = 1000
    most_edges: int = 100
    linger: float = 0.0
    most_records: int = 2
    ahead: Ahead | None = None
    log: Log = field(default_factory=MemoryLog)
    clock: ManualClock = field(default_factory=ManualClock)
    fuse: Fuse = field(default_factory=Fuse)

    def __post_init__(self) -> None:
        self.log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(FLOWS, partitions=self.partitions)])
        self.writer = self.log.writer()
        self.worker = self.new_worker()
        self.is_open = False

    def new_worker(self) -> SequencingWorker:
        ordering = Ordering(self.lateness, IDLE, self.most_pending, self.ahead)
        options = Sequencing(
            ordering=ordering,
            linger_seconds=self.linger,
            most_edges=self.most_edges,
            most_records=self.most_records,
            poll_seconds=0.0,
        )
        mortal: Any = Mortal(self.log, self.fuse)
        return SequencingWorker(mortal, TOPICS, FLOWS, self.clock, options)

    def send(self, value: bytes, partition: int = 0, producer: str | None = None, line: int | None = None) -> None:
        edges = RawEdges(value, producer=producer, line=line)
        self.write(raw.encode(TOPICS.raw(FLOWS), edges)._replace(partition=partition))

    def write(self, message: Message) -> None:
        self.writer.write([message])
        self.writer.flush(5)

    def register(self, name: str, window: str, stream: str = "flows") -> None:
        text = f"PATTERN {name} MATCH (v)-[e:x]->(w) ON {stream} WINDOW {window}"
        self.write(registering(TOPICS, registration(text, self.clock.now())))

    def run(self, rounds: int = 12) -> Stage:
        """Do rounds; who is killed is replaced by another; who cannot open tries again, some times."""
        left, attempts = rounds, 0
        while left:
            try:
                if not self.is_open:
                    self.worker.open()
                    self.is_open = True
                self.worker.step()
                left -= 1
            except KilledError:
                self.restart()
                left = rounds
            except TransientError:
                attempts += 1
                if self.is_open or attempts > MOST_ATTEMPTS:
                    raise
                self.worker.close()
        return self

    def restart(self) -> None:
        self.worker, self.is_open = self.new_worker(), False

    def fall_silent(self) -> Stage:
        """Let everything be read, and then nothing come; twice, because who is killed meanwhile waits anew."""
        for _ in range(2):
            self.run()
            self.clock.sleep(IDLE + 1)
        return self.run()

    def read(self, topic: str) -> list[Record]:
        reader = self.log.reader(None)
        reader.assign(dict.fromkeys(reader.partitions(topic), 0))
        found = reader.poll(0.0, 100_000)
        reader.close()
        return found

    def ordered(self) -> list[dict[str, Any]]:
        """Edges as they went out, with all attributes and their epochs; their places and watermarks are checked."""
        edges: list[dict[str, Any]] = []
        begun, passed = 0, MIN_EVENT_TIME
        for record in self.read(TOPICS.ordered(FLOWS)):
            figures = ordered.figures(record.headers)
            table = ordered_body.decode(record.value or b"")
            decoder = ArrowDecoder(Symbols(), [name for name in table.column_names if name not in COLUMNS], {})
            decoder.start_at(figures.ordinal)
            found = decoder.decode(record.value or b"").to_records()
            assert (figures.ordinal, figures.records) == (len(edges), len(found))
            assert figures.number == sum(each["op"] == "insert" for each in edges)
            if not found and figures.epoch == begun:
                assert edges[-1]["epoch"] == begun
                assert (figures.first_ts, figures.last_ts) == (edges[-1]["ts"], edges[-1]["ts"])
                assert figures.watermark > passed, "it tells that time has passed"
                passed = figures.watermark
                continue
            if not found:
                assert figures.epoch == begun + 1, "it tells of a new epoch"
                begun, passed = begun + 1, MIN_EVENT_TIME
                continue
            assert (figures.first_ts, figures.last_ts) == (found[0]["ts"], found[-1]["ts"])
            assert passed <= figures.first_ts <= figures.last_ts <= figures.watermark
            assert figures.epoch == begun
            passed = figures.last_ts
            edges += [each | {"epoch": figures.epoch} for each in found]
        times = [(each["epoch"], each["ts"]) for each in edges]
        assert times == sorted(times)
        return edges

    def ids(self) -> list[str]:
        return [each["id"] for each in self.ordered()]

    def letters(self) -> list[DeadLetterRecord]:
        return [dead_letters.decode(record) for record in self.read(TOPICS.dead_letters(FLOWS))]


@pytest.mark.parametrize("is_old", [False, True], ids=["none", "old positions"])
@pytest.mark.parametrize("shows_commits", [False, True], ids=["commits hidden", "commits shown"])
@pytest.mark.parametrize(("times", "again"), [(1, 0), (3, 0), (50, 1)], ids=["once", "thrice", "for good"])
def test_edges_do_not_go_out_again_where_the_log_forgets_positions_for_a_while(
    is_old: bool, times: int, again: int, shows_commits: bool
) -> None:
    stage = Stage(partitions=1)
    raw_place = TopicPartition(TOPICS.raw(FLOWS), 0)
    reader = stage.log.reader(stage.worker.name)
    stage.send(lines(edge(1), edge(2)))
    stage.run()
    before = reader.committed([raw_place])[raw_place] if is_old else None
    stage.send(lines(edge(3), edge(4)))
    stage.run()
    assert [each["ts"] for each in stage.ordered()] == [1, 2, 3, 4]

    forgetful = ForgetfulLog(stage.log, before, times, shows_commits=shows_commits)
    worker = SequencingWorker(forgetful, TOPICS, FLOWS, stage.clock, Sequencing(poll_seconds=0.0, linger_seconds=0.0))
    refused: list[str] = []
    while len(refused) < 20:
        try:
            worker.open()
            break
        except TransientError as error:
            refused.append(str(error))
    stage.send(lines(edge(5)))
    for _ in range(12):
        worker.step()
    worker.close()
    went_out = [ts for record in stage.read(TOPICS.ordered(FLOWS)) for ts in times_of(record)]
    repeated = ([3, 4] if is_old else [1, 2, 3, 4]) * (again and not shows_commits)
    expected = 0 if shows_commits else min(times, MOST_DOUBTS)
    assert (went_out, len(refused)) == ([1, 2, 3, 4, *repeated, 5], expected)
    assert all(text.endswith("has 4") for text in refused)


def times_of(record: Record) -> list[int]:
    return [each["ts"] for each in ArrowDecoder(Symbols(), [], {}).decode(record.value or b"").to_records()]


def test_edges_leave_in_order_of_time_and_then_of_arrival() -> None:
    stage = Stage(lateness=3)
    stage.send(lines(edge(5, "a"), edge(3, "b"), edge(5, "c")))
    stage.send(lines(edge(4, "d"), edge(9, "e")))
    assert stage.run().ids() == ["b", "d", "a", "c"]
    assert stage.fall_silent().ids() == ["b", "d", "a", "c", "e"]


def test_one_producer_without_lateness_gives_the_order_and_the_dead_letters_of_the_command_line() -> None:
    body = b"5,a,b,x\n7,b,c,x\n6,c,d,x\nno number,a,b,x\n7,d,e,x\n9,e,f,x\n1,f,g,x\n"
    decoder, sequencer = CsvDecoder(Symbols(), [], {}, keep_raw=True), Sequencer(0)
    expected = sequencer.push(decoder.decode(b"ts,src,dst,label\n" + body)).to_records()
    stage = Stage()
    stage.write(raw.encode(TOPICS.raw(FLOWS), RawEdges(body, CSV, "ts,src,dst,label")))
    found = stage.run().ordered()
    assert [(each["ts"], each["src"], each["id"]) for each in found] == [
        (each["ts"], each["src"], each["id"]) for each in expected
    ]
    letters = [*take_dead_letters(decoder), *take_dead_letters(sequencer)]
    assert [(each.raw, each.reason, each.source.line) for each in stage.letters()] == [
        (letter.raw, letter.reason, letter.line - 1) for letter in letters
    ]


def test_a_letter_says_where_its_record_stood_and_why_it_was_put_aside() -> None:
    stage = Stage()
    stage.send(lines(edge(5), "{", edge(6, op="upsert"), edge(4)), producer="probe", line=100)
    stage.send(b"\xff")
    stage.write(Message(TOPICS.raw(FLOWS), None, b"<edge/>", (("content-type", b"application/xml"),)))
    stage.write(Message(TOPICS.raw(FLOWS), None, None))
    stage.run()
    topic = TOPICS.raw(FLOWS)
    told = [(each.code, each.source.offset, each.source.line, each.producer) for each in stage.letters()]
    assert told == [
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
    stage = Stage(most_records=100)
    stage.send(lines(edge(5, "a")))
    stage.send(lines(edge(6, "b"), "{", edge(7, "c")), line=40)
    stage.send(lines(edge(6, "late"), "["))
    stage.send(lines(edge(8, "d")).strip())
    assert stage.run().ids() == ["a", "b", "c", "d"]
    told = [(each.code, each.raw, each.source.offset, each.source.line) for each in stage.letters()]
    late = lines(edge(6, "late")).strip()
    assert told == [("malformed", b"{", 1, 41), ("malformed", b"[", 2, 2), ("late", late, 2, 1)]


def test_cloud_events_are_edges_in_both_modes() -> None:
    stage = Stage()
    binary = (("ce_specversion", b"1.0"), ("content-type", b"application/json"))
    stage.write(Message(TOPICS.raw(FLOWS), None, json.dumps(edge(1, "a"), indent=2).encode(), binary))
    event = {"specversion": "1.0", "type": "t", "source": "s", "id": "1", "data": [edge(2, "b"), edge(3, "c")]}
    structured = (("content-type", b"application/cloudevents+json"),)
    stage.write(Message(TOPICS.raw(FLOWS), None, json.dumps(event).encode(), structured))
    assert stage.run().ids() == ["a", "b", "c"]


def test_all_attributes_are_kept_also_those_that_come_up_late() -> None:
    stage = Stage(lateness=5)
    stage.send(lines(edge(1, "a", n=1)))
    stage.send(lines(edge(2, "b", n=2, m="t"), edge(3, "c")))
    stage.write(raw.encode(TOPICS.raw(FLOWS), RawEdges(b"4,a,b,x,d,true\n", CSV, "ts,src,dst,label,id,o")))
    found = {
        each["id"]: {name: value for name, value in each["attributes"].items() if value is not None}
        for each in stage.fall_silent().ordered()
    }
    assert found == {"a": {"n": 1}, "b": {"n": 2, "m": "t"}, "c": {}, "d": {"o": True}}


def test_the_watermark_waits_for_the_slowest_producer_until_that_falls_silent() -> None:
    stage = Stage(partitions=2)
    stage.send(lines(edge(1, "slow1")), 0, "slow")
    stage.send(lines(edge(1, "fast1"), edge(9, "fast9")), 1, "fast")
    assert sorted(stage.run().ids()) == ["fast1", "slow1"]
    stage.clock.sleep(IDLE - 1)
    stage.send(lines(edge(8, "fast8")), 1, "fast")
    stage.send(lines(edge(10, "fast10")), 1, "fast")
    assert len(stage.run().ids()) == 2
    stage.clock.sleep(2)
    assert stage.run().ids()[2:] == ["fast8", "fast9", "fast10"]


def test_a_partition_with_records_that_were_not_read_yet_is_waited_for() -> None:
    stage = Stage(partitions=2)
    for ts in range(10):
        stage.send(lines(edge(10 * ts, f"a{ts}")), 0)
    for ts in range(10):
        stage.send(lines(edge(10 * ts + 5, f"b{ts}")), 1)
    stage.run().fall_silent()
    assert (len(stage.ids()), stage.letters()) == (20, [])


def test_a_pause_of_the_sequencer_itself_makes_no_producer_idle() -> None:
    stage = Stage(partitions=2)
    stage.send(lines(edge(1, "slow1")), 0, "slow")
    stage.send(lines(edge(1, "fast1")), 1, "fast")
    stage.run()
    stage.clock.sleep(IDLE + 1)
    for ts in range(2, 8):
        stage.send(lines(edge(ts, f"fast{ts}")), 1, "fast")
    stage.send(lines(edge(2, "slow2")), 0, "slow")
    assert sorted(stage.run().ids()[2:]) == ["fast2", "slow2"]
    assert stage.letters() == []


class Slow(Fuse):
    """No fuse: once it has a clock, every call takes longer than a producer may be silent."""

    clock: ManualClock | None = None

    def burn(self) -> None:
        if self.clock is not None:
            self.clock.sleep(IDLE)


def test_a_slow_commit_between_records_that_were_read_together_makes_no_producer_idle() -> None:
    slow_log = Slow()
    stage = Stage(most_edges=1, most_records=20, fuse=slow_log)
    stage.run()
    stage.send(lines(edge(1)), producer="slow")
    for ts in range(1, 12):
        stage.send(lines(edge(ts)), producer="fast")
    stage.send(lines(edge(8)), producer="slow")
    slow_log.clock = stage.clock
    stage.run(1)
    slow_log.clock = None
    stage.send(lines(edge(9)), producer="slow")
    assert [each["ts"] for each in stage.run().ordered()] == sorted([1, *range(1, 10), 8, 9])
    assert stage.letters() == []


def test_too_many_waiting_edges_go_early_those_of_one_time_together() -> None:
    stage = Stage(lateness=1000, most_pending=2)
    stage.send(lines(edge(1, "a"), edge(1, "b"), edge(2, "c"), edge(3, "d")))
    assert stage.run().ids() == ["a", "b"]
    stage.send(lines(edge(0, "late"), edge(1, "tie")))
    assert stage.run().ids() == ["a", "b", "tie"]
    assert [each.code for each in stage.letters()] == ["late"]


def test_an_id_is_dropped_while_it_is_in_the_longest_window_also_after_a_crash() -> None:
    stage = Stage()
    stage.register("short", "2ms")
    stage.register("long", "10ms")
    stage.register("elsewhere", "1d", "other")
    stage.send(lines(edge(1, "a"), edge(9, "b"), edge(10, "a")))
    assert stage.run().ids() == ["a", "b"]
    stage.restart()
    stage.send(lines(edge(10, "b"), edge(11, "a")))
    assert stage.run().ids() == ["a", "b", "a"]


def test_an_id_is_dropped_while_it_is_among_the_edges_that_a_pattern_counts_also_after_a_crash() -> None:
    stage = Stage()
    stage.register("p", "3 EDGES")
    stage.send(lines(edge(1, "one"), edge(100, "two")))
    stage.run().restart()
    stage.send(lines(edge(200, "one"), edge(300, "three"), edge(400, "two"), edge(500, "one")))
    assert stage.run().ids() == ["one", "two", "three", "one"], "the third edge after its own is no duplicate any more"
    stage.restart()
    stage.send(lines(edge(600, "three"), edge(700, "four"), edge(800, "two")))
    assert stage.run().ids() == ["one", "two", "three", "one", "four", "two"]


def test_a_longer_window_of_a_new_pattern_knows_ids_that_went_out_before() -> None:
    stage = Stage()
    stage.send(lines(edge(1, "a"), edge(2, "a")))
    stage.run()
    stage.register("long", "1h")
    stage.clock.sleep(2)
    stage.run()
    stage.send(lines(edge(3, "a"), edge(4, "b")))
    assert stage.run().ids() == ["a", "a", "b"]


def test_large_output_goes_out_in_several_records() -> None:
    stage = Stage(most_edges=3)
    stage.send(lines(*(edge(ts, str(ts)) for ts in range(8))))
    assert stage.run().ids() == [str(ts) for ts in range(8)]
    assert [ordered.figures(each.headers).records for each in stage.read(TOPICS.ordered(FLOWS))] == [3, 3, 2]


def test_large_output_tells_of_the_watermark_with_its_last_record() -> None:
    stage = Stage(most_edges=2, lateness=1, most_records=10)
    stage.send(lines(*(edge(ts) for ts in (1, 2, 3, 4, 5, 9))))
    stage.run()
    told = [ordered.figures(record.headers) for record in stage.read(TOPICS.ordered(FLOWS))]
    assert [(each.last_ts, each.watermark) for each in told] == [(2, 2), (4, 4), (5, 8)]


def heartbeats(stage: Stage) -> list[tuple[int, int, int]]:
    """Return of each heartbeat the epoch, the time of the newest edge before it, and the watermark."""
    stage.ordered()
    told = [ordered.figures(record.headers) for record in stage.read(TOPICS.ordered(FLOWS))]
    return [(each.epoch, each.last_ts, each.watermark) for each in told if not each.records and each.watermark > MIN_EVENT_TIME]


def quiet(stage: Stage, seconds: float = HEARTBEAT) -> Stage:
    """Let some seconds pass in which nothing comes."""
    stage.clock.sleep(seconds)
    return stage.run(2)


def test_a_quiet_stream_tells_its_watermark_once_and_again_when_it_has_moved() -> None:
    stage = Stage()
    stage.register("p", "100")
    stage.send(lines(edge(1)), producer="slow")
    stage.send(lines(edge(10)), producer="fast")
    stage.run(4)
    stage.send(lines(edge(5)), producer="slow")
    assert heartbeats(stage.run(2)) == []
    stage.send(lines(edge(7, "same"), edge(8, "same")), producer="slow")
    assert heartbeats(quiet(stage)) == [], "what goes out tells as much"
    assert heartbeats(quiet(stage)) == [(0, 7, 8)]
    assert heartbeats(quiet(quiet(stage))) == [(0, 7, 8)]


def test_a_sequencer_that_comes_back_tells_nothing_that_was_told() -> None:
    stage = Stage(lateness=3)
    stage.send(lines(edge(1), edge(10)))
    assert heartbeats(quiet(quiet(stage.run()))) == [(0, 1, 7)]
    stage.restart()
    assert heartbeats(quiet(quiet(stage))) == [(0, 1, 7)]


def test_an_epoch_without_edges_has_no_heartbeat() -> None:
    stage = Stage(lateness=3)
    stage.send(lines(edge(1), edge(10)))
    stage.run()
    stage.write(raw.encode_reset(TOPICS.raw(FLOWS), Reset(0)))
    quiet(stage)
    stage.send(lines(edge(4)))
    assert heartbeats(quiet(stage)) == []


def test_what_goes_out_waits_for_more_as_long_as_it_may() -> None:
    stage = Stage(linger=0.05)
    stage.send(lines(edge(1, "a")))
    assert stage.run().ids() == []
    stage.clock.sleep(0.05)
    assert stage.run().ids() == ["a"]


def test_a_second_sequencer_of_a_stream_shuts_out_the_first() -> None:
    stage = Stage()
    stage.run()
    stage.new_worker().open()
    stage.send(lines(edge(1, "a")))
    with pytest.raises(FencedError):
        stage.run()


def test_a_record_of_which_some_edges_went_out_is_read_again_for_the_others() -> None:
    stage = Stage(lateness=5)
    stage.send(lines(edge(1), edge(20), edge(10), edge(15), edge(14), "bad"))
    before = stage.run().ids()
    stage.restart()
    stage.send(lines(edge(30)))
    assert (before, stage.run().fall_silent().ids()) == (["0", "3"], ["0", "3", "1", "6"])
    assert [each.code for each in stage.letters()] == ["malformed", "late", "late"]


def test_a_partition_that_is_silent_between_two_crashes_is_not_read_again() -> None:
    stage = Stage(partitions=2)
    stage.send(lines(edge(1, "a")), 0)
    stage.send(lines(edge(2, "b")), 1)
    stage.fall_silent().restart()
    stage.send(lines(edge(3, "c")), 1)
    stage.fall_silent().restart()
    assert (stage.fall_silent().ids(), stage.letters()) == (["a", "b", "c"], [])


BODIES = [
    lines(edge(5), edge(3, "d"), edge(8)),
    lines(edge(4, "d"), "bad", edge(6)),
    b"",
    lines(edge(1), edge(9), edge(9)),
    lines(edge(9), edge(40, "far"), edge(7)),
    lines(edge(12), edge(12, "e"), edge(11, "e")),
]
WITH_A_RESET: list[bytes | Reset] = [*BODIES, Reset(0), lines(edge(11), edge(12, "e"), edge(13, "e")), Reset(0)]


def outcome(stage: Stage) -> object:
    """What an uninterrupted run and one with crashes must have in common."""
    letters = [(each.code, each.raw, each.source.offset, each.source.line) for each in stage.letters()]
    return [(each["epoch"], each["ts"], each["id"]) for each in stage.ordered()], letters


def play(stage: Stage, bodies: Sequence[bytes | Reset], kills: Sequence[int]) -> object:
    stage.register("p", "4ms")
    for number, body in enumerate(bodies):
        if isinstance(body, Reset):
            stage.write(raw.encode_reset(TOPICS.raw(FLOWS), body))
        else:
            stage.send(body)
        if number % 2:
            stage.fuse.length = kills[number // 2] if number // 2 < len(kills) else 0
            stage.run(3)
    stage.fall_silent()
    return outcome(stage)


@pytest.mark.parametrize(("bodies", "kills"), [(BODIES, [0, 0]), (WITH_A_RESET, [0, 0, 0])], ids=["edges", "a reset"])
@pytest.mark.parametrize("lateness", [0, 4])
def test_a_crash_at_any_call_changes_nothing(lateness: int, bodies: Sequence[bytes | Reset], kills: list[int]) -> None:
    expected = play(Stage(lateness), bodies, [])
    survived = False
    kill = 0
    while not survived:
        kill += 1
        stage = Stage(lateness)
        assert play(stage, bodies, [*kills, kill]) == expected, f"killed at {kill}"
        survived = stage.fuse.length > 0
    assert kill > 40


SOME_EDGES = st.lists(
    st.one_of(
        st.builds(edge, st.integers(0, 12), st.one_of(st.none(), st.sampled_from("abcde"))),
        st.just("bad"),
    ),
    max_size=4,
)


@given(
    st.lists(st.one_of(SOME_EDGES.map(lambda record: lines(*record)), st.builds(Reset, st.integers(0, 2))), max_size=8),
    st.sampled_from([0, 1, 3, 20]),
    st.integers(1, 6),
    st.lists(st.integers(1, 60), max_size=4),
)
def test_crashes_of_a_stream_in_one_partition_change_nothing(
    bodies: list[bytes | Reset], lateness: int, most_pending: int, kills: list[int]
) -> None:
    assert play(Stage(lateness, most_pending=most_pending), bodies, kills) == play(
        Stage(lateness, most_pending=most_pending), bodies, []
    )


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
        stage = Stage(lateness, most_pending=most_pending, most_records=most_records)
        stage.register("p", "4ms")
        for producer, record in records:
            stage.send(lines(*record), producer=producer)
        outcomes.append(outcome(stage.run(len(records) + 1).fall_silent()))
    assert outcomes[1:] == outcomes[:1] * 2


@given(
    st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 12), min_size=1, max_size=3)), max_size=12),
    st.sampled_from([0, 3]),
    st.integers(1, 8),
    st.lists(st.integers(1, 80), max_size=4),
)
def test_with_many_partitions_no_edge_is_lost_none_repeated_and_order_holds(
    records: list[tuple[int, list[int]]], lateness: int, most_pending: int, kills: list[int]
) -> None:
    stage = Stage(lateness, partitions=3, most_pending=most_pending)
    sent: list[str] = []
    for number, (partition, times) in enumerate(records):
        ids = [f"{number}.{place}" for place in range(len(times))]
        sent += ids
        stage.send(lines(*(edge(ts, id) for ts, id in zip(times, ids, strict=True))), partition)
        if number % 3 == 2 and kills:
            stage.fuse.length = kills[number % len(kills)]
            stage.run(2)
    stage.fall_silent()
    late = [json.loads(each.raw)["id"] for each in stage.letters()]
    assert Counter(stage.ids()) + Counter(late) == Counter(sent)


def test_positions_tell_the_next_record_where_nothing_waits() -> None:
    stage = Stage()
    stage.send(lines(edge(1)))
    stage.send(lines(edge(2)))
    stage.run()
    place = TopicPartition(TOPICS.raw(FLOWS), 0)
    position = stage.log.reader(stage.worker.name).committed([place])[place]
    assert position is not None
    two = {"read": 2, "late": 0, "future": 0}
    assert (position.offset, json.loads(position.metadata)) == (
        2,
        {"next": 2, "ordinal": 2, "watermark": 2, "ordered": 2, "sources": {"#0": 2}, "form": 1}
        | {"epoch": 0, "newest": 2, "counted": two, "recent": two, "numbered": 2, "lateness": 0, "left_out": 0},
    )


def test_edges_in_the_far_future_are_put_aside_and_the_stream_goes_on() -> None:
    stage = Stage(ahead=Ahead(TimeUnit.MILLISECOND, 300.0))
    now = int(time.time() * 1000)
    stage.send(lines(edge(now, id="before"), edge(2**63 - 1, id="end of time"), edge(now * 1000, id="microseconds")))
    stage.send(lines(edge(now + 1, id="after"), edge(now + 10**6, id="a quarter of an hour"), edge(now + 2, id="last")))
    stage.run(4)
    stage.restart()
    stage.fall_silent()
    assert [each["id"] for each in stage.ordered()] == ["before", "after", "last"]
    letters = [dead_letters.decode(record) for record in stage.read(TOPICS.dead_letters(FLOWS))]
    assert [(each.code, each.source.line) for each in letters] == [("future", 2), ("future", 3), ("future", 2)]
    units = ["smaller unit of time" in each.reason for each in letters]
    assert units == [True, True, False]


@pytest.mark.parametrize(("unit", "latest"), [("s", 1_700_000_301), ("ms", 1_700_000_300_001), ("us", 1_700_000_300_001_000)])
def test_how_far_ahead_an_edge_may_be_counts_in_the_units_of_the_stream(unit: str, latest: int) -> None:
    assert Ahead(TimeUnit(unit), 300.0).latest(1_700_000_000_001) == latest


def test_a_stream_may_take_any_time() -> None:
    assert Ahead(TimeUnit.NANOSECOND, inf).latest(0) == Ahead(TimeUnit.NANOSECOND, 1e30).latest(0) == 2**63 - 1


def test_readiness_says_where_nearly_all_edges_are_late() -> None:
    stage, pulse = Stage(most_edges=10_000), Pulse("sequencer", SystemClock())
    token = CURRENT.set(pulse)
    stage.send(lines(edge(10**6, id="ahead")))
    stage.fall_silent()
    assert pulse.ready().note is None
    for block in range(5):
        stage.send(lines(*(edge(number, id=f"{block}.{number}") for number in range(1000))))
    stage.run()
    assert "% of the last edges were late" in (pulse.ready().note or "")
    assert "POST /api/v1/streams/flows:reset-watermark" in (pulse.ready().note or "")
    stage.restart()
    pulse.note(None)
    stage.run()
    assert "% of the last edges were late" in (pulse.ready().note or ""), "a restart does not forget it"
    for block in range(20):
        stage.send(lines(*(edge(10**6 + 1 + 1000 * block + number, id=f"good {block}.{number}") for number in range(1000))))
        stage.run()
    assert pulse.ready().note is None
    CURRENT.reset(token)


def test_readiness_says_where_the_first_edges_of_a_stream_are_all_ahead_and_asks_for_their_unit() -> None:
    stage, pulse = Stage(ahead=Ahead(TimeUnit.MILLISECOND, 300.0)), Pulse("sequencer", SystemClock())
    token = CURRENT.set(pulse)
    now = int(time.time() * 1000)
    stage.send(lines(edge(now * 1000, id="microseconds")))
    stage.run()
    assert "a smaller unit of time" in (pulse.ready().note or "")
    stage.send(lines(edge(now, id="milliseconds")))
    stage.run()
    assert pulse.ready().note is None
    CURRENT.reset(token)


@pytest.mark.parametrize("ordinal", [0, 2, 10**9])
def test_foreign_records_beside_the_ordered_ones_do_not_keep_a_sequencer_from_opening(ordinal: int) -> None:
    stage = Stage()
    stage.register("p", "1000")
    stage.send(lines(edge(1, id="one"), edge(2, id="two")))
    stage.fall_silent()
    genuine = stage.read(TOPICS.ordered(FLOWS))[-1]
    strange = [(name, str(ordinal).encode() if "ordinal" in name else value) for name, value in genuine.headers]
    stage.write(Message(TOPICS.ordered(FLOWS), None, b"no arrow", tuple(strange), partition=0))
    stage.write(Message(TOPICS.ordered(FLOWS), None, b"no arrow", partition=0))
    stage.restart()
    stage.send(lines(edge(2, id="two"), edge(3, id="three")))
    stage.fall_silent()
    found = [ordered_body.decode(record.value or b"")["id"].to_pylist() for record in _readable(stage)]
    assert [id for ids in found for id in ids] == ["one", "two", "three"]


def _readable(stage: Stage) -> list[Record]:
    return [record for record in stage.read(TOPICS.ordered(FLOWS)) if record.value != b"no arrow"]


MANY = [MOST_ATTRIBUTES, 100_000]
SENT = [JSON_LINES, CSV]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> int:
    """Lists of attributes begin anew after a few edges."""
    monkeypatch.setattr(raw_decoding, "FORGET_AFTER", 3)
    return 3


def register_reading(stage: Stage, *names: str) -> None:
    """Register a pattern that reads attributes."""
    where = " AND ".join(f"e.{name} > 0" for name in names)
    text = f"PATTERN reads_{'_'.join(names)} MATCH (v)-[e:x]->(w) WHERE {where} ON flows WINDOW 10"
    stage.write(registering(TOPICS, registration(text, stage.clock.now())))


def send_as(stage: Stage, written: StreamFormat, *edges: dict[str, Any]) -> None:
    """Send edges as one record each."""
    for each in edges:
        if written is JSON_LINES:
            stage.send(lines(each))
        else:
            body = ",".join(map(str, each.values())).encode() + b"\n"
            stage.write(raw.encode(TOPICS.raw(FLOWS), RawEdges(body, written, ",".join(each)))._replace(partition=0))


def invented(ts: int, many: int, first: int = 0) -> dict[str, Any]:
    return edge(ts, f"i{ts}", **{f"a{number}": 1 for number in range(first, first + many)})


def attributes(stage: Stage, name: str) -> dict[str, object]:
    """An attribute of the edges that went out and have it, by their ids."""
    found = {each["id"]: each["attributes"].get(name) for each in stage.ordered()}
    return {id: value for id, value in found.items() if value is not None}


@pytest.mark.parametrize("written", SENT)
@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize("is_first", [True, False], ids=["pattern before", "pattern after"])
def test_what_a_pattern_reads_is_there_whatever_was_invented(written: StreamFormat, many: int, *, is_first: bool) -> None:
    stage = Stage()
    if is_first:
        register_reading(stage, "zone")
    # One edge has all names, that which is read among them the last.
    send_as(stage, written, invented(1, many) | {"zone": 1})
    stage.run()
    if not is_first:
        register_reading(stage, "zone")
        stage.clock.sleep(2)
        stage.run(2)
    send_as(stage, written, edge(2, "e", zone=7), invented(3, many, many) | {"zone": 8})
    stage.run()
    found = attributes(stage, "zone")
    assert (found.pop("e"), found.pop("i3")) == (7, 8)
    assert found in ([{"i1": 1}] if is_first else [{}, {"i1": 1}])
    assert stage.letters() == []


def test_all_that_patterns_read_is_kept_however_much_it_is() -> None:
    stage = Stage()
    names = [f"r{number}" for number in range(MOST_ATTRIBUTES + 100)]
    for start in range(0, len(names), 100):
        register_reading(stage, *names[start : start + 100])
    stage.send(lines(invented(1, 2 * MOST_ATTRIBUTES), edge(2, "e", **dict.fromkeys(names, 5))))
    (first, last) = stage.run().ordered()
    assert {name: last["attributes"].get(name) for name in names} == dict.fromkeys(names, 5)
    assert sum(value is not None for value in first["attributes"].values()) == MOST_ATTRIBUTES


def test_names_that_are_gone_make_room_while_edges_wait(soon: int) -> None:
    stage = Stage(lateness=1_000)
    register_reading(stage, "zone")
    stage.send(lines(edge(1, "waits", zone=1)))
    stage.send(lines(invented(2, MOST_ATTRIBUTES + 1)))
    for ts in range(3, 3 + soon):
        stage.send(lines(edge(ts, f"p{ts}", plain=ts, zone=ts)))
    stage.run()
    stage.send(lines(edge(10, "last", plain=10, zone=10)))
    stage.fall_silent()
    # The list began anew with the last record: names that it left out before are there, and what is read never went.
    assert attributes(stage, "plain").get("last") == 10
    assert attributes(stage, "zone") == {"waits": 1, **{f"p{ts}": ts for ts in range(3, 3 + soon)}, "last": 10}


@pytest.mark.parametrize("calls", range(1, 60))
def test_a_sequencer_that_is_killed_sends_what_is_read_once(soon: int, calls: int) -> None:
    stage = Stage(lateness=2)
    register_reading(stage, "zone")
    stage.fuse.length = calls
    expected = {}
    for ts in range(1, 12):
        if ts % 3 == 0:
            stage.send(lines(invented(ts, MOST_ATTRIBUTES + 5, ts * 5_000)))
        else:
            stage.send(lines(edge(ts, f"e{ts}", zone=ts, plain=ts)))
            expected[f"e{ts}"] = ts
        stage.run(2)
    stage.fall_silent()
    assert attributes(stage, "zone") == expected
    assert stage.ids() == [f"i{ts}" if ts % 3 == 0 else f"e{ts}" for ts in range(1, 12)]


def test_the_limit_is_logged_once_and_noted_until_there_is_room(soon: int) -> None:
    stage = Stage()
    with capture_logs() as logs:
        for ts in range(1, 4):
            stage.send(lines(invented(ts, MOST_ATTRIBUTES + 7)))
        stage.run()
    said = [log for log in logs if log["event"] == events.ATTRIBUTES_LEFT_OUT]
    assert [(log["stream"], log["most"]) for log in said] == [("flows", MOST_ATTRIBUTES)]
    figures = standing_of(stage.log, TOPICS, FLOWS)
    assert figures is not None
    note = figures.note("flows")
    assert note is not None
    assert note.startswith("edges have more attributes than are kept: lately ")
    for ts in range(10, 10 + 2 * soon):
        stage.send(lines(edge(ts)))
        stage.run(2)
    after = standing_of(stage.log, TOPICS, FLOWS)
    assert after is not None
    assert after.note("flows") is None
