"""Write canonical forms of a pattern of edges and of its one-edge parts: equal forms match the same data, whatever the names.

The state of an engine depends only on the edges that satisfy some query edge by themselves. Two patterns, two plans or two
hosts share that state if their query edges have equal forms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.annotations import without_annotations
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.order import TimingOrder
from graphtide_core.pattern import QueryEdge, SubgraphPattern, renamed_pattern
from graphtide_core.predicate import Expression, rename, variables
from graphtide_core.time import Duration

from graphtide_query.language.printer import print_subgraph_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def canonical_edges(pattern: SubgraphPattern) -> frozenset[str]:
    """Return the canonical form of every query edge: labels, ends, and the predicates that read only this edge.

    Complexity: O(edges x sets of names that predicates speak of + terms of the predicates).
    """
    spoken: dict[frozenset[str], list[Expression]] = {}
    for predicate in pattern.predicates:
        spoken.setdefault(variables(predicate), []).append(predicate)
    return frozenset(_canonical(pattern, edge, spoken) for edge in pattern.edges)


def canonical_pattern(pattern: SubgraphPattern) -> str:
    """Return the canonical form of a pattern: patterns of equal forms differ only in names, versions and spelling.

    Parts are identified by their positions, so two patterns with parts in another order have two forms.
    Complexity: O(text).
    """
    names = {vertex.name: f"v{place}" for place, vertex in enumerate(pattern.vertices)}
    names |= {edge.name: f"e{place}" for place, edge in enumerate(pattern.edges)}
    part = renamed_pattern(replace(without_annotations(pattern), name=PatternName("part"), version=1), names)
    if part.returns is not None:
        fields = tuple(replace(each, name=f"f{place}") for place, each in enumerate(part.returns.fields))
        part = replace(part, returns=replace(part.returns, fields=fields))
    return print_subgraph_pattern(part)


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
        predicates=tuple(sorted((rename(predicate, names) for predicate in decided), key=repr)),
        morphism=pattern.morphism,
        report=pattern.report,
    )
    return print_subgraph_pattern(part)
