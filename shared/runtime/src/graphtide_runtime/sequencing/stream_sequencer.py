"""The order of one stream, out of raw records of many partitions, so that it can go on after a crash as if there had been none.

Edges leave in the order of (time, arrival). The watermark is how far the slowest source is, less the lateness; it goes further
by itself in two cases: when all sources are idle, past everything, and when too many edges wait, as far as it takes.

Why no edge is lost and none goes twice:

1. What is committed together is a list of edges that go out, dead letters, and for each partition a position with what
   `Remembered` holds. So the state after a crash is that after some commit, and what was read since then did not happen.
2. At a commit with watermark W, an edge read before has gone out, was dropped as a duplicate or was put aside if its time is
   at most W, and waits if it is greater. For the watermark alone lets edges go, all of one time together, and an edge is late
   only if it is before the watermark, which never goes back. The cases in which it goes further by itself are no exception:
   they move the watermark first.
3. After a crash, records from the position to `next` are read again (`replay`). Edges up to W are dropped, with all letters:
   the commit had them. The others wait again. Then reading goes on at `next`.
4. Nothing waits before the position, so nothing that waits is missed.

What is read again comes in the order of its partition with its own ordinals, before anything new. So with one partition the
output is the same as without a crash, edge by edge. With several, edges of equal times from different partitions may change
places, as they might have anyway.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core.time import MIN_EVENT_TIME
from graphtide_native.records import Sequencer, take_dead_letters
from graphtide_wire.dead_letters import ErrorCode

from graphtide_runtime.sequencing.positions import PartitionPosition
from graphtide_runtime.sequencing.progress import FrozenProgress, Progress
from graphtide_runtime.sequencing.raw_decoding import RawDecoder, Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.ports.log import Position, Record, TopicPartition
    from graphtide_native.records import Duplicates, EdgeBatch

    from graphtide_runtime.sequencing.positions import Remembered
    from graphtide_runtime.sequencing.raw_decoding import Decoded

ORDINALS_OF_A_PARTITION: Final = 2**40
"""Each partition numbers edges without id from its own number times this, so that no two edges get one number."""


_BEHIND: Final = 10
"""How many times longer a silent source is waited for while not everything was read."""


@dataclass(frozen=True, slots=True)
class Ordering:
    """How a stream is put in order.

    Attributes:
        lateness: ticks by which an edge may come later than one that is newer.
        idle_seconds: a source that is silent for so long is not waited for.
        most_pending: edges that may wait.
    """

    lateness: int = 0
    idle_seconds: float = 5.0
    most_pending: int = 1 << 20


@dataclass(frozen=True, slots=True)
class PutAside:
    """A part of a raw record for the dead letters."""

    record: Record
    decoded: Decoded
    refused: Refused


@dataclass(slots=True)
class Output:
    """What is to go out in one transaction."""

    batches: list[EdgeBatch] = field(default_factory=list)
    put_aside: list[PutAside] = field(default_factory=list)
    edges: int = 0
    raw_bytes: int = 0
    """Bytes of the records read for it, as a measure of its size."""
    traceparent: str | None = None


class FrozenSequencer(msgspec.Struct, frozen=True):
    """All that a sequencer knows but the edges that wait.

    Attributes:
        places: of each partition, the offset and the ordinal to read next.
        progress: of the sources.
        watermark: no earlier edge will go out; None before the first.
        bound: what the watermark counts with at most; None if with the times as they are.
        ordered: edges that went out.
    """

    places: dict[str, tuple[int, int]] = {}
    progress: FrozenProgress = FrozenProgress()
    watermark: int | None = None
    bound: int | None = None
    ordered: int = 0


class StreamSequencer:
    """Puts one stream in order."""

    def __init__(self, ordering: Ordering) -> None:
        """Start before the first record; call `restore` for every partition, `replay`, then `open`."""
        self._ordering = ordering
        self._sequencer = Sequencer(ordering.lateness, 2**62)
        self._bound: int | None = None
        self._decoder = RawDecoder()
        self._duplicates: Duplicates | None = None
        self._progress = Progress()
        self._partitions: dict[int, PartitionPosition] = {}
        self._again: dict[int, Remembered] = {}
        self._newest: int | None = None
        self._ordered = 0
        self._output = Output()
        self._settled: int | None = None

    @property
    def output(self) -> Output:
        """What is to go out since the last `take`."""
        return self._output

    @property
    def pending(self) -> int:
        """Edges that wait."""
        return self._sequencer.pending

    @property
    def watermark(self) -> int | None:
        """No earlier edge will go out; None before the first."""
        return self._sequencer.watermark

    @property
    def ordered(self) -> int:
        """Edges that went out so far, as told by `count_out`."""
        return self._ordered

    def count_out(self, edges: int) -> None:
        """Note that so many edges of the output go out."""
        self._ordered += edges

    @property
    def next(self) -> dict[int, int]:
        """The offset to read next in each partition."""
        return {number: place.next for number, place in self._partitions.items()}

    def restore(self, partition: int, found: Remembered | None) -> None:
        """Know a partition as a commit left it; None if nothing of it was ever committed."""
        if found is None:
            self._partitions[partition] = PartitionPosition(0, partition * ORDINALS_OF_A_PARTITION)
            return
        self._partitions[partition] = PartitionPosition(0, found.ordinal)
        self._again[partition] = found
        self._progress.restore(partition, found.sources)
        self._ordered = max(self._ordered, found.ordered)
        if found.watermark is not None:
            self._settled = found.watermark if self._settled is None else max(self._settled, found.watermark)

    def replay(self, record: Record) -> None:
        """Take again a record between a position and the `next` that was remembered there."""
        self.replay_decoded(record, self._decoder.decode(record, self._partitions[record.partition].ordinal))

    def replay_decoded(self, record: Record, decoded: Decoded) -> None:
        """Do as `replay` with a record that was decoded before."""
        self._hold()
        newest = self._note(record, decoded)
        if newest is None or decoded.edges is None:
            return
        self._newest = newest if self._newest is None else max(self._newest, newest)
        waiting = decoded.edges if self._settled is None else decoded.edges.later_than(self._settled)
        if len(waiting):
            self._sequencer.push(waiting)

    def open(self, unread: set[int], now: float) -> None:
        """Go on after the last `replay`; `unread` are the partitions that have more records."""
        self._hold()
        for partition, found in self._again.items():
            self._partitions[partition].next = found.next
        known = [time for time in (self._settled, self._newest) if time is not None]
        self._progress.open(unread, max(known, default=None), now)

    def filter_with(self, duplicates: Duplicates) -> None:
        """Drop duplicates with this filter from now on; it knows what went out."""
        self._duplicates = duplicates

    def take(self, record: Record, now: float) -> None:
        """Take the next record of a partition."""
        self.take_decoded(record, self._decoder.decode(record, self._partitions[record.partition].ordinal), now)

    def take_decoded(self, record: Record, decoded: Decoded, now: float) -> None:
        """Do as `take` with a record that was decoded before, from the ordinal on that `ordinal_of` told."""
        self._output.put_aside += [PutAside(record, decoded, refused) for refused in decoded.refused]
        self._output.raw_bytes += len(record.value or b"")
        self._output.traceparent = decoded.traceparent or self._output.traceparent
        newest = self._note(record, decoded)
        if newest is None or decoded.edges is None:
            return
        name = self._progress.name_of(decoded.producer, record.partition)
        self._set_bound(self._progress.bound_for(name, record.partition))
        self._release(self._sequencer.push(decoded.edges))
        self._put_late_aside(record, decoded)
        self._progress.advance(name, record.partition, newest, now)
        if self._bound is not None:
            self._set_bound(self._progress.bound)
        if self.pending > self._ordering.most_pending:
            self._release(self._sequencer.relieve(self._ordering.most_pending))

    def look_around(self, now: float, *, at_end: bool) -> None:
        """Let time pass: forget idle sources; `at_end` tells that there is nothing more to read now.

        While there is, a source may have spoken and not been heard, because the sequencer was slow; so it gets more time.
        """
        if at_end:
            self._progress.nothing_unread()
        patience = self._ordering.idle_seconds * (1 if at_end else _BEHIND)
        forgotten = self._progress.forget_idle(now, patience)
        if self._progress.is_quiet:
            if (forgotten or self.pending) and self._progress.newest is not None:
                self._release(self._sequencer.settle(self._progress.newest))
        elif self._bound is not None:
            self._set_bound(self._progress.bound)

    def positions(self, topic_partitions: Mapping[int, TopicPartition]) -> dict[TopicPartition, Position]:
        """Return what to commit with the output."""
        return {
            topic_partitions[number]: place.position(self.watermark, self._ordered, self._progress.of_partition(number))
            for number, place in self._partitions.items()
        }

    def ordinal_of(self, partition: int) -> int:
        """Return the ordinal of the next edge of a partition; one that was not known begins."""
        if partition not in self._partitions:
            self.restore(partition, None)
        return self._partitions[partition].ordinal

    def counts_one_by_one(self, producer: str | None, partition: int) -> bool:
        """Whether the next record of this source may be taken as one with those that follow it: there is no other source."""
        return self._progress.bound_for(self._progress.name_of(producer, partition), partition) is None

    def newest_of(self, producer: str | None, partition: int) -> int | None:
        """Return how far a source has come; None if it is not known."""
        return self._progress.newest_of(self._progress.name_of(producer, partition))

    def freeze(self) -> FrozenSequencer:
        """Return all that is known but the edges that wait, whose times are past the watermark."""
        for place in self._partitions.values():
            place.forget(self.watermark)
        places = {str(number): (place.next, place.ordinal) for number, place in self._partitions.items()}
        return FrozenSequencer(places, self._progress.freeze(), self.watermark, self._bound, self._ordered)

    def thaw(self, frozen: FrozenSequencer, waiting: Iterable[tuple[Record, Decoded]]) -> None:
        """Become, from the start, who was frozen: as if there had been no break.

        `waiting` are all records, in the order in which they were taken, of which edges wait.
        """
        self._settled = frozen.watermark
        for record, decoded in waiting:
            self.ordinal_of(record.partition)
            self.replay_decoded(record, decoded)
        self._hold()
        self._partitions = {int(number): PartitionPosition(*place) for number, place in frozen.places.items()}
        self._progress.thaw(frozen.progress)
        self._ordered = frozen.ordered
        self._set_bound(frozen.bound)

    def take_output(self) -> Output:
        """Return the output, and start another."""
        taken, self._output = self._output, Output()
        return taken

    def _note(self, record: Record, decoded: Decoded) -> int | None:
        """Count the record as read; return the greatest time in it, None if it has no edge."""
        newest = max(decoded.edges.ts) if decoded.edges is not None and len(decoded.edges) else None
        self._partitions[record.partition].read(record.offset, decoded.ordinals, newest)
        return newest

    def _hold(self) -> None:
        """Keep the watermark where the last commit had it."""
        if self._bound != MIN_EVENT_TIME:
            self._set_bound(MIN_EVENT_TIME)
            if self._settled is not None:
                self._sequencer.settle(self._settled)

    def _set_bound(self, bound: int | None) -> None:
        if bound != self._bound:
            self._bound = bound
            self._release(self._sequencer.advance(bound))

    def _put_late_aside(self, record: Record, decoded: Decoded) -> None:
        for letter in take_dead_letters(self._sequencer):
            refused = Refused(ErrorCode.LATE, letter.reason, letter.raw, letter.line + decoded.lines_before)
            self._output.put_aside.append(PutAside(record, decoded, refused))

    def _release(self, batch: EdgeBatch | None) -> None:
        """Add to the output what is no duplicate."""
        if batch is None or not len(batch):
            return
        kept = batch if self._duplicates is None else self._duplicates.filter(batch)
        if len(kept):
            self._output.batches.append(kept)
            self._output.edges += len(kept)
