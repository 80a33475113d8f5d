"""Whether a file is surely in order of time, by a look at its times alone: nothing is decoded.

A no says nothing: then a decoder looks. Of texts, it looks at files that are not compressed and whose times are integers,
decimals or ISO 8601 in UTC. The times are in a column of CSV without quotes, or in a member that each line of JSON has once. Of
tables, columns of integers or times. Cost: reading the file, a search for line ends and the times.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import UnreadableStreamError
from graphtide_core.formats import ARROW, CSV, JSON_LINES, PARQUET
from graphtide_core.record_expression import FieldPath
from graphtide_core.record_format import RecordFormat
from graphtide_core.record_time import EpochUnit
from graphtide_core.time import MIN_EVENT_TIME
from graphtide_native.record_form import EPOCHS, ISO, TICKS
from graphtide_native.records import OrderScan, last_of_ascending

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from graphtide_core.formats import StreamFormat

    from graphtide.readers.reader import ReaderOptions
    from graphtide.readers.source import ByteSource

LEAST_BYTES: Final = 1 << 22
"""Size of a file that is looked at; a smaller one is soon decoded."""

_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
_ROWS: Final = 1 << 17
_QUOTE: Final = b'"'


def is_surely_in_order(source: ByteSource, kind: StreamFormat, options: ReaderOptions) -> bool:
    """Return whether all records of a file surely come in order of time. The source is read to its end, and not closed."""
    name = _column_of_times(options)
    if name is None or source.total is None or source.total < LEAST_BYTES or source.is_compressed:
        return False
    try:
        if kind.tables is not None:
            return _is_column_in_order(source, name)
        blocks = source.blocks(options.block_size)
        if kind is CSV:
            return _are_rows_in_order(blocks, name, options)
        if kind is JSON_LINES and _NAME.fullmatch(name) and _is_a_record_a_line(options):
            return _scan(OrderScan.json(name, _has_numbers(options)), blocks)
    except UnreadableStreamError:
        # The reader that hands records on says so.
        return False
    return False


def _column_of_times(options: ReaderOptions) -> str | None:
    """Return the field with the times, where greater values are later times; None if there is none."""
    definition, written = options.definition, options.record_options
    if definition is None:
        is_known = written.time_format in {TICKS, ISO, *EPOCHS} and written.time_zone is None
        return options.columns.get("ts", "ts") if is_known else None
    time = definition.time
    value = time.value
    is_plain = time.format is None and time.zone is None and time.unit is not EpochUnit.AUTO
    if not is_plain or not isinstance(value, FieldPath) or len(value.steps) != 1:
        return None
    return str(value.steps[0])


def _has_numbers(options: ReaderOptions) -> bool:
    return options.definition is not None or options.record_options.time_format != ISO


def _is_a_record_a_line(options: ReaderOptions) -> bool:
    if options.definition is None:
        return not options.record_options.unnest
    stated = options.definition.format
    return stated is None or (stated.unnest is None and stated.encoding in {None, "utf-8"})


def _are_rows_in_order(blocks: Iterator[bytes], name: str, options: ReaderOptions) -> bool:
    delimiter = _delimiter_of_rows(options)
    if delimiter is None:
        return False
    head = next(blocks, b"")
    line, end, rest = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    names = line.rstrip(b"\r").split(delimiter)
    column = name.encode()
    if not end or _QUOTE in line or names.count(column) != 1:
        return False
    scan = OrderScan.fields(delimiter[0], names.index(column), _QUOTE[0], _has_numbers(options))
    return scan.feed(rest) and _scan(scan, blocks)


def _delimiter_of_rows(options: ReaderOptions) -> bytes | None:
    """Return what is between the fields of rows behind a header line, if it is one byte and fields are written plainly."""
    written = options.record_options
    if options.definition is None:
        is_plain = written.has_header and not written.header and written.comment is None and written.decimal == "."
        delimiter = written.delimiter
    else:
        stated = options.definition.format or RecordFormat(CSV.value)
        is_plain = stated.header is not False and stated.columns is None and stated.comment is None
        is_plain = is_plain and stated.quote in {None, '"'} and stated.decimal in {None, "."}
        is_plain = is_plain and stated.encoding in {None, "utf-8"}
        delimiter = stated.delimiter or ","
    return delimiter.encode() if is_plain and len(delimiter.encode()) == 1 else None


def _scan(scan: OrderScan, blocks: Iterator[bytes]) -> bool:
    return all(scan.feed(block) for block in blocks) and scan.finish()


def _is_column_in_order(source: ByteSource, name: str) -> bool:
    import pyarrow as pa  # noqa: PLC0415 - texts do without

    newest: int = MIN_EVENT_TIME
    try:
        for rows in _columns(source, name):
            # What a damaged file says of its column is not to lead beyond it.
            rows.validate(full=True)
            last = last_of_ascending(rows, newest)
            if last is None:
                return False
            newest = last
    except (pa.ArrowException, OSError, ValueError, TypeError, LookupError, NotImplementedError, OverflowError):
        return False
    return True


def _columns(source: ByteSource, name: str) -> Iterator[pa.RecordBatch]:
    """Yield the parts of a column of a file."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    if source.head.startswith(PARQUET.magic):
        import pyarrow.parquet as pq  # noqa: PLC0415 - as above

        yield from pq.ParquetFile(source.location).iter_batches(_ROWS, columns=[name], use_threads=False)
    elif source.head.startswith(ARROW.magic):
        file = pa.ipc.open_file(source.location)
        for number in range(file.num_record_batches):
            yield file.get_batch(number).select([name])
    else:
        for batch in pa.ipc.open_stream(source.location):
            yield batch.select([name])
