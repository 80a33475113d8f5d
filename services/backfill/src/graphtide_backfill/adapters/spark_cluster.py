"""A Spark cluster that counts, finds duplicates and matches; blocks cross the JVM whole, so a row is thousands of edges."""

from __future__ import annotations

import re
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
from graphtide_core.errors import FatalError
from pyspark.sql import functions as f

from graphtide_backfill.adapters.session import session
from graphtide_backfill.application.pieces import PieceReport, count
from graphtide_backfill.application.ports import CancelledError
from graphtide_backfill.application.work import blocks_of, ids_of, match_slices
from graphtide_backfill.domain.blocks import Block
from graphtide_backfill.domain.duplicates import Occurrence, drop
from graphtide_backfill.domain.sizing import Machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from graphtide_core.time import TimeUnit
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from graphtide_backfill.application.pieces import Piece
    from graphtide_backfill.application.reading_plan import PlannedPiece
    from graphtide_backfill.application.work import Duplicates, Job, SliceSink
    from graphtide_backfill.domain.division import Division

    Batches = Iterator[pa.RecordBatch]

_TICK_SECONDS: Final = 0.5
_TASKS_A_CORE: Final = 4
_RAISED = re.compile(r"[A-Za-z_.]+(Error|Exception): ")
_Piece = TypeVar("_Piece")
_Row = tuple[Any, ...]
"""A row of Spark, which has no types."""


class SparkCluster:
    """A `Cluster` with a session of its own."""

    def __init__(self, master: str, executor_bytes: int, settings: Mapping[str, str]) -> None:
        """Open a session on `master` with executors of so much memory each; `settings` are more of Spark's."""
        spark = self._spark = session(master, executor_bytes, settings)
        context = spark.sparkContext
        each = int(context.getConf().get("spark.executor.cores") or 0)
        if str(context.master).startswith("local"):
            each = context.defaultParallelism
        # Ids are counted in a few tasks for each core, not in the 200 of the default.
        spark.conf.set("spark.sql.shuffle.partitions", str(_TASKS_A_CORE * context.defaultParallelism))
        self.machine = Machine(max(1, context.defaultParallelism), executor_bytes // 2 // max(1, each))

    def count(
        self, pieces: Sequence[Piece], unit: TimeUnit, tick: Callable[[], bool], division: Division | None = None
    ) -> list[PieceReport]:
        """See `Cluster.count`."""
        rows = self._each(pieces, partial(_count, unit=unit, division=division), "piece long, report binary")
        found: dict[int, bytes] = dict(self._collected(rows, tick))
        return [msgspec.msgpack.decode(found[number], type=PieceReport) for number in range(len(pieces))]

    def duplicates(
        self, pieces: Sequence[PlannedPiece], unit: TimeUnit, window: int, tick: Callable[[], bool]
    ) -> NDArray[np.int64]:
        """See `Cluster.duplicates`."""
        occurrences = self._each(pieces, partial(_occurrences, unit=unit), "id string, ts long, arrival long, deletes boolean")
        repeated = occurrences.where(~f.col("deletes")).groupBy("id").count().where("count > 1").select("id")
        if not self._collected(repeated.limit(1).selectExpr("1"), tick):
            return np.zeros(0, np.int64)
        candidates = occurrences.join(repeated, "id", "left_semi")
        by_id = candidates.repartition(self.machine.cores, "id").sortWithinPartitions("ts", "arrival")
        rows = by_id.mapInArrow(partial(_drop, window=window), "arrival long")
        return np.array(sorted(each for (each,) in self._collected(rows, tick)), np.int64)

    def match(
        self,
        pieces: Sequence[PlannedPiece],
        job: Job,
        duplicates: Duplicates,
        sink: SliceSink,
        tick: Callable[[], bool],
    ) -> None:
        """See `Cluster.match`."""
        shared = self._spark.sparkContext.broadcast(duplicates)
        places = {each.number: place for place, each in enumerate(job.slices)}
        blocks = self._each(
            pieces,
            lambda piece, _: _blocks(piece, job, shared.value, places),
            "part int, slice int, place long, settled long, edges binary, copies long",
        )
        own = blocks.repartitionById(len(job.slices), "part").sortWithinPartitions("slice", "place")
        self._collected(own.mapInArrow(partial(_match, job=job, sink=sink), "slice int"), tick)

    def close(self) -> None:
        """See `Cluster.close`."""
        self._spark.stop()

    def _each(self, pieces: Sequence[_Piece], work: Callable[[_Piece, int], Batches], schema: str) -> DataFrame:
        """Return what work gives for every piece, each a task of its own."""
        number = max(1, len(pieces))
        shared = self._spark.sparkContext.broadcast(tuple(pieces))

        def run(batches: Batches) -> Batches:
            for batch in batches:
                for piece in batch.column(0).to_pylist():
                    yield from work(shared.value[piece], piece)

        return self._spark.range(0, len(pieces), 1, number).mapInArrow(run, schema)

    def _collected(self, rows: DataFrame, tick: Callable[[], bool]) -> list[_Row]:
        """Return the rows, which are few; asks meanwhile whether they are wanted."""
        found: list[list[_Row]] = []
        failed: list[BaseException] = []

        def collect() -> None:
            try:
                found.append([tuple(row) for row in rows.collect()])
            except BaseException as error:  # The driver's thread raises it.
                failed.append(error)

        thread = Thread(target=collect, name="graphtide-backfill", daemon=True)
        thread.start()
        wanted = True
        while thread.is_alive():
            thread.join(_TICK_SECONDS)
            if wanted and not tick():
                wanted = False
                # The session is this backfill's alone.
                self._spark.sparkContext.cancelAllJobs()
        if not wanted:
            raise CancelledError
        if failed:
            raise FatalError(_cause(failed[0])) from failed[0]
        return found[0]


def _count(piece: Piece, number: int, *, unit: TimeUnit, division: Division | None) -> Batches:
    report = msgspec.msgpack.encode(count(piece, unit, division))
    yield pa.record_batch([pa.array([number], pa.int64()), pa.array([report], pa.binary())], ["piece", "report"])


def _occurrences(piece: PlannedPiece, _: int, *, unit: TimeUnit) -> Batches:
    for each in ids_of(piece, unit):
        yield pa.record_batch(
            [
                each.ids,
                pa.array(each.times, pa.int64()),
                pa.array(each.arrivals, pa.int64()),
                pa.array(each.deletes, pa.bool_()),
            ],
            ["id", "ts", "arrival", "deletes"],
        )


def _drop(batches: Batches, *, window: int) -> Batches:
    rows = (Occurrence(**row) for batch in batches for row in batch.to_pylist())
    yield pa.record_batch([pa.array(list(drop(rows, window)), pa.int64())], ["arrival"])


def _blocks(piece: PlannedPiece, job: Job, duplicates: Duplicates, places: Mapping[int, int]) -> Batches:
    for block in blocks_of(piece, job, duplicates):
        row = {
            "part": pa.array([places[block.slice]], pa.int32()),
            "slice": pa.array([block.slice], pa.int32()),
            "place": pa.array([block.place], pa.int64()),
            "settled": pa.array([block.settled], pa.int64()),
            "edges": pa.array([block.edges], pa.binary()),
            "copies": pa.array([block.copies], pa.int64()),
        }
        yield pa.record_batch(list(row.values()), list(row))


def _match(batches: Batches, *, job: Job, sink: SliceSink) -> Batches:
    for outcome in match_slices(_read(batches), job, sink):
        yield pa.record_batch([pa.array([outcome.slice], pa.int32())], ["slice"])


def _read(batches: Batches) -> Iterator[Block]:
    for batch in batches:
        columns = [batch.column(name) for name in ("slice", "place", "settled", "edges", "copies")]
        for row in range(batch.num_rows):
            yield Block(*(column[row].as_py() for column in columns))


def _cause(error: BaseException) -> str:
    """Return the one line of a failed job that says why: the last of Python's own, if there is one."""
    said = [line.strip() for line in str(error).splitlines()]
    of_python = [line for line in said if _RAISED.match(line)]
    return (of_python or said or [type(error).__name__])[-1 if of_python else 0]
