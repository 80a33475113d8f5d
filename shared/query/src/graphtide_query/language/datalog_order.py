"""The order of the rules of a query: each behind those that it reads, and as they stand in the text where that is one.

Cost: linear in what rules read, for each head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.path_expression import symbols

from graphtide_query.language.path_binder import steps
from graphtide_query.language.spelling import brief

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.regular_rule import Rule

    from graphtide_query.language import graph_ast


def refuse_recursion(rules: Sequence[graph_ast.Rule]) -> None:
    """Check that no rule reads its own head, directly or through others.

    Raises:
        InvalidPatternError: one does; where the head that stands last in the circle reads the first.
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
            circle = " reads ".join(map(brief, [*list(way)[list(way).index(name) :], name]))
            message = f"a rule cannot read its own head: {circle}"
            hint = f"closure is the recursion that there is: {brief(name)}+(x, y), or a path, /(:a :b)+/(x, y)"
            raise InvalidPatternError(message, step.location, hint=hint)
        _walk(name, way, read, settled)
    settled.add(head)


def in_order(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Return the rules, which are not recursive, so that each reads inputs and heads of rules before it alone."""
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
