"""Series of values over the last hour and the last week, in rings of fixed size.

A series has a value every five seconds for an hour, and the mean of every five minutes for a week. Cost: O(1) a value; 11 KB a
series.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from math import isnan, nan
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

STEP: Final = 5
"""Seconds between two values."""

LONG_STEP: Final = 300
"""Seconds that a mean is over."""

SHORT_SPAN: Final = 3_600
"""Seconds that values are kept for."""

LONG_SPAN: Final = 7 * 86_400
"""Seconds that means are kept for."""

MOST_SERIES: Final = 4_000


class Subject(NamedTuple):
    """What a series is of: a value of a stream, of a pattern, or of all."""

    name: str
    stream: str | None = None
    pattern: str | None = None


class Ring:
    """The last values of one step, oldest overwritten; NaN where there is none."""

    def __init__(self, step: int, span: int) -> None:
        """Hold nothing yet."""
        self.step = step
        self._values = array("f", [nan]) * (span // step)
        self._newest: int | None = None

    def put(self, tick: int, value: float) -> None:
        """Put the value of a tick, in the order of ticks; ticks that were left out have none."""
        count = len(self._values)
        if self._newest is not None:
            for skipped in range(max(self._newest + 1, tick - count + 1), tick):
                self._values[skipped % count] = nan
        self._values[tick % count] = value
        self._newest = tick

    def points(self, begin: float, end: float) -> list[tuple[int, float | None]]:
        """Return the values from an instant to before another, each with its instant."""
        if self._newest is None:
            return []
        first = max(-(-int(begin) // self.step), self._newest - len(self._values) + 1, 0)
        last = min(int(end) // self.step, self._newest)
        found = ((tick * self.step, self._values[tick % len(self._values)]) for tick in range(first, last + 1))
        return [(at, None if isnan(value) else value) for at, value in found]


class Series:
    """One value over time."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._short = Ring(STEP, SHORT_SPAN)
        self._long = Ring(LONG_STEP, LONG_SPAN)
        self._long_tick = -1
        self._sum = 0.0
        self._count = 0

    def put(self, at: float, value: float) -> None:
        """Put the value of an instant, in seconds; instants ascend."""
        self._short.put(int(at) // STEP, value)
        tick = int(at) // LONG_STEP
        if tick != self._long_tick:
            self._long_tick, self._sum, self._count = tick, 0.0, 0
        self._sum += value
        self._count += 1
        self._long.put(tick, self._sum / self._count)

    def ring(self, step: int) -> Ring:
        """Return the values of a step."""
        return self._long if step == LONG_STEP else self._short


@dataclass(frozen=True, slots=True)
class SeriesPoints:
    """A series from an instant on."""

    subject: Subject
    points: list[tuple[int, float | None]]


class SeriesStore:
    """Series by what they are of; for one thread at once.

    Past `most` series, further ones are not kept: `is_full` says so.
    """

    def __init__(self, most: int = MOST_SERIES) -> None:
        """Hold nothing yet."""
        self._most = most
        self._series: dict[Subject, Series] = {}
        self.is_full = False

    def put(self, subject: Subject, at: float, value: float, *, always: bool = True) -> None:
        """Put the value of an instant. Unless `always`, a series begins with its first value that is not 0."""
        series = self._series.get(subject)
        if series is None:
            if not always and value == 0:
                return
            if len(self._series) >= self._most:
                self.is_full = True
                return
            series = self._series[subject] = Series()
        series.put(at, value)

    def keep(self, streams: Iterable[str], patterns: Iterable[str]) -> None:
        """Forget the series of other streams and patterns: they are gone."""
        of_streams, of_patterns = {None, *streams}, {None, *patterns}
        gone = [each for each in self._series if each.stream not in of_streams or each.pattern not in of_patterns]
        for each in gone:
            del self._series[each]
        self.is_full = self.is_full and len(self._series) >= self._most

    def find(
        self, names: Iterable[str], begin: float, end: float, stream: str | None = None, pattern: str | None = None
    ) -> tuple[int, list[SeriesPoints]]:
        """Return the step and the series with one of these names, of a stream or a pattern if one is given.

        The step is the short one where the short rings go back so far.
        """
        wanted, step = frozenset(names), STEP if end - begin <= SHORT_SPAN else LONG_STEP
        found = [
            SeriesPoints(subject, series.ring(step).points(begin, end))
            for subject, series in self._series.items()
            if subject.name in wanted
            and (stream is None or subject.stream == stream)
            and (pattern is None or subject.pattern == pattern)
        ]
        return step, sorted(found, key=lambda each: (each.subject.name, each.subject.stream or "", each.subject.pattern or ""))

    def last(self, subject: Subject, at: float, seconds: float) -> float | None:
        """Return the mean of a series over the last seconds; None where nothing is known."""
        series = self._series.get(subject)
        values = [] if series is None else [value for _, value in series.ring(STEP).points(at - seconds, at + STEP)]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else None
