"""One source of a merge: its ordered records that wait, and its known progress.

Records are decoded when their edges are next, so waiting records are held as they came. The first of them stays until its last
edge has gone. Then its dead letters go out, and the position passes it, all in one commit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.errors import PoisonRecordError, UnreadableStreamError
from graphtide_core.time import MIN_EVENT_TIME
from graphtide_log.window_log import Instant
from graphtide_native.records import ArrowDecoder, Symbols, take_dead_letters
from graphtide_wire import ordered
from graphtide_wire.dead_letters import ErrorCode
from graphtide_wire.ordered import MARKS

from graphtide_ordering.raw_decoding import MOST_ATTRIBUTES, Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.ids import StreamName
    from graphtide_core.merged_streams import NamedPart
    from graphtide_core.ports.log import Record
    from graphtide_core.time import TimeUnit
    from graphtide_native.records import EdgeBatch
    from graphtide_wire.ordered import OrderedHeader, TracedRows

_COLUMNS: Final = MARKS | {"ts", "src", "dst", "label", "src_label", "dst_label", "id", "op"}

START: Final = Instant(0, MIN_EVENT_TIME)
"""The instant before every other."""


class RejectedRecord(NamedTuple):
    """A record of a source for the dead letters, or edges of it, and why."""

    record: Record
    refused: Refused


class OrderedDecoder:
    """Reads ordered records of several streams into batches whose attributes are the first of a list that all share.

    Every attribute of a record is kept: its sequencer has bounded them. A list that grows too long begins anew with those of
    the record at hand. Batches of two lists can be merged, at the cost of a copy.
    """

    def __init__(self, streams: Sequence[StreamName], unit: TimeUnit) -> None:
        """Start without attributes."""
        self.unit = unit
        self._symbols = Symbols()
        for stream in streams:
            self._symbols.learn(stream)
        self._attributes: dict[str, None] = {}
        self._most = MOST_ATTRIBUTES * len(streams)
        self._decoder = ArrowDecoder(self._symbols, [], {})

    def decode(self, body: bytes) -> tuple[EdgeBatch, list[Refused]]:
        """Return the edges of a record, whose ordinals are their places in it, and its invalid ones.

        Raises:
            UnreadableStreamError: it is not what an ordered record must be.
        """
        batch = self._decoded(body)
        own = [name for name in self._decoder.columns() or () if name not in _COLUMNS]
        if new := [name for name in own if name not in self._attributes]:
            grown = [*self._attributes, *new]
            self._attributes = dict.fromkeys(grown if len(grown) <= self._most else own)
            self._decoder = ArrowDecoder(self._symbols, list(self._attributes), {})
            batch = self._decoded(body)
        letters = take_dead_letters(self._decoder)
        return batch, [Refused(ErrorCode.MALFORMED, each.reason, each.raw) for each in letters]

    def _decoded(self, body: bytes) -> EdgeBatch:
        take_dead_letters(self._decoder)
        self._decoder.start_at(0)
        return self._decoder.decode(body)


class _Waiting(NamedTuple):
    record: Record
    header: OrderedHeader | None
    refused: tuple[Refused, ...]

    @property
    def size(self) -> int:
        return len(self.record.value or b"")

    @property
    def reported(self) -> Instant:
        """The least instant of what comes after it in the stream, as it says."""
        header = self.header
        return START if header is None else Instant(header.epoch, max(header.last_ts, header.watermark))


class SourceStream:
    """One of the streams.

    Attributes:
        name: of the stream.
        next: the offset after the last record taken.
        head: edges that are next, from `place` on; None if none is at hand.
        times: of the head's edges.
        traced: which of the head's edges belong to traces.
    """

    def __init__(self, name: StreamName, decoder: OrderedDecoder, part: NamedPart | None = None) -> None:
        """Start at the first record; of a part of a stream divided by vertex, take the edges whose sources it owns."""
        self.name = name
        self._part = part
        self.next = 0
        self.head: EdgeBatch | None = None
        self.times: list[int] = []
        self.traced: tuple[TracedRows, ...] = ()
        self.place = 0
        self._decoder = decoder
        self._waiting: deque[_Waiting] = deque()
        self._bytes = self._edges = 0
        self._refused: list[Refused] = []
        self._reached = self._reported = START

    def start_at(self, offset: int, rows: int = 0, reached: Instant = START) -> None:
        """Continue at an offset, so many edges into the record there; later edges are not earlier than `reached`."""
        self.next, self.place = offset, rows
        self._reached = self._reported = reached

    @property
    def held_bytes(self) -> int:
        """Of the records that wait."""
        return self._bytes

    @property
    def records(self) -> int:
        """That wait."""
        return len(self._waiting)

    @property
    def edges(self) -> int:
        """That wait."""
        return self._edges - self.place if self._waiting else 0

    @property
    def newest(self) -> Instant:
        """How far the stream is by all that was read of it."""
        return max(self._reported, self._reached)

    @property
    def reached(self) -> Instant:
        """No edge that goes out next is earlier; that of the head, if there is one."""
        if self.head is not None:
            return Instant(self._reached.epoch, self.times[self.place])
        return self._reached if self._waiting else self.newest

    @property
    def position(self) -> tuple[int, int]:
        """The offset of the record whose edges are next, and how many of them have gone out."""
        return (self._waiting[0].record.offset, self.place) if self._waiting else (self.next, self.place)

    def take(self, record: Record) -> None:
        """Take the next record of the stream."""
        if record.offset != self.next and not self._waiting:
            # That record was released, with what had gone out of it, or it was the mark of a transaction.
            self.place = 0
        waiting = self._checked(record)
        self._waiting.append(waiting)
        self._bytes += waiting.size
        self._edges += 0 if waiting.header is None else waiting.header.records
        self._reported = max(self._reported, waiting.reported)
        self.next = record.offset + 1

    def open(self, passed: Instant) -> list[RejectedRecord]:
        """Bring the next edges to hand, if there are some; return what proves useless on the way.

        Edges before `passed` are: the merged stream is there already.
        """
        rejected: list[RejectedRecord] = []
        while self.head is None and self._waiting:
            batch = self._decoded(self._waiting[0], passed)
            if batch is None:
                rejected += self._release()
            else:
                self.head = batch
        return rejected

    def go_on(self, place: int) -> list[RejectedRecord]:
        """Release the edges before a place; return the rejected part of their record, if they were the last."""
        self.place = place
        return self._release() if place == len(self.times) else []

    def _checked(self, record: Record) -> _Waiting:
        try:
            header = ordered.header(record.headers)
        except PoisonRecordError as error:
            return _Waiting(record, None, (Refused(ErrorCode.MALFORMED, error.reason, record.value or b""),))
        if header.unit is self._decoder.unit:
            return _Waiting(record, header, ())
        reason = f"times in {header.unit.value}, where those of merged streams are in {self._decoder.unit.value}"
        return _Waiting(record, None, (Refused(ErrorCode.MALFORMED, reason, record.value or b""),))

    def _decoded(self, waiting: _Waiting, passed: Instant) -> EdgeBatch | None:
        """Return the edges of a record, with `place` at the first that goes out; None if none does."""
        header, value = waiting.header, waiting.record.value or b""
        self._refused = list(waiting.refused)
        if header is None or not header.records:
            return None
        try:
            batch, bad = self._decoder.decode(value)
        except UnreadableStreamError as error:
            self._refused.append(Refused(ErrorCode.MALFORMED, str(error), value))
            return None
        self._refused += bad
        if self._part is not None:
            batch = batch.divide("src", self._part.parts)[self._part.number]
        self.times = batch.ts
        if self.times != sorted(self.times):
            self._refused.append(Refused(ErrorCode.MALFORMED, "its edges are not in order of time", value))
            return None
        self.place += self._late(header, passed, value)
        if self.place >= len(self.times):
            return None
        self._reached = Instant(header.epoch, self.times[self.place])
        self.traced = header.traces if len(batch) == header.records else ()
        return batch

    def _late(self, header: OrderedHeader, passed: Instant, value: bytes) -> int:
        """Return how many edges from the place on come too late, after rejecting them."""
        times = self.times
        if self.place >= len(times) or Instant(header.epoch, times[self.place]) >= passed:
            return 0
        late = (bisect_left(times, passed.ts) if header.epoch == passed.epoch else len(times)) - self.place
        reason = (
            f"{late} of its {len(times)} edges are earlier than what has gone out of the merged stream: epoch {passed.epoch}, "
            f"time {passed.ts}; streams that are merged are reset together"
        )
        self._refused.append(Refused(ErrorCode.LATE, reason, value))
        return late

    def _release(self) -> list[RejectedRecord]:
        """Release the first record; return its rejected part."""
        first = self._waiting.popleft()
        self._bytes -= first.size
        self._edges -= 0 if first.header is None else first.header.records
        self._reached = max(self._reached, first.reported)
        rejected = [RejectedRecord(first.record, refused) for refused in self._refused]
        self.head, self.times, self.traced, self.place, self._refused = None, [], (), 0, []
        return rejected
