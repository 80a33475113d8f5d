"""A cluster of one process: pieces and slices one after the other in this process, for trials and what fits into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from graphtide_backfill.application.pieces import PieceReport, count
from graphtide_backfill.application.ports import CancelledError
from graphtide_backfill.application.work import blocks_of, ids_of, match_slices
from graphtide_backfill.domain.duplicates import Occurrence, drop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphtide_core.time import TimeUnit
    from numpy.typing import NDArray

    from graphtide_backfill.application.pieces import Piece
    from graphtide_backfill.application.reading_plan import PlannedPiece
    from graphtide_backfill.application.work import Duplicates, Job, SliceSink
    from graphtide_backfill.domain.division import Division
    from graphtide_backfill.domain.sizing import Machine

_Done = TypeVar("_Done")


class OneProcess:
    """A `Cluster` that asks after each piece and each slice whether it is wanted; memory of all blocks at once."""

    def __init__(self, machine: Machine) -> None:
        """Work as if there were this machine."""
        self.machine = machine

    def count(
        self, pieces: Sequence[Piece], unit: TimeUnit, tick: Callable[[], bool], division: Division | None = None
    ) -> list[PieceReport]:
        """See `Cluster.count`."""
        return [_keep_wanted(count(piece, unit, division), tick) for piece in pieces]

    def duplicates(
        self, pieces: Sequence[PlannedPiece], unit: TimeUnit, window: int, tick: Callable[[], bool]
    ) -> NDArray[np.int64]:
        """See `Cluster.duplicates`."""
        rows = [
            Occurrence(*row)
            for piece in pieces
            for each in _keep_wanted(ids_of(piece, unit), tick)
            for row in zip(each.ids.to_pylist(), each.times, each.arrivals, each.deletes, strict=True)
        ]
        in_order = sorted(rows, key=lambda row: (row.ts, row.arrival))
        return np.array(sorted(drop(in_order, window)), np.int64)

    def match(
        self,
        pieces: Sequence[PlannedPiece],
        job: Job,
        duplicates: Duplicates,
        sink: SliceSink,
        tick: Callable[[], bool],
    ) -> None:
        """See `Cluster.match`."""
        blocks = [block for piece in pieces for block in blocks_of(piece, job, duplicates)]
        in_order = sorted(blocks, key=lambda block: (block.slice, block.place))
        for outcome in match_slices(in_order, job, sink):
            _keep_wanted(outcome, tick)

    def close(self) -> None:
        """See `Cluster.close`."""


def _keep_wanted(done: _Done, tick: Callable[[], bool]) -> _Done:
    if not tick():
        raise CancelledError
    return done
