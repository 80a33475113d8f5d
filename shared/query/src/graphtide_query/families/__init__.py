"""The families of patterns, with the engines of each; one object a family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from graphtide_core.errors import InvalidQueryError
from graphtide_core.plans import AGGREGATION

from graphtide_query.families.algebra.family import ALGEBRA
from graphtide_query.families.engine import Engine, P, engine_among
from graphtide_query.families.events.family import EVENTS
from graphtide_query.families.isomorphism.family import ISOMORPHISM
from graphtide_query.families.simulation.family import SIMULATION
from graphtide_query.families.wish import AUTO, Wish

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.graph_query import GraphQuery
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import EventPlan, GraphPlan, GroupedPlan, Plan

    from graphtide_query.families.family import AnyFamily, Family

__all__ = [
    "AGGREGATION",
    "AUTO",
    "ENGINES",
    "FAMILIES",
    "VARIANTS",
    "Wish",
    "engine_of",
    "family_of",
    "refuse_other_family",
]

FAMILIES: Final = {
    # A family takes the patterns of its name, which a checker of types cannot see.
    each.name: cast("AnyFamily", each)
    for each in (ISOMORPHISM, SIMULATION, EVENTS, ALGEBRA)
}
"""All families, by name."""

if TYPE_CHECKING:
    # What is cast above has every question, with the types of its own patterns and plans.
    _SUBGRAPHS: Final[tuple[Family[SubgraphPattern, Plan, Plan], ...]] = (ISOMORPHISM, SIMULATION)
    _OF_EVENTS: Final[Family[EventPattern, EventPlan, GroupedPlan]] = EVENTS
    _OF_QUERIES: Final[Family[GraphQuery, GraphPlan, GraphPlan]] = ALGEBRA

ENGINES: Final = {engine.name: engine for family in (ISOMORPHISM, SIMULATION) for engine in family.engines}
"""All engines of patterns of edges, by name."""

VARIANTS: Final = {engine: variants for family in FAMILIES.values() for engine, variants in family.variants.items()}
"""All engines by name, with the variants of plans that each has."""


def family_of(pattern: AnyPattern) -> AnyFamily:
    """Return a pattern's family.

    Raises:
        KeyError: it is of none of `FAMILIES`.
    """
    return FAMILIES[pattern.family]


def engine_of(physical: P) -> Engine[P]:
    """Return the engine that runs a plan of a pattern of edges.

    Raises:
        LookupError: there is none of that name.
    """
    return engine_among(ENGINES.values(), physical)


def refuse_other_family(pattern: AnyPattern, engine: str) -> None:
    """Check that an engine is of a pattern's family.

    Raises:
        InvalidQueryError: it is not, or there is no engine of that name.
    """
    if engine not in (AUTO, *VARIANTS):
        message = f"there is no engine {engine!r}; one of {', '.join((AUTO, *VARIANTS))}"
        raise InvalidQueryError(message)
    own = family_of(pattern)
    if engine not in (AUTO, *own.names):
        of = f"{own.title}, as {pattern.name!r} is"
        message = f"the engine {engine} is not for {of}; one of {', '.join((AUTO, *own.names))}"
        raise InvalidQueryError(message)
