"""Canonical forms of query edges: equal where they ask the same, and only there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_query import parse_subgraphs
from graphtide_query.canonical import canonical_edges
from graphtide_testing.strategies import patterns
from hypothesis import given

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern


def forms(text: str) -> frozenset[str]:
    (pattern,) = parse_subgraphs(f"PATTERN p MATCH {text} ON s WINDOW 10")
    return canonical_edges(pattern)


def test_names_order_and_other_edges_do_not_matter() -> None:
    one = forms("(a:A)-[x:k]->(b:B), (b)-[y:l]->(c) WHERE x.n > 3 AND a.id = 'q' AND y.n < x.n AND y.m = 1")
    other = forms("(z)<-[w:l]-(v:B), (u:A)-[q:k]->(v) WHERE w.m = 1 AND u.id = 'q' AND q.n > 3")
    assert one == other


def test_what_asks_for_more_or_for_less_has_another_form() -> None:
    texts = (
        "(a)-[x:k]->(b)",
        "(a)-[x:l]->(b)",
        "(a)-[x]->(b)",
        "(a:A)-[x:k]->(b)",
        "(a)-[x:k]->(b:A)",
        "(a)-[x:k]->(a)",
        "(a)-[x:k]->(b) WHERE x.n > 3",
        "(a)-[x:k]->(b) WHERE x.n > 4",
        "(a)-[x:k]->(b) WHERE a.id = 'q'",
        "(a)-[x:k]->(b) WHERE b.id = 'q'",
        "(a)-[x:k]->(b) UNDER EDGE ISOMORPHISM",
    )
    assert len({forms(text) for text in texts}) == len(texts)


@given(patterns())
def test_every_query_edge_has_a_form_that_does_not_depend_on_the_others(pattern: SubgraphPattern) -> None:
    assert 1 <= len(canonical_edges(pattern)) <= len(pattern.edges)
