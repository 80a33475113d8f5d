"""A cluster in this process, and one Spark session for all tests that want Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from graphtide_backfill.adapters.session import session
from graphtide_backfill.adapters.spark_cluster import SparkCluster
from graphtide_backfill.application.pieces import PieceReport, count
from graphtide_backfill.application.ports import CancelledError
from graphtide_backfill.application.work import blocks_of, ids_of, match_slices
from graphtide_backfill.domain.duplicates import Occurrence, dropped
from graphtide_backfill.domain.sizing import Machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from graphtide_backfill.application.pieces import Piece
    from graphtide_backfill.application.reading_plan import PlannedPiece
    from graphtide_backfill.application.work import Job, SliceSink
    from graphtide_core.time import TimeUnit
    from numpy.typing import NDArray

MEMORY = 2 << 30


class OneProcess:
    """A `Cluster` without one: does piece after piece, slice after slice, and asks after each whether it is wanted."""

    def __init__(self, machine: Machine | None = None) -> None:
        self.machine = machine or Machine(2, MEMORY)

    def count(self, pieces: Sequence[Piece], unit: TimeUnit, tick: Callable[[], bool]) -> list[PieceReport]:
        return [count(piece, unit) for piece in pieces]

    def duplicates(
        self, pieces: Sequence[PlannedPiece], unit: TimeUnit, window: int, tick: Callable[[], bool]
    ) -> NDArray[np.int64]:
        rows = [
            Occurrence(*row)
            for piece in pieces
            for each in ids_of(piece, unit)
            for row in zip(each.ids.to_pylist(), each.times, each.arrivals, each.deletes, strict=True)
        ]
        in_order = sorted(rows, key=lambda row: (row.ts, row.arrival))
        return np.array(sorted(dropped(in_order, window)), np.int64)

    def match(
        self,
        pieces: Sequence[PlannedPiece],
        job: Job,
        duplicates: NDArray[np.int64],
        sink: SliceSink,
        tick: Callable[[], bool],
    ) -> None:
        blocks = [block for piece in pieces for block in blocks_of(piece, job, duplicates)]
        for _ in match_slices(sorted(blocks, key=lambda block: (block.slice, block.place)), job, sink):
            if not tick():
                raise CancelledError

    def close(self) -> None:
        pass


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkCluster]:
    """A Spark on two cores that all tests of a worker share."""
    cluster = SparkCluster(session("local[2]", MEMORY, {}), MEMORY)
    yield cluster
    cluster.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker run all tests on Spark: a session takes seconds and half a gigabyte."""
    for item in items:
        if isinstance(item, pytest.Function) and "spark" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("spark"))
