"""What was counted of a running plan where the estimates were wrong."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CountedPart:
    """Partial matches of a part of a pattern that were alive at once, beside the estimate of the time.

    Attributes:
        edges: names of the query edges of the part, in the order of the text.
        estimated: by the statistics of the stream alone.
        counted: on the host.
    """

    edges: tuple[str, ...]
    estimated: float
    counted: float

    @property
    def factor(self) -> float:
        """How many times as many there were; one is added to both, so that neither 0 says too much."""
        return (self.counted + 1) / (self.estimated + 1)
