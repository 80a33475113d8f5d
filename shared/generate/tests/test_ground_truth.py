"""The pattern of a generated stream finds the planted instances, all of them, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from graphtide_generate import GENERATORS, network, payments, social, traffic
from graphtide_generate.schedule import DAY, HOUR
from graphtide_generate.stream import Recipe
from graphtide_query import parse_subgraphs
from graphtide_testing.found import sort_pairs
from graphtide_testing.oracles.subgraph import SubgraphOracle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.edge import Edge
    from graphtide_generate.stream import GeneratedStream
    from graphtide_testing.found import Named

RECIPE = Recipe(seed=1, records=300, planted=4, decoys=14)


def reduce(kind: str, seed: int, *, swap_labels: bool = False) -> GeneratedStream:
    """Return a small, dense stream of that kind: few vertices, so that everything meets everything."""
    recipe = replace(RECIPE, seed=seed, swap_labels=swap_labels)
    match kind:
        case "network":
            return network.generate(network.NetworkOptions(recipe, hosts=18, servers=3, duration=HOUR))
        case "payments":
            return payments.generate(
                payments.PaymentOptions(recipe, customers=37, merchants=3, suppliers=3, banks=2, duration=5 * DAY)
            )
        case "social":
            return social.generate(social.SocialOptions(recipe, users=60, duration=HOUR))
        case _:
            return traffic.generate(traffic.TrafficOptions(recipe, rows=10, columns=20, duration=2 * HOUR))


def found_by_the_oracle(patterns: str, edges: Iterable[Edge]) -> list[tuple[Named, Named]]:
    (pattern,) = parse_subgraphs(patterns)
    return sorted((one.edges, one.vertices) for one in SubgraphOracle(pattern).run(edges))


@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("seed", range(3))
def test_the_oracle_finds_exactly_what_is_planted(kind: str, seed: int) -> None:
    stream = reduce(kind, seed)
    truth = sorted((sort_pairs(one.edges), sort_pairs(one.vertices)) for one in stream.planted)
    assert len(truth) == RECIPE.planted
    assert found_by_the_oracle(stream.patterns, stream.edges) == truth


@pytest.mark.parametrize("kind", GENERATORS)
def test_every_decoy_breaks_the_condition_it_names_and_no_other_edge_is_missing(kind: str) -> None:
    stream = reduce(kind, 5)
    by_id = {edge.id: edge for edge in stream.edges}
    names = set(stream.planted[0].edges)
    assert len(stream.decoys) == RECIPE.decoys
    for decoy in stream.decoys:
        assert set(decoy.edges) == names
        alone = sorted((by_id[identity] for identity in decoy.edges.values()), key=lambda edge: edge.ts)
        assert found_by_the_oracle(stream.patterns, alone) == [], decoy.flaw


@pytest.mark.parametrize("kind", GENERATORS)
def test_the_planted_edges_alone_match(kind: str) -> None:
    stream = reduce(kind, 6)
    planted = {identity for one in stream.planted for identity in one.edges.values()}
    alone = [edge for edge in stream.edges if edge.id in planted]
    assert len(found_by_the_oracle(stream.patterns, alone)) == RECIPE.planted


@pytest.mark.parametrize("seed", range(3))
def test_a_day_of_flows_holds_no_attack_but_the_planted_ones(seed: int) -> None:
    options = network.NetworkOptions(Recipe(seed=seed, records=40_000, planted=10, decoys=30), hosts=200, servers=50)
    stream = network.generate(options)
    found = sorted(_exfiltrations(stream.edges))
    assert found == sorted(tuple(one.edges[name] for name in "abcde") for one in stream.planted)


def test_the_background_of_flows_is_full_of_partial_attacks() -> None:
    options = network.NetworkOptions(Recipe(records=40_000, planted=0, decoys=0), hosts=200, servers=50)
    edges = network.generate(options).edges
    browsed = {(edge.source, edge.target) for edge in edges if edge.label == "http"}
    spoke = {(edge.source, edge.target) for edge in edges if edge.label == "tcp"}
    large = [edge for edge in edges if edge.label == "tcp" and _bytes(edge) > network.LARGE]
    assert len({pair for pair in browsed if pair[::-1] in browsed}) > 1_000
    assert len({pair for pair in spoke if pair[::-1] in spoke}) > 500
    assert len(large) > 100
    assert not [edge for edge in large if (edge.target, edge.source) in spoke]


def _exfiltrations(edges: Iterable[Edge]) -> list[tuple[str, ...]]:
    """Find attacks from their last flow backwards, by looking up pairs of addresses; knows nothing of patterns."""
    sent: dict[tuple[str, str, str], list[Edge]] = {}
    answers: dict[str, list[Edge]] = {}
    found: list[tuple[str, ...]] = []
    for e in edges:
        sent.setdefault((e.label, e.source, e.target), []).append(e)
        if e.label == "http":
            answers.setdefault(e.target, []).append(e)
        if e.label != "tcp" or _bytes(e) <= network.LARGE:
            continue
        v, s = e.source, e.target
        found += [
            (a.id, b.id, c.id, d.id, e.id)
            for d in sent.get(("tcp", s, v), ())
            for c in sent[("tcp", v, s)]
            for b in answers.get(v, ())
            for a in sent.get(("http", v, b.source), ())
            if a.ts < b.ts < c.ts < d.ts < e.ts < a.ts + network.WINDOW and len({v, s, b.source}) == 3
        ]
    return found


def _bytes(edge: Edge) -> int:
    size = edge.attributes["bytes"]
    assert isinstance(size, int)
    return size


@pytest.mark.parametrize("kind", ["network", "social"])
def test_the_oracle_finds_what_is_planted_where_labels_swap(kind: str) -> None:
    stream = reduce(kind, 2, swap_labels=True)
    truth = sorted((sort_pairs(one.edges), sort_pairs(one.vertices)) for one in stream.planted)
    assert found_by_the_oracle(stream.patterns, stream.edges) == truth
