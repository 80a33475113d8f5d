"""Streaming graph queries refuse what no plan could answer, and know what they read and for how long."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from graphtide_core.any_pattern import subgraphs_alone
from graphtide_core.errors import InvalidPatternError, Location
from graphtide_core.graph_query import GraphQuery, Input, Output
from graphtide_core.graph_query_rules import MAX_ATOMS, MAX_SYMBOLS
from graphtide_core.ids import PatternName, StreamName, VertexId
from graphtide_core.path_expression import Concatenation, PathExpression, Plus, Star, Symbol
from graphtide_core.predicate import Aggregate, Aggregation, Attribute, Compare, Comparison, Expression, Literal
from graphtide_core.regular_rule import Atom, Constant, Rule, Variable
from graphtide_core.stream_window import StreamWindow, WindowKind
from graphtide_core.time import Duration, TimeUnit

PLACE = Location(3, 4, 5)
WINDOW = StreamWindow(StreamName("s"), Duration(10), location=PLACE)
A = Input("a", WINDOW, "a")
X, Y, Z = map(Variable, "xyz")
EDGE = Atom(Symbol("a"), X, Y)
NEAR = Rule("near", ("x", "y"), (EDGE,))
EMITTED = Output("near", "near", ("x", "y"))


def query(
    *rules: Rule, inputs: tuple[Input, ...] = (A,), outputs: tuple[Output, ...] = (EMITTED,), is_view: bool = False
) -> GraphQuery:
    return GraphQuery(PatternName("q"), inputs, rules or (NEAR,), outputs, is_view=is_view)


def over(attribute: Attribute) -> Expression:
    return Compare(Comparison.EQUAL, attribute, Literal(1))


def deep() -> PathExpression:
    expression: PathExpression = Symbol("a")
    for _ in range(50_000):
        expression = Star(expression)
    return expression


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ((Rule("near", ("x", "y"), ()),), "no body"),
        ((Rule("near", (), (EDGE,)),), "no column"),
        ((Rule("near", ("x", "z"), (EDGE,)),), "'z' is in the head of a rule and in no atom"),
        ((Rule("near", ("x", "y"), (EDGE,) * (MAX_ATOMS + 1)),), "may have at most 64 atoms; this one has 65"),
        ((Rule("near", ("x",) * (MAX_ATOMS + 1), (EDGE,)),), "may have at most 64 columns; this one has 65"),
        ((NEAR,) * (MAX_ATOMS + 1), "may have at most 64 rules; this one has 65"),
        ((Rule("near", ("x", "y"), (Atom(Symbol("b"), X, Y),)),), "reads 'b', which is neither"),
        ((Rule("near", ("x", "y"), (EDGE, Atom(Symbol("near"), X, Y))),), "reads 'near', which is neither"),
        ((NEAR, Rule("far", ("x", "y"), (Atom(Symbol("near"), X, Y),)), NEAR), "'far' reads 'near', which is neither"),
        ((Rule("far", ("x", "y"), (Atom(Symbol("near"), X, Y),)), NEAR), "reads 'near', which is neither"),
        ((NEAR, Rule("near", ("x",), (EDGE,))), "have different numbers of columns"),
        ((Rule("a", ("x", "y"), (EDGE,)), NEAR), "the name of edges that are read, and of a rule"),
        ((Rule("one", ("x",), (EDGE,)), Rule("near", ("x", "y"), (Atom(Symbol("one"), X, Y),))), "'one' has 1 columns"),
        ((Rule("near", ("x",), (EDGE, Atom(Symbol("a"), Z, Variable("w")))),), "are not connected: 'w', 'z' share no atom"),
        ((Rule("near", ("x",), (EDGE, Atom(Symbol("a"), *(Constant(VertexId("k")),) * 2))),), "are not connected: constants"),
        ((Rule("near", ("x", "y"), (replace(EDGE, name="p"), replace(EDGE, name="p"))),), "'p' names two paths"),
        (
            (Rule("near", ("x", "y"), (Atom(Concatenation((Symbol("a"),) * (MAX_SYMBOLS + 1)), X, Y),)),),
            "at most 256 labels; this one has 257",
        ),
        ((NEAR, Rule("near", ("x", "y"), (Atom(deep(), X, Y),))), "nested more than 100 levels"),
        ((Rule("near", ("x", "y"), (EDGE,), (over(Attribute("z", "id")),)),), "no atom has the vertex 'z'"),
        ((Rule("near", ("x", "y"), (EDGE,), (over(Attribute("x", "age")),)),), "reads only its id"),
        (
            (Rule("near", ("x", "y"), (EDGE,), (Aggregate(Aggregation.COUNT, Attribute("x", "id")),)),),
            "count needs several values",
        ),
    ],
)
def test_rules_that_no_plan_could_answer_are_refused(rules: tuple[Rule, ...], reason: str) -> None:
    with pytest.raises(InvalidPatternError, match=reason):
        query(*rules)


def test_atoms_that_hang_together_in_a_chain_are_one_body() -> None:
    names = [Variable(f"v{number}") for number in range(6)]
    chain = tuple(Atom(Symbol("a"), *pair) for pair in pairwise(names))
    for body in (chain, chain[::-1], (chain[2], chain[0], chain[4], chain[1], chain[3])):
        assert query(Rule("near", ("v0", "v5"), body)).rules[0].body == body


@pytest.mark.parametrize(
    ("window", "reason"),
    [
        (replace(WINDOW, length=Duration(0)), "the window is empty"),
        (replace(WINDOW, slide=Duration(0)), "the slide must be longer than 0"),
        (replace(WINDOW, slide=Duration(11)), "the slide, 11, is longer than its window, 10"),
        (replace(WINDOW, length=Duration(1, "h"), slide=Duration(61, "m")), "the slide, 61m, is longer than its window, 1h"),
        (replace(WINDOW, length=Duration(1), slide=Duration(1), kind=WindowKind.NOW), "NOW has no slide"),
    ],
)
def test_windows_are_refused_at_their_place(window: StreamWindow, reason: str) -> None:
    with pytest.raises(InvalidPatternError, match=reason) as caught:
        query(inputs=(replace(A, window=window),))
    assert caught.value.location == PLACE


def test_a_slide_in_ticks_is_not_compared_with_a_window_in_hours() -> None:
    window = replace(WINDOW, length=Duration(1, "h"), slide=Duration(5_000))
    assert query(inputs=(replace(A, window=window),)).inputs[0].window.slide == Duration(5_000)


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ((), "needs at least one stream"),
        ((A, A), "'a' names two inputs"),
        ((replace(A, conditions=(over(Attribute("x", "n")),)),), "reads only that edge, not 'x'"),
        ((replace(A, conditions=(Aggregate(Aggregation.SUM, Attribute("e", "n")),)),), "sum needs several values"),
        (
            (A, *(Input(f"a{number}", WINDOW, None) for number in range(MAX_ATOMS))),
            "may have at most 64 inputs; this one has 65",
        ),
    ],
)
def test_inputs_that_no_plan_could_read_are_refused(inputs: tuple[Input, ...], reason: str) -> None:
    with pytest.raises(InvalidPatternError, match=reason):
        query(inputs=inputs)


@pytest.mark.parametrize(
    ("outputs", "reason"),
    [
        ((), "and one result"),
        ((replace(EMITTED, head="far"),), "no rule derives 'far'"),
        ((replace(EMITTED, columns=("x",)),), "need a name for each column"),
        ((replace(EMITTED, columns=("x", "x")),), "need a name for each column"),
        ((replace(EMITTED, path="p"),), "there is no path 'p' to return"),
        ((EMITTED,) * (MAX_ATOMS + 1), "may have at most 64 outputs; this one has 65"),
    ],
)
def test_outputs_that_no_plan_could_give_are_refused(outputs: tuple[Output, ...], reason: str) -> None:
    with pytest.raises(InvalidPatternError, match=reason):
        query(outputs=outputs)


def test_a_path_is_reported_if_every_rule_of_its_head_has_it() -> None:
    emitted = replace(EMITTED, path="p")
    named = Rule("near", ("x", "y"), (replace(EDGE, name="p"),))
    assert query(named, outputs=(emitted,)).outputs == (emitted,)
    with pytest.raises(InvalidPatternError, match="no path 'p' to return"):
        query(named, NEAR, outputs=(emitted,))


def test_a_view_has_two_columns() -> None:
    assert query(is_view=True).is_view
    one = Rule("one", ("x",), (EDGE,))
    with pytest.raises(InvalidPatternError, match="a view is a stream of edges, and 'one' has 1 columns"):
        query(NEAR, one, outputs=(EMITTED, Output("one", "one", ("x",))), is_view=True)


def test_a_query_knows_its_streams_attributes_and_lookback() -> None:
    late = Compare(Comparison.GREATER, Attribute("e", "ts"), Attribute("e", "n"))
    other = Input("b", StreamWindow(StreamName("t"), Duration(3, "s")), None, conditions=(late, over(Attribute("e", "m"))))
    now = Input("c", StreamWindow(StreamName("s"), Duration(1), None, WindowKind.NOW), "c")
    read = query(inputs=(A, other, now))
    assert read.streams == ("s", "t")
    assert read.attributes == ("m", "n")
    assert (read.lookback(TimeUnit.MILLISECOND), read.lookback(TimeUnit.SECOND)) == (3_001, 11)


@pytest.mark.parametrize(
    ("window", "lookback", "step"),
    [
        (WINDOW, 10, 1),
        (replace(WINDOW, slide=Duration(4)), 10, 4),
        (replace(WINDOW, length=Duration(1_500, "us"), slide=Duration(500, "us")), 2, 1),
        (replace(WINDOW, length=Duration(1), kind=WindowKind.NOW), 1, 1),
    ],
)
def test_a_window_knows_how_long_an_edge_is_valid_and_how_it_moves(window: StreamWindow, lookback: int, step: int) -> None:
    assert (window.lookback(TimeUnit.MILLISECOND), window.step(TimeUnit.MILLISECOND)) == (lookback, step)


def test_the_place_of_a_window_is_no_part_of_what_it_is() -> None:
    elsewhere = replace(WINDOW, location=None)
    assert elsewhere == WINDOW
    assert hash(elsewhere) == hash(WINDOW)


def test_queries_are_refused_where_nothing_answers_them() -> None:
    with pytest.raises(InvalidPatternError, match="'q' is a streaming graph query") as caught:
        subgraphs_alone([query(Rule("near", ("x", "y"), (Atom(Plus(Symbol("a")), X, Y),)))])
    assert caught.value.location == PLACE
