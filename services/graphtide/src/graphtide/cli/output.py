"""Where matches go: a file or standard output."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, BinaryIO, Self

import typer
from graphtide_core.errors import FatalError
from graphtide_core.formats import COMPRESSED_SUFFIXES, match_formats, one_of
from graphtide_core.time_text import instant_of

from graphtide.cli.arguments import STANDARD

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.formats import StreamFormat

    from graphtide.edge_lines import EdgeLinesSink
    from graphtide.match_files import MatchTableFile
    from graphtide.match_sqlite import MatchDatabase
    from graphtide.options import MatchOptions
    from graphtide.valid_results import ValidResultsSink

_COLUMNS = 2
"""Columns of a result that is an edge."""


def write_text(path: Path, text: str) -> None:
    """Write a text to a file, or to standard output where the path is `-`.

    Raises:
        BrokenPipeError: the reader of standard output has gone.
        FatalError: it cannot be written.
    """
    try:
        if str(path) == STANDARD:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            path.write_text(text, encoding="utf-8")
    except BrokenPipeError:
        raise
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise FatalError(message) from error


def refuse_unwritable(paths: Iterable[Path | None]) -> None:
    """Check before work begins that the outputs can be written; opening them may still fail.

    Raises:
        FatalError: a path cannot be written.
    """
    for path in paths:
        if path is None or str(path) == STANDARD:
            continue
        try:
            reason = _hindrance(path)
        except (OSError, ValueError):
            # The code that opens it reports what is wrong with it.
            continue
        if reason is not None:
            message = f"{path} cannot be written: {os.strerror(reason)}"
            raise FatalError(message)


def _hindrance(path: Path) -> int | None:
    """Return the number of the error that opening a path for writing would give, as far as can be seen."""
    if path.is_dir():
        return errno.EISDIR
    if path.exists():
        return None if os.access(path, os.W_OK) else errno.EACCES
    if not path.parent.exists():
        return errno.ENOENT
    if not path.parent.is_dir():
        return errno.ENOTDIR
    return None if os.access(path.parent, os.W_OK | os.X_OK) else errno.EACCES


def format_of_matches(path: Path, known: Iterable[str]) -> StreamFormat:
    """Return the format of a file of matches by the ending of its name, which is one of the known ones."""
    suffix = path.suffix.lower()
    if suffix in COMPRESSED_SUFFIXES:
        message = f"{path}: matches are not compressed as they are written: leave {path.suffix} out"
        raise typer.BadParameter(message, param_hint="--output")
    known = [*known]
    format = match_formats().get(suffix) if suffix in known else None
    if format is None:
        message = f"{path}: matches are not written as {path.suffix}: end the name in {one_of(known)}"
        raise typer.BadParameter(message, param_hint="--output")
    return format


def match_file(
    path: Path | None, patterns: Sequence[AnyPattern], options: MatchOptions
) -> MatchFile | MatchTableFile | MatchDatabase:
    """Open where matches go: by the ending of the name a table, a database or JSON Lines, which a name without one is, too.

    Raises:
        FatalError: it cannot be written.
    """
    if path is None or not path.suffix:
        return MatchFile(path)
    format = format_of_matches(path, match_formats())
    if format.database is not None:
        database: MatchDatabase = resolve_name(format.database)(path, patterns, options.time_unit)
        return database
    writer = format.matches if format.tables is None else format.tables.matches
    if writer is None:
        return MatchFile(path)
    from graphtide.match_files import MatchTableFile  # noqa: PLC0415 - lines do without pyarrow

    return MatchTableFile(path, writer, patterns, options.time_unit, typed=format.tables is not None)


def valid_results(
    at: str, patterns: Iterable[AnyPattern], sink: MatchFile | MatchTableFile | MatchDatabase, options: MatchOptions
) -> ValidResultsSink:
    """Return what keeps the results that are valid at a time, of graph queries alone, to be written as lines."""
    from graphtide_query.families import family_of  # noqa: PLC0415 - as above

    from graphtide.valid_results import ValidResultsSink  # noqa: PLC0415 - as above

    try:
        instant = instant_of(at, options.time_unit)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--at") from error
    for pattern in patterns:
        if not family_of(pattern).layout(pattern).outputs:
            message = f"pattern {pattern.name!r} has no results that are valid for a time: only streaming graph queries do"
            raise typer.BadParameter(message, param_hint="--at")
    return ValidResultsSink(instant, _lines(sink, "results that are valid at a time"))


def edge_lines(
    patterns: Iterable[AnyPattern], sink: MatchFile | MatchTableFile | MatchDatabase, at: str | None
) -> EdgeLinesSink:
    """Return what writes the results of graph queries as a stream of edges."""
    from graphtide_query.families import family_of  # noqa: PLC0415 - help does without

    from graphtide.edge_lines import EdgeLinesSink  # noqa: PLC0415 - as above

    if at is not None:
        message = "what is valid at a time is not a stream of edges: leave one of both out"
        raise typer.BadParameter(message, param_hint="--edges")
    for pattern in patterns:
        outputs = family_of(pattern).layout(pattern).outputs
        if not outputs or any(len(output.columns) != _COLUMNS for output in outputs):
            message = f"what {pattern.name!r} reports is not an edge: only results of graph queries with two columns are"
            raise typer.BadParameter(message, param_hint="--edges")
    return EdgeLinesSink(_lines(sink, "edges"))


def _lines(sink: MatchFile | MatchTableFile | MatchDatabase, what: str) -> MatchFile:
    """Return where lines go, for what is written as lines alone."""
    if isinstance(sink, MatchFile):
        return sink
    message = f"{what} are written as lines: give another ending, such as .jsonl"
    raise typer.BadParameter(message, param_hint="--output")


class MatchFile:
    """A `MatchSink` over a file, or over standard output without a path or with `-`."""

    def __init__(self, path: Path | None) -> None:
        """Open the file.

        Raises:
            FatalError: it cannot be written.
        """
        self._path = path = None if str(path) == STANDARD else path
        if path is None:
            self._file: BinaryIO = sys.stdout.buffer
            return
        try:
            self._file = path.open("wb")
        except OSError as error:
            message = f"{path} cannot be written: {error.strerror or error}"
            raise FatalError(message) from error

    def write(self, lines: bytes) -> None:
        """Take whole lines.

        Raises:
            BrokenPipeError: the reader of standard output has gone.
            FatalError: the file cannot be written: a full disk.
        """
        try:
            self._file.write(lines)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._unwritable(error) from error

    def flush(self) -> None:
        """Hand on what is buffered; raises as `write`."""
        try:
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> FatalError:
        return FatalError(f"{self._path or 'standard output'} cannot be written: {error.strerror or error}")

    def __enter__(self) -> Self:
        """Return the file itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        """Close the file; standard output stays open."""
        if self._path is not None:
            self._file.close()
