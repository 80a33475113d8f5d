"""Bytes of a file or of standard input, decompressed on the way, as they come.

Their first bytes, not their name, show whether they are compressed. gzip goes through zlib, which is as fast as the reader of
pyarrow and gives every byte before the place where a damaged file breaks; zstd goes through pyarrow in small steps, so that at
most one step is lost there.
"""

from __future__ import annotations

import io
import os
import stat
import sys
import zlib
from typing import TYPE_CHECKING

from graphtide_core.errors import UnreadableStreamError

if TYPE_CHECKING:
    from collections.abc import Iterator

STANDARD_INPUT = "-"
"""The name that means standard input."""

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZLIB_WITH_GZIP_HEADER = 31
_ZSTD_STEP = 1 << 16
_MAGIC_LENGTH = 8
_FIRST_BLOCK = 1 << 18
"""Bytes that the look at a file's beginning reads, and that then are its first block: thousands of records, because plans are
made from the first batch."""


class ByteSource:
    """An open stream of bytes."""

    def __init__(self, file: io.BufferedReader[io.FileIO], name: str, total: int | None, *, sniff: bool) -> None:
        """Wrap an open file; `sniff` waits for its first bytes."""
        self._file = file
        self.name = name
        self.total = total
        self.read = 0
        self._head = file.peek(_MAGIC_LENGTH)[:_MAGIC_LENGTH] if sniff else b""

    @property
    def head(self) -> bytes:
        """The first bytes as they lie in the source; empty for standard input."""
        return self._head

    @property
    def is_compressed(self) -> bool:
        """Whether the first bytes are those of a compressed file."""
        return self._head.startswith((_GZIP, _ZSTD))

    def blocks(self, size: int) -> Iterator[bytes]:
        """Yield the bytes in blocks of about `size`, less if less is there: a slow source is not waited for.

        Raises:
            UnreadableStreamError: the source breaks off or is damaged.
        """
        try:
            if self._head.startswith(_GZIP):
                yield from self._gunzip(size)
            elif self._head.startswith(_ZSTD):
                yield from self._unzstd(size)
            else:
                yield from self._plain(size)
        except OSError as error:
            message = f"{self.name}: {error.strerror or error}"
            raise UnreadableStreamError(message) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _plain(self, size: int) -> Iterator[bytes]:
        while block := self._file.read1(size):
            self.read += len(block)
            yield block

    def _gunzip(self, size: int) -> Iterator[bytes]:
        member = zlib.decompressobj(_ZLIB_WITH_GZIP_HEADER)
        begun = False
        for packed in self._plain(size):
            rest = packed
            while rest:
                if member.eof:
                    # Files may be joined, and padded with zeros.
                    rest = rest.lstrip(b"\0")
                    if not rest:
                        break
                    member = zlib.decompressobj(_ZLIB_WITH_GZIP_HEADER)
                begun = True
                try:
                    block = member.decompress(rest, size)
                except zlib.error as error:
                    message = f"{self.name}: the gzip data is damaged ({error})"
                    raise UnreadableStreamError(message) from error
                rest = member.unconsumed_tail or member.unused_data
                if block:
                    yield block
        if begun and not member.eof:
            while block := member.decompress(b"", size):
                yield block
            message = f"{self.name}: the gzip data breaks off"
            raise UnreadableStreamError(message)

    def _unzstd(self, size: int) -> Iterator[bytes]:
        import pyarrow as pa  # noqa: PLC0415 - other streams of bytes do without

        # Of a file, the first block is as long as that of others: it settles the types of columns.
        first, rest = min(size, _FIRST_BLOCK), min(size, _ZSTD_STEP)
        step = rest if self.total is None else first
        with pa.CompressedInputStream(pa.PythonFile(self._file, mode="r"), "zstd") as stream:
            while True:
                try:
                    block = stream.read(step)
                except OSError as error:
                    message = f"{self.name}: the zstd data is damaged or breaks off ({error})"
                    raise UnreadableStreamError(message) from error
                if not block:
                    return
                self.read = self._file.tell() if self._file.seekable() else self.read
                yield block
                step = rest


def open_source(name: str) -> ByteSource:
    """Open a file by its path, or standard input by the name `-`.

    Raises:
        UnreadableStreamError: there is no such file, or it cannot be opened.
    """
    if name == STANDARD_INPUT:
        # A file of its own, so that closing it leaves the interpreter's open.
        file = io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False))
        return ByteSource(file, "standard input", None, sniff=False)
    try:
        if stat.S_ISDIR(os.stat(name).st_mode):
            message = f"{name}: is a directory, not a file"
            raise UnreadableStreamError(message)
        file = io.BufferedReader(io.FileIO(name), _FIRST_BLOCK)
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
