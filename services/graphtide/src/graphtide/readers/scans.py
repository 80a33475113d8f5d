"""Readers of tables that may be larger than memory: datasets of pyarrow, lazy frames of polars, objects with an Arrow stream.

They are read batch by batch, wanted columns alone, and put in order of time as a file is. Past `KEPT_BYTES` of records a
dataset and a lazy frame are read twice. A stream, which can be read once, is sorted as if it were out of order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from graphtide_core.errors import UnreadableStreamError

from graphtide.readers.columnar import read_batches, select_columns
from graphtide.readers.reader import times_alone
from graphtide.readers.sorting import SortingReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from graphtide.readers.reader import Reader, ReaderOptions

NAME = "the table"
"""What messages call it."""


def open_scan(table: object, options: ReaderOptions) -> Reader | None:
    """Open a dataset of pyarrow or a lazy frame of polars; None if it is neither.

    Raises:
        UnreadableStreamError: it has no columns that can be read.
    """
    package = type(table).__module__.partition(".")[0]
    if package == "pyarrow" and hasattr(table, "to_batches") and hasattr(table, "schema") and hasattr(table, "scanner"):
        return _put_in_order(table, _read_dataset, options)
    if package == "polars" and hasattr(table, "collect_schema") and hasattr(table, "collect_batches"):
        return _put_in_order(table, _read_lazy_frame, options)
    return None


def open_arrow_stream(table: object, options: ReaderOptions) -> Reader:
    """Open an object with an Arrow stream, which is read once.

    Raises:
        UnreadableStreamError: it gives none.
    """
    try:
        stream = pa.RecordBatchReader.from_stream(table)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise _unreadable(error) from error
    return SortingReader(read_batches(stream, stream.schema, options, NAME), options, times=None)


def _put_in_order(table: Any, read: Callable[[Any, ReaderOptions], Reader], options: ReaderOptions) -> Reader:
    return SortingReader(read(table, options), options, times=lambda: read(table, times_alone(options)))


def _read_dataset(dataset: Any, options: ReaderOptions) -> Reader:
    wanted = select_columns(dataset.schema, options)

    def batches() -> Iterator[pa.RecordBatch]:
        yield from dataset.to_batches(columns=wanted, batch_size=options.block_rows)

    return read_batches(batches(), dataset.schema, options, NAME)


def _read_lazy_frame(frame: Any, options: ReaderOptions) -> Reader:
    import polars as pl  # noqa: PLC0415 - optional; the caller has it

    try:
        schema = pa.RecordBatchReader.from_stream(pl.DataFrame(schema=frame.collect_schema())).schema
    except pl.exceptions.PolarsError as error:
        raise _unreadable(error) from error
    wanted = select_columns(schema, options)

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for part in frame.select(wanted).collect_batches(chunk_size=options.block_rows, maintain_order=True, lazy=True):
                yield from pa.RecordBatchReader.from_stream(part)
        except pl.exceptions.PolarsError as error:
            raise _unreadable(error) from error

    return read_batches(batches(), schema, options, NAME)


def _unreadable(error: Exception) -> UnreadableStreamError:
    return UnreadableStreamError(f"{NAME} cannot be read as Arrow ({str(error).strip().partition(chr(10))[0]})")
