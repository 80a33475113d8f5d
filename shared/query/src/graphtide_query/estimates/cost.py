"""The estimated cost of a plan, part by part and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.plans import Candidate

if TYPE_CHECKING:
    from graphtide_core.plans import PhysicalPlan

NAMED_SHARE = 0.25
"""The smallest share of the time for which a part is named beside the largest."""


class Part(NamedTuple):
    """Nanoseconds for an edge of the stream, and a description of the work."""

    nanoseconds: float
    words: str


@dataclass(frozen=True, slots=True)
class Cost:
    """The estimated cost of a plan.

    Attributes:
        parts: of the time for each edge of the stream.
        partial_matches: alive.
    """

    parts: tuple[Part, ...]
    partial_matches: float

    @property
    def nanoseconds(self) -> float:
        """Time for an edge of the stream."""
        total = 0.0
        for part in self.parts:
            total += part.nanoseconds
        return total

    @property
    def reason(self) -> str:
        """The largest part of the time, and the parts of at least a quarter of it."""
        total = self.nanoseconds
        if total == 0:
            return "no edge of the stream can be a query edge"
        greatest, *others = sorted(self.parts, reverse=True)
        named = [greatest, *(part for part in others if part.nanoseconds >= NAMED_SHARE * total)]
        return ", ".join(f"{100 * part.nanoseconds / total:.0f} % for {part.words}" for part in named)

    def candidate(self, physical: PhysicalPlan) -> Candidate:
        """Return the plan with this cost as a candidate."""
        return Candidate(physical, self.nanoseconds, self.partial_matches, self.reason)


def format_number(number: float) -> str:
    """Write a number to two digits, or as an integer if it has more."""
    return f"{number:,.0f}" if 100 <= number < 1e9 else f"{number:.2g}"


def of_edges(share: float) -> str:
    """Write a share of the stream's edges."""
    return f"the {format_number(100 * min(1.0, share))} % of edges"
