"""Compressed streams: known by their bytes, read as Python's modules write them, and bounded whatever they say."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import zipfile
import zlib
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from graphtide_core.errors import UnreadableStreamError
from graphtide_native.unpacking import PackedBytes, unpack
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 1 << 16


def make_zip(data: bytes, *, method: int = zipfile.ZIP_DEFLATED, names: tuple[str, ...] = ("flows.csv",)) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name in names:
            archive.writestr(name, data)
    return file.getvalue()


def zstd(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
    "zip": make_zip,
    "zip, stored": lambda data: make_zip(data, method=zipfile.ZIP_STORED),
    "zip, lzma": lambda data: make_zip(data, method=zipfile.ZIP_LZMA),
}
JOINED = ("gzip", "bzip2", "xz", "zstd")


class Slow(io.RawIOBase):
    """Bytes that come a few at a time, as through a pipe."""

    def __init__(self, data: bytes, step: int) -> None:
        self._rest, self._step = data, step

    def readable(self) -> bool:
        return True

    def readinto(self, into: bytearray | memoryview) -> int:  # type: ignore[override]  # any buffer that is written
        block, self._rest = self._rest[: self._step], self._rest[self._step :]
        into[: len(block)] = block
        return len(block)


def unpack_all(data: bytes, *, size: int = SIZE, step: int | None = None) -> bytes:
    raw = io.BytesIO(data) if step is None else Slow(data, step)
    packed = PackedBytes(io.BufferedReader(raw), "the file")
    blocks = list(unpack(packed, size))
    assert all(0 < len(block) <= max(size, 1 << 18) for block in blocks)
    return b"".join(blocks)


def take_all(packed: PackedBytes, blocks: list[bytes]) -> None:
    for block in unpack(packed, SIZE):
        blocks.append(block)


@given(data=st.binary(max_size=300), packer=st.sampled_from(list(PACKERS)), size=st.sampled_from([1, 7, SIZE]))
def test_what_is_packed_is_unpacked(data: bytes, packer: str, size: int) -> None:
    assert unpack_all(PACKERS[packer](b"ts," + data), size=size) == b"ts," + data


@given(data=st.binary(max_size=100), packer=st.sampled_from(["plain", *JOINED]), step=st.integers(1, 20))
def test_a_pipe_is_read_as_it_comes(data: bytes, packer: str, step: int) -> None:
    assert unpack_all(PACKERS[packer](b"ts," + data), step=step) == b"ts," + data


@pytest.mark.parametrize("packer", JOINED)
def test_files_that_were_joined_are_one_stream(packer: str) -> None:
    parts = [b"a\n" * 40_000, b"", b"b\n"]
    padding = b"\0" * 8 if packer in {"gzip", "xz"} else b""
    assert unpack_all(padding.join(map(PACKERS[packer], parts)) + padding) == b"".join(parts)


@pytest.mark.parametrize("packer", JOINED)
def test_a_bomb_comes_in_blocks(packer: str) -> None:
    data = PACKERS[packer](bytes(64 << 20))
    assert len(data) < 1 << 20
    packed = PackedBytes(io.BufferedReader(io.BytesIO(data)), "the file")
    lengths = [len(block) for block in unpack(packed, SIZE)]
    assert sum(lengths) == 64 << 20
    assert max(lengths) <= SIZE


def test_a_dictionary_that_would_fill_memory_is_refused() -> None:
    packed = lzma.LZMACompressor(lzma.FORMAT_XZ, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}])
    whole = bytearray(packed.compress(b"x") + packed.flush())
    # The dictionary's size is one byte of the block's header; its checksum is that of the header.
    assert whole[12:14] == b"\x02\x00"
    whole[16] = 38
    whole[20:24] = zlib.crc32(bytes(whole[12:20])).to_bytes(4, "little")
    with pytest.raises(UnreadableStreamError, match=r"the xz data is damaged .*[Mm]emory usage limit"):
        unpack_all(bytes(whole))


@pytest.mark.parametrize("packer", [*JOINED, "zip"])
def test_of_damaged_data_what_came_before_is_there_and_then_an_error(packer: str) -> None:
    random_bytes = random.Random(packer).randbytes
    lines = b"".join(b"%d,%s\n" % (number, random_bytes(8).hex().encode()) for number in range(120_000))
    data = bytearray(PACKERS[packer](lines))
    cut = PackedBytes(io.BufferedReader(io.BytesIO(bytes(data[: len(data) * 2 // 3]))), "x")
    data[len(data) * 2 // 3] ^= 0xFF
    flipped = PackedBytes(io.BufferedReader(io.BytesIO(bytes(data))), "x")
    # A frame of zstd need not have a checksum: a changed byte may give other data.
    for packed in (cut,) if packer == "zstd" else (cut, flipped):
        blocks: list[bytes] = []
        with pytest.raises(UnreadableStreamError, match=r"^x: the (gzip|bzip2|xz|zstd) data |^x: the zip archive is damaged"):
            take_all(packed, blocks)
        came = b"".join(blocks)
        if packer == "zip" and packed is cut:
            # The directory of an archive is at its end: without it nothing is known.
            assert came == b""
        else:
            assert came.startswith(lines[: len(lines) // 2])


def test_an_archive_has_one_file() -> None:
    with pytest.raises(UnreadableStreamError, match=r"has 2 files \(a.csv, b.csv\); one with one file is read"):
        unpack_all(make_zip(b"x", names=("a.csv", "b.csv")))
    with pytest.raises(UnreadableStreamError, match="the archive has no file"):
        unpack_all(make_zip(b"", names=("folder/",)))
    assert unpack_all(make_zip(b"x", names=("data/", "data/a.csv", "__MACOSX/data/._a.csv"))) == b"x"
    with pytest.raises(UnreadableStreamError, match="is read from a file, not from a pipe"):
        unpack_all(make_zip(b"x"), step=10)
