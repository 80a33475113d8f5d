"""A reader for a file, for many, or for standard input; names or first bytes give the format."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from graphtide_core.errors import UnreadableStreamError
from graphtide_core.formats import COMPRESSED_SUFFIXES, DEFAULT, FORMATS, by_magic, by_suffix, one_of, suffixes
from graphtide_native.decoders import Decoding, decoder_of
from graphtide_native.record_form import EPOCHS, ISO, TICKS

from graphtide.readers.decoding import DecodingReader
from graphtide.readers.files import FilesReader, files_of, is_several
from graphtide.readers.order_scan import is_surely_in_order
from graphtide.readers.partitions import add_to_text, partition_of
from graphtide.readers.reader import ReaderOptions, times_alone
from graphtide.readers.sorting import SortingReader
from graphtide.readers.source import STANDARD_INPUT, ByteSource, open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphtide_core.formats import StreamFormat

    from graphtide.readers.reader import Reader

_HEAD = 64
"""Bytes of what a compressed file has in it that show its format."""


def open_stream(
    name: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], options: ReaderOptions | None = None
) -> Reader:
    """Open a file, or standard input by the name `-` (JSON Lines unless the options give another text format).

    A folder, a pattern of names such as `logs/*.csv`, or a list of these are many files, which are merged in order of time.

    Raises:
        UnreadableStreamError: there is no such file, it cannot be read, or it is not of the format it should be.
    """
    options = (options or ReaderOptions()).for_stream(None)
    names = [os.fspath(name)] if isinstance(name, str | os.PathLike) else [os.fspath(each) for each in name]
    if len(names) == 1 and not is_several(names[0]):
        reader = _open_file(names[0], options)
        # A pipe has no size: it is read as it comes.
        if not options.sorts or reader.bytes_total is None:
            return reader
        times = partial(_open_file, names[0], times_alone(options))
        return SortingReader(reader, options, times=times, is_sure=partial(_is_surely_in_order, names[0], options))
    rooted = [(path, each) for each in names for path in (files_of(each) if is_several(each) else [each])]
    paths = [path for path, _ in rooted]
    if STANDARD_INPUT in paths:
        message = "standard input is read by itself, not with files"
        raise UnreadableStreamError(message)
    partitions = {path: partition_of(path, root) for path, root in rooted}

    def open_one(path: str, own: ReaderOptions) -> Reader:
        return _open_file(path, replace(own, partition=partitions[path]))

    return FilesReader(paths, open_one, options, is_sure=_is_surely_in_order)


def _is_surely_in_order(text: str, options: ReaderOptions) -> bool:
    """Return whether a file is surely in order of time; a no says nothing."""
    source = open_source(text)
    try:
        return is_surely_in_order(source, options.stated_format or _notify(source, text), options)
    finally:
        source.close()


def _open_file(text: str, options: ReaderOptions) -> Reader:
    source = open_source(text)
    try:
        stated = options.stated_format
        kind = stated or _notify(source, text)
        _check(source, kind, explicit=stated is not None)
        if kind.tables is None:
            return _read_text(source, kind, options)
        # Loaded here, because texts do without pyarrow.
        read: Callable[[ByteSource, ReaderOptions], Reader] = resolve_name(kind.tables.reader)
        return read(source, options)
    except BaseException:
        source.close()
        raise


def format_by_name(name: str) -> StreamFormat | None:
    """Return the format of a file by its name; None if the name has no known ending."""
    path = PurePath(name)
    suffix = path.suffix.lower()
    if suffix in COMPRESSED_SUFFIXES:
        suffix = PurePath(path.stem).suffix.lower()
    return by_suffix(suffix)


def format_of(name: str) -> StreamFormat:
    """Return the format of a file, by its name or else by its first bytes.

    Raises:
        UnreadableStreamError: there is no such file, or its format is unknown.
    """
    if (found := format_by_name(name)) is not None:
        return found
    source = open_source(name)
    try:
        return _notify(source, name)
    finally:
        source.close()


def _read_text(source: ByteSource, kind: StreamFormat, options: ReaderOptions) -> DecodingReader:
    if options.definition is not None:
        from graphtide.readers.statements import read_text_by_statement  # noqa: PLC0415 - other streams do without

        return read_text_by_statement(source, kind, options.definition, options)
    written = options.record_options
    if written.time_zone is not None and written.time_format in {TICKS, *EPOCHS}:
        message = f"{source.name}: a time zone means nothing for times that are numbers; say the format of times, such as {ISO}"
        raise UnreadableStreamError(message)
    decoder = decoder_of(
        kind,
        Decoding(
            options.symbols,
            options.attributes,
            options.columns,
            written.delimiter,
            types=options.declared,
            settle=True,
            keep_raw=options.keep_raw,
            form=options.form,
            time_unit=options.time_unit,
        ),
    )
    decoder.accept_until(options.latest)
    return DecodingReader(
        decoder,
        lambda: add_to_text(source.blocks(options.block_size), kind, options),
        name=source.name,
        source=source,
        typed=options.types,
        mapped=options.columns,
        zone=written.time_zone,
    )


def _notify(source: ByteSource, name: str) -> StreamFormat:
    if name == STANDARD_INPUT:
        return DEFAULT
    found = format_by_name(name) or by_magic(source.head) or _by_content(source, name)
    if found is None:
        message = f"{name}: its name does not show its format; end it in one of {', '.join(suffixes())}, or say the format"
        raise UnreadableStreamError(message)
    return found


def _by_content(source: ByteSource, name: str) -> StreamFormat | None:
    """Return the format of what a compressed file has in it: by the name of the one file of an archive, or by first bytes."""
    if not source.is_compressed or source.total is None:
        return None
    member = source.member
    if member is not None and (found := by_suffix(PurePath(member).suffix.lower())) is not None:
        return found
    another = open_source(name)
    try:
        return by_magic(next(another.blocks(_HEAD), b""))
    except UnreadableStreamError:
        return None
    finally:
        another.close()


def _check(source: ByteSource, kind: StreamFormat, *, explicit: bool) -> None:
    """Refuse a file whose first bytes contradict its format."""
    found = by_magic(source.head)
    reason = ""
    if not kind.is_text and source.name == "standard input":
        texts = one_of(each.value for each in FORMATS.values() if each.is_text)
        reason = f"{kind.value} cannot be read from a pipe; use {texts}"
    elif not kind.is_text and source.is_compressed:
        reason = f"a compressed {kind.value} file cannot be read; unpack it, the format compresses by itself"
    elif found is not None and found is not kind and not (explicit and kind.is_text and found.is_text):
        reported = "was said" if explicit else "its name says"
        reason = f"{reported} to be {kind.value}, but it is {found.value}"
    if reason:
        message = f"{source.name}: {reason}"
        raise UnreadableStreamError(message)
