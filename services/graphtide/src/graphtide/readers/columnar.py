"""Readers of columnar data: Parquet files, Arrow IPC files and streams, tables in memory.

Each record batch goes to the decoder as it lies in memory, with the wanted columns alone. The whole schema is checked once,
so that an error names all wrong columns. What a file says of its columns is checked before anything reads them: damaged offsets
or codes lead anywhere. Here that is the size of each buffer; the decoder looks at every offset, code and text. Columns that are
not wanted may be of any type. Cost: a look at every wanted value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.formats import ARROW, PARQUET
from graphtide_core.stream_fields import columns_of, fields_needed, fields_read, joined_attributes
from graphtide_native.records import ArrowDecoder

from graphtide.readers.decoding import DecodingReader
from graphtide.readers.partitions import LABELS, add_to_rows, add_to_schema
from graphtide.readers.statements import decoder_by_statement
from graphtide.record import RECORD_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_native.records import EdgeBatch, StatementDecoder

    from graphtide.readers.reader import ReaderOptions
    from graphtide.readers.source import ByteSource

_OLD_FEATHER_MAGIC = b"FEA1"
_BYTES_OF_CODE = 4
"""Bytes that a value takes in a column of codes, at most; its dictionary is among them."""

_DAMAGED = (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError, NotImplementedError, LookupError)
"""What pyarrow raises, by where the damage is."""


def read_parquet(source: ByteSource, options: ReaderOptions) -> DecodingReader:
    """Read a Parquet file row group by row group.

    Raises:
        UnreadableStreamError: the file is damaged or lacks a column.
    """
    if not source.head.startswith(PARQUET.magic):
        _refuse(source, "this is not a Parquet file")
    try:
        file = pq.ParquetFile(source.location)
        wanted = select_columns(file.schema_arrow, options)
        if codes := _codes(file, wanted, _labels(options)):
            file = pq.ParquetFile(source.location, metadata=file.metadata, read_dictionary=codes)
    except _DAMAGED as error:
        _refuse(source, f"this is not a readable Parquet file ({_first_line(error)})", error)

    def batches() -> Iterator[pa.RecordBatch]:
        rows = 0
        # A thread for each column takes more processor time than it saves.
        for batch in file.iter_batches(options.block_rows, columns=wanted, use_threads=False):
            rows += batch.num_rows
            source.read = (source.total or 0) * rows // max(1, file.metadata.num_rows)
            yield batch

    return _reader(batches(), file.schema_arrow, options, source.name, source)


def read_arrow(source: ByteSource, options: ReaderOptions) -> DecodingReader:
    """Read an Arrow IPC file (Feather version 2) or stream.

    Raises:
        UnreadableStreamError: the file is damaged or lacks a column.
    """
    if source.head.startswith(_OLD_FEATHER_MAGIC):
        _refuse(source, "Feather version 1 is not supported; write the file again as version 2")
    if not source.head:
        _refuse(source, "the file is empty")
    try:
        if source.head.startswith(ARROW.magic):
            file = pa.ipc.open_file(source.location)
            schema: pa.Schema = file.schema
            given: Iterable[pa.RecordBatch] = (file.get_batch(index) for index in range(file.num_record_batches))
        else:
            stream = pa.ipc.open_stream(source.location)
            schema, given = stream.schema, stream
        select_columns(schema, options)
    except _DAMAGED as error:
        _refuse(source, f"this is not a readable Arrow IPC file ({_first_line(error)})", error)
    total = source.total or 0

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in given:
            source.read = min(total, source.read + batch.get_total_buffer_size())
            yield batch

    return _reader(batches(), schema, options, source.name, source)


def read_batches(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, options: ReaderOptions, name: str, *, to_order: int | None = None
) -> DecodingReader:
    """Read record batches in memory; as many rows as `to_order` says are put in order of time first."""
    return _reader(batches, schema, options, name, None, to_order=to_order)


def _reader(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    options: ReaderOptions,
    name: str,
    source: ByteSource | None,
    *,
    to_order: int | None = None,
) -> DecodingReader:
    decoder, definition = _decoder(options), options.definition
    if options.partition:
        known, schema = schema.names, add_to_schema(schema, options)
        batches = add_to_rows(batches, known, schema, options)

    def blocks() -> Iterator[pa.RecordBatch]:
        known = select_columns(schema, options)
        checked = pa.schema([field if field.name in known else pa.field(field.name, pa.null()) for field in schema])
        try:
            decoder.check_columns(checked)
        except UnreadableStreamError as error:
            message = f"{name}: {error}"
            raise UnreadableStreamError(message) from error
        wanted: list[str] | None = None
        try:
            for batch in batches:
                wanted = wanted or select_columns(batch.schema, options)
                selected = batch.select(wanted)
                selected.validate()
                for start in range(0, selected.num_rows, options.block_rows):
                    yield selected.slice(start, options.block_rows)
        except _DAMAGED as error:
            message = f"{name}: {_explain_damage(error)}"
            raise UnreadableStreamError(message) from error

    def decode(rows: pa.RecordBatch) -> EdgeBatch:
        try:
            return decoder.decode_rows(rows)
        except pa.ArrowException as error:
            raise UnreadableStreamError(_explain_damage(error)) from error

    return DecodingReader(
        decoder,
        blocks,
        decode=decode,
        name=name,
        source=source,
        columns=list(schema.names) if definition is None else columns_of(definition) or _columns(schema, definition),
        place="row",
        to_order=to_order,
        typed=options.types,
        mapped=options.columns if definition is None else fields_needed(definition),
        fields=list(schema.names),
        zone=options.record_options.time_zone if definition is None else definition.time.zone,
    )


def _columns(schema: pa.Schema, definition: StreamDefinition) -> list[str]:
    return [*schema.names, *joined_attributes(definition)]


def _decoder(options: ReaderOptions) -> ArrowDecoder | StatementDecoder:
    if options.definition is not None:
        return decoder_by_statement(options.definition, ARROW.value, options)
    decoder = ArrowDecoder(
        options.symbols,
        options.attributes,
        dict(options.columns),
        options.ticks_per_second,
        types=options.declared,
        form=options.form,
    )
    decoder.accept_until(options.latest)
    return decoder


def select_columns(schema: pa.Schema, options: ReaderOptions) -> list[str]:
    """Return the names of the columns of a table that are read."""
    if options.definition is not None:
        return fields_read(options.definition, options.attributes, schema.names)
    names = {options.columns.get(name, name) for name in RECORD_COLUMNS} | {*options.attributes, *options.types}
    return [name for name in schema.names if name in names]


def _codes(file: pq.ParquetFile, wanted: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Return the columns of texts that are read as codes of a dictionary, whose texts are looked up once each.

    That are labels, which repeat, and what the file itself has by codes, by the size of its first rows.
    """
    texts = {name for name in wanted if _is_text(file.schema_arrow.field(name).type)}
    found = texts.intersection(labels)
    if file.metadata.num_row_groups:
        first = file.metadata.row_group(0)
        for column in map(first.column, range(first.num_columns)):
            name = column.path_in_schema
            if (
                name in texts
                and column.has_dictionary_page
                and column.total_uncompressed_size < _BYTES_OF_CODE * column.num_values
            ):
                found.add(name)
    return sorted(found)


def _is_text(type: pa.DataType) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type))


def _labels(options: ReaderOptions) -> list[str]:
    if options.definition is not None:
        return []
    return [options.columns.get(name, name) for name in LABELS]


def _refuse(source: ByteSource, reason: str, cause: Exception | None = None) -> NoReturn:
    source.close()
    message = f"{source.name}: {reason}"
    raise UnreadableStreamError(message) from cause


def _explain_damage(error: Exception) -> str:
    return f"cannot be read further ({_first_line(error)})"


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
