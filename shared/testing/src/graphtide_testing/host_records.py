"""Patterns and edges that tests of the matcher host share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, PatternName, StreamName, VertexId
from graphtide_core.time import EventTime
from graphtide_query import parse_subgraphs

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern

    from graphtide_testing.host_world import HostWorld


def rename_pattern(pattern: SubgraphPattern, name: str) -> SubgraphPattern:
    """Return the pattern under another name, over the stream of the tests."""
    return replace(pattern, name=PatternName(name), stream=StreamName("s"))


def stopped_at(world: HostWorld) -> int:
    """Return where the pattern `one` stopped."""
    said = world.said()["one"]
    assert said.state == "stopped"
    assert said.start is not None
    return said.start


def edge_pattern() -> SubgraphPattern:
    """Return a pattern of two edges with one label."""
    (pattern,) = parse_subgraphs("PATTERN one MATCH (a)-[x:k]->(b)-[y:k]->(c) ON s WINDOW 100")
    return pattern


def k(number: int, source: str, target: str) -> Edge:
    """Return an edge whose time is its number."""
    return Edge(EdgeId(f"e{number}"), EventTime(number), VertexId(source), VertexId(target), "k")


def path(number: int) -> Edge:
    """An edge that continues the one before, so that each but the first completes a match."""
    return k(number, f"v{number}", f"v{number + 1}")
