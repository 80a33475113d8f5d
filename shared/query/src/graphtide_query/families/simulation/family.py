"""Dual simulation: reports components, in which many edges may match each edge of the pattern."""

from __future__ import annotations

from typing import Final

from graphtide_query.families.simulation.baseline import BASELINE
from graphtide_query.families.simulation.coloring import COLORING
from graphtide_query.families.simulation.signature import SIGNATURE
from graphtide_query.families.subgraphs import SubgraphFamily

SIMULATION: Final = SubgraphFamily(
    "simulation",
    "patterns under dual simulation",
    engines=(COLORING, SIGNATURE, BASELINE),
    auto=(COLORING, SIGNATURE, BASELINE),
    services=dict.fromkeys((COLORING.name, SIGNATURE.name, BASELINE.name), "matcher_simulation"),
)
