"""Where a generated value's choices come from: Hypothesis, which shrinks them, or a seeded `random.Random`, which is fast.

A generator is written once, as a function of `Choices`, and serves both. The simplest outcome comes first in every choice,
because Hypothesis shrinks towards it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from hypothesis.strategies import DrawFn

T = TypeVar("T")


class Choices(Protocol):
    """Answers the questions a generator asks."""

    def integer(self, low: int, high: int) -> int:
        """Return an integer of `low` to `high`, both included."""
        ...

    def one_of(self, options: Sequence[T]) -> T:
        """Return one of `options`, which is not empty."""
        ...

    def rarely(self, one_in: int) -> bool:
        """Return True about once in `one_in` calls."""
        ...


@dataclass(frozen=True, slots=True)
class DrawnChoices:
    """Choices drawn by Hypothesis."""

    draw: DrawFn

    def integer(self, low: int, high: int) -> int:
        """See `Choices`."""
        return self.draw(st.integers(low, high))

    def one_of(self, options: Sequence[T]) -> T:
        """See `Choices`."""
        return self.draw(st.sampled_from(options))

    def rarely(self, one_in: int) -> bool:
        """See `Choices`."""
        return self.draw(st.integers(0, one_in - 1)) == one_in - 1


@dataclass(frozen=True, slots=True)
class RandomChoices:
    """Choices of a seeded generator of random numbers."""

    rng: Random

    def integer(self, low: int, high: int) -> int:
        """See `Choices`."""
        return self.rng.randint(low, high)

    def one_of(self, options: Sequence[T]) -> T:
        """See `Choices`."""
        return self.rng.choice(options)

    def rarely(self, one_in: int) -> bool:
        """See `Choices`."""
        return self.rng.randrange(one_in) == 0
