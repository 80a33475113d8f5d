"""Files of text formats as history: each file is one piece, since only a reader from its start knows where records end."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from graphtide_core.errors import UnreadableStreamError
from graphtide_native.decoders import Decoding, decoder_of
from graphtide_native.unpacking import PackedBytes, unpack

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
    stream: ClassVar[str] = ""

    def batches(self, reading: Reading) -> Iterator[EdgeBatch]:
        """See `Piece.batches`."""
        asked = Decoding(
            reading.symbols, reading.attributes, self.columns, self.delimiter, types=self.types, time_unit=reading.unit
        )
        decoder = decoder_of(self.format, asked)
        decoder.start_at(reading.ordinal)
        rejected, example = 0, ""
        try:
            with open(self.path, "rb") as file:
                for block in chain(unpack(PackedBytes(file, self.path), _BLOCK, _BLOCK), [b""]):
                    batch = decoder.decode(block) if block else decoder.finish()
                    letters = decoder.take_dead_letters()
                    rejected += len(letters)
                    example = example or explain_first(letters, "line", self.path)
                    if len(batch):
                        yield batch
        except (OSError, UnreadableStreamError) as error:
            raise _unreadable(self.path, error) from error
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
        with open(path, "rb") as file:
            for block in unpack(PackedBytes(file, path), _BEGINNING, _BEGINNING):
                decoder.decode(block)
                if decoder.columns() is not None:
                    break
    except (OSError, UnreadableStreamError) as error:
        raise _unreadable(path, error) from error
    return Beginning(decoder.columns() or [], [column for column, _, _ in decoder.settled()])


def _unreadable(path: str, error: Exception) -> UnreadableStreamError:
    text = str(error)
    return UnreadableStreamError(text if text.startswith(f"{path}: ") else f"{path}: {text}")
