"""Features of a statement are those of the oracle in the ordered stream, over any crash and any version of the statement."""

from __future__ import annotations

from typing import Final

from graphtide_core.time import TimeUnit
from graphtide_query import parse_streams
from graphtide_testing.oracles.stream_features import value_of
from graphtide_testing.sequencing_stage import FLOWS, TOPICS, SequencingStage, edge, lines
from graphtide_testing.windowed_streams import RAW_EDGES, READS, read_back
from graphtide_wire import raw
from graphtide_wire.raw import Reset
from hypothesis import given
from hypothesis import strategies as st

FEATURES: Final = (
    "FEATURE sent = sum(size) PER src OVER 10ms",
    "FEATURE fan = count(DISTINCT dst) PER src OVER 5ms FEATURE newest = last(size) OVER 30ms EXCLUDE CURRENT",
    "FEATURE surge = count(*) PER src OVER 5ms AGAINST 20ms WHERE size > 1",
    "",
)


@given(st.lists(st.tuples(st.sampled_from(FEATURES), RAW_EDGES), min_size=1, max_size=3), st.integers(0, 60), st.integers(0, 2))
def test_features_follow_from_what_went_out_over_any_crash(
    phases: list[tuple[str, list[dict[str, object]]]], length: int, after: int
) -> None:
    stage = SequencingStage()
    stage.register("p", "1m")
    # How many edges had gone out when each version was stated, and when it was used for sure.
    stated: list[int] = []
    used: list[int] = []
    for place, (features, edges) in enumerate(phases):
        stated.append(len(stage.ordered()))
        stage.state(f"{READS} {features}", place + 1)
        used.append(len(stage.ordered()))
        stage.send(lines(*edges))
        if place == after:
            stage.fuse.length = length
        stage.run(3)
    stage.fall_silent()
    rows = stage.ordered()
    records = read_back(rows, {"sent", "fan", "newest", "surge"})
    definitions = [parse_streams(f"{READS} {features}")[0] for features, _ in phases]
    for place, row in enumerate(rows):
        if row["op"] != "insert":
            continue
        # After a crash in between, the version that is stated is used at once.
        newest = max((each for each, begin in enumerate(stated) if begin <= place), default=0)
        oldest = max((each for each, begin in enumerate(used) if begin <= place), default=0)
        given = {name: value for name, value in row["attributes"].items() if name != "size" and value is not None}
        allowed = [
            {each.name: value_of(each, records[: place + 1], TimeUnit.MILLISECOND) for each in definitions[version].features}
            for version in range(oldest, newest + 1)
        ]
        assert given in [{name: value for name, value in each.items() if value is not None} for each in allowed], place


def test_times_that_begin_anew_have_windows_of_their_own() -> None:
    stage = SequencingStage()
    stage.state(f"{READS} FEATURE n = count(*) OVER 1s", 1)
    stage.send(lines(edge(10, "a", size=1), edge(11, "b", size=1)))
    stage.run(2)
    stage.write(raw.encode_reset(TOPICS.raw(FLOWS), Reset(0, "tests")))
    stage.send(lines(edge(11, "c", size=1)))
    stage.run(2)
    stage.fall_silent()
    assert [row["attributes"]["n"] for row in stage.ordered()] == [1, 2, 1]
