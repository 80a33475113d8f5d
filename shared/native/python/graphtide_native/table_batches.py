"""The rows of columnar files, in batches of Arrow; each function is what an entry of `graphtide_core.formats` names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.formats import by_magic

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    import pyarrow as pa

_ROWS: Final = 1 << 16
_HEAD: Final = 8
"""Bytes that show whether a file of Arrow is a stream."""


def read_parquet(path: str | os.PathLike[str]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a Parquet file; raises what pyarrow raises."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - other files do without

    with pq.ParquetFile(path) as file:
        yield from file.iter_batches(batch_size=_ROWS)


def read_arrow(path: str | os.PathLike[str]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of an Arrow IPC file or stream; raises what pyarrow raises."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    with pa.OSFile(str(path)) as opened:
        if by_magic(opened.read(_HEAD)) is None:
            opened.seek(0)
            yield from pa.ipc.open_stream(opened)
            return
        file = pa.ipc.open_file(opened)
        yield from map(file.get_batch, range(file.num_record_batches))
