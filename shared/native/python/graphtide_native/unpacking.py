"""Decompresses a stream of bytes on the way, as its first bytes show: gzip, bzip2, xz, zstd, and zip with one file in it.

Memory is bounded by the blocks that are asked for, whatever the bytes say: what a byte becomes is handed out in blocks, too. A
damaged stream gives the blocks before the damage, then an error. zstd goes through pyarrow in small steps, so that at most one
step is lost there; the others through Python's own modules. A zip archive has its directory at its end: it must be a file.
"""

from __future__ import annotations

import bz2
import io
import lzma
import zipfile
import zlib
from typing import TYPE_CHECKING, Any, Final, Protocol

from graphtide_core.errors import UnreadableStreamError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEAD: Final = 8
"""Bytes that show how a stream is compressed."""

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_BZIP2: Final = b"BZh"
_XZ: Final = b"\xfd7zXZ\x00"
_ZIP: Final = b"PK\x03\x04"
_EMPTY_ZIP: Final = b"PK\x05\x06"
_MAGIC: Final = (_GZIP, _ZSTD, _BZIP2, _XZ, _ZIP, _EMPTY_ZIP)
_ZLIB_WITH_GZIP_HEADER: Final = 31
_STEP: Final = 1 << 16
_FIRST: Final = 1 << 18
_MOST_XZ_MEMORY: Final = 256 << 20
"""Bytes of its dictionary that a stream of xz may ask for; `xz -9` takes a quarter of it."""

_SHOWN: Final = 3
_DAMAGED_ZIP: Final = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
)
"""What the module of zip raises, by where the damage is."""


def is_packed(head: bytes) -> bool:
    """Return whether the first bytes of a stream are those of a compressed one."""
    return head.startswith(_MAGIC)


def may_be_packed(head: bytes) -> bool:
    """Return whether more bytes are needed to know."""
    return any(magic.startswith(head) and magic != head for magic in _MAGIC)


class PackedBytes:
    """Bytes of a file or pipe as they lie there, and how many were read.

    Attributes:
        name: what messages call it.
        read: bytes read so far.
    """

    def __init__(self, file: io.BufferedReader[Any], name: str) -> None:
        """Wrap an open file; nothing is read."""
        self.file = file
        self.name = name
        self.read = 0
        self._head = b""

    def take(self, size: int) -> bytes:
        """Return what is there next, at most `size` bytes; empty at the end."""
        block = self._head or self.file.read1(size)
        self._head, block = block[size:], block[:size]
        self.read += len(block)
        return block

    def head(self) -> bytes:
        """Return the first bytes, as many as show whether they are compressed; they are there to be taken still."""
        while len(self._head) < HEAD and may_be_packed(self._head):
            more = self.file.read1(_FIRST)
            if not more:
                break
            self._head += more
        return self._head[:HEAD]

    def blocks(self, size: int) -> Iterator[bytes]:
        """Yield the rest in blocks of at most `size`."""
        while block := self.take(size):
            yield block


def unpack(packed: PackedBytes, size: int, first: int = 0) -> Iterator[bytes]:
    """Yield the bytes in blocks of about `size`, decompressed if they are compressed.

    Args:
        packed: where they come from; nothing of it was taken.
        size: bytes of a block at most.
        first: bytes of the first block, if as many are there and small steps would give less.

    Raises:
        UnreadableStreamError: the stream is damaged, breaks off, or is an archive of several files.
        OSError: it cannot be read.
    """
    head = packed.head()
    if head.startswith(_GZIP):
        return _members(packed, size, lambda: _ZlibMember(_ZLIB_WITH_GZIP_HEADER), "gzip")
    if head.startswith(_BZIP2):
        return _members(packed, size, bz2.BZ2Decompressor, "bzip2")
    if head.startswith(_XZ):
        return _members(packed, size, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_XZ_MEMORY), "xz")
    if head.startswith(_ZSTD):
        return _zstd(packed, size, first)
    if head.startswith((_ZIP, _EMPTY_ZIP)):
        return _zip(packed, size)
    return packed.blocks(size)


class _Member(Protocol):
    """A decompressor of one of the streams that a file may join."""

    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...


class _ZlibMember:
    """zlib, used as the other modules are."""

    def __init__(self, bits: int) -> None:
        self._inner = zlib.decompressobj(bits)

    def decompress(self, data: bytes, max_length: int = 0) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


def _members(packed: PackedBytes, size: int, make: Callable[[], _Member], what: str) -> Iterator[bytes]:
    member = make()
    begun = False
    try:
        for block in packed.blocks(size):
            rest = block
            while rest:
                if member.eof:
                    # Files may be joined, and padded with zeros.
                    rest = rest.lstrip(b"\0")
                    if not rest:
                        break
                    member = make()
                begun = True
                yield from _drain(member, rest, size)
                rest = member.unused_data if member.eof else b""
        if begun and not member.eof:
            yield from _drain(member, b"", size)
    except (zlib.error, lzma.LZMAError, EOFError, ValueError) as error:
        raise _damage(packed, what, error) from error
    except OSError as error:
        if error.errno is not None:
            raise
        # The module of bzip2 has no error of its own.
        raise _damage(packed, what, error) from error
    if begun and not member.eof:
        message = f"{packed.name}: the {what} data breaks off"
        raise UnreadableStreamError(message)


def _drain(member: _Member, data: bytes, size: int) -> Iterator[bytes]:
    """Yield all that a decompressor makes of some bytes."""
    while True:
        block = member.decompress(data, size)
        if block:
            yield block
        if member.eof or (member.needs_input and len(block) < size):
            return
        data = b""


def _damage(packed: PackedBytes, what: str, error: Exception) -> UnreadableStreamError:
    return UnreadableStreamError(f"{packed.name}: the {what} data is damaged ({error})")


def unpack_block(codec: str, data: bytes, most: int) -> bytes:
    """Return a block of an Avro file, unpacked: `codec` is `deflate`, `zstandard`, `bzip2` or `xz`.

    Raises:
        UnreadableStreamError: it is damaged, or would have more than `most` bytes.
    """
    try:
        text = _unpack_zstandard(data, most + 1) if codec == "zstandard" else _unpack_one(_BLOCKS[codec](), data, most + 1)
    except (zlib.error, lzma.LZMAError, EOFError, ValueError, OSError) as error:
        message = f"its {codec} data is damaged ({error})"
        raise UnreadableStreamError(message) from error
    if len(text) > most:
        message = f"it has more than {most} bytes when it is unpacked"
        raise UnreadableStreamError(message)
    return text


def _unpack_one(member: _Member, data: bytes, most: int) -> bytes:
    text = member.decompress(data, most)
    while len(text) < most and not member.eof and not member.needs_input:
        text += member.decompress(b"", most - len(text))
    if len(text) < most and not member.eof:
        message = "it breaks off"
        raise EOFError(message)
    return text


def _unpack_zstandard(data: bytes, most: int) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 - as below

    # In steps, because what is asked for is allocated.
    found = bytearray()
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        while len(found) < most and (block := stream.read(min(_FIRST, most - len(found)))):
            found += block
    return bytes(found)


_BLOCKS: Final[dict[str, Callable[[], _Member]]] = {
    "deflate": lambda: _ZlibMember(-zlib.MAX_WBITS),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_XZ_MEMORY),
}


class _RawBytes(io.RawIOBase):
    """The bytes as a file for pyarrow."""

    def __init__(self, packed: PackedBytes) -> None:
        self._packed = packed

    def readable(self) -> bool:
        return True

    def readinto(self, into: bytearray | memoryview) -> int:  # type: ignore[override]  # any buffer that is written
        block = self._packed.take(len(into))
        into[: len(block)] = block
        return len(block)


def _zstd(packed: PackedBytes, size: int, first: int) -> Iterator[bytes]:
    import pyarrow as pa  # noqa: PLC0415 - other streams of bytes do without

    step = min(size, max(first, _STEP))
    with pa.CompressedInputStream(pa.PythonFile(_RawBytes(packed), mode="r"), "zstd") as stream:
        while True:
            try:
                block = stream.read(step)
            except OSError as error:
                message = f"{packed.name}: the zstd data is damaged or breaks off ({error})"
                raise UnreadableStreamError(message) from error
            if not block:
                return
            yield block
            step = min(size, _STEP)


def member_of_zip(file: io.BufferedReader[Any]) -> str | None:
    """Return the name of the one file in a zip archive; None if it has none or several, or is damaged."""
    try:
        with zipfile.ZipFile(file) as archive:
            found = _files(archive)
    except _DAMAGED_ZIP:
        return None
    finally:
        file.seek(0)
    return found[0].filename if len(found) == 1 else None


def _files(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the files of an archive, without folders and what macOS adds."""
    return [each for each in archive.infolist() if not each.is_dir() and not each.filename.startswith("__MACOSX/")]


def _zip(packed: PackedBytes, size: int) -> Iterator[bytes]:
    if not packed.file.seekable():
        message = f"{packed.name}: a zip archive is read from a file, not from a pipe; unpack it on the way with unzip -p"
        raise UnreadableStreamError(message)
    try:
        with zipfile.ZipFile(packed.file) as archive:
            files = _files(archive)
            if len(files) != 1:
                shown = ", ".join(each.filename for each in files[:_SHOWN]) + (", …" if len(files) > _SHOWN else "")
                has = f"has {len(files)} files ({shown})" if files else "has no file"
                message = f"{packed.name}: the archive {has}; one with one file is read"
                raise UnreadableStreamError(message)
            with archive.open(files[0]) as member:
                while block := member.read(size):
                    packed.read = packed.file.tell()
                    yield block
    except _DAMAGED_ZIP as error:
        message = f"{packed.name}: the zip archive is damaged or cannot be unpacked ({error})"
        raise UnreadableStreamError(message) from error
