"""Read the progress of a stream, as its sequencer committed it last, for observers.

The built-in sequencer keeps it beside its positions, the job on Spark in the mark of its last micro-batch. A stream has one
or the other.
"""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING

import msgspec
from graphtide_core.errors import FatalError
from graphtide_core.merged_streams import is_merged, parts_of, whole_of
from graphtide_core.ports.log import TopicPartition

from graphtide_ordering.positions import read_remembered
from graphtide_ordering.stream_progress import Counted, StreamProgress, sum_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log, Position
    from graphtide_wire.topics import Topics


class _Mark(msgspec.Struct, frozen=True, rename={"stream_progress": "figures"}):
    """The mark of a micro-batch, as far as it is needed here."""

    stream_progress: StreamProgress = StreamProgress()


def sequencer_of(topics: Topics, stream: StreamName) -> str:
    """Return the group and transactional id of the service that puts a stream in order, or merges it."""
    return f"{topics.prefix}.sequencer.{stream}"


def dividers_of(topics: Topics, stream: StreamName) -> str:
    """Return the group of the dividers of a stream."""
    return f"{topics.prefix}.divider.{stream}"


def divider_of(topics: Topics, stream: StreamName, partition: int) -> str:
    """Return the transactional id of the divider of a raw partition."""
    return f"{dividers_of(topics, stream)}/{partition}"


def micro_batches_of(topics: Topics, stream: StreamName) -> str:
    """Return the group that marks the micro-batches of a stream, and of its parts, in their ordered topics."""
    return f"{topics.prefix}.preprocess.{whole_of(stream)}"


def progress_of(log: Log, topics: Topics, stream: StreamName, parts: int | None = None) -> StreamProgress | None:
    """Return the progress of a stream; None if none of it was ever put in order. What cannot be read counts as absent.

    A merged stream has the progress of each of its sources instead: None. A stream in parts is as far as the slowest of them.
    What was read, filtered and rejected is counted where it is divided, and what became of the rest where parts are ordered.
    On Spark each part counts what was read, and the first one what was filtered and rejected.

    Raises:
        TransientError: the log does not answer.
    """
    if is_merged(stream):
        return None
    if parts is not None:
        with closing(log.reader(dividers_of(topics, stream))) as reader:
            divided = list(_read_remembered(reader.committed(reader.partitions(topics.raw(stream))).values()))
        ordered = (progress_of(log, topics, part) for part in parts_of(stream, parts))
        return _together(divided, [each for each in ordered if each is not None])
    reader = log.reader(sequencer_of(topics, stream))
    try:
        found = list(_read_remembered(reader.committed(reader.partitions(topics.raw(stream))).values()))
    finally:
        reader.close()
    if not found:
        reader = log.reader(micro_batches_of(topics, stream))
        try:
            found = list(_mark(reader.committed([TopicPartition(topics.ordered(stream), 0)]).values()))
        finally:
            reader.close()
    # Among several partitions the last commit has the newest progress.
    return max(
        found, key=lambda each: (each.epoch, each.counted.read, each.watermark is not None, each.watermark), default=None
    )


def _together(divided: Sequence[StreamProgress], ordered: Sequence[StreamProgress]) -> StreamProgress | None:
    """Return the progress of a stream from that of its dividers and of its parts; None if no part was ever put in order."""
    if not ordered:
        return None
    slowest = min(ordered, key=lambda each: (each.epoch, each.watermark is not None, each.watermark or 0))
    newest = [each.newest for each in ordered if each.newest is not None]
    counted, recent = (sum_of(each.counted for each in divided), sum_of(each.recent for each in divided))
    if not divided:
        counted = Counted(max(each.counted.read for each in ordered))
        recent = Counted(max(each.recent.read for each in ordered))
    first = next((each.first for each in (*divided, *ordered) if each.first is not None), None)
    return msgspec.structs.replace(
        slowest,
        newest=max(newest, default=None),
        counted=msgspec.structs.replace(counted.plus(sum_of(each.counted for each in ordered)), read=counted.read),
        recent=msgspec.structs.replace(recent.plus(sum_of(each.recent for each in ordered)), read=recent.read),
        left_out=max(each.left_out for each in (*divided, *ordered)),
        first=first,
    )


def _read_remembered(positions: Iterable[Position | None]) -> Iterator[StreamProgress]:
    for position in positions:
        with suppress(FatalError):
            if position is not None:
                yield read_remembered(position).stream_progress


def _mark(positions: Iterable[Position | None]) -> Iterator[StreamProgress]:
    for position in positions:
        with suppress(msgspec.DecodeError):
            if position is not None:
                yield msgspec.json.decode(position.metadata, type=_Mark).stream_progress
