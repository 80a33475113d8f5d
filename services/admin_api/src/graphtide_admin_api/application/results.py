"""What of a streaming graph query is valid at an instant, from its reports.

If windows do not keep their results, the reports in the longest window before the instant are enough (ADR 28). If they do, the
whole log is read. An answer says what may be missing in it, and why. A bounded number of them is worked out at once, since each
holds the reports in its stretch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Final, Self

from graphtide_core.errors import InvalidPatternError
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import logical_stream
from graphtide_core.ports.log import TopicPartition
from graphtide_core.time import MAX_EVENT_TIME, MIN_EVENT_TIME, EventTime, TimeUnit
from graphtide_core.time_text import instant_of, nanoseconds_of
from graphtide_core.valid_results import ValidResults
from graphtide_query import parse
from graphtide_query.families import family_of
from graphtide_query.reads import match_lookback

from graphtide_admin_api.application.emitted import Emitted, Most, Stretch, emitted_in
from graphtide_admin_api.application.stream_epochs import emitted_from, stream_epoch_of
from graphtide_admin_api.domain.problems import ProblemError, invalid_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.match import IntervalMatch
    from graphtide_core.ports.log import Log, LogReader
    from graphtide_wire.control import PatternRecord
    from graphtide_wire.topics import Topics

    from graphtide_admin_api.application.matches import RecentMatches
    from graphtide_admin_api.application.stream_epochs import StreamEpoch
    from graphtide_admin_api.domain.pattern_status import PatternStatus

_MOST_AT_ONCE: Final = 4
"""Answers that are worked out side by side."""

_CURSOR: Final = re.compile(r"([0-9]{1,18})\.(-?[0-9]{1,19})\.([0-9a-f]{32})")


@dataclass(frozen=True, slots=True)
class ResultsCursor:
    """Below which a page of results begins: those of a version at an instant whose ids are greater; written with dots."""

    version: int
    at: EventTime
    after: str

    def __str__(self) -> str:
        """Return it as it is written."""
        return f"{self.version}.{self.at}.{self.after}"

    @classmethod
    def of(cls, text: str) -> Self:
        """Read what `str` gave.

        Raises:
            ValueError: it is something else.
        """
        found = _CURSOR.fullmatch(text)
        if found is None or not MIN_EVENT_TIME <= int(found[2]) <= MAX_EVENT_TIME:
            message = "that is not a cursor of results"
            raise ValueError(message)
        return cls(int(found[1]), EventTime(int(found[2])), found[3])


@dataclass(frozen=True, slots=True)
class Asked:
    """Which results: of a version, by default the registered one; at a time as a text, by default now.

    There are up to `most`, those after `cursor`, which says version and time, too.
    """

    version: int | None
    at: str | None
    cursor: ResultsCursor | None
    most: int


@dataclass(frozen=True, slots=True)
class ValidAt:
    """What is valid at an instant, or a page of it, by ids.

    Attributes:
        version: of the query.
        at: the instant; None if its time is not known.
        read_to: time up to where the query has read its stream; None if that is not known.
        found: the results.
        following: where the page after this one begins; None if there is none.
        flaws: why results may be missing or change; none if it is all, and stays so.
    """

    version: int
    at: EventTime | None
    read_to: EventTime | None
    found: list[IntervalMatch]
    following: ResultsCursor | None
    flaws: list[str]


class Results:
    """Finds what is valid; safe for threads, a reader of its own each call."""

    def __init__(self, log: Log, topics: Topics, recent: RecentMatches, most: Most | None = None) -> None:
        """Work on a log; `recent` knows where matches of a query are."""
        self._log = log
        self._topics = topics
        self._recent = recent
        self._most = most or Most()
        self._seats = BoundedSemaphore(_MOST_AT_ONCE)

    def valid(self, record: PatternRecord, pattern_status: PatternStatus, asked: Asked) -> ValidAt:
        """Return the results of a registered query that are valid at an instant.

        Complexity: O(matches of all patterns in the stretch that is read, log n of those after it), within bounds.

        Raises:
            ProblemError: the pattern is not a graph query. Or there is no such version or time, or the cursor is of others. Or
                too many ask at once.
            TransientError: the log does not answer.
        """
        if not self._seats.acquire(blocking=False):
            detail = f"what is valid is being worked out {_MOST_AT_ONCE} times already"
            raise ProblemError(429, "too-many-results", detail, headers={"Retry-After": "1"})
        try:
            return self._valid(record, pattern_status, asked)
        finally:
            self._seats.release()

    def _valid(self, record: PatternRecord, pattern_status: PatternStatus, asked: Asked) -> ValidAt:
        (query, stays), version = _query(record), _version(record, asked)
        if record.local is True:
            whole = logical_stream(StreamName(record.stream))
            detail = f"each part of stream {whole!r} answers {record.name!r} by itself, so none knows all that is valid"
            raise ProblemError(409, "results-in-parts", f"{detail}: read its matches")
        reader = self._log.reader(None)
        try:
            # Before the stream is looked at: then no match is later than its newest edge.
            ends = self._ends(reader, record.name)
            status = pattern_status.status if version == record.version else None
            stream = TopicPartition(self._topics.ordered(StreamName(record.stream)), 0)
            stream_epoch = stream_epoch_of(reader, stream, None if status is None else status.position)
            unit = _unit(stream_epoch, pattern_status)
            at = _instant(asked, unit)
            lookback = None if version != record.version or stays else match_lookback(query, unit or TimeUnit.MILLISECOND)
            wanted = Stretch(record.name, version, record.created_at, stream_epoch, at, lookback)
            emitted = emitted_in(reader, ends, wanted, self._most)
            flaws = [*emitted.flaws, *_ahead(emitted, is_current=version == record.version)]
            if version == record.version and stream_epoch is not None and emitted.at is not None:
                began = emitted_from(reader, stream, record.start or 0, stream_epoch.epoch)
                flaws += _began(began, emitted.at, lookback)
        finally:
            reader.close()
        return _page(emitted, version, asked, flaws)

    def _ends(self, reader: LogReader, name: str) -> Mapping[TopicPartition, tuple[int, int]]:
        """Return begins and ends of the partitions that may have matches of a query: all of them where none was kept."""
        topic, newest = self._topics.matches, self._recent.newest(name, 1)
        places = [TopicPartition(topic, each.place.partition) for each in newest] or reader.partitions(topic)
        return reader.ends(places)


def _query(record: PatternRecord) -> tuple[AnyPattern, bool]:
    """Return the pattern, and whether its results stay once they are valid."""
    try:
        (pattern,) = parse(record.text)
    except InvalidPatternError as error:
        raise invalid_pattern(error.in_text(record.text)) from error
    stays = family_of(pattern).results_stay(pattern)
    if stays is None:
        detail = f"pattern {record.name!r} has no results that are valid for a time: only streaming graph queries do"
        raise ProblemError(422, "no-graph-query", detail)
    return pattern, stays


def _version(record: PatternRecord, asked: Asked) -> int:
    """Return the requested version."""
    if asked.cursor is not None and asked.version not in {None, asked.cursor.version}:
        raise _other_page()
    wanted = asked.cursor.version if asked.cursor is not None else asked.version
    version = record.version if wanted is None else wanted
    if not record.registration <= version <= record.version:
        known = f"versions {record.registration} to {record.version}"
        raise ProblemError(
            404, "not-found", f"pattern {record.name!r} is registered with {known}, and has no version {version}"
        )
    return version


def _unit(stream_epoch: StreamEpoch | None, pattern_status: PatternStatus) -> TimeUnit | None:
    """Return what a tick of the stream is; None where it is not known yet."""
    if stream_epoch is not None:
        return stream_epoch.unit
    return None if pattern_status.plan is None else TimeUnit(pattern_status.plan.unit)


def _instant(asked: Asked, unit: TimeUnit | None) -> EventTime | None:
    """Return the requested time; None is now."""
    given = None if asked.at is None else _time(asked.at, unit)
    if asked.cursor is None:
        return given
    if given not in {None, asked.cursor.at}:
        raise _other_page()
    return asked.cursor.at


def _time(text: str, unit: TimeUnit | None) -> EventTime:
    if unit is None and nanoseconds_of(text) is not None:
        detail = "what the ticks of the stream are is not known before its first edge: give the time in ticks"
        raise ProblemError(422, "invalid-time", detail)
    try:
        return instant_of(text, unit or TimeUnit.MILLISECOND)
    except ValueError as error:
        raise ProblemError(422, "invalid-time", str(error)) from error


def _other_page() -> ProblemError:
    return ProblemError(400, "bad-cursor", "the cursor is of a page of another version or time")


def _ahead(emitted: Emitted, *, is_current: bool) -> list[str]:
    """Say whether what comes may change what is valid at an instant."""
    if not is_current:
        return ["it is another version than that which is registered: how long it looked back, and since when, is not kept"]
    if emitted.at is None or emitted.read_to is None:
        return ["the stream was not read for the query yet, or how far is not known"]
    if emitted.at > emitted.read_to:
        return [f"the query has read its stream up to {emitted.read_to}: edges up to {emitted.at} may come and change it"]
    return []


def _began(began: EventTime | None, at: EventTime, lookback: int | None) -> list[str]:
    """Say whether results may be missing since the query did not report in all of the stretch."""
    if began is None or (lookback is not None and at - lookback >= began):
        return []
    return [f"the query reports what changed after {began}: what was valid before is missing where it was not extended since"]


def _page(emitted: Emitted, version: int, asked: Asked, flaws: list[str]) -> ValidAt:
    if emitted.at is None:
        return ValidAt(version, None, emitted.read_to, [], None, flaws)
    valid = ValidResults(emitted.at)
    for each in emitted.records:
        valid.take(each)
    after = "" if asked.cursor is None else asked.cursor.after
    rest = sorted((each for each in valid.results() if each.match_id > after), key=lambda each: each.match_id)
    found = rest[: asked.most]
    following = ResultsCursor(version, emitted.at, found[-1].match_id) if len(found) < len(rest) else None
    return ValidAt(version, emitted.at, emitted.read_to, found, following, flaws)
