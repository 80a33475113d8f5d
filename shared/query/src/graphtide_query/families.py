"""The families of patterns, and the engines of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidQueryError

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern

FAMILIES: Final = {
    "isomorphism": ("timing", "sj-tree", "re-search", "filtering"),
    "simulation": ("ddst-coloring", "ddst-signature", "ddst-baseline"),
}
"""Names of the engines of each family."""

ENGINES: Final = tuple(engine for engines in FAMILIES.values() for engine in engines)
"""Names of all engines."""

AUTO: Final = "auto"
"""In place of an engine's name: the one that is estimated cheapest."""


def family_of(pattern: SubgraphPattern) -> str:
    """Return the name of a pattern's family."""
    return "simulation" if pattern.is_simulation else "isomorphism"


def refuse_other_family(pattern: SubgraphPattern, engine: str) -> None:
    """Check that an engine is of a pattern's family.

    Raises:
        InvalidQueryError: it is not, or there is no engine of that name.
    """
    if engine not in (AUTO, *ENGINES):
        message = f"there is no engine {engine!r}; one of {', '.join((AUTO, *ENGINES))}"
        raise InvalidQueryError(message)
    own = FAMILIES[family_of(pattern)]
    if engine not in (AUTO, *own):
        kind = "under dual simulation" if pattern.is_simulation else "under isomorphism"
        message = f"the engine {engine} is not for patterns {kind}, as {pattern.name!r} is; one of {', '.join((AUTO, *own))}"
        raise InvalidQueryError(message)
