"""Order the rules of a query: each after those that it reads, and in the order of the text where that suffices.

Cost: for each head, linear in the predicates that rules read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.path_expression import symbols

from graphtide_query.language.path_binder import steps
from graphtide_query.language.spelling import shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.regular_rule import Rule

    from graphtide_query.language import graph_ast


def refuse_recursion(rules: Sequence[graph_ast.Rule]) -> None:
    """Check that no rule reads its own head, directly or through others.

    Raises:
        InvalidPatternError: one does; at the place where the last head of the cycle reads the first.
    """
    heads = {rule.head.text for rule in rules}
    read: dict[str, dict[str, graph_ast.Step]] = {name: {} for name in heads}
    for rule in rules:
        for atom in rule.body:
            for step in steps(atom.relation):
                if step.name.text in heads:
                    read[rule.head.text].setdefault(step.name.text, step)
    settled: set[str] = set()
    for rule in rules:
        _walk(rule.head.text, {}, read, settled)


def _walk(head: str, way: Mapping[str, None], read: Mapping[str, Mapping[str, graph_ast.Step]], settled: set[str]) -> None:
    if head in settled:
        return
    way = {**way, head: None}
    for name, step in read[head].items():
        if name in way:
            circle = " reads ".join(map(shorten, [*list(way)[list(way).index(name) :], name]))
            message = f"a rule cannot read its own head: {circle}"
            hint = f"use closure for recursion: {shorten(name)}+(x, y), or a path, /(:a :b)+/(x, y)"
            raise InvalidPatternError(message, step.location, hint=hint)
        _walk(name, way, read, settled)
    settled.add(head)


def order_rules(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Return the rules, which are not recursive, in an order in which each reads only inputs and heads of earlier rules."""
    last = {rule.head: place for place, rule in enumerate(rules)}
    if all(last.get(name, -1) < place for place, rule in enumerate(rules) for name in _read(rule)):
        return rules
    order: dict[str, None] = {}

    def visit(head: str) -> None:
        if head in order:
            return
        for rule in rules:
            if rule.head == head:
                for name in _read(rule):
                    if name in last:
                        visit(name)
        order[head] = None

    for rule in rules:
        visit(rule.head)
    return tuple(rule for head in order for rule in rules if rule.head == head)


def _read(rule: Rule) -> list[str]:
    return list(dict.fromkeys(symbol.predicate for atom in rule.body for symbol in symbols(atom.expression)))
