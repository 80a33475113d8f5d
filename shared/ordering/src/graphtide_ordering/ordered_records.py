"""Batches in order as ordered records: bounded in edges and bytes, and none with edges of two epochs.

Edges are numbered as they come, deletions not. Where preprocessing left unwanted edges of a stretch out, those count as
having come after the others.
An epoch other than the first begins with a record without edges, so that readers learn of it before there is an edge.
A heartbeat carries the watermark while no edge goes out (`graphtide_ordering.heartbeats`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from graphtide_core.time import EventTime, TimeUnit
from graphtide_native.records import EdgeBatch, JsonLinesDecoder, Symbols
from graphtide_telemetry import attributes as key
from graphtide_telemetry import metrics
from graphtide_telemetry.instruments import record
from graphtide_wire import ordered
from graphtide_wire.ordered import OrderedHeader
from graphtide_wire.topics import MOST_ORDERED_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphtide_core.ports.log import Message

    from graphtide_ordering.heartbeats import LastRecord
    from graphtide_ordering.tracing import Onward

_Rejected = TypeVar("_Rejected")
"""A rejected record."""

DEFAULT_MOST_EDGES: Final = 8_192
"""Most edges of an ordered record: larger ones gain nothing, and make readers wait."""


@dataclass(slots=True)
class Stretch:
    """Edges that go out one after another, all of one epoch.

    Attributes:
        epoch: of the stream.
        begins: whether the epoch begins here.
        batches: the edges.
        watermark: of the epoch, after them; None before its first edge.
        number: how many edges of the stream came before, deletions not counted.
    """

    epoch: int = 0
    begins: bool = False
    batches: list[EdgeBatch] = field(default_factory=list)
    watermark: int | None = None
    number: int = 0


@dataclass(slots=True)
class GoingOut(Generic[_Rejected]):
    """The output of one transaction; it always has a stretch.

    Attributes:
        stretches: the edges, by epochs.
        rejected: parts for the dead letters.
        edges: how many go out.
        records: that were read for it.
    """

    stretches: list[Stretch] = field(default_factory=lambda: [Stretch()])
    rejected: list[_Rejected] = field(default_factory=list)
    edges: int = 0
    records: int = 0

    @property
    def batches(self) -> list[EdgeBatch]:
        """All edges."""
        return [batch for stretch in self.stretches for batch in stretch.batches]

    @property
    def is_empty(self) -> bool:
        """Whether it has nothing to write."""
        return not self.rejected and not any(stretch.begins or stretch.batches for stretch in self.stretches)


class TooLarge(NamedTuple):
    """An edge that no ordered record can hold: its bytes as they came, or else as Arrow, and its ordinal."""

    raw: bytes
    ordinal: int


@dataclass(frozen=True, slots=True)
class Packing:
    """How edges are packed.

    Attributes:
        topic: where they go.
        unit: what their times count.
        most_edges: edges of one record.
        most_bytes: bytes of one record's value; a single larger edge is returned.
        source_epoch: of the stream that the edges follow from, if they are results of a view.
    """

    topic: str
    unit: TimeUnit = TimeUnit.MILLISECOND
    most_edges: int = DEFAULT_MOST_EDGES
    most_bytes: int = MOST_ORDERED_BYTES
    source_epoch: int | None = None

    def pack(self, stretches: Iterable[Stretch], ordinal: int, onward: Onward) -> tuple[list[Message], int, list[TooLarge]]:
        """Return the messages, how many edges are in them, and the edges that are too large.

        `ordinal` is that of the first edge in the ordered stream, `onward` has the fields of traces.
        """
        messages: list[Message] = []
        too_large: list[TooLarge] = []
        packed = 0
        for stretch in stretches:
            if stretch.begins:
                messages.append(self._beginning(stretch, ordinal + packed))
            found, edges, rejected = self._packed(stretch, ordinal + packed, onward)
            messages += found
            too_large += rejected
            packed += edges
        return messages, packed, too_large

    def heartbeat(self, last_record: LastRecord, watermark: int, ordinal: int, number: int) -> Message:
        """Return a heartbeat message with the watermark, before an edge of this ordinal and number."""
        newest = EventTime(last_record.newest)
        header = OrderedHeader(
            newest,
            newest,
            0,
            ordinal,
            EventTime(watermark),
            self.unit,
            epoch=last_record.epoch,
            number=number,
            source_epoch=self.source_epoch,
        )
        return ordered.encode(self.topic, header, _no_edges())

    def _beginning(self, stretch: Stretch, ordinal: int) -> Message:
        return ordered.encode_beginning(self.topic, stretch.epoch, ordinal, self.unit, _no_edges(), number=stretch.number)

    def _packed(self, stretch: Stretch, ordinal: int, onward: Onward) -> tuple[list[Message], int, list[TooLarge]]:
        """Do as `pack` with one stretch, without announcing its beginning."""
        messages: list[Message] = []
        too_large: list[TooLarge] = []
        packed, number = 0, stretch.number
        parts = [part for whole in _cut(stretch.batches, self.most_edges) for part in self._parts(whole)]
        for left, (part, body) in zip(reversed(range(len(parts))), parts, strict=True):
            first, number = number, number + part.edges
            if len(body) > self.most_bytes:
                too_large.append(TooLarge(part.raw_text(1).strip(b"\n") or body, part.ordinals[0]))
                continue
            times = part.ts
            # Of the stretch's edges, those of its other records follow.
            watermark = times[-1] if left or stretch.watermark is None else stretch.watermark
            header = OrderedHeader(
                first_ts=EventTime(times[0]),
                last_ts=EventTime(times[-1]),
                records=len(times),
                ordinal=ordinal + packed,
                watermark=EventTime(watermark),
                unit=self.unit,
                traceparent=onward.traceparent,
                epoch=stretch.epoch,
                traces=tuple(onward.rows(part)),
                number=first,
                source_epoch=self.source_epoch,
            )
            messages.append(ordered.encode(self.topic, header, body))
            packed += len(times)
            record(metrics.ORDERED_SIZE, len(times), {key.MESSAGING_DESTINATION: self.topic})
        return messages, packed, too_large

    def _parts(self, batch: EdgeBatch) -> Iterator[tuple[EdgeBatch, bytes]]:
        """Yield parts that are small enough, and single edges that are not."""
        body = batch.to_arrow()
        if len(body) <= self.most_bytes or len(batch) == 1:
            yield batch, body
            return
        middle = len(batch) // 2
        yield from self._parts(batch.part(0, middle))
        yield from self._parts(batch.part(middle, len(batch)))


def _no_edges() -> bytes:
    return JsonLinesDecoder(Symbols(), [], {}).decode(b"").to_arrow()


def _cut(batches: Iterable[EdgeBatch], most: int) -> Iterator[EdgeBatch]:
    """Yield the edges of neighbours that have the same attributes, `most` at a time and what is left; each is copied once."""
    for _, neighbours in groupby(batches, key=lambda batch: batch.attributes):
        parts: list[tuple[EdgeBatch, int, int]] = []
        room = most
        for batch in neighbours:
            start = 0
            while start < len(batch):
                stop = min(len(batch), start + room)
                parts.append((batch, start, stop))
                room -= stop - start
                start = stop
                if not room:
                    yield _join(parts)
                    parts, room = [], most
        if parts:
            yield _join(parts)


def _join(parts: Sequence[tuple[EdgeBatch, int, int]]) -> EdgeBatch:
    batch, start, stop = parts[0]
    return batch if len(parts) == 1 and (start, stop) == (0, len(batch)) else EdgeBatch.joined(parts)
