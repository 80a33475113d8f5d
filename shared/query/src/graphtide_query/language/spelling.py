"""Read and write names, numbers and strings.

Reading undoes writing: `read_name(write_name(x)) == x`, and likewise for constants.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError, Location
from graphtide_core.suggestion import show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.edge import Value

KEYWORDS = frozenset(
    {"PATTERN", "MATCH", "WHERE", "ORDER", "UNDER", "EDGE", "ISOMORPHISM", "DUAL", "SIMULATION", "ON", "WINDOW"}
    | {"SEQ", "WITHIN", "PARTITION", "BY", "SKIP", "TILL", "NEXT", "ANY", "RETURN", "AS", "TIMEOUT"}
    | {"REPORT", "ALL", "MAXIMAL", "INSTANCES", "CHANGES", "EXISTS", "DISTINCT", "ONE", "PER", "EVERY"}
    | {"QUERY", "GRAPH", "VIEW", "PATH", "CONSTRUCT", "SELECT", "OPTIONAL", "SLIDE", "NOW", "INTERNAL", "INPUT", "OUTPUT"}
    | {"OR", "AND", "NOT", "IN", "STARTS", "WITH", "IS", "NULL", "TRUE", "FALSE"}
)
"""Keywords of the language; as names they are written in backticks, although most places do not need them."""

MIN_INTEGER = -(2**63)
MAX_INTEGER = 2**63 - 1

_MAX_DIGITS = 400
"""The most digits of an integer to read: a longer one is always beyond 64 bits."""

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'"}
_ESCAPED = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", '"': '\\"'}
_SHOWN = 60
_LISTED = 10


def read_name(spelled: str) -> str:
    """Return the name that is spelled plainly or in backticks, as a plain `str` and not a subclass."""
    if spelled[0] == "`":
        return spelled[1:-1].replace("``", "`")
    return str(spelled)


def write_name(name: str) -> str:
    """Spell a name: plainly if every place reads that back as the name, else in backticks."""
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def shorten(name: str) -> str:
    """Spell a name for a hint; cut a long one."""
    return write_name(name if len(name) <= _SHOWN else name[:_SHOWN] + "…")


def list_names(names: Iterable[str]) -> str:
    """Spell names for a hint, sorted; at most ten."""
    ranked = sorted(names)
    return ", ".join([shorten(name) for name in ranked[:_LISTED]] + ["…"] * (len(ranked) > _LISTED))


def read_integer(spelled: str, location: Location) -> int:
    """Return the number; 64 bits are checked later, when its sign is known.

    Raises:
        InvalidPatternError: too long to be a number of 64 bits.
    """
    digits = spelled.lstrip("0") or "0"
    if len(digits) > _MAX_DIGITS:
        raise beyond_64_bits(location)
    return int(digits)


def beyond_64_bits(location: Location) -> InvalidPatternError:
    """Word the error of an integer outside 64 bits."""
    message = "the integer does not fit into 64 bits"
    return InvalidPatternError(message, location, hint=f"integers go from {MIN_INTEGER} to {MAX_INTEGER}")


def read_float(spelled: str, location: Location) -> float:
    """Return the number.

    Raises:
        InvalidPatternError: larger than any finite number of 64 bits.
    """
    number = float(spelled)
    if math.isinf(number):
        message = "the number does not fit into 64 bits"
        raise InvalidPatternError(message, location, hint="floating-point numbers go up to about 1.8e308")
    return number


def read_string(spelled: str, location: Location) -> str:
    r"""Return the text of a quoted string: `\n \t \r \\ \" \'` and `\uXXXX` are escapes.

    Two `\u` escapes may form a surrogate pair, as in JSON.

    Raises:
        InvalidPatternError: another escape, or half a surrogate pair; at its place.
    """
    body = spelled[1:-1]
    if "\\" not in body:
        return body

    def at(offset: int, length: int) -> Location:
        return Location(location.line, location.column + 1 + offset, length)

    def replace(match: re.Match[str]) -> str:
        code, char = match.groups()
        if code is not None:
            return chr(int(code, 16))
        if char not in _CONTROL:
            message = f"unknown escape {show(match.group())}"
            hint = "escapes are \\n \\t \\r \\\\ \\\" \\' and \\u with four hexadecimal digits; write \\\\ for a backslash"
            raise InvalidPatternError(message, at(match.start(), len(match.group())), hint=hint)
        return _CONTROL[char]

    text = _ESCAPE.sub(replace, body)
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        message = "the string holds half a surrogate pair"
        hint = "write characters beyond \\uFFFF as they are, or as both \\u escapes of their pair"
        raise InvalidPatternError(message, location, hint=hint) from None


def write_constant(value: Value) -> str:
    """Spell a constant.

    Raises:
        InvalidPatternError: the value is infinite or not a number, which the language cannot express.
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return '"' + "".join(_write_char(char) for char in value) + '"'
        case float() if not math.isfinite(value):
            message = f"the pattern language has no constant {value}"
            raise InvalidPatternError(message)
        case _:
            return repr(value)


def _write_char(char: str) -> str:
    if char in _ESCAPED:
        return _ESCAPED[char]
    if char.isprintable():
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
