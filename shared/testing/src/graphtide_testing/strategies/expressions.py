"""Expressions: predicates over the names of a generated pattern, and the operators over any parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.predicate import (
    Arithmetic,
    Attribute,
    Compare,
    Comparison,
    Compute,
    Conjunction,
    Disjunction,
    In,
    IsNull,
    Literal,
    Negate,
    Negation,
    StartsWith,
)
from hypothesis import strategies as st

from graphtide_testing.strategies.calls import draw_call
from graphtide_testing.strategies.streams import ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from graphtide_core.edge import Value
    from graphtide_core.predicate import Expression
    from hypothesis.strategies import SearchStrategy

    from graphtide_testing.strategies.choices import Choices

_COMPARISONS = tuple(Comparison)
_NAMES = (*ATTRIBUTES, "absent")
_CONSTANTS: tuple[Value, ...] = (0, 2.0, "p")


def predicate(choices: Choices, edges: Sequence[str], vertices: Sequence[str], vertex_ids: Sequence[str]) -> Expression:
    """Return a predicate over some of the names; about half of them are true often enough to let matches through."""

    def simple() -> Expression:
        match choices.integer(0, 2):
            case 0:
                return _on_one_edge(choices, choices.one_of(edges))
            case 1:
                return _on_a_vertex(choices, choices.one_of(vertices), vertex_ids)
            case _:
                return _across_edges(choices, choices.one_of(edges), choices.one_of(edges))

    match choices.integer(0, 8):
        case 6:
            return Negation(simple())
        case 7:
            return Disjunction((simple(), simple()))
        case 8:
            return Conjunction((simple(), simple()))
        case _:
            return simple()


def operators(part: SearchStrategy[Any], constants: SearchStrategy[Value], texts: SearchStrategy[str]) -> SearchStrategy[Any]:
    """Return every operator of the language over such parts, with constants of IN and texts of STARTS WITH."""
    several = st.lists(part, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Compare, st.sampled_from(Comparison), part, part),
        st.builds(Compute, st.sampled_from(Arithmetic), part, part),
        st.builds(Negate, part),
        st.builds(Negation, part),
        st.builds(Conjunction, several),
        st.builds(Disjunction, several),
        st.builds(In, part, st.lists(constants, max_size=3).map(tuple)),
        st.builds(StartsWith, part, texts),
        st.builds(IsNull, part),
    )


def _on_one_edge(choices: Choices, edge: str) -> Expression:
    name = choices.one_of(_NAMES)
    read = draw_call(choices, Attribute(edge, name))
    value = choices.one_of(ATTRIBUTES.get(name, (1,)))
    match choices.integer(0, 6):
        case 0 | 1 | 2:
            return Compare(choices.one_of(_COMPARISONS), read, Literal(value))
        case 3:
            return In(read, (value, choices.one_of(_CONSTANTS)))
        case 4:
            return IsNull(Attribute(edge, choices.one_of((name, "src_label", "dst_label"))))
        case 5:
            field, start = choices.one_of(
                (("s", "p"), ("label", "x"), ("n", "p"), ("src", "v1"), ("dst", "v"), ("dst_label", "A"))
            )
            return StartsWith(Attribute(edge, field), start)
        case _:
            return Compare(choices.one_of(_COMPARISONS), Negate(read), Literal(value))


def _on_a_vertex(choices: Choices, vertex: str, vertex_ids: Sequence[str]) -> Expression:
    read = draw_call(choices, Attribute(vertex, "id"))
    value = choices.one_of(vertex_ids)
    match choices.integer(0, 3):
        case 0 | 1:
            return Compare(choices.one_of(_COMPARISONS), read, Literal(value))
        case 2:
            return In(read, (value, choices.one_of(vertex_ids)))
        case _:
            return IsNull(Attribute(vertex, choices.one_of(("n", "id", "label"))))


def _across_edges(choices: Choices, one: str, other: str) -> Expression:
    name = choices.one_of(("n", "m", "ts", "src", "dst", "src_label"))
    left: Expression = Attribute(one, name)
    right: Expression = Attribute(other, choices.one_of((name, "n", "dst")))
    if choices.rarely(3):
        operator = choices.one_of(tuple(Arithmetic))
        right = Compute(operator, right, Literal(choices.one_of((1, 2, 0, 0.5, -2))))
    return Compare(choices.one_of(_COMPARISONS), draw_call(choices, left), draw_call(choices, right))
