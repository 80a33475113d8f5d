"""The worker that counts reported matches: reads their topic, and keeps their number for each version of a pattern.

A match is counted when it can be read, not when an engine finds it. Some are found anew after a restart, by another host, or
for a window before a pattern's start. They count once or not at all, as they were reported. Counts and positions are committed
as one; only one of a deployment works. Cost: O(matches), and a record for each pattern that had some, at most once a second.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import PoisonRecordError
from graphtide_core.match import MatchKind
from graphtide_core.ports.log import Message, Position, TopicPartition
from graphtide_log.committed_offset_check import recorded_positions
from graphtide_log.follower import Follower
from graphtide_serving.opened import close_all
from graphtide_serving.opened import open_worker as held
from graphtide_telemetry import events
from graphtide_wire import control, match_counts, matches
from graphtide_wire.match_counts import CountsRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogReader, LogTransactor, Record
    from graphtide_wire.topics import Topics

_LOG = structlog.get_logger()

_MOST_RECORDS: Final = 5_000
_MOST_UNCOMMITTED: Final = 100_000

MOST_VERSIONS: Final = 1_000
"""Versions of a name with separate counts; beyond it the oldest are added up."""


@dataclass(slots=True)
class _Counts:
    """What is counted of one name, by version."""

    matches: dict[int, int] = field(default_factory=dict)
    retractions: dict[int, int] = field(default_factory=dict)

    def count(self, version: int, kind: MatchKind) -> None:
        """Count one."""
        if kind is MatchKind.EXTEND:
            return
        counts = self.matches if kind is MatchKind.MATCH else self.retractions
        counts[version] = counts.get(version, 0) + 1
        if len(counts) > MOST_VERSIONS:
            oldest, next_oldest = sorted(counts)[:2]
            counts[next_oldest] += counts.pop(oldest)

    def forget_before(self, version: int) -> bool:
        """Forget versions before one; return whether anything was."""
        had = len(self.matches) + len(self.retractions)
        self.matches = {each: count for each, count in self.matches.items() if each >= version}
        self.retractions = {each: count for each, count in self.retractions.items() if each >= version}
        return len(self.matches) + len(self.retractions) < had


@dataclass(slots=True)
class _Opened:
    transactor: LogTransactor
    patterns: Follower
    reader: LogReader
    positions: dict[TopicPartition, int]
    counts: dict[str, _Counts]
    registered: dict[str, int] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    uncommitted: int = 0


class MatchCounter:
    """A `Worker` that publishes how many matches were reported."""

    def __init__(
        self, log: Log, topics: Topics, clock: Clock, *, publish_seconds: float = 1.0, linger_seconds: float = 0.2
    ) -> None:
        """Prepare; nothing is opened yet."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._publish_seconds = publish_seconds
        self._linger = linger_seconds
        self._published_at = 0.0
        self._opened: _Opened | None = None

    @property
    def name(self) -> str:
        """Its transactional id, which only one process at once may have, and its group."""
        return f"{self._topics.prefix}.match-counts"

    def open(self) -> None:
        """Shut others out, and continue from what was committed.

        Raises:
            TransientError: the log does not answer.
        """
        self._log.admin().ensure(self._topics.of_deployment())
        transactor = self._log.transactor(self.name)
        patterns = Follower(self._log, self._topics.patterns)
        reader = self._log.reader(self.name)
        self._opened = opened = _Opened(transactor, patterns, reader, {}, {})
        transactor.open()
        places = reader.partitions(self._topics.matches)
        kept = reader.ends(places)
        # Matches that retention took before they were counted are lost to it.
        opened.positions = {
            place: max(kept[place][0], 0 if position is None else position.offset)
            for place, position in recorded_positions(reader, places).items()
        }
        counts = Follower(self._log, self._topics.counts)
        try:
            for record in counts.to_the_end():
                _take_counts(opened.counts, record)
        finally:
            counts.close()
        self._take_patterns(opened, patterns.to_the_end())
        for name in opened.counts.keys() - opened.registered.keys():
            # All that is counted was registered before; so it has been deleted.
            opened.counts[name] = _Counts()
            opened.changed.add(name)
        reader.assign(opened.positions)

    def step(self) -> None:
        """Count what came, and commit it if it is time.

        Raises:
            TransientError: the log does not answer; open again to continue.
            FencedError: another took over.
        """
        opened = held(self._opened, "the counter of matches")
        self._take_patterns(opened, opened.patterns.poll())
        for record in opened.reader.poll(self._linger, _MOST_RECORDS):
            opened.positions[TopicPartition(record.topic, record.partition)] = record.offset + 1
            opened.uncommitted += 1
            self._count(opened, record)
        is_time = self._clock.monotonic() - self._published_at >= self._publish_seconds
        if (opened.uncommitted or opened.changed) and (is_time or opened.uncommitted >= _MOST_UNCOMMITTED):
            self._published_at = self._clock.monotonic()
            self._publish(opened)

    def close(self) -> None:
        """Give back everything."""
        if self._opened is not None:
            close_all([self._opened.patterns, self._opened.reader, self._opened.transactor])
            self._opened = None

    def _count(self, opened: _Opened, record: Record) -> None:
        try:
            if any(name == matches.BACKFILLED for name, _ in record.headers):
                return
            event = matches.decode(record)
        except PoisonRecordError as error:
            _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)
            return
        opened.counts.setdefault(event.pattern, _Counts()).count(event.version, event.kind)
        opened.changed.add(event.pattern)

    def _take_patterns(self, opened: _Opened, records: Iterable[Record]) -> None:
        """Forget counts of what was deleted, and of lives of a name before the present one."""
        for record in records:
            name = (record.key or b"").decode(errors="replace")
            try:
                pattern = control.decode_pattern(record.value) if record.value is not None else None
            except PoisonRecordError:
                continue
            if pattern is not None:
                opened.registered[name] = pattern.version
                first = pattern.registration
            else:
                first = opened.registered.pop(name, 0) + 1
            if (counts := opened.counts.get(name)) is not None and counts.forget_before(first):
                opened.changed.add(name)

    def _publish(self, opened: _Opened) -> None:
        opened.transactor.begin()
        opened.transactor.write(self._message(name, opened.counts[name]) for name in sorted(opened.changed))
        opened.transactor.commit(self.name, {place: Position(offset) for place, offset in opened.positions.items()})
        for name in opened.changed:
            if not opened.counts[name].matches and not opened.counts[name].retractions:
                del opened.counts[name]
        opened.changed.clear()
        opened.uncommitted = 0

    def _message(self, name: str, counts: _Counts) -> Message:
        record = CountsRecord(name, counts.matches, counts.retractions)
        is_empty = not counts.matches and not counts.retractions
        return Message(self._topics.counts, name.encode(), None if is_empty else match_counts.encode_counts(record))


def _take_counts(counts: dict[str, _Counts], record: Record) -> None:
    name = (record.key or b"").decode(errors="replace")
    counts.pop(name, None)
    if record.value is None:
        return
    try:
        found = match_counts.decode_counts(record)
    except PoisonRecordError as error:
        _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)
    else:
        counts[name] = _Counts(dict(found.matches), dict(found.retractions))
