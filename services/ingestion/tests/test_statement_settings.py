"""LATENESS, DUPLICATES and CLOCK of a statement hold for its stream from when it is used on, over any crash."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final

import pytest
from graphtide_core.duplicate_policy import DuplicatePolicy
from graphtide_core.formats import CSV
from graphtide_ordering.progress_reports import progress_of
from graphtide_ordering.stream_progress import RECENT, FirstRejected
from graphtide_telemetry import alerts
from graphtide_telemetry.setup import exposition
from graphtide_testing.sequencing_stage import FLOWS, IDLE, TOPICS, SequencingStage, edge, lines
from graphtide_testing.telemetry import count_metrics, metrics_of
from graphtide_wire import ordered, raw
from graphtide_wire.dead_letters import ErrorCode
from graphtide_wire.raw import RawEdges
from hypothesis import example, given
from hypothesis import strategies as st

SECONDS: Final = 1_000
READS = "EDGE (src)-[label]->(dst) AT ts ID id"


@dataclass(frozen=True)
class Phase:
    """A version of the statement, and the records that come while it holds, as times and ids."""

    lateness: int
    policy: DuplicatePolicy
    records: list[tuple[int, str]]

    def text(self) -> str:
        return f"STREAM flows {READS} LATENESS {self.lateness}ms DUPLICATES {self.policy.value}"


@dataclass
class Oracle:
    """The order of a stream by the definition: a watermark that never goes back, and ids that are all in the window."""

    watermark: int | None = None
    newest: int | None = None
    waiting: list[tuple[int, int, str]] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    out: list[tuple[str, int, str]] = field(default_factory=list)
    letters: list[tuple[str, str]] = field(default_factory=list)
    arrived: int = 0

    def take(self, phase: Phase) -> None:
        self.pass_to(phase)
        for ts, id in phase.records:
            if self.watermark is not None and ts < self.watermark:
                self.letters.append(("late", id))
                continue
            self.newest = ts if self.newest is None else max(self.newest, ts)
            self.waiting.append((ts, self.arrived, id))
            self.arrived += 1
            self.pass_to(phase)

    def pass_to(self, phase: Phase) -> None:
        if self.newest is None:
            return
        reached = self.newest - phase.lateness
        self.watermark = reached if self.watermark is None else max(self.watermark, reached)
        self.release(self.watermark, phase.policy)

    def release(self, until: int, policy: DuplicatePolicy) -> None:
        due = sorted(each for each in self.waiting if each[0] <= until)
        self.waiting = [each for each in self.waiting if each[0] > until]
        for ts, _, id in due:
            if id in self.known:
                if policy is DuplicatePolicy.ERROR:
                    self.letters.append(("duplicate", id))
                if policy is not DuplicatePolicy.UPDATE:
                    continue
                self.out.append(("delete", ts, id))
            self.known.add(id)
            self.out.append(("insert", ts, id))


PHASES = st.lists(
    st.builds(
        Phase,
        st.sampled_from([0, 3, 10]),
        st.sampled_from(DuplicatePolicy),
        st.lists(st.tuples(st.integers(0, 20), st.sampled_from("abcdef")), min_size=1, max_size=5),
    ),
    min_size=1,
    max_size=4,
)


WAITED = [
    Phase(3, DuplicatePolicy.REJECT, [(0, "a"), (0, "a")]),
    Phase(0, DuplicatePolicy.UPDATE, [(0, "a")]),
]
"""Edges that wait under one policy, and go at once under another."""


@given(PHASES, st.integers(0, 60), st.integers(0, 3))
@example(WAITED, 0, 0)
def test_a_stream_is_ordered_as_its_versions_say_over_any_crash(phases: list[Phase], length: int, after: int) -> None:
    stage, oracle = SequencingStage(lateness=7), Oracle()
    stage.register("p", "1m")
    for place, phase in enumerate(phases):
        stage.state(phase.text(), place + 1)
        oracle.take(phase)
        stage.send(lines(*(edge(ts, id) for ts, id in phase.records)))
        if place == after:
            stage.fuse.length = length
        stage.run(2)
    stage.fall_silent()
    oracle.release(100, phases[-1].policy)
    assert [(each["op"], each["ts"], each["id"]) for each in stage.ordered()] == oracle.out
    found = sorted((each.code, json.loads(each.raw)["id"]) for each in stage.letters())
    assert found == sorted(oracle.letters)
    progress = progress_of(stage.log, TOPICS, FLOWS)
    assert progress is not None
    counted = progress.counted
    inserts = sum(op == "insert" for op, _, _ in oracle.out)
    replaced = len(oracle.out) - inserts
    late = sum(code == "late" for code, _ in oracle.letters)
    assert (progress.lateness, counted.ordered, counted.replaced, counted.late) == (
        phases[-1].lateness,
        inserts,
        replaced,
        late,
    )
    assert counted.duplicates == counted.read - inserts - late


def test_what_becomes_of_records_is_counted_and_the_first_that_was_rejected_is_shown() -> None:
    stage = SequencingStage()
    stage.register("p", "1m")
    stage.state(f"STREAM flows {READS} WHERE label <> 'no' DUPLICATES update", 1)
    stage.send(lines(edge(1, "a"), edge(2, "b", label="no"), '{"label": "x"}', edge(3, "a"), edge(0, "c")))
    stage.fall_silent()
    progress = progress_of(stage.log, TOPICS, FLOWS)
    assert progress is not None
    counted = progress.counted
    assert (counted.read, counted.ordered, counted.replaced, counted.filtered) == (5, 2, 1, 1)
    assert (counted.late, counted.rejected, counted.duplicates) == (1, 1, 0)
    assert progress.first == FirstRejected("malformed", "no time", 0, 0, 3)


def test_each_outcome_of_an_edge_is_a_dead_letter_or_one_that_the_alert_leaves_out() -> None:
    count_metrics()
    stage = SequencingStage()
    stage.register("p", "1m")
    stage.state(f"STREAM flows {READS} WHERE label <> 'no' DUPLICATES update", 1)
    stage.send(lines(edge(1, "a"), edge(2, "b", label="no"), '{"label": "x"}', edge(3, "a"), edge(0, "c")))
    stage.fall_silent()
    found = {
        outcome[1]
        for name in metrics_of(exposition().decode())
        if name.startswith("graphtide_sequencer_edges_total") and (outcome := re.search('graphtide_outcome="([^"]*)"', name))
    }
    assert {"read", "ordered", "replaced", "filtered", "malformed", "late"} <= found
    left_out = re.search('!~"([^"]*)"', alerts.DEAD_LETTERS.expression)
    assert left_out is not None
    assert found - {*left_out[1].split("|")} <= {each.value for each in ErrorCode}


@pytest.mark.parametrize("is_new", [True, False], ids=["from the start", "later"])
def test_a_stream_whose_records_lack_a_column_says_so(*, is_new: bool) -> None:
    stage = SequencingStage(most_records=5_000)
    stage.state(f"STREAM flows {READS}", 1)
    if not is_new:
        stage.send(lines(edge(1, "a")))
        stage.fall_silent()
    for number in range(1 if is_new else RECENT):
        body = RawEdges(b"5,x,y,z\n", CSV, "ts,source,dst,label")
        stage.write(raw.encode(TOPICS.raw(FLOWS), body, str(number).encode())._replace(partition=0))
    stage.fall_silent()
    progress = progress_of(stage.log, TOPICS, FLOWS)
    assert progress is not None
    begun = "no edge was taken yet, and 1 record could not be used" if is_new else "most of the last records could not be used"
    note = progress.note("flows")
    assert note is not None
    assert note.startswith(f"{begun}, the first because: no column 'src' (for a source); the columns are 'ts', 'source', 'dst'")
    assert note.endswith("GET /api/v1/dead-letters?stream=flows shows them")


@pytest.mark.parametrize("clock", ["live", "data"])
def test_time_passes_by_the_clock_of_the_statement(clock: str) -> None:
    stage = SequencingStage()
    stage.state(f"STREAM flows {READS} CLOCK {clock}", 1)
    stage.send(lines(edge(1_000, "a")))
    stage.fall_silent()
    stage.clock.sleep(IDLE + 10)
    stage.run(3)
    last = ordered.header(stage.read(TOPICS.ordered(FLOWS))[-1].headers)
    assert (last.watermark > 10 * SECONDS) == (clock == "live")


def test_without_a_statement_any_more_the_settings_of_the_service_hold_again() -> None:
    stage = SequencingStage(lateness=5)
    stage.state(f"STREAM flows {READS} LATENESS 50ms", 1)
    stage.send(lines(edge(100, "a"), edge(60, "b")))
    stage.run(2)
    assert stage.ids() == []
    stage.unstate(2)
    stage.send(lines(edge(101, "c"), edge(60, "late")))
    stage.run(4)
    assert stage.ids() == ["b"]
    assert [each.code for each in stage.letters()] == ["late"]
