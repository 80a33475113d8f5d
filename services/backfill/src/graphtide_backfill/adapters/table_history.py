"""What a backfill needs of a columnar format: the columns and pieces of a file, and a way to write matches."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa
    from graphtide_core.formats import Tables

    from graphtide_backfill.application.pieces import Piece


class TableHistory(NamedTuple):
    """The code of one columnar format.

    Attributes:
        columns: returns the names of a file's columns; raises UnreadableStreamError if it is not of the format.
        pieces: yields the pieces of a file, given the stream's names of columns and declared types; raises likewise.
        rows: yields the record batches of a file; raises UnreadableStreamError or what pyarrow raises.
        write: writes a file from the matches of a run; raises OSError.
    """

    columns: Callable[[str], Sequence[str]]
    pieces: Callable[[str, Mapping[str, str], Mapping[str, str]], Iterator[Piece]]
    rows: Callable[[str], Iterator[pa.RecordBatch]]
    write: WriteMatches


class WriteMatches(Protocol):
    """Writes batches with the columns of `schema`; columns of few words are codes."""

    def __call__(self, path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        """Write one file."""
        ...


def history_of(tables: Tables) -> TableHistory:
    """Return the code of a columnar format, loaded."""
    found: TableHistory = resolve_name(tables.history)
    return found
