"""CSV and JSON Lines files as history: each file is one piece, since only a reader from its start knows where records end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from graphtide_core.errors import UnreadableStreamError
from graphtide_native.records import CsvDecoder, JsonLinesDecoder, Symbols

from graphtide_backfill.application.pieces import Told

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from graphtide_native.records import Decoder, EdgeBatch

    from graphtide_backfill.application.pieces import Reading

_BLOCK: Final = 4 << 20
_HEADER_BLOCK: Final = 1 << 16


@dataclass(slots=True)
class TextPiece:
    """A file of CSV or JSON Lines, perhaps compressed; `delimiter` None is JSON Lines."""

    path: str
    columns: Mapping[str, str]
    delimiter: str | None
    _told: Told = field(default=Told(0, 0, has_ids=False, has_operations=False))

    def batches(self, reading: Reading) -> Iterator[EdgeBatch]:
        """See `Piece.batches`."""
        columns = dict(self.columns)
        decoder: Decoder
        if self.delimiter is None:
            decoder = JsonLinesDecoder(reading.symbols, reading.attributes, columns)
        else:
            decoder = CsvDecoder(reading.symbols, reading.attributes, columns, self.delimiter)
        decoder.start_at(reading.ordinal)
        rejected = 0
        try:
            with pa.input_stream(self.path, compression="detect") as blocks:
                while True:
                    block = blocks.read(_BLOCK)
                    batch = decoder.decode(block) if block else decoder.finish()
                    rejected += len(decoder.take_dead_letters())
                    if len(batch):
                        yield batch
                    if not block:
                        break
        except (pa.ArrowException, OSError, UnreadableStreamError) as error:
            message = f"{self.path}: {error}"
            raise UnreadableStreamError(message) from error
        self._told = Told(decoder.ordinal() - reading.ordinal, rejected, decoder.has_ids(), decoder.has_operations())

    def told(self) -> Told:
        """See `Piece.told`."""
        return self._told


def csv_columns(path: str, columns: Mapping[str, str], delimiter: str) -> list[str]:
    """Return the names in the header of a CSV file, perhaps compressed; none if it is empty.

    Raises:
        UnreadableStreamError: it cannot be read, or lacks a column that every record needs.
    """
    decoder = CsvDecoder(Symbols(), (), dict(columns), delimiter)
    try:
        with pa.input_stream(path, compression="detect") as blocks:
            while decoder.columns() is None and (block := blocks.read(_HEADER_BLOCK)):
                decoder.decode(block)
    except (pa.ArrowException, OSError, UnreadableStreamError) as error:
        message = f"{path}: {error}"
        raise UnreadableStreamError(message) from error
    return decoder.columns() or []
