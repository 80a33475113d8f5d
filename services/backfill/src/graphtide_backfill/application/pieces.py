"""History in pieces: what executors read, each for itself.

A piece is part of a file or of a topic. It is read more than once, in batches that are the same each time; executors get it
pickled. Pieces have an order, which is that of arrival.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec
import numpy as np
from graphtide_native.records import Symbols

from graphtide_backfill.domain.blocks import columns_of
from graphtide_backfill.domain.profile import Profile, join, profile_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_core.time import TimeUnit
    from graphtide_native.records import EdgeBatch

    from graphtide_backfill.domain.division import Division


_JOINED_AT_ONCE: Final = 64
"""Profiles of batches that are kept before they are joined."""


class Reading(NamedTuple):
    """How a piece is to be read: the labels' table, attributes to decode, what ticks count, ordinal of the first record."""

    symbols: Symbols
    attributes: tuple[str, ...]
    unit: TimeUnit
    ordinal: int = 0


class PieceFacts(NamedTuple):
    """Facts of a piece that was read: records with the bad ones, bad ones, whether it gives ids, deletions.

    `example` says where the first bad one is and what is wrong with it; empty if there is none. `filtered` are records that are
    not of the stream, as its statement says.
    """

    records: int
    rejected: int
    has_ids: bool
    has_operations: bool
    example: str = ""
    filtered: int = 0


def explain_first(letters: Sequence[tuple[int, str, bytes]], place: str, path: str) -> str:
    """Return where the first of rejected records is, and why it was rejected; empty if there is none.

    Args:
        letters: as decoders give them.
        place: what they count: `line` or `row`.
        path: of the file.
    """
    if not letters:
        return ""
    number, reason, _ = letters[0]
    return f"{place} {number} of {path} ({' '.join(reason.split())})"


class Piece(Protocol):
    """A part of history that one executor reads."""

    @property
    def stream(self) -> str:
        """The stream that it is of, if history is of several by name; else empty."""
        ...

    def batches(self, reading: Reading) -> Iterator[EdgeBatch]:
        """Yield the edges in the order of arrival, no batch empty.

        Raises:
            UnreadableStreamError: the piece cannot be read.
        """
        ...

    def facts(self) -> PieceFacts:
        """Return what is known after `batches` has ended."""
        ...


class History(Protocol):
    """Where edges come from."""

    @property
    def may_repeat(self) -> bool:
        """Whether ids may come more than once, to be cleared of duplicates here."""
        ...

    def pieces(self) -> Sequence[Piece]:
        """Return the pieces in the order of arrival; those of several streams in the order of the streams' names.

        Raises:
            UnreadableStreamError: there is no such history.
        """
        ...

    def headers(self) -> Iterator[Sequence[str]] | None:
        """Yield the names of columns of each part of history; None if only records show which attributes they have.

        Raises:
            UnreadableStreamError: a part cannot be read.
        """
        ...

    def fingerprint(self) -> str:
        """Return what changes when history does."""
        ...


class PieceReport(msgspec.Struct, frozen=True):
    """What counting a piece found.

    Attributes:
        records: records, bad ones too: by so much the ordinals of the next piece are ahead.
        rejected: bad ones.
        has_ids: whether it gives ids.
        has_operations: whether it may delete.
        spans: earliest and latest time of each batch.
        in_order: whether each batch is in order of time.
        first: time of the earliest edge.
        times: of the profile.
        edges: of the profile.
        example: where the first bad record is, and why it is bad.
        by_part: records that each part of a division needs; empty without one.
        filtered: records that are not of the stream, as its statement says.
    """

    records: int
    rejected: int
    has_ids: bool
    has_operations: bool
    spans: list[tuple[int, int]]
    in_order: bool
    first: int
    times: list[int]
    edges: list[int]
    example: str = ""
    by_part: list[int] = []
    filtered: int = 0

    @property
    def profile(self) -> Profile:
        """How the piece's edges spread over time."""
        return Profile(self.first, np.array(self.times, np.int64), np.array(self.edges, np.int64))


def count(piece: Piece, unit: TimeUnit, division: Division | None = None) -> PieceReport:
    """Read a piece and report on it; memory of one batch and a profile."""
    attributes = () if division is None else division.attributes
    by_part = np.zeros(0 if division is None else division.parts, np.int64)
    spans: list[tuple[int, int]] = []
    in_order = True
    profiles: list[Profile] = []
    for batch in piece.batches(Reading(Symbols(), attributes, unit)):
        times = np.array(batch.ts, np.int64)
        spans.append((int(times.min()), int(times.max())))
        in_order = in_order and bool((times[1:] >= times[:-1]).all())
        profiles.append(profile_of(times))
        if len(profiles) >= _JOINED_AT_ONCE:
            profiles = [join(profiles)]
        if division is not None:
            by_part += division.loads(columns_of(batch.to_arrow()))
    profile = join(profiles)
    facts = piece.facts()
    return PieceReport(
        facts.records,
        facts.rejected,
        facts.has_ids,
        facts.has_operations,
        spans,
        in_order,
        profile.first,
        profile.times.tolist(),
        profile.edges.tolist(),
        facts.example,
        by_part.tolist(),
        facts.filtered,
    )
