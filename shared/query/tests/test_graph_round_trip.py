"""Printing a streaming graph query and parsing the text gives the query back, whatever its names, rules and inputs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import graphtide_query
from graphtide_core.graph_query import GraphQuery, Input, Output
from graphtide_core.ids import PatternName, StreamName, VertexId
from graphtide_core.path_expression import renamed_symbols, symbols
from graphtide_core.predicate import rename
from graphtide_core.regular_rule import Atom, Constant, Rule, Term, Variable
from graphtide_core.stream_window import WindowKind
from graphtide_core.time import DURATION_UNITS, Duration
from graphtide_testing.strategies import GraphQueryShape, graph_queries
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.stream_window import StreamWindow
    from hypothesis.strategies import DrawFn

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
KEYWORDS = ["match", "ON", "window", "query", "path", "input", "OUTPUT", "as", "now", "where", "construct", "graph"]
NAMES = TEXT | st.sampled_from([*KEYWORDS, "_", "x y", "`", "e", "1", "Answer", "v1", "/", "a.b"])
SHAPE = GraphQueryShape(streams=("one", "two"), kinds=tuple(WindowKind))


def distinct(draw: DrawFn, known: list[str]) -> dict[str, str]:
    """Return a new name for each."""
    fresh = draw(st.lists(NAMES, min_size=len(known), max_size=len(known), unique=True))
    return dict(zip(known, fresh, strict=True))


def in_units(draw: DrawFn, window: StreamWindow) -> StreamWindow:
    """Return the window in a unit of time, on a stream with another name."""
    stream = StreamName(draw(NAMES))
    if window.kind is WindowKind.NOW:
        return replace(window, stream=stream)
    unit = draw(st.none() | st.sampled_from(DURATION_UNITS))
    slide = None if window.slide is None else Duration(window.slide.amount, unit)
    return replace(window, stream=stream, length=Duration(window.length.amount, unit), slide=slide)


def with_new_names(rule: Rule, predicates: Mapping[str, str], names: Mapping[str, str], keys: Mapping[str, str]) -> Rule:
    def term(end: Term) -> Term:
        return Variable(names[end.name]) if isinstance(end, Variable) else Constant(VertexId(keys[end.key]))

    def atom(each: Atom) -> Atom:
        name = None if each.name is None else names[each.name]
        return Atom(renamed_symbols(each.expression, predicates), term(each.source), term(each.target), name)

    conditions = tuple(rename(each, names) for each in rule.conditions)
    body = tuple(map(atom, rule.body))
    return Rule(predicates[rule.head], tuple(names[each] for each in rule.columns), body, conditions)


@st.composite
def queries(draw: DrawFn) -> GraphQuery:
    """A generated query under other names, over other windows, with more than one output."""
    plain = draw(graph_queries(SHAPE))
    heads = list(dict.fromkeys(rule.head for rule in plain.rules))
    predicates = distinct(draw, [*(each.name for each in plain.inputs), *heads])
    names = distinct(draw, ["x", "y", "z", "w", "v", "u", "p"])
    keys = {key: draw(TEXT) for key in SHAPE.vertices}
    inputs = []
    for each in plain.inputs:
        label = None if each.label is None else predicates[each.name] if draw(st.booleans()) else draw(NAMES)
        window = in_units(draw, each.window) if draw(st.booleans()) else each.window
        ends = [None if end is None else draw(NAMES) for end in (each.source_label, each.target_label)]
        inputs.append(Input(predicates[each.name], window, label, ends[0], ends[1], each.conditions))
    rules = tuple(with_new_names(rule, predicates, names, keys) for rule in plain.rules)
    outputs = []
    for output in plain.outputs:
        columns = distinct(draw, list(output.columns)).values() if draw(st.booleans()) else output.columns
        label = predicates[output.head] if draw(st.booleans()) else draw(NAMES)
        path = None if output.path is None else names[output.path]
        outputs.append(Output(predicates[output.head], label, tuple(columns), path))
    if draw(st.booleans()):
        other = draw(st.sampled_from(rules))
        outputs.append(
            Output(other.head, draw(NAMES), tuple(distinct(draw, [f"c{n}" for n in range(len(other.columns))]).values()))
        )
    is_view = all(len(each.columns) == 2 for each in outputs) and draw(st.booleans())
    name = PatternName(draw(NAMES.filter(lambda name: all(name != each.window.stream for each in inputs))))
    return GraphQuery(name, tuple(inputs), rules, tuple(outputs), is_view=is_view)


@given(queries())
def test_parsing_what_is_printed_gives_the_query_back(query: GraphQuery) -> None:
    printed = graphtide_query.print_pattern(query)
    parsed = graphtide_query.parse(printed)
    assert parsed == (query,)
    # Constants of different kinds are equal, and are not the same.
    assert repr(parsed[0]) == repr(query)
    assert graphtide_query.print_pattern(parsed[0]) == printed


@given(graph_queries())
def test_generated_queries_read_what_they_state(query: GraphQuery) -> None:
    known = {each.name for each in query.inputs} | {rule.head for rule in query.rules}
    read = {symbol.predicate for rule in query.rules for atom in rule.body for symbol in symbols(atom.expression)}
    assert read <= known


def test_edges_of_one_window_are_read_from_the_stream_behind_the_rules() -> None:
    text = "QUERY q\nnear(x, y) <- follows+(x, y), likes(y, x).\nON social WINDOW(24h) SLIDE(1h) INTERNAL\n"
    (query,) = graphtide_query.parse(text)
    assert graphtide_query.print_pattern(query) == text
