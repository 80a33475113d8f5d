"""Time series of streams and patterns, kept in memory for those who have no database of metrics."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final

from graphtide_admin_api.domain.time_series import COARSE_STEP, FINE_STEP, SeriesKey, TimeSeries

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from graphtide_admin_api.domain.time_series import Points

MOST_SHOWN: Final = 100
"""Series of an answer."""


@dataclass(frozen=True, slots=True)
class ShownSeries:
    """Series that were asked for.

    Attributes:
        step: seconds between two points.
        series: points by what they are of: totals first, then by stream and pattern.
        truncated: whether there are more.
        left_out: series that there is no room for.
    """

    step: int
    series: list[tuple[SeriesKey, Points]]
    truncated: bool
    left_out: int


class SeriesStore:
    """Series by stream and pattern; safe for threads. Memory: about 11 KiB each, for at most `most` series."""

    def __init__(self, most: int) -> None:
        """Keep nothing yet."""
        self._most = most
        self._lock = Lock()
        self._series: dict[SeriesKey, TimeSeries] = {}
        self._left_out = 0

    def take(self, at: float, values: Mapping[SeriesKey, float], present: Collection[tuple[str | None, str | None]]) -> None:
        """Take values at a time, and forget what is of no present stream and pattern.

        Series that are kept stay; further ones are taken in the order of the values.
        """
        left_out = 0
        with self._lock:
            for key in [key for key in self._series if (key.stream, key.pattern) not in present]:
                del self._series[key]
            for key, value in values.items():
                series = self._series.get(key)
                if series is None and len(self._series) >= self._most:
                    left_out += 1
                    continue
                if series is None:
                    series = self._series[key] = TimeSeries()
                series.put(at, value)
            self._left_out = left_out

    def show(
        self,
        names: Collection[str],
        stream: str | None,
        pattern: str | None,
        span: tuple[float, float],
        *,
        is_fine: bool,
    ) -> ShownSeries:
        """Return the series of these names (all if none is given), of a stream, of a pattern, in a span of seconds.

        `is_fine` chooses the values of the last hour, and otherwise the means of the last week. Complexity: O(series kept +
        points shown).
        """
        start, end = span
        with self._lock:
            keys = sorted(
                (
                    key
                    for key in self._series
                    if (not names or key.name in names)
                    and (stream is None or key.stream == stream)
                    and (pattern is None or key.pattern == pattern)
                ),
                key=lambda key: (key.stream or "", key.pattern or "", key.name),
            )
            chosen = [self._series[key] for key in keys[:MOST_SHOWN]]
            rings = [each.fine if is_fine else each.coarse for each in chosen]
            left_out = self._left_out
            points = [ring.points(start, end) for ring in rings]
        step = FINE_STEP if is_fine else COARSE_STEP
        return ShownSeries(step, list(zip(keys, points, strict=False)), len(keys) > MOST_SHOWN, left_out)
