"""Readers of streams that a STREAM statement defines: whatever the bytes or rows are, one program reads them."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import UnreadableStreamError
from graphtide_core.stream_fields import attributes_of, paths_of
from graphtide_native.decoders import statement_decoder
from graphtide_wire.stream_definition import encode_definition

from graphtide.readers.decoding import DecodingReader
from graphtide.record import RECORD_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphtide_core.formats import StreamFormat
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_native.records import StatementDecoder

    from graphtide.readers.reader import ReaderOptions
    from graphtide.readers.source import ByteSource

_UTF_8: Final = "utf-8"


def decoder_by_statement(
    definition: StreamDefinition, format: str, options: ReaderOptions, *, substitutes: bool = False
) -> StatementDecoder:
    """Return a decoder of records that a statement reads; `format` names how their bytes or rows are."""
    decoder = statement_decoder(
        options.symbols,
        options.attributes,
        encode_definition(definition),
        format,
        definition.zones(),
        types=options.declared,
        keep_raw=options.keep_raw,
        substitutes=substitutes,
    )
    decoder.accept_until(options.latest)
    return decoder


def read_text_by_statement(
    source: ByteSource, kind: StreamFormat, definition: StreamDefinition, options: ReaderOptions
) -> DecodingReader:
    """Read a text that a statement defines."""
    encoding = None if definition.format is None else definition.format.encoding

    def blocks() -> Iterator[bytes]:
        found = source.blocks(options.block_size)
        return found if encoding in {None, _UTF_8} else _encode_again(found, str(encoding), source.name)

    return DecodingReader(
        decoder_by_statement(definition, kind.value, options),
        blocks,
        name=source.name,
        source=source,
        columns=columns_by_statement(definition),
        typed=options.types,
        zone=definition.time.zone,
    )


def columns_by_statement(definition: StreamDefinition) -> list[str] | None:
    """Return the columns of what a statement gives; None where they are the fields of the records."""
    given = attributes_of(definition)
    return None if given is None else [*RECORD_COLUMNS, *given]


def fields_by_statement(definition: StreamDefinition, attributes: Sequence[str], fields: Sequence[str]) -> list[str]:
    """Return those of a record's fields that a statement reads for these attributes, in their order."""
    read = {str(path.steps[0]) for path in paths_of(definition)}
    if not definition.clauses:
        read |= {*RECORD_COLUMNS}
    wanted = () if attributes_of(definition) is not None else attributes
    return [field for field in fields if field in read or any(_is_inside(name, field) for name in wanted)]


def _is_inside(name: str, field: str) -> bool:
    """Return whether an attribute without a SET is a field or in it, by its name."""
    return name == field or name.startswith((f"{field}.", f"{field}["))


def _encode_again(blocks: Iterable[bytes], encoding: str, name: str) -> Iterator[bytes]:
    """Yield the bytes of a text in UTF-8.

    Raises:
        UnreadableStreamError: they are not of the encoding.
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for block in blocks:
            if text := decoder.decode(block):
                yield text.encode()
        if text := decoder.decode(b"", final=True):
            yield text.encode()
    except UnicodeError as error:
        message = f"{name}: it is not a text in {encoding} ({error})"
        raise UnreadableStreamError(message) from error
