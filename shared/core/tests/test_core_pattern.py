"""Patterns refuse what no engine could match."""

from __future__ import annotations

import pytest
from graphtide_core.errors import InvalidPatternError
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.order import TimingOrder
from graphtide_core.pattern import MAX_EDGES, QueryEdge, QueryVertex, SubgraphPattern, components
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
    attributes,
    children,
    conjuncts,
    variables,
)
from graphtide_core.time import Duration


def pattern(
    edges: str = "a:v>w b:w>x",
    vertices: str = "vwx",
    order: TimingOrder | None = None,
    predicates: tuple[Expression, ...] = (),
    window: int = 10,
) -> SubgraphPattern:
    parts = [edge.replace(":", ">").split(">") for edge in edges.split()]
    return SubgraphPattern(
        name=PatternName("p"),
        vertices=tuple(map(QueryVertex, vertices)),
        edges=tuple(QueryEdge(*part) for part in parts),
        window=Duration(window, "m"),
        stream=StreamName("s"),
        order=order or TimingOrder(),
        predicates=predicates,
    )


def test_parts_are_found_by_name() -> None:
    found = pattern()
    assert found.vertex("w") == QueryVertex("w")
    assert components(found) == [frozenset("vwx")]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"edges": "", "vertices": ""}, "a pattern needs at least one edge"),
        (
            {"edges": " ".join(f"e{n}:v>w" for n in range(MAX_EDGES + 1))},
            "a pattern may have at most 64 edges; this one has 65",
        ),
        ({"edges": "a:v>w a:w>x"}, "'a' names two parts of the pattern"),
        ({"edges": "v:v>w b:w>x"}, "'v' names two parts of the pattern"),
        ({"edges": "a:v>w b:w>y"}, "the pattern has no 'y'"),
        ({"order": TimingOrder.of([("a", "c")])}, "the pattern has no 'c'"),
        ({"predicates": (IsNull(Attribute("c", "x")),)}, "the pattern has no 'c'"),
        ({"vertices": "vwxy"}, "vertex 'y' has no edge"),
        ({"edges": "a:v>w b:x>x"}, "the pattern is not connected: {v, w} and {x} share no edge"),
        ({"window": 0}, "the window is empty: it must be longer than 0"),
    ],
)
def test_what_no_engine_could_match_is_refused(wrong: dict[str, object], reason: str) -> None:
    with pytest.raises(InvalidPatternError) as caught:
        pattern(**wrong)  # type: ignore[arg-type]  # each value has the type of its parameter
    assert caught.value.reason == reason


def test_predicates_are_walked_from_left_to_right() -> None:
    x, y, v = Attribute("a", "x"), Attribute("b", "y"), Attribute("v", "id")
    sum_of: Expression = Compute(Arithmetic.ADD, x, Negate(y))
    less: Expression = Compare(Comparison.LESS, sum_of, Literal(1))
    whole: Expression = Disjunction((Conjunction((less, Negation(In(v, ("1",))))), StartsWith(y, "h"), IsNull(x)))
    assert list(attributes(whole)) == [x, y, v, y, x]
    assert variables(whole) == {"a", "b", "v"}
    assert children(Literal(1)) == ()
    assert conjuncts(Conjunction((x, Conjunction((y, whole))))) == (x, y, whole)
    assert pattern(predicates=(whole,)).predicates == (whole,)


def test_attributes_are_equal_wherever_they_stand() -> None:
    assert Attribute("a", "x") == Attribute("a", "x", location=None)
