"""How resident memory grows: samples of the lives of processes, and the slope of each.

A process that is killed and started again has another life, and grows anew. A life is measured once it is long enough. The
growth of its first minutes, while caches and windows fill, means nothing, and a slope over a short time is noise.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SLOPE_SECONDS: Final = 600.0
"""A slope is growth in so many seconds."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Bytes that were resident at a moment, in seconds of any clock."""

    at: float
    resident_bytes: int


@dataclass(frozen=True, slots=True)
class Patience:
    """Which lives are long enough to measure.

    Attributes:
        warm_seconds: first seconds of a life, which are left out.
        measured_seconds: seconds that must follow those.
    """

    warm_seconds: float = 600.0
    measured_seconds: float = 900.0


@dataclass(slots=True)
class Lives:
    """The lives of the processes of one name."""

    samples: list[list[Sample]] = field(default_factory=list)
    _life: int | None = None

    def add(self, life: int, sample: Sample) -> None:
        """Note a sample of a life, which is known by a number that no other has had."""
        if life != self._life:
            self.samples.append([])
            self._life = life
        self.samples[-1].append(sample)

    def measured_lives(self, patience: Patience) -> Iterator[list[Sample]]:
        """Yield the samples of each life that is long enough, without its first seconds."""
        for life in self.samples:
            warm = [each for each in life if each.at - life[0].at >= patience.warm_seconds]
            if warm and warm[-1].at - warm[0].at >= patience.measured_seconds:
                yield warm


def slope(samples: Sequence[Sample]) -> float:
    """Return the share of their mean that samples grow in `SLOPE_SECONDS`: the slope of the least squares.

    Raises:
        statistics.StatisticsError: there are fewer than two, or all are of one moment.
    """
    sizes = [float(each.resident_bytes) for each in samples]
    line = statistics.linear_regression([each.at for each in samples], sizes)
    return line.slope * SLOPE_SECONDS / statistics.fmean(sizes)
