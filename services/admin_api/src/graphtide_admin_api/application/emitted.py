"""The reports of a query up to an instant, read back from the log as far as they can matter.

All reports of a query are in one partition, as the query's name is their key. They are in the order of detection, except those
of backfills, which come at any time. If the stream has one epoch, bisection finds the place of the instant; else the reader
passes over what came after it. Cost: O(log matches) looks of bounded length, and O(matches of all patterns from the stretch
on). Both have a bound, and the answer says where one is met.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import FatalError, PoisonRecordError
from graphtide_core.match import Completeness
from graphtide_log.window_log import between
from graphtide_telemetry import events
from graphtide_wire import graph_results, matches

from graphtide_admin_api.application.pages import backwards

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from graphtide_core.match import IntervalMatch
    from graphtide_core.ports.log import LogReader, Record, TopicPartition
    from graphtide_core.time import EventTime

    from graphtide_admin_api.application.stream_epochs import StreamEpoch

_LOG = structlog.get_logger()

_AT_ONCE: Final = 1_024
_PROBED_AT_ONCE: Final = 64
_MOST_PROBED: Final = 4_096
"""Matches of others that a look passes over to find one of the query."""


@dataclass(frozen=True, slots=True)
class Most:
    """How much a request looks at.

    Attributes:
        matches: of all patterns.
        bytes: of those that are of the query, which are held at once.
    """

    matches: int = 200_000
    bytes: int = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Stretch:
    """Which part of a query's reports is wanted.

    Attributes:
        name: of the query.
        version: of the query; others count for nothing.
        created_at: when the name was registered; it has no reports before.
        stream_epoch: the epoch of the stream that is read; None where the stream has no edges.
        at: the instant; None is the time up to where the query is known to have read.
        lookback: how many ticks before the instant a report can matter, exclusively; None is all.
    """

    name: str
    version: int
    created_at: datetime
    stream_epoch: StreamEpoch | None
    at: EventTime | None
    lookback: int | None


@dataclass(slots=True)
class Emitted:
    """The reports in a stretch, the oldest first, and what may be missing in it.

    Attributes:
        at: the instant; None where none was given, and nothing is known that would be one.
        read_to: time up to where the query is known to have read its stream; None if nothing is known.
        records: the reports.
        flaws: why records are missing, where some may be.
    """

    at: EventTime | None
    read_to: EventTime | None
    records: list[IntervalMatch] = field(default_factory=list)
    flaws: list[str] = field(default_factory=list)

    def add(self, flaw: str) -> None:
        """Say why records may be missing, once."""
        if flaw not in self.flaws:
            self.flaws.append(flaw)


def emitted_in(reader: LogReader, ends: Mapping[TopicPartition, tuple[int, int]], wanted: Stretch, most: Most) -> Emitted:
    """Return the reports in a stretch.

    Args:
        reader: of the log.
        ends: begins and ends of the partitions that may have it, as they were before the first look at the stream.
        wanted: the stretch.
        most: how much may be looked at.

    Raises:
        TransientError: the log does not answer.
    """
    emitted = Emitted(wanted.at, None if wanted.stream_epoch is None else wanted.stream_epoch.read_to)
    reading = _Reading(reader, wanted, most, emitted)
    for place, (first, end) in ends.items():
        reading.read(place, first, end)
    emitted.records.reverse()
    emitted.at = emitted.read_to if emitted.at is None else emitted.at
    if any(each.completeness is not Completeness.EXACT for each in emitted.records):
        emitted.add("at a limit the query gave up results (SHED)")
    return emitted


class _Reading:
    """Reads one stretch."""

    def __init__(self, reader: LogReader, wanted: Stretch, most: Most, emitted: Emitted) -> None:
        self._reader = reader
        self._wanted = wanted
        self._most = most
        self._emitted = emitted
        self._key = wanted.name.encode()
        self._looked_at = self._bytes = 0
        self._seen: int | None = None

    def read(self, place: TopicPartition, first: int, end: int) -> None:
        """Take what is of the stretch in a partition, the newest first."""
        oldest: Record | None = None
        for oldest in backwards(self._reader, place, first, self._end(place, first, end), _AT_ONCE):
            self._looked_at += 1
            found = self._own(oldest)
            if found is not None and not self._take(found, len(oldest.value or b"")):
                return
            if self._looked_at >= self._most.matches or self._bytes >= self._most.bytes:
                self._cut()
                return
        first = self._reader.ends([place])[place][0]
        created = self._wanted.created_at.timestamp() * 1000
        if first > 0 and (oldest is None or oldest.timestamp >= created):
            self._emitted.add("the log does not keep all that was reported before: its matches have left by their age")

    def _take(self, found: IntervalMatch, size: int) -> bool:
        """Take a report that is older than all taken ones, if it is of the stretch; return whether to continue."""
        emitted_at, stream_epoch = found.detected_at, self._wanted.stream_epoch
        if (
            stream_epoch is not None
            and stream_epoch.epoch > 0
            and (not stream_epoch.has(emitted_at) or (self._seen is not None and emitted_at > self._seen))
        ):
            # Times of an epoch do not go back: it is of an epoch before.
            return False
        emitted = self._emitted
        read_to = emitted_at if emitted.read_to is None else max(emitted_at, emitted.read_to)
        at = read_to if emitted.at is None else emitted.at
        if self._seen is None:
            emitted.at, emitted.read_to = at, read_to
        self._seen = emitted_at
        if emitted_at > at:
            return True
        if self._wanted.lookback is not None and emitted_at <= at - self._wanted.lookback:
            return False
        emitted.records.append(found)
        self._bytes += size
        return True

    def _cut(self) -> None:
        since = "" if self._seen is None else f", back to what was reported at {self._seen}"
        self._emitted.add(f"only {self._looked_at:,} matches of all patterns were looked at{since}")

    def _end(self, place: TopicPartition, first: int, end: int) -> int:
        """Return an offset; all reports of the query from there on came after the instant."""
        at, stream_epoch = self._wanted.at, self._wanted.stream_epoch
        if at is None or (
            stream_epoch is not None and (stream_epoch.epoch > 0 or stream_epoch.read_to is None or at >= stream_epoch.read_to)
        ):
            return end
        low, high = first, end
        while high - low > _AT_ONCE:
            middle = (low + high) // 2
            try:
                found, is_all = self._first_own(place, middle, high)
            except FatalError:
                return high
            if found is not None and found.detected_at <= at:
                low = middle + 1
            elif found is not None or is_all:
                high = middle
            else:
                return high
        return high

    def _first_own(self, place: TopicPartition, start: int, end: int) -> tuple[IntervalMatch | None, bool]:
        """Return the first that is of the query from an offset to below another, and whether none is where none was found."""
        with closing(between(self._reader, place, start, end, _PROBED_AT_ONCE)) as records:
            for record in islice(records, _MOST_PROBED):
                found = self._own(record)
                if found is not None:
                    return found, False
            return None, next(records, None) is None

    def _own(self, record: Record) -> IntervalMatch | None:
        """Return the result in a record, if it is of the query's version and in the order of detection."""
        if record.key != self._key:
            return None
        try:
            event = matches.decode(record)
            is_own = event.version == self._wanted.version and not event.is_backfilled
            return graph_results.result_of(event) if is_own else None
        except PoisonRecordError as error:
            _LOG.warning(events.MATCH_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)
            self._emitted.add("a match cannot be read")
            return None
