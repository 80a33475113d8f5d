"""Algorithm 4 of paper 003 and its selectivities, computed by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isclose

import pytest
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.pattern import QueryEdge, QueryVertex, SubgraphPattern
from graphtide_core.plans import Plan, SjTreePlan, SjTreeStrategy
from graphtide_core.statistics import EdgeType, StatisticsSnapshot
from graphtide_core.time import Duration
from graphtide_query.estimates.cost_model import CostModel
from graphtide_query.explain import Seen, explain, to_text
from graphtide_query.families import FAMILIES, PlannerOptions
from graphtide_query.families.isomorphism.selectivity import (
    EstimatedFrequencies,
    choose_strategy,
    expected_selectivity,
    relative_selectivity,
    selectivity,
)
from graphtide_query.families.isomorphism.sj_decomposition import decompose, plan_sj_tree
from graphtide_query.nodes import Actual
from graphtide_query.planner import plan
from graphtide_testing.strategies import PatternShape, patterns
from hypothesis import given
from hypothesis import strategies as st


@dataclass(frozen=True, slots=True)
class Counted:
    """Shares as a statistics module would give them: of edges by position, of paths by pair; other paths were never seen."""

    edges: tuple[float, ...]
    paths: dict[tuple[int, int], float] = field(default_factory=dict)

    def edge(self, edge: int) -> float:
        return self.edges[edge]

    def path(self, first: int, second: int) -> float:
        return self.paths.get((min(first, second), max(first, second)), 0.0)


def pattern(edges: str) -> SubgraphPattern:
    """Read `a: x->y, b: y->z`; an edge's label is its name."""
    parsed = []
    for part in edges.split(", "):
        name, ends = part.split(": ")
        source, target = ends.split("->")
        parsed.append(QueryEdge(name, source, target, name))
    names = dict.fromkeys(end for one in parsed for end in (one.source, one.target))
    vertices = tuple(QueryVertex(name) for name in names)
    return SubgraphPattern(PatternName("p"), vertices, tuple(parsed), Duration(10), StreamName("s"))


PATH = pattern("a: v1->v2, b: v2->v3, c: v3->v4, d: v4->v5")
STAR = pattern("a: v1->v2, b: v1->v3, c: v1->v4, d: v1->v5")
SHARES = (0.5, 0.1, 0.3, 0.05)


def test_single_edges_follow_ascending_selectivity_along_the_frontier() -> None:
    frequencies = Counted(SHARES)
    # d is the rarest of all; next to it lies c alone, though b is rarer.
    assert decompose(CostModel(PATH), frequencies, SjTreeStrategy.SINGLE) == ((3,), (2,), (1,), (0,))
    # In a star every edge lies at the frontier.
    assert decompose(CostModel(STAR), frequencies, SjTreeStrategy.SINGLE_LAZY) == ((3,), (1,), (2,), (0,))


def test_the_rarest_path_comes_first_and_may_leave_single_edges() -> None:
    # Section 5.2: removing the middle of a path of four edges leaves two isolated edges, two leaves of one edge.
    middle = Counted(SHARES, {(0, 1): 0.2, (1, 2): 0.001, (2, 3): 0.1})
    assert decompose(CostModel(PATH), middle, SjTreeStrategy.PATH) == ((1, 2), (3,), (0,))
    # Where the ends are rarer, the halves remain; inside a leaf the rarer edge comes first.
    ends = Counted(SHARES, {(0, 1): 0.2, (1, 2): 0.4, (2, 3): 0.01})
    assert decompose(CostModel(PATH), ends, SjTreeStrategy.PATH_LAZY) == ((3, 2), (1, 0))


def test_a_path_away_from_the_frontier_waits() -> None:
    long = pattern("a: v1->v2, b: v2->v3, c: v3->v4, d: v4->v5, e: v5->v6, f: v6->v7")
    frequencies = Counted((0.1,) * 6, {(0, 1): 0.01, (1, 2): 0.5, (2, 3): 0.3, (3, 4): 0.4, (4, 5): 0.02})
    assert decompose(CostModel(long), frequencies, SjTreeStrategy.PATH) == ((0, 1), (2, 3), (4, 5))


def test_expected_and_relative_selectivity() -> None:
    frequencies = Counted(SHARES, {(0, 1): 0.2, (2, 3): 0.01})
    single, paths = [(3,), (2,), (1,), (0,)], [(3, 2), (1, 0)]
    assert isclose(expected_selectivity(frequencies, single), 0.5 * 0.1 * 0.3 * 0.05)
    assert isclose(expected_selectivity(frequencies, paths), 0.2 * 0.01)
    assert isclose(relative_selectivity(frequencies, paths, single), 0.002 / 0.00075)


@pytest.mark.parametrize(
    ("path", "strategy"),
    [
        (0.3, SjTreeStrategy.SINGLE_LAZY),
        (0.0005, SjTreeStrategy.SINGLE_LAZY),
        (0.00024, SjTreeStrategy.PATH_LAZY),
        (0.0, SjTreeStrategy.PATH_LAZY),
    ],
)
def test_the_rule_chooses_paths_below_a_thousandth(path: float, strategy: SjTreeStrategy) -> None:
    frequencies = Counted((0.5, 0.5), {(0, 1): path})
    assert choose_strategy(frequencies, [(0, 1)], [(0,), (1,)]) is strategy
    two = pattern("a: x->y, b: y->z")
    assert plan_sj_tree(CostModel(two), frequencies).strategy is strategy


def test_of_edges_that_never_occur_nothing_speaks_for_paths() -> None:
    assert choose_strategy(Counted((0.0, 0.5)), [(0, 1)], [(0,), (1,)]) is SjTreeStrategy.SINGLE_LAZY


def test_a_primitive_has_one_or_two_edges() -> None:
    with pytest.raises(ValueError, match="one or two edges, this one has 3"):
        selectivity(Counted(SHARES), (0, 1, 2))


def test_paths_that_were_not_counted_are_estimated_from_edges() -> None:
    counts = {EdgeType(None, "a", None): 20, EdgeType(None, "b", None): 50, EdgeType(None, "c", None): 30}
    ring = pattern("a: x->y, b: y->z, c: y->x")
    frequencies = EstimatedFrequencies(CostModel(ring, StatisticsSnapshot(types=counts, edges=100, vertices=25), 10))
    assert frequencies.edge(0) == 0.2
    # One shared vertex: 20 * 50 / 25 paths among 2 * 100 * 100 / 25; two shared vertices: 25 times fewer.
    assert isclose(frequencies.path(0, 1), 40 / 800)
    assert isclose(frequencies.path(1, 0), 40 / 800)
    assert isclose(frequencies.path(0, 2), 20 * 30 / 25 / 25 / 800)


def test_the_planner_takes_engine_and_strategy() -> None:
    assert "sj-tree" in FAMILIES["isomorphism"].names
    chosen = plan(PATH, "sj-tree").physical
    assert isinstance(chosen, SjTreePlan)
    assert chosen.strategy is SjTreeStrategy.SINGLE_LAZY
    asked = plan(PATH, PlannerOptions.of("sj-tree", "path")).physical
    assert isinstance(asked, SjTreePlan)
    assert [len(leaf) for leaf in asked.leaves] == [2, 2]
    counted = plan_sj_tree(CostModel(PATH), Counted(SHARES, {(2, 3): 0.01}))
    assert (counted.strategy, counted.leaves) == (SjTreeStrategy.PATH_LAZY, ((1, 0), (3, 2)))


def test_explain_shows_leaves_joins_and_cuts() -> None:
    frequencies = Counted(SHARES, {(0, 1): 0.2, (1, 2): 0.001, (2, 3): 0.1})
    lazily = Plan(PATH, plan_sj_tree(CostModel(PATH), frequencies, SjTreeStrategy.PATH_LAZY))
    explanation = explain(lazily, Seen({"P1": Actual(peak=3, created=9)}))
    assert explanation.settings == {"strategy": "path-lazy", "leaves": "{b, c} ⋈ {d} ⋈ {a}"}
    assert [(node.name, node.does, node.inputs) for node in explanation.nodes] == [
        ("P1", "search (v2)-[b:b]->(v3), (v3)-[c:c]->(v4)", ()),
        ("P2", "search (v4)-[d:d]->(v5) where P1 has v4", ()),
        ("J2", "join on v4", ("P1", "P2")),
        ("P3", "search (v1)-[a:a]->(v2) where J2 has v2", ()),
        ("J3", "join on v2", ("J2", "P3")),
        ("match", "report", ("J3",)),
    ]
    assert "actual peak 3, created 9" in to_text([explanation])
    stored = {node.name for node in explanation.nodes if node.estimate is not None}
    assert stored == {"P1", "J2"}
    eager = explain(plan(PATH, PlannerOptions.of("sj-tree", "single")))
    assert {node.name for node in eager.nodes if node.estimate is not None} == {"P1", "P2", "P3", "P4", "J2", "J3"}


@given(query=patterns(PatternShape(max_edges=8)), shares=st.lists(st.floats(0, 1), min_size=8, max_size=8))
def test_leaves_partition_the_pattern_and_grow_connected(query: SubgraphPattern, shares: list[float]) -> None:
    model = CostModel(query)
    for strategy in SjTreeStrategy:
        for frequencies in (Counted(tuple(shares)), EstimatedFrequencies(model)):
            leaves = decompose(model, frequencies, strategy)
            assert sorted(edge for leaf in leaves for edge in leaf) == list(range(len(query.edges)))
            seen: set[str] = set()
            for leaf in leaves:
                assert len(leaf) == 1 or (strategy.joins_paths and model.ends(leaf[:1]) & model.ends(leaf[1:]))
                assert not seen or seen & model.ends(leaf)
                seen |= model.ends(leaf)
