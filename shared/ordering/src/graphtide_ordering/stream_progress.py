"""The progress of a stream, and what is odd about it.

Edges are counted from the beginning of an epoch, and once more so that the last ones weigh most: past twice `RECENT` edges all
counts are halved. Both are committed with the positions, so they are exact, and observers see them too.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

RECENT: Final = 4096
"""Edges that count as the last ones; those before count half as much, and so on."""

_MOST: Final = 0.9
"""Share of the last edges that may be rejected for their times without a note."""

_Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Counted(msgspec.Struct, frozen=True):
    """Edges read, good or bad; those of them that were late; those that were too far ahead of the clock."""

    read: _Count = 0
    late: _Count = 0
    future: _Count = 0

    def plus(self, more: Counted) -> Counted:
        """Return the sums."""
        return Counted(self.read + more.read, self.late + more.late, self.future + more.future)

    def recently(self, more: Counted) -> Counted:
        """Return the sums; what is long ago counts less in them."""
        found = self.plus(more)
        while found.read > 2 * RECENT:
            found = Counted(found.read // 2, found.late // 2, found.future // 2)
        return found


class StreamProgress(msgspec.Struct, frozen=True):
    """The progress of a stream.

    Attributes:
        epoch: how often its times began anew.
        watermark: no edge of the epoch that is earlier will go out; None before its first edge.
        newest: time of the newest edge that was taken in the epoch; None before the first.
        counted: edges of the epoch.
        recent: the last of them.
        lateness: most ticks that an edge may come later than a newer one; None where an older version wrote this.
        left_out: names of attributes that lately found no room, since the stream has too many that no pattern reads.
    """

    epoch: _Count = 0
    watermark: _Int64 | None = None
    newest: _Int64 | None = None
    counted: Counted = Counted()
    recent: Counted = Counted()
    lateness: _Count | None = None
    left_out: _Count = 0

    def note(self, stream: str) -> str | None:
        """Return what is odd about the stream, and what helps; None if nothing is."""
        counted, recent = self.counted, self.recent
        if self.newest is None and counted.future:
            return (
                f"no edge was taken yet, and {counted.future:,} were too far ahead of the clock: is `ts` in a smaller unit of "
                "time than the stream's? Set the unit, or MAX_AHEAD_SECONDS"
            )
        if recent.read < RECENT:
            return self._note_of_attributes()
        if recent.late >= _MOST * recent.read:
            return (
                f"{recent.late / recent.read:.0%} of the last edges were late: is a producer's clock ahead, or are old edges "
                "sent after new ones? If the watermark is too far ahead, "
                f"POST /api/v1/streams/{stream}:reset-watermark lets times begin anew"
            )
        if recent.future >= _MOST * recent.read:
            return (
                f"{recent.future / recent.read:.0%} of the last edges were too far ahead of the clock: is a producer's clock "
                "ahead, or its unit of time another than the stream's?"
            )
        return self._note_of_attributes()

    def _note_of_attributes(self) -> str | None:
        if not self.left_out:
            return None
        return (
            f"edges have more attributes than are kept: lately {self.left_out:,} were left out, none that a pattern reads. "
            "Does a producer invent names? Send what varies as a value, not as a name"
        )
