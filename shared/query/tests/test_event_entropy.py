"""Structural entropy: the definition, what operations take off it, and the trees that are agglomerated by it."""

from __future__ import annotations

import json
from math import log2
from random import Random
from typing import TYPE_CHECKING

import pytest
from graphtide_core.event_expression import And, QueryEvent, Seq
from graphtide_core.event_pattern import EventPattern
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.plans.events import Slot, SubPattern
from graphtide_core.statistics import StatisticsSnapshot
from graphtide_core.time import Duration, TimeUnit
from graphtide_query.families.events.branches import branches
from graphtide_query.families.events.budget import AggregationBudget, Examinations
from graphtide_query.families.events.casem import PartitionTree, casem
from graphtide_query.families.events.correlation import Graph, correlation_graph
from graphtide_query.families.events.entropy import (
    Cluster,
    combine,
    merge_clusters,
    structural_entropy,
    taken_off_by_combining,
    taken_off_by_merging,
)
from graphtide_query.families.events.forms import Form, Forms
from graphtide_query.families.events.rates import Rates
from graphtide_testing.data import DATA
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

PUBLISHED = DATA / "patterninsight"


def random_graph(random: Random, nodes: int) -> Graph:
    graph: Graph = [set() for _ in range(nodes)]
    for node in range(1, nodes):
        for other in {random.randrange(node), random.randrange(nodes), random.randrange(nodes)} - {node}:
            graph[node].add(other)
            graph[other].add(node)
    return graph


def random_tree(random: Random, nodes: int) -> list[int | None]:
    """Parents of a tree with up to three levels of clusters; None is the root."""
    parents: list[int | None] = [None] * nodes
    level = list(range(nodes))
    for _ in range(random.randrange(3)):
        clusters = [len(parents) + number for number in range(max(2, len(level) // 3))]
        parents += [None] * len(clusters)
        for vertex in level:
            parents[vertex] = random.choice(clusters)
        level = clusters
    return parents


def cluster(graph: Graph, parents: list[int | None], vertex: int) -> Cluster:
    """What a cluster is, counted from the graph."""
    inside = members(graph, parents, vertex)
    children = [each for each, parent in enumerate(parents) if parent == vertex] or [vertex]
    cut = sum(len(graph[node] - inside) for node in inside)
    of_children = [members(graph, parents, child) for child in children]
    inner = sum(len(graph[node] - own) for own in of_children for node in own)
    return Cluster(sum(len(graph[node]) for node in inside), cut, inner)


def members(graph: Graph, parents: list[int | None], vertex: int) -> set[int]:
    def is_inside(node: int | None) -> bool:
        while node is not None and node != vertex:
            node = parents[node]
        return node == vertex

    return {node for node in range(len(graph)) if is_inside(node)}


def siblings(random: Random, graph: Graph, parents: list[int | None]) -> tuple[int, int] | None:
    pairs = [
        (one, other)
        for one in range(len(parents))
        for other in range(one)
        if parents[one] == parents[other] and members(graph, parents, one) and members(graph, parents, other)
    ]
    return random.choice(pairs) if pairs else None


def test_without_clusters_the_entropy_is_that_of_the_degrees() -> None:
    graph: Graph = [{1, 2}, {0}, {0}]
    assert structural_entropy(graph, [None, None, None]) == pytest.approx(0.5 * 1 + 2 * 0.25 * 2)


def test_clusters_save_the_code_of_what_is_inside_them() -> None:
    """Two triangles, joined by one edge: 14 ends, of which 7 in each; only that edge has to name its cluster."""
    graph: Graph = [{1, 2}, {0, 2}, {0, 1, 3}, {2, 4, 5}, {3, 5}, {3, 4}]
    expected = 2 * (1 / 14 * log2(14 / 7) + (2 * 2 / 14 * log2(7 / 2) + 3 / 14 * log2(7 / 3)))
    assert structural_entropy(graph, [6, 6, 6, 7, 7, 7, None, None]) == pytest.approx(expected)


@given(seed=st.integers(0, 2**32), nodes=st.integers(4, 12))
def test_an_operation_takes_off_what_its_local_equation_says(seed: int, nodes: int) -> None:
    random = Random(seed)
    graph, parents = random_graph(random, nodes), random_tree(random, nodes)
    pair = siblings(random, graph, parents)
    if pair is None:
        return
    one, other = pair
    clusters = cluster(graph, parents, one), cluster(graph, parents, other)
    inside = [members(graph, parents, each) for each in pair]
    between = sum(len(graph[node] & inside[1]) for node in inside[0])
    parent = parents[one]
    total = sum(map(len, graph))
    volume = total if parent is None else cluster(graph, parents, parent).volume
    before = structural_entropy(graph, parents)

    above = [*parents, parent]
    above[one] = above[other] = len(parents)
    bits = taken_off_by_combining(*clusters, between, volume)
    assert before - structural_entropy(graph, above) == pytest.approx(bits / total)
    assert combine(*clusters, between) == cluster(graph, above, len(parents))

    together = [*parents, parent]
    for each in pair:
        children = [child for child, its_parent in enumerate(parents) if its_parent == each] or [each]
        for child in children:
            together[child] = len(parents)
    bits = taken_off_by_merging(*clusters, between, volume)
    assert before - structural_entropy(graph, together) == pytest.approx(bits / total)
    assert merge_clusters(*clusters, between) == cluster(graph, together, len(parents))
    assert bits <= taken_off_by_combining(*clusters, between, volume) + 1e-9


def test_a_pattern_is_linked_with_the_most_similar_and_of_equals_the_first() -> None:
    types = [frozenset("abcdef"[: 2 + number % 3]) for number in range(14)]
    graph = correlation_graph(types)
    assert 2 in graph[5]
    assert 0 not in graph[0]
    own = [len([other for other in links if other < node]) for node, links in enumerate(graph)]
    assert max(own) <= 9 + 4


def test_of_very_many_equals_the_next_are_taken_so_that_nobody_has_all_links() -> None:
    alike = correlation_graph([frozenset("abc")] * 1_000)
    assert alike[5] == {(5 + step) % 1_000 for step in range(-9, 10)} - {5}
    assert {len(links) for links in alike} == {18}
    types = [frozenset(("a", "b", f"own{number}", f"twin{number // 2}")) for number in range(1_000)]
    in_pairs = correlation_graph(types)
    assert all(number ^ 1 in links for number, links in enumerate(in_pairs))
    assert max(map(len, in_pairs)) <= 20
    few = correlation_graph([frozenset("abc")] * 64)
    assert len(few[0]) == 63


def test_similarity_must_be_greater_than_a_tenth_of_the_types() -> None:
    ten, eleven = frozenset("abcdefghij"), frozenset("abcdefghijk")
    other = frozenset("a1234567890")
    assert correlation_graph([ten, other]) == [set(), set()]
    assert correlation_graph([frozenset("abcdefghi"), other]) == [{1}, {0}]
    assert correlation_graph([eleven, other]) == [set(), set()]


def test_groups_of_patterns_give_the_graph_of_all() -> None:
    random = Random(2)
    types = [frozenset(random.sample("abcdefghijklmnop", 5)) for _ in range(60)]
    assert correlation_graph(types, group=7) == correlation_graph(types)


def leaves_of(forms: Forms, patterns: list[EventPattern]) -> list[Form]:
    return [forms.of(branches(pattern)[0].sub_pattern)[0] for pattern in patterns]


@pytest.mark.parametrize("levels", [None, 2, 3])
@given(seed=st.integers(0, 2**32))
def test_every_cluster_has_two_event_types_in_common(levels: int | None, seed: int) -> None:
    random = Random(seed)
    forms = Forms(TimeUnit.SECOND)
    leaves = [sequence(forms, random.sample("abcdefgh", random.randint(2, 5))) for _ in range(12)]
    tree = tree_of(forms, leaves, all_linked(leaves), levels)
    for vertex in tree.inner():
        assert tree.forms[vertex].size >= 2
        assert all(not tree.forms[vertex].slots & ~tree.forms[child].slots for child in tree.children[vertex])
    if levels is not None:
        assert max(depth(tree, node) for node in range(12)) <= levels


def sequence(forms: Forms, types: list[str]) -> Form:
    order = frozenset((one, other) for other in range(len(types)) for one in range(other))
    return forms.of(SubPattern(tuple(Slot((kind,)) for kind in types), order, Duration(1)))[0]


def tree_of(forms: Forms, leaves: list[Form], graph: Graph, levels: int | None) -> PartitionTree:
    return casem(forms, leaves, graph, Rates(StatisticsSnapshot()), Examinations(AggregationBudget()), levels=levels)


def all_linked(leaves: list[Form]) -> Graph:
    return [set(range(len(leaves))) - {node} for node in range(len(leaves))]


def depth(tree: PartitionTree, node: int) -> int:
    parent = tree.parents[node]
    return 1 if parent is None else 1 + depth(tree, parent)


def test_a_tree_is_not_worse_than_where_it_began() -> None:
    random = Random(4)
    forms = Forms(TimeUnit.SECOND)
    leaves = [sequence(forms, random.sample("abcdefghijkl", 4)) for _ in range(40)]
    types = [frozenset(str(key) for key in range(12) if leaf.slots >> key & 1) for leaf in leaves]
    graph = correlation_graph(types)
    entropies = [structural_entropy(graph, [None] * 40)]
    for levels in (2, None):
        entropies.append(structural_entropy(graph, tree_of(forms, leaves, graph, levels).parents))
    assert entropies[0] > entropies[1] > entropies[2]


PUBLISHED_ENTROPIES = [(100, 6.5565, 5.4473, 4.6349), (500, 8.8693, 7.2843, 5.5935)]


@pytest.mark.parametrize(("count", "start", "of_two_levels", "of_any"), PUBLISHED_ENTROPIES)
def test_the_published_workloads_end_below_the_published_entropies(
    count: int, start: float, of_two_levels: float, of_any: float
) -> None:
    path = PUBLISHED / f"traffic_mode_{count}.json"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    forms = Forms(TimeUnit.SECOND)
    leaves = leaves_of(forms, publish(path))
    graph = correlation_graph([frozenset(each["id"]) for each in json.loads(path.read_text()).values()])
    assert structural_entropy(graph, [None] * count) == pytest.approx(start, abs=5e-5)
    for levels, bound in ((2, of_two_levels), (None, of_any)):
        tree = tree_of(forms, leaves, graph, levels)
        assert structural_entropy(graph, tree.parents) <= bound
        assert all(tree.forms[vertex].size >= 2 for vertex in tree.inner())


def publish(path: Path) -> list[EventPattern]:
    """The published patterns: AND of all their locations, of which some are in SEQ."""
    found = []
    for name, record in json.loads(path.read_text()).items():
        apart = [str(each) for each in record["property"]]
        rest = [each for each in record["id"] if each not in apart]
        events = tuple(QueryEvent(f"p{number}", kind) for number, kind in enumerate(apart))
        root = And(
            ((Seq(events),) if record["logic"]["seq"] and len(events) > 1 else events)
            + tuple(QueryEvent(f"q{number}", kind) for number, kind in enumerate(rest))
        )
        found.append(EventPattern(PatternName(name), root, Duration(record["interval"] * 60, "s"), StreamName("traffic")))
    return found
