"""Matches written to a SQLite database: a table `matches`, a row a match, and a table `edges`, a row an edge or event of one.

Columns are those of `graphtide.matches`, but those of edges and events, and paths of graph queries, are rows of `edges`. Times
are ticks of the stream, lists are JSON; what a pattern returns has the type of each value. A batch is one transaction. The
database takes the place of an earlier one, and is whole with indexes on match ids once it is closed. Names of columns that
differ in the case of letters alone get underscores: SQLite has no case. Cost: an object a value, made a column at a time.
"""

from __future__ import annotations

import json
import sqlite3
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Final, Self

import pyarrow as pa
from graphtide_core.errors import FatalError
from graphtide_native.match_tables import list_values

from graphtide.field_types import is_exact_as, name_type
from graphtide.match_columns import MatchRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.time import TimeUnit
    from graphtide_native.match_batch import MatchBatch

ROWS: Final = 1 << 16
"""Matches of a transaction, about."""

_PARTS: Final = ("edges.", "events.")
"""What the names of columns begin with that are rows of edges."""

_EDGES: Final = """
CREATE TABLE edges (
    match INTEGER NOT NULL REFERENCES matches (number),
    match_id TEXT NOT NULL,
    part TEXT NOT NULL,
    name TEXT,
    place INTEGER NOT NULL,
    edge TEXT NOT NULL
)
"""


class MatchDatabase:
    """A database of matches. A context manager: leaving its block writes the rest and closes."""

    def __init__(self, path: Path, patterns: Sequence[AnyPattern], unit: TimeUnit) -> None:
        """Create the database, in place of a file of its name.

        Args:
            path: of its file.
            patterns: of all matches.
            unit: what times of the stream count.

        Raises:
            FatalError: it cannot be written.
        """
        self._path = path
        self._rows = MatchRows(patterns, unit)
        self._pending: list[MatchBatch] = []
        self._count = self._written = 0
        schema = self._rows.schema(["text"] * len(self._rows.fields))
        self._fields = [f"fields.{name}" for name in self._rows.fields]
        self._columns = [name for name in schema.names if not name.startswith(_PARTS) and name != "path"]
        try:
            _remove(path)
            self._database = sqlite3.connect(path, isolation_level=None)
            names = _distinguish(self._columns)
            declared = [self._declare(name, schema.field(of)) for of, name in zip(self._columns, names, strict=True)]
            with self._database:
                self._database.execute(f"CREATE TABLE matches (number INTEGER PRIMARY KEY, {', '.join(declared)})")
                self._database.execute(_EDGES)
        except (sqlite3.Error, OSError) as error:
            raise self._unwritable(error) from error

    def _declare(self, name: str, field: pa.Field) -> str:
        # Without a type each value keeps its own.
        is_number = pa.types.is_integer(field.type) or pa.types.is_timestamp(field.type)
        type = "" if field.name in self._fields else " INTEGER" if is_number else " TEXT"
        return f"{_quote(name)}{type}{'' if field.nullable else ' NOT NULL'}"

    def take(self, matches: MatchBatch) -> None:
        """Take matches; they are written with those that follow.

        Raises:
            FatalError: the database cannot be written: a full disk.
        """
        self._pending.append(matches)
        self._count += len(matches)
        if self._count >= ROWS:
            self._write()

    def _write(self) -> None:
        """Write what waits, in one transaction."""
        pending, self._pending, self._count = self._pending, [], 0
        values = ", ".join("?" * (1 + len(self._columns)))
        try:
            with self._database:
                self._database.execute("BEGIN")
                for matches in pending:
                    columns, lists = self._values(matches)
                    numbers = range(self._written + 1, self._written + 1 + len(matches))
                    cells = (map(_cell, columns[name]) if name in lists else columns[name] for name in self._columns)
                    rows = zip(numbers, *cells, strict=True)
                    self._database.executemany(f"INSERT INTO matches VALUES ({values})", rows)  # noqa: S608 - question marks
                    self._database.executemany(
                        "INSERT INTO edges VALUES (?, ?, ?, ?, ?, ?)", chain.from_iterable(_edges(columns, lists, numbers))
                    )
                    self._written += len(matches)
        except sqlite3.Error as error:
            raise self._unwritable(error) from error

    def _values(self, matches: MatchBatch) -> tuple[dict[str, list[Any]], set[str]]:
        """Return the values of matches by column, times as ticks; and the columns that may have lists."""
        kinds = self._rows.kinds(matches)
        types = [name_type(found) for found in kinds]
        table = self._rows.rows(matches, kinds, types)
        columns = dict(zip(table.schema.names, list_values(table), strict=True))
        lists = {field.name for field in table.schema if pa.types.is_list(field.type)}
        for name, type, found in zip(self._rows.fields, types, kinds, strict=True):
            if not is_exact_as(type, found):
                columns[f"fields.{name}"] = [match.fields.get(name) for match in matches]
                lists.add(f"fields.{name}")
        return columns, lists

    def close(self) -> None:
        """Write what is left, index it and make the database whole.

        Raises:
            FatalError: it cannot be written.
        """
        try:
            self._write()
            for table in ("matches", "edges"):
                self._database.execute(f"CREATE INDEX {table}_by_match_id ON {table} (match_id)")
            self._database.execute("CREATE INDEX edges_by_match ON edges (match)")
        except sqlite3.Error as error:
            raise self._unwritable(error) from error
        finally:
            self._database.close()

    def _unwritable(self, error: sqlite3.Error | OSError) -> FatalError:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        return FatalError(f"{self._path} cannot be written: {reason}")

    def __enter__(self) -> Self:
        """Return the database itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        """Close."""
        self.close()


def _remove(path: Path) -> None:
    """Remove a file and what SQLite keeps beside it: as every output, a database takes the place of an earlier one."""
    for beside in ("", "-journal", "-wal", "-shm"):
        path.with_name(path.name + beside).unlink(missing_ok=True)


def _edges(columns: dict[str, list[Any]], lists: set[str], numbers: Sequence[int]) -> Iterator[Iterable[tuple[object, ...]]]:
    """Yield the rows of edges, of one part after another: its ids in their order."""
    ids = columns["match_id"]
    for column, values in columns.items():
        if column == "path":
            part, name = column, None
        elif column.startswith(_PARTS):
            part, _, name = column.partition(".")
        else:
            continue
        if column in lists:
            yield (
                (number, match_id, part, name, place, edge)
                for number, match_id, value in zip(numbers, ids, values, strict=True)
                for place, edge in enumerate(value or ())
            )
        else:
            rows = zip(numbers, ids, repeat(part), repeat(name), repeat(0), values, strict=False)
            yield rows if None not in values else (row for row in rows if row[-1] is not None)


def _cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple) else value


def _distinguish(names: Sequence[str]) -> list[str]:
    """Return names with underscores behind those that differ from others in the case of letters alone: SQLite has no case."""
    found = dict[str, str]()
    for name in names:
        distinct = name
        while distinct.lower() in found:
            distinct += "_"
        found[distinct.lower()] = distinct
    return [*found.values()]


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
