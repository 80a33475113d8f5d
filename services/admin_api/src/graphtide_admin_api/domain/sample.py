"""What a STREAM statement makes of a few records, before it is registered.

Cost: one pass of the decoder over the sample, a second one where the statement gives all fields as they are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from graphtide_core import formats
from graphtide_core.edge import Operation
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.stream_fields import attributes_of, joined_attributes
from graphtide_core.time import iso_time
from graphtide_native.record_form import clocks_of_zones
from graphtide_native.records import StatementDecoder, Symbols, take_dead_letters
from graphtide_ordering.reference_tables import empty_tables
from graphtide_wire.stream_definition import encode_definition

from graphtide_admin_api.domain.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphtide_core.formats import StreamFormat
    from graphtide_core.ports.dead_letter_sink import DeadLetter
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_native.records import EdgeBatch

MOST_SAMPLE: Final = 256 * 1024
"""Characters of a sample."""

SHOWN: Final = 10
"""Edges and events that are shown, and rejected records."""

_TEXTS: Final = frozenset(
    each.value
    for each in (
        formats.CSV,
        formats.JSON,
        formats.JSON_LINES,
        formats.REGEX,
        formats.SYSLOG,
        formats.XML,
        formats.ZEEK,
    )
)
_LONGEST_RAW: Final = 500


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """An edge, an event or a deletion that a record gives, as texts.

    Attributes:
        record: its place in the sample, from 1.
        time: in ISO 8601.
        id: given or made.
        drawn: such as `(a:ip)-[tcp]->(b:ip)`.
        attributes: `name = value` each.
    """

    record: int
    time: str
    id: str
    drawn: str
    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a statement makes of a sample.

    Attributes:
        records: that were read.
        given: edges, events and deletions that they gave.
        filtered: records that are not of the stream.
        shown: the first of what they gave.
        rejected: how many records could not be used.
        flaws: the first of these.
    """

    records: int
    given: int
    filtered: int
    shown: tuple[ShownRecord, ...]
    rejected: int
    flaws: tuple[DeadLetter, ...]


def read_sample(definition: StreamDefinition, sample: str) -> Sampled:
    """Read records by a statement. What EMIT and FEATURE clauses give of them is not shown.

    Raises:
        ProblemError: records of the stated format are no text, or the sample as a whole is not in that format.
    """
    format = _format_of(definition, sample)
    try:
        attributes = attributes_of(definition)
        if attributes is None:
            attributes = _fields_of(definition, sample, format)
        decoder, batches = _decode(definition, sample, format, (*attributes, *joined_attributes(definition)))
    except UnreadableStreamError as error:
        raise ProblemError(422, "invalid-sample", str(error)) from error
    flaws = take_dead_letters(decoder)
    shown: list[ShownRecord] = []
    for batch in batches:
        first = batch.part(0, min(len(batch), SHOWN - len(shown)))
        shown += (_show(record, definition) for record in first.to_records())
    return Sampled(
        records=decoder.ordinal(),
        given=sum(map(len, batches)),
        filtered=decoder.filtered(),
        shown=tuple(shown),
        rejected=len(flaws),
        flaws=tuple(flaws[:SHOWN]),
    )


def _format_of(definition: StreamDefinition, sample: str) -> StreamFormat:
    """Return what the statement states, else what the sample looks like: JSON Lines or CSV."""
    if definition.format is None:
        first = sample.lstrip("\ufeff \t\r\n")
        return formats.JSON_LINES if not first or first.startswith("{") else formats.CSV
    name = definition.format.name
    if name not in _TEXTS:
        detail = f"records in {name} are no text: check them with `graphtide streams check FILE.gts DATA`"
        raise ProblemError(422, "invalid-sample", detail)
    return formats.DEFAULT


def _decode(
    definition: StreamDefinition, sample: str, format: StreamFormat, attributes: Sequence[str]
) -> tuple[StatementDecoder, list[EdgeBatch]]:
    decoder = StatementDecoder(
        Symbols(),
        tuple(dict.fromkeys(attributes)),
        encode_definition(definition),
        format=format.value,
        zones=clocks_of_zones(definition.zones()),
        tables=empty_tables(definition),
        keep_raw=True,
    )
    encoding = (definition.format and definition.format.encoding) or "utf-8"
    batches = [decoder.decode(sample.encode(encoding, "replace")), decoder.finish()]
    return decoder, batches


def _fields_of(definition: StreamDefinition, sample: str, format: StreamFormat) -> tuple[str, ...]:
    """Return the names of the fields of the sample: its columns, or the members of its first objects."""
    decoder, batches = _decode(definition, sample, format, ())
    if (columns := decoder.columns()) is not None:
        return tuple(columns)
    raw = [record["raw"] for batch in batches for record in batch.part(0, min(len(batch), SHOWN)).to_records()]
    return tuple(dict.fromkeys(name for each in raw for name in _members(each)))


def _members(raw: bytes) -> Iterable[str]:
    try:
        value = json.loads(raw)
    except ValueError:
        return
    if isinstance(value, dict):
        yield from (name for name, each in value.items() if name and not isinstance(each, (dict, list)))


def _show(record: Mapping[str, Any], definition: StreamDefinition) -> ShownRecord:
    values = ((name, value) for name, value in record["attributes"].items() if value is not None)
    return ShownRecord(
        record=record["ordinal"] + 1,
        time=iso_time(record["ts"], definition.unit),
        id=record["id"],
        drawn=_draw(record),
        attributes=tuple(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values),
    )


def _draw(record: Mapping[str, Any]) -> str:
    if record["op"] == Operation.DELETE.value:
        return "deletion"
    if not record["src"]:
        return str(record["label"])
    source, target = (_end(record[name], record[f"{name}_label"]) for name in ("src", "dst"))
    return f"{source}-[{record['label']}]->{target}"


def _end(name: str, label: str | None) -> str:
    return f"({name}:{label})" if label else f"({name})"


def shorten(raw: bytes) -> str:
    """Return the bytes of a rejected record as a text of bounded length."""
    text = raw.decode("utf-8", "replace")
    return text if len(text) <= _LONGEST_RAW else f"{text[:_LONGEST_RAW]}…"
