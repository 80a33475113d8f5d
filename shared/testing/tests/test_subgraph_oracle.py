"""One hand-written case for each rule of what a match is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.ids import EdgeId, PatternName, StreamName, VertexId
from graphtide_core.order import TimingOrder
from graphtide_core.pattern import Morphism, QueryEdge, QueryVertex, SubgraphPattern
from graphtide_core.predicate import Attribute, Compare, Comparison, Expression, IsNull, Literal, Negation
from graphtide_core.time import Duration, EventTime, TimeUnit
from graphtide_core.window import EdgeCount
from graphtide_testing.oracles.subgraph import SubgraphOracle


def edge(text: str, *, label: str = "x", **attributes: int | float | str) -> Edge:
    """Read `id: source->target @ts`."""
    identity, rest = text.split(": ")
    ends, ts = rest.split(" @")
    source, target = ends.split("->")
    return Edge(EdgeId(identity), EventTime(int(ts)), VertexId(source), VertexId(target), label, None, None, attributes)


def deletion(identity: str, ts: int) -> Edge:
    return replace(edge(f"{identity}: ->  @{ts}"), operation=Operation.DELETE)


def pattern(edges: str, *, order: str = "", window: str = "10", morphism: Morphism = Morphism.ISOMORPHISM) -> SubgraphPattern:
    """Read `a: x->y, b: y->z` and `a<b b<c`; a window such as `3 EDGES` counts edges."""
    parsed = []
    for part in edges.split(", "):
        name, ends = part.split(": ")
        source, target = ends.split("->")
        parsed.append(QueryEdge(name, source, target))
    names = dict.fromkeys(end for one in parsed for end in (one.source, one.target))
    digits = window.rstrip("nusmhd EDGS")
    return SubgraphPattern(
        name=PatternName("p"),
        vertices=tuple(QueryVertex(name) for name in names),
        edges=tuple(parsed),
        window=EdgeCount(int(digits)) if "EDGE" in window else Duration(int(digits), window[len(digits) :] or None),
        stream=StreamName("s"),
        order=TimingOrder.of((pair[0], pair[2]) for pair in order.split()),
        morphism=morphism,
    )


def list_emitted(query: SubgraphPattern, *records: Edge, unit: TimeUnit = TimeUnit.MILLISECOND) -> list[str]:
    """Return what is reported, sorted, as `+ a=1 b=2 @3` for a match and `- …` for a retraction."""
    oracle = SubgraphOracle(query, unit)
    lines = []
    for record in records:
        for found in oracle.push(record):
            ids = " ".join(f"{name}={identity}" for name, identity in found.edges)
            lines.append(f"{'+' if found.kind == 'match' else '-'} {ids} @{found.detected_at}")
    return sorted(lines)


PATH = pattern("a: x->y, b: y->z")
ORDERED_PATH = pattern("a: x->y, b: y->z", order="a<b")


def test_a_match_is_reported_once_when_its_last_edge_arrives() -> None:
    assert list_emitted(PATH, edge("2: v->w @1"), edge("1: u->v @2"), edge("3: p->q @3")) == ["+ a=1 b=2 @2"]


def test_a_match_carries_its_participants_and_its_times() -> None:
    oracle = SubgraphOracle(PATH)
    oracle.push(edge("1: u->v @-4"))
    (found,) = oracle.push(edge("2: v->w @3"))
    assert (found.kind, found.detected_at, found.first_ts, found.last_ts) == ("match", 3, -4, 3)
    assert found.edges == (("a", "1"), ("b", "2"))
    assert found.vertices == (("x", "u"), ("y", "v"), ("z", "w"))


def test_the_timing_order_is_strict() -> None:
    assert list_emitted(ORDERED_PATH, edge("1: u->v @1"), edge("2: v->w @1")) == []
    assert list_emitted(ORDERED_PATH, edge("1: u->v @1"), edge("2: v->w @2")) == ["+ a=1 b=2 @2"]
    assert list_emitted(ORDERED_PATH, edge("2: v->w @1"), edge("1: u->v @2")) == []


def test_without_an_order_ties_match_in_any_order_of_arrival() -> None:
    assert list_emitted(PATH, edge("2: v->w @1"), edge("1: u->v @1")) == ["+ a=1 b=2 @1"]


@pytest.mark.parametrize(("second", "expected"), [(9, ["+ a=1 b=2 @9"]), (10, [])])
def test_edges_a_whole_window_apart_do_not_match(second: int, expected: list[str]) -> None:
    assert list_emitted(PATH, edge("1: u->v @0"), edge(f"2: v->w @{second}")) == expected


@pytest.mark.parametrize(("second", "expected"), [(1, ["+ a=1 b=2 @1"]), (2, [])])
def test_a_window_that_is_no_whole_number_of_ticks_keeps_its_exact_length(second: int, expected: list[str]) -> None:
    query = pattern("a: x->y, b: y->z", window="1500ms")
    assert list_emitted(query, edge("1: u->v @0"), edge(f"2: v->w @{second}"), unit=TimeUnit.SECOND) == expected


def test_a_window_with_a_unit_is_converted_to_the_ticks_of_the_stream() -> None:
    query = pattern("a: x->y, b: y->z", window="2s")
    assert list_emitted(query, edge("1: u->v @0"), edge("2: v->w @1999")) == ["+ a=1 b=2 @1999"]
    assert list_emitted(query, edge("1: u->v @0"), edge("2: v->w @2000")) == []


def test_under_isomorphism_two_query_vertices_are_two_data_vertices() -> None:
    there_and_back = (edge("1: u->v @1"), edge("2: v->u @2"))
    assert list_emitted(PATH, *there_and_back) == []
    coinciding = pattern("a: x->y, b: y->z", morphism=Morphism.EDGE_ISOMORPHISM)
    assert list_emitted(coinciding, *there_and_back) == ["+ a=1 b=2 @2", "+ a=2 b=1 @2"]


def test_a_self_loop_matches_a_query_edge_with_one_vertex_alone() -> None:
    loop = edge("1: u->u @1")
    assert list_emitted(pattern("a: x->x"), loop, edge("2: u->v @2")) == ["+ a=1 @1"]
    assert list_emitted(pattern("a: x->y"), loop) == []
    assert list_emitted(pattern("a: x->y", morphism=Morphism.EDGE_ISOMORPHISM), loop) == ["+ a=1 @1"]


def test_one_data_edge_never_stands_for_two_query_edges() -> None:
    looped = pattern("a: x->y, b: y->z", morphism=Morphism.EDGE_ISOMORPHISM)
    assert list_emitted(looped, edge("1: u->u @1")) == []
    assert list_emitted(pattern("a: x->y, b: x->y"), edge("1: u->v @1")) == []


def test_parallel_edges_are_distinct_and_automorphic_images_count_separately() -> None:
    records = (edge("1: u->v @1"), edge("2: u->v @2"))
    assert list_emitted(pattern("a: x->y, b: x->y"), *records) == ["+ a=1 b=2 @2", "+ a=2 b=1 @2"]
    assert list_emitted(pattern("a: x->y, b: x->y", order="a<b"), *records) == ["+ a=1 b=2 @2"]


def test_the_match_need_not_be_induced() -> None:
    assert "+ a=1 b=2 @2" in list_emitted(PATH, edge("3: u->w @0"), edge("1: u->v @1"), edge("2: v->w @2"))


def test_labels_hold_on_every_matched_edge_of_a_vertex() -> None:
    query = replace(PATH, vertices=(QueryVertex("x"), QueryVertex("y", "A"), QueryVertex("z")))
    first = replace(edge("1: u->v @1"), target_label="A")
    assert list_emitted(query, first, replace(edge("2: v->w @2"), source_label="A")) == ["+ a=1 b=2 @2"]
    assert list_emitted(query, first, replace(edge("2: v->w @2"), source_label="B")) == []
    assert list_emitted(query, first, edge("2: v->w @2")) == []


def test_an_edge_label_in_the_query_is_needed_and_a_missing_one_is_not() -> None:
    query = replace(PATH, edges=(QueryEdge("a", "x", "y", "http"), QueryEdge("b", "y", "z")))
    second = edge("2: v->w @2", label="ssh")
    assert list_emitted(query, edge("1: u->v @1", label="http"), second) == ["+ a=1 b=2 @2"]
    assert list_emitted(query, edge("1: u->v @1", label="dns"), second) == []


def test_a_key_pins_a_query_vertex() -> None:
    query = replace(PATH, vertices=(QueryVertex("x"), QueryVertex("y", None, VertexId("v")), QueryVertex("z")))
    assert list_emitted(query, edge("1: u->v @1"), edge("2: v->w @2"), edge("3: w->u @3")) == ["+ a=1 b=2 @2"]


def test_a_predicate_must_be_true_and_unknown_is_not() -> None:
    large: Expression = Compare(Comparison.GREATER, Attribute("b", "bytes"), Literal(10))
    first = edge("1: u->v @1")
    query = replace(PATH, predicates=(large,))
    assert list_emitted(query, first, edge("2: v->w @2", bytes=11)) == ["+ a=1 b=2 @2"]
    assert list_emitted(query, first, edge("2: v->w @2", bytes=10)) == []
    assert list_emitted(query, first, edge("2: v->w @2")) == []


def test_not_of_unknown_stays_unknown_and_null_is_asked_for_by_name() -> None:
    small: Expression = Negation(Compare(Comparison.GREATER, Attribute("a", "bytes"), Literal(10)))
    records = (edge("1: u->v @1"), edge("2: u->w @2", bytes=3))
    assert list_emitted(replace(pattern("a: x->y"), predicates=(small,)), *records) == ["+ a=2 @2"]
    assert list_emitted(replace(pattern("a: x->y"), predicates=(IsNull(Attribute("a", "bytes")),)), *records) == ["+ a=1 @1"]


def test_a_vertex_has_an_id_and_nothing_else() -> None:
    named: Expression = Compare(Comparison.EQUAL, Attribute("y", "id"), Literal("v"))
    other: Expression = Compare(Comparison.NOT_EQUAL, Attribute("y", "label"), Literal("v"))
    assert list_emitted(replace(PATH, predicates=(named,)), edge("1: u->v @1"), edge("2: v->w @2")) == ["+ a=1 b=2 @2"]
    assert list_emitted(replace(PATH, predicates=(other,)), edge("1: u->v @1"), edge("2: v->w @2")) == []


def test_a_field_of_the_record_is_not_hidden_by_an_attribute_of_its_name() -> None:
    query = replace(pattern("a: x->y"), predicates=(Compare(Comparison.EQUAL, Attribute("a", "label"), Literal("mine")),))
    own = replace(edge("2: u->v @2"), attributes={"label": "mine"})
    assert SubgraphOracle(query).push(own) == frozenset()


def test_a_duplicate_is_dropped_while_the_first_record_is_in_the_window() -> None:
    query = pattern("a: x->y")
    assert list_emitted(query, edge("1: u->v @0"), edge("1: u->w @9"), edge("1: u->w @10")) == ["+ a=1 @0", "+ a=1 @10"]


def test_a_deletion_retracts_the_matches_of_its_edge() -> None:
    records = (edge("1: u->v @1"), edge("2: v->w @2"), edge("3: v->p @3"), deletion("2", 4), edge("4: q->v @5"))
    assert list_emitted(PATH, *records) == [
        "+ a=1 b=2 @2",
        "+ a=1 b=3 @3",
        "+ a=4 b=3 @5",
        "- a=1 b=2 @4",
    ]


def test_a_match_of_which_an_edge_has_expired_is_not_retracted() -> None:
    records = (edge("1: u->v @0"), edge("2: v->w @5"))
    assert list_emitted(PATH, *records, deletion("2", 9)) == ["+ a=1 b=2 @5", "- a=1 b=2 @9"]
    assert list_emitted(PATH, *records, deletion("2", 10)) == ["+ a=1 b=2 @5"]


def test_deleting_an_expired_or_unknown_edge_does_nothing() -> None:
    assert list_emitted(pattern("a: x->y"), edge("1: u->v @0"), deletion("1", 10), deletion("7", 10)) == ["+ a=1 @0"]


def test_a_match_is_retracted_once() -> None:
    records = (edge("1: u->v @1"), edge("2: v->w @2"), deletion("1", 3), deletion("2", 3), deletion("1", 3))
    assert list_emitted(PATH, *records) == ["+ a=1 b=2 @2", "- a=1 b=2 @3"]


def test_a_deleted_id_may_be_inserted_again() -> None:
    records = (edge("1: u->v @1"), deletion("1", 2), edge("1: u->w @3"), edge("2: w->v @4"))
    assert list_emitted(PATH, *records) == ["+ a=1 b=2 @4"]


def test_the_deletion_of_an_id_concerns_its_living_edge_alone() -> None:
    query = pattern("a: x->y")
    records = (edge("1: u->v @0"), edge("1: u->w @10"), deletion("1", 11))
    oracle = SubgraphOracle(query)
    reports = [found for record in records for found in oracle.push(record)]
    assert [(found.kind, found.first_ts) for found in reports] == [("match", 0), ("match", 10), ("retract", 10)]


def test_records_out_of_order_are_refused() -> None:
    oracle = SubgraphOracle(PATH)
    oracle.push(edge("1: u->v @1"))
    with pytest.raises(ValueError, match="0 after 1"):
        oracle.push(edge("2: u->v @0"))


THREE_EDGES = pattern("a: x->y, b: y->z", window="3 EDGES")


def test_a_match_lies_within_so_many_edges_of_the_stream_at_any_times() -> None:
    others = [edge("2: p->q @500"), edge("3: p->q @500"), edge("4: p->q @500")]
    assert list_emitted(THREE_EDGES, edge("1: u->v @1"), *others[:1], edge("9: v->w @900")) == ["+ a=1 b=9 @900"]
    assert list_emitted(THREE_EDGES, edge("1: u->v @1"), *others[:2], edge("9: v->w @900")) == []


def test_edges_of_one_time_leave_a_window_of_edges_one_by_one() -> None:
    stream = [edge("1: u->v @5"), edge("2: u->v @5"), edge("3: p->q @5"), edge("9: v->w @5")]
    assert list_emitted(THREE_EDGES, *stream) == ["+ a=2 b=9 @5"]


def test_no_pair_of_edges_lies_in_a_window_of_one_edge() -> None:
    one = pattern("a: x->y", window="1 EDGE")
    assert list_emitted(one, edge("1: u->v @1"), edge("2: v->w @1"), deletion("1", 2), deletion("2", 2)) == [
        "+ a=1 @1",
        "+ a=2 @1",
        "- a=2 @2",
    ]
    assert list_emitted(pattern("a: x->y, b: y->z", window="1 EDGE"), edge("1: u->v @1"), edge("2: v->w @1")) == []


def test_deletions_and_duplicates_are_no_edges_of_a_window() -> None:
    stream = [edge("1: u->v @1"), edge("2: p->q @1"), deletion("2", 2), edge("1: u->v @2"), edge("9: v->w @3")]
    assert list_emitted(THREE_EDGES, *stream) == ["+ a=1 b=9 @3"]


def test_an_id_that_left_a_window_of_edges_may_come_again() -> None:
    again = [edge("1: u->v @1"), edge("2: p->q @1"), edge("3: p->q @1"), edge("1: u->v @1"), edge("9: v->w @1")]
    assert list_emitted(THREE_EDGES, *again) == ["+ a=1 b=9 @1"]
