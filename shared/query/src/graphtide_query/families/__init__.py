"""The families of patterns, with their engines; one object for each family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Final, TypeGuard, TypeVar, cast

from graphtide_core.errors import InvalidQueryError
from graphtide_core.plans import AGGREGATION

from graphtide_query.families.algebra.family import ALGEBRA
from graphtide_query.families.engine import Engine, P, engine_among
from graphtide_query.families.events.family import EVENTS
from graphtide_query.families.isomorphism.family import ISOMORPHISM
from graphtide_query.families.planner_options import AUTO, PlannerOptions
from graphtide_query.families.simulation.family import SIMULATION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.graph_query import GraphQuery
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import EventPlan, GraphPlan, GroupedPlan, Plan

    from graphtide_query.families.family import AnyFamily, Family

T = TypeVar("T")

__all__ = [
    "AGGREGATION",
    "AUTO",
    "ENGINES",
    "FAMILIES",
    "SERVICES",
    "VARIANTS",
    "PlannerOptions",
    "engine_of",
    "family_of",
    "is_pattern",
    "refuse_other_family",
]

FAMILIES: Final = {
    # A family takes the patterns of its name, which a type checker cannot see.
    each.name: cast("AnyFamily", each)
    for each in (ISOMORPHISM, SIMULATION, EVENTS, ALGEBRA)
}
"""All families, by name."""

if TYPE_CHECKING:
    # The families cast above implement every method, with the types of their own patterns and plans.
    _SUBGRAPHS: Final[tuple[Family[SubgraphPattern, Plan, Plan], ...]] = (ISOMORPHISM, SIMULATION)
    _OF_EVENTS: Final[Family[EventPattern, EventPlan, GroupedPlan]] = EVENTS
    _OF_QUERIES: Final[Family[GraphQuery, GraphPlan, GraphPlan]] = ALGEBRA

ENGINES: Final = {engine.name: engine for family in (ISOMORPHISM, SIMULATION) for engine in family.engines}
"""All engines of patterns of edges, by name."""


class _OfEachEngine(Mapping[str, T]):
    """A property of engines by the engine's name; it follows `FAMILIES`."""

    def __init__(self, said: Callable[[AnyFamily], Mapping[str, T]]) -> None:
        self._said = said

    def __getitem__(self, engine: str) -> T:
        return dict(self._pairs())[engine]

    def __iter__(self) -> Iterator[str]:
        return (engine for engine, _ in self._pairs())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _pairs(self) -> Iterator[tuple[str, T]]:
        return (pair for family in FAMILIES.values() for pair in self._said(family).items())


VARIANTS: Final[Mapping[str, tuple[str, ...]]] = _OfEachEngine(lambda family: family.variants)
"""All engines by name, with their variants of plans."""

SERVICES: Final[Mapping[str, str]] = _OfEachEngine(lambda family: family.services)
"""The matcher service that runs each engine, by the engine's name."""


def family_of(pattern: AnyPattern) -> AnyFamily:
    """Return a pattern's family.

    Raises:
        KeyError: none of `FAMILIES` has it.
    """
    return FAMILIES[pattern.family]


def is_pattern(value: object) -> TypeGuard[AnyPattern]:
    """Return whether a value is a pattern of one of `FAMILIES`."""
    return is_dataclass(value) and not isinstance(value, type) and getattr(value, "family", None) in FAMILIES


def engine_of(physical: P) -> Engine[P]:
    """Return the engine that runs a plan of a pattern of edges.

    Raises:
        LookupError: no engine has that name.
    """
    return engine_among(ENGINES.values(), physical)


def refuse_other_family(pattern: AnyPattern, engine: str) -> None:
    """Check that an engine belongs to a pattern's family.

    Raises:
        InvalidQueryError: it does not, or no engine has that name.
    """
    if engine not in (AUTO, *VARIANTS):
        message = f"there is no engine {engine!r}; one of {', '.join((AUTO, *VARIANTS))}"
        raise InvalidQueryError(message)
    own = family_of(pattern)
    if engine not in (AUTO, *own.names):
        of = f"{own.title}, as {pattern.name!r} is"
        message = f"the engine {engine} is not for {of}; one of {', '.join((AUTO, *own.names))}"
        raise InvalidQueryError(message)
