"""Rates and sizes of streams and patterns over time, as this process sees them in the log every five seconds.

Each process of the API looks for itself, and knows nothing of the time before it began.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final

from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import logical_stream
from graphtide_telemetry.health import beat

from graphtide_admin_api.domain.time_series import STEP, SeriesPoints, SeriesStore, Subject

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ports.clock import Clock
    from graphtide_core.time import TimeUnit
    from graphtide_ordering.stream_progress import StreamProgress

    from graphtide_admin_api.application.reading import Streams
    from graphtide_admin_api.application.view import View

MOST_STREAMS: Final = 200
"""Streams whose progress is looked at, a request to the log each."""

_LINGER: Final = 0.2
_LIVE_SECONDS: Final = 30 * 86_400
"""Times this near to the clock are those of a live stream; others are of history."""

_COUNTED: Final = {"edges": "ordered", "rejected": "rejected", "late": "late", "duplicates": "duplicates"}
"""Rates of a stream, by what its progress counts."""

NAMES: Final = frozenset({*_COUNTED, "watermark_lag", "matches", "partial_matches", "lag"})
"""The names of series."""

UNITS: Final = {"watermark_lag": "s", "lag": "s", "partial_matches": "1"}
"""Units of series; others are events a second."""


@dataclass(frozen=True, slots=True)
class _Counts:
    """What a stream's progress counted at an instant."""

    at: float
    epoch: int
    counts: dict[str, int]


class Monitor:
    """A `Worker` that samples rates and sizes, and answers from them; answers are safe for threads."""

    def __init__(self, streams: Streams, view: View, clock: Clock, unit: TimeUnit) -> None:
        """Look at streams and patterns; times of streams count this unit."""
        self._streams = streams
        self._view = view
        self._clock = clock
        self._unit = unit
        self._lock = Lock()
        self._store = SeriesStore()
        self._next = 0.0
        self._sampled_at: float | None = None
        self._counts: dict[str, _Counts] = {}
        self._matches: dict[str, tuple[float, int]] = {}

    @property
    def name(self) -> str:
        """What logs call it."""
        return "monitor"

    def open(self) -> None:
        """Begin to look."""
        self._next = 0.0

    def step(self) -> None:
        """Look, if it is time to.

        Raises:
            TransientError: the log does not answer.
        """
        now = self._clock.now().timestamp()
        if now < self._next or not self._view.is_whole:
            self._clock.sleep(_LINGER)
            return
        self._next = (now // STEP + 1) * STEP
        self._sample(now)

    def close(self) -> None:
        """Nothing is held; what was seen stays."""

    def find(
        self, names: Iterable[str], begin: float, end: float, stream: str | None, pattern: str | None
    ) -> tuple[int, list[SeriesPoints]]:
        """Return the step and the series as `SeriesStore.find`."""
        with self._lock:
            return self._store.find(names, begin, end, stream, pattern)

    @property
    def is_full(self) -> bool:
        """Whether there are more series than are kept."""
        return self._store.is_full

    def last(self, subject: Subject, seconds: float) -> float | None:
        """Return the mean of a series over the last seconds; None where nothing is known."""
        with self._lock:
            return self._store.last(subject, self._clock.now().timestamp(), seconds)

    def _sample(self, now: float) -> None:
        names = self._streams.names()
        found = {name: progress for name in names[:MOST_STREAMS] if (progress := self._progress(name)) is not None}
        with self._lock:
            total = 0.0
            for name, progress in found.items():
                total += self._put_stream(now, name, progress)
            self._store.put(Subject("edges"), now, total)
            self._store.put(Subject("matches"), now, self._put_patterns(now))
            self._store.keep(names, self._matches)
            self._counts = {name: each for name, each in self._counts.items() if name in found}
        self._sampled_at = now

    def _progress(self, stream: str) -> StreamProgress | None:
        beat()
        partition = self._view.partition(stream)
        found = self._streams.progress(stream, None if partition is None else partition.parts)
        return None if found is None else found.stream_progress

    def _put_stream(self, now: float, name: str, progress: StreamProgress) -> float:
        """Put the rates of a stream, and return its edges a second."""
        counted = progress.counted
        counts = {rate_name: getattr(counted, member) for rate_name, member in _COUNTED.items()}
        before = self._counts.get(name)
        if before is None and self._sampled_at is not None:
            # It came since the last look, and began from nothing.
            before = _Counts(self._sampled_at, progress.epoch, dict.fromkeys(counts, 0))
        self._counts[name] = _Counts(now, progress.epoch, counts)
        rates = dict.fromkeys(counts, 0.0)
        if before is not None and now > before.at:
            # A new epoch counts from nothing.
            begin = before.counts if before.epoch == progress.epoch else dict.fromkeys(counts, 0)
            rates = {rate_name: max(0, count - begin[rate_name]) / (now - before.at) for rate_name, count in counts.items()}
        for rate_name, rate in rates.items():
            self._store.put(Subject(rate_name, name), now, rate)
        if progress.watermark is not None:
            self._store.put(Subject("watermark_lag", name), now, self._lag(now, progress.watermark, progress.newest))
        return rates["edges"]

    def _lag(self, now: float, watermark: int, newest: int | None) -> float:
        """Return how many seconds a watermark is behind: the clock if the stream is live, else the stream's newest time."""
        at = watermark * self._unit.nanoseconds / 1e9
        if abs(now - at) < _LIVE_SECONDS:
            return max(0.0, now - at)
        return 0.0 if newest is None else max(0.0, (newest - watermark) * self._unit.nanoseconds / 1e9)

    def _put_patterns(self, now: float) -> float:
        """Put the rates and sizes of patterns, and return the matches a second of all."""
        lags = {
            (host.service, host.shard, place.stream): place.lag_seconds for host in self._view.hosts() for place in host.streams
        }
        total, seen = 0.0, dict[str, tuple[float, int]]()
        for record in self._view.patterns():
            status = self._view.pattern_status(record)
            first = (now, status.reported) if self._sampled_at is None else (self._sampled_at, 0)
            at, before = self._matches.get(record.name, first)
            seen[record.name] = now, status.reported
            rate = max(0, status.reported - before) / (now - at) if now > at else 0.0
            total += rate
            self._store.put(Subject("matches", None, record.name), now, rate, always=False)
            if status.status is not None:
                held = float(status.status.partial_matches)
                self._store.put(Subject("partial_matches", None, record.name), now, held, always=False)
            if status.plan is not None:
                stream = logical_stream(StreamName(record.stream))
                lag = lags.get((status.plan.service, status.plan.shard, stream), 0.0)
                self._store.put(Subject("lag", None, record.name), now, lag, always=False)
        self._matches = seen
        return total
