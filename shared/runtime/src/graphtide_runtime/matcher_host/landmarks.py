"""Where times stand in a stream's log, as far as its host has read it: so that a reach need not be looked for in the log.

Invariant: of the records below a landmark's offset, the newest is of its instant. Landmarks lie in the order of their offsets.
There are at most `MOST`: where there are more, every other one of the older half goes, so that they lie the thinner the older
they are, and reach back to where the host began.
Cost: O(1) amortised to note, O(MOST) to look up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from graphtide_runtime.window_log import Instant

MOST: Final = 512


class Reach(NamedTuple):
    """Where the log is to be read from so that plans have their state, and an epoch of the stream there, or just before."""

    start: int
    epoch: int


class Landmarks:
    """Where times stand in a stream's log."""

    def __init__(self) -> None:
        """Know nothing."""
        self._known: list[tuple[int, Instant]] = []

    def note(self, offset: int, instant: Instant) -> None:
        """Take note of the newest instant of the records below an offset, past those noted before."""
        if self._known and self._known[-1][1] == instant:
            return
        self._known.append((offset, instant))
        if len(self._known) > MOST:
            half = MOST // 2
            self._known = self._known[:half:2] + self._known[half:]

    def reach(self, end: int, window: int) -> Reach | None:
        """Return where to begin so that no record is missed that a window reaches, so many ticks long and up to an offset.

        Returns:
            None if that lies before all landmarks.
        """
        before = [each for each in self._known if each[0] <= end]
        if not before:
            return None
        # That of the last record before the offset is no older.
        first = before[-1][1].back(window)
        past = [each for each in before if each[1] < first]
        return Reach(past[-1][0], past[-1][1].epoch) if past else None
