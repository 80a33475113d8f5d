"""The ordered topics of a divided stream as one history: that of its parts, one after the other.

Each part is in order, and all together are not, so a slice holds its edges until all of them were read. Edges of one time come
in the order of the parts, as where services merge them ([ADR 47]).

[ADR 47]: docs/adr/0047-a-stream-is-divided-before-it-is-ordered.md
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graphtide_core.errors import UnreadableStreamError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from graphtide_core.time import TimeUnit
    from graphtide_native.records import EdgeBatch

    from graphtide_backfill.adapters.ordered_topic import OrderedTopic
    from graphtide_backfill.application.pieces import Piece, PieceFacts, Reading


@dataclass(frozen=True, slots=True)
class OwnedPiece:
    """The edges of a piece whose sources a part owns: by a vertex key the part of the target has them, too."""

    piece: Piece
    number: int
    parts: int

    @property
    def stream(self) -> str:
        """See `Piece.stream`."""
        return self.piece.stream

    def batches(self, reading: Reading) -> Iterator[EdgeBatch]:
        """See `Piece.batches`."""
        for batch in self.piece.batches(reading):
            yield batch.divide("src", self.parts)[self.number]

    def facts(self) -> PieceFacts:
        """See `Piece.facts`."""
        return self.piece.facts()


@dataclass(frozen=True, slots=True)
class PartTopics:
    """The epoch of a divided stream that all parts began last, unless another is asked for.

    Attributes:
        parts: the topic of each part by its number, in the order in which they are merged; at least one.
        by_vertex: whether an edge is in the parts of both its ends.
    """

    parts: Mapping[int, OrderedTopic]
    by_vertex: bool = False
    may_repeat: bool = False

    def pieces(self) -> list[Piece]:
        """See `History.pieces`."""
        parts = self.at(self.newest_epoch()).parts
        if not self.by_vertex:
            return [piece for part in parts.values() for piece in part.pieces()]
        return [OwnedPiece(piece, number, len(parts)) for number, part in parts.items() for piece in part.pieces()]

    def headers(self) -> None:
        """Return None: which attributes there are is known of each record alone."""

    def fingerprint(self) -> str:
        """Return a digest of what changes with each part."""
        known = repr([part.fingerprint() for part in self.at(self.newest_epoch()).parts.values()])
        return hashlib.blake2b(known.encode(), digest_size=16).hexdigest()

    def at(self, epoch: int) -> PartTopics:
        """Return the history of an epoch, where none was asked for before."""
        parts = {number: part.at(epoch) if part.epoch is None else part for number, part in self.parts.items()}
        return replace(self, parts=parts)

    def newest_epoch(self) -> int:
        """Return the number of the newest epoch that all parts began.

        Raises:
            UnreadableStreamError: a part has no topic.
        """
        return min(part.newest_epoch() for part in self.parts.values())

    def unit(self) -> TimeUnit:
        """Return what times count, as the first record of any part says.

        Raises:
            UnreadableStreamError: no part has a record.
        """
        *others, last = self.parts.values()
        for part in others:
            try:
                return part.unit()
            except UnreadableStreamError:
                continue
        return last.unit()
