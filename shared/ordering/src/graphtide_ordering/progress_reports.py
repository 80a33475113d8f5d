"""Read the progress of a stream, as its sequencer committed it last, for observers.

The built-in sequencer keeps it beside its positions, the job on Spark in the mark of its last micro-batch. A stream has one
or the other.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from graphtide_core.errors import FatalError
from graphtide_core.merged_streams import is_merged
from graphtide_core.ports.log import TopicPartition

from graphtide_ordering.positions import read_remembered
from graphtide_ordering.stream_progress import StreamProgress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log, Position
    from graphtide_wire.topics import Topics


class _Mark(msgspec.Struct, frozen=True, rename={"stream_progress": "figures"}):
    """The mark of a micro-batch, as far as it is needed here."""

    stream_progress: StreamProgress = StreamProgress()


def sequencer_of(topics: Topics, stream: StreamName) -> str:
    """Return the group and transactional id of the service that puts a stream in order, or merges it."""
    return f"{topics.prefix}.sequencer.{stream}"


def micro_batches_of(topics: Topics, stream: StreamName) -> str:
    """Return the group that marks the micro-batches of a stream in its ordered topic."""
    return f"{topics.prefix}.preprocess.{stream}"


def progress_of(log: Log, topics: Topics, stream: StreamName) -> StreamProgress | None:
    """Return the progress of a stream; None if none of it was ever put in order. What cannot be read counts as absent.

    A merged stream has the progress of each of its sources instead: None.

    Raises:
        TransientError: the log does not answer.
    """
    if is_merged(stream):
        return None
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
