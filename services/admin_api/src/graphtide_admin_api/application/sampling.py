"""Samples what the API follows anyway, every few seconds: rates, delays and sizes of streams and patterns.

Each process samples on its own, and a restart begins with nothing. Nothing is written to the log.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import is_merged, logical_stream
from graphtide_ordering.progress_reports import progress_of

from graphtide_admin_api.domain.time_series import FINE_STEP, SeriesKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogReader
    from graphtide_core.time import TimeUnit
    from graphtide_ordering.stream_progress import StreamProgress
    from graphtide_wire.topics import Topics

    from graphtide_admin_api.application.matches import RecentMatches
    from graphtide_admin_api.application.reading import Streams
    from graphtide_admin_api.application.series import SeriesStore
    from graphtide_admin_api.application.view import View

MOST_STREAMS: Final = 50
"""Streams that are read in one round; more of them take turns, so their points lie further apart."""

MOST_POSITIONS: Final = 100
"""Places for which one round counts the edges after them; patterns of one place share it."""

_DAY_SECONDS: Final = 86_400.0
_LINGER_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class StreamSample:
    """What was read of a stream at one time.

    Attributes:
        at: seconds that never go back.
        progress: of its ordering; None if none of it was ever put in order.
        raw_end: offsets of its raw partitions, together.
        read_at: when its ordering was last seen to advance, by the same seconds.
        unread_since: since when it has had raw records that its ordering has not read; None if it has none.
        stands_since: since when it has read records and its watermark has not moved; None if it moves.
    """

    at: float
    progress: StreamProgress | None
    raw_end: int
    read_at: float
    unread_since: float | None = None
    stands_since: float | None = None

    def followed_by(self, at: float, progress: StreamProgress | None, raw_end: int) -> StreamSample:
        """Return the next sample."""
        advanced = progress != self.progress
        unread, stands = self.unread_since, self.stands_since
        if advanced:
            unread = None
        elif unread is None and raw_end > self.raw_end:
            unread = at
        if progress is None or self.progress is None or progress.watermark != self.progress.watermark:
            stands = None
        elif stands is None and progress.counted.read > self.progress.counted.read:
            stands = at
        return StreamSample(at, progress, raw_end, at if advanced else self.read_at, unread, stands)


@dataclass(slots=True)
class _Rates:
    """Rates of counters that only grow; one that goes down begins anew."""

    _before: dict[SeriesKey, tuple[float, int]] = field(default_factory=dict)

    def of(self, key: SeriesKey, at: float, count: int) -> float | None:
        """Return the growth a second since the count before; None for the first one."""
        before = self._before.get(key)
        self._before[key] = at, count
        if before is None or at <= before[0]:
            return None
        return (count - before[1] if count >= before[1] else count) / (at - before[0])

    def keep(self, present: set[tuple[str | None, str | None]]) -> None:
        self._before = {key: each for key, each in self._before.items() if (key.stream, key.pattern) in present}


class Sampler:
    """A `Worker` that fills the time series, and knows the last sample of each stream."""

    def __init__(
        self,
        log: Log,
        topics: Topics,
        clock: Clock,
        *,
        view: View,
        recent: RecentMatches,
        streams: Streams,
        store: SeriesStore,
        unit: TimeUnit,
    ) -> None:
        """Prepare; times of streams count in the unit that plans have, or else in this one."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._view = view
        self._recent = recent
        self._streams = streams
        self._store = store
        self._unit = unit
        self._due = 0.0
        self._samples: dict[str, StreamSample] = {}
        self._rates = _Rates()
        self._edges: dict[str, float] = {}

    @property
    def name(self) -> str:
        """What logs call it."""
        return "series"

    @property
    def samples(self) -> Mapping[str, StreamSample]:
        """The last sample of each stream, by its name; never changed once it is returned."""
        return self._samples

    def open(self) -> None:
        """Begin at once."""
        self._due = 0.0

    def step(self) -> None:
        """Sample if it is time.

        Raises:
            TransientError: the log does not answer.
        """
        if self._clock.monotonic() < self._due or not self._view.is_whole or not self._recent.is_whole:
            self._clock.sleep(_LINGER_SECONDS)
            return
        self._due = self._clock.monotonic() + FINE_STEP
        self.sample()

    def close(self) -> None:
        """Keep what was sampled; no resource is held between rounds."""

    def sample(self) -> None:
        """Take one value of every series that has one now."""
        names = self._streams.names()
        self._read(names)
        # Totals and streams come first: they are kept if there is not room for all patterns.
        values = self._of_streams() | self._of_patterns()
        present: set[tuple[str | None, str | None]] = {(None, None), *((name, None) for name in names)}
        present |= {(logical_stream(StreamName(each.stream)), each.name) for each in self._view.patterns()}
        self._rates.keep(present)
        self._store.take(self._clock.now().timestamp(), values, present)

    def _read(self, names: Iterable[str]) -> None:
        """Read the streams whose last samples are oldest; forget those that are gone."""
        before = self._samples
        samples = {name: before[name] for name in names if name in before}
        plain = [name for name in names if not is_merged(StreamName(name))]
        turn = sorted(plain, key=lambda name: before[name].at if name in before else 0.0)[:MOST_STREAMS]
        reader = self._log.reader(None)
        try:
            for name in turn:
                samples[name] = self._sample(reader, name, before.get(name))
        finally:
            reader.close()
        self._samples = samples

    def _sample(self, reader: LogReader, name: str, before: StreamSample | None) -> StreamSample:
        stream, partition = StreamName(name), self._view.partition(name)
        progress = progress_of(self._log, self._topics, stream, None if partition is None else partition.parts)
        ends = reader.ends(reader.partitions(self._topics.raw(stream)))
        raw_end, at = sum(end for _, end in ends.values()), self._clock.monotonic()
        if before is not None:
            return before.followed_by(at, progress, raw_end)
        is_unread = progress is None and raw_end > sum(first for first, _ in ends.values())
        return StreamSample(at, progress, raw_end, at, unread_since=at if is_unread else None)

    def _of_streams(self) -> dict[SeriesKey, float]:
        found: dict[SeriesKey, float] = {}
        self._edges = {name: rate for name, rate in self._edges.items() if name in self._samples}
        for name, sample in self._samples.items():
            if sample.progress is None:
                continue
            counted = sample.progress.counted
            counts = {
                "edges": counted.ordered,
                "rejected": counted.rejected,
                "late": counted.late + counted.future,
                "duplicates": counted.duplicates,
            }
            for of, count in counts.items():
                rate = self._rates.of(SeriesKey(of, name), sample.at, count)
                if rate is not None:
                    found[SeriesKey(of, name)] = rate
            if (edges := found.get(SeriesKey("edges", name))) is not None:
                self._edges[name] = edges
            lag = self._watermark_lag(sample.progress)
            if lag is not None:
                found[SeriesKey("watermark_lag", name)] = lag
        return {SeriesKey("edges"): sum(self._edges.values())} | found if self._edges else found

    def _watermark_lag(self, progress: StreamProgress) -> float | None:
        """Return how many seconds the watermark is behind the clock, or the newest time where times are of another day."""
        if progress.watermark is None or progress.newest is None:
            return None
        tick = (self._view.unit() or self._unit).nanoseconds / 1e9
        now, newest, watermark = self._clock.now().timestamp(), progress.newest * tick, progress.watermark * tick
        return max(0.0, (now if abs(now - newest) <= _DAY_SECONDS else newest) - watermark)

    def _of_patterns(self) -> dict[SeriesKey, float]:
        found: dict[SeriesKey, float] = {}
        at, reported, behind = self._clock.monotonic(), self._recent.taken(), _Behind(self._streams)
        total = self._rates.of(SeriesKey("matches"), at, reported.total())
        if total is not None:
            found[SeriesKey("matches")] = total
        for record in self._view.patterns():
            stream, status = logical_stream(StreamName(record.stream)), self._view.pattern_status(record).status
            rate = self._rates.of(SeriesKey("matches", stream, record.name), at, reported[record.name])
            if rate is not None:
                found[SeriesKey("matches", stream, record.name)] = rate
            if status is None:
                continue
            found[SeriesKey("partial_matches", stream, record.name)] = status.partial_matches
            lag = None if status.position is None else behind.of(record.stream, status.position)
            if lag is not None:
                found[SeriesKey("lag", stream, record.name)] = lag
        return found


class _Behind:
    """Counts of edges after places of ordered streams, in one round."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._known: dict[tuple[str, int], int | None] = {}

    def of(self, stream: str, position: int) -> int | None:
        """Return how many edges are after a place; None where they cannot be counted, or a round has asked for too many."""
        place = stream, position
        if place not in self._known:
            if len(self._known) >= MOST_POSITIONS:
                return None
            self._known[place] = None
            # Records that have just been deleted cannot be counted.
            with suppress(FatalError):
                self._known[place] = self._streams.edges_from(stream, position)
        return self._known[place]
