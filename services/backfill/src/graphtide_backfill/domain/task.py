"""What is to be found in a slice, and what a slice found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from graphtide_core.errors import InvalidQueryError
from graphtide_core.stream_windows import StreamWindows
from graphtide_core.time import TimeUnit
from graphtide_core.window import EdgeCount
from graphtide_native.spec import Limits, columns
from graphtide_query.families import family_of, refuse_other_family
from graphtide_query.reads import match_lookback

from graphtide_backfill.domain.slices import LONGEST

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.ids import PatternName


@dataclass(frozen=True, slots=True)
class Task:
    """Patterns and how they are to be matched.

    Attributes:
        patterns: what to find, at least one.
        engine: name of an engine, or `auto` for the cheapest by estimate in each slice.
        unit: what a tick of history's times is.
        limits: bounds on each pattern's state in a slice.
        windows: what is counted of history, as the statement of its stream says; an ordered topic has it already.
        streams: names of the streams that history is of; empty is one without a name.
    """

    patterns: tuple[AnyPattern, ...]
    engine: str = "auto"
    unit: TimeUnit = TimeUnit.MILLISECOND
    limits: Limits = field(default_factory=Limits)
    windows: StreamWindows = field(default_factory=StreamWindows)
    streams: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Refuse what slices of history cannot distinguish.

        Raises:
            InvalidQueryError: a window counts edges, or a pattern reads other streams than history is of, or a view of these
                patterns. Or the engine is not for its family.
        """
        for pattern in self.patterns:
            refuse_other_family(pattern, self.engine)
        for reason in refusals(self.patterns, self.streams).values():
            raise InvalidQueryError(reason)

    @property
    def uncuttable(self) -> tuple[PatternName, ...]:
        """The patterns that need all in one slice."""
        return tuple(pattern.name for pattern in self.patterns if is_uncuttable(pattern))

    @property
    def window(self) -> int:
        """How many ticks before a report records can affect it, the most of all patterns.

        A record whose features a pattern reads has a window of its own before it, and so has what EMIT gives.
        """
        lookback = max(match_lookback(pattern, self.unit) for pattern in self.patterns)
        return min(LONGEST, self.read_windows.longest(self.unit) + lookback)

    @property
    def read_windows(self) -> StreamWindows:
        """What is counted for the patterns: the features that they read, and what EMIT gives."""
        return self.windows.read_by(columns(self.patterns))

    def lookback_of(self, stream: str) -> int:
        """Return within how many ticks an id that comes again in a stream is a duplicate: the longest lookback of its patterns.

        The stream without a name is that of all patterns.
        """
        reading = (pattern for pattern in self.patterns if not stream or stream in pattern.streams)
        return min(LONGEST, max((pattern.lookback(self.unit) for pattern in reading), default=0))

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes that the patterns and features read."""
        return tuple(dict.fromkeys((*columns(self.patterns), *self.read_windows.inputs)))


def refusals(patterns: Iterable[AnyPattern], streams: Collection[str] = ()) -> dict[PatternName, str]:
    """Return why history cannot be searched for some of these patterns, in a sentence each; the others can be.

    `streams` are the names of those that history is of; none are given of one without a name.
    """
    asked = tuple(patterns)
    views = frozenset(str(each.name) for each in asked if each.is_view)
    found = {
        each.name: _unread(each, views, streams) if family_of(each).reads_by_name else _explain_unsliced(each, streams)
        for each in asked
    }
    return {name: reason for name, reason in found.items() if reason is not None}


def _explain_unsliced(pattern: AnyPattern, streams: Collection[str]) -> str | None:
    if streams:
        return f"pattern {pattern.name!r} reads one stream, not streams by name: only streaming graph queries do"
    window = family_of(pattern).window(pattern)
    if isinstance(window, EdgeCount):
        return (
            f"history is searched in slices of time, and {pattern.name!r} has a window of edges,"
            f" WINDOW {window}; match it on the command line or in Python"
        )
    return None


def is_uncuttable(pattern: AnyPattern) -> bool:
    """Whether what a pattern reports follows from all that it reported before, so that one slice has to report all."""
    return family_of(pattern).follows_from_reports(pattern)


def _unread(query: AnyPattern, views: frozenset[str], streams: Collection[str]) -> str | None:
    if read := [name for name in query.streams if name in views]:
        return f"query {query.name!r} reads the view {read[0]!r}, and results of a view are not read in the same pass"
    if streams:
        lacking = next((name for name in query.streams if name not in streams), None)
        return None if lacking is None else f"query {query.name!r} reads the stream {lacking!r}, which history is not of"
    if len(query.streams) > 1:
        return (
            f"history is of one stream, and query {query.name!r} reads {len(query.streams)}: {', '.join(query.streams)};"
            " give the history of each by --input"
        )
    return None


class Outcome(msgspec.Struct, frozen=True):
    """What a slice did.

    Attributes:
        slice: its number.
        edges: records in the slice itself.
        overlap: records before it that it had to look at.
        matches: matches it found.
        extensions: extensions it found.
        retractions: retractions it found.
        timeouts: timeouts it found.
        seconds: what it took.
        state_bytes: most bytes of state at once.
        is_exact: False where a limit made an engine give up partial matches, or rest.
        unmatched: patterns with their query edges that no record it looked at could be by itself.
    """

    slice: int
    edges: int = 0
    overlap: int = 0
    matches: int = 0
    extensions: int = 0
    retractions: int = 0
    timeouts: int = 0
    seconds: float = 0.0
    state_bytes: int = 0
    is_exact: bool = True
    unmatched: tuple[tuple[str, str], ...] = ()
