"""Short, dense streams and patterns that find something in them: for tests that draw seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.edge import Edge, Operation
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime
from graphtide_query import parse_subgraphs

if TYPE_CHECKING:
    from random import Random

    from graphtide_core.pattern import SubgraphPattern

_PATTERNS = """
PATTERN pair MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y ON s WINDOW 6
PATTERN twin MATCH (u)-[g:k]->(v)-[f:k]->(w) ORDER g < f ON s WINDOW 6
PATTERN longer MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y RETURN y.m, x.n - y.n AS less, c.id ON s WINDOW 14
PATTERN back MATCH (a)-[x:k]->(b), (b)-[y:l]->(a) ON s WINDOW 9
PATTERN path MATCH (a)-[x]->(b)-[y:l]->(c)-[z:k]->(d) ORDER x < y < z ON s WINDOW 12
PATTERN triangle MATCH (a)-[x:k]->(b)-[y:k]->(c)-[z:k]->(a) ORDER x < z ON s WINDOW 16
PATTERN same MATCH (a)-[x:k]->(b), (a)-[y:k]->(c) WHERE x.n = y.n ON s WINDOW 8
PATTERN more MATCH (a)-[x:l]->(b)-[y:k]->(c) WHERE x.n < y.n AND x.m = y.m AND y.n > 1 ON s WINDOW 11
PATTERN from_one MATCH (a {id: "v1"})-[x]->(b)-[y]->(c) WHERE x.label = y.label ON s WINDOW 7
PATTERN typed MATCH (a:A)-[x:k]->(b:B)-[y]->(c) ORDER x < y ON s WINDOW 10
PATTERN single MATCH (a)-[x:l]->(b) WHERE x.m > 0 RETURN *, x.n ON s WINDOW 5
PATTERN once MATCH (a)-[x:k]->(b)-[y:k]->(c) REPORT ONE PER b.id EVERY 10 ON s WINDOW 6
PATTERN alike MATCH (a)-[x:k]->(b), (a)-[y:k]->(c) REPORT DISTINCT ONE PER a.id, x.m EVERY 7 ON s WINDOW 9
PATTERN sets MATCH (a)-[x:k]->(b), (b)-[y]->(c), (b)-[z]->(c) UNDER EDGE ISOMORPHISM REPORT DISTINCT ON s WINDOW 8
PATTERN next MATCH (a)-[x:k]->(b)-[y]->(c) ON s WINDOW 6 EDGES
PATTERN soon MATCH (a)-[x:k]->(b)-[y:l]->(c)-[z]->(d) ORDER x < z ON s WINDOW 14 EDGES
"""

_SIMULATIONS = """
PATTERN flow MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y UNDER DUAL SIMULATION ON s WINDOW 6
PATTERN flows MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y UNDER DUAL SIMULATION REPORT INSTANCES ON s WINDOW 9
PATTERN flowing MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y UNDER DUAL SIMULATION REPORT CHANGES ON s WINDOW 7
PATTERN twice MATCH (a)-[x:k *2]->(b), (b)-[y:l]->(c) UNDER DUAL SIMULATION REPORT INSTANCES ON s WINDOW 14
PATTERN mutual MATCH (a)-[x:k]->(b), (b)-[y]->(a) UNDER DUAL SIMULATION REPORT CHANGES ON s WINDOW 5
PATTERN around MATCH (a)-[x]->(a) WHERE x.n > 0 UNDER DUAL SIMULATION REPORT INSTANCES ON s WINDOW 8
PATTERN richer MATCH (a:A)-[x:k]->(b), (a)-[y:k]->(c)-[z]->(d) WHERE z.m = 1 UNDER DUAL SIMULATION ON s WINDOW 10
PATTERN seldom MATCH (a)-[x:k]->(b)-[y:k]->(c) UNDER DUAL SIMULATION REPORT MAXIMAL ONE PER min(b.id) EVERY 8 ON s WINDOW 7
PATTERN counted MATCH (a)-[x:k]->(b)-[y:k]->(c) UNDER DUAL SIMULATION REPORT CHANGES ON s WINDOW 6 EDGES
PATTERN counting MATCH (a)-[x:k]->(b), (b)-[y]->(a) UNDER DUAL SIMULATION REPORT INSTANCES ON s WINDOW 9 EDGES
PATTERN any MATCH (a)-[x:l]->(b) UNDER DUAL SIMULATION REPORT INSTANCES ON s WINDOW 3
"""


def dense_patterns(family: str = "isomorphism") -> list[SubgraphPattern]:
    """Return patterns of a family that share some of their edges, and differ in windows, attributes, vertices and labels."""
    return list(parse_subgraphs({"isomorphism": _PATTERNS, "simulation": _SIMULATIONS}[family]))


def dense_edges(rng: Random, count: int, *, deletions: bool) -> tuple[Edge, ...]:
    """Return edges between few vertices, with ties, some without ids, and deletions if there are to be any."""
    edges: list[Edge] = []
    ts = 0
    for place in range(count):
        ts += rng.choice((0, 0, 1, 1, 2))
        given = [edge.id for edge in edges if edge.operation is Operation.INSERT and not edge.made]
        deleted = rng.choice(given) if deletions and given and rng.random() < 0.12 else None
        made = deleted is None and rng.random() < 0.3
        edge_id = EdgeId(str(place) if made else deleted or f"e{place}")
        source, target = (VertexId(f"v{rng.randrange(4)}") for _ in range(2))
        source_label, target_label = (rng.choice(("A", "B", None)) for _ in range(2))
        attributes = {name: rng.randrange(3) for name in "nm" if rng.random() < 0.8}
        operation = Operation.INSERT if deleted is None else Operation.DELETE
        at, label = EventTime(ts), rng.choice("kkl")
        edges.append(Edge(edge_id, at, source, target, label, source_label, target_label, attributes, operation, made))
    return tuple(edges)
