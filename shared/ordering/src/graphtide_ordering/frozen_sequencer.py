"""The state of a sequencer between two runs, as a struct that is encoded."""

from __future__ import annotations

import msgspec

from graphtide_ordering.progress import FrozenProgress
from graphtide_ordering.stream_progress import Counted, FirstRejected


class FrozenSequencer(msgspec.Struct, frozen=True):
    """The state of a sequencer, without waiting edges and traces.

    Attributes:
        places: of each partition, the offset and the ordinal to read next.
        progress: of the sources.
        watermark: no earlier edge will go out; None before the first.
        bound: what the watermark counts with at most; None if with the times as they are.
        ordered: edges that went out.
        epoch: of the stream.
        counted: edges of the epoch, as in `StreamProgress`.
        recent: the last of them.
        numbered: edges of the stream that were released, deletions not counted.
        first: the first record of the epoch that was rejected; None if none was.
    """

    places: dict[str, tuple[int, int]] = {}
    progress: FrozenProgress = FrozenProgress()
    watermark: int | None = None
    bound: int | None = None
    ordered: int = 0
    epoch: int = 0
    counted: Counted = Counted()
    recent: Counted = Counted()
    numbered: int = 0
    first: FirstRejected | None = None
