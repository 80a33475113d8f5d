"""Under a live clock the time of a quiet stream passes; under that of data it stands still."""

from __future__ import annotations

import json

import pytest
from graphtide_core.ports.log import Position, Record, TopicPartition
from graphtide_core.time import MAX_EVENT_TIME
from graphtide_ordering.ordering import Ordering
from graphtide_ordering.positions import read_remembered
from graphtide_ordering.raw_groups import group_records
from graphtide_ordering.stream_sequencer import StreamSequencer
from graphtide_wire import raw
from graphtide_wire.raw import RawEdges

IDLE, LATENESS, SECOND = 5.0, 2_000, 1_000


def record(offset: int, ts: int) -> Record:
    line = json.dumps({"ts": ts, "src": "a", "dst": "b", "label": "x", "id": f"e{offset}"})
    message = raw.encode("in", RawEdges(line.encode()))
    return Record("in", 0, offset, 0, None, message.value, message.headers)


def open_sequencer(live: int = SECOND, position: Position | None = None, now: float = 0.0) -> StreamSequencer:
    sequencer = StreamSequencer(Ordering(LATENESS, IDLE, 1_000, None, live))
    sequencer.restore(0, None if position is None else read_remembered(position))
    sequencer.open(set(), now)
    return sequencer


def take(sequencer: StreamSequencer, offset: int, ts: int, now: float) -> None:
    for group in group_records([record(offset, ts)]):
        sequencer.take(group, now)


@pytest.mark.parametrize(("live", "expected"), [(SECOND, 100_000 + 3_000), (0, 100_000)])
def test_time_goes_on_by_what_passed_since_the_newest_edge_less_timeout_and_lateness(live: int, expected: int) -> None:
    sequencer = open_sequencer(live)
    take(sequencer, 0, 100_000, now=50.0)
    sequencer.look_around(50.0 + IDLE - 0.1, at_end=True)
    assert sequencer.watermark == 98_000, "the producer may still say something"
    sequencer.look_around(50.0 + IDLE + 1.0, at_end=True)
    assert sequencer.watermark == 100_000, "all that waited has gone, and what is as late as it may be is not past"
    sequencer.look_around(50.0 + IDLE + 2.0 + 3.0, at_end=True)
    assert sequencer.watermark == expected


def test_what_comes_behind_the_clock_is_late_and_what_comes_ahead_of_it_counts() -> None:
    sequencer = open_sequencer()
    take(sequencer, 0, 100_000, now=0.0)
    sequencer.look_around(IDLE + 12.0, at_end=True)
    assert sequencer.watermark == 110_000
    take(sequencer, 1, 105_000, now=IDLE + 12.5)
    take(sequencer, 2, 113_000, now=IDLE + 12.5)
    output = sequencer.take_output()
    assert [each.refused.code.value for each in output.rejected] == ["late"]
    assert sequencer.watermark == 111_000


def test_time_never_goes_back_over_a_restart_and_goes_on_from_there() -> None:
    sequencer = open_sequencer()
    take(sequencer, 0, 100_000, now=0.0)
    sequencer.look_around(IDLE + 12.0, at_end=True)
    sequencer.take_output()
    position = sequencer.positions({0: TopicPartition("in", 0)})[TopicPartition("in", 0)]
    again = open_sequencer(position=position, now=1_000.0)
    assert again.watermark == 110_000
    again.look_around(1_000.0 + IDLE + LATENESS / SECOND + 4.0, at_end=True)
    assert again.watermark == 114_000


def test_a_clock_stops_at_the_end_of_time() -> None:
    sequencer = open_sequencer()
    take(sequencer, 0, MAX_EVENT_TIME - 10, now=0.0)
    sequencer.look_around(1e6, at_end=True)
    assert sequencer.watermark == MAX_EVENT_TIME
