"""Crashes of who puts a stream in order, at any call, change nothing of what goes out."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import FencedError, TransientError
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_log.committed_offset_check import MOST_REFUSALS
from graphtide_native.records import ArrowDecoder, Symbols
from graphtide_testing.forgetful import ForgetfulLog
from graphtide_testing.sequencing_stage import FLOWS, SOME_EDGES, TOPICS, SequencingStage, edge, lines, outcome
from graphtide_wire import ordered_body, raw
from graphtide_wire.raw import Reset
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.ports.log import Record


@pytest.mark.parametrize("is_old", [False, True], ids=["none", "old positions"])
@pytest.mark.parametrize("shows_commits", [False, True], ids=["commits hidden", "commits shown"])
@pytest.mark.parametrize(("times", "again"), [(1, 0), (3, 0), (50, 1)], ids=["once", "thrice", "for good"])
def test_edges_do_not_go_out_again_where_the_log_forgets_positions_for_a_while(
    is_old: bool, times: int, again: int, shows_commits: bool
) -> None:
    stage = SequencingStage(partitions=1)
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
    expected = 0 if shows_commits else min(times, MOST_REFUSALS)
    assert (went_out, len(refused)) == ([1, 2, 3, 4, *repeated, 5], expected)
    assert all(text.endswith("has 4") for text in refused)


def times_of(record: Record) -> list[int]:
    return [each["ts"] for each in ArrowDecoder(Symbols(), [], {}).decode(record.value or b"").to_records()]


def test_an_id_is_dropped_while_it_is_in_the_longest_window_also_after_a_crash() -> None:
    stage = SequencingStage()
    stage.register("short", "2ms")
    stage.register("long", "10ms")
    stage.register("elsewhere", "1d", "other")
    stage.send(lines(edge(1, "a"), edge(9, "b"), edge(10, "a")))
    assert stage.run().ids() == ["a", "b"]
    stage.restart()
    stage.send(lines(edge(10, "b"), edge(11, "a")))
    assert stage.run().ids() == ["a", "b", "a"]


def test_an_id_is_dropped_while_it_is_among_the_edges_that_a_pattern_counts_also_after_a_crash() -> None:
    stage = SequencingStage()
    stage.register("p", "3 EDGES")
    stage.send(lines(edge(1, "one"), edge(100, "two")))
    stage.run().restart()
    stage.send(lines(edge(200, "one"), edge(300, "three"), edge(400, "two"), edge(500, "one")))
    assert stage.run().ids() == ["one", "two", "three", "one"], "the third edge after its own is not a duplicate any more"
    stage.restart()
    stage.send(lines(edge(600, "three"), edge(700, "four"), edge(800, "two")))
    assert stage.run().ids() == ["one", "two", "three", "one", "four", "two"]


def test_a_longer_window_of_a_new_pattern_knows_ids_that_went_out_before() -> None:
    stage = SequencingStage()
    stage.send(lines(edge(1, "a"), edge(2, "a")))
    stage.run()
    stage.register("long", "1h")
    stage.clock.sleep(2)
    stage.run()
    stage.send(lines(edge(3, "a"), edge(4, "b")))
    assert stage.run().ids() == ["a", "a", "b"]


def test_a_second_sequencer_of_a_stream_shuts_out_the_first() -> None:
    stage = SequencingStage()
    stage.run()
    stage.new_worker().open()
    stage.send(lines(edge(1, "a")))
    with pytest.raises(FencedError):
        stage.run()


def test_a_record_with_some_edges_that_went_out_is_read_again_for_the_others() -> None:
    stage = SequencingStage(lateness=5)
    stage.send(lines(edge(1), edge(20), edge(10), edge(15), edge(14), "bad"))
    before = stage.run().ids()
    stage.restart()
    stage.send(lines(edge(30)))
    assert (before, stage.run().fall_silent().ids()) == (["0", "3"], ["0", "3", "1", "6"])
    assert [each.code for each in stage.letters()] == ["malformed", "late", "late"]


def test_a_partition_that_is_silent_between_two_crashes_is_not_read_again() -> None:
    stage = SequencingStage(partitions=2)
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


def play(stage: SequencingStage, bodies: Sequence[bytes | Reset], kills: Sequence[int]) -> object:
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
    expected = play(SequencingStage(lateness), bodies, [])
    survived = False
    kill = 0
    while not survived:
        kill += 1
        stage = SequencingStage(lateness)
        assert play(stage, bodies, [*kills, kill]) == expected, f"killed at {kill}"
        survived = stage.fuse.length > 0
    assert kill > 40


@given(
    st.lists(st.one_of(SOME_EDGES.map(lambda record: lines(*record)), st.builds(Reset, st.integers(0, 2))), max_size=8),
    st.sampled_from([0, 1, 3, 20]),
    st.integers(1, 6),
    st.lists(st.integers(1, 60), max_size=4),
)
def test_crashes_of_a_stream_in_one_partition_change_nothing(
    bodies: list[bytes | Reset], lateness: int, most_pending: int, kills: list[int]
) -> None:
    assert play(SequencingStage(lateness, most_pending=most_pending), bodies, kills) == play(
        SequencingStage(lateness, most_pending=most_pending), bodies, []
    )


@given(
    st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 12), min_size=1, max_size=3)), max_size=12),
    st.sampled_from([0, 3]),
    st.integers(1, 8),
    st.lists(st.integers(1, 80), max_size=4),
)
def test_with_many_partitions_no_edge_is_lost_none_repeated_and_order_holds(
    records: list[tuple[int, list[int]]], lateness: int, most_pending: int, kills: list[int]
) -> None:
    stage = SequencingStage(lateness, partitions=3, most_pending=most_pending)
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


def test_positions_are_the_next_record_where_nothing_waits() -> None:
    stage = SequencingStage()
    stage.send(lines(edge(1)))
    stage.send(lines(edge(2)))
    stage.run()
    place = TopicPartition(TOPICS.raw(FLOWS), 0)
    position = stage.log.reader(stage.worker.name).committed([place])[place]
    assert position is not None
    counts = {"counted": {"read": 2, "ordered": 2}, "recent": {"read": 2}, "first": None}
    assert (position.offset, json.loads(position.metadata)) == (
        2,
        {"next": 2, "ordinal": 2, "watermark": 2, "ordered": 2, "sources": {"#0": 2}, "form": 1}
        | {"epoch": 0, "newest": 2, "numbered": 2, "lateness": 0, "left_out": 0, **counts},
    )


@pytest.mark.parametrize("ordinal", [0, 2, 10**9])
def test_foreign_records_beside_the_ordered_ones_do_not_keep_a_sequencer_from_opening(ordinal: int) -> None:
    stage = SequencingStage()
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


def _readable(stage: SequencingStage) -> list[Record]:
    return [record for record in stage.read(TOPICS.ordered(FLOWS)) if record.value != b"no arrow"]
