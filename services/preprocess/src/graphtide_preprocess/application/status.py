"""How far the job is with a stream, by the log alone: the mark of its last micro-batch, and the ends of the raw topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from graphtide_core.merged_streams import whole_of
from graphtide_ordering.stream_progress import Counted

from graphtide_preprocess.application.committing import read_mark
from graphtide_preprocess.domain.source_topic import SourceTopic

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log
    from graphtide_wire.topics import Topics


class StreamStatus(msgspec.Struct, frozen=True):
    """How far the job is with a stream, or with a part of one.

    Attributes:
        stream: its name.
        micro_batch: number of the last micro-batch that wrote something; 0 if none did.
        ordered: edges and events in the ordered stream.
        behind: raw records that this micro-batch had not read. Some of them may have been read since and given nothing.
        epoch: of the stream.
        watermark: no earlier edge will go out; None before the first.
        newest: time of the newest edge that was taken; None before the first.
        counted: what became of the records of the epoch.
    """

    stream: str
    micro_batch: int = 0
    ordered: int = 0
    behind: int = 0
    epoch: int = 0
    watermark: int | None = None
    newest: int | None = None
    counted: Counted = Counted()


def read_status(log: Log, topics: Topics, stream: StreamName, foreign: str | None = None) -> StreamStatus:
    """Return how far the job is with a stream or a part, whose records are in the stream's raw topic or in a foreign one.

    Raises:
        TransientError: the log does not answer.
        FatalError: the ordered topic has no mark of this job but another.
    """
    reader = log.reader(None)
    try:
        source = SourceTopic.of(topics, whole_of(stream), foreign)
        ends = sum(end for _, end in reader.ends(reader.partitions(source.name)).values())
    finally:
        reader.close()
    mark = read_mark(log, topics, stream)
    if mark is None:
        return StreamStatus(stream, behind=ends)
    progress = mark.stream_progress
    return StreamStatus(
        stream,
        mark.number,
        mark.ordered,
        max(0, ends - mark.read),
        progress.epoch,
        progress.watermark,
        progress.newest,
        progress.counted,
    )
