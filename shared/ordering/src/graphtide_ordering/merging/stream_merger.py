"""Merge several ordered streams into one, ordered by (epoch, time, name of the stream), then as in each stream.

That order follows from the streams alone, not from the order of reading. An edge goes out when every other stream is known to
be past it. A stream's progress is its next edge, or else the watermark of its last record, edge or heartbeat: what comes next
is not earlier. So when a stream is waited for at its time T, edges before T go out. So do those at T of streams whose names
sort before. A stream in a later epoch is past all edges of the earlier one; so an epoch begins when all have begun it.

Why no edge is lost and none goes twice: what goes out is a prefix of that order. It is committed with how much of each stream
is in it, an offset and how many edges of the record there. Reading from there gives the rest in the same order. How far a
stream said that it was is committed too, since its heartbeats are not read again.

Nothing earlier than the output, or than the published watermark, goes out later. If a stream goes back, as one that was deleted
and made again, such edges are rejected as late.

Cost: an edge is decoded once, compared once with each stream and copied once. Memory: what waits of streams that are ahead,
which the caller bounds by reading no more of those that `is_full` names.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from graphtide_core.merged_streams import logical_stream, part_in, whole_of
from graphtide_core.time import MAX_EVENT_TIME, MIN_EVENT_TIME
from graphtide_log.window_log import Instant
from graphtide_native.records import EdgeBatch

from graphtide_ordering.merging.merged_position import MergedPosition
from graphtide_ordering.merging.source_stream import START, OrderedDecoder, RejectedRecord, SourceStream
from graphtide_ordering.ordered_records import GoingOut, Stretch
from graphtide_ordering.traces import Traces

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Position, Record
    from graphtide_core.time import TimeUnit

MOST_WAITING_BYTES: Final = 16 * 1024 * 1024
"""Bytes of a stream's records that wait before no more is read of it."""

MOST_WAITING_RECORDS: Final = 4_096
"""Records likewise: small ones take more than their bytes."""


@dataclass(slots=True)
class Merged(GoingOut[RejectedRecord]):
    """The output of a merger.

    Attributes:
        traces: of its edges, whose ordinals are their places since the merger began, where there are some.
    """

    traces: Traces = field(default_factory=Traces)


class StreamMerger:
    """Merges streams."""

    def __init__(self, streams: Sequence[StreamName], unit: TimeUnit, by_vertex: Collection[StreamName] = ()) -> None:
        """Start before the first record of each; call `restore` before the first is taken.

        Parts of the streams that are divided `by_vertex` have an edge twice; it is taken from the part of its source.
        """
        decoder = OrderedDecoder(streams, unit)
        self._sources = {
            name: SourceStream(name, decoder, part_in(name) if whole_of(name) in by_vertex else None)
            for name in sorted(streams)
        }
        self._passed = START
        self._epoch = self._ordered = self._numbered = self._placed = 0
        self._output = Merged()

    def restore(self, stream: StreamName, offset: int, found: MergedPosition) -> None:
        """Set a stream to the state of a commit."""
        self._sources[stream].start_at(offset, found.rows, found.instant)
        self.resume(Instant(*found.passed), found.ordered, found.numbered)

    def start_at(self, stream: StreamName, offset: int) -> None:
        """Read a stream without a committed position from an offset on."""
        self._sources[stream].start_at(offset)

    def resume(self, passed: Instant, ordered: int, numbered: int) -> None:
        """Note that at least so much of the merged stream went out."""
        self._passed = max(self._passed, passed)
        self._ordered, self._numbered = max(self._ordered, ordered), max(self._numbered, numbered)
        self._epoch = self._passed.epoch
        self._output.stretches = [Stretch(self._epoch)]

    @property
    def output(self) -> Merged:
        """The output since the last `take_output`."""
        return self._output

    @property
    def next(self) -> dict[StreamName, int]:
        """The offset to read next of each stream."""
        return {name: source.next for name, source in self._sources.items()}

    @property
    def epoch(self) -> int:
        """Of the merged stream."""
        return self._epoch

    @property
    def watermark(self) -> int | None:
        """No earlier edge of the epoch will go out; None before its first."""
        slowest = min(source.reached for source in self._sources.values())
        known = max(slowest, self._passed) if slowest.epoch == self._epoch else self._passed
        return None if known.ts == MIN_EVENT_TIME else known.ts

    @property
    def newest(self) -> int | None:
        """How far the stream is that is furthest in the epoch; None if that is not known of any."""
        newest = max(source.newest for source in self._sources.values())
        return None if newest.epoch != self._epoch or newest.ts == MIN_EVENT_TIME else newest.ts

    @property
    def ordered(self) -> int:
        """Edges that went out so far, by `count_out`."""
        return self._ordered

    @property
    def numbered(self) -> int:
        """Edges released so far, deletions not counted: the number of the next one."""
        return self._numbered

    @property
    def pending(self) -> int:
        """Edges that wait."""
        return sum(source.edges for source in self._sources.values())

    def is_full(self, stream: StreamName) -> bool:
        """Whether enough of a stream waits: it is ahead of others."""
        source = self._sources[stream]
        return source.held_bytes >= MOST_WAITING_BYTES or source.records >= MOST_WAITING_RECORDS

    def take(self, stream: StreamName, record: Record) -> None:
        """Take the next record of a stream."""
        self._sources[stream].take(record)
        self._output.records += 1

    def step(self) -> bool:
        """Release the edges that may go out, up to the end of the first record at hand; return whether any did."""
        for source in self._sources.values():
            self._output.rejected += source.open(self._passed)
        epoch = min(source.reached.epoch for source in self._sources.values())
        if epoch > self._epoch:
            self._begin(epoch)
        going: list[SourceStream] = []
        heads: list[tuple[EdgeBatch, int, int | None, str]] = []
        for source in self._sources.values():
            if source.head is None or source.reached.epoch != epoch:
                continue
            bound = min(self._bounds(source), default=None)
            if bound is None or source.reached.ts < bound:
                going.append(source)
                heads.append((source.head, source.place, bound, logical_stream(source.name)))
        if not going:
            return False
        merged, places = EdgeBatch.merged(heads)
        self._note_traces(going, places)
        self._let_out(merged)
        for source, place in zip(going, places, strict=True):
            self._output.rejected += source.go_on(place)
        return True

    def count_out(self, edges: int) -> None:
        """Note that so many edges of the output go out."""
        self._ordered += edges

    def take_output(self) -> Merged:
        """Return the output, and start another."""
        watermark = self.watermark
        taken, self._output = self._output, Merged([Stretch(self._epoch)])
        taken.stretches[-1].watermark = watermark
        if watermark is not None:
            self._passed = max(self._passed, Instant(self._epoch, watermark))
        if not taken.traces.is_empty:
            self._number(taken)
        return taken

    def positions(self) -> dict[StreamName, Position]:
        """Return what to commit with the output that was taken."""
        return {name: self._position(source) for name, source in self._sources.items()}

    def _position(self, source: SourceStream) -> Position:
        offset, rows = source.position
        epoch, reached = source.reached
        passed = (self._passed.epoch, self._passed.ts)
        return MergedPosition(rows, epoch, reached, self._ordered, self._numbered, passed).at(offset)

    def _begin(self, epoch: int) -> None:
        """Begin an epoch, which all streams have begun."""
        self._epoch = epoch
        self._passed = max(self._passed, Instant(epoch, MIN_EVENT_TIME))
        self._output.stretches.append(Stretch(epoch, begins=True, number=self._numbered))

    def _bounds(self, source: SourceStream) -> Iterator[int]:
        """Yield, for each stream without an edge at hand, the time since which edges of another wait for it."""
        for other in self._sources.values():
            if other.head is not None or other.reached.epoch != source.reached.epoch:
                continue
            if source.name > other.name:
                yield other.reached.ts
            elif other.reached.ts < MAX_EVENT_TIME:
                yield other.reached.ts + 1

    def _let_out(self, merged: EdgeBatch) -> None:
        stretch = self._output.stretches[-1]
        stretch.number = stretch.number if stretch.batches else self._numbered
        stretch.batches.append(merged)
        self._numbered += merged.edges
        self._placed += len(merged)
        self._output.edges += len(merged)
        last = merged.last_ts
        if last is not None:
            self._passed = max(self._passed, Instant(self._epoch, last))

    def _note_traces(self, sources: Sequence[SourceStream], ends: Sequence[int]) -> None:
        """Note the places of traced edges among the merged ones, which are of these streams, each up to its end."""
        for source, end in zip(sources, ends, strict=True):
            for run in source.traced:
                rows = range(max(run.first, source.place), min(run.first + run.rows, end))
                places = [self._placed + _place(source, row, sources, ends) for row in rows]
                for first, count in _runs(places):
                    self._output.traces.note(run.traceparent, first, count, source.times[rows[-1]])

    def _number(self, taken: Merged) -> None:
        """Let the ordinals of edges be their places, as traces know them."""
        first = self._placed - taken.edges
        for stretch in taken.stretches:
            for number, batch in enumerate(stretch.batches):
                stretch.batches[number] = batch.placed(first)
                first += len(batch)


def _runs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the runs of consecutive numbers in rising places: the first of each run, and its length."""
    begun = 0
    for row in range(1, len(places) + 1):
        if row == len(places) or places[row] != places[row - 1] + 1:
            yield places[begun], row - begun
            begun = row


def _place(source: SourceStream, row: int, sources: Sequence[SourceStream], ends: Sequence[int]) -> int:
    """Return the place of a stream's row among what is merged. Complexity: O(streams · log rows)."""
    ts, place = source.times[row], 0
    for other, end in zip(sources, ends, strict=True):
        if other is source:
            place += row - source.place
        else:
            before = bisect_right if other.name < source.name else bisect_left
            place += before(other.times, ts, other.place, end) - other.place
    return place
