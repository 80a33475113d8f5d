"""What EMIT clauses give, the plain way: `graphtide_core.stream_emissions` word by word.

For every window all records are looked at again. What the model leaves open is decided here.

* Values, keys and deletions are those of features; see `oracles.stream_features`.
* An end is a text that is not empty, or a number that equals an integer of 64 bits. A record with another value there is in no
  window.
* The digest of a key is BLAKE2b of 16 bytes over its values. A truth value is `b` and a byte. An integer, or a number that
  equals one, is `i` and 8 bytes; another number is `f` and 8 bytes. A text is `t`, its length in 8 bytes, and UTF-8.
  Numbers are little-endian.
"""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING

from graphtide_core.edge import Edge, Operation
from graphtide_core.event import Event
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.stream_emissions import ID_PREFIX
from graphtide_core.time import MAX_EVENT_TIME, EventTime

from graphtide_testing.oracles.stream_features import (
    canonical,
    compute,
    find_alive,
    identity,
    is_emitted,
    read,
    satisfies,
)
from graphtide_testing.oracles.stream_records import evaluate_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.edge import Value
    from graphtide_core.stream_emissions import Emission
    from graphtide_core.time import TimeUnit

_Key = tuple[tuple[str, "Value"], ...]


def add_emitted(
    emissions: Sequence[Emission], records: Sequence[Edge | Event], unit: TimeUnit, watermark: int | None = None
) -> list[Edge | Event]:
    """Return an ordered stream with what its EMIT clauses give.

    Args:
        emissions: the clauses.
        records: the stream.
        unit: one tick of it.
        watermark: the time that the stream is at behind its last record; None is that of the record.
    """
    found: list[tuple[int, int, int, list[Edge | Event]]] = []
    newest = max([*(each.ts for each in records), *([] if watermark is None else [watermark])], default=0)
    for number, emission in enumerate(emissions):
        length = int(emission.every.ticks(unit))
        for window in sorted({each.ts // length for each in records}):
            end = (window + 1) * length
            if end > min(newest, MAX_EVENT_TIME):
                continue
            place = next((place for place, each in enumerate(records) if each.ts >= end), len(records))
            given = _emit(emission, records[:place], (window * length, end), unit)
            found.append((place, end, number, given))
    stream: list[Edge | Event] = []
    begun = 0
    for place, _, _, given in sorted(found, key=lambda each: each[:3]):
        stream += [*records[begun:place], *given]
        begun = place
    return [*stream, *records[begun:]]


def _emit(emission: Emission, records: Sequence[Edge | Event], window: tuple[int, int], unit: TimeUnit) -> list[Edge | Event]:
    start, end = window

    def counted(several: Sequence[Edge | Event]) -> list[Edge | Event]:
        return [each for each in several if start <= each.ts < end and satisfies(emission.where, each, unit)]

    # Keys go in the order of their first records, which may be deleted by now.
    ever = counted([each for each in records if each.operation is Operation.INSERT and not is_emitted(each)])
    keys = dict.fromkeys(key for each in ever if (key := _key(emission, each)) is not None)
    there = counted(find_alive(records))
    given: list[Edge | Event] = []
    for key in keys:
        same = [each for each in there if _key(emission, each) == key]
        if same:
            values = [_canonical(read(same[0], name)) for name in emission.whole_key]
            one = _give(emission, window, values, same)
            if emission.having is None or evaluate_record(emission.having, _fields(one), unit) is True:
                given.append(one)
    return given


def _key(emission: Emission, record: Edge | Event) -> _Key | None:
    values = [read(record, name) for name in emission.whole_key]
    ends = [_canonical(each) for each in values[: len(emission.ends or ())]]
    if None in values or any(each == "" or isinstance(each, bool | float) for each in ends):
        return None
    return tuple(map(identity, values))


def _canonical(value: Value) -> Value:
    return canonical(value) if isinstance(value, float) else value


def _give(emission: Emission, window: tuple[int, int], key: Sequence[Value], records: Sequence[Edge | Event]) -> Edge | Event:
    start, end = window
    digest = hashlib.blake2b(b"".join(map(_spell, key)), digest_size=16).hexdigest()
    name = EdgeId(f"{ID_PREFIX}{emission.label}:{start}+{end - start}:{digest}")
    others = dict(zip((each.name for each in emission.keys), key[len(emission.ends or ()) :], strict=True))
    attributes = {**others, **{each.name: compute(each, records) for each in emission.sets}}
    if emission.ends is None:
        return Event(name, EventTime(end), emission.label, attributes)
    source, target = (VertexId(str(each)) for each in key[:2])
    source_label, target_label = (each.label for each in emission.ends)
    return Edge(name, EventTime(end), source, target, emission.label, source_label, target_label, attributes)


def _fields(record: Edge | Event) -> dict[str, Value]:
    fields: dict[str, Value] = {"ts": record.ts, "id": record.id, "type": None}
    if isinstance(record, Event):
        return {**fields, "type": record.type, **record.attributes}
    ends = {"src": record.source, "dst": record.target, "label": record.label}
    return {**fields, **ends, "src_label": record.source_label, "dst_label": record.target_label, **record.attributes}


def _spell(value: Value) -> bytes:
    match value:
        case bool():
            return b"b" + bytes([value])
        case int():
            return b"i" + struct.pack("<q", value)
        case float():
            return b"f" + struct.pack("<d", value)
        case str():
            return b"t" + struct.pack("<Q", len(value.encode())) + value.encode()
        case _:
            raise AssertionError(value)
