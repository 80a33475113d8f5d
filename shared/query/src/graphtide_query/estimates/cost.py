"""What a plan is estimated to cost, part by part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Part(NamedTuple):
    """Nanoseconds for an edge of the stream, and what they are for, with its figure."""

    nanoseconds: float
    words: str


@dataclass(frozen=True, slots=True)
class Cost:
    """What a plan is estimated to cost.

    Attributes:
        parts: of the time for an edge of the stream.
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


def figure(number: float) -> str:
    """Return a figure to two digits, or whole where it has more of them."""
    return f"{number:,.0f}" if 100 <= number < 1e9 else f"{number:.2g}"
