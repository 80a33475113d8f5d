"""Decoders of the text formats, for files, bodies over HTTP, raw records and history.

Each function here is what an entry of `graphtide_core.formats` names as its decoder. It uses the options that its format has,
and ignores the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from graphtide_core.time import TimeUnit

from graphtide_native.record_form import RecordForm, clocks_of_zones, time_form
from graphtide_native.records import CsvDecoder, JsonLinesDecoder, StatementDecoder, Symbols

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from graphtide_core.formats import StreamFormat

    from graphtide_native._native import LookupTable
    from graphtide_native.records import Decoder


@dataclass(frozen=True, slots=True)
class Decoding:
    """Options of a decoder; see the stub of `Decoder`, `CsvDecoder` and `JsonLinesDecoder`.

    Attributes:
        symbols: the table of labels.
        attributes: what to decode beside the columns of every record.
        columns: the stream's own names by canonical names.
        delimiter: what separates fields, where they are separated.
        types: what is declared of attributes.
        settle: whether the beginning settles which columns hold texts, where fields have no types.
        keep_raw: whether records keep their bytes.
        substitutes: whether lines may stand for records that were rejected before.
        discover: whether to note attributes beside `attributes`, where no header names them.
        form: how records are written, where that is not as the format has it by itself.
        time_unit: what the stream counts, for formats whose times count something else by themselves.
    """

    symbols: Symbols = field(default_factory=Symbols)
    attributes: Sequence[str] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    delimiter: str = ","
    types: Mapping[str, str] = field(default_factory=dict)
    settle: bool = False
    keep_raw: bool = False
    substitutes: bool = False
    discover: bool = False
    form: RecordForm = field(default_factory=RecordForm)
    time_unit: TimeUnit = TimeUnit.MILLISECOND


def decoder_of(format: StreamFormat, asked: Decoding) -> Decoder:
    """Return a new decoder of a text format.

    Raises:
        ValueError: the format is columnar.
        UnreadableStreamError: a canonical name in the columns is none.
    """
    if format.decoder is None:
        message = f"{format.value} is not decoded block by block"
        raise ValueError(message)
    return _maker(format.decoder)(asked)


def statement_decoder(
    symbols: Symbols,
    attributes: Sequence[str],
    definition: bytes,
    format: str,
    zones: Iterable[str],
    *,
    types: Mapping[str, str] | None = None,
    keep_raw: bool = False,
    substitutes: bool = False,
    tables: Mapping[str, LookupTable] | None = None,
) -> StatementDecoder:
    """Return a decoder of records that a STREAM statement reads.

    Args:
        symbols: the table of labels.
        attributes: names of the attributes to decode.
        definition: the statement, as `graphtide_wire.stream_definition` encodes it.
        format: how bytes or rows are, where the statement does not say it: `csv`, `jsonl`, `json`, `zeek` or `arrow`.
        zones: names of the time zones that the statement needs.
        types: what is declared of attributes.
        keep_raw: whether records keep their bytes.
        substitutes: whether lines may stand for records that were rejected before.
        tables: that the statement joins, by their names.

    Raises:
        ValueError: a zone is not known on this machine.
        UnreadableStreamError: the definition is not one.
    """
    return StatementDecoder(
        symbols,
        attributes,
        definition,
        format=format,
        zones=clocks_of_zones(zones),
        types=types or {},
        keep_raw=keep_raw,
        substitutes=substitutes,
        tables=tables or {},
    )


@cache
def _maker(reference: str) -> Callable[[Decoding], Decoder]:
    """Return the function that is named so; raw records come in small groups, each with a decoder."""
    found: Callable[[Decoding], Decoder] = resolve_name(reference)
    return found


def csv(asked: Decoding) -> Decoder:
    """Return a decoder of CSV."""
    return CsvDecoder(
        asked.symbols,
        asked.attributes,
        asked.columns,
        asked.delimiter,
        types=asked.types,
        settle=asked.settle,
        keep_raw=asked.keep_raw,
        substitutes=asked.substitutes,
        form=asked.form,
    )


def zeek(asked: Decoding) -> Decoder:
    """Return a decoder of logs of Zeek; their times are seconds."""
    times = asked.form.times or time_form(TimeUnit.SECOND.value, None, asked.time_unit)
    return csv(replace(asked, form=replace(asked.form, heading="directives", times=times, comment="")))


def json(asked: Decoding) -> Decoder:
    """Return a decoder of JSON that has its records anywhere: in a list, over several lines, under a path."""
    return json_lines(replace(asked, form=replace(asked.form, path=asked.form.path or (), comment="")))


def json_lines(asked: Decoding) -> Decoder:
    """Return a decoder of JSON Lines."""
    return JsonLinesDecoder(
        asked.symbols,
        asked.attributes,
        asked.columns,
        types=asked.types,
        keep_raw=asked.keep_raw,
        substitutes=asked.substitutes,
        discover=asked.discover,
        form=asked.form,
    )
