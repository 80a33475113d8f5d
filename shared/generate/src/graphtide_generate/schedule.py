"""Places records in time: the background follows the hours of the day, an instance fits into its window."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
MIDNIGHT = 1_704_067_200_000
"""2024-01-01T00:00:00Z in milliseconds: the default start of generated streams."""

_SLICES = 96


def background_times(rng: Random, count: int, start: int, duration: int) -> list[int]:
    """Return `count` times in `start` to `start + duration`, ascending: busiest at 14:00 UTC, a fifth of that at 02:00."""
    width = duration / _SLICES
    weights = [_activity(start + (number + 0.5) * width) for number in range(_SLICES)]
    chosen = rng.choices(range(_SLICES), weights, k=count)
    return sorted(start + int((number + rng.random()) * width) for number in chosen)


def steady_times(rng: Random, count: int, start: int, gap: int) -> list[int]:
    """Return `count` times from `start` on, ascending, `gap` apart on average at any hour."""
    return sorted(start + int(rng.random() * count * gap) for _ in range(count))


def popularity(count: int, exponent: float) -> list[float]:
    """Return cumulative weights of a power law for `random.choices`: item i weighs (i + 1) ** -exponent."""
    return list(accumulate((rank + 1) ** -exponent for rank in range(count)))


def instance_times(rng: Random, steps: int, start: int, duration: int, window: int) -> list[int]:
    """Return `steps` strictly ascending times less than `window` apart, all before `start + duration`.

    The whole window lies in the stream: `duration` must be longer than `window`, and `window` longer than `steps`.
    """
    first = start + rng.randrange(duration - window)
    return [first, *(first + offset for offset in sorted(rng.sample(range(1, window), steps - 1)))]


def too_slow(rng: Random, times: list[int], window: int) -> list[int]:
    """Return the times with the last one moved to the window's length after the first, or up to two seconds more."""
    return [*times[:-1], times[0] + window + rng.choice((0, 0, rng.randrange(1, 2 * SECOND)))]


def _activity(ts: float) -> float:
    hour = (ts % DAY) / HOUR
    return 0.6 - 0.4 * math.cos(2 * math.pi * (hour - 2) / 24)
