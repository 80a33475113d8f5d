"""Raw records as blocks of decoded edges, which travel from the task that decoded them to the one that orders them.

A block is a group of records that were read together. Invariant: what the blocks of a partition give, in their order, is what
its records give one by one. How many edges came before is not known here; ordinals count from 0 in each block.

If the stream has parts, a group gives a block for each of them, also for one that gets no edge of it. Each takes all ordinals
of the group, and says how far the stream has come with it, as a divider of ingestion does
(`graphtide_ordering.stream_divider`). What cannot be used is in the block of the first part alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, repeat
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core import formats
from graphtide_core.errors import FatalError
from graphtide_core.ports.log import Record
from graphtide_native.records import EdgeBatch
from graphtide_ordering.raw_decoding import Decoded, Piece, RawDecoder, Refused
from graphtide_ordering.raw_groups import group_records
from graphtide_wire.dead_letters import ErrorCode
from graphtide_wire.raw import RawOrigin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from graphtide_native.records import Symbols
    from graphtide_ordering.division import Division
    from graphtide_ordering.raw_decoding import Ahead
    from graphtide_ordering.raw_groups import RawGroups
    from graphtide_ordering.statements import Statement

_MOST_RECORDS: Final = 4_096
"""Of a block: those of several partitions alternate by blocks."""


class RefusedForm(msgspec.Struct, frozen=True, array_like=True):
    """A part of a record that cannot be used, as `Refused` has it."""

    code: ErrorCode
    reason: str
    raw: bytes
    line: int | None


class BlockHead(msgspec.Struct, frozen=True, array_like=True):
    """What is known of a block without looking at its edges; lists have a place for each record, as `Piece` has it.

    Attributes:
        timestamp: of the log, of the first record, in milliseconds.
        offsets: of the records, at least one.
        ordinals: how many each takes.
        times: the greatest time in each; None if it has no edge.
        ends: how many edges there are up to its end.
        lines: what the decoder calls its first line.
        attributes: that the edges may have.
        newest: the greatest time of all, or a later one; None without edges.
        format: media type of how they are written; None if the one record has no readable format.
        producer: sender of them, if it gave its name.
        sent: in pairs, each once, the line of the first edge in what the sender sent, and the trace.
        origins: places in `sent`.
        refused: the parts that cannot be used, by the places of their records.
        is_readable: whether the records could be read as edges, maybe none.
        ends_epoch: the epoch of the stream that the one record wants to end; None where records have edges.
        filtered: records that are not of the stream, as its statement says.
        reached: the time that the stream has come to with the first record; None if that is the time of its edges.
        refused_before: see `Decoded`.
    """

    timestamp: int
    offsets: list[int]
    ordinals: list[int]
    times: list[int | None]
    ends: list[int]
    lines: list[int]
    attributes: list[str] = []
    newest: int | None = None
    format: str | None = None
    producer: str | None = None
    sent: list[tuple[int | None, str | None]] = []
    origins: list[int] = []
    refused: dict[int, list[RefusedForm]] = {}
    is_readable: bool = True
    ends_epoch: int | None = None
    filtered: int = 0
    reached: int | None = None
    refused_before: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """Records of a partition that follow each other, decoded; `edges` is a packed batch of those of a part of the stream."""

    partition: int
    head: BlockHead
    edges: bytes
    part: int = 0

    @property
    def timestamp(self) -> int:
        """The log's time of the first record, in milliseconds."""
        return self.head.timestamp

    def decoded(self, topic: str, symbols: Symbols, attributes: Sequence[str], ordinal: int) -> Decoded:
        """Return the block as decoded records of a topic; its first edge has this ordinal."""
        head = self.head
        edges = EdgeBatch.unpack(self.edges, symbols, attributes, ordinal) if head.is_readable else None
        same = (
            repeat(topic),
            repeat(self.partition),
            head.offsets,
            repeat(head.timestamp),
            repeat(None),
            repeat(None),
            repeat(()),
            repeat(""),
        )
        columns = self._origins(), self._refused(), head.ordinals, head.times, head.ends, head.lines
        # There is one for each record, which may hold one edge: so they are made without a line of Python for each.
        pieces = list(map(Piece._make, zip(map(Record._make, zip(*same, strict=False)), *columns, strict=True)))
        return Decoded(pieces, edges, head.producer, head.ends_epoch, head.filtered, head.refused_before)

    def _origins(self) -> Iterable[RawOrigin | None]:
        """Return what each record says of itself, except its edges, their columns and types."""
        head = self.head
        if head.format is None:
            return [None] * len(head.offsets)
        format = formats.on_log(head.format)
        if format is None:
            message = f"a block of records in an unknown format, {head.format!r}"
            raise FatalError(message)
        origins = [RawOrigin(format, producer=head.producer, line=line, traceparent=trace) for line, trace in head.sent]
        found = [origins[place] for place in head.origins]
        if head.reached is not None:
            found[0] = found[0]._replace(newest=head.reached)
        return found

    def _refused(self) -> Iterable[tuple[Refused, ...]]:
        """Return the parts of each record that cannot be used."""
        found: list[tuple[Refused, ...]] = [()] * len(self.head.offsets)
        for place, forms in self.head.refused.items():
            found[place] = tuple(Refused(each.code, each.reason, each.raw, each.line) for each in forms)
        return found


class BlockReader:
    """Reads the records of one partition.

    What it gives depends on them alone, on the statement of the stream, and on what patterns read of them.
    """

    def __init__(
        self,
        ahead: Ahead | None = None,
        read: Callable[[], Iterable[str]] = tuple,
        statement: Statement | None = None,
        division: Division | None = None,
    ) -> None:
        """Start with no attribute known; reject what is further ahead of its record than the bound.

        Blocks are those of the parts that the stream is divided into, or else of the whole stream.

        `read` returns the attributes that patterns read. It is called once there are more than are kept. It is called at once
        if there is a statement, since without SET a statement gives those alone.
        """
        self._decoder = RawDecoder(ahead)
        self._division = division
        self._key = () if division is None or division.key.field is None else (division.key.field,)
        self._decoder.read(self._key)
        self._read = read
        self._statement = None if statement is None or statement.is_removed else statement
        self._has_asked = self._statement is not None
        if self._statement is not None:
            self._decoder.read((*read(), *self._key, *self._statement.windows.inputs))

    def blocks(self, records: Iterable[Record]) -> Iterator[Block]:
        """Yield the blocks of the records."""
        given = iter(records)
        while held := list(islice(given, _MOST_RECORDS)):
            for group in group_records(held):
                found = self._decoded(group)
                if self._division is None:
                    yield _block(found)
                else:
                    yield from divide(found, self._division)

    def _decoded(self, group: RawGroups) -> Decoded:
        # Blocks are not mixed, so each may have a list of attributes of its own.
        if self._decoder.left_out:
            self._decoder.forget()
        found = self._decoder.decode(group, 0, self._statement)
        if self._decoder.left_out and not self._has_asked:
            self._has_asked = True
            self._decoder.read((*self._read(), *self._key))
            self._decoder.forget()
            found = self._decoder.decode(group, 0, self._statement)
        return found


def divide(found: Decoded, division: Division) -> Iterator[Block]:
    """Yield what decoded records give each part. Complexity: O(records + edges + parts).

    A block has one record that stands for all of them, and records without edges: those with what cannot be used, and the last
    one. So each part knows how far the partition was read.
    """
    first, last = found.pieces[0], found.pieces[-1]
    reached = _newest(found.pieces)
    traces = (each.origin.traceparent for each in found.pieces if each.origin is not None)
    origin = None if first.origin is None else first.origin._replace(traceparent=next(filter(None, traces), None))
    whole = first._replace(origin=origin, refused=(), ordinals=sum(each.ordinals for each in found.pieces), newest=reached)
    rejected = [each._replace(ordinals=0, newest=None) for each in found.pieces if each.refused]
    ends = () if last.record.offset == first.record.offset else (last._replace(ordinals=0, newest=None, refused=()),)
    edges = repeat(None) if found.edges is None else found.edges.divide(division.key.field, division.parts)
    for part, own in zip(range(division.parts), edges, strict=False):
        count = 0 if own is None else len(own)
        pieces = [each._replace(end=count) for each in (whole, *(() if part else rejected), *ends)]
        given = Decoded(
            pieces, own, found.producer, found.ends_epoch, *((0, 0) if part else (found.filtered, found.refused_before))
        )
        yield _block(given, part, reached)


def _block(found: Decoded, part: int = 0, reached: int | None = None) -> Block:
    pieces, edges = found.pieces, found.edges
    first = pieces[0]
    sent: dict[tuple[int | None, str | None], int] = {}
    said = [(origin.line, origin.traceparent) for each in pieces if (origin := each.origin) is not None]
    head = BlockHead(
        timestamp=first.record.timestamp,
        offsets=[each.record.offset for each in pieces],
        ordinals=[each.ordinals for each in pieces],
        times=[each.newest for each in pieces],
        ends=[each.end for each in pieces],
        lines=[each.line for each in pieces],
        attributes=[] if edges is None else edges.attributes,
        newest=_newest(pieces) if edges is not None and len(edges) else None,
        format=None if first.origin is None else first.origin.format.media_type,
        producer=found.producer,
        origins=[sent.setdefault(each, len(sent)) for each in said],
        sent=list(sent),
        refused={place: _forms(each.refused) for place, each in enumerate(pieces) if each.refused},
        is_readable=edges is not None,
        ends_epoch=found.ends_epoch,
        filtered=found.filtered,
        reached=reached,
        refused_before=found.refused_before,
    )
    return Block(first.record.partition, head, b"" if edges is None else edges.pack(), part)


def _newest(pieces: Iterable[Piece]) -> int | None:
    return max((each.newest for each in pieces if each.newest is not None), default=None)


def _forms(refused: Iterable[Refused]) -> list[RefusedForm]:
    return [RefusedForm(each.code, each.reason, each.raw, each.line) for each in refused]
