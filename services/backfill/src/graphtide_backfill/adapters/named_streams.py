"""Several streams by name as history: records know their streams, and those of equal times come in the order of the names.

Each stream has ids, places of records and duplicates of its own, as in one pass over streams by name ([ADR 30]). Streams
come one after the other, so history is out of order between them. A slice holds its edges until all of them were read.

[ADR 30]: docs/adr/0030-streams-are-merged-before-they-are-matched.md
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_native.records import EdgeBatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphtide_backfill.application.pieces import History, Piece, PieceFacts, Reading


@dataclass(frozen=True, slots=True)
class NamedPiece:
    """A piece of one of several streams."""

    stream: str
    piece: Piece

    def batches(self, reading: Reading) -> Iterator[EdgeBatch]:
        """See `Piece.batches`."""
        reading.symbols.learn(self.stream)
        for batch in self.piece.batches(reading):
            named, _ = EdgeBatch.merged([(batch, 0, None, self.stream)])
            yield named

    def facts(self) -> PieceFacts:
        """See `Piece.facts`."""
        return self.piece.facts()


class NamedStreams:
    """Histories by the names of their streams."""

    def __init__(self, streams: Mapping[str, History]) -> None:
        """Take at least one stream."""
        self._streams = dict(sorted(streams.items()))

    @property
    def may_repeat(self) -> bool:
        """See `History.may_repeat`."""
        return any(each.may_repeat for each in self._streams.values())

    def pieces(self) -> list[Piece]:
        """See `History.pieces`."""
        return [NamedPiece(name, piece) for name, history in self._streams.items() for piece in history.pieces()]

    def headers(self) -> Iterator[Sequence[str]] | None:
        """See `History.headers`."""
        each = [history.headers() for history in self._streams.values()]
        known = [headers for headers in each if headers is not None]
        return (names for headers in known for names in headers) if len(known) == len(each) else None

    def fingerprint(self) -> str:
        """Return a digest of the names and what changes with each stream."""
        known = repr([(name, history.fingerprint()) for name, history in self._streams.items()])
        return hashlib.blake2b(known.encode(), digest_size=16).hexdigest()
