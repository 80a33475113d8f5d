"""Blocks: the edges of history as they travel, column by column, cut for the slices that need them.

Batches are numbered in the order of arrival. A batch is put in order of time and cut. Each block keeps the number of its batch
and a time: later batches have nothing up to that time. So a slice that takes its blocks by their numbers puts all its edges in
the order (ts, arrival). It waits no more than the disorder of history needs: not at all where it is in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from graphtide_native.records import Sequencer
from graphtide_native.stages import WHOLE

from graphtide_backfill.domain.duplicates import arrivals_of
from graphtide_backfill.domain.slices import rows_of_slices

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_native.records import EdgeBatch
    from numpy.typing import NDArray

    from graphtide_backfill.domain.division import Division
    from graphtide_backfill.domain.slices import Slice


@dataclass(frozen=True, slots=True)
class Block:
    """Edges of one batch for one slice, in the order (ts, arrival).

    Attributes:
        slice: number of the slice.
        place: number of the batch in the order of arrival.
        settled: no edge of a later batch is earlier than this.
        edges: an Arrow IPC stream as `EdgeBatch.to_arrow` writes it.
        copies: records of the slice itself that a slice of an earlier part has, too.
    """

    slice: int
    place: int
    settled: int
    edges: bytes
    copies: int = 0


def cut(
    batch: EdgeBatch,
    slices: Sequence[Slice],
    window: int,
    *,
    place: int,
    settled: int,
    duplicates: NDArray[np.int64] | None = None,
    division: Division | None = None,
) -> Iterator[Block]:
    """Yield the blocks of a batch.

    Args:
        batch: edges in the order of arrival.
        slices: the slices that are to be matched, by their numbers.
        window: ticks of the longest window.
        place: the batch's number.
        settled: no edge of a later batch is earlier.
        duplicates: arrivals of rows to leave out, ascending; see `arrivals_of`.
        division: by the key of which slices are parts.
    """
    ordered = in_order(batch)
    times = np.array(ordered.ts, np.int64)
    repeated = None if duplicates is None or not len(duplicates) else np.isin(arrivals_of(ordered), duplicates)
    for rows in rows_of_slices(times, slices, window):
        own = ordered.part(rows.first, rows.last)
        dropped = None if repeated is None else repeated[rows.first : rows.last]
        if division is not None:
            yield from _divide(own, rows.slices, division, dropped, place=place, settled=settled)
            continue
        edges = own.to_arrow()
        if dropped is not None and dropped.any():
            edges = _write(columns_of(edges).filter(pa.array(~dropped)))
        yield Block(rows.slices[0].number, place, settled, edges)


def _divide(
    batch: EdgeBatch,
    slices: Sequence[Slice],
    division: Division,
    dropped: NDArray[np.bool_] | None,
    *,
    place: int,
    settled: int,
) -> Iterator[Block]:
    """Yield the blocks of edges for the parts of one stretch of time."""
    columns = columns_of(batch.to_arrow())
    if dropped is not None:
        columns = columns.filter(pa.array(~dropped))
    by_part = {each.part: each for each in slices}
    times = np.asarray(columns.column("ts"))
    for part, rows, are_copies in division.rows(columns, tuple(by_part)):
        own = by_part[part]
        copies = int((are_copies & (times[rows] >= own.start)).sum())
        yield Block(own.number, place, settled, _write(columns.take(pa.array(rows))), copies)


def in_order(batch: EdgeBatch) -> EdgeBatch:
    """Return the records by time, those of one time in their order: the same object if they are in order."""
    times = np.array(batch.ts, np.int64)
    if (times[1:] >= times[:-1]).all():
        return batch
    sequencer = Sequencer(WHOLE, WHOLE)
    ready = sequencer.push(batch)
    rest = sequencer.finish()
    return ready if rest is None else ready.followed_by([rest])


def columns_of(edges: bytes) -> pa.RecordBatch:
    """Return the columns of edges as `EdgeBatch.to_arrow` writes them."""
    with pa.ipc.open_stream(edges) as reader:
        (columns,) = reader.read_all().combine_chunks().to_batches() or (pa.RecordBatch.from_pylist([], reader.schema),)
    return columns


def _write(columns: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, columns.schema) as writer:
        writer.write_batch(columns)
    return bytes(sink.getvalue().to_pybytes())
