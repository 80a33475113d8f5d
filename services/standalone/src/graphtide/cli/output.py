"""Where matches go: a file or standard output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from graphtide_core.errors import FatalError

from graphtide.cli.arguments import STANDARD

if TYPE_CHECKING:
    from types import TracebackType


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


class MatchFile:
    """A `MatchSink` over a file, or over standard output where there is no path, or it is `-`."""

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
