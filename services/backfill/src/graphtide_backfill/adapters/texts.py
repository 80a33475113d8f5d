"""Files of text formats as history: each file is one piece, since only a reader from its start knows where records end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
from graphtide_core.errors import UnreadableStreamError
from graphtide_native.decoders import Decoding, decoder_of

from graphtide_backfill.application.pieces import PieceFacts, explain_first

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from graphtide_core.formats import StreamFormat
    from graphtide_native.records import EdgeBatch

    from graphtide_backfill.application.pieces import Reading

_BLOCK: Final = 4 << 20
_BEGINNING: Final = 1 << 18
"""Bytes that settle which columns hold texts, below a header line."""


@dataclass(slots=True)
class TextPiece:
    """A file of a text format, perhaps compressed."""

    path: str
    format: StreamFormat
    columns: Mapping[str, str]
    types: Mapping[str, str]
    delimiter: str
    _facts: PieceFacts = field(default=PieceFacts(0, 0, has_ids=False, has_operations=False))

    def batches(self, reading: Reading) -> Iterator[EdgeBatch]:
        """See `Piece.batches`."""
        asked = Decoding(reading.symbols, reading.attributes, self.columns, self.delimiter, types=self.types)
        decoder = decoder_of(self.format, asked)
        decoder.start_at(reading.ordinal)
        rejected, example = 0, ""
        try:
            with pa.input_stream(self.path, compression="detect") as blocks:
                while True:
                    block = blocks.read(_BLOCK)
                    batch = decoder.decode(block) if block else decoder.finish()
                    letters = decoder.take_dead_letters()
                    rejected += len(letters)
                    example = example or explain_first(letters, "line", self.path)
                    if len(batch):
                        yield batch
                    if not block:
                        break
        except (pa.ArrowException, OSError, UnreadableStreamError) as error:
            message = f"{self.path}: {error}"
            raise UnreadableStreamError(message) from error
        records = decoder.ordinal() - reading.ordinal
        self._facts = PieceFacts(records, rejected, decoder.has_ids(), decoder.has_operations(), example)

    def facts(self) -> PieceFacts:
        """See `Piece.facts`."""
        return self._facts


class Beginning(NamedTuple):
    """What the beginning of a file with a header line shows: its columns, none if it is empty, and those that hold texts."""

    columns: list[str]
    texts: list[str]


def beginning(path: str, format: StreamFormat, columns: Mapping[str, str], delimiter: str) -> Beginning:
    """Look at the beginning of a file with a header line, perhaps compressed.

    Raises:
        UnreadableStreamError: it cannot be read, or lacks a column that every record needs.
    """
    decoder = decoder_of(format, Decoding(columns=columns, delimiter=delimiter, settle=True))
    try:
        with pa.input_stream(path, compression="detect") as blocks:
            while decoder.columns() is None and (block := blocks.read(_BEGINNING)):
                decoder.decode(block)
    except (pa.ArrowException, OSError, UnreadableStreamError) as error:
        message = f"{path}: {error}"
        raise UnreadableStreamError(message) from error
    return Beginning(decoder.columns() or [], [column for column, _, _ in decoder.settled()])
