"""The co-located load of a plan: patterns that share costs with it, and patterns that share the cache."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """The patterns in the pass of a plan, including its own.

    Attributes:
        patterns: in the pass. They share the cost of edges that no pattern uses.
        alike: of the same engine. Their lists evict each other from the cache.
    """

    patterns: int = 1
    alike: int = 1


@dataclass(frozen=True, slots=True)
class ColocatedLoad:
    """The load beside a pattern for each engine: another engine may run in another pass.

    Attributes:
        known: by the engine's name.
        otherwise: for all other engines.
    """

    known: Mapping[str, EngineLoad] = field(default_factory=dict)
    otherwise: EngineLoad = EngineLoad()

    @classmethod
    def of(cls, patterns: int) -> Self:
        """Return the load of a number of patterns in one pass, all of one engine."""
        return cls(otherwise=EngineLoad(patterns, patterns))

    def by(self, engine: str) -> EngineLoad:
        """Return the load for an engine."""
        return self.known.get(engine, self.otherwise)


NO_OTHERS: Final = ColocatedLoad()
"""No other pattern is in the pass."""
