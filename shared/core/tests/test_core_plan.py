"""Plans and statistics: what they say of a pattern."""

from __future__ import annotations

import pytest
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.pattern import QueryEdge, QueryVertex, SubgraphPattern
from graphtide_core.plans import Plan, SearchPlan, Storage, TimingPlan
from graphtide_core.statistics import EdgeType, StatisticsSnapshot
from graphtide_core.time import Duration

PATTERN = SubgraphPattern(
    name=PatternName("p"),
    vertices=(QueryVertex("v", "ip"), QueryVertex("w")),
    edges=(QueryEdge("a", "v", "w", "tcp"), QueryEdge("b", "w", "v"), QueryEdge("c", "w", "w", "udp")),
    window=Duration(1),
    stream=StreamName("s"),
)
COUNTS = {EdgeType("ip", "tcp", "ip"): 3, EdgeType("ip", "udp", None): 2, EdgeType(None, "tcp", "ip"): 5}


def test_a_plan_is_named_by_its_engine() -> None:
    assert Plan(PATTERN, TimingPlan(((0, 1), (2,)))).engine == "timing"
    assert Plan(PATTERN, SearchPlan(((0, 1, 2), (1, 0, 2), (2, 0, 1)))).engine == "re-search"
    assert TimingPlan(((0,),)).storage is Storage.MS_DAG


@pytest.mark.parametrize(("edge", "share"), [(0, 0.3), (1, 0.8), (2, 0.2)])
def test_the_share_of_edges_that_fit(edge: int, share: float) -> None:
    statistics = StatisticsSnapshot(types=COUNTS, edges=10, vertices=4)
    assert statistics.share(PATTERN, PATTERN.edges[edge]) == share


def test_of_an_unknown_stream_everything_fits() -> None:
    assert StatisticsSnapshot().share(PATTERN, PATTERN.edges[0]) == 1.0
