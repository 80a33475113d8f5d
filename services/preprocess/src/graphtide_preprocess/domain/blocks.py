"""Raw records as blocks of decoded edges, which travel from the task that decoded them to the one that orders them.

Invariant: what the blocks of a partition give, in their order, is what its records give one by one. Records of one line are
joined, because a decoder's start costs more than an edge: each takes one ordinal and one line, so line and ordinal lead back to
the record. How many edges came before is not known here; ordinals count from 0 in each block.

Cost: one pass of the decoder, one more for a block that has new attributes.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_native.records import EdgeBatch
from graphtide_runtime.sequencing.raw_decoding import Decoded, RawDecoder, Refused
from graphtide_wire.dead_letters import ErrorCode
from graphtide_wire.headers import CONTENT_TYPE
from graphtide_wire.raw import LINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphtide_core.ports.log import Record
    from graphtide_native.records import Symbols

_MOST_RECORDS: Final = 4_096
_MOST_BYTES: Final = 1024 * 1024
_SINGLE_VALUE: Final = b"application/json"
_JOINED_TYPES: Final = frozenset({b"application/x-ndjson", _SINGLE_VALUE})

_LEAST_FIRST: Final = 2**59
"""Ordinals begin at a random number past this while it is not known where they begin, so that no id is one by chance."""


class RefusedForm(msgspec.Struct, frozen=True, array_like=True):
    """A part of a record that cannot be used, as `Refused` has it."""

    code: ErrorCode
    reason: str
    raw: bytes
    line: int | None


class BlockHead(msgspec.Struct, frozen=True, array_like=True):
    """What is known of a block without looking at its edges.

    Attributes:
        offsets: of its records; several are records of one line each.
        timestamp: of the log, of the first record, in milliseconds.
        ordinals: how many it takes.
        attributes: that its edges may have.
        first_ts: time of the first edge; None if there is none.
        newest: the greatest time.
        in_order: whether times rise from edge to edge.
        is_readable: whether the record could be read as edges, of which there may be none.
        refused: the parts that cannot be used.
        producer: who sent it, if it said so.
        content_type: how its edges were written.
        lines_before: lines of the sender's text before the block.
        traceparent: trace it belongs to.
    """

    offsets: tuple[int, ...]
    timestamp: int
    ordinals: int
    attributes: tuple[str, ...] = ()
    first_ts: int | None = None
    newest: int | None = None
    in_order: bool = True
    is_readable: bool = True
    refused: tuple[RefusedForm, ...] = ()
    producer: str | None = None
    content_type: str | None = None
    lines_before: int = 0
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Records of a partition that follow each other, decoded; `edges` is a packed batch."""

    partition: int
    head: BlockHead
    edges: bytes

    def decoded(self, symbols: Symbols, attributes: Sequence[str], ordinal: int) -> Decoded:
        """Return the block as a decoded record whose first edge has this ordinal."""
        head = self.head
        return Decoded(
            edges=EdgeBatch.unpack(self.edges, symbols, attributes, ordinal) if head.is_readable else None,
            refused=tuple(Refused(each.code, each.reason, each.raw, each.line) for each in head.refused),
            ordinals=head.ordinals,
            producer=head.producer,
            content_type=head.content_type,
            lines_before=head.lines_before,
            traceparent=head.traceparent,
        )


class BlockReader:
    """Reads the records of one partition; what it gives depends on them alone."""

    def __init__(self) -> None:
        """Start with no attribute known."""
        self._decoder = RawDecoder()
        self._first = _LEAST_FIRST + secrets.randbelow(2**58)

    def blocks(self, records: Iterable[Record]) -> Iterator[Block]:
        """Yield the blocks of the records."""
        held: list[Record] = []
        size = 0
        for record in records:
            joins = _is_line(record) and (not held or record.headers == held[0].headers)
            if held and (not joins or len(held) == _MOST_RECORDS or size > _MOST_BYTES):
                yield from self._joined(held)
                held, size = [], 0
            if _is_line(record):
                held.append(record)
                size += len(record.value or b"")
            else:
                yield self._block((record,), record)
        if held:
            yield from self._joined(held)

    def _joined(self, records: list[Record]) -> Iterator[Block]:
        """Yield the records as one block; each by itself if they cannot be read together."""
        if len(records) > 1:
            together = self._block(records, _as_one(records))
            if together.head.is_readable and together.head.ordinals == len(records):
                yield together
                return
        for record in records:
            yield self._block((record,), record)

    def _block(self, records: Sequence[Record], joined: Record) -> Block:
        found = self._decoder.decode(joined, self._first)
        times = [] if found.edges is None else found.edges.ts
        head = BlockHead(
            offsets=tuple(record.offset for record in records),
            timestamp=joined.timestamp,
            ordinals=found.ordinals,
            attributes=() if found.edges is None else tuple(found.edges.attributes),
            first_ts=times[0] if times else None,
            newest=max(times, default=None),
            in_order=sorted(times) == times,
            is_readable=found.edges is not None,
            refused=tuple(RefusedForm(each.code, each.reason, each.raw, each.line) for each in found.refused),
            producer=found.producer,
            content_type=found.content_type,
            lines_before=found.lines_before,
            traceparent=found.traceparent,
        )
        return Block(joined.partition, head, b"" if found.edges is None else found.edges.pack(self._first))


def _is_line(record: Record) -> bool:
    """Whether the record is one line of JSON, and the first its sender sent, so that joining it changes nothing."""
    line = (record.value or b"").removesuffix(b"\n")
    if len(line) > _MOST_BYTES or b"\n" in line or b"\r" in line or not line.strip():
        return False
    for name, text in record.headers:
        if (name == CONTENT_TYPE and text not in _JOINED_TYPES) or (name == LINE and text != b"1"):
            return False
    return True


def _as_one(records: Sequence[Record]) -> Record:
    """Return the lines of records with equal headers as one record; single values of JSON are read without blanks around."""
    headers = records[0].headers
    values = [(record.value or b"").removesuffix(b"\n") for record in records]
    if (CONTENT_TYPE, _SINGLE_VALUE) in headers:
        values = [value.strip() for value in values]
        headers = tuple(header for header in headers if header[0] != CONTENT_TYPE)
    return records[0]._replace(value=b"\n".join(values), headers=headers)
