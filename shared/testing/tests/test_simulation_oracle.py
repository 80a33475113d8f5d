"""Dual simulation with timing by the paper's own examples, and one hand-written case for each rule of the definition."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

from graphtide_core.edge import Edge, Operation
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.match import MatchKind
from graphtide_core.time import EventTime
from graphtide_query import parse_subgraphs
from graphtide_testing.oracles.simulation import Component, SimulationOracle, components, has_distinct, match_graph
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.pattern import SubgraphPattern


def query(
    match: str, *, order: str = "", where: str = "", window: int | str = 1000, report: str = "MAXIMAL"
) -> SubgraphPattern:
    clauses = [f"PATTERN q MATCH {match}", where and f"WHERE {where}", order and f"ORDER {order}"]
    clauses += [f"UNDER DUAL SIMULATION REPORT {report}", f"ON s WINDOW {window}"]
    (parsed,) = parse_subgraphs(" ".join(filter(None, clauses)))
    return parsed


def edge(ts: int, source: str, target: str, label: str = "e", labels: tuple[str, str] | None = None, **more: int) -> Edge:
    """Return an edge whose id is its ends and its time; `labels` are those of its ends."""
    of, to = labels or (None, None)
    return Edge(EdgeId(f"{source}{target}{ts}"), EventTime(ts), VertexId(source), VertexId(target), label, of, to, more)


def deletion(ts: int, of: Edge) -> Edge:
    return replace(of, ts=EventTime(ts), operation=Operation.DELETE)


def find(of: SubgraphPattern, edges: Sequence[Edge]) -> dict[str, set[str]]:
    """Return the ids of the data edges that match each query edge."""
    pairs = match_graph(of, edges)
    return {name: {edges[place].id for each, place in pairs if each == name} for name, _ in sorted(pairs)}


ROADS = query(
    "(a:M)-[ab:cong]->(b:M), (c:M)-[ca:cong]->(a), (d:M)-[dc:cong]->(c), (e:M)-[ea:cong]->(a), (f:M)-[fe:cong]->(e)",
    order="ab < ca, ca < dc, ab < ea, ea < fe",
    window=5,
)
"""Figure 1 (a) to (c) of the paper; the window in its units of time."""


def road(ts: int, source: str, target: str, label: str = "cong") -> Edge:
    return edge(ts, source, target, label, ("M", "M"))


def test_example_1_is_a_match_when_two_more_roads_are_congested() -> None:
    early = [road(3, "1", "2"), road(4, "3", "1"), road(4, "5", "1"), road(4, "4", "3", "smooth"), road(5, "6", "5", "smooth")]
    assert find(ROADS, early) == {}
    oracle = SimulationOracle(ROADS)
    assert [oracle.push(each) for each in [*early, road(6, "4", "3")]] == [[]] * 6
    (match,) = oracle.push(road(8, "6", "5"))
    # Either branch may stand for the other.
    either = {"314", "514"}, {"436", "658"}
    pairs = [("ab", {"123"}), ("ca", either[0]), ("ea", either[0]), ("dc", either[1]), ("fe", either[1])]
    assert match.pairs == {(name, EdgeId(id)) for name, ids in pairs for id in ids}


def test_example_1_asks_for_two_branches() -> None:
    one = [road(1, "1", "2"), road(2, "3", "1"), road(3, "4", "3")]
    assert find(ROADS, one) == {}
    with_another_edge_of_the_same_road = [*one, road(4, "3", "1"), road(5, "4", "3")]
    assert find(ROADS, with_another_edge_of_the_same_road).keys() == {"ab", "ca", "dc", "ea", "fe"}


def test_example_2_is_six_people_who_leave_one_firm_for_another() -> None:
    people = range(6)
    match = ", ".join(f"(p{each}:person)-[l{each}:leaves]->(c1:firm), (p{each})-[j{each}:joins]->(c2:firm)" for each in people)
    move = query(match, order=", ".join(f"l{each} < j{each}" for each in people))
    moves = [edge(10 + each, f"p{each}", "old", "leaves", ("person", "firm")) for each in people]
    moves += [edge(20 + each, f"p{each}", "new", "joins", ("person", "firm")) for each in people]
    assert set().union(*find(move, moves).values()) == {each.id for each in moves}
    assert find(move, moves[:-1]) == {}
    early = [replace(each, ts=EventTime(1)) if each.label == "joins" and each.source == "p3" else each for each in moves]
    assert find(move, sorted(early, key=lambda each: each.ts)) == {}


def test_example_3_is_a_tree_of_retweets() -> None:
    tree = query("(r)-[a:t]->(x), (r)-[b:t]->(y), (x)-[c:t]->(v), (x)-[d:t]->(w)", order="a < c, a < d")
    spread = [edge(1, "r", "x", "t"), edge(2, "r", "y", "t"), edge(3, "x", "v", "t")]
    assert find(tree, spread) == {}
    whole = [*spread, edge(4, "x", "w", "t")]
    assert find(tree, whole) == {"a": {"rx1"}, "b": {"rx1", "ry2"}, "c": {"xv3", "xw4"}, "d": {"xv3", "xw4"}}


def test_example_5_keeps_the_times_that_the_paper_says() -> None:
    path = query("(d)-[dc:e]->(c), (c)-[ca:e2]->(a), (a)-[ab:e3]->(b)", order="ab < ca, ca < dc")
    edges = [edge(ts, "A", "B", "e3") for ts in (30, 40, 90)]
    edges += [edge(ts, "C", "A", "e2") for ts in (2, 45, 100)]
    edges += [edge(ts, "D", "C") for ts in (50, 95)]
    assert find(path, edges) == {"ab": {"AB30", "AB40"}, "ca": {"CA45"}, "dc": {"DC50", "DC95"}}


def test_a_vertex_may_match_several_and_several_may_match_it() -> None:
    path = query("(a)-[x:e]->(b), (b)-[y:e]->(c)")
    cycle = [edge(1, "v", "w"), edge(2, "w", "v")]
    assert find(path, cycle) == {"x": {"vw1", "wv2"}, "y": {"vw1", "wv2"}}


def test_a_loop_serves_as_one_that_goes_out_and_one_that_comes_in() -> None:
    assert find(query("(a)-[x:e]->(b), (b)-[y:e]->(c)"), [edge(1, "v", "v")]) == {"x": {"vv1"}, "y": {"vv1"}}
    assert find(query("(a)-[x:e]->(a)"), [edge(1, "v", "w"), edge(2, "w", "v")]) == {"x": {"vw1", "wv2"}}
    assert find(query("(a)-[x:e]->(b), (a)-[y:e]->(b)"), [edge(1, "v", "v")]) == {}


def test_equal_times_keep_no_order() -> None:
    path = query("(a)-[x:e]->(b), (b)-[y:f]->(c)", order="x < y")
    assert find(path, [edge(1, "a", "b"), edge(1, "b", "c", "f")]) == {}
    assert find(path, [edge(1, "a", "b"), edge(2, "b", "c", "f")]) != {}


def test_times_are_compared_within_each_component() -> None:
    path = query("(a)-[x:e]->(b), (b)-[y:f]->(c)", order="x < y")
    early, late = [edge(5, "a", "b"), edge(4, "b", "c", "f")], [edge(1, "v", "w"), edge(9, "w", "z", "f")]
    assert find(path, [*early, *late]) == {"x": {"vw1"}, "y": {"wz9"}}
    assert len(components(late, match_graph(path, late))) == 1


def test_predicates_are_of_one_edge() -> None:
    path = query("(a)-[x:e]->(b), (b)-[y:e]->(c)", where="y.n > 5")
    assert find(path, [edge(1, "a", "b"), edge(2, "b", "c", n=7), edge(3, "b", "c", n=3)]) == {"x": {"ab1"}, "y": {"bc2"}}
    ends = query("(a)-[x:e]->(b), (b)-[y:e]->(c)", where="b.id <> c.id")
    assert find(ends, [edge(1, "a", "b"), edge(2, "b", "b")]) == {}


def test_the_window_is_closed_and_expiry_alone_reports_nothing() -> None:
    oracle = SimulationOracle(query("(a)-[x:e]->(b), (b)-[y:f]->(c)", window=10))
    assert oracle.push(edge(0, "a", "b")) == []
    assert oracle.push(edge(10, "b", "c", "f")) != []
    assert oracle.push(edge(11, "b", "d", "f")) == []


def test_a_deletion_takes_back_the_component_as_it_was() -> None:
    oracle = SimulationOracle(query("(a)-[x:e]->(b), (b)-[y:f]->(c)"))
    oracle.push(edge(0, "a", "b"))
    (emitted,) = oracle.push(edge(1, "b", "c", "f"))
    gone = oracle.push(deletion(2, edge(0, "a", "b")))
    assert gone == [replace(emitted, kind=MatchKind.RETRACT, detected_at=2)]
    assert oracle.push(edge(3, "b", "d", "f")) == []


def test_an_instance_is_reported_once_and_its_earliest_edge_consumed() -> None:
    oracle = SimulationOracle(query("(a)-[x:e]->(b), (b)-[y:f]->(c)", report="INSTANCES"))
    first = [edge(0, "a", "b"), edge(1, "z", "b"), edge(2, "b", "c", "f")]
    *_, (emitted,) = [oracle.push(each) for each in first]
    assert emitted.pairs == {("x", EdgeId("ab0")), ("x", EdgeId("zb1")), ("y", EdgeId("bc2"))}
    (again,) = oracle.push(edge(3, "b", "d", "f"))
    assert ("x", EdgeId("ab0")) not in again.pairs
    assert oracle.push(edge(4, "b", "d", "f")) == []


def test_changes_are_emitted_when_edges_come_expire_and_are_deleted() -> None:
    oracle = SimulationOracle(query("(a)-[x:e]->(b), (b)-[y:f]->(c)", window=10, report="CHANGES"))
    emitted = [
        oracle.push(each)
        for each in [
            edge(0, "a", "b"),
            edge(2, "b", "c", "f"),
            edge(3, "v", "w"),
            edge(4, "w", "z", "f"),
            # What joins two components: an edge that ends where one begins and begins where the other ends.
            edge(5, "w", "c", "f"),
            deletion(6, edge(5, "w", "c", "f")),
            edge(30, "z", "z", "other"),
        ]
    ]
    ab, bc, vw, wz, wc = (EdgeId(id) for id in ("ab0", "bc2", "vw3", "wz4", "wc5"))
    left, right = frozenset({("x", ab), ("y", bc)}), frozenset({("x", vw), ("y", wz)})
    assert emitted == [
        [],
        [Component(MatchKind.MATCH, 2, left, ab)],
        [],
        [Component(MatchKind.MATCH, 4, right, vw)],
        [Component(MatchKind.EXTEND, 5, frozenset({("y", wc)}), ab, (vw,))],
        [
            Component(MatchKind.RETRACT, 6, frozenset({("y", wc)}), ab),
            Component(MatchKind.MATCH, 6, right, vw, (ab,)),
        ],
        [Component(MatchKind.RETRACT, 10, left, ab), Component(MatchKind.RETRACT, 13, right, vw)],
    ]


@given(st.lists(st.sets(st.integers(0, 4), max_size=4), max_size=5))
def test_different_ones_are_found_where_there_are_some(choices: list[set[int]]) -> None:
    some = any(all(one in of for one, of in zip(each, choices, strict=False)) for each in permutations(range(5), len(choices)))
    assert has_distinct(choices) is some


def test_in_a_window_of_edges_the_record_that_pushes_an_edge_out_reports_it() -> None:
    oracle = SimulationOracle(query("(x)-[a:k]->(y)", window="2 EDGES", report="CHANGES"))
    first, second, other = edge(1, "u", "v", "k"), edge(1, "p", "q", "k"), edge(7, "r", "s", "other")
    assert [each.kind for each in oracle.push(first) + oracle.push(second)] == [MatchKind.MATCH, MatchKind.MATCH]
    (gone,) = oracle.push(other)
    assert gone == Component(MatchKind.RETRACT, 7, frozenset({("a", first.id)}), first.id)
    assert oracle.push(deletion(8, other)) == []
    assert oracle.finish() == [], "no edge comes any more, so none leaves"
