"""Raw records as blocks of decoded edges, which travel from the task that decoded them to the one that orders them.

A block is a group of records that were read together. Invariant: what the blocks of a partition give, in their order, is what
its records give one by one. How many edges came before is not known here; ordinals count from 0 in each block.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core.ports.log import Record
from graphtide_native.records import EdgeBatch
from graphtide_runtime.sequencing.raw_decoding import Decoded, Piece, RawDecoder, Refused
from graphtide_runtime.sequencing.raw_groups import grouped
from graphtide_wire.dead_letters import ErrorCode
from graphtide_wire.raw import RawEdges, RawFormat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphtide_native.records import Symbols

_MOST_RECORDS: Final = 4_096
"""Of a block: those of several partitions take turns by blocks."""

_LEAST_FIRST: Final = 2**59
"""Ordinals begin at a random number past this while it is not known where they begin, so that no id is one by chance."""


class RefusedForm(msgspec.Struct, frozen=True, array_like=True):
    """A part of a record that cannot be used, as `Refused` has it."""

    code: ErrorCode
    reason: str
    raw: bytes
    line: int | None


class OriginForm(msgspec.Struct, frozen=True, array_like=True):
    """What a record says of itself, as `RawEdges` has it, but its edges and their columns."""

    format: RawFormat
    producer: str | None
    line: int | None
    traceparent: str | None


class PieceForm(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record, as `Piece` has it; `origin` is its place among those of the block."""

    offset: int
    origin: int | None
    ordinals: int
    newest: int | None
    end: int
    line: int
    refused: tuple[RefusedForm, ...] = ()


class BlockHead(msgspec.Struct, frozen=True, array_like=True):
    """What is known of a block without looking at its edges.

    Attributes:
        pieces: its records, at least one.
        timestamp: of the log, of the first record, in milliseconds.
        attributes: that its edges may have.
        newest: the greatest time; None if there is no edge.
        producer: who sent it, if it said so.
        origins: what its records say of themselves, each once.
        is_readable: whether records could be read as edges, of which there may be none.
    """

    pieces: tuple[PieceForm, ...]
    timestamp: int
    attributes: tuple[str, ...] = ()
    newest: int | None = None
    producer: str | None = None
    origins: tuple[OriginForm, ...] = ()
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class Block:
    """Records of a partition that follow each other, decoded; `edges` is a packed batch."""

    partition: int
    head: BlockHead
    edges: bytes

    def decoded(self, topic: str, symbols: Symbols, attributes: Sequence[str], ordinal: int) -> Decoded:
        """Return the block as decoded records of a topic; its first edge has this ordinal."""
        head = self.head
        origins = [RawEdges(b"", each.format, None, each.producer, each.line, each.traceparent) for each in head.origins]
        edges = EdgeBatch.unpack(self.edges, symbols, attributes, ordinal) if head.is_readable else None
        return Decoded([self._piece(each, topic, origins) for each in head.pieces], edges, head.producer)

    def _piece(self, form: PieceForm, topic: str, origins: Sequence[RawEdges]) -> Piece:
        return Piece(
            Record(topic, self.partition, form.offset, self.head.timestamp, None, None, ()),
            None if form.origin is None else origins[form.origin],
            tuple(Refused(each.code, each.reason, each.raw, each.line) for each in form.refused),
            form.ordinals,
            form.newest,
            form.end,
            form.line,
        )


class BlockReader:
    """Reads the records of one partition; what it gives depends on them alone."""

    def __init__(self) -> None:
        """Start with no attribute known."""
        self._decoder = RawDecoder()
        self._first = _LEAST_FIRST + secrets.randbelow(2**58)

    def blocks(self, records: Iterable[Record]) -> Iterator[Block]:
        """Yield the blocks of the records."""
        given = iter(records)
        while held := list(islice(given, _MOST_RECORDS)):
            for group in grouped(held):
                yield self._block(self._decoder.decode(group, self._first))

    def _block(self, found: Decoded) -> Block:
        first = found.pieces[0].record
        origins: dict[OriginForm, int] = {}
        head = BlockHead(
            pieces=tuple(_form(piece, origins) for piece in found.pieces),
            timestamp=first.timestamp,
            attributes=() if found.edges is None else tuple(found.edges.attributes),
            newest=max((piece.newest for piece in found.pieces if piece.newest is not None), default=None),
            producer=found.producer,
            origins=tuple(origins),
            is_readable=found.edges is not None,
        )
        return Block(first.partition, head, b"" if found.edges is None else found.edges.pack(self._first))


def _form(piece: Piece, origins: dict[OriginForm, int]) -> PieceForm:
    """Return a record's form; what it says of itself is added to the origins, if it is new."""
    said, origin = piece.origin, None
    if said is not None:
        form = OriginForm(said.format, said.producer, said.line, said.traceparent)
        origin = origins.setdefault(form, len(origins))
    refused = tuple(RefusedForm(each.code, each.reason, each.raw, each.line) for each in piece.refused)
    return PieceForm(piece.record.offset, origin, piece.ordinals, piece.newest, piece.end, piece.line, refused)
