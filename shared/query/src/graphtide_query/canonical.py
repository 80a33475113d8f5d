"""Canonical forms of the one-edge parts of a pattern: equal texts ask the same of a data edge, whatever pattern they are of.

What an engine knows of a window follows from the edges that satisfy some query edge by themselves. Two patterns, two plans or
two hosts share that state as far as their query edges have equal forms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.ids import PatternName, StreamName
from graphtide_core.order import TimingOrder
from graphtide_core.pattern import QueryEdge, SubgraphPattern
from graphtide_core.predicate import Expression, renamed, variables
from graphtide_core.time import Duration

from graphtide_query.language import print_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def canonical_edges(pattern: SubgraphPattern) -> frozenset[str]:
    """Return the canonical form of every query edge: labels, ends, and the predicates that it decides alone.

    Complexity: O(edges x sets of names that predicates speak of + terms of the predicates).
    """
    spoken: dict[frozenset[str], list[Expression]] = {}
    for predicate in pattern.predicates:
        spoken.setdefault(variables(predicate), []).append(predicate)
    return frozenset(_canonical(pattern, edge, spoken) for edge in pattern.edges)


def _canonical(pattern: SubgraphPattern, edge: QueryEdge, spoken: Mapping[frozenset[str], Sequence[Expression]]) -> str:
    names = {edge.target: "t", edge.source: "s", edge.name: "e"}
    ends = dict.fromkeys((edge.source, edge.target))
    decided = [predicate for known, predicates in spoken.items() if known <= names.keys() for predicate in predicates]
    part = SubgraphPattern(
        name=PatternName("part"),
        vertices=tuple(replace(pattern.vertex(name), name=names[name]) for name in ends),
        edges=(QueryEdge("e", names[edge.source], names[edge.target], edge.label),),
        window=Duration(1),
        stream=StreamName("s"),
        order=TimingOrder(),
        predicates=tuple(sorted((renamed(predicate, names) for predicate in decided), key=repr)),
        morphism=pattern.morphism,
        report=pattern.report,
    )
    return print_pattern(part)
