"""Bytes of a file or of standard input, decompressed on the way, as they come.

Their first bytes, not their name, show whether they are compressed.
"""

from __future__ import annotations

import io
import os
import select
import stat
import sys
from typing import TYPE_CHECKING, Any, Final

from graphtide_core.errors import UnreadableStreamError
from graphtide_native.unpacking import HEAD, PackedBytes, is_packed, member_of_zip, unpack

from graphtide.readers.remote import is_uri, open_random_access, open_uri

if TYPE_CHECKING:
    from collections.abc import Iterator

STANDARD_INPUT = "-"
"""The name that means standard input."""

_FIRST_BLOCK = 1 << 18
"""Bytes that the look at a file's beginning reads, and that then are its first block. They have thousands of records,
because plans are made from the first batch."""


_PATIENCE_MS: Final = 200
"""Milliseconds after which a wait for bytes looks for signals."""


class _PromptFile(io.FileIO):
    """A file that may have nothing to read for long, and whose reader answers signals all the while.

    The system ends a blocking read for a signal only if the read has begun. A signal just before would wait for the next bytes.
    """

    def readinto(self, buffer: Any, /) -> int | None:
        """Wait for bytes in short steps, then read them."""
        ready = select.poll()
        ready.register(self.fileno(), select.POLLIN)
        # Python calls the handlers of signals between two steps.
        while not ready.poll(_PATIENCE_MS):
            pass
        return super().readinto(buffer)


class ByteSource:
    """An open stream of bytes."""

    def __init__(self, file: io.BufferedReader[Any], name: str, total: int | None, *, sniff: bool) -> None:
        """Wrap an open file; `sniff` waits for its first bytes."""
        self._packed = PackedBytes(file, name)
        self._file = file
        self.name = name
        self.total = total
        self._head = file.peek(HEAD)[:HEAD] if sniff else b""

    @property
    def read(self) -> int:
        """Bytes read so far, as they lie there."""
        return self._packed.read

    @read.setter
    def read(self, count: int) -> None:
        self._packed.read = count

    @property
    def head(self) -> bytes:
        """The first bytes as they lie in the source; empty for standard input."""
        return self._head

    @property
    def is_compressed(self) -> bool:
        """Whether the first bytes are those of a compressed file."""
        return is_packed(self._head)

    @property
    def member(self) -> str | None:
        """The name of the one file in a zip archive, before anything is read; None if it is no such archive."""
        return member_of_zip(self._file) if self.is_compressed and self._file.seekable() else None

    @property
    def location(self) -> Any:
        """What readers of columnar formats open: a path, or an open file on another file system."""
        return open_random_access(self.name) if is_uri(self.name) else self.name

    def blocks(self, size: int) -> Iterator[bytes]:
        """Yield the bytes in blocks of about `size`, less if less is there: a slow source is not waited for.

        Raises:
            UnreadableStreamError: the source breaks off or is damaged.
        """
        try:
            # Of a file, the first block is as long as that of others: it settles the types of columns.
            yield from unpack(self._packed, size, _FIRST_BLOCK if self.total is not None else 0)
        except OSError as error:
            message = f"{self.name}: {error.strerror or error}"
            raise UnreadableStreamError(message) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def open_source(name: str) -> ByteSource:
    """Open a file by its path or URI, or standard input by the name `-`.

    Raises:
        UnreadableStreamError: there is no such file, or it cannot be opened.
    """
    file: io.BufferedReader[Any]
    if name == STANDARD_INPUT:
        # A file of its own, so that closing it leaves the interpreter's open.
        file = io.BufferedReader(_PromptFile(sys.stdin.fileno(), closefd=False))
        return ByteSource(file, "standard input", None, sniff=False)
    if is_uri(name):
        remote, size = open_uri(name)
        return ByteSource(remote, name, size, sniff=True)
    try:
        mode = os.stat(name).st_mode
        if stat.S_ISDIR(mode):
            message = f"{name}: is a directory, not a file"
            raise UnreadableStreamError(message)
        kind = io.FileIO if stat.S_ISREG(mode) else _PromptFile
        file = io.BufferedReader(kind(name), _FIRST_BLOCK)
    except FileNotFoundError as error:
        message = f"{name}: no such file"
        raise UnreadableStreamError(message) from error
    except OSError as error:
        message = f"{name}: cannot be opened ({error.strerror or error})"
        raise UnreadableStreamError(message) from error
    except ValueError as error:
        message = f"{name!r}: is not the name of a file ({error})"
        raise UnreadableStreamError(message) from error
    try:
        status = os.fstat(file.fileno())
        return ByteSource(file, name, status.st_size if stat.S_ISREG(status.st_mode) else None, sniff=True)
    except OSError as error:
        file.close()
        message = f"{name}: cannot be read ({error.strerror or error})"
        raise UnreadableStreamError(message) from error
