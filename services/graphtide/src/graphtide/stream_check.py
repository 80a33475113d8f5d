"""A STREAM statement against a sample of its data: the first edges and events, those of windows, and what was rejected."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from graphtide_core.edge import Operation
from graphtide_core.record_expression import MOST_STEPS, FieldPath
from graphtide_core.stream_fields import attributes_of, joined_attributes
from graphtide_core.time import iso_time
from graphtide_query.language.spelling import write_constant

from graphtide.readers import ReaderOptions
from graphtide.record_options import RecordOptions
from graphtide.rejections import Rejections
from graphtide.sample_windows import SampleWindows
from graphtide.session import open_reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from graphtide_core.edge import Value
    from graphtide_core.formats import StreamFormat
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_core.time import TimeUnit

    from graphtide.readers import Reader
    from graphtide.session import Records

MOST_RECORDS: Final = 100_000
"""Records of a sample that are read, unless the caller says otherwise."""

SHOWN: Final = 10
"""Edges and events that are shown."""

_OF_SYSLOG: Final = ("priority", "facility", "severity", "timestamp", "hostname", "appname", "procid", "msgid", "message")
_ATTRIBUTE: Final = re.compile(r"""([^\s<>"'=/]+)\s*=\s*(?:"[^"]*"|'[^']*')""")


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """An edge, an event or a deletion that a record gives, as texts.

    Attributes:
        record: its place in the sample, from 1; None of what EMIT gives.
        time: in ISO 8601.
        id: given or made.
        drawn: such as `(a:ip)-[tcp]->(b:ip)`.
        attributes: `name = value` each, values as patterns have them.
    """

    record: int | None
    time: str
    id: str
    drawn: str
    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckedStream:
    """What a statement makes of a sample.

    Attributes:
        definition: the statement.
        records: that were read.
        is_whole: whether these are all.
        given: edges, events and deletions that they gave.
        filtered: records that are not of the stream.
        rejections: records that could not be used.
        place: what the line of a rejected record counts.
        shown: the first of what they gave.
        emitted: edges and events that EMIT clauses gave.
        shown_emitted: the first of these.
    """

    definition: StreamDefinition
    records: int
    is_whole: bool
    given: int
    filtered: int
    rejections: Rejections
    place: str
    shown: tuple[ShownRecord, ...]
    emitted: int = 0
    shown_emitted: tuple[ShownRecord, ...] = ()


def check_stream(
    definition: StreamDefinition,
    sample: Records,
    *,
    format: StreamFormat | None = None,
    shown: int = SHOWN,
    most: int = MOST_RECORDS,
) -> CheckedStream:
    """Read the beginning of a sample by a statement.

    Args:
        definition: the statement.
        sample: as `match` takes streams.
        format: how the sample is written, where neither statement nor name says it.
        shown: how many edges and events to show, and how many of those that EMIT gives.
        most: records after which no more are read; a block that is begun is read whole.

    Raises:
        UnreadableStreamError: the sample cannot be opened, or not read further.
        TypeError: it is of another type.
    """
    reading = ReaderOptions(
        time_unit=definition.unit, format=format, keep_raw=False, record_options=RecordOptions(stream=(definition,))
    )
    attributes = attributes_of(definition)
    if attributes is None:
        stated = None if definition.format is None else definition.format.name
        attributes = _fields_of(open_reader(sample, replace(reading, keep_raw=True)), shown, stated)
    attributes = tuple(dict.fromkeys((*attributes, *joined_attributes(definition), *definition.windows.inputs)))
    reader = open_reader(sample, replace(reading, attributes=attributes))
    rejections, given, found = Rejections(), 0, list[ShownRecord]()
    windows = SampleWindows(definition)
    is_whole = True
    try:
        for batch in reader.batches():
            rejections.add(reader.take_dead_letters())
            first = batch.part(0, min(len(batch), shown - len(found)))
            found += (_show(record, definition.unit) for record in first.to_records())
            given += len(batch)
            windows.add(batch)
            if reader.records >= most:
                is_whole = False
                break
        rejections.add(reader.take_dead_letters())
    finally:
        reader.close()
    emitted = list(windows.emitted())
    first_emitted = tuple(replace(_show(record, definition.unit), record=None) for record in emitted[:shown])
    counts = reader.records, is_whole, given, reader.filtered
    return CheckedStream(definition, *counts, rejections, reader.place, tuple(found), len(emitted), first_emitted)


def _fields_of(reader: Reader, shown: int, format: str | None) -> tuple[str, ...]:
    """Return the names of the fields that a stream has, or of those that its first records have, by their paths.

    Records of Avro and Protobuf do not say what their fields are called: those have none.
    """
    try:
        first = next((batch for batch in reader.batches() if len(batch)), None)
        if reader.columns is not None or first is None:
            return tuple(reader.columns or ())
        records = first.part(0, min(len(first), shown)).to_records()
        return tuple(dict.fromkeys(name for each in records for name in _names_in(each["raw"], format)))
    finally:
        reader.close()


def _names_in(raw: bytes, format: str | None) -> Iterator[str]:
    """Yield the names of the fields of a record."""
    match format:
        case "syslog":
            yield from _OF_SYSLOG
        case "xml":
            yield from _ATTRIBUTE.findall(raw.decode())
        case "avro" | "protobuf":
            return
        case _:
            yield from map(str, _paths_in(json.loads(raw), ()))


def _paths_in(value: object, steps: tuple[str | int, ...]) -> Iterator[FieldPath]:
    """Yield the paths of the values in a record."""
    match value:
        case dict():
            yield from (path for name, inner in value.items() if name for path in _paths_in(inner, (*steps, name)))
        case list():
            yield from (path for place, inner in enumerate(value) for path in _paths_in(inner, (*steps, place)))
        case _ if 0 < len(steps) <= MOST_STEPS:
            yield FieldPath(steps)


def _show(record: Mapping[str, Any], unit: TimeUnit) -> ShownRecord:
    values = {name: value for name, value in record["attributes"].items() if value is not None}
    return ShownRecord(
        record["ordinal"] + 1,
        iso_time(record["ts"], unit),
        record["id"],
        _draw(record),
        tuple(f"{name} = {_spell(value)}" for name, value in values.items()),
    )


def _spell(value: Value) -> str:
    """Spell a value as patterns do, so that a number and its text look different."""
    return str(value) if isinstance(value, float) else write_constant(value)


def _draw(record: Mapping[str, Any]) -> str:
    if record["op"] == Operation.DELETE.value:
        return "deletion"
    if not record["src"]:
        return str(record["label"])
    source, target = (_end(record[name], record[f"{name}_label"]) for name in ("src", "dst"))
    return f"{source}-[{record['label']}]->{target}"


def _end(name: str, label: str) -> str:
    return f"({name}:{label})" if label else f"({name})"
