"""Warn of streaming graph queries of which one edge may bring too many results: by columns alike, or by degrees.

Cost: O(n^2) for n atoms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.regular_rule import Variable

from graphtide_query.estimates.bursts import (
    FEWEST,
    MOST_MATCHES,
    Burst,
    add_conditions,
    alike,
    burst_at_hub,
    greatest,
    sentence,
)
from graphtide_query.symmetry import ColouredGraph

if TYPE_CHECKING:
    from graphtide_core.graph_query import GraphQuery
    from graphtide_core.regular_rule import Rule, Term
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import TimeUnit

_INSTEAD: Final = "a shorter window or more conditions"


def burst_of_results(query: GraphQuery, known: tuple[StatisticsSnapshot, TimeUnit] | None) -> Burst | None:
    """Return how many results one edge may bring; None where that is not more than `MOST_MATCHES`."""
    heads = {output.head: output.path for output in query.outputs}
    rules = [rule for rule in query.rules if rule.head in heads]
    found = greatest(_of_rule(rule, heads[rule.head]) for rule in rules)
    if found is not None or known is None:
        return found
    from graphtide_query import fan_out  # noqa: PLC0415 - who knows no statistics does without

    return greatest(burst_at_hub(fan_out.of_rule(query, rule, *known), _INSTEAD) for rule in rules)


def _of_rule(rule: Rule, path: str | None) -> Burst | None:
    """Return the burst of a rule: vertices may coincide, so it needs as many different vertices as interchangeable columns."""
    if len(set(rule.columns)) < FEWEST:
        return None
    graph = ColouredGraph()
    number: dict[str, int] = {}

    def end(term: Term) -> int:
        if not isinstance(term, Variable):
            return graph.add(f"vertex {term.key!r}")
        if term.name not in number:
            number[term.name] = graph.add("variable")
        return number[term.name]

    for atom in dict.fromkeys(rule.body):
        part = graph.add(f"path {atom.expression!r} {atom.name is not None and atom.name == path}")
        graph.link("from", part, end(atom.source))
        graph.link("to", part, end(atom.target))
    add_conditions(graph, number, rule.conditions)
    exchanged = alike(graph, number, list(dict.fromkeys(rule.columns)))
    if exchanged.matches <= MOST_MATCHES:
        return None
    first, second = exchanged.names[:2]
    instead = f"return fewer of them, or distinguish them by a condition ({first}.id < {second}.id)"
    return Burst(exchanged.matches, 1, sentence(exchanged.names, exchanged.matches, "columns", instead, None))
