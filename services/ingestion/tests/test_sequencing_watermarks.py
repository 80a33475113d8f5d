"""How far a stream's watermark goes, which waits for slow producers and goes out while a stream is quiet."""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING

import pytest
from graphtide_core.time import MIN_EVENT_TIME, TimeUnit
from graphtide_ordering.raw_decoding import Ahead
from graphtide_serving.clock import SystemClock
from graphtide_telemetry.health import CURRENT, Pulse
from graphtide_testing.mortal import Fuse
from graphtide_testing.sequencing_stage import FLOWS, IDLE, TOPICS, SequencingStage, edge, lines
from graphtide_wire import dead_letters, ordered, raw
from graphtide_wire.raw import Reset

if TYPE_CHECKING:
    from graphtide_testing.clock import ManualClock

HEARTBEAT = 1.0


def test_the_watermark_waits_for_the_slowest_producer_until_that_falls_silent() -> None:
    stage = SequencingStage(partitions=2)
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
    stage = SequencingStage(partitions=2)
    for ts in range(10):
        stage.send(lines(edge(10 * ts, f"a{ts}")), 0)
    for ts in range(10):
        stage.send(lines(edge(10 * ts + 5, f"b{ts}")), 1)
    stage.run().fall_silent()
    assert (len(stage.ids()), stage.letters()) == (20, [])


def test_a_pause_of_the_sequencer_itself_makes_no_producer_idle() -> None:
    stage = SequencingStage(partitions=2)
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
    stage = SequencingStage(most_edges=1, most_records=20, fuse=slow_log)
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
    stage = SequencingStage(lateness=1000, most_pending=2)
    stage.send(lines(edge(1, "a"), edge(1, "b"), edge(2, "c"), edge(3, "d")))
    assert stage.run().ids() == ["a", "b"]
    stage.send(lines(edge(0, "late"), edge(1, "tie")))
    assert stage.run().ids() == ["a", "b", "tie"]
    assert [each.code for each in stage.letters()] == ["late"]


def heartbeats(stage: SequencingStage) -> list[tuple[int, int, int]]:
    """Return of each heartbeat the epoch, the time of the newest edge before it, and the watermark."""
    stage.ordered()
    reported = [ordered.header(record.headers) for record in stage.read(TOPICS.ordered(FLOWS))]
    return [
        (each.epoch, each.last_ts, each.watermark) for each in reported if not each.records and each.watermark > MIN_EVENT_TIME
    ]


def quiet(stage: SequencingStage, seconds: float = HEARTBEAT) -> SequencingStage:
    """Let some seconds pass without a record."""
    stage.clock.sleep(seconds)
    return stage.run(2)


def test_a_quiet_stream_emits_its_watermark_once_and_again_when_it_has_moved() -> None:
    stage = SequencingStage()
    stage.register("p", "100")
    stage.send(lines(edge(1)), producer="slow")
    stage.send(lines(edge(10)), producer="fast")
    stage.run(4)
    stage.send(lines(edge(5)), producer="slow")
    assert heartbeats(stage.run(2)) == []
    stage.send(lines(edge(7, "same"), edge(8, "same")), producer="slow")
    assert heartbeats(quiet(stage)) == [], "the edges that go out show as much"
    assert heartbeats(quiet(stage)) == [(0, 7, 8)]
    assert heartbeats(quiet(quiet(stage))) == [(0, 7, 8)]


def test_a_sequencer_that_comes_back_emits_no_heartbeat_again() -> None:
    stage = SequencingStage(lateness=3)
    stage.send(lines(edge(1), edge(10)))
    assert heartbeats(quiet(quiet(stage.run()))) == [(0, 1, 7)]
    stage.restart()
    assert heartbeats(quiet(quiet(stage))) == [(0, 1, 7)]


def test_an_epoch_without_edges_has_no_heartbeat() -> None:
    stage = SequencingStage(lateness=3)
    stage.send(lines(edge(1), edge(10)))
    stage.run()
    stage.write(raw.encode_reset(TOPICS.raw(FLOWS), Reset(0)))
    quiet(stage)
    stage.send(lines(edge(4)))
    assert heartbeats(quiet(stage)) == []


def test_edges_in_the_far_future_are_rejected_and_the_stream_continues() -> None:
    stage = SequencingStage(ahead=Ahead(TimeUnit.MILLISECOND, 300.0))
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
    stage, pulse = SequencingStage(most_edges=10_000), Pulse("sequencer", SystemClock())
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
    stage, pulse = SequencingStage(ahead=Ahead(TimeUnit.MILLISECOND, 300.0)), Pulse("sequencer", SystemClock())
    token = CURRENT.set(pulse)
    now = int(time.time() * 1000)
    stage.send(lines(edge(now * 1000, id="microseconds")))
    stage.run()
    assert "a smaller unit of time" in (pulse.ready().note or "")
    stage.send(lines(edge(now, id="milliseconds")))
    stage.run()
    assert pulse.ready().note is None
    CURRENT.reset(token)
