"""Offsets of times in a stream's log, as far as its host has read it. So a lookback need not be searched in the log.

Invariant: of the records below a landmark's offset, the newest is of its instant. Landmarks are in levels: each has every other
one of those that left the level before, so older ones are sparser. The first stays.
Cost: O(1) amortised to note; memory, and time to look up, by the logarithm of how many were noted.
"""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from graphtide_log.window_log import Instant

MOST: Final = 32
"""Landmarks of a level."""


class ReplayStart(NamedTuple):
    """Where the log is to be read from so that plans have their state, and an epoch of the stream there, or just before."""

    start: int
    epoch: int


class Landmark(NamedTuple):
    """The newest instant of the records below an offset."""

    offset: int
    instant: Instant


class Landmarks:
    """Offsets of times in a stream's log."""

    def __init__(self) -> None:
        """Start without landmarks."""
        self._first: Landmark | None = None
        self._levels: list[deque[Landmark]] = [deque()]
        self._left: list[int] = [0]

    def __len__(self) -> int:
        """Return how many are known."""
        return sum(map(len, self._levels))

    def note(self, offset: int, instant: Instant) -> None:
        """Take note of the newest instant of the records below an offset, past those noted before."""
        if self._levels[0] and self._levels[0][-1].instant == instant:
            return
        leaving = Landmark(offset, instant)
        self._first = self._first or leaving
        for level, landmarks in enumerate(self._levels):
            landmarks.append(leaving)
            if len(landmarks) <= MOST:
                return
            leaving = landmarks.popleft()
            self._left[level] += 1
            if self._left[level] % 2:
                return
        self._levels.append(deque([leaving]))
        self._left.append(0)

    def replay_start(self, end: int, window: int) -> ReplayStart | None:
        """Return where to begin so that no record is missed that a window reaches, so many ticks long and up to an offset.

        Returns:
            None if that lies before all landmarks.
        """
        first = () if self._first is None else (self._first,)
        before = [each for each in chain(first, *reversed(self._levels)) if each.offset <= end]
        if not before:
            return None
        # That of the last record before the offset is not older.
        begin = before[-1].instant.back(window)
        past = [each for each in before if each.instant < begin]
        return ReplayStart(past[-1].offset, past[-1].instant.epoch) if past else None
