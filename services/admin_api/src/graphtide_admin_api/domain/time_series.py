"""Values over time in rings of fixed size: an hour in steps of 5 seconds, and a week in steps of 5 minutes."""

from __future__ import annotations

import math
from array import array
from typing import Final, NamedTuple

FINE_STEP: Final = 5
"""Seconds of a step of the last hour."""

COARSE_STEP: Final = 300
"""Seconds of a step of the last week; its value is the mean of the values in it."""

HOUR: Final = 3_600
WEEK: Final = 7 * 24 * HOUR

UNITS: Final = {
    "edges": "1/s",
    "rejected": "1/s",
    "late": "1/s",
    "duplicates": "1/s",
    "watermark_lag": "s",
    "matches": "1/s",
    "partial_matches": "1",
    "lag": "edges",
}
"""The unit of each series, by its name."""

Points = list[tuple[int, float | None]]
"""Seconds since 1970, ascending by the step, and values; None where the value is unknown."""


class SeriesKey(NamedTuple):
    """What a series is of: a stream, a pattern and its stream, or all."""

    name: str
    stream: str | None = None
    pattern: str | None = None


class Ring:
    """The last values in equal steps. Memory: 4 bytes a step."""

    def __init__(self, step: int, steps: int) -> None:
        """Know no value."""
        self.step = step
        self._values = array("f", [math.nan]) * steps
        self._newest: int | None = None

    def put(self, at: float, value: float) -> None:
        """Set the value of the step that has a time, in seconds since 1970; one before all that is kept is left out."""
        number, size = int(at // self.step), len(self._values)
        if self._newest is None:
            self._newest = number
        if number <= self._newest - size:
            return
        for skipped in range(max(self._newest, number - size) + 1, number):
            self._values[skipped % size] = math.nan
        self._newest = max(self._newest, number)
        self._values[number % size] = value

    def points(self, start: float, end: float) -> Points:
        """Return the value of each step that begins at `start` or later and before `end`, no more than the ring has steps."""
        stop = math.ceil(end / self.step)
        begin = max(math.ceil(start / self.step), stop - len(self._values))
        return [(number * self.step, self._at(number)) for number in range(begin, stop)]

    def _at(self, number: int) -> float | None:
        if self._newest is None or not self._newest - len(self._values) < number <= self._newest:
            return None
        value = self._values[number % len(self._values)]
        return None if math.isnan(value) else value


class TimeSeries:
    """The values of an hour and the means of a week. Memory: about 11 KiB."""

    def __init__(self) -> None:
        """Know no value."""
        self.fine = Ring(FINE_STEP, HOUR // FINE_STEP)
        self.coarse = Ring(COARSE_STEP, WEEK // COARSE_STEP)
        self._of = 0
        self._sum = 0.0
        self._count = 0

    def put(self, at: float, value: float) -> None:
        """Take the value at a time, in seconds since 1970."""
        self.fine.put(at, value)
        if (number := int(at // COARSE_STEP)) != self._of:
            self._of, self._sum, self._count = number, 0.0, 0
        self._sum, self._count = self._sum + value, self._count + 1
        self.coarse.put(at, self._sum / self._count)
