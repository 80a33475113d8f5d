"""Printing a pattern and parsing the text gives the pattern back, whatever its names, constants and predicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import graphtide_query
import pytest
from graphtide_core.errors import InvalidPatternError
from graphtide_core.ids import PatternName, StreamName, VertexId
from graphtide_core.order import TimingOrder
from graphtide_core.pattern import OF_SIMULATION, Morphism, QueryEdge, QueryVertex, Report, SubgraphPattern
from graphtide_core.predicate import (
    Arithmetic,
    Attribute,
    Compare,
    Comparison,
    Compute,
    Conjunction,
    Disjunction,
    Expression,
    In,
    IsNull,
    Literal,
    Negate,
    Negation,
    StartsWith,
    conjuncts,
    variables,
)
from graphtide_core.time import DURATION_UNITS, Duration
from graphtide_core.window import MOST_EDGES, EdgeCount, Window
from graphtide_testing.strategies.calls import calls
from graphtide_testing.strategies.expressions import operators
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hypothesis.strategies import DrawFn

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
WORDS = st.sampled_from(
    ["a", "b", "ip", "e1", "v1", "order", "WHERE", "Not", "null", "id", "größe", "x y", "`", "``", "a\nb", "//", "1"]
)
NAMES = WORDS | TEXT.filter(bool)
NUMBERS = (
    st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, -0.0, 1e300, -5e-324])
)
CONSTANTS = NUMBERS | TEXT | st.booleans() | st.none()
WINDOWS: st.SearchStrategy[Window] = st.builds(
    Duration, st.integers(1, 2**63 - 1), st.sampled_from([None, *DURATION_UNITS])
) | st.builds(EdgeCount, st.integers(1, MOST_EDGES))


def expressions(edges: list[str], vertices: list[str]) -> st.SearchStrategy[Expression]:
    attributes = st.builds(Attribute, st.sampled_from(edges), TEXT) | st.builds(
        Attribute, st.sampled_from(vertices), st.just("id")
    )
    leaves: st.SearchStrategy[Expression] = st.builds(Literal, CONSTANTS) | attributes

    return st.recursive(leaves, lambda part: operators(part, CONSTANTS, TEXT) | calls(part), max_leaves=12)


@st.composite
def patterns(draw: DrawFn) -> SubgraphPattern:
    names = draw(st.lists(NAMES, min_size=2, max_size=10, unique=True))
    cut = draw(st.integers(1, len(names) - 1))
    edge_names, vertex_names = names[:cut], names[cut:]
    edges: list[QueryEdge] = []
    ends: list[str] = []
    for name in edge_names:
        known = draw(st.sampled_from(ends or vertex_names))
        other = draw(st.sampled_from(vertex_names))
        source, target = (known, other) if draw(st.booleans()) else (other, known)
        edges.append(QueryEdge(name, source, target, draw(st.none() | NAMES)))
        ends += [source, target]
    vertices = draw(st.permutations(list(dict.fromkeys(ends))))
    ranked = draw(st.permutations(edge_names))
    pairs = [(a, b) for i, a in enumerate(ranked) for b in ranked[i + 1 :] if draw(st.booleans())]
    parts = draw(st.lists(expressions(edge_names, list(vertices)), max_size=3))
    morphism = draw(st.sampled_from(Morphism))
    predicates = tuple(each for part in parts for each in conjuncts(part))
    if morphism is Morphism.DUAL_SIMULATION:
        predicates = tuple(each for each in predicates if is_near(each, edges))
    return SubgraphPattern(
        name=PatternName(draw(NAMES)),
        vertices=tuple(QueryVertex(v, draw(st.none() | NAMES), draw(st.none() | TEXT.map(VertexId))) for v in vertices),
        edges=tuple(edges),
        window=draw(WINDOWS),
        stream=StreamName(draw(NAMES)),
        order=TimingOrder.of(pairs),
        predicates=predicates,
        morphism=morphism,
        report=draw(st.sampled_from(OF_SIMULATION)) if morphism is Morphism.DUAL_SIMULATION else Report.ALL,
    )


def is_near(predicate: Expression, edges: Iterable[QueryEdge]) -> bool:
    return any(variables(predicate) <= {edge.name, edge.source, edge.target} for edge in edges)


@settings(max_examples=max(100, settings().max_examples))
@given(patterns())
def test_parsing_what_is_printed_gives_the_pattern_back(pattern: SubgraphPattern) -> None:
    printed = graphtide_query.print_pattern(pattern)
    parsed = graphtide_query.parse(printed)
    assert parsed == (pattern,)
    # `1 == 1.0 == True` and `0.0 == -0.0`; their spellings differ.
    assert repr(parsed[0].predicates) == repr(pattern.predicates)
    assert graphtide_query.print_pattern(parsed[0]) == printed


def pattern_with(*predicates: Expression) -> SubgraphPattern:
    return SubgraphPattern(
        name=PatternName("p"),
        vertices=(QueryVertex("v"), QueryVertex("w")),
        edges=(QueryEdge("a", "v", "w"),),
        window=Duration(5),
        stream=StreamName("s"),
        predicates=predicates,
    )


X, Y, Z = Attribute("a", "x"), Attribute("a", "y"), Attribute("a", "z")
FIVE = Literal(5)


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (Negate(FIVE), "-(5)"),
        (Literal(-5), "-5"),
        (Negate(Literal(-5)), "-(-5)"),
        (Negate(Negate(X)), "--a.x"),
        (Compute(Arithmetic.SUBTRACT, X, Compute(Arithmetic.SUBTRACT, Y, Z)), "a.x - (a.y - a.z)"),
        (Compute(Arithmetic.SUBTRACT, Compute(Arithmetic.SUBTRACT, X, Y), Z), "a.x - a.y - a.z"),
        (Compute(Arithmetic.MULTIPLY, Compute(Arithmetic.ADD, X, Y), Negate(Z)), "(a.x + a.y) * -a.z"),
        (Negate(Compute(Arithmetic.MULTIPLY, X, Y)), "-(a.x * a.y)"),
        (Disjunction((Conjunction((X, Y)), Z)), "a.x AND a.y OR a.z"),
        (Disjunction((X, Conjunction((Disjunction((X, Y)), Z)))), "a.x OR (a.x OR a.y) AND a.z"),
        (Negation(Disjunction((X, Y))), "NOT (a.x OR a.y)"),
        (Negation(Negation(X)), "NOT NOT a.x"),
        (Negation(Compare(Comparison.LESS, X, Y)), "NOT a.x < a.y"),
        (Compare(Comparison.EQUAL, Negation(X), Compare(Comparison.LESS, X, Y)), "(NOT a.x) = (a.x < a.y)"),
        (Negation(In(X, (1, None))), "a.x NOT IN [1, NULL]"),
        (Negation(IsNull(X)), "a.x IS NOT NULL"),
        (Negation(StartsWith(X, "h")), 'NOT a.x STARTS WITH "h"'),
        (IsNull(In(X, ())), "(a.x IN []) IS NULL"),
        (
            Compare(Comparison.NOT_EQUAL, X, Literal('"\\\n\t\r\x00\u2028😀\U000e0001')),
            'a.x <> "\\"\\\\\\n\\t\\r\\u0000\\u2028😀\\udb40\\udc01"',
        ),
    ],
)
def test_parentheses_stand_only_where_they_must(predicate: Expression, text: str) -> None:
    printed = graphtide_query.print_pattern(pattern_with(predicate))
    assert printed == f"PATTERN p\nMATCH (v)-[a]->(w)\nWHERE {text}\nON s WINDOW 5\n"
    assert graphtide_query.parse(printed) == (pattern_with(predicate),)


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (Conjunction(()), "TRUE"),
        (Disjunction(()), "FALSE"),
        (Conjunction((X,)), "a.x"),
        (Disjunction((Conjunction((X, Y)),)), "a.x AND a.y"),
    ],
)
def test_joins_that_no_text_has_are_printed_as_what_they_mean(predicate: Expression, text: str) -> None:
    assert f"WHERE {text}\n" in graphtide_query.print_pattern(pattern_with(predicate))


def test_an_or_among_other_predicates_is_in_parentheses() -> None:
    printed = graphtide_query.print_pattern(pattern_with(Disjunction((X, Y)), Negation(Z)))
    assert "WHERE (a.x OR a.y) AND NOT a.z\n" in printed


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_numbers_without_a_spelling_are_refused(number: float) -> None:
    with pytest.raises(InvalidPatternError, match="the pattern language has no constant"):
        graphtide_query.print_pattern(pattern_with(Literal(number)))


@pytest.mark.parametrize(
    ("order", "match"),
    [
        ("vwx", "(v)-[a]->(w), (w)-[b]->(x)"),
        ("wvx", "(w)<-[a]-(v), (w)-[b]->(x)"),
        ("xvw", "(x), (v)-[a]->(w), (w)-[b]->(x)"),
        ("vxw", "(v), (x), (v)-[a]->(w), (w)-[b]->(x)"),
    ],
)
def test_vertices_are_mentioned_in_their_order(order: str, match: str) -> None:
    pattern = SubgraphPattern(
        name=PatternName("p"),
        vertices=tuple(map(QueryVertex, order)),
        edges=(QueryEdge("a", "v", "w"), QueryEdge("b", "w", "x")),
        window=Duration(5, "m"),
        stream=StreamName("s"),
    )
    printed = graphtide_query.print_pattern(pattern)
    assert printed == f"PATTERN p\nMATCH {match}\nON s WINDOW 5m\n"
    assert graphtide_query.parse(printed) == (pattern,)
