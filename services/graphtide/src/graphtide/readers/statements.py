"""Readers of streams that a STREAM statement defines: whatever the bytes or rows are, one program reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.stream_fields import columns_of, fields_needed, joined_attributes
from graphtide_native.decoders import statement_decoder
from graphtide_native.tables import load_tables
from graphtide_wire.stream_definition import encode_definition

from graphtide.readers.decoding import DecodingReader
from graphtide.readers.partitions import add_to_text

if TYPE_CHECKING:
    from graphtide_core.formats import StreamFormat
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_native.records import StatementDecoder

    from graphtide.readers.reader import ReaderOptions
    from graphtide.readers.source import ByteSource


def decoder_by_statement(
    definition: StreamDefinition, format: str, options: ReaderOptions, *, substitutes: bool = False
) -> StatementDecoder:
    """Return a decoder of records that a statement reads; `format` names how their bytes or rows are.

    Raises:
        UnreadableStreamError: a table that the statement joins cannot be read.
    """
    decoder = statement_decoder(
        options.symbols,
        options.attributes,
        encode_definition(definition),
        format,
        definition.zones(),
        types=options.declared,
        keep_raw=options.keep_raw,
        substitutes=substitutes,
        tables=load_tables(definition, encode_definition),
    )
    decoder.accept_until(options.latest)
    return decoder


def read_text_by_statement(
    source: ByteSource, kind: StreamFormat, definition: StreamDefinition, options: ReaderOptions
) -> DecodingReader:
    """Read a text that a statement defines."""
    return DecodingReader(
        decoder_by_statement(definition, kind.value, options),
        lambda: add_to_text(source.blocks(options.block_size), kind, options),
        name=source.name,
        source=source,
        columns=columns_of(definition),
        added=joined_attributes(definition),
        typed=options.types,
        mapped=fields_needed(definition),
        zone=definition.time.zone,
        place="line" if kind.is_of_lines else "record",
    )
