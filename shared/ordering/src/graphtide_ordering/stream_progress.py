"""The progress of a stream, and what is odd about it.

Edges are counted from the beginning of an epoch, and once more so that the last ones weigh most. Past twice `RECENT` edges all
counts are halved. Both are committed with the positions, so they are exact, and observers see them too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ports.log import Record

    from graphtide_ordering.raw_decoding import Refused

RECENT: Final = 4096
"""Edges that count as the last ones; those before count half as much, and so on."""

_MOST: Final = 0.9
"""Share of the last edges that may be rejected for one reason without a note."""

_Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]


_SHOWN_BY: Final = "do they have the fields that the stream reads? GET /api/v1/dead-letters?stream={stream} shows them"

_LONGEST_REASON: Final = 120
"""Characters of the first reason: it is kept beside positions, which have little room."""


class Counted(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of the records of a stream.

    Attributes:
        read: edges read, good or bad.
        late: those of them that were before the watermark.
        future: those that were too far ahead of the clock.
        rejected: those that could not be used for another reason.
        filtered: records that are not of the stream, as its statement says; they count as read.
        ordered: edges and events that went out.
        duplicates: those that came under a known id, and did not go out.
        replaced: those that went out in the place of what had their id.
    """

    read: _Count = 0
    late: _Count = 0
    future: _Count = 0
    rejected: _Count = 0
    filtered: _Count = 0
    ordered: _Count = 0
    duplicates: _Count = 0
    replaced: _Count = 0

    def plus(self, more: Counted) -> Counted:
        """Return the sums."""
        return Counted(
            self.read + more.read,
            self.late + more.late,
            self.future + more.future,
            self.rejected + more.rejected,
            self.filtered + more.filtered,
            self.ordered + more.ordered,
            self.duplicates + more.duplicates,
            self.replaced + more.replaced,
        )

    def recently(self, more: Counted) -> Counted:
        """Return the sums; what is long ago counts less in them."""
        found = self.plus(more)
        while max(found.read, found.rejected) > 2 * RECENT:
            halves = (count // 2 for count in msgspec.structs.astuple(found))
            found = Counted(*halves)
        return found

    def is_after(self, other: Counted) -> bool:
        """Whether these counts of an epoch were taken later than others of it: no count but `ordered` goes down."""
        return (self.read, self.ordered + self.duplicates + self.rejected) > (
            other.read,
            other.ordered + other.duplicates + other.rejected,
        )


def sum_of(counts: Iterable[Counted]) -> Counted:
    """Return the sums of several counts."""
    found = Counted()
    for each in counts:
        found = found.plus(each)
    return found


class FirstRejected(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first record of an epoch that was rejected: why, and where it stood; None where that is not known."""

    code: str
    reason: str
    partition: int | None = None
    offset: int | None = None
    line: int | None = None

    @classmethod
    def of(cls, refused: Refused, record: Record | None = None) -> FirstRejected:
        """Return what is remembered of a rejected part of a record."""
        given = refused.reason
        reason = given if given.isascii() and given.isprintable() else ascii(given)[1:-1]
        reason = reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 3]}..."
        if record is None:
            return cls(refused.code.value, reason, line=refused.line)
        return cls(refused.code.value, reason, record.partition, record.offset, refused.line)


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
        first: the first record of the epoch that was rejected; None if none was.
    """

    epoch: _Count = 0
    watermark: _Int64 | None = None
    newest: _Int64 | None = None
    counted: Counted = Counted()
    recent: Counted = Counted()
    lateness: _Count | None = None
    left_out: _Count = 0
    first: FirstRejected | None = None

    def note(self, stream: str) -> str | None:
        """Return what is odd about the stream, and what helps; None if nothing is."""
        counted, recent = self.counted, self.recent
        if self.newest is None and counted.future:
            return (
                f"no edge was taken yet, and {counted.future:,} were too far ahead of the clock: is `ts` in a smaller unit of "
                "time than the stream's? Set the unit, or MAX_AHEAD_SECONDS"
            )
        if self.newest is None and counted.rejected:
            many = "1 record" if counted.rejected == 1 else f"{counted.rejected:,} records"
            return f"no edge was taken yet, and {many} could not be used{self._because()}: {_SHOWN_BY.format(stream=stream)}"
        # Records that cannot be read at all are not among those read.
        seen = max(recent.read, recent.rejected)
        if seen < RECENT:
            return self._note_of_attributes()
        if recent.rejected >= _MOST * seen:
            return f"most of the last records could not be used{self._because()}: {_SHOWN_BY.format(stream=stream)}"
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

    def _because(self) -> str:
        return "" if self.first is None else f", the first because: {self.first.reason}"

    def _note_of_attributes(self) -> str | None:
        if not self.left_out:
            return None
        return (
            f"edges have more attributes than are kept: lately {self.left_out:,} were left out, none that a pattern reads. "
            "Does a producer invent names? Send what varies as a value, not as a name"
        )
