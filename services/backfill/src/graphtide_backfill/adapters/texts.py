"""CSV and JSON Lines files as history: each file is one piece, since only a reader from its start knows where records end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
from graphtide_core.errors import UnreadableStreamError
from graphtide_native.records import CsvDecoder, JsonLinesDecoder, Symbols

from graphtide_backfill.application.pieces import Told

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from graphtide_native.records import Decoder, EdgeBatch

    from graphtide_backfill.application.pieces import Reading

_BLOCK: Final = 4 << 20
_BEGINNING: Final = 1 << 18
"""Bytes of CSV that settle which columns hold texts."""


@dataclass(slots=True)
class TextPiece:
    """A file of CSV or JSON Lines, perhaps compressed; `delimiter` None is JSON Lines."""

    path: str
    columns: Mapping[str, str]
    types: Mapping[str, str]
    delimiter: str | None
    _told: Told = field(default=Told(0, 0, has_ids=False, has_operations=False))

    def batches(self, reading: Reading) -> Iterator[EdgeBatch]:
        """See `Piece.batches`."""
        columns = dict(self.columns)
        decoder: Decoder
        if self.delimiter is None:
            decoder = JsonLinesDecoder(reading.symbols, reading.attributes, columns, types=self.types)
        else:
            decoder = CsvDecoder(reading.symbols, reading.attributes, columns, self.delimiter, types=self.types)
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


class CsvBeginning(NamedTuple):
    """What the beginning of a CSV file tells: its columns, none if it is empty, and those of them that hold texts."""

    columns: list[str]
    texts: list[str]


def csv_beginning(path: str, columns: Mapping[str, str], delimiter: str) -> CsvBeginning:
    """Look at the beginning of a CSV file, perhaps compressed.

    Raises:
        UnreadableStreamError: it cannot be read, or lacks a column that every record needs.
    """
    decoder = CsvDecoder(Symbols(), (), dict(columns), delimiter, settle=True)
    try:
        with pa.input_stream(path, compression="detect") as blocks:
            while decoder.columns() is None and (block := blocks.read(_BEGINNING)):
                decoder.decode(block)
    except (pa.ArrowException, OSError, UnreadableStreamError) as error:
        message = f"{path}: {error}"
        raise UnreadableStreamError(message) from error
    return CsvBeginning(decoder.columns() or [], [column for column, _, _ in decoder.settled()])
