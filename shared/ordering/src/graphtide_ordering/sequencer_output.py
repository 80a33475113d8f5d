"""The output of a sequencer: edges that go out, parts of raw records for the dead letters, and counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_wire.dead_letters import ErrorCode

from graphtide_ordering.ordered_records import GoingOut

if TYPE_CHECKING:
    from graphtide_ordering.raw_decoding import Piece, Refused


@dataclass(frozen=True, slots=True)
class RejectedPart:
    """A part of a raw record for the dead letters."""

    piece: Piece
    refused: Refused


@dataclass(slots=True)
class SequencerOutput(GoingOut[RejectedPart]):
    """The output of a sequencer.

    Attributes:
        raw_bytes: of the records read for it, as a measure of its size.
        read: edges read for it, good or bad.
        duplicates: edges dropped for it, because their ids were there.
        replaced: edges that go out in the place of those that had their ids.
        filtered: records that are not of the stream, as its statement says.
        repeated: edges under known ids for the dead letters, which do not know their places.
        left_out: names of attributes that found no room, counted in each group of records that has them.
    """

    raw_bytes: int = 0
    read: int = 0
    duplicates: int = 0
    replaced: int = 0
    filtered: int = 0
    repeated: list[Refused] = field(default_factory=list)
    left_out: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether it has nothing to write."""
        return not (self.rejected or self.repeated or any(each.begins or each.batches for each in self.stretches))

    def outcomes(self, packed: int, too_large: int) -> Counter[str]:
        """Return how many edges had which outcome, as `metrics.SEQUENCED_EDGES` names them.

        So many went out, and so many were too large.
        """
        found = Counter(each.refused.code.value for each in self.rejected)
        found += Counter(
            {
                "read": self.read,
                "ordered": packed,
                "duplicate": self.duplicates,
                "replaced": self.replaced,
                "filtered": self.filtered,
            }
        )
        found[ErrorCode.TOO_LARGE.value] += too_large
        return found
