"""Raw records as blocks of decoded edges, which travel from the task that decoded them to the one that orders them.

A block is a group of records that were read together. Invariant: what the blocks of a partition give, in their order, is what
its records give one by one. How many edges came before is not known here; ordinals count from 0 in each block.
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
        newest: the greatest time of all; None without edges.
        format: media type of how they are written; None if the one record has no readable format.
        producer: sender of them, if it gave its name.
        sent: in pairs, each once, the line of the first edge in what the sender sent, and the trace.
        origins: places in `sent`.
        refused: the parts that cannot be used, by the places of their records.
        is_readable: whether the records could be read as edges, maybe none.
        ends_epoch: the epoch of the stream that the one record wants to end; None where records have edges.
        filtered: records that are not of the stream, as its statement says.
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


@dataclass(frozen=True, slots=True)
class Block:
    """Records of a partition that follow each other, decoded; `edges` is a packed batch."""

    partition: int
    head: BlockHead
    edges: bytes

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
        return Decoded(pieces, edges, head.producer, head.ends_epoch, head.filtered)

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
        return [origins[place] for place in head.origins]

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
    ) -> None:
        """Start with no attribute known; reject what is further ahead of its record than the bound.

        `read` returns the attributes that patterns read. It is called once there are more than are kept. It is called at once
        if there is a statement, since without SET a statement gives those alone.
        """
        self._decoder = RawDecoder(ahead)
        self._read = read
        self._statement = None if statement is None or statement.is_removed else statement
        self._has_asked = self._statement is not None
        if self._statement is not None:
            self._decoder.read((*read(), *self._statement.windows.inputs))

    def blocks(self, records: Iterable[Record]) -> Iterator[Block]:
        """Yield the blocks of the records."""
        given = iter(records)
        while held := list(islice(given, _MOST_RECORDS)):
            for group in group_records(held):
                yield self._block(self._decoded(group))

    def _decoded(self, group: RawGroups) -> Decoded:
        # Blocks are not mixed, so each may have a list of attributes of its own.
        if self._decoder.left_out:
            self._decoder.forget()
        found = self._decoder.decode(group, 0, self._statement)
        if self._decoder.left_out and not self._has_asked:
            self._has_asked = True
            self._decoder.read(self._read())
            self._decoder.forget()
            found = self._decoder.decode(group, 0, self._statement)
        return found

    def _block(self, found: Decoded) -> Block:
        pieces, edges = found.pieces, found.edges
        first = pieces[0]
        sent: dict[tuple[int | None, str | None], int] = {}
        said = [(origin.line, origin.traceparent) for each in pieces if (origin := each.origin) is not None]
        times = [each.newest for each in pieces]
        head = BlockHead(
            timestamp=first.record.timestamp,
            offsets=[each.record.offset for each in pieces],
            ordinals=[each.ordinals for each in pieces],
            times=times,
            ends=[each.end for each in pieces],
            lines=[each.line for each in pieces],
            attributes=[] if edges is None else edges.attributes,
            newest=max((time for time in times if time is not None), default=None),
            format=None if first.origin is None else first.origin.format.media_type,
            producer=found.producer,
            origins=[sent.setdefault(each, len(sent)) for each in said],
            sent=list(sent),
            refused={place: _forms(each.refused) for place, each in enumerate(pieces) if each.refused},
            is_readable=edges is not None,
            ends_epoch=found.ends_epoch,
            filtered=found.filtered,
        )
        return Block(first.record.partition, head, b"" if edges is None else edges.pack())


def _forms(refused: Iterable[Refused]) -> list[RefusedForm]:
    return [RefusedForm(each.code, each.reason, each.raw, each.line) for each in refused]
