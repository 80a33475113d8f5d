"""Dead letters as JSON Lines.

One object a record: `{"line": 7, "reason": "…", "raw": "…"}`. `raw` is the record as it came, without its line end. Where its
bytes are not UTF-8 there is `raw_base64` instead of `raw`, so that every byte can be had back.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

import msgspec
from graphtide_core.errors import FatalError

if TYPE_CHECKING:
    import os
    from types import TracebackType

    from graphtide_core.ports.dead_letter_sink import DeadLetter


class DeadLetterFile:
    """A `DeadLetterSink` over a file, which it replaces at once: letters of an earlier run are not taken for this one's."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the file.

        Raises:
            FatalError: it cannot be written.
        """
        self._path = Path(path)
        self.written = 0
        try:
            self._file: BinaryIO = self._path.open("wb")
        except OSError as error:
            raise self._unwritable(error) from error

    def write(self, letter: DeadLetter) -> None:
        """Append a letter.

        Raises:
            FatalError: the file cannot be written.
        """
        try:
            self._file.write(_encode(letter))
        except OSError as error:
            raise self._unwritable(error) from error
        self.written += 1

    def flush(self) -> None:
        """Write out what is buffered; raises as `write`."""
        try:
            self._file.flush()
        except OSError as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        """Write out what is buffered and close the file; raises as `write`."""
        try:
            self._file.close()
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> FatalError:
        return FatalError(f"{self._path}: dead letters cannot be written ({error.strerror or error})")

    def __enter__(self) -> Self:
        """Return the file itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        """Close the file."""
        self.close()


def _encode(letter: DeadLetter) -> bytes:
    record: dict[str, object] = {"line": letter.line, "reason": letter.reason}
    try:
        record["raw"] = letter.raw.decode()
    except UnicodeDecodeError:
        record["raw_base64"] = base64.b64encode(letter.raw).decode("ascii")
    return msgspec.json.encode(record) + b"\n"
