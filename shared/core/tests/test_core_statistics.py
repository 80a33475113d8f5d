"""Snapshots of statistics: shares, merging, JSON, drift."""

from __future__ import annotations

import json
from itertools import combinations

import pytest
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.pattern import QueryEdge, QueryVertex, SubgraphPattern
from graphtide_core.statistics import (
    DegreeMoments,
    Direction,
    Drift,
    DriftPolicy,
    EdgeEnd,
    EdgeType,
    PathType,
    StatisticsSnapshot,
    TimeRange,
    drift,
    from_json,
    merge,
    should_replan,
    to_json,
)
from graphtide_core.time import Duration, EventTime
from hypothesis import given
from hypothesis import strategies as st

OUT, IN = Direction.OUT, Direction.IN
TCP, UDP = EdgeType("ip", "tcp", "ip"), EdgeType("ip", "udp", None)
PATTERN = SubgraphPattern(
    name=PatternName("p"),
    vertices=(QueryVertex("v", "ip"), QueryVertex("w"), QueryVertex("u")),
    edges=(
        QueryEdge("a", "v", "w", "tcp"),
        QueryEdge("b", "w", "v"),
        QueryEdge("c", "w", "w", "udp"),
        QueryEdge("d", "v", "u", "tcp"),
        QueryEdge("e", "u", "u"),
    ),
    window=Duration(1),
    stream=StreamName("s"),
)
EDGES = {edge.name: edge for edge in PATTERN.edges}

LABELS = st.sampled_from(["x", "y", "Größe", ""])
TYPES = st.builds(EdgeType, st.none() | LABELS, LABELS, st.none() | LABELS, st.integers(0, 2))
ENDS = st.builds(EdgeEnd, TYPES, st.sampled_from(Direction))
COUNTS = st.integers(1, 2**70)
TIMES = st.integers(-(2**63), 2**63 - 1).map(EventTime)
MOMENTS = st.builds(DegreeMoments, *[st.integers(0, 2**70)] * 4)
SNAPSHOTS = st.builds(
    lambda types, **rest: StatisticsSnapshot(types=types, edges=sum(types.values()), **rest),
    version=st.integers(0, 9),
    window=st.none() | st.builds(TimeRange, TIMES, TIMES),
    first_ts=st.none() | TIMES,
    last_ts=st.none() | TIMES,
    vertices=st.integers(0, 9),
    types=st.dictionaries(TYPES, COUNTS, max_size=4),
    paths=st.none() | st.dictionaries(st.builds(PathType.of, ENDS, ENDS), COUNTS, max_size=4),
    out_degrees=MOMENTS,
    in_degrees=MOMENTS,
)


def make_statistics(
    types: dict[str, int], ticks: int = 100, paths: dict[tuple[str, str], int] | None = None
) -> StatisticsSnapshot:
    ends = {label: EdgeEnd(EdgeType(None, label, None), OUT) for label in "abcdefgh"}
    return StatisticsSnapshot(
        window=TimeRange(EventTime(0), EventTime(ticks)),
        edges=sum(types.values()),
        types={EdgeType(None, label, None): count for label, count in types.items()},
        paths=None if paths is None else {PathType.of(ends[one], ends[two]): count for (one, two), count in paths.items()},
    )


def test_a_path_share_sums_over_the_labels_the_query_leaves_open() -> None:
    paths = {
        PathType.of(EdgeEnd(TCP, OUT), EdgeEnd(TCP, OUT)): 1,
        PathType.of(EdgeEnd(TCP, OUT), EdgeEnd(TCP, IN)): 2,
        PathType.of(EdgeEnd(TCP, IN), EdgeEnd(UDP, OUT)): 4,
        PathType.of(EdgeEnd(UDP, IN), EdgeEnd(UDP, OUT)): 3,
    }
    snapshot = StatisticsSnapshot(edges=2, types={TCP: 1, UDP: 1}, paths=paths)
    # Two edges out of v.
    assert snapshot.path_share(PATTERN, EDGES["a"], EDGES["d"]) == 0.1
    # a into w and b out of w: tcp-tcp and tcp-udp; a out of v and b into v: tcp-tcp alone. The lesser bounds both.
    assert snapshot.path_share(PATTERN, EDGES["a"], EDGES["b"]) == 0.2
    assert snapshot.path_share(PATTERN, EDGES["b"], EDGES["a"]) == 0.2
    # The self-loop e has both ends at u, where d comes in; as one that comes in it has no path with d.
    assert snapshot.path_share(PATTERN, EDGES["d"], EDGES["e"]) == 0.0


def test_of_paths_nobody_counted_everything_fits_and_of_none_nothing() -> None:
    a, b = EDGES["a"], EDGES["b"]
    assert StatisticsSnapshot().path_share(PATTERN, a, b) == 1.0
    assert StatisticsSnapshot(edges=1, types={TCP: 1}).path_share(PATTERN, a, b) == 1.0
    assert StatisticsSnapshot(edges=1, types={TCP: 1}, paths={}).path_share(PATTERN, a, b) == 0.0


def test_meetings_count_every_pair_of_edges_both_ways_round() -> None:
    paths = {
        PathType.of(EdgeEnd(TCP, OUT), EdgeEnd(TCP, OUT)): 1,
        PathType.of(EdgeEnd(TCP, OUT), EdgeEnd(TCP, IN)): 2,
        PathType.of(EdgeEnd(TCP, IN), EdgeEnd(UDP, OUT)): 4,
    }
    snapshot = StatisticsSnapshot(edges=2, types={TCP: 1, UDP: 1}, paths=paths)
    # Two tcp edges out of v can change places.
    assert snapshot.meetings(PATTERN, "v", EDGES["a"], EDGES["d"]) == 2
    # At w: a comes in, b goes out to a vertex with the label ip, so it is not udp.
    assert snapshot.meetings(PATTERN, "w", EDGES["a"], EDGES["b"]) == 2
    assert snapshot.meetings(PATTERN, "w", EDGES["b"], EDGES["a"]) == 2
    # The self-loop c leaves w and comes in there; udp never comes in.
    assert snapshot.meetings(PATTERN, "w", EDGES["a"], EDGES["c"]) == 4
    assert StatisticsSnapshot(edges=1, types={TCP: 1}).meetings(PATTERN, "w", EDGES["a"], EDGES["b"]) == 0


@pytest.mark.parametrize(("edge", "other"), [("a", "a"), ("b", "e")])
def test_edges_that_make_no_path_have_no_share(edge: str, other: str) -> None:
    with pytest.raises(ValueError, match="make no 2-edge path"):
        StatisticsSnapshot().path_share(PATTERN, EDGES[edge], EDGES[other])


@given(ENDS, ENDS)
def test_the_ends_of_a_path_have_no_order(one: EdgeEnd, other: EdgeEnd) -> None:
    path = PathType.of(one, other)
    assert path == PathType.of(other, one)
    if one != other:
        with pytest.raises(ValueError, match="out of order"):
            PathType(path.second, path.first)


@given(SNAPSHOTS, SNAPSHOTS, SNAPSHOTS)
def test_merging_does_not_depend_on_order_or_grouping(
    a: StatisticsSnapshot, b: StatisticsSnapshot, c: StatisticsSnapshot
) -> None:
    assert merge(a, b) == merge(b, a)
    assert merge(merge(a, b), c) == merge(a, merge(b, c))
    assert merge(a, StatisticsSnapshot()) == a


def test_merging_two_windows_adds_them_up() -> None:
    end = EdgeEnd(TCP, OUT)
    one = StatisticsSnapshot(
        version=1,
        window=TimeRange(EventTime(0), EventTime(10)),
        first_ts=EventTime(2),
        last_ts=EventTime(9),
        edges=3,
        vertices=4,
        types={TCP: 3},
        paths={PathType.of(end, end): 1},
        out_degrees=DegreeMoments(2, 3, 5, 2),
    )
    two = StatisticsSnapshot(
        version=2,
        window=TimeRange(EventTime(10), EventTime(20)),
        first_ts=EventTime(11),
        last_ts=EventTime(19),
        edges=5,
        vertices=2,
        types={TCP: 1, UDP: 4},
        paths={PathType.of(end, end): 2},
        out_degrees=DegreeMoments(1, 5, 25, 5),
    )
    assert merge(one, two) == StatisticsSnapshot(
        version=2,
        window=TimeRange(EventTime(0), EventTime(20)),
        first_ts=EventTime(2),
        last_ts=EventTime(19),
        edges=8,
        vertices=6,
        types={TCP: 4, UDP: 4},
        paths={PathType.of(end, end): 3},
        out_degrees=DegreeMoments(3, 8, 30, 5),
    )
    assert (merge(one, two).rate, merge(one, two).span, merge(one, two).out_degrees.mean) == (0.4, 17, 8 / 3)


@given(SNAPSHOTS)
def test_json_gives_back_the_snapshot(snapshot: StatisticsSnapshot) -> None:
    text = to_json(snapshot)
    assert from_json(text) == snapshot
    assert from_json(text.encode()) == snapshot
    assert "\n" not in text
    assert to_json(from_json(text)) == text


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"schema": 2}, "of schema 1"),
        ({"types": [["a", "b"]]}, "damaged"),
        ({"paths": [[0, "up", 0, "out", 1]]}, "damaged"),
        ({"out_degrees": {"mean": 1}}, "damaged"),
    ],
)
def test_json_of_another_form_is_refused(change: dict[str, object], reason: str) -> None:
    record = {**json.loads(to_json(make_statistics({"a": 1}))), **change}
    with pytest.raises(PoisonRecordError, match=reason):
        from_json(json.dumps(record))


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_what_is_no_snapshot_is_refused(text: str) -> None:
    with pytest.raises(PoisonRecordError, match="not "):
        from_json(text)


def test_a_stream_that_stays_the_same_does_not_drift() -> None:
    then = make_statistics({"a": 800, "b": 200}, paths={("a", "a"): 900, ("a", "b"): 100})
    assert drift(then, then) == Drift(0.0, 0.0, 0.0)
    assert drift(then, make_statistics({"a": 1600, "b": 400}, ticks=200)) == Drift(0.0, 0.0, 0.0)


def test_a_reversed_order_is_all_the_drift_there_can_be() -> None:
    then = make_statistics({"a": 800, "b": 200}, paths={("a", "a"): 900, ("a", "b"): 100})
    now = make_statistics({"a": 200, "b": 800}, paths={("a", "a"): 100, ("a", "b"): 900})
    assert drift(then, now) == drift(now, then) == Drift(1.0, 1.0, 0.0)
    assert drift(make_statistics({"a": 1000}), make_statistics({"b": 1000})).order == 1.0


def test_rare_types_and_unclear_orders_hardly_count() -> None:
    then = make_statistics({"a": 10_000, "b": 10, "c": 100})
    assert 0 < drift(then, make_statistics({"a": 10_000, "b": 100, "c": 10})).order < 0.01
    # Nearly equal before; too few to decide after.
    assert drift(make_statistics({"a": 1000, "b": 900}), make_statistics({"a": 900, "b": 1000})).order == 0.0
    assert drift(make_statistics({"a": 6, "b": 3}), make_statistics({"a": 3, "b": 6})).order == 0.0


def test_the_rate_drifts_by_doublings() -> None:
    then = make_statistics({"a": 1000}, ticks=100)
    assert drift(then, make_statistics({"a": 4000}, ticks=100)).rate == 2.0
    assert drift(then, make_statistics({"a": 1000}, ticks=400)).rate == 2.0
    assert drift(then, make_statistics({})).rate == 0.0


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (make_statistics({"a": 8000, "b": 2000}), False),
        (make_statistics({"a": 2000, "b": 8000}), True),
        (make_statistics({"a": 20, "b": 80}), False),
        (make_statistics({"a": 8000, "b": 2000}, ticks=10), True),
        (make_statistics({"a": 8000, "b": 2000}, paths={("a", "a"): 10, ("a", "b"): 990}), True),
        (make_statistics({}), False),
    ],
)
def test_a_new_plan_is_due_when_enough_edges_show_enough_drift(now: StatisticsSnapshot, due: bool) -> None:
    then = make_statistics({"a": 8000, "b": 2000}, paths={("a", "a"): 990, ("a", "b"): 10})
    assert should_replan(then, now, DriftPolicy()) is due


def test_plans_made_with_nothing_known_are_due_once_something_is() -> None:
    now = make_statistics({"a": 1000})
    assert should_replan(StatisticsSnapshot(), now, DriftPolicy())
    assert not should_replan(StatisticsSnapshot(), now, DriftPolicy(fewest_edges=1001))
    assert not should_replan(StatisticsSnapshot(), make_statistics({}), DriftPolicy(fewest_edges=0))


def pairs_that_changed(then: dict[str, int], now: dict[str, int]) -> float:
    """Drift of the order by its definition: pair by pair."""
    all_then, all_now = sum(then.values()), sum(now.values())
    kinds = sorted({*then, *now})
    share = {kind: then.get(kind, 0) / all_then + now.get(kind, 0) / all_now for kind in kinds}

    def clear(counts: dict[str, int], one: str, other: str) -> int:
        a, b = counts.get(one, 0), counts.get(other, 0)
        return 0 if (a - b) ** 2 <= 9 * (a + b) else (a > 1.25 * b) - (b > 1.25 * a)

    pairs = list(combinations(kinds, 2))
    changed = sum(share[a] * share[b] for a, b in pairs if clear(then, a, b) * clear(now, a, b) < 0)
    every = sum(share[a] * share[b] for a, b in pairs)
    return changed / every if every else 0.0


LABEL_COUNTS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 300), min_size=1).filter(
    lambda counts: sum(counts.values()) > 0
)


@given(LABEL_COUNTS, LABEL_COUNTS)
def test_drift_of_the_order_is_the_share_of_pairs_that_changed_places(then: dict[str, int], now: dict[str, int]) -> None:
    assert drift(make_statistics(then), make_statistics(now)).order == pytest.approx(min(1.0, pairs_that_changed(then, now)))
