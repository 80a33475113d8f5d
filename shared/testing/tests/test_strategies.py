"""Generated streams and patterns keep their promises, and every trouble they promise does occur."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

from graphtide_core.path_expression import Alternation, Concatenation, Maybe, Plus, Star, Symbol, operands, symbols
from graphtide_core.pattern import Morphism, SubgraphPattern
from graphtide_core.regular_rule import Constant
from graphtide_core.stream_window import WindowKind
from graphtide_testing.strategies import (
    GraphQueryShape,
    PatternShape,
    StreamShape,
    edge_streams,
    graph_queries,
    patterns,
    random_graph_query,
    random_pattern,
    random_stream,
)
from hypothesis import given, settings

if TYPE_CHECKING:
    from graphtide_core.edge import Edge
    from graphtide_core.graph_query import GraphQuery
    from graphtide_core.path_expression import PathExpression

PLAIN_STREAM = StreamShape(
    nameless=False,
    vertices=5,
    self_loops=False,
    multi_edges=False,
    duplicates=False,
    deletions=False,
    negative_ts=False,
    attributes=False,
)
PLAIN_PATTERN = PatternShape(
    self_loops=False,
    parallel_edges=False,
    order=False,
    edge_isomorphism=False,
    vertex_labels=False,
    keys=False,
    predicates=False,
)


@given(edge_streams())
@settings(deadline=None)
def test_streams_are_in_order_of_time(stream: tuple[Edge, ...]) -> None:
    assert len(stream) <= 40
    assert all(a.ts <= b.ts for a, b in pairwise(stream))


@given(patterns())
@settings(deadline=None)
def test_patterns_are_valid_and_small(pattern: SubgraphPattern) -> None:
    assert 1 <= len(pattern.edges) <= 5
    assert pattern.duration.unit is None


def test_equal_seeds_give_equal_streams_and_patterns() -> None:
    assert random_stream(Random(3)) == random_stream(Random(3))
    assert random_pattern(Random(3)) == random_pattern(Random(3))
    assert random_stream(Random(3)) != random_stream(Random(4))


def test_every_trouble_occurs_in_random_streams() -> None:
    rng = Random(1)
    streams = [random_stream(rng) for _ in range(100)]
    records = [record for stream in streams for record in stream]
    assert any(record.ts < 0 for record in records)
    assert any(record.source == record.target for record in records)
    assert any(record.source_label is None for record in records)
    assert any(not record.attributes for record in records)
    assert any(a.ts == b.ts for stream in streams for a, b in pairwise(stream))
    histories = [_histories(stream) for stream in streams]
    seen = {history for by_id in histories for history in by_id.values()}
    assert {"i", "ii", "id", "idd", "idi", "d"} <= seen


def test_every_feature_occurs_in_random_patterns() -> None:
    rng = Random(1)
    made = [random_pattern(rng) for _ in range(300)]
    ends = [[(edge.source, edge.target) for edge in pattern.edges] for pattern in made]
    assert any(source == target for one in ends for source, target in one)
    assert any(len(set(one)) < len(one) for one in ends)
    assert any(pattern.order.before and not _total(pattern) for pattern in made)
    assert any(_total(pattern) for pattern in made if len(pattern.edges) > 3)
    assert any(vertex.key for pattern in made for vertex in pattern.vertices)
    assert any(pattern.predicates for pattern in made)
    assert {pattern.morphism for pattern in made} == {Morphism.ISOMORPHISM, Morphism.EDGE_ISOMORPHISM}


def test_knobs_switch_the_troubles_off() -> None:
    rng = Random(2)
    for _ in range(100):
        stream = random_stream(rng, replace(PLAIN_STREAM, max_records=20))
        ends = [(record.source, record.target) for record in stream]
        assert len(set(ends)) == len({record.id for record in stream}) == len(stream)
        assert all(source != target for source, target in ends)
        assert all(record.ts >= 0 and not record.attributes for record in stream)
        pattern = random_pattern(rng, PLAIN_PATTERN)
        query_ends = [(edge.source, edge.target) for edge in pattern.edges]
        assert len(set(query_ends)) == len(query_ends)
        assert all(source != target for source, target in query_ends)
        assert not pattern.order.before
        assert not pattern.predicates
        assert all(vertex.label is None and vertex.key is None for vertex in pattern.vertices)


def _histories(stream: tuple[Edge, ...]) -> dict[str, str]:
    """Return for each id what happened to it: i for an insert, d for a deletion."""
    emitted: dict[str, str] = {}
    for record in stream:
        emitted[record.id] = emitted.get(record.id, "") + record.operation.value[0]
    return emitted


PLAIN_QUERY = GraphQueryShape(
    max_heads=0,
    max_rules=1,
    max_atoms=1,
    vertex_labels=(),
    several_windows=False,
    unlabelled=False,
    conditions=False,
    constants=False,
    inverses=False,
    closures=False,
    wide_answers=False,
    paths=False,
)


def _parts(expression: PathExpression) -> set[type[PathExpression]]:
    return {type(expression)}.union(*map(_parts, operands(expression)))


def _features(query: GraphQuery) -> set[object]:
    """Return what occurs in a query."""
    atoms = [atom for rule in query.rules for atom in rule.body]
    found: set[object] = set().union(*(_parts(atom.expression) for atom in atoms))
    found |= {each.window.kind for each in query.inputs}
    heads = {rule.head for rule in query.rules}
    read = [symbol for atom in atoms for symbol in symbols(atom.expression)]
    said = {
        "constant": any(isinstance(term, Constant) for atom in atoms for term in (atom.source, atom.target)),
        "inverse": any(symbol.is_inverse for symbol in read),
        "derived": any(symbol.predicate in heads for symbol in read),
        "union": len(heads) < len(query.rules),
        "wide": len(query.outputs[0].columns) > 2,
        "path": query.outputs[0].path is not None,
        "unlabelled": any(each.label is None for each in query.inputs),
        "labels of ends": any(each.source_label or each.target_label for each in query.inputs),
        "conditions on edges": any(each.conditions for each in query.inputs),
        "conditions on vertices": any(rule.conditions for rule in query.rules),
        "windows": len({each.window for each in query.inputs}) > 1,
        "slide": any(each.window.slide is not None for each in query.inputs),
    }
    return found | {name for name, occurs in said.items() if occurs}


def test_equal_seeds_give_equal_graph_queries() -> None:
    assert random_graph_query(Random(3)) == random_graph_query(Random(3))
    assert len({random_graph_query(Random(seed)) for seed in range(50)}) > 40


def test_every_feature_occurs_in_random_graph_queries() -> None:
    shape = GraphQueryShape(kinds=tuple(WindowKind))
    found = set().union(*(_features(random_graph_query(Random(seed), shape)) for seed in range(200)))
    parts = {Symbol, Concatenation, Alternation, Star, Plus, Maybe}
    said = {"constant", "inverse", "derived", "union", "wide", "path", "unlabelled", "labels of ends"}
    said |= {"conditions on edges", "conditions on vertices", "windows", "slide"}
    assert found == parts | said | set(WindowKind)


@given(graph_queries(PLAIN_QUERY))
@settings(deadline=None)
def test_a_shape_says_what_does_not_occur_in_a_graph_query(query: GraphQuery) -> None:
    assert _features(query) <= {Symbol, Concatenation, Alternation, WindowKind.EXTERNAL, "slide"}
    assert {len(rule.body) for rule in query.rules} == {1}


def _total(pattern: SubgraphPattern) -> bool:
    return pattern.order.is_total([edge.name for edge in pattern.edges])
