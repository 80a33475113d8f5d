"""Raw records of a stream, divided among its parts.

A record goes to the part of its key, and a deletion to every part (`graphtide_core.part_key`). What a group of raw records
gives becomes a batch for each part, also for one that gets no edge of it:

* A batch takes all ordinals of its group, so an edge without an id gets the same one in every part.
* It says how far the stream has come with the group. So the watermark of each part is that of the whole stream. Only
  an edge that is late for others of its own group is taken by its part.

Invariant: what is divided follows from the raw records, their ordinals and the statement alone. The worker that divides commits
it with its positions, so each record is divided once. Cost: one pass of the decoder, and the writing of the batches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from graphtide_core.merged_streams import parts_of
from graphtide_wire import raw
from graphtide_wire.dead_letters import ErrorCode
from graphtide_wire.raw import RawEdges
from graphtide_wire.topics import MOST_ORDERED_BYTES

from graphtide_ordering.raw_decoding import Piece, RawDecoder, Refused
from graphtide_ordering.raw_groups import RawGroup, ResetRecord
from graphtide_ordering.sequencer_output import RejectedPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphtide_core.ports.log import Message
    from graphtide_native.records import EdgeBatch
    from graphtide_wire.topics import Topics

    from graphtide_ordering.division import Division
    from graphtide_ordering.raw_decoding import Ahead, Decoded
    from graphtide_ordering.raw_groups import RawGroups
    from graphtide_ordering.statements import Statement

MOST_ORDINALS: Final = 1 << 20
"""Ordinals of one batch."""

_ROW_BYTES: Final = 64
"""What an edge takes in a batch beside its bytes, about."""


@dataclass(slots=True)
class DividedRecords:
    """What was divided since the last commit.

    Attributes:
        messages: batches for the parts, in the order of what they come from.
        rejected: parts of raw records for the dead letters.
        read: edges read, good or bad.
        filtered: records that are not of the stream, as its statement says.
        refused_before: see `Decoded`.
        raw_bytes: of the records read.
    """

    messages: list[Message] = field(default_factory=list)
    rejected: list[RejectedPart] = field(default_factory=list)
    read: int = 0
    filtered: int = 0
    refused_before: int = 0
    raw_bytes: int = 0


class StreamDivider:
    """Divides the raw records of one stream.

    Attributes:
        divided: since the last `take_divided`.
    """

    def __init__(self, topics: Topics, division: Division, ahead: Ahead | None = None) -> None:
        """Start without attributes; reject edges further ahead of their record than the bound."""
        self.divided = DividedRecords()
        self._topics = [topics.raw(each) for each in parts_of(division.stream, division.parts)]
        self._division = division
        self._decoder = RawDecoder(ahead)
        self.read(())

    def read(self, attributes: Iterable[str]) -> None:
        """Keep these attributes, and that of the key, beside any others: patterns read them."""
        key = self._division.key.field
        self._decoder.read((*attributes, *(() if key is None else (key,))))

    def take_divided(self) -> DividedRecords:
        """Return what was divided, and start anew."""
        taken, self.divided = self.divided, DividedRecords()
        return taken

    def take(self, group: RawGroups, ordinal: int, statement: Statement | None) -> list[Piece]:
        """Divide records whose first edge has this ordinal; return them as they were decoded."""
        if self._decoder.is_due:
            self._decoder.forget()
        decoded = self._decoder.decode(group, ordinal, statement)
        self._count(decoded)
        if isinstance(group, ResetRecord):
            self.divided.messages += [raw.encode_reset(topic, group.reset) for topic in self._topics]
        elif isinstance(group, RawGroup):
            self._divide(group, decoded, ordinal)
        return decoded.pieces

    def say_all_divided(self, partition: int) -> None:
        """Say to each part that all of a raw partition is divided: only then may it take a silent sender for idle."""
        self.divided.messages += [raw.encode_all_divided(topic, partition) for topic in self._topics]

    def _count(self, decoded: Decoded) -> None:
        divided = self.divided
        divided.rejected += [RejectedPart(piece, refused) for piece in decoded.pieces for refused in piece.refused]
        divided.read += sum(piece.ordinals for piece in decoded.pieces)
        divided.filtered += decoded.filtered
        divided.refused_before += decoded.refused_before
        divided.raw_bytes += sum(len(piece.record.value or b"") for piece in decoded.pieces)

    def _divide(self, group: RawGroup, decoded: Decoded, ordinal: int) -> None:
        ordinals = sum(piece.ordinals for piece in decoded.pieces)
        if decoded.edges is None or not ordinals:
            return
        like, newest = group.members[0].origin, max((p.newest for p in decoded.pieces if p.newest is not None), default=None)
        trace = next((each.origin.traceparent for each in group.members if each.origin.traceparent), None)
        key = None if like.producer is None else like.producer.encode()
        divided = decoded.edges.divide(self._division.key.field, self._division.parts)
        for topic, edges in zip(self._topics, divided, strict=True):
            for body, part in _write_batches(edges, decoded.pieces[0].line, ordinal, ordinals):
                if body is None:
                    self._refuse(part, decoded.pieces)
                    continue
                message = raw.encode(
                    topic,
                    RawEdges(
                        body,
                        like.format,
                        producer=like.producer,
                        is_batch=True,
                        statement=like.statement,
                        line=like.line if len(group.members) == 1 else None,
                        traceparent=trace,
                        newest=newest,
                    ),
                    key,
                )
                self.divided.messages.append(message._replace(partition=group.partition))

    def _refuse(self, edge: EdgeBatch, pieces: Sequence[Piece]) -> None:
        """Reject an edge that no record can hold; each part that was to have it does so."""
        reason = f"the edge takes more than the {MOST_ORDERED_BYTES} bytes of a record"
        piece = next(each for each in pieces if (edge.next_line or 0) - 1 < each.line + max(1, each.ordinals))
        self.divided.rejected.append(RejectedPart(piece, Refused(ErrorCode.TOO_LARGE, reason, edge.raw_text(1).strip(b"\n"))))


def _write_batches(edges: EdgeBatch, line: int, ordinal: int, ordinals: int) -> Iterator[tuple[bytes | None, EdgeBatch]]:
    """Yield the bodies of edges, with these; None in place of the body of an edge that is too large.

    Together they take all ordinals. An edge that is left out takes its own: the next body begins behind it.
    """
    is_small = edges.raw_bytes + _ROW_BYTES * len(edges) <= MOST_ORDERED_BYTES and ordinals <= MOST_ORDINALS
    if is_small or len(edges) < 2:
        body = edges.to_raw_batch(line, ordinal, min(ordinals, MOST_ORDINALS))
        if len(body) <= MOST_ORDERED_BYTES:
            yield body, edges
            return
        if len(edges) < 2:
            yield None, edges
            yield edges.part(0, 0).to_raw_batch(line, ordinal, ordinals), edges.part(0, 0)
            return
    middle = len(edges) // 2
    rest = edges.part(middle, len(edges))
    begins = rest.ordinals[0]
    yield from _write_batches(edges.part(0, middle), line, ordinal, begins - ordinal)
    yield from _write_batches(rest, line, begins, ordinal + ordinals - begins)
