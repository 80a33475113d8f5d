"""The stream of a view: its results as ordered edges of a stream with the view's name.

`graphtide_core.result_edges` defines the edge of a result, and when it comes and is deleted. The host writes edges in the
transaction of the matches that they follow from. Its last record has the stream's progress. The edge of a withdrawn result is
in the records of its lookback. That is the longest of the patterns that read the stream, and the view's own, for later readers.
Older results are not deleted, since no reader has them any more. So a host that comes back continues as the one did that was
killed.
Invariant: within an epoch times never go back; the ids of two edges differ, and begin with the id of their result. If times of
the view's own stream begin anew, so do those of the view's, and readers learn it at once. A reader of both waits for both.
Cost: a look-up an edge, and what expires; memory: the edges of the lookback.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import closing
from dataclasses import dataclass, field
from itertools import dropwhile
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import structlog
from graphtide_core.errors import PoisonRecordError, UnreadableStreamError
from graphtide_core.match import MatchKind
from graphtide_core.result_edges import edge_id
from graphtide_core.time import MIN_EVENT_TIME, EventTime
from graphtide_log.window_log import Instant, between, first_since, last_before, last_numbered
from graphtide_native.records import ArrowDecoder, JsonLinesDecoder, Symbols, ticks_per_second
from graphtide_ordering.heartbeats import LastRecord
from graphtide_ordering.ordered_records import Packing, Stretch
from graphtide_ordering.tracing import Onward
from graphtide_telemetry import events
from graphtide_wire import ordered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ports.log import LogReader, Message, TopicPartition
    from graphtide_core.time import TimeUnit
    from graphtide_native.match_batch import EncodedMatch
    from graphtide_native.records import EdgeBatch
    from graphtide_wire.ordered import OrderedHeader

_LOG = structlog.get_logger()

_ID: Final = 32
"""Characters of a result's id."""

_READ_KINDS: Final = (MatchKind.MATCH, MatchKind.RETRACT)
"""The kinds of reports that a view's stream takes."""


class _Result(msgspec.Struct):
    """The part of a match record that describes a result as an edge."""

    src: str
    dst: str
    label: str
    valid: tuple[int, int | None]


class _Edge(NamedTuple):
    """The edge of a result: its id, its time, and how many edges came before it."""

    id: str
    ts: int
    number: int


class ViewLookback(NamedTuple):
    """How far back a stream is read: in ticks, while ts > now - ticks, one at least; and how many of the newest edges."""

    ticks: int
    edges: int


@dataclass(slots=True)
class ViewStream:
    """The stream of a view, as far as it is written.

    Attributes:
        topic: of its ordered edges.
        unit: what its times count.
        lookback: of its readers, at the time when this was made.
        ordinal: how many records of edges there are.
        number: how many edges, deletions not counted.
        epoch: of the stream.
        source_epoch: of the stream that the view reads; the newest edges follow from it. None before the first.
        newest: time of the newest edge of the epoch.
        passed: no edge of the epoch before this time follows, as readers know.
        too_large: edges that no record takes, to be rejected.
    """

    topic: str
    unit: TimeUnit
    lookback: ViewLookback
    ordinal: int = 0
    number: int = 0
    epoch: int = 0
    source_epoch: int | None = None
    newest: int = MIN_EVENT_TIME
    passed: int = MIN_EVENT_TIME
    too_large: list[bytes] = field(default_factory=list)
    _edges: OrderedDict[str, _Edge] = field(default_factory=OrderedDict)

    @classmethod
    def read(cls, reader: LogReader, partition: TopicPartition, unit: TimeUnit, lookback: ViewLookback) -> ViewStream:
        """Return the stream as the log has it; records that another process wrote, and that cannot be read, are passed over.

        Complexity: O(log records) reads, and those of the lookback.

        Raises:
            TransientError: the log does not answer.
        """
        stream = cls(partition.topic, unit, lookback)
        end = reader.ends([partition])[partition][1]
        last = last_before(reader, partition, end)
        if last is None:
            return stream
        stream.epoch, stream.source_epoch = last.epoch, last.source_epoch
        start = first_since(reader, partition, Instant(last.epoch, last.last_ts).back(lookback.ticks), end)
        if lookback.edges and last.number is not None:
            counted = last_numbered(reader, partition, max(0, last.number - lookback.edges), 0, end)
            start = min(start, counted)
        decoder = ArrowDecoder(Symbols(), (), {}, ticks_per_second(unit))
        with closing(between(reader, partition, start, end)) as records:
            for record in records:
                try:
                    header = ordered.header(record.headers)
                    stream._recall(header, decoder.decode(record.value or b""))
                except (UnreadableStreamError, PoisonRecordError) as error:
                    _LOG.warning(events.ORDERED_UNREADABLE, error=str(error), topic=record.topic, offset=record.offset)
        return stream

    def emit(self, header: OrderedHeader, matches: Iterable[EncodedMatch]) -> list[Message]:
        """Return the ordered records that follow from a record of the view's own stream, which has this header."""
        matches = [match for match in matches if match.kind in _READ_KINDS]
        if not matches:
            return []
        goes_on = self.source_epoch == header.epoch and matches[0].detected_at >= self.newest
        if not goes_on:
            # The epoch begins with the first result. What is withdrawn before it is of an earlier epoch, as its edge is.
            matches = list(dropwhile(lambda match: match.kind is not MatchKind.MATCH, matches))
            if not matches:
                return []
            goes_on = not self._begin(header.epoch)
        lines = [line for match in matches if (line := self._line(match)) is not None]
        if not lines:
            return []
        decoder = JsonLinesDecoder(Symbols(), (), {})
        decoder.start_at(self.ordinal)
        batch = decoder.decode(b"".join(lines))
        watermark = max(header.watermark, self.newest)
        stretch = Stretch(self.epoch, not goes_on, [batch], watermark, self.number - batch.edges)
        messages, packed, too_large = self._packing(header.epoch).pack([stretch], self.ordinal, Onward())
        self.ordinal += packed
        self.too_large += (each.raw for each in too_large)
        self.passed = self.newest
        return messages

    def pass_time(self, header: OrderedHeader) -> list[Message]:
        """Return a heartbeat for readers if they do not know the watermark of the view's own stream."""
        begins = header.epoch != self.source_epoch and self._begin(header.epoch)
        if not begins and header.watermark <= self.passed:
            return []
        self.passed = header.watermark
        last_record = LastRecord(self.epoch, self.newest, self.passed)
        return [self._packing(header.epoch).heartbeat(last_record, self.passed, self.ordinal, self.number)]

    def _begin(self, source_epoch: int) -> bool:
        """Begin an epoch, since times do not continue from those before; the first is that of the view's own stream.

        Returns:
            Whether readers need a heartbeat.
        """
        self.epoch = source_epoch if self.source_epoch is None else self.epoch + 1
        self.source_epoch = source_epoch
        self.newest = self.passed = MIN_EVENT_TIME
        self._edges.clear()
        return self.epoch > 0

    def _line(self, match: EncodedMatch) -> bytes | None:
        """Return the edge of a match as a line of JSON, or the deletion of its edge; None if it is neither."""
        if match.kind is MatchKind.MATCH:
            last_record = msgspec.json.decode(match.json, type=_Result)
            id = edge_id(match.match_id, match.detected_at, match.nth)
            self._insert(_Edge(id, match.detected_at, self.number))
            return _line(
                {"ts": match.detected_at, "src": last_record.src, "dst": last_record.dst, "label": last_record.label, "id": id}
            )
        if match.kind is MatchKind.RETRACT:
            last_record = msgspec.json.decode(match.json, type=_Result)
            edge = self._edges.pop(match.match_id, None) if last_record.valid[0] == match.detected_at else None
            if edge is not None and self._is_read(edge, match.detected_at):
                self.newest = match.detected_at
                return _line({"ts": match.detected_at, "op": "delete", "id": edge.id})
        return None

    def _insert(self, edge: _Edge) -> None:
        """Note the edge of a result, and forget those that no reader has any more."""
        self._edges.pop(edge.id[:_ID], None)
        self._edges[edge.id[:_ID]] = edge
        self.newest, self.number = edge.ts, edge.number + 1
        while not self._is_read(next(iter(self._edges.values())), self.newest):
            self._edges.popitem(last=False)

    def _is_read(self, edge: _Edge, now: int) -> bool:
        """Whether a reader may have an edge still."""
        return edge.ts > now - self.lookback.ticks or edge.number >= self.number - self.lookback.edges

    def _recall(self, header: OrderedHeader, batch: EdgeBatch) -> None:
        """Take the records that are written already."""
        if header.epoch != self.epoch:
            # The edge is of an epoch before the last.
            return
        self.number = header.number or 0
        for record in batch.to_records():
            self.newest = record["ts"]
            if record.get("op") == "delete":
                self._edges.pop(record["id"][:_ID], None)
            else:
                self._insert(_Edge(record["id"], record["ts"], self.number))
        self.ordinal = header.ordinal + header.records
        self.newest = max(self.newest, header.last_ts)
        self.passed = max(self.newest, header.watermark)

    def _packing(self, source_epoch: int) -> Packing:
        return Packing(self.topic, self.unit, source_epoch=source_epoch)


def _line(edge: dict[str, EventTime | int | str]) -> bytes:
    return msgspec.json.encode(edge) + b"\n"
