"""The patterns among which a plan runs: with some it shares costs, with others the cache."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """Who runs in the pass of a plan, itself among them.

    Attributes:
        patterns: in the pass. They share what an edge costs that nobody wants.
        alike: those of its engine. Their lists push each other out of cache.
    """

    patterns: int = 1
    alike: int = 1


@dataclass(frozen=True, slots=True)
class ColocatedLoad:
    """The company that a pattern would have by each engine: another engine may run in another pass.

    Attributes:
        known: by the engine's name.
        otherwise: by engines that are not among those.
    """

    known: Mapping[str, EngineLoad] = field(default_factory=dict)
    otherwise: EngineLoad = EngineLoad()

    @classmethod
    def of(cls, patterns: int) -> Self:
        """Return the company of so many patterns in one pass, all by the engine that is looked at."""
        return cls(otherwise=EngineLoad(patterns, patterns))

    def by(self, engine: str) -> EngineLoad:
        """Return the company by an engine."""
        return self.known.get(engine, self.otherwise)


NO_OTHERS: Final = ColocatedLoad()
"""No other pattern is in the pass."""
