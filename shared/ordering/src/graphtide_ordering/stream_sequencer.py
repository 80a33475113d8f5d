"""The order of one stream, out of raw records of many partitions, so that it can continue after a crash as if without one.

Edges leave in the order of (time, arrival). The watermark is how far the slowest source is, less the lateness. It goes further
by itself in three cases. When all sources are idle, it goes past everything. Under a live clock it then advances by the time
that passed since a source spoke, less the timeout and the lateness. When too many edges wait, it goes as far as it takes.

Why no edge is lost and none goes twice:

1. A commit has a list of edges that go out, dead letters, and for each partition a position with a `Remembered`. So the state
   after a crash is that after some commit, and reads since then did not happen.
2. At a commit with watermark W, an edge read before waits if its time is greater than W. Otherwise it has gone out, was dropped
   as a duplicate or was rejected. Only the watermark releases edges, all of one time together. An edge is late only if it is
   before the watermark, which never goes back. When it goes further by itself, the same holds: those cases move the watermark
   first.
3. After a crash, records from the position to `next` are read again (`replay`). Edges up to W are dropped, with all letters:
   the commit had them. The others wait again. Then reading continues at `next`.
4. No edge waits before the position, so no waiting edge is missed.

A stream has epochs. A reset, which is a raw record, ends the epoch that it names if that is the current one. The watermark goes
as far as the newest edge, so all that waits goes out. Then everything that was known of times is forgotten. The next epoch
begins as the stream did, with no watermark. The argument holds in each epoch by itself, and from one to the next:

5. At a reset nothing waits, so every partition's position is its `next`. A position committed later is not before that. So what
   is read again is all of the epoch of the commit, and a reset among it is one that ended nothing.
6. The epoch is committed with the positions, so a reset that was committed is not read again. One that was read again after a
   crash finds the epoch that it names. Sent twice, the second names an epoch that is over, at any place in the log.
7. Of positions that were committed by different transactions the greatest (epoch, watermark) holds: neither ever goes back.

A stream may have a statement, which says how records become edges. Another version of it holds from the record that each
partition reads next when the sequencer learns of it:

8. The versions that read the records from the position on, and where each begins, are committed with the position. So a record
   is read again by the version that read it, and gives the same edges with the same ordinals.

Features are added to what goes out, behind the filter of duplicates, and so is what EMIT gives of windows of time:

9. The value of a feature follows from the edges that went out within its window. So a sequencer that has seen these again, in
   the ordered stream, gives what is released again the same values. An edge that is too large to go out counts all the same
   until then.
10. What EMIT gives of a window follows from the edges in it. At a commit with watermark W, the windows that end at most at W
    have been closed, and no others. The first edge that goes out past its end closes a window, or else the watermark. So a
    sequencer that has seen the edges again closes those that end at most at W without giving anything.

So times never go back within an epoch, and (epoch, time) never goes back at all. Ordinals and places count on.

What is read again comes in the order of its partition with its own ordinals, before anything new. So with one partition the
output is the same as without a crash, edge by edge. With several, edges of equal times from different partitions may change
places, as they might have anyway.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from graphtide_core.duplicate_policy import DuplicatePolicy
from graphtide_core.errors import FatalError
from graphtide_core.suggestion import show
from graphtide_core.time import MAX_EVENT_TIME, MIN_EVENT_TIME
from graphtide_native.records import Duplicates, Sequencer, take_dead_letters
from graphtide_wire.dead_letters import ErrorCode

from graphtide_ordering.frozen_sequencer import FrozenSequencer
from graphtide_ordering.ordered_records import Stretch
from graphtide_ordering.positions import PartitionPosition
from graphtide_ordering.progress import Progress
from graphtide_ordering.raw_decoding import RawDecoder, Refused
from graphtide_ordering.raw_groups import group_records
from graphtide_ordering.sequencer_output import RejectedPart, SequencerOutput
from graphtide_ordering.stream_progress import Counted, FirstRejected, StreamProgress
from graphtide_ordering.traces import Traces
from graphtide_ordering.verdicts import Verdicts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphtide_core.ports.log import Position, Record, TopicPartition
    from graphtide_native.features import StreamFeatures
    from graphtide_native.records import EdgeBatch

    from graphtide_ordering.ordered_records import TooLarge
    from graphtide_ordering.ordering import Ordering
    from graphtide_ordering.positions import Remembered
    from graphtide_ordering.raw_decoding import Decoded, Piece
    from graphtide_ordering.raw_groups import RawGroups
    from graphtide_ordering.statements import Statement

ORDINALS_OF_A_PARTITION: Final = 2**40
"""Each partition numbers edges without id from its own number times this, so that no two edges get one number."""


_BEHIND: Final = 10
"""How many times longer a silent source is waited for while not everything was read."""


class StreamSequencer:
    """Puts one stream in order.

    Attributes:
        traces: which of its edges are traced.
        verdicts: which of its records are awaited.
    """

    def __init__(self, ordering: Ordering, *, is_part: bool = False) -> None:
        """Start before the first record; call `restore` for every partition, `replay`, then `open`.

        Records of a part of a stream were divided before, group by group, and are taken so.
        """
        self._ordering = ordering
        self._is_part = is_part
        self._decoder = RawDecoder(ordering.ahead)
        self._statements: Mapping[int, Statement] = {}
        self._duplicates: Duplicates | None = None
        self._windows = (0, 0)
        self._features: StreamFeatures | None = None
        self._partitions: dict[int, PartitionPosition] = {}
        self._again: dict[int, Remembered] = {}
        self._ordered = self._numbered = 0
        self._output = SequencerOutput()
        self.traces = Traces()
        self.verdicts = Verdicts()
        self._start(0)

    def _start(self, epoch: int) -> None:
        """Forget all times."""
        self._epoch = epoch
        self._sequencer = Sequencer(self._ordering.lateness, 2**62)
        self._bound: int | None = None
        self._progress = Progress()
        self._newest: int | None = None
        self._settled: int | None = None
        self._counted = self._recent = Counted()
        self._first: FirstRejected | None = None

    @property
    def newest(self) -> int | None:
        """Time of the newest edge read; None before the first."""
        return self._progress.newest

    @property
    def output(self) -> SequencerOutput:
        """The output since the last `take`."""
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
    def epoch(self) -> int:
        """How often times began anew."""
        return self._epoch

    @property
    def stream_progress(self) -> StreamProgress:
        """The progress of the stream."""
        lateness = self._ordering.lateness
        return StreamProgress(
            self._epoch, self.watermark, self.newest, self._counted, self._recent, lateness, self._decoder.left_out, self._first
        )

    @property
    def duplicates(self) -> Duplicates | None:
        """The filter that drops duplicates in this epoch."""
        return self._duplicates

    @property
    def ordered(self) -> int:
        """Edges that went out so far, by `count_out`."""
        return self._ordered

    @property
    def numbered(self) -> int:
        """Edges of the stream released so far, deletions not counted: the number of the next one."""
        return self._numbered

    def count_out(self, edges: int) -> None:
        """Note that so many edges of the output go out."""
        self._ordered += edges

    @property
    def next(self) -> dict[int, int]:
        """The offset to read next in each partition."""
        return {number: place.next for number, place in self._partitions.items()}

    def restore(self, partition: int, found: Remembered | None) -> None:
        """Set a partition to the state of a commit; None if nothing of it was ever committed."""
        if found is None:
            self._partitions[partition] = PartitionPosition(0, partition * ORDINALS_OF_A_PARTITION)
            return
        self._partitions[partition] = PartitionPosition(0, found.ordinal, list(found.statements or ()))
        self._again[partition] = found
        self._ordered = max(self._ordered, found.ordered)
        self._numbered = max(self._numbered, found.numbered)
        if found.epoch > self._epoch:
            self._start(found.epoch)
            self._output.stretches = [Stretch(found.epoch)]
        if found.epoch < self._epoch:
            return
        self._progress.restore(partition, found.sources)
        if found.counted.is_after(self._counted):
            self._counted, self._recent, self._first = found.counted, found.recent, found.first
        if found.watermark is not None:
            self._settled = found.watermark if self._settled is None else max(self._settled, found.watermark)

    def know(self, statements: Mapping[int, Statement]) -> None:
        """Know the versions of the stream's statement by their numbers; call it before `replay`."""
        self._statements = statements

    def use(self, statement: Statement) -> bool:
        """Read records by a version of the statement, from the next one of each partition on; call it after `open`.

        Return whether all partitions do: if not, call it again once edges have gone out.
        """
        self._statements = {**self._statements, statement.version: statement}
        used = [place.use(statement.version) for place in self._partitions.values()]
        return all(used)

    def adopt(self, ordering: Ordering) -> None:
        """Put what waits and what comes in order by this lateness, clock and policy for duplicates; call it after `open`.

        The watermark does not go back: with a longer lateness it stays until the times that come are past that.
        """
        before, self._ordering = self._ordering, ordering
        if self._duplicates is not None:
            self._duplicates.replaces = self._replaces
        if ordering.lateness != before.lateness:
            # What a shorter lateness lets go has waited until now, so it goes by the policy of now.
            self._release(self._sequencer.set_lateness(ordering.lateness))

    @property
    def _replaces(self) -> bool:
        return self._ordering.duplicates is DuplicatePolicy.UPDATE

    def _statement(self, version: int) -> Statement | None:
        if version and version not in self._statements:
            message = f"version {version} of the statement is not there, and waiting records were read by it"
            raise FatalError(message)
        found = self._statements.get(version)
        return None if found is None or found.is_removed else found

    def replay(self, record: Record) -> None:
        """Take again a record between a position and the `next` that was remembered there."""
        self._hold()
        for group in group_records([record]):
            place = self._partitions[record.partition]
            decoded = self._decoder.decode(group, place.ordinal, self._statement(place.version_at(record.offset)))
            newest = self._note(decoded.pieces)
            if newest is None or decoded.edges is None:
                continue
            self._newest = newest if self._newest is None else max(self._newest, newest)
            self._wait_again(decoded.edges)
            self._sequencer.reach(newest)

    def open(self, unread: set[int], now: float) -> None:
        """Continue after the last `replay`; `unread` are the partitions that have more records."""
        self._hold()
        for partition, found in self._again.items():
            self._partitions[partition].next = found.next
        known = [time for time in (self._settled, self._newest) if time is not None]
        self._progress.open(unread, max(known, default=None), now)

    def filter_with(self, duplicates: Duplicates, ticks: int, edges: int = 0) -> None:
        """Drop duplicates with this filter from now on; it knows what went out. Those of later epochs remember for as long."""
        self._duplicates, self._windows = duplicates, (ticks, edges)
        duplicates.replaces = self._replaces

    def add_features(self, features: StreamFeatures | None) -> None:
        """Give what goes out from now on the values of features, which know what went out; None gives none."""
        self._features = features
        if features is not None:
            self._decoder.read((*features.inputs, *features.names))
            if self.watermark is not None:
                # What these windows gave went out.
                features.advance(self.watermark)

    def take(self, group: RawGroups, now: float) -> None:
        """Take the next records of a partition."""
        if self._decoder.is_due:
            self.lay_out(self._decoder.forget())
        before = self._decoder.left_out
        place = self._partitions[group.partition]
        decoded = self._decoder.decode(group, place.ordinal, self._statement(place.version_at(place.next)))
        self._output.left_out += self._decoder.left_out - before
        # What was refused before the division was counted by the divider.
        self.take_decoded(replace(decoded, refused_before=0) if self._is_part else decoded, now)

    def read(self, attributes: Iterable[str]) -> None:
        """Keep these attributes of later records, beside any others: patterns read them."""
        self._decoder.read(attributes)

    def lay_out(self, attributes: Sequence[str]) -> None:
        """Give the edges that wait exactly these attributes, which are the first of those to come."""
        self._sequencer.lay_out(attributes)

    def take_decoded(self, decoded: Decoded, now: float) -> None:
        """Do as `take` with records that were decoded before, from the ordinal of `ordinal_of` on."""
        rejected = [RejectedPart(piece, refused) for piece in decoded.pieces for refused in piece.refused]
        read = sum(piece.ordinals for piece in decoded.pieces)
        self._output.records += len(decoded.pieces)
        self._output.read += read
        self._output.raw_bytes += sum(len(piece.record.value or b"") for piece in decoded.pieces)
        self._output.filtered += decoded.filtered
        if decoded.ends_epoch is not None:
            self._note(decoded.pieces)
            if decoded.ends_epoch == self._epoch:
                self._begin_epoch(now)
            return
        first = decoded.pieces[0]
        if first.origin is not None and first.origin.receipt:
            self.verdicts.wait_for(decoded, first.origin.receipt, self._partitions[first.record.partition].ordinal)
        taken, row = 0, 0
        while taken < len(decoded.pieces):
            together = self._together(decoded, taken, row)
            pieces = decoded.pieces[taken : taken + together]
            rejected += self._take(decoded, pieces, row, now)
            taken, row = taken + together, pieces[-1].end
        # A record's letters are together, with any records it was read with.
        rejected.sort(key=lambda each: each.piece.record.offset)
        self._count(read, decoded, rejected)
        self._output.rejected += rejected

    def look_around(self, as_of: float, *, at_end: bool) -> None:
        """Let time pass: forget idle sources; `at_end` says that everything up to `as_of` has been read.

        Before that, a source may have spoken and not been heard, because the sequencer was slow; so it gets more time.
        """
        if at_end:
            self._progress.nothing_unread()
        patience = self._ordering.idle_seconds * (1 if at_end else _BEHIND)
        forgotten = self._progress.forget_idle(as_of, patience)
        if self._progress.is_quiet:
            newest = self._progress.newest
            if (forgotten or self.pending or self._ordering.live) and newest is not None:
                self._release(self._sequencer.settle(min(newest + self._passed(as_of), MAX_EVENT_TIME)))
        elif self._bound is not None:
            self._set_bound(self._progress.bound)

    def _passed(self, as_of: float) -> int:
        """Return how many ticks a live clock runs past the newest edge, when all sources are idle."""
        ordering = self._ordering
        seconds = as_of - self._progress.heard - ordering.idle_seconds
        return max(0, int(seconds * ordering.live) - ordering.lateness) if ordering.live else 0

    def positions(self, topic_partitions: Mapping[int, TopicPartition]) -> dict[TopicPartition, Position]:
        """Return what to commit with the output."""
        return {
            topic_partitions[number]: place.position(
                self.stream_progress, self._ordered, self._numbered, self._progress.of_partition(number)
            )
            for number, place in self._partitions.items()
        }

    def ordinal_of(self, partition: int) -> int:
        """Return the ordinal of the next edge of a partition; one that was not known begins."""
        if partition not in self._partitions:
            self.restore(partition, None)
        return self._partitions[partition].ordinal

    def freeze(self) -> FrozenSequencer:
        """Return the state without the waiting edges, whose times are past the watermark."""
        for place in self._partitions.values():
            place.forget(self.watermark)
        places = {str(number): (place.next, place.ordinal) for number, place in self._partitions.items()}
        return FrozenSequencer(
            places,
            self._progress.freeze(),
            self.watermark,
            self._bound,
            self._ordered,
            self._epoch,
            self._counted,
            self._recent,
            self._numbered,
            self._first,
        )

    def thaw(self, frozen: FrozenSequencer, waiting: Iterable[EdgeBatch]) -> None:
        """Become, from the start, the sequencer that was frozen: as if there had been no break.

        `waiting` are the edges of all records with waiting edges, in the order of arrival.
        """
        self._start(frozen.epoch)
        self._output.stretches = [Stretch(frozen.epoch)]
        self._counted, self._recent, self._first = frozen.counted, frozen.recent, frozen.first
        self._settled = frozen.watermark
        self._hold()
        for edges in waiting:
            self._wait_again(edges)
        self._partitions = {int(number): PartitionPosition(*place) for number, place in frozen.places.items()}
        self._progress.thaw(frozen.progress)
        self._ordered, self._numbered = frozen.ordered, frozen.numbered
        self._set_bound(frozen.bound)

    def take_output(self) -> SequencerOutput:
        """Return the output, and start another."""
        taken, self._output = self._output, SequencerOutput([Stretch(self._epoch)])
        taken.stretches[-1].watermark = self.watermark
        return taken

    def take_back(self, too_large: TooLarge, refused: Refused) -> None:
        """Take note that an edge of the output does not go out, and becomes a dead letter; before `positions`."""
        # Edges of an epoch that ended meanwhile are not counted any more.
        self._counted = self._counted.plus(Counted(ordered=-1 if self._counted.ordered else 0, rejected=1))
        self._first = self._first or FirstRejected.of(refused)
        self.verdicts.take_back(too_large.ordinal, refused)

    def _count(self, read: int, decoded: Decoded, rejected: list[RejectedPart]) -> None:
        """Count edges, and those that were rejected; remember the first that is rejected here."""
        codes = [each.refused.code for each in rejected]
        late, future = codes.count(ErrorCode.LATE), codes.count(ErrorCode.FUTURE)
        unusable = len(codes) - late - future + decoded.refused_before
        more = Counted(read, late, future, unusable, decoded.filtered)
        self._counted, self._recent = self._counted.plus(more), self._recent.recently(more)
        if rejected and self._first is None:
            self._first = FirstRejected.of(rejected[0].refused, rejected[0].piece.record)

    def _begin_epoch(self, now: float) -> None:
        """Release all waiting edges, and forget all times."""
        if self._progress.newest is not None:
            self._release(self._sequencer.settle(self._progress.newest))
        self._output.stretches[-1].watermark = self.watermark
        self._start(self._epoch + 1)
        self._output.stretches.append(Stretch(self._epoch, begins=True, number=self._numbered))
        self._hold()
        # As at the beginning of a stream, every partition that may have records is heard before times count.
        self._progress.open(self._partitions, None, now)
        for place in self._partitions.values():
            place.forget_all()
        self.traces.release_all()
        if self._duplicates is not None:
            self._duplicates = Duplicates(*self._windows, replaces=self._replaces)
        if self._features is not None:
            self._features.clear()

    def _together(self, decoded: Decoded, taken: int, row: int) -> int:
        """Return how many of the next records may be taken at once, to the same effect as one by one.

        That is so while the watermark may count with the same bound for all, or only rises behind them. And no buffer may
        overflow between two of them.
        """
        left = len(decoded.pieces) - taken
        if decoded.edges is None:
            return left
        if self._is_part or _knows_newest(decoded.pieces[taken]):
            return 1
        if self.pending + len(decoded.edges) - row > self._ordering.most_pending:
            return 1
        partition = decoded.pieces[taken].record.partition
        name = self._progress.name_of(decoded.producer, partition)
        is_one_bound = self._progress.bound_for(name, partition) is None or self._progress.is_held_back(name, partition)
        return left if is_one_bound else self._rising(decoded.pieces, taken)

    def _rising(self, pieces: list[Piece], taken: int) -> int:
        """Return how many of the next records of a source follow each other so that none is late for those before it.

        Of records of one edge, that is so while none is earlier than those before it less the lateness. What they let the
        watermark rise to is not later. They leave in the same order then, taken one by one or at once.
        """
        first = pieces[taken]
        end, reached = first.end, MIN_EVENT_TIME if first.newest is None else first.newest
        together = 1
        for piece in islice(pieces, taken + 1, None):
            if piece.newest is not None:
                if _knows_newest(piece) or piece.end - end > 1 or piece.newest < reached - self._ordering.lateness:
                    break
                reached = max(reached, piece.newest)
            end = piece.end
            together += 1
        return together

    def _take(self, decoded: Decoded, pieces: list[Piece], row: int, now: float) -> list[RejectedPart]:
        """Take records whose edges begin at a row of the group's; return what was late."""
        newest = self._note(pieces)
        if newest is None or decoded.edges is None:
            return []
        partition = pieces[0].record.partition
        name = self._progress.name_of(decoded.producer, partition)
        self._set_bound(self._progress.bound_for(name, partition))
        edges, end = decoded.edges, pieces[-1].end
        # Mostly all of a group are taken at once, and a part would be a copy.
        self._release(self._sequencer.push(edges if (row, end) == (0, len(edges)) else edges.part(row, end)))
        late = self._late(pieces)
        if _knows_newest(pieces[0]):
            self._release(self._sequencer.reach(newest))
        self._progress.advance(name, partition, newest, now)
        if self._bound is not None:
            self._set_bound(self._progress.bound)
        if self.pending > self._ordering.most_pending:
            self._release(self._sequencer.relieve(self._ordering.most_pending))
        return late

    def _note(self, pieces: list[Piece]) -> int | None:
        """Count records as read; return the greatest time in them, None if they have no edge."""
        place = self._partitions[pieces[0].record.partition]
        for piece in pieces:
            origin = piece.origin
            if origin is not None and origin.traceparent is not None and piece.newest is not None:
                self.traces.note(origin.traceparent, place.ordinal, piece.ordinals, piece.newest)
            place.read(piece.record.offset, piece.ordinals, piece.newest)
        return max((piece.newest for piece in pieces if piece.newest is not None), default=None)

    def _wait_again(self, edges: EdgeBatch) -> None:
        """Let the edges wait that waited at the last commit."""
        waiting = edges if self._settled is None else edges.later_than(self._settled)
        if len(waiting):
            self._sequencer.push(waiting)

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

    def _late(self, pieces: list[Piece]) -> list[RejectedPart]:
        """Return what came too late, by the records that it was in."""
        late: list[RejectedPart] = []
        for letter in take_dead_letters(self._sequencer):
            piece = pieces[bisect_right(pieces, letter.line, key=_first_line) - 1]
            refused = Refused(ErrorCode.LATE, letter.reason, letter.raw, piece.sent_line(letter.line))
            self.verdicts.reject(piece, refused)
            late.append(RejectedPart(piece, refused))
        return late

    def _release(self, batch: EdgeBatch | None) -> None:
        """Add to the output what is not a duplicate, or what replaces what had its id; and what EMIT gives by now."""
        if batch is not None and len(batch):
            self._release_edges(batch)
        if self._features is not None and self.watermark is not None:
            given = self._features.advance(self.watermark)
            if given is not None:
                self._put_out(given)

    def _release_edges(self, batch: EdgeBatch) -> None:
        kept = batch if self._duplicates is None else self._duplicates.filter(batch)
        dropped = max(0, len(batch) - len(kept))
        replaced = max(0, len(kept) - len(batch))
        if dropped and self._ordering.duplicates is DuplicatePolicy.ERROR:
            self._output.repeated += _refuse_dropped(batch, kept)
        self._output.duplicates += dropped
        self._output.replaced += replaced
        more = Counted(ordered=len(batch) - dropped, duplicates=dropped, replaced=replaced)
        self._counted = self._counted.plus(more)
        self.verdicts.release(batch, kept)
        if len(kept):
            self._put_out(kept if self._features is None else self._features.add_to(kept))

    def _put_out(self, batch: EdgeBatch) -> None:
        stretch = self._output.stretches[-1]
        stretch.number = stretch.number if stretch.batches else self._numbered
        stretch.batches.append(batch)
        self._numbered += batch.edges
        self._output.edges += len(batch)


def _refuse_dropped(batch: EdgeBatch, kept: EdgeBatch) -> list[Refused]:
    """Return the edges that the filter of duplicates dropped from a batch, as rejected ones."""
    left = iter([(row["ordinal"], row["id"]) for row in kept.to_records()])
    following = next(left, None)
    found: list[Refused] = []
    for place, row in enumerate(batch.to_records()):
        if (row["ordinal"], row["id"]) == following:
            following = next(left, None)
            continue
        reason = f"id {show(str(row['id']))} came before in the window"
        found.append(Refused(ErrorCode.DUPLICATE, reason, batch.part(place, place + 1).raw_text(1).strip(b"\n")))
    return found


def _knows_newest(piece: Piece) -> bool:
    """Whether its sender knew how far the stream had come with it."""
    return piece.origin is not None and piece.origin.newest is not None


def _first_line(piece: Piece) -> int:
    return piece.line
