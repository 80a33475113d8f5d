"""The families of patterns, with the engines of each; one object an engine, one a family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidQueryError
from graphtide_core.event_pattern import EventPattern
from graphtide_core.graph_query import GraphQuery
from graphtide_core.plans import AGGREGATION

from graphtide_query.families.engine import Engine, P, engine_among
from graphtide_query.families.isomorphism import ISOMORPHISM
from graphtide_query.families.simulation import SIMULATION
from graphtide_query.families.variants import BUILDERS, PATH_ENGINES, PLANS_OF_QUERIES
from graphtide_query.families.wish import AUTO, Wish

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.pattern import SubgraphPattern

    from graphtide_query.families.family import Family

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

FAMILIES: Final = {"isomorphism": ISOMORPHISM, "simulation": SIMULATION}
"""All families of patterns of edges, by name."""

ENGINES: Final = {engine.name: engine for family in FAMILIES.values() for engine in family.engines}
"""All engines of patterns of edges, by name."""

VARIANTS: Final = {
    **{engine.name: engine.variants for engine in ENGINES.values()},
    AGGREGATION: BUILDERS,
    **dict.fromkeys(PATH_ENGINES, PLANS_OF_QUERIES),
}
"""The variants of plans that each engine has, by name, those of event patterns and graph queries too."""


def family_of(pattern: SubgraphPattern) -> Family:
    """Return a pattern's family."""
    return FAMILIES[pattern.morphism.family]


def engine_of(physical: P) -> Engine[P]:
    """Return the engine that runs a plan.

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
    if isinstance(pattern, EventPattern):
        names: tuple[str, ...] = (AGGREGATION,)
        semantics = "event patterns"
    elif isinstance(pattern, GraphQuery):
        names, semantics = PATH_ENGINES, "streaming graph queries"
    else:
        own = family_of(pattern)
        names, semantics = own.names, f"patterns under {own.semantics}"
    if engine not in (AUTO, *names):
        message = f"the engine {engine} is not for {semantics}, as {pattern.name!r} is; one of {', '.join((AUTO, *names))}"
        raise InvalidQueryError(message)
