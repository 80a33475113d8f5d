"""Running statistics against a recount of the window, after every record."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.statistics import DegreeMoments, Direction, EdgeEnd, EdgeType, PathType, TimeRange
from graphtide_core.time import EventTime
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.statistics import StreamStatistics
from graphtide_testing.oracles.statistics import StatisticsOracle
from graphtide_testing.records import to_json_lines
from graphtide_testing.strategies import StreamShape, edge_streams, random_stream
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_native.records import EdgeBatch

WINDOWS = st.sampled_from([None, 1, 2, 5, 12, 10**9, 2**63 - 1])


class Native:
    """Statistics of edges, through the decoder."""

    def __init__(self, window: int | None = None, *, tumbling: bool = False, paths: bool = True, deletions: bool = False):
        symbols = Symbols()
        self._decoder = JsonLinesDecoder(symbols, [], {})
        self.statistics = StreamStatistics(symbols, window, tumbling=tumbling, paths=paths, deletions=deletions)

    def batch(self, edges: Sequence[Edge]) -> EdgeBatch:
        return self._decoder.decode(to_json_lines(edges))

    def push(self, edges: Sequence[Edge], classes: Sequence[int] | None = None) -> list[StatisticsSnapshot]:
        return self.statistics.push(self.batch(edges), classes)

    def push_lines(self, lines: bytes) -> list[StatisticsSnapshot]:
        return self.statistics.push(self._decoder.decode(lines))


def insert(ts: int, source: str, target: str, label: str, name: str = "") -> Edge:
    return Edge(EdgeId(name or f"e{ts}"), EventTime(ts), VertexId(source), VertexId(target), label)


def delete(ts: int, name: str) -> Edge:
    return Edge(EdgeId(name), EventTime(ts), VertexId("?"), VertexId("?"), "?", operation=Operation.DELETE)


@given(edge_streams(StreamShape(max_records=60)), WINDOWS, st.booleans(), st.booleans(), st.booleans())
def test_after_every_record_the_counts_are_those_of_a_recount(
    edges: tuple[Edge, ...], window: int | None, tumbling: bool, deletions: bool, paths: bool
) -> None:
    tumbling = tumbling and window is not None
    native = Native(window, tumbling=tumbling, paths=paths, deletions=deletions)
    oracle = StatisticsOracle(window, tumbling=tumbling, paths=paths, deletions=deletions)
    assert native.statistics.snapshot() == oracle.snapshot()
    for edge in edges:
        number = len(edge.attributes)
        assert native.push([edge], [number]) == oracle.push(edge, number)
        assert native.statistics.snapshot() == oracle.snapshot()


@given(edge_streams(), WINDOWS, st.booleans(), st.randoms(use_true_random=False))
def test_records_out_of_order_count_at_the_time_of_the_newest_before(
    edges: tuple[Edge, ...], window: int | None, tumbling: bool, rng: random.Random
) -> None:
    tumbling = tumbling and window is not None
    native = Native(window, tumbling=tumbling, deletions=True)
    oracle = StatisticsOracle(window, tumbling=tumbling, paths=True, deletions=True)
    shuffled = list(edges)
    rng.shuffle(shuffled)
    closed = [ended for edge in shuffled for ended in oracle.push(edge)]
    assert native.push(shuffled) == closed
    assert native.statistics.snapshot() == oracle.snapshot()


@pytest.mark.parametrize("seed", range(4))
def test_many_types_at_few_vertices_are_counted_as_exactly(seed: int) -> None:
    labels = tuple(f"l{number}" for number in range(60))
    shape = StreamShape(max_records=900, vertices=12, labels=labels, gaps=(0, 1))
    native, oracle = Native(120, deletions=True), StatisticsOracle(120, tumbling=False, paths=True, deletions=True)
    for place, edge in enumerate(random_stream(random.Random(seed), shape)):
        native.push([edge])
        oracle.push(edge)
        if place % 90 == 89:
            assert (native.statistics.snapshot().types, native.statistics.snapshot().paths) == (
                oracle.snapshot().types,
                oracle.snapshot().paths,
            )


def test_an_example_by_hand() -> None:
    x, y, z = (EdgeType(None, label, None) for label in "xyz")
    x_out, x_in = EdgeEnd(x, Direction.OUT), EdgeEnd(x, Direction.IN)
    y_out, y_in = EdgeEnd(y, Direction.OUT), EdgeEnd(y, Direction.IN)
    z_out, z_in = EdgeEnd(z, Direction.OUT), EdgeEnd(z, Direction.IN)
    native = Native(3)
    native.push([insert(1, "a", "b", "x"), insert(2, "a", "c", "x"), insert(3, "b", "a", "y")])
    three = native.statistics.snapshot()
    assert three.types == {x: 2, y: 1}
    # At a: x and x, and each of them with y. At b: x and y, which so make two paths, as they share both vertices.
    assert three.paths == {PathType.of(x_out, x_out): 1, PathType.of(x_out, y_in): 2, PathType.of(x_in, y_out): 1}
    assert (three.edges, three.vertices, three.window) == (3, 3, TimeRange(EventTime(1), EventTime(4)))
    assert three.out_degrees == DegreeMoments(vertices=2, total=3, squares=5, most=2)

    native.push([insert(4, "a", "a", "z")])
    four = native.statistics.snapshot()
    # The first edge has left. The self-loop has both ends at a: it pairs twice with each other edge, and not with itself.
    assert four.types == {x: 1, y: 1, z: 1}
    assert four.paths == {
        PathType.of(x_out, y_in): 1,
        PathType.of(x_out, z_out): 1,
        PathType.of(x_out, z_in): 1,
        PathType.of(y_in, z_out): 1,
        PathType.of(y_in, z_in): 1,
    }
    assert (four.first_ts, four.last_ts, four.span, four.rate) == (2, 4, 2, 1.0)
    assert four.in_degrees == DegreeMoments(vertices=2, total=3, squares=5, most=2)
    assert four.version == three.version + 1


def test_tumbling_windows_end_one_after_the_other_and_empty_ones_leave_nothing() -> None:
    native = Native(10, tumbling=True)
    ended = native.push([insert(ts, "a", "b", "x") for ts in (-3, 4, 9, 35)])
    assert [(each.window, each.edges) for each in ended] == [
        (TimeRange(EventTime(-3), EventTime(0)), 1),
        (TimeRange(EventTime(0), EventTime(10)), 2),
    ]
    assert native.statistics.snapshot().window == TimeRange(EventTime(30), EventTime(36))


def test_the_ends_of_time_do_not_overflow() -> None:
    least, greatest = -(2**63), 2**63 - 1
    for window, tumbling in ((None, False), (7, False), (greatest, False), (7, True), (greatest, True)):
        native = Native(window, tumbling=tumbling)
        oracle = StatisticsOracle(window, tumbling=tumbling, paths=True, deletions=False)
        edges = [insert(ts, "a", "b", "x") for ts in (least, -1, greatest)]
        assert native.push(edges) == [ended for edge in edges for ended in oracle.push(edge)]
        assert native.statistics.snapshot() == oracle.snapshot()


def test_deleted_edges_are_swept_from_an_endless_window_without_a_trace() -> None:
    native = Native(deletions=True)
    native.push([insert(0, "a", "b", "x", "kept"), insert(0, "a", "b", "x", "twice"), insert(1, "a", "b", "y", "twice")])
    for ts in range(1, 3000):
        native.push([insert(ts, "a", f"v{ts}", "z"), insert(ts, "b", "a", "z", f"f{ts}"), delete(ts, f"e{ts}")])
    native.push([delete(3000, f"f{ts}") for ts in range(1, 3000)])
    # The id names the later of the two edges; the earlier cannot be deleted any more.
    native.push([delete(3000, "twice"), delete(3000, "twice")])
    snapshot = native.statistics.snapshot()
    assert snapshot.types == {EdgeType(None, "x", None): 2}
    assert (snapshot.vertices, snapshot.first_ts, snapshot.last_ts) == (2, 0, 0)


@given(st.lists(st.integers(0, 2**32 - 1), max_size=5))
def test_classes_separate_edges_of_equal_labels(classes: list[int]) -> None:
    native = Native()
    native.push([insert(ts, "a", "b", "x") for ts in range(len(classes))], classes)
    assert native.statistics.snapshot().types == {
        EdgeType(None, "x", None, number): classes.count(number) for number in classes
    }


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one tick"):
        StreamStatistics(Symbols(), 0)
    with pytest.raises(ValueError, match="needs a length"):
        StreamStatistics(Symbols(), tumbling=True)
    native = Native()
    with pytest.raises(ValueError, match="1 classes for 2 records"):
        native.push([insert(1, "a", "b", "x"), insert(2, "a", "b", "x")], [0])
    assert native.statistics.snapshot().edges == 0


@pytest.mark.parametrize("most", [0, 2, 3, 9])
def test_of_a_batch_as_many_records_count_as_asked(most: int) -> None:
    edges = [insert(ts, "u", f"x{ts}", "a") for ts in range(3)]
    native = Native()
    native.statistics.push(native.batch(edges), most=most)
    assert native.statistics.snapshot().edges == min(most, 3)


EVENTS = b'{"ts":1,"type":"reading","id":"r"}\n{"ts":2,"src":"a","dst":"b","label":"x"}\n{"ts":4,"type":"reading"}\n'
EVENT, OF_X = EdgeType(None, "reading", None), EdgeType(None, "x", None)


@pytest.mark.parametrize("deletions", [False, True])
def test_events_count_by_their_types_and_have_no_ends(*, deletions: bool) -> None:
    native = Native(3, deletions=deletions)
    found: list[dict[EdgeType, int]] = []
    for line in (*EVENTS.splitlines(keepends=True), b'{"ts":5,"id":"r","op":"delete"}\n', b'{"ts":9,"type":"other"}\n'):
        native.push_lines(line)
        snapshot = native.statistics.snapshot()
        found.append(dict(snapshot.types))
        assert (snapshot.vertices, snapshot.out_degrees.total) == ((2, 1) if OF_X in snapshot.types else (0, 0))
    assert found == [{EVENT: 1}, {EVENT: 1, OF_X: 1}, {EVENT: 1, OF_X: 1}, {EVENT: 1}, {EdgeType(None, "other", None): 1}]


def test_a_tumbling_window_of_events_alone_leaves_a_snapshot() -> None:
    native = Native(10, tumbling=True)
    closed = native.push_lines(b'{"ts":1,"type":"reading"}\n{"ts":12,"type":"reading"}\n')
    assert [dict(each.types) for each in closed] == [{EVENT: 1}]
