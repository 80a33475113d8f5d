"""Records of each format as Python values, the plain way: what STREAM statements read, with `json`, `csv` and the like.

* Integers are of 64 bits; a larger one is the nearest floating-point number. A number past all of these is no JSON.
* A field of a format that is text has the type that it looks like: number, truth value or text. It is missing where it is empty
  or one of the texts that stand for a missing value. It keeps the text that it is written as.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from graphtide_testing.oracles.record_texts import Moment, WrittenFloat, WrittenInt, plain

if TYPE_CHECKING:
    from collections.abc import Container

    from graphtide_core.edge import Value

_PER_SECOND: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER: Final = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_COMMA: Final = re.compile(r"([+-]?)([0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+)(?:,([0-9]+))?((?:[eE].*)?)")
_LONGEST: Final = 64


def decode_json(text: str | bytes) -> object:
    """Return the value that a text of JSON holds.

    Raises:
        ValueError: it is not JSON.
    """
    return json.loads(text, parse_int=_whole, parse_float=_real, parse_constant=_refuse)


def decode_field(text: str, nulls: Container[str] = (), *, decimal: str = ".") -> Value:
    """Return the value that a field of CSV holds, with the text that it is written as."""
    if not text or text in nulls:
        return None
    if decimal == ",":
        return _with_comma(text)
    return _with_point(text, text)


def decode_rows(rows: pa.Table) -> list[object]:
    """Return the rows of a table of Arrow: structs are objects, a decimal is the number of its digits, NaN is missing."""
    columns = [_column(column.combine_chunks()) for column in rows.columns]
    return [dict(zip(rows.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _column(array: pa.Array) -> list[object]:
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _column(array.dictionary_decode())
    if pa.types.is_struct(kind):
        children = [_column(child) for child in array.flatten()]
        names = [kind.field(place).name for place in range(kind.num_fields)]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*children, strict=True)]
        return [row if there else None for row, there in zip(rows, array.is_valid().to_pylist(), strict=True)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return [None if each.as_py() is None else _column(each.values) for each in array]
    if pa.types.is_timestamp(kind):
        return [None if each is None else _moment(each, kind) for each in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_date(kind):
        return [None if each is None else Moment(each.isoformat()) for each in array.to_pylist()]
    return [_scalar(each) for each in array.to_pylist()]


def _moment(units: int, kind: pa.TimestampType) -> Moment:
    places = _PER_SECOND[kind.unit]
    seconds, rest = divmod(units, 10**places)
    text = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    return Moment(f"{text}{f'.{rest:0{places}}' if places else ''}{'Z' if kind.tz else ''}")


def _scalar(value: object) -> object:
    match value:
        case Decimal():
            return plain(decode_field(f"{value:f}"))
        case float() if math.isnan(value):
            return None
        case int() if not -(2**63) <= value < 2**63:
            return float(value)
        case _:
            return value


def _with_point(text: str, written: str) -> Value:
    if text in {"true", "false"}:
        return text == "true"
    if _INTEGER.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return WrittenInt.of(int(text), written)
    if _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return WrittenFloat.of(float(text), written)
    return written


def _with_comma(text: str) -> Value:
    found = _COMMA.fullmatch(text)
    if found is None or len(text) > _LONGEST:
        return text == "true" if text in {"true", "false"} else text
    sign, whole, places, exponent = found.groups()
    value = _with_point(f"{sign}{whole.replace('.', '')}{'.' + places if places else ''}{exponent}", text)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else text


def _whole(text: str) -> int | float:
    # Its sign shows that it is not an integer.
    number = -0.0 if text == "-0" else int(text)
    return number if -(2**63) <= number < 2**63 else _real(text)


def _real(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        _refuse(text)
    return number


def _refuse(text: str) -> float:
    message = f"{text} is not a number of JSON"
    raise ValueError(message)
