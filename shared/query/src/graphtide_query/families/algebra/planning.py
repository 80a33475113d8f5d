"""Plans of streaming graph queries: by the engine and in the variant that are wished.

Variants: `searched`, the cheapest plan that the transformation rules lead to; `canonical`, the translation of the query as it
is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.plans.algebra import GraphPlan, PathEngine

from graphtide_query.families.algebra.physical import compiled
from graphtide_query.families.algebra.translation import canonical
from graphtide_query.families.wish import AUTO

if TYPE_CHECKING:
    from graphtide_core.graph_query import GraphQuery

    from graphtide_query.families.wish import Wish

NAMES: Final = tuple(engine.value for engine in PathEngine)
"""Names of the engines, which differ in how they run PATHs."""

VARIANTS: Final = ("searched", "canonical")
"""Variants of the plans of each."""


def plan_graph_query(query: GraphQuery, wish: Wish) -> GraphPlan:
    """Plan a query.

    Raises:
        InvalidQueryError: the engine has no such variant.
    """
    engine = PathEngine.S_PATH if wish.engine == AUTO else PathEngine(wish.engine)
    wish.variant_among(engine.value, VARIANTS)
    return GraphPlan(query, compiled(query, canonical(query), engine))
