"""Files as history: one, or all of a folder or of a pattern of names, in the order of their names.

A record arrives before those of later files, and before later ones of its file. All executors must see the same files under the
same names.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import UnreadableStreamError
from graphtide_core.formats import FORMATS, StreamFormat

from graphtide_backfill.adapters.table_formats import table_files
from graphtide_backfill.adapters.table_history import history_of
from graphtide_backfill.adapters.texts import TextPiece, beginning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphtide_backfill.application.pieces import Piece

_TOPIC: Final = re.compile(r"[^/]+:\d+(,[^/]+:\d+)*/[^/]+")
"""Brokers and a topic."""


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one format.

    Attributes:
        location: a file, a folder, or a pattern of names as a shell knows them.
        format: the name of one of `graphtide_core.formats.FORMATS`.
        columns: what the files call `ts src dst label src_label dst_label id op type`, where they have other names.
        delimiter: what separates fields, in a format that has a delimiter.
        types: what is declared of attributes.
        may_repeat: ids may come more than once.
    """

    location: str
    format: str
    columns: Mapping[str, str] = field(default_factory=dict)
    delimiter: str = ","
    types: Mapping[str, str] = field(default_factory=dict)
    may_repeat: bool = True

    def pieces(self) -> list[Piece]:
        """See `History.pieces`."""
        paths = [str(path) for path in paths_of(self.location)]
        types = dict(self.types)
        if self._written.has_header:
            # What one file shows holds for all: they are one stream.
            types = dict.fromkeys(self._columns_of_texts(paths), "string") | types
        return [piece for path in paths for piece in self._pieces_of(path, types)]

    def headers(self) -> Iterator[Sequence[str]] | None:
        """See `History.headers`."""
        has_columns = self._written.has_header or not self._written.is_text
        return (self._columns_of(str(path)) for path in paths_of(self.location)) if has_columns else None

    def fingerprint(self) -> str:
        """Return a digest of names, sizes and times of change."""
        reported = (self.format, sorted(self.columns.items()), self.delimiter, sorted(self.types.items()))
        return hashlib.blake2b((fingerprint_of(self.location) + repr(reported)).encode(), digest_size=16).hexdigest()

    @property
    def _written(self) -> StreamFormat:
        return FORMATS[self.format]

    def _columns_of(self, path: str) -> Sequence[str]:
        tables = self._written.tables
        if tables is not None:
            return history_of(tables).columns(path)
        return beginning(path, self._written, self.columns, self.delimiter).columns

    def _columns_of_texts(self, paths: Sequence[str]) -> Iterator[str]:
        for path in paths:
            yield from beginning(path, self._written, self.columns, self.delimiter).texts

    def _pieces_of(self, path: str, types: Mapping[str, str]) -> Iterator[Piece]:
        tables = self._written.tables
        if tables is not None:
            yield from history_of(tables).pieces(path, self.columns, types)
        else:
            yield TextPiece(path, self._written, self.columns, types, self.delimiter)


def fingerprint_of(location: str) -> str:
    """Return what changes when the files of a place do: their names, sizes and times of change.

    Raises:
        UnreadableStreamError: there are no files.
    """
    found = ((path, path.stat()) for path in paths_of(location))
    return "".join(f"{path}\0{known.st_size}\0{known.st_mtime_ns}\0" for path, known in found)


def paths_of(location: str) -> list[Path]:
    """Return the files of a place in the order of their names.

    Raises:
        UnreadableStreamError: there are no files, or they are of a table that cannot be read.
    """
    place = Path(location)
    if place.is_dir() and (of_table := table_files(place)) is not None:
        found = of_table
        absent = "the table has no file"
    elif place.is_dir():
        # Files whose names begin like this are not data: engines leave them beside it.
        found = [path for path in place.rglob("*") if path.is_file() and not path.name.startswith(("_", "."))]
        absent = "there is no file in it"
    else:
        found = [Path(path) for path in glob(location)] or [place]
        is_topic = _TOPIC.fullmatch(location) is not None
        absent = "there is no such file" + ("; a topic is history with --source kafka" if is_topic else "")
    missing = [path for path in found if not path.is_file()]
    if missing or not found:
        message = f"{location}: {absent}"
        raise UnreadableStreamError(message)
    return sorted(path.resolve() for path in found)
