"""The newest matches of every pattern, kept for readers.

Each pattern keeps its last ones, and a list has the offsets from where it is whole: older ones are read from the log itself.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

import msgspec
import structlog
from graphtide_core.errors import PoisonRecordError, TransientError
from graphtide_core.ports.log import TopicPartition
from graphtide_log.follower import to_the_end
from graphtide_serving.opened import close_all, open_worker
from graphtide_telemetry import events
from graphtide_wire import matches
from graphtide_wire.place import Place, Places

from graphtide_admin_api.application.pages import Extent, Page, page_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogReader, Record
    from graphtide_wire.topics import Topics

_LOG = structlog.get_logger()
_MOST_POLLED = 1_000
_MOST_OF_ALL = 10_000
"""Matches of all patterns that are kept for those who follow all."""

_PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Kept:
    """A match: its place, the match record as JSON, and its pattern."""

    place: Place
    body: bytes
    pattern: str


@dataclass(slots=True)
class _Ring:
    """The last matches of a pattern; `dropped` is the place of the last dropped one."""

    kept: deque[Kept] = field(default_factory=deque)
    dropped: dict[int, int] = field(default_factory=dict)


class IncompleteMatchesError(TransientError):
    """The newest matches were not read yet, so it is not known that there are none."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__("the newest matches are being read; try again in a moment")


class Rings:
    """The matches that are kept, and the offsets from where they are whole; for one thread at once."""

    def __init__(self, positions: Mapping[int, int], firsts: Mapping[int, int], most: int, most_bytes: int) -> None:
        """Keep nothing yet; matches are taken from these offsets of partitions on, and there are some from `firsts` on."""
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._rings: dict[str, _Ring] = {}
        self._whole_from = dict(positions)
        self._firsts = dict(firsts)
        self._all = _Ring()
        self._all_bytes = 0
        self._reached = {partition: offset - 1 for partition, offset in positions.items()}

    def take(self, name: str, match: Kept) -> None:
        """Take the next match of a pattern."""
        ring = self._rings.setdefault(name, _Ring())
        ring.kept.append(match)
        self._bytes += len(match.body)
        if len(ring.kept) > self._most:
            self._drop(ring)
        while self._bytes > self._most_bytes:
            self._drop(max(self._rings.values(), key=lambda each: len(each.kept)))
        self._take_of_all(match)

    def newest(self, name: str, most: int) -> list[Kept]:
        """Return the last matches of a pattern, the newest first."""
        ring = self._rings.get(name, _Ring())
        return [ring.kept[-1 - number] for number in range(min(most, len(ring.kept)))]

    def page(self, name: str, most: int) -> Page[Kept]:
        """Return the last matches of a pattern, the newest first, and where in the log older ones may be."""
        ring = self._rings.get(name, _Ring())
        below = {partition: self._least(ring, partition) for partition in self._whole_from}
        for number in range(len(ring.kept) - most):
            place = ring.kept[number].place
            below[place.partition] = place.offset + 1
        below = {partition: offset for partition, offset in below.items() if offset > self._firsts.get(partition, 0)}
        return Page(self.newest(name, most), Places(below) if below else None)

    def since(self, name: str, after: Place | None) -> list[Kept] | None:
        """Return the matches of a pattern after a place, or all that are kept; None if some are not kept any more."""
        ring = self._rings.get(name, _Ring())
        if after is None:
            return list(ring.kept)
        if after.offset + 1 < self._least(ring, after.partition):
            return None
        return [each for each in ring.kept if each.place.partition != after.partition or each.place > after]

    def last_of_all(self, count: int) -> Places:
        """Return after which places the last matches of all patterns come, as many of them as are kept."""
        places = dict(self._reached)
        for number in range(min(count, len(self._all.kept))):
            place = self._all.kept[-1 - number].place
            places[place.partition] = place.offset - 1
        return Places(places)

    def of_all_since(self, after: Mapping[int, int]) -> list[Kept] | None:
        """Return the matches of all patterns after these offsets of partitions; None if some are not kept any more.

        Complexity: O(matches after them), if they are offsets that the matches taken so far had reached.
        """
        if any(after.get(partition, -1) + 1 < self._least(self._all, partition) for partition in self._whole_from):
            return None
        pending = {partition for partition, offset in self._reached.items() if offset > after.get(partition, -1)}
        found: list[Kept] = []
        for each in reversed(self._all.kept):
            if not pending:
                break
            if each.place.offset <= after.get(each.place.partition, -1):
                pending.discard(each.place.partition)
            elif each.place.partition in pending:
                found.append(each)
        return found[::-1]

    def _take_of_all(self, match: Kept) -> None:
        self._reached[match.place.partition] = match.place.offset
        self._all.kept.append(match)
        self._all_bytes += len(match.body)
        while len(self._all.kept) > _MOST_OF_ALL or self._all_bytes > self._most_bytes // 4:
            oldest = self._all.kept.popleft()
            self._all_bytes -= len(oldest.body)
            self._all.dropped[oldest.place.partition] = oldest.place.offset

    def _least(self, ring: _Ring, partition: int) -> int:
        """Return the first offset; all later matches of a pattern in a partition are kept."""
        return max(self._whole_from.get(partition, 0), ring.dropped.get(partition, -1) + 1)

    def _drop(self, ring: _Ring) -> None:
        match = ring.kept.popleft()
        self._bytes -= len(match.body)
        ring.dropped[match.place.partition] = match.place.offset


class RecentMatches:
    """The last matches of every pattern; safe for threads. Memory: `most` matches a pattern, a quarter more than `most_bytes`.

    It answers once it is whole, and raises `IncompleteMatchesError` before. While the topic is read anew, the old ones answer;
    memory then holds both.
    """

    def __init__(self, most: int = 1_000, most_bytes: int = 64 * 1024 * 1024) -> None:
        """Keep nothing yet."""
        self._most = most
        self._most_bytes = most_bytes
        self._lock = Lock()
        self._shown: Rings | None = None
        self._taken = Counter[str]()

    @property
    def is_whole(self) -> bool:
        """Whether what was there at the start was read."""
        return self._shown is not None

    def taken(self) -> Counter[str]:
        """Return how many matches of each pattern came since the start of the process."""
        with self._lock:
            return self._taken.copy()

    def anew(self, positions: Mapping[int, int], firsts: Mapping[int, int]) -> Rings:
        """Return what takes matches from these offsets on, and is shown then; the log has them from `firsts` on."""
        return Rings(positions, firsts, self._most, self._most_bytes)

    def show(self, rings: Rings) -> None:
        """Answer from what was read to its end."""
        with self._lock:
            self._shown = rings

    def take(self, name: str, match: Kept) -> None:
        """Take the next match of a pattern."""
        with self._lock:
            self._whole().take(name, match)
            self._taken[name] += 1

    def newest(self, name: str, most: int) -> list[Kept]:
        """Return the last matches of a pattern, the newest first."""
        with self._lock:
            return self._whole().newest(name, most)

    def page(self, name: str, most: int) -> Page[Kept]:
        """Return the last matches of a pattern, the newest first, and where in the log older ones may be."""
        with self._lock:
            return self._whole().page(name, most)

    def since(self, name: str, after: Place | None) -> list[Kept] | None:
        """Return the matches of a pattern after a place, or all that are kept; None if some are not kept any more."""
        with self._lock:
            return self._whole().since(name, after)

    def last_of_all(self, count: int) -> Places:
        """Return after which places the last matches of all patterns come, as many of them as are kept."""
        with self._lock:
            return self._whole().last_of_all(count)

    def of_all_since(self, after: Mapping[int, int]) -> list[Kept] | None:
        """Return the matches of all patterns after these offsets of partitions; None if some are not kept any more."""
        with self._lock:
            return self._whole().of_all_since(after)

    def before_newest(self, name: str, count: int) -> Place | None:
        """Return the place after which so many matches of a pattern come; None if no more than these are kept."""
        found = self.newest(name, count + 1)
        return found[count].place if len(found) > count else None

    def _whole(self) -> Rings:
        if self._shown is None:
            raise IncompleteMatchesError
        return self._shown


class MatchFeed:
    """A `Worker` that keeps the recent matches."""

    def __init__(
        self, log: Log, topics: Topics, clock: Clock, recent: RecentMatches, *, back: int = 10_000, linger_seconds: float = 0.2
    ) -> None:
        """Prepare; `back` is how many offsets before the end of each partition it begins at."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._recent = recent
        self._back = back
        self._linger = linger_seconds
        self._reader: LogReader | None = None

    @property
    def name(self) -> str:
        """What logs call it."""
        return "matches"

    def open(self) -> None:
        """Read from some way before the end up to the end, and show it.

        Raises:
            TransientError: the log does not answer.
        """
        self._log.admin().ensure(self._topics.of_deployment())
        self._reader = reader = self._log.reader(None)
        partitions = reader.partitions(self._topics.matches)
        if not partitions:
            message = f"there is no topic {self._topics.matches}"
            raise TransientError(message)
        ends = reader.ends(partitions)
        positions = {place: max(first, end - self._back) for place, (first, end) in ends.items()}
        rings = self._recent.anew(
            {place.partition: offset for place, offset in positions.items()},
            {place.partition: first for place, (first, _) in ends.items()},
        )
        reader.assign(positions)
        for record in to_the_end(reader, self._topics.matches):
            name, match = read_match(record)
            if match is not None:
                rings.take(name, match)
        self._recent.show(rings)

    def step(self) -> None:
        """Take what is new."""
        for record in open_worker(self._reader, "the feed").poll(self._linger, _MOST_POLLED):
            name, match = read_match(record)
            if match is not None:
                self._recent.take(name, match)

    def close(self) -> None:
        """Give back the reader."""
        close_all([self._reader])
        self._reader = None


def read_match(record: Record) -> tuple[str, Kept | None]:
    """Return the pattern and the match of a record; no match where it cannot be read."""
    try:
        event = matches.decode(record)
    except PoisonRecordError as error:
        _LOG.warning(events.MATCH_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)
        return "", None
    return event.pattern, Kept(Place(record.partition, record.offset), event.body, event.pattern)


class _Time(msgspec.Struct, frozen=True):
    """Of a match record, when it was detected."""

    detected_at: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """The wanted matches: of a pattern, detected at `since` or later and before `until`, that bind a vertex; None means any.

    `may_read` says whether matches of a pattern may be read.
    """

    name: str | None = None
    since: int | None = None
    until: int | None = None
    vertex: str | None = None
    may_read: Callable[[str], bool] | None = None

    def __call__(self, record: Record) -> Kept | None:
        """Return the match of a record if it is one of these."""
        if self.name is not None and record.key != self.name.encode():
            return None
        pattern, match = read_match(record)
        if self.may_read is not None and not self.may_read(pattern):
            return None
        if match is None or (self.vertex is not None and self.vertex not in matches.bound_vertices(match.body)):
            return None
        if self.since is None and self.until is None:
            return match
        at = msgspec.json.decode(match.body, type=_Time).detected_at
        is_in = (self.since is None or at >= self.since) and (self.until is None or at < self.until)
        return match if is_in else None


def older(log: Log, topic: str, wanted: Wanted, cursor: Places | None, most: int) -> Page[Kept]:
    """Return a page of matches, read from the log, the newest first.

    Raises:
        TransientError: the log does not answer.
    """
    reader = log.reader(None)
    try:
        return page_of(reader, topic, cursor, Extent(most), wanted)
    finally:
        reader.close()


def from_the_log(log: Log, topic: str, name: str, after: Place, most: int) -> tuple[list[Kept], Place]:
    """Return up to `most` matches of a pattern after a place, read from the log, and the place up to where it was read.

    Complexity: O(matches of all patterns after the place).

    Raises:
        TransientError: the log does not answer.
    """
    reader = log.reader(None)
    found: list[Kept] = []
    try:
        place = TopicPartition(topic, after.partition)
        if place not in reader.partitions(topic):
            return [], after
        first, end = reader.ends([place])[place]
        reader.assign({place: min(max(first, after.offset + 1), end)})
        reached = after.offset
        while True:
            records = reader.poll(_PATIENCE, _MOST_POLLED)
            for record in records:
                reached = record.offset
                of, match = read_match(record)
                if match is not None and of == name:
                    found.append(match)
                    if len(found) == most:
                        return found, match.place
            if reader.at_end():
                return found, Place(after.partition, max(reached, end - 1))
            if not records:
                return found, Place(after.partition, reached)
    finally:
        reader.close()


def all_from_the_log(log: Log, topic: str, after: Mapping[int, int], most: int) -> tuple[list[Kept], dict[int, int]]:
    """Return up to `most` matches of all patterns after these offsets, read from the log, and up to where it was read.

    Raises:
        TransientError: the log does not answer.
    """
    reader = log.reader(None)
    found: list[Kept] = []
    reached = dict(after)
    try:
        ends = reader.ends(reader.partitions(topic))
        starts = {place: min(max(first, after.get(place.partition, -1) + 1), end) for place, (first, end) in ends.items()}
        reader.assign(starts)
        while len(found) < most:
            records = reader.poll(_PATIENCE, most - len(found))
            for record in records:
                reached[record.partition] = record.offset
                _, match = read_match(record)
                if match is not None:
                    found.append(match)
            if reader.at_end():
                return found, reached | {
                    each.partition: max(reached.get(each.partition, -1), end - 1) for each, (_, end) in ends.items()
                }
            if not records:
                break
        return found, reached
    finally:
        reader.close()
