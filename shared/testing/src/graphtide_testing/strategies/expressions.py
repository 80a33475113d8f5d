"""Predicates over the names of a generated pattern: on one edge, on a vertex's id, across edges."""

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

from graphtide_testing.strategies.streams import ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.edge import Value
    from graphtide_core.predicate import Expression

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


def _on_one_edge(choices: Choices, edge: str) -> Expression:
    name = choices.one_of(_NAMES)
    read = Attribute(edge, name)
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
    read = Attribute(vertex, "id")
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
    return Compare(choices.one_of(_COMPARISONS), left, right)
