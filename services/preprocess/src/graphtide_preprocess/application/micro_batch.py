"""One micro-batch: blocks in, what is to go out in order, and what has to be kept until the next.

The job may be killed between any two steps, and a micro-batch is then taken again from the state before it, maybe in another
process. So the output of a micro-batch must depend only on what was kept, on its blocks and on its instants. Memory has a copy
of what is kept. `StreamOrder` uses it if it is that of the micro-batch before, and rebuilds it otherwise, to the same effect.

Decisions about order, lateness and duplicates are those of `graphtide_ordering`, as in the built-in sequencer.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from graphtide_core.duplicate_policy import DuplicatePolicy
from graphtide_core.errors import FatalError
from graphtide_core.merged_streams import whole_of
from graphtide_core.ports.log import Message
from graphtide_core.stream_windows import StreamWindows
from graphtide_core.time import TimeUnit
from graphtide_native.records import EdgeBatch, Symbols, ticks_per_second
from graphtide_ordering.heartbeats import DEFAULT_HEARTBEAT_SECONDS, Heartbeats
from graphtide_ordering.ordered_records import DEFAULT_MOST_EDGES, Packing
from graphtide_ordering.ordering import Ordering
from graphtide_ordering.raw_decoding import MOST_ATTRIBUTES, RawDecoder
from graphtide_ordering.stream_progress import StreamProgress
from graphtide_ordering.stream_sequencer import StreamSequencer
from graphtide_ordering.tracing import sequencing

from graphtide_preprocess.application.arriving import DecodedBlock, decode_in_order
from graphtide_preprocess.application.kept import FORM, Head, KeptWaiting, SentBlock, WaitingBlock, later
from graphtide_preprocess.application.letters import Letters
from graphtide_preprocess.application.measured import Measured
from graphtide_preprocess.application.publishing import following
from graphtide_preprocess.domain.arrival import in_order_of_arrival
from graphtide_preprocess.domain.history import History
from graphtide_preprocess.domain.registered import (
    counted_window,
    longest_window,
    most_edges,
    registration,
    used_attributes,
    used_labels,
)
from graphtide_preprocess.domain.source_topic import SourceTopic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Record
    from graphtide_ordering.sequencer_output import SequencerOutput
    from graphtide_ordering.statements import Statement
    from graphtide_wire.topics import Topics

    from graphtide_preprocess.application.kept import Kept
    from graphtide_preprocess.domain.blocks import Block
    from graphtide_preprocess.domain.registered import Registration

_REMINDER_MILLISECONDS: Final = 24 * 3600 * 1000
"""How often a micro-batch is marked in the log while nothing goes out: a log forgets what was marked long ago."""

_WAITING_BLOCKS: Final = 64
"""With more blocks than this it is looked which of them still wait."""


@dataclass(frozen=True, slots=True)
class Counting:
    """How a stream is counted.

    Attributes:
        most_ticks: bound on the window.
        publish_seconds: time between two snapshots.
    """

    most_ticks: int
    publish_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class OrderingTask:
    """What is to be done with one stream.

    Attributes:
        topics: names of topics.
        stream: its name, or that of a part of it.
        foreign: the topic of its records, if that is not its raw topic.
        unit: what its times count.
        ordering: how the stream is put in order.
        heartbeat_seconds: how long the stream may be quiet before its readers get a heartbeat with a new watermark.
        remember: ids are remembered for so many ticks at least.
        most_edges: edges of one ordered record.
        projects: whether only labels and attributes that patterns use go out.
        counting: how it is counted; None if it is not.
    """

    topics: Topics
    stream: StreamName
    unit: TimeUnit = TimeUnit.MILLISECOND
    ordering: Ordering = field(default_factory=Ordering)
    heartbeat_seconds: float = DEFAULT_HEARTBEAT_SECONDS
    remember: int = 0
    most_edges: int = DEFAULT_MOST_EDGES
    projects: bool = False
    counting: Counting | None = None
    foreign: str | None = None

    @property
    def whole(self) -> StreamName:
        """The stream, if this is a part of one, or else itself."""
        return whole_of(self.stream)

    @property
    def is_part(self) -> bool:
        """Whether it is a part of a stream."""
        return self.whole != self.stream

    @property
    def source(self) -> SourceTopic:
        """The topic of its records."""
        return SourceTopic.of(self.topics, self.whole, self.foreign)


@dataclass(frozen=True, slots=True)
class Arrived:
    """What a micro-batch is given.

    Attributes:
        at: when it was begun, in milliseconds; as the next, the same when it is taken again.
        as_of: an instant; with it the whole log was read up to there. None if the micro-batch before knew as much.
        blocks: of raw records that other tasks decoded, in any order.
        patterns: changes of registrations: names and values, in their order.
        statement: of the stream, by which the records are read; None if it never had one.
        records: raw records by partition that are to be decoded here; a micro-batch has blocks or these.
    """

    at: int
    as_of: int | None
    blocks: Sequence[Block] = ()
    patterns: Sequence[tuple[str, bytes | None]] = ()
    statement: Statement | None = None
    records: Mapping[int, Iterable[Record]] = field(default_factory=dict)


class MicroBatch(msgspec.Struct, frozen=True, rename={"stream_progress": "figures"}):
    """What is committed with the messages of a micro-batch, so that the next writer knows it.

    Attributes:
        number: of the micro-batch.
        previous: of the last micro-batch that was committed before.
        before: edges in the ordered stream before it.
        ordered: edges in the ordered stream after it.
        read: sum of the offsets read next, which distinguishes micro-batches of one number.
        stream_progress: progress of the stream after it.
    """

    number: int
    previous: int
    before: int
    ordered: int
    read: int
    stream_progress: StreamProgress = StreamProgress()


class Commit(NamedTuple):
    """What a micro-batch commits: its mark, its messages, and the offset to read next in each partition of its source."""

    micro_batch: MicroBatch
    messages: list[Message]
    next: Mapping[int, int] = {}


class StreamOrder:
    """One stream's order, from one micro-batch to the next.

    Attributes:
        measured: counts and times of the last micro-batch.
    """

    def __init__(self, task: OrderingTask) -> None:
        """Start with nothing in memory."""
        self._task = task
        self._packing = Packing(task.topics.ordered(task.stream), task.unit, task.most_edges)
        self._symbols = Symbols()
        self._history = History(self._symbols, 0, 0)
        self._sequencer = StreamSequencer(task.ordering, is_part=task.is_part)
        self._identity = ""
        self._micro_batch = -1
        self._read: frozenset[str] = frozenset()
        self.measured = Measured()

    def micro_batch(self, kept: Kept, arrived: Arrived) -> Commit | None:
        """Take a micro-batch, and keep what the next needs; return what to commit, None if there is nothing.

        Raises:
            FatalError: another version kept what is kept.
        """
        self.measured = Measured(self._task.stream)
        with self.measured.stage("order"):
            return self._taken(kept, arrived)

    def _taken(self, kept: Kept, arrived: Arrived) -> Commit | None:
        head = _read(kept.head())
        is_first = head.micro_batch == 0
        head.micro_batch += 1
        self._turn_back_on(head, kept)
        for name, value in arrived.patterns:
            _fold(head, name, registration(value, self._task.whole, self._task.unit))
        windows = StreamWindows() if arrived.statement is None else arrived.statement.windows
        self._keep_what_is_read(head, windows)
        self._remember(head, kept)
        self._history.state(windows, self._task.unit, lambda: later(kept.sent, head.sent, 0))
        self._sequencer.add_features(self._history.features)
        self._order_by(head, arrived.statement)
        before = head.sequencer.ordered
        self._take(head, kept, arrived, is_first=is_first)
        output = self._sequencer.take_output()
        messages = self._out(output, head, arrived.at)
        head.sequencer = self._sequencer.freeze()
        if len(output.stretches) > 1:
            self._forget_sent(head, kept)
        self._keep_sent(head, kept, output.stretches[-1].batches)
        messages += self._published(head, kept, arrived.at)
        micro_batch = self._concluded(head, before, arrived.at) if messages or _is_due(head, arrived.at) else None
        kept.keep_head(msgspec.json.encode(head))
        self._identity, self._micro_batch, self._history.micro_batch = head.identity, head.micro_batch, head.micro_batch
        return None if micro_batch is None else Commit(micro_batch, messages, self._sequencer.next)

    def _turn_back_on(self, head: Head, kept: Kept) -> None:
        """Have in memory what was there after the micro-batch before."""
        if (self._identity, self._micro_batch) == (head.identity, head.micro_batch - 1):
            return
        self.measured.is_rebuilt = True
        epoch = head.sequencer.epoch
        if self._identity != head.identity or self._history.micro_batch >= head.micro_batch or self._history.epoch != epoch:
            self._symbols = Symbols()
            self._history = History(self._symbols, 0, 0, epoch)
        self._micro_batch = -1
        self._sequencer = StreamSequencer(self._ordering(head), is_part=self._task.is_part)
        found = [KeptWaiting.read(kept.waiting.get(each.arrival)) for each in head.waiting]
        waiting = [EdgeBatch.unpack(each.edges, self._symbols, head.attributes, each.ordinal) for each in found]
        self._sequencer.thaw(head.sequencer, waiting)
        self._identity = head.identity
        self._history.catch_up(later(kept.sent, head.sent, self._history.micro_batch))
        self._sequencer.filter_with(self._history.duplicates, self._history.window, self._history.edges)

    def _ordering(self, head: Head) -> Ordering:
        """Return how the last micro-batch was put in order."""
        lateness = self._task.ordering.lateness if head.lateness is None else head.lateness
        return replace(self._task.ordering, lateness=lateness, duplicates=DuplicatePolicy(head.duplicates))

    def _order_by(self, head: Head, statement: Statement | None) -> None:
        """Put what waits and what comes in order as the statement says; time stands still here while nothing comes."""
        ordering = self._task.ordering if statement is None else statement.ordering(self._task.ordering, self._task.unit)
        head.lateness, head.duplicates = ordering.lateness, ordering.duplicates.value
        self._sequencer.adopt(replace(ordering, live=0))

    def _keep_what_is_read(self, head: Head, windows: StreamWindows) -> None:
        """Have a place for each attribute that patterns and windows read, and for each that windows give.

        The list begins anew if the last micro-batch left names out.
        """
        read = self._read = used_attributes(head.registrations.values()).union(windows.inputs, windows.names)
        if head.left_out:
            head.attributes, head.left_out = sorted(read), 0
            self._sequencer.lay_out(head.attributes)
        head.attributes += sorted(read.difference(head.attributes))

    def _remember(self, head: Head, kept: Kept) -> None:
        """Remember for as long as patterns ask for."""
        window, edges = max(longest_window(head.registrations), self._task.remember), most_edges(head.registrations)
        counting = self._task.counting
        counted = 0 if counting is None else min(counting.most_ticks, counted_window(head.registrations, counting.most_ticks))
        if (window, counted, edges) != (self._history.window, self._history.counted, self._history.edges):
            self._history = History(self._symbols, window, counted, head.sequencer.epoch, edges)
            self._history.catch_up(later(kept.sent, head.sent, 0))
            self._sequencer.filter_with(self._history.duplicates, window, edges)

    def _take(self, head: Head, kept: Kept, arrived: Arrived, *, is_first: bool) -> None:
        now = arrived.at / 1000
        taken: list[tuple[WaitingBlock, DecodedBlock]] = []
        most = _WAITING_BLOCKS
        if is_first:
            self._sequencer.open({block.partition for block in arrived.blocks} | set(arrived.records), now)
        for block in self.measured.reading(self._arriving(head, arrived)):
            epoch = self._sequencer.epoch
            self._sequencer.take_decoded(block.decoded, now)
            if self._sequencer.epoch != epoch:
                taken = []
                self._forget_waiting(head, kept)
            head.arrivals += 1
            if block.newest is not None:
                taken.append((WaitingBlock(head.arrivals, block.newest), block))
            if len(taken) > most:
                # What has gone out by now need not stay in memory.
                taken = [each for each in taken if self._waits(each[0])]
                most = max(_WAITING_BLOCKS, 2 * len(taken))
        if arrived.as_of is not None:
            self._sequencer.look_around(arrived.as_of / 1000, at_end=True)
        self._keep_waiting(head, kept, taken)

    def _arriving(self, head: Head, arrived: Arrived) -> Iterator[DecodedBlock]:
        """Yield what arrived in its order; each block is decoded once those before it were taken."""
        topic = self._task.source.name
        for block in in_order_of_arrival(arrived.blocks):
            _learn(head, block.head.attributes)
            ordinal = self._sequencer.ordinal_of(block.partition)
            decoded = block.decoded(topic, self._symbols, head.attributes, ordinal)
            keep = partial(KeptWaiting, ordinal, block.edges)
            yield DecodedBlock(block.partition, block.timestamp, decoded, block.head.newest, keep)
        if arrived.records:
            decoder = RawDecoder(self._task.ordering.ahead, self._symbols, head.attributes)
            decoder.read(self._read)
            yield from decode_in_order(decoder, arrived.statement, arrived.records, self._sequencer.ordinal_of)
            head.attributes, head.left_out = decoder.attributes, decoder.left_out

    def _waits(self, block: WaitingBlock) -> bool:
        watermark = self._sequencer.watermark
        return watermark is None or block.newest > watermark

    def _forget_waiting(self, head: Head, kept: Kept) -> None:
        """Keep no block of those taken before: an epoch is over."""
        for gone in head.waiting:
            kept.waiting.remove(gone.arrival)
        head.waiting = []

    def _keep_waiting(self, head: Head, kept: Kept, taken: Iterable[tuple[WaitingBlock, DecodedBlock]]) -> None:
        """Keep only the blocks with waiting edges."""
        for each in head.waiting:
            if not self._waits(each):
                kept.waiting.remove(each.arrival)
        head.waiting = [each for each in head.waiting if self._waits(each)]
        for waits, block in taken:
            if self._waits(waits):
                kept.waiting.put(waits.arrival, block.keep().written())
                head.waiting.append(waits)

    def _out(self, output: SequencerOutput, head: Head, at: int) -> list[Message]:
        """Return ordered records, a heartbeat among them where one is due, and dead letters."""
        sequencer, letters = self._sequencer, Letters(self._task.topics, self._task.stream, at)
        stretches = [replace(each, batches=self._projected(each.batches, head.registrations)) for each in output.stretches]
        with sequencing(self._task.source.name, self._task.stream, output, sequencer.traces) as onward:
            messages, packed, too_large = self._packing.pack(stretches, sequencer.ordered, onward)
        sequencer.traces.forget(sequencer.watermark)
        sequencer.count_out(packed)
        self._measure(output, packed, len(too_large))
        unplaced = letters.too_large(sequencer, too_large, self._packing.most_bytes) + letters.unplaced(output.repeated)
        heartbeats = self._heartbeats(head)
        messages += heartbeats.after(messages, sequencer, at / 1000)
        head.last_record, head.last_record_at = heartbeats.last_record, int(heartbeats.at * 1000)
        return [*messages, *letters.rejected(output.rejected), *unplaced]

    def _heartbeats(self, head: Head) -> Heartbeats:
        """Return what sends heartbeats; a part sends one in each micro-batch that lets time pass, as merged parts wait."""
        task, at = self._task, head.last_record_at / 1000
        seconds = 0.0 if task.is_part else task.heartbeat_seconds
        return Heartbeats(self._packing, seconds, head.last_record, at, before_edges=task.is_part)

    def _measure(self, output: SequencerOutput, packed: int, too_large: int) -> None:
        sequencer, measured = self._sequencer, self.measured
        measured.records, measured.outcomes = output.records, dict(output.outcomes(packed, too_large))
        measured.pending = sequencer.pending
        if sequencer.newest is not None and sequencer.watermark is not None:
            measured.lag = max(0, sequencer.newest - sequencer.watermark) / ticks_per_second(self._task.unit)

    def _projected(self, batches: list[EdgeBatch], registrations: Mapping[str, Registration]) -> list[EdgeBatch]:
        """Return the edges and attributes that patterns use, if that is how it is set."""
        if not self._task.projects:
            return batches
        labels, attributes = used_labels(registrations.values()), sorted(used_attributes(registrations.values()))
        narrow = (batch.narrowed(None if labels is None else sorted(labels), attributes) for batch in batches)
        return [batch for batch in narrow if len(batch)]

    def _forget_sent(self, head: Head, kept: Kept) -> None:
        """Forget all that went out before this micro-batch: an epoch is over."""
        for gone in head.sent:
            kept.sent.remove(gone.micro_batch)
        head.sent, head.is_counted = [], False
        if self._sequencer.duplicates is not None:
            self._history.begin_epoch(self._sequencer.epoch, self._sequencer.duplicates)

    def _keep_sent(self, head: Head, kept: Kept, batches: list[EdgeBatch]) -> None:
        """Keep what went out, while it is in the window."""
        window, edges = max(self._history.window, self._history.counted), self._history.edges
        window = max(window, self._history.longest(self._task.unit))
        if batches and (window or edges):
            bare = [batch.bare(self._history.inputs) for batch in batches]
            joined = bare[0].followed_by(bare[1:])
            kept.sent.put(head.micro_batch, joined.pack())
            head.sent.append(SentBlock(head.micro_batch, joined.last_ts or 0, self._sequencer.numbered))
        self._history.count(batches)
        head.is_counted = head.is_counted or bool(batches)
        newest = head.sent[-1].last_ts if head.sent else 0
        oldest = self._sequencer.numbered - edges
        for gone in [each for each in head.sent if each.last_ts <= newest - window and each.number <= oldest]:
            kept.sent.remove(gone.micro_batch)
            head.sent.remove(gone)

    def _published(self, head: Head, kept: Kept, at: int) -> list[Message]:
        task = self._task
        is_due = task.counting is not None and at - head.published_at >= task.counting.publish_seconds * 1000
        snapshot = self._history.snapshot() if head.is_counted and is_due else None
        if snapshot is None:
            return []
        head.published_at, head.is_counted = at, False
        record = following(task.stream, snapshot, kept.published())
        kept.keep_published(record)
        return [Message(task.topics.statistics, task.stream.encode(), record)]

    def _concluded(self, head: Head, before: int, at: int) -> MicroBatch:
        read = sum(offset for offset, _ in head.sequencer.places.values())
        micro_batch = MicroBatch(
            head.micro_batch, head.written, before, head.sequencer.ordered, read, self._sequencer.stream_progress
        )
        head.written, head.written_at = head.micro_batch, at
        return micro_batch


def _read(text: bytes | None) -> Head:
    if text is None:
        return Head(secrets.token_hex(8))
    try:
        head = msgspec.json.decode(text, type=Head)
    except msgspec.DecodeError as error:
        message = f"the checkpoint holds no state of this job: {error}"
        raise FatalError(message) from error
    if head.form != FORM:
        message = f"the checkpoint has form {head.form}, this version knows {FORM}: bring it up to date"
        raise FatalError(message)
    return head


def _fold(head: Head, name: str, found: Registration | None) -> None:
    if found is None:
        head.registrations.pop(name, None)
    else:
        head.registrations[name] = found


def _learn(head: Head, names: Iterable[str]) -> None:
    known = set(head.attributes)
    new = [name for name in names if name not in known]
    if new:
        room = max(0, MOST_ATTRIBUTES - len(known - used_attributes(head.registrations.values())))
        head.attributes += new[:room]
        head.left_out += len(new[room:])


def _is_due(head: Head, at: int) -> bool:
    return head.written > 0 and at - head.written_at >= _REMINDER_MILLISECONDS
