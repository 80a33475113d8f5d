"""The values of a stream's features, the plain way: `graphtide_core.stream_features` word by word.

For every record all earlier ones are looked at again. What the model leaves open is decided here.

* A deletion takes the latest record with its id, of those that are not deleted; made ids are not given, so none is deleted.
* Two values are equal if patterns compare them as equal: numbers by what they are, texts by their characters. A key with a
  missing value is no key.
* `sum` and `avg` are over numbers that are finite, `min` and `max` likewise. A sum that is no number of 64 bits, integer or
  floating point, is missing.
* A different value of `count(DISTINCT x)` is a text, a number or a truth value. Beyond `MOST_EXACT` records of the window the
  count is that of a HyperLogLog sketch of the window [ERTL17, algorithm 6], of BLAKE2b hashes. It is at most the number of
  records.
* AGAINST divides by the mean as floating point does: `value * (against / over) / longer`. It is missing where that divides by
  zero, or where a value is missing.

[ERTL17] O. Ertl. New cardinality estimation algorithms for HyperLogLog sketches. arXiv:1702.01284, 2017.
"""

from __future__ import annotations

import hashlib
import math
import struct
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from graphtide_core.edge import Edge, Operation
from graphtide_core.predicate import Aggregation
from graphtide_core.stream_emissions import ID_PREFIX
from graphtide_core.stream_features import FIELDS, MOST_EXACT, REGISTERS

from graphtide_testing.oracles.stream_records import evaluate_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.edge import Value
    from graphtide_core.event import Event
    from graphtide_core.record_expression import RecordExpression
    from graphtide_core.stream_emissions import Summary
    from graphtide_core.stream_features import Feature
    from graphtide_core.time import TimeUnit

_BITS: Final = REGISTERS.bit_length() - 1
_RANKS: Final = 64 - _BITS


def value_of(feature: Feature, records: Sequence[Edge | Event], unit: TimeUnit) -> Value:
    """Return the value of a feature of the last record, which is an insert, of an ordered stream."""
    last = records[-1]
    key = _key(feature, last)
    if key is None or is_emitted(last):
        return None
    there = find_alive(records)
    same = [each for each in there if _key(feature, each) == key and (each is not last or not feature.excludes_current)]
    counted = [each for each in same if satisfies(feature.where, each, unit)]
    over = feature.over.ticks(unit)
    value = compute(feature, [each for each in counted if last.ts - each.ts < over])
    if feature.against is None:
        return value
    against = feature.against.ticks(unit)
    longer = compute(feature, [each for each in counted if last.ts - each.ts < against])
    if value is None or not longer:
        return None
    ratio = float(value) * float(against / over) / float(longer)
    return ratio if math.isfinite(ratio) else None


def is_emitted(record: Edge | Event) -> bool:
    """Return whether a record has an id of EMIT."""
    return not record.made and record.id.startswith(ID_PREFIX)


def find_alive(records: Sequence[Edge | Event]) -> list[Edge | Event]:
    """Return the inserts that no later record deletes, without what EMIT gave."""
    alive: list[Edge | Event] = []
    for each in records:
        if each.operation is Operation.INSERT:
            if not is_emitted(each):
                alive.append(each)
            continue
        same = [place for place, other in enumerate(alive) if other.id == each.id and not other.made]
        if same:
            del alive[same[-1]]
    return alive


def read(record: Edge | Event, name: str) -> Value:
    """Return an attribute or a field."""
    if name not in FIELDS:
        return record.attributes.get(name)
    if name in ("ts", "id"):
        return getattr(record, name)  # type: ignore[no-any-return]
    if isinstance(record, Edge):
        fields = {"src": record.source, "dst": record.target, "label": record.label, "type": record.label}
        return {**fields, "src_label": record.source_label, "dst_label": record.target_label}[name]
    return record.type if name in ("type", "label") else None


def _key(feature: Feature, record: Edge | Event) -> tuple[tuple[str, Value], ...] | None:
    values = [read(record, name) for name in feature.keys]
    return None if None in values else tuple(map(identity, values))


def identity(value: Value) -> tuple[str, Value]:
    """Return what equal values share, and no others."""
    if isinstance(value, bool | str):
        return (type(value).__name__, value)
    return ("number", value)


def satisfies(condition: RecordExpression | None, record: Edge | Event, unit: TimeUnit) -> bool:
    """Return whether a record satisfies a condition, if there is one."""
    if condition is None:
        return True
    fields = {name: read(record, name) for name in (*FIELDS, *record.attributes)}
    return evaluate_record(condition, fields, unit) is True


def compute(feature: Feature | Summary, window: Sequence[Edge | Event]) -> Value:
    """Return the value of a function over records."""
    if feature.of is None:
        return len(window)
    values = [value for value in (read(each, feature.of) for each in window) if value is not None]
    if feature.function is Aggregation.COUNT:
        return count_different(values) if feature.is_distinct else len(values)
    if feature.function is Aggregation.LAST:
        return values[-1] if values else None
    numbers = [each for each in values if isinstance(each, int | float) and not isinstance(each, bool) and math.isfinite(each)]
    if not numbers:
        return None
    match feature.function:
        case Aggregation.LEAST:
            return canonical(min(numbers))
        case Aggregation.GREATEST:
            return canonical(max(numbers))
        case Aggregation.AVERAGE:
            total = _round_once(sum(map(Fraction, numbers), Fraction()))
            return None if total is None else total / len(numbers)
        case _:
            exact = sum(map(Fraction, numbers), Fraction())
            if all(isinstance(each, int) for each in numbers) and -(2**63) <= exact < 2**63:
                return int(exact)
            return _round_once(exact)


def _round_once(exact: Fraction) -> float | None:
    try:
        return float(exact)
    except OverflowError:
        return None


def canonical(number: float) -> int | float:
    """Return the integer of 64 bits that a number equals, or the number."""
    return int(number) if number == int(number) and -(2**63) <= number < 2**63 else number


def count_different(values: Sequence[Value]) -> int:
    """Return how many different values there are, or the estimate for a long window."""
    if len(values) <= MOST_EXACT:
        return len({identity(each) for each in values})
    registers = [0] * REGISTERS
    for value in values:
        number = int.from_bytes(hashlib.blake2b(_bytes(value), digest_size=16).digest()[:8], "little")
        place, rest = number >> _RANKS, number & ((1 << _RANKS) - 1)
        registers[place] = max(registers[place], _RANKS - rest.bit_length() + 1)
    return min(len(values), estimate([registers.count(rank) for rank in range(_RANKS + 2)]))


def _bytes(value: Value) -> bytes:
    match value:
        case bool():
            return b"b" + bytes([value])
        case str():
            return b"t" + value.encode()
        case int() | float():
            number = canonical(value)
            return b"i" + struct.pack("<q", number) if isinstance(number, int) else b"f" + struct.pack("<d", number)
        case _:
            raise AssertionError(value)


def estimate(counts: Sequence[int]) -> int:
    """Return the estimate from how many registers have each value [ERTL17, algorithm 6]."""
    total = sum(counts)
    if counts[0] == total:
        return 0
    z = total * _tau(1 - counts[-1] / total)
    for count in reversed(counts[1:-1]):
        z = 0.5 * (z + count)
    z += total * _sigma(counts[0] / total)
    return math.floor(total * total / (2 * math.log(2)) / z + 0.5)


def _sigma(x: float) -> float:
    y, z, before = 1.0, x, -1.0
    while z != before:
        x *= x
        before = z
        z += x * y
        y += y
    return z


def _tau(x: float) -> float:
    if x in (0.0, 1.0):
        return 0.0
    y, z, before = 1.0, 1 - x, -1.0
    while z != before:
        x = math.sqrt(x)
        before = z
        y *= 0.5
        z -= (1 - x) * (1 - x) * y
    return z / 3
