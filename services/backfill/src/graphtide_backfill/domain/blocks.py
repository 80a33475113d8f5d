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
from graphtide_backfill.domain.slices import parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_native.records import EdgeBatch
    from numpy.typing import NDArray

    from graphtide_backfill.domain.slices import Slice


@dataclass(frozen=True, slots=True)
class Block:
    """Edges of one batch for one slice, in the order (ts, arrival).

    Attributes:
        slice: number of the slice.
        place: number of the batch in the order of arrival.
        settled: no edge of a later batch is earlier than this.
        edges: an Arrow IPC stream as `EdgeBatch.to_arrow` writes it.
    """

    slice: int
    place: int
    settled: int
    edges: bytes


def cut(
    batch: EdgeBatch,
    slices: Sequence[Slice],
    window: int,
    *,
    place: int,
    settled: int,
    duplicates: NDArray[np.int64] | None = None,
) -> Iterator[Block]:
    """Yield the blocks of a batch.

    Args:
        batch: edges in the order of arrival.
        slices: the slices that are to be matched.
        window: ticks of the longest window.
        place: the batch's number.
        settled: no edge of a later batch is earlier.
        duplicates: arrivals of rows to leave out, ascending; see `arrivals_of`.
    """
    ordered = in_order(batch)
    times = np.array(ordered.ts, np.int64)
    repeated = None if duplicates is None or not len(duplicates) else np.isin(arrivals_of(ordered), duplicates)
    for part in parts(times, slices, window):
        edges = ordered.part(part.first, part.last).to_arrow()
        if repeated is not None and repeated[part.first : part.last].any():
            edges = _without(edges, repeated[part.first : part.last])
        yield Block(part.slice, place, settled, edges)


def in_order(batch: EdgeBatch) -> EdgeBatch:
    """Return the records by time, those of one time in their order: the same object if they are in order."""
    times = np.array(batch.ts, np.int64)
    if (times[1:] >= times[:-1]).all():
        return batch
    sequencer = Sequencer(WHOLE, WHOLE)
    ready = sequencer.push(batch)
    rest = sequencer.finish()
    return ready if rest is None else ready.followed_by([rest])


def _without(edges: bytes, left_out: NDArray[np.bool_]) -> bytes:
    with pa.ipc.open_stream(edges) as reader:
        table = reader.read_all().filter(pa.array(~left_out)).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())
