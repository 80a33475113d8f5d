"""Versions of the STREAM statement of a stream, as decoders of its raw records take them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from graphtide_core.errors import UnreadableStreamError
from graphtide_core.formats import CSV, DEFAULT
from graphtide_core.ids import StreamName
from graphtide_core.record_format import file_of
from graphtide_core.stream_definition import StreamClock
from graphtide_core.stream_fields import explain_lacking, fields_needed
from graphtide_core.stream_partition import part_key
from graphtide_core.stream_windows import StreamWindows
from graphtide_core.table_rows import rows_of
from graphtide_native.record_form import clocks_of_zones
from graphtide_native.records import StatementDecoder, Symbols, ticks_per_second
from graphtide_wire.stream_definition import definition_of, encode_definition

from graphtide_ordering.division import Division
from graphtide_ordering.reference_tables import ReferenceTables, empty_tables, flaw_of_files, tables_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphtide_core.formats import StreamFormat
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_core.time import TimeUnit
    from graphtide_native.tables import TableFile
    from graphtide_wire.stream_statement import StatementRecord

    from graphtide_ordering.ordering import Ordering


def check_decodable(definition: StreamDefinition) -> None:
    """Do nothing if raw records can be read by a definition, once its tables are there.

    Raises:
        UnreadableStreamError: there is no decoder of the format that it states, or it names a file. Or a table is not in the
            folder of tables.
    """
    stated = definition.format
    if stated is not None and (named := file_of(stated)) is not None:
        option, file = named
        message = (
            f"{option.upper()} {file!r} is a file, which is not here: graphtide apply and Client.put_stream send what is in it"
        )
        raise UnreadableStreamError(message)
    if (flaw := flaw_of_files(definition)) is not None:
        raise UnreadableStreamError(flaw)
    for each in (definition, *(rows.statement for rows in rows_of(definition))):
        zones, tables = clocks_of_zones(each.zones()), empty_tables(each)
        StatementDecoder(Symbols(), (), encode_definition(each), format=DEFAULT.value, zones=zones, tables=tables)


@dataclass(frozen=True)
class StatementSurroundings:
    """What decoders by a statement need beside it.

    Attributes:
        schemas: gives the schemas that messages of Avro name by numbers; None if nothing keeps any.
        tables: that records are joined with.
    """

    schemas: Callable[[int], bytes] | None = None
    tables: ReferenceTables = field(default_factory=lambda: tables_in(None))


@dataclass(frozen=True)
class Statement:
    """One version of a statement, or the removal of one, from which on records are read without.

    Attributes:
        record: as it was registered.
        surroundings: what its decoders need.
    """

    record: StatementRecord
    surroundings: StatementSurroundings = field(default_factory=StatementSurroundings)

    @property
    def version(self) -> int:
        """Its number; they ascend."""
        return self.record.version

    @property
    def is_removed(self) -> bool:
        """Whether the version is that there is no statement."""
        return self.record.is_removed

    def ordering(self, default: Ordering, unit: TimeUnit) -> Ordering:
        """Return how the stream is put in order: as the statement says, and otherwise as by default."""
        if self.is_removed:
            return default
        stated, clock = self._model, self._model.clock
        return replace(
            default,
            lateness=default.lateness if stated.lateness is None else int(stated.lateness.ticks(unit)),
            live=default.live if clock is None else ticks_per_second(unit) if clock is StreamClock.LIVE else 0,
            duplicates=stated.duplicates or default.duplicates,
        )

    @property
    def windows(self) -> StreamWindows:
        """What is counted of the stream in windows."""
        return StreamWindows() if self.is_removed else self._model.windows

    @property
    def division(self) -> Division | None:
        """How the stream is divided into parts; None if it is not."""
        if self.is_removed or self._model.partition is None:
            return None
        key = part_key(self._model)
        return None if key is None else Division(StreamName(self.record.stream), key, self._model.partition.parts)

    def format_name(self, format: StreamFormat) -> str:
        """Return the name of the format that records which come in a format are read in."""
        stated = self._model.format
        return format.value if stated is None else stated.name

    @property
    def states_format(self) -> bool:
        """Whether it says how records are written; else they say so themselves."""
        return self._model.format is not None

    @property
    def states_schema(self) -> bool:
        """Whether it has the schema that messages of Avro are written by; else a registry keeps them."""
        return self._model.format is not None and self._model.format.schema is not None

    @property
    def quote(self) -> str:
        """The character around fields of CSV; empty for none."""
        stated = self._model.format
        return '"' if stated is None or stated.quote is None else stated.quote

    def has_header(self, format: StreamFormat) -> bool:
        """Whether records that come in a format have a header line, which names their fields."""
        stated = self._model.format
        if stated is None:
            return format.has_header
        return stated.name == CSV.value and stated.columns is None and stated.header is not False

    def check_columns(self, columns: Sequence[str]) -> None:
        """Do nothing if records with these columns have what the statement cannot do without.

        Raises:
            UnreadableStreamError: every record would be rejected for want of a column, which the error names.
        """
        lacking = explain_lacking(self._needed, columns)
        if lacking is not None:
            raise UnreadableStreamError(lacking)

    @cached_property
    def _needed(self) -> Mapping[str, str]:
        return fields_needed(self._model)

    def encode(self, header: str) -> bytes:
        """Return a header line as records are encoded.

        Raises:
            UnreadableStreamError: the encoding has not its characters.
        """
        encoding = (self._model.format and self._model.format.encoding) or "utf-8"
        try:
            return header.encode(encoding)
        except UnicodeError as error:
            message = f"the columns cannot be written in {encoding}, which the statement states"
            raise UnreadableStreamError(message) from error

    def decoder(
        self, symbols: Symbols, attributes: Sequence[str], format: StreamFormat, types: Mapping[str, str]
    ) -> StatementDecoder:
        """Return a decoder of raw records that come in a format, unless the statement states another.

        Raises:
            UnreadableStreamError: records of the stated format cannot be decoded here.
            TransientError: a table that the statement joins cannot be read now.
        """
        return StatementDecoder(
            symbols,
            attributes,
            self._definition,
            format=format.value,
            zones=self._zones,
            types=types,
            keep_raw=True,
            substitutes=True,
            schemas=self.surroundings.schemas,
            tables=self.surroundings.tables.current(self._model, self._table_files),
        )

    @cached_property
    def _table_files(self) -> tuple[TableFile, ...]:
        return self.surroundings.tables.files_of(self._model)

    @cached_property
    def _definition(self) -> bytes:
        return encode_definition(self._model)

    @cached_property
    def _model(self) -> StreamDefinition:
        if self.record.definition is None:
            message = f"version {self.version} of the statement of {self.record.stream} is none"
            raise ValueError(message)
        return definition_of(self.record.definition)

    @cached_property
    def _zones(self) -> dict[str, tuple[tuple[tuple[int, int], ...], int]]:
        return clocks_of_zones(self._model.zones())
