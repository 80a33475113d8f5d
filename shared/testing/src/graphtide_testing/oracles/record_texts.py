"""Values as texts and texts as numbers, as expressions over records read and write them."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from graphtide_core.edge import Value

WHITE_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
"""The characters of the property White_Space of Unicode."""

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_LONGEST_NUMBER: Final = 400


class WrittenInt(int):
    """An integer, with the text that it is written as."""

    written: str

    @classmethod
    def of(cls, number: int, written: str) -> WrittenInt:
        """Return a number that is written so."""
        made = cls(number)
        made.written = written
        return made


class WrittenFloat(float):
    """A floating-point number, likewise."""

    written: str

    @classmethod
    def of(cls, number: float, written: str) -> WrittenFloat:
        """Return a number that is written so."""
        made = cls(number)
        made.written = written
        return made


class Moment(str):
    """A timestamp or a date of a format that has such values, as a text of ISO 8601: a time however times are written."""

    __slots__ = ()


def plain(value: Value) -> Value:
    """Return a value without the text that it is written as."""
    match value:
        case WrittenInt():
            return int(value)
        case WrittenFloat():
            return float(value)
        case Moment():
            return str(value)
        case _:
            return value


def write_text(value: Value) -> str | None:
    """Return a value as a text; None for what is missing, infinite or not a number.

    A floating-point number has its shortest digits. It is plain from 10^-5 up to below 10^16 (`0.1`, `1000.0`), else with an
    exponent (`1e16`, `1.5e-7`), as `serde_json` writes it.
    """
    match value:
        case None:
            return None
        case WrittenInt() | WrittenFloat():
            return value.written
        case bool():
            return "true" if value else "false"
        case float():
            return _write_float(value) if math.isfinite(value) else None
        case _:
            return str(value)


def _write_float(value: float) -> str:
    if value == 0:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    written, point = "".join(map(str, digits)), len(digits) + exponent
    if len(written) <= point <= 16:
        text = written.ljust(point, "0") + ".0"
    elif 0 < point <= 16:
        text = f"{written[:point]}.{written[point:]}"
    elif -5 < point <= 0:
        text = f"0.{'0' * -point}{written}"
    else:
        text = written[0] + (f".{written[1:]}" if len(written) > 1 else "") + f"e{point - 1}"
    return "-" * sign + text


def read_number(text: str) -> int | float | None:
    """Return the number that a text says; None if it says none.

    Digits alone are an integer, beyond 64 bits the nearest floating-point number; what is larger than any of those is none.
    """
    text = text.strip(WHITE_SPACE)
    if len(text) > _LONGEST_NUMBER or _NUMBER.fullmatch(text) is None:
        return None
    if _INTEGER.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return int(text)
    number = float(text)
    return number if math.isfinite(number) else None
