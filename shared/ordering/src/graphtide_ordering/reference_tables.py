"""Reference tables that statements join in services: from files in one folder, loaded once and reloaded behind their users.

A name in a statement leads to a file in the folder, or to none: a user of the service cannot read other files. A table that was
never read is waited for. One that was read stays until its file was read again as a whole. A file that cannot be read is
reported, and the old rows stay. Cost: one look at the file for each period of RELOAD. Safe for threads.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import TransientError, UnreadableStreamError
from graphtide_core.time import TimeUnit
from graphtide_native.tables import TableFile, read_rows, table_files
from graphtide_telemetry import attributes as key
from graphtide_telemetry import events, metrics
from graphtide_telemetry.instruments import add
from graphtide_wire.stream_definition import encode_definition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_native.tables import FileVersion, LookupTable

_LOG = structlog.get_logger()

MOST_KEPT: Final = 64
"""Tables that a process keeps, of statements that it no longer runs, too."""

_AGAIN_SECONDS: Final = 1.0
"""Seconds for which a table that cannot be read is not tried again."""


def empty_tables(definition: StreamDefinition) -> dict[str, LookupTable]:
    """Return the tables of a definition without rows."""
    return {each.name: each.empty() for each in table_files(definition, encode_definition)}


def flaw_of_files(definition: StreamDefinition) -> str | None:
    """Return what is wrong with the name of a file, as a service has its files in one folder; None if nothing is."""
    for table in definition.tables:
        path = Path(table.file)
        if path.is_absolute() or ".." in path.parts:
            return f"table {table.name!r}: {table.file!r} is not in the folder of tables; name a file by its path in it"
    return None


@dataclass(slots=True)
class _Kept:
    """A table that is in use, what its file was when it was read, and when it was looked at."""

    table: LookupTable
    version: FileVersion
    looked_at: float
    is_loading: bool = False


class ReferenceTables:
    """The tables in one folder."""

    def __init__(self, folder: str | None, *, clock: Callable[[], float] = monotonic) -> None:
        """Read nothing yet; None for a service without a folder, which has no tables."""
        self._folder = None if folder is None else Path(folder)
        self._clock = clock
        self._lock, self._loading = Lock(), Lock()
        self._kept: OrderedDict[TableFile, _Kept] = OrderedDict()
        self._failed: tuple[float, str] = (0.0, "")

    def files_of(self, definition: StreamDefinition) -> tuple[TableFile, ...]:
        """Return the files of the tables that a definition joins, for `current`."""
        return table_files(definition, encode_definition, self._folder)

    def current(self, definition: StreamDefinition, files: Iterable[TableFile]) -> Mapping[str, LookupTable]:
        """Return the tables that a definition joins, by their names; one may be replaced while it is read.

        Raises:
            TransientError: a table was never read, and cannot be read now.
        """
        if not definition.tables:
            return {}
        if self._folder is None:
            name = definition.tables[0].name
            message = f"the statement of {definition.name} joins the table {name!r}, and the setting TABLES names no folder"
            raise TransientError(message)
        found = {}
        for file in files:
            kept = self._find(file) or self._load(file, definition)
            reload = file.rows.table.reload
            if reload is not None:
                self._look(file, kept, float(reload.ticks(TimeUnit.SECOND)), definition.name)
            found[file.name] = kept.table
        return found

    def _find(self, file: TableFile) -> _Kept | None:
        with self._lock:
            kept = self._kept.get(file)
            if kept is not None:
                self._kept.move_to_end(file)
            return kept

    def _load(self, file: TableFile, definition: StreamDefinition) -> _Kept:
        """Read a table for the first time; one is read at a time, and others that are there are found meanwhile."""
        with self._loading:
            kept = self._find(file) or self._read(file, definition)
            with self._lock:
                self._kept[file] = kept
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            return kept

    def _read(self, file: TableFile, definition: StreamDefinition) -> _Kept:
        until, reason = self._failed
        if reason and self._clock() < until and reason.startswith(f"{file.path}:"):
            raise TransientError(reason)
        try:
            self._check_inside(file, definition)
            version = file.version()
            table = file.empty()
            table.replace(read_rows(file))
        except UnreadableStreamError as error:
            self._failed = self._clock() + _AGAIN_SECONDS, str(error)
            self._report(file, definition.name, str(error))
            raise TransientError(str(error)) from error
        _LOG.info(events.TABLE_LOADED, stream=definition.name, table=file.name, rows=table.rows, bytes=table.bytes)
        add(metrics.TABLE_LOADS, 1, {key.STREAM: definition.name, key.TABLE: file.name, key.OUTCOME: "loaded"})
        return _Kept(table, version, self._clock())

    def _check_inside(self, file: TableFile, definition: StreamDefinition) -> None:
        folder = Path() if self._folder is None else self._folder
        flaw = flaw_of_files(definition)
        if flaw is None and not file.path.resolve().is_relative_to(folder.resolve()):
            flaw = "it is a link that leads out of the folder of tables"
        if flaw is not None:
            message = f"{file.path}: {flaw}"
            raise UnreadableStreamError(message)

    def _look(self, file: TableFile, kept: _Kept, period: float, stream: str) -> None:
        """Look at the file once a period, and read it in the background if it is another."""
        with self._lock:
            if kept.is_loading or self._clock() < kept.looked_at + period:
                return
            kept.looked_at, kept.is_loading = self._clock(), True
        Thread(target=self._reload, args=(file, kept, stream), name=f"table {file.name}", daemon=True).start()

    def _reload(self, file: TableFile, kept: _Kept, stream: str) -> None:
        try:
            version = file.version()
            if version == kept.version:
                return
            kept.table.replace(read_rows(file))
            kept.version = version
            _LOG.info(events.TABLE_LOADED, stream=stream, table=file.name, rows=kept.table.rows, bytes=kept.table.bytes)
            add(metrics.TABLE_LOADS, 1, {key.STREAM: stream, key.TABLE: file.name, key.OUTCOME: "loaded"})
        except UnreadableStreamError as error:
            self._report(file, stream, str(error))
        finally:
            kept.is_loading = False

    def _report(self, file: TableFile, stream: str, reason: str) -> None:
        _LOG.warning(events.TABLE_UNREADABLE, stream=stream, table=file.name, error=reason)
        add(metrics.TABLE_LOADS, 1, {key.STREAM: stream, key.TABLE: file.name, key.OUTCOME: "failed"})


@lru_cache(maxsize=8)
def tables_in(folder: str | None) -> ReferenceTables:
    """Return the tables of a folder, those of this process."""
    return ReferenceTables(folder)
