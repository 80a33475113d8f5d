"""Versions of the STREAM statement of a stream, as decoders of its raw records take them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from graphtide_native.record_form import clocks_of_zones
from graphtide_native.records import StatementDecoder
from graphtide_wire.json_form import encode
from graphtide_wire.stream_definition import definition_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.formats import StreamFormat
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_native.records import Symbols
    from graphtide_wire.stream_statement import StatementRecord

_CSV = "csv"


@dataclass(frozen=True)
class Statement:
    """One version of a statement.

    Attributes:
        record: as it was registered.
    """

    record: StatementRecord

    @property
    def version(self) -> int:
        """Its number; they ascend."""
        return self.record.version

    def has_header(self, format: StreamFormat) -> bool:
        """Whether records that come in a format have a header line, which names their fields."""
        stated = self._model.format
        if stated is None:
            return format.has_header
        return stated.name == _CSV and stated.columns is None and stated.header is not False

    def decoder(
        self, symbols: Symbols, attributes: Sequence[str], format: StreamFormat, types: Mapping[str, str]
    ) -> StatementDecoder:
        """Return a decoder of raw records that come in a format, unless the statement states another.

        Raises:
            UnreadableStreamError: records of the stated format cannot be decoded here.
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
        )

    @cached_property
    def _definition(self) -> bytes:
        return encode(self.record.definition)

    @cached_property
    def _model(self) -> StreamDefinition:
        return definition_of(self.record.definition)

    @cached_property
    def _zones(self) -> dict[str, tuple[tuple[tuple[int, int], ...], int]]:
        return clocks_of_zones(self._model.zones())
