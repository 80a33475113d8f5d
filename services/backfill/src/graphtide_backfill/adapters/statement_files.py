"""Files that a STREAM statement defines as history: each file is one piece, read by the statement's program."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import pyarrow as pa
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.formats import stated_format
from graphtide_core.stream_fields import columns_of, explain_lacking, fields_needed, fields_read
from graphtide_native.decoders import statement_decoder
from graphtide_native.tables import load_tables, table_files
from graphtide_native.unpacking import PackedBytes, unpack
from graphtide_wire.stream_definition import decode_definition, encode_definition

from graphtide_backfill.adapters.files import fingerprint_of, paths_of
from graphtide_backfill.adapters.table_history import history_of
from graphtide_backfill.application.pieces import PieceFacts, explain_first

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_native.records import EdgeBatch, StatementDecoder

    from graphtide_backfill.application.pieces import Piece, Reading

_BLOCK: Final = 4 << 20
_ROWS: Final = 1 << 16


class Statement(NamedTuple):
    """A statement as executors get it: the definition, written, and the format of the files."""

    definition: bytes
    format: str


@dataclass(slots=True)
class StatementPiece:
    """A file, perhaps compressed."""

    path: str
    statement: Statement
    _facts: PieceFacts = field(default=PieceFacts(0, 0, has_ids=False, has_operations=False))
    stream: ClassVar[str] = ""

    def batches(self, reading: Reading) -> Iterator[EdgeBatch]:
        """See `Piece.batches`."""
        definition = decode_definition(self.statement.definition)
        decoder = statement_decoder(
            reading.symbols,
            reading.attributes,
            self.statement.definition,
            self.statement.format,
            definition.zones(),
            tables=load_tables(definition, encode_definition),
        )
        decoder.start_at(reading.ordinal)
        kind = stated_format(self.statement.format)
        tables = kind.tables
        place = "row" if tables is not None else "line" if kind.is_of_lines else "record"
        if tables is None:
            found = self._read_text(decoder, definition)
        else:
            found = self._read_rows(decoder, definition, reading.attributes, history_of(tables).rows(self.path))
        rejected, example = 0, ""
        try:
            for batch in found:
                letters = decoder.take_dead_letters()
                rejected += len(letters)
                example = example or explain_first(letters, place, self.path)
                if len(batch):
                    yield batch
        except (pa.ArrowException, OSError, UnreadableStreamError) as error:
            text = str(error)
            message = text if text.startswith(f"{self.path}: ") else f"{self.path}: {text}"
            raise UnreadableStreamError(message) from error
        records = decoder.ordinal() - reading.ordinal
        self._facts = PieceFacts(records, rejected, decoder.has_ids(), decoder.has_operations(), example, decoder.filtered())

    def facts(self) -> PieceFacts:
        """See `Piece.facts`."""
        return self._facts

    def _read_text(self, decoder: StatementDecoder, definition: StreamDefinition) -> Iterator[EdgeBatch]:
        with open(self.path, "rb") as file:
            is_checked = False
            for block in chain(unpack(PackedBytes(file, self.path), _BLOCK, _BLOCK), [b""]):
                batch = decoder.decode(block) if block else decoder.finish()
                columns = None if is_checked else decoder.columns()
                if columns is not None:
                    _check_columns(definition, columns)
                    is_checked = True
                yield batch

    def _read_rows(
        self,
        decoder: StatementDecoder,
        definition: StreamDefinition,
        attributes: Sequence[str],
        batches: Iterator[pa.RecordBatch],
    ) -> Iterator[EdgeBatch]:
        for batch in batches:
            _check_columns(definition, batch.schema.names)
            wanted = batch.select(fields_read(definition, attributes, batch.schema.names))
            wanted.validate(full=True)
            for start in range(0, wanted.num_rows, _ROWS):
                yield decoder.decode_rows(wanted.slice(start, _ROWS))


def _with_places(definition: StreamDefinition) -> StreamDefinition:
    """Return a definition whose tables have the whole paths of their files, as executors in other folders need them."""
    tables = tuple(replace(each, file=os.path.abspath(os.path.join(each.folder, each.file))) for each in definition.tables)
    return replace(definition, tables=tables) if tables else definition


def _check_columns(definition: StreamDefinition, columns: Sequence[str]) -> None:
    """Do nothing if records with these columns have what a definition cannot do without.

    Raises:
        UnreadableStreamError: every record would be rejected.
    """
    lacking = explain_lacking(fields_needed(definition), columns)
    if lacking is not None:
        raise UnreadableStreamError(lacking)


@dataclass(frozen=True, slots=True)
class StatementFiles:
    """Files that a statement defines.

    Attributes:
        location: a file, a folder, or a pattern of names as a shell knows them.
        definition: the statement.
        format: of the files.
        may_repeat: ids may come more than once.
    """

    location: str
    definition: StreamDefinition
    format: str
    may_repeat: bool = True

    def pieces(self) -> list[Piece]:
        """See `History.pieces`."""
        statement = Statement(encode_definition(_with_places(self.definition)), self.format)
        return [StatementPiece(str(path), statement) for path in paths_of(self.location)]

    def headers(self) -> Iterator[Sequence[str]] | None:
        """See `History.headers`."""
        columns = columns_of(self.definition)
        return None if columns is None else iter([columns])

    def fingerprint(self) -> str:
        """Return a digest of the statement, and of the names, sizes and times of change of files, those of tables too."""
        digest = hashlib.blake2b(fingerprint_of(self.location).encode(), digest_size=16)
        digest.update(encode_definition(self.definition) + self.format.encode())
        for table in table_files(self.definition, encode_definition):
            digest.update(repr(table.version()).encode())
        return digest.hexdigest()
