"""A reader for a file or for standard input: how the stream is written, its name and its first bytes tell."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from graphtide_core.errors import UnreadableStreamError
from graphtide_native.records import CsvDecoder, JsonLinesDecoder

from graphtide.readers.decoding import DecodingReader
from graphtide.readers.reader import Reader, ReaderOptions, StreamFormat
from graphtide.readers.source import ARROW_FILE_MAGIC, PARQUET_MAGIC, STANDARD_INPUT, ByteSource, open_source

if TYPE_CHECKING:
    import os

_SUFFIXES = {
    ".csv": StreamFormat.CSV,
    ".jsonl": StreamFormat.JSON_LINES,
    ".ndjson": StreamFormat.JSON_LINES,
    ".parquet": StreamFormat.PARQUET,
    ".arrow": StreamFormat.ARROW,
    ".feather": StreamFormat.ARROW,
    ".ipc": StreamFormat.ARROW,
}
_COMPRESSED = {".gz", ".zst"}
_TEXTS = {StreamFormat.CSV, StreamFormat.JSON_LINES}
_MAGIC = {PARQUET_MAGIC: StreamFormat.PARQUET, ARROW_FILE_MAGIC: StreamFormat.ARROW}


def open_stream(name: str | os.PathLike[str], options: ReaderOptions | None = None) -> Reader:
    """Open a file, or standard input by the name `-` (JSON Lines unless the options say CSV).

    Raises:
        UnreadableStreamError: there is no such file, it cannot be read, or it is not of the format it should be.
    """
    options = options or ReaderOptions()
    text = str(name)
    source = open_source(text)
    try:
        kind = options.format or _tell(source, text)
        _check(source, kind, explicit=options.format is not None)
        if kind in _TEXTS:
            return _read_text(source, kind, options)
        from graphtide.readers.columnar import read_arrow, read_parquet  # noqa: PLC0415 - texts do without pyarrow

        return (read_parquet if kind is StreamFormat.PARQUET else read_arrow)(source, options)
    except BaseException:
        source.close()
        raise


def format_by_name(name: str) -> StreamFormat | None:
    """Return how a file of this name is written; None if the name does not tell."""
    path = PurePath(name)
    suffix = path.suffix.lower()
    if suffix in _COMPRESSED:
        suffix = PurePath(path.stem).suffix.lower()
    return _SUFFIXES.get(suffix)


def format_of(name: str) -> StreamFormat:
    """Return how a file is written, as its name or else its first bytes tell.

    Raises:
        UnreadableStreamError: there is no such file, or nothing tells.
    """
    if (found := format_by_name(name)) is not None:
        return found
    source = open_source(name)
    try:
        return _tell(source, name)
    finally:
        source.close()


def _read_text(source: ByteSource, kind: StreamFormat, options: ReaderOptions) -> DecodingReader:
    columns = dict(options.columns)
    decoder: CsvDecoder | JsonLinesDecoder
    if kind is StreamFormat.CSV:
        decoder = CsvDecoder(
            options.symbols,
            options.attributes,
            columns,
            options.delimiter,
            types=options.declared,
            settle=True,
            keep_raw=options.keep_raw,
        )
    else:
        decoder = JsonLinesDecoder(
            options.symbols, options.attributes, columns, types=options.declared, keep_raw=options.keep_raw
        )
    decoder.accept_until(options.latest)
    return DecodingReader(
        decoder, lambda: source.blocks(options.block_size), name=source.name, source=source, typed=options.types
    )


def _tell(source: ByteSource, name: str) -> StreamFormat:
    if name == STANDARD_INPUT:
        return StreamFormat.JSON_LINES
    found = format_by_name(name) or _by_magic(source)
    if found is None:
        message = f"{name}: its name does not tell its format; end it in one of {', '.join(_SUFFIXES)}, or say the format"
        raise UnreadableStreamError(message)
    return found


def _by_magic(source: ByteSource) -> StreamFormat | None:
    return next((kind for magic, kind in _MAGIC.items() if source.head.startswith(magic)), None)


def _check(source: ByteSource, kind: StreamFormat, *, explicit: bool) -> None:
    """Refuse a file whose first bytes contradict its format."""
    found = _by_magic(source)
    reason = ""
    if kind not in _TEXTS and source.name == "standard input":
        reason = f"{kind.value} cannot be read from a pipe; use csv or jsonl"
    elif kind not in _TEXTS and source.is_compressed:
        reason = f"a compressed {kind.value} file cannot be read; unpack it, the format compresses by itself"
    elif found is not None and found is not kind:
        told = "was said" if explicit else "its name says"
        reason = f"{told} to be {kind.value}, but it is {found.value}"
    if reason:
        message = f"{source.name}: {reason}"
        raise UnreadableStreamError(message)
