"""What becomes of the edges of raw records whose senders wait for it, from their reading until the last edge is decided.

Edges of one raw record have ordinals in a row, so a record is a range of ordinals. A batch shows by its ordinals which edges
are awaited. A record that is read again after a crash is not awaited any more. What was decided of it before is not known here,
and a verdict is whole or is not given. Cost: O(edges of a batch) while records are awaited, nothing otherwise.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from graphtide_wire.dead_letters import ErrorCode
from graphtide_wire.place import Place
from graphtide_wire.verdicts import LONGEST_REASON, MOST_EXAMPLES, RejectedExample, VerdictRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_native.records import EdgeBatch

    from graphtide_ordering.raw_decoding import Decoded, Piece, Refused

MOST_AWAITED: Final = 1_024
"""Awaited records at once; of more, the oldest get no verdict."""


@dataclass(slots=True)
class _Awaited:
    """A record: ordinals of its edges, how many of them are not decided yet, and what became of the others."""

    receipt: str
    place: Place
    first: int
    end: int
    undecided: int
    counted: Counter[str] = field(default_factory=Counter)
    examples: list[RejectedExample] = field(default_factory=list)

    def reject(self, refused: Refused) -> None:
        self.counted["late" if refused.code is ErrorCode.LATE else "rejected"] += 1
        if len(self.examples) < MOST_EXAMPLES:
            self.examples.append(RejectedExample(refused.code.value, refused.reason[:LONGEST_REASON], refused.line))

    def verdict(self) -> VerdictRecord:
        return VerdictRecord(self.receipt, str(self.place), **self.counted, examples=tuple(self.examples))


class Verdicts:
    """The awaited records of one stream."""

    def __init__(self) -> None:
        """Start with none."""
        self._awaited: dict[Place, _Awaited] = {}
        """By their places, in the order in which they were read."""
        self._decided: list[_Awaited] = []

    @property
    def awaited(self) -> int:
        """Records whose edges are not all decided."""
        return len(self._awaited)

    @property
    def are_ready(self) -> bool:
        """Whether there are verdicts to be given."""
        return bool(self._decided)

    def wait_for(self, decoded: Decoded, receipt: str, ordinal: int) -> None:
        """Take note of records whose sender waits by a receipt; the first edge of the group has this ordinal."""
        rows = 0
        for piece in decoded.pieces:
            self._wait_for(piece, receipt, ordinal, piece.end - rows)
            rows = piece.end
            ordinal += piece.ordinals

    def _wait_for(self, piece: Piece, receipt: str, ordinal: int, edges: int) -> None:
        place = Place(piece.record.partition, piece.record.offset)
        awaited = _Awaited(receipt, place, ordinal, ordinal + piece.ordinals, edges)
        for refused in piece.refused:
            awaited.reject(refused)
        if not edges:
            self._decided.append(awaited)
            return
        if len(self._awaited) >= MOST_AWAITED:
            del self._awaited[next(iter(self._awaited))]
        self._awaited[place] = awaited

    def reject(self, piece: Piece, refused: Refused) -> None:
        """Take note of an edge of a record that came too late."""
        if piece.origin is None or not piece.origin.receipt:
            return
        awaited = self._awaited.get(Place(piece.record.partition, piece.record.offset))
        if awaited is not None:
            awaited.reject(refused)
            self._decide(awaited, 1)

    def release(self, batch: EdgeBatch, kept: EdgeBatch) -> None:
        """Take note of edges that their time has come for, and of what the filter of duplicates made of them.

        It has dropped some, or let a deletion go before them.
        """
        if not self._awaited:
            return
        before = self._among(batch.ordinals)
        after = before if kept is batch else self._among(kept.ordinals)
        for place, edges in before.items():
            awaited, out = self._awaited[place], after[place]
            awaited.counted["ordered"] += min(edges, out)
            awaited.counted["duplicates"] += max(0, edges - out)
            awaited.counted["replaced"] += max(0, out - edges)
            self._decide(awaited, edges)

    def take_back(self, ordinal: int, refused: Refused) -> None:
        """Take note that an edge which was released cannot go out."""
        found = (*self._awaited.values(), *self._decided)
        for awaited in (each for each in found if each.first <= ordinal < each.end):
            awaited.counted["ordered"] -= 1
            awaited.reject(refused)

    def take(self) -> list[VerdictRecord]:
        """Return the verdicts on records whose edges are all decided, and wait for those no more."""
        taken, self._decided = self._decided, []
        return [each.verdict() for each in taken]

    def _among(self, ordinals: Sequence[int]) -> Counter[Place]:
        """Return how many of the ordinals are of each awaited record, by its place."""
        awaited = sorted(self._awaited.values(), key=attrgetter("first"))
        starts = [each.first for each in awaited]
        found: Counter[Place] = Counter()
        for ordinal in ordinals:
            place = bisect_right(starts, ordinal) - 1
            if place >= 0 and ordinal < awaited[place].end:
                found[awaited[place].place] += 1
        return found

    def _decide(self, awaited: _Awaited, edges: int) -> None:
        awaited.undecided -= edges
        if awaited.undecided <= 0:
            del self._awaited[awaited.place]
            self._decided.append(awaited)


def sum_verdicts(verdicts: Iterable[VerdictRecord], receipt: str) -> VerdictRecord:
    """Return the verdicts on the records of one request as one; places and examples are those of the first."""
    found = list(verdicts)
    counts = {name: sum(getattr(each, name) for each in found) for name in COUNTED}
    examples = [example for each in found for example in each.examples]
    return VerdictRecord(receipt, found[0].place if found else "", **counts, examples=tuple(examples[:MOST_EXAMPLES]))


COUNTED: Final = ("ordered", "replaced", "duplicates", "late", "rejected")
"""Members of a verdict that are counts."""
