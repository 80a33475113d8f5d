"""Names of the engines of graph queries and event patterns, and of the variants of their plans.

They do not import the planners of those families, which load when the first pattern is planned.
"""

from __future__ import annotations

from typing import Final

from graphtide_core.plans import PathEngine

PATH_ENGINES: Final = tuple(engine.value for engine in PathEngine)
"""Names of the engines of graph queries, which differ in how they run PATHs."""

SEARCHED: Final = "searched"
CANONICAL: Final = "canonical"
PLANS_OF_QUERIES: Final = (SEARCHED, CANONICAL)
"""Variants of the plans of each; the first is the default."""

BUILDERS: Final = ("none", "rw", "spass", "casem-2", "casem", "casem+dce")
"""Names of the builders of plans of event patterns; plans of later ones share more."""

RUN_COUNTS: Final = ("candidates", "discarded", "matches", "retractions", "peak_partial_matches", "state_bytes")
"""Counts of a run that EXPLAIN shows of every pattern that is matched by itself."""
