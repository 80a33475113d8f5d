"""The patterns among which a plan runs: with some it shares costs, with others the cache."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Company:
    """Who runs in the pass of a plan, itself among them.

    Attributes:
        patterns: in the pass. They share what an edge costs that nobody wants.
        alike: those of its engine. Their lists push each other out of cache.
    """

    patterns: int = 1
    alike: int = 1


@dataclass(frozen=True, slots=True)
class Crowd:
    """The company that a pattern would have by each engine: another engine may run in another pass.

    Attributes:
        known: by the engine's name.
        otherwise: by engines that are not among those.
    """

    known: Mapping[str, Company] = field(default_factory=dict)
    otherwise: Company = Company()

    @classmethod
    def of(cls, patterns: int) -> Self:
        """Return the company of so many patterns in one pass, all by the engine that is looked at."""
        return cls(otherwise=Company(patterns, patterns))

    def by(self, engine: str) -> Company:
        """Return the company by an engine."""
        return self.known.get(engine, self.otherwise)


ALONE: Final = Crowd()
"""No other pattern is in the pass."""
