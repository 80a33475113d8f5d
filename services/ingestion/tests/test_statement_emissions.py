"""What EMIT gives in the ordered stream is what the oracle gives, over any crash, and while nothing comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from graphtide_core.edge import Edge
from graphtide_core.time import TimeUnit
from graphtide_query import parse_streams
from graphtide_testing.oracles.stream_emissions import add_emitted
from graphtide_testing.sequencing_stage import FLOWS, TOPICS, SequencingStage, edge, lines
from graphtide_testing.windowed_streams import RAW_EDGES, READS, read_back
from graphtide_wire import raw
from graphtide_wire.raw import Reset
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

EMITS: Final = (
    "EMIT EDGE (src:host)-[:burst]->(dst) EVERY 10ms SET n = count(*), total = sum(size) HAVING n > 1",
    "EMIT EDGE (src)-[:a]->(dst) EVERY 5ms SET newest = last(size) EMIT EDGE (dst)-[:b]->(src) PER size EVERY 7ms",
    "EMIT EDGE (src)-[:fan]->(src) EVERY 20ms SET hosts = count(DISTINCT dst) WHERE size > 1 FEATURE n = count(*) OVER 9ms",
)


def without_missing(edges: Sequence[Any]) -> list[Edge]:
    """Return edges without attributes whose value is missing."""
    return [
        Edge(
            each.id,
            each.ts,
            each.source,
            each.target,
            each.label,
            each.source_label,
            each.target_label,
            {name: value for name, value in each.attributes.items() if value is not None},
            each.operation,
        )
        for each in edges
    ]


def expect(stage: SequencingStage, emits: str, watermark: int | None = None) -> tuple[list[Edge], list[Edge]]:
    """Return what went out, and what should have, by the records that are no given ones."""
    found = read_back(stage.ordered(), {"counted"})
    (definition,) = parse_streams(f"{READS} {emits}")
    given = [each for each in found if not each.id.startswith("emit:")]
    return found, without_missing(add_emitted(definition.emissions, given, TimeUnit.MILLISECOND, watermark))


@given(st.sampled_from(EMITS), st.lists(RAW_EDGES, min_size=1, max_size=3), st.integers(0, 60), st.integers(0, 2))
def test_windows_close_once_over_any_crash(emits: str, phases: list[list[dict[str, object]]], length: int, after: int) -> None:
    stage = SequencingStage()
    stage.register("p", "1m")
    emits = emits.replace("FEATURE n", "FEATURE counted")
    stage.state(f"{READS} {emits}", 1)
    for place, edges in enumerate(phases):
        stage.send(lines(*edges))
        if place == after:
            stage.fuse.length = length
        stage.run(3)
    stage.fall_silent()
    found, expected = expect(stage, emits)
    assert found == expected


def test_a_live_clock_closes_windows_while_nothing_comes_and_a_restart_does_not_close_them_again() -> None:
    emits = "CLOCK live EMIT EDGE (src)-[:burst]->(dst) EVERY 10ms SET n = count(*)"
    stage = SequencingStage()
    stage.state(f"{READS} {emits}", 1)
    stage.send(lines(edge(3, "a"), edge(4, "b")))
    stage.fall_silent()
    assert [(row["label"], row["ts"]) for row in stage.ordered()] == [("x", 3), ("x", 4), ("burst", 10)]
    stage.restart()
    stage.send(lines(edge(100_000, "c")))
    stage.fall_silent()
    found, expected = expect(stage, emits, 200_000)
    assert found == expected
    assert [row["ts"] for row in stage.ordered() if row["label"] == "burst"] == [10, 100_010]


def test_a_clock_of_data_leaves_windows_open_until_a_record_comes() -> None:
    emits = "EMIT EDGE (src)-[:burst]->(dst) EVERY 10ms SET n = count(*)"
    stage = SequencingStage()
    stage.state(f"{READS} {emits}", 1)
    stage.send(lines(edge(3, "a"), edge(4, "b")))
    stage.fall_silent()
    assert [row["label"] for row in stage.ordered()] == ["x", "x"]
    stage.restart()
    # A late record is in no window.
    stage.send(lines(edge(10, "c"), edge(3, "d")))
    stage.fall_silent()
    assert [(row["label"], row["attributes"].get("n")) for row in stage.ordered()] == [
        ("x", None),
        ("x", None),
        ("burst", 2),
        ("x", None),
    ]


def test_times_that_begin_anew_leave_open_windows_behind() -> None:
    emits = "EMIT EDGE (src)-[:burst]->(dst) EVERY 10ms SET n = count(*)"
    stage = SequencingStage()
    stage.state(f"{READS} {emits}", 1)
    stage.send(lines(edge(13, "a")))
    stage.run(2)
    stage.write(raw.encode_reset(TOPICS.raw(FLOWS), Reset(0, "tests")))
    stage.send(lines(edge(11, "b"), edge(20, "c")))
    stage.run(2)
    stage.fall_silent()
    found = [(row["epoch"], row["label"], row["attributes"].get("n")) for row in stage.ordered()]
    assert found == [(0, "x", None), (1, "x", None), (1, "burst", 1), (1, "x", None)]


def test_events_are_given_too() -> None:
    stage = SequencingStage()
    stage.state(f"{READS} EMIT EVENT 'scan' PER src AS host EVERY 10ms SET hosts = count(DISTINCT dst) HAVING hosts > 1", 1)
    stage.send(lines(edge(1, "a"), edge(2, "b", dst="c"), edge(3, "c", src="z"), edge(10, "d")))
    stage.fall_silent()
    (event,) = [row for row in stage.ordered() if row["label"] == "scan"]
    assert (event["ts"], event["attributes"]["host"], event["attributes"]["hosts"]) == (10, "a", 2)


def test_another_version_counts_from_what_went_out() -> None:
    stage = SequencingStage()
    stage.state(READS, 1)
    stage.send(lines(edge(1, "a"), edge(2, "b")))
    stage.fall_silent()
    stage.state(f"{READS} EMIT EDGE (src)-[:burst]->(dst) EVERY 10ms SET n = count(*), total = sum(size)", 2)
    stage.send(lines(edge(3, "c", size=2), edge(11, "d")))
    stage.fall_silent()
    (burst,) = [row for row in stage.ordered() if row["label"] == "burst"]
    assert (burst["attributes"]["n"], burst["attributes"]["total"]) == (3, 2)
