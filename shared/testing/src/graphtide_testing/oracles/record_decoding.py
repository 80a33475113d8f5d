"""Records of each format as Python values, the plain way: what STREAM statements read, with `json`, `csv` and the like.

* Integers are of 64 bits; a larger one is the nearest floating-point number. A number past all of these is no JSON.
* A field of a format that is text has the type that it looks like: number, truth value or text, and is missing where it is
  empty or one of the texts that stand for a missing value. It keeps the text that it is written as.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Final

from graphtide_testing.oracles.record_texts import WrittenFloat, WrittenInt

if TYPE_CHECKING:
    from collections.abc import Container

    from graphtide_core.edge import Value

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
