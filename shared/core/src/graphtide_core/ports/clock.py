"""Wall-clock time, for measuring and for nothing else: matching knows event time alone."""

from typing import Protocol


class Clock(Protocol):
    """A monotonic clock."""

    def monotonic(self) -> float:
        """Return seconds since an arbitrary instant; never goes back."""
        ...
