"""The families of patterns, with the engines of each; one object an engine, one a family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidQueryError

from graphtide_query.families.engine import Engine, P, engine_among
from graphtide_query.families.isomorphism import ISOMORPHISM
from graphtide_query.families.simulation import SIMULATION
from graphtide_query.families.wish import AUTO, Wish

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern

    from graphtide_query.families.family import Family

__all__ = ["AUTO", "ENGINES", "FAMILIES", "Wish", "engine_of", "family_of", "refuse_other_family"]

FAMILIES: Final = {"isomorphism": ISOMORPHISM, "simulation": SIMULATION}
"""All families, by name."""

ENGINES: Final = {engine.name: engine for family in FAMILIES.values() for engine in family.engines}
"""All engines, by name."""


def family_of(pattern: SubgraphPattern) -> Family:
    """Return a pattern's family."""
    return FAMILIES[pattern.morphism.family]


def engine_of(physical: P) -> Engine[P]:
    """Return the engine that runs a plan.

    Raises:
        LookupError: there is none of that name.
    """
    return engine_among(ENGINES.values(), physical)


def refuse_other_family(pattern: SubgraphPattern, engine: str) -> None:
    """Check that an engine is of a pattern's family.

    Raises:
        InvalidQueryError: it is not, or there is no engine of that name.
    """
    if engine not in (AUTO, *ENGINES):
        message = f"there is no engine {engine!r}; one of {', '.join((AUTO, *ENGINES))}"
        raise InvalidQueryError(message)
    own = family_of(pattern)
    if engine not in (AUTO, *own.names):
        choice = ", ".join((AUTO, *own.names))
        message = f"the engine {engine} is not for patterns under {own.semantics}, as {pattern.name!r} is; one of {choice}"
        raise InvalidQueryError(message)
