r"""The functions of the language, in patterns and in statements.

Of each: how many arguments it takes, which of them are constants, what it returns.

All of them: what is missing or unknown makes the result unknown (NULL), except in `coalesce`, and so does an argument of
another type. Texts count in code points and positions from 0, as in paths. A number as a text is its decimal digits, a
floating-point number the shortest that reads back (`0.1`, `1e300`), a truth value `true` or `false`. A text that a function
makes, and that is longer than `LONGEST_TEXT`, is unknown.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.portable_regex import check_regex, count_groups
from graphtide_core.predicate import Literal
from graphtide_core.suggestion import did_you_mean, show
from graphtide_core.zones import check_zone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_ARGUMENTS: Final = 64
"""Arguments of a function that takes any number."""

MOST_DIGITS: Final = 15
"""Digits after the point that `round` keeps."""

LONGEST_TEXT: Final = 2**20
"""Bytes in UTF-8 of a text that a function makes; `lower` and `upper` take no longer ones."""

WITHOUT_CASE: Final = (
    (0x19B, 0x19B),
    (0x264, 0x264),
    (0x1C89, 0x1C8A),
    (0xA7CB, 0xA7CF),
    (0xA7D2, 0xA7D5),
    (0xA7DA, 0xA7DC),
    (0x10D50, 0x10D65),
    (0x10D70, 0x10D85),
    (0x16EA0, 0x16EB8),
    (0x16EBB, 0x16ED3),
)
"""Ranges of characters that `lower` and `upper` leave as they are. Unicode has letters of the other case for them since
version 15, and libraries differ."""

DATE_PARTS: Final = ("year", "month", "day", "hour", "minute", "second", "weekday", "day_of_year")
"""What `date_part` returns; a week begins with Monday, 1."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function.

    Attributes:
        usage: how it is written; what is in brackets may be left out.
        least: the fewest arguments.
        most: the most arguments.
        meaning: what it returns, in a sentence.
    """

    usage: str
    least: int
    most: int
    meaning: str


FUNCTIONS: Final[dict[str, Function]] = {
    "lower": Function("lower(text)", 1, 1, "the text in small letters, each character by itself, as Unicode 14 has them"),
    "upper": Function("upper(text)", 1, 1, "the text in capital letters, as Unicode 14 has them"),
    "trim": Function("trim(text)", 1, 1, "the text without white space at its ends"),
    "substring": Function(
        "substring(text, start[, length])", 2, 3, "the characters from a start on; unknown for a negative start or length"
    ),
    "split": Function(
        "split(text, separator, position)",
        3,
        3,
        "the part at a position between separators, a negative one counted from the end; missing where there is none",
    ),
    "replace": Function("replace(text, old, new)", 3, 3, "the text with every `old` replaced; an empty `old` replaces nothing"),
    "length": Function("length(text)", 1, 1, "the number of characters"),
    "coalesce": Function("coalesce(value, …)", 1, MOST_ARGUMENTS, "the first value that is not missing"),
    "concat": Function("concat(value, …)", 1, MOST_ARGUMENTS, "the values as texts, one after the other"),
    "regexp_extract": Function(
        "regexp_extract(text, 'regex'[, group])",
        2,
        3,
        "a group of the first match: by number, without it the first group, or the whole match if there are no groups",
    ),
    "to_number": Function(
        "to_number(text)",
        1,
        1,
        "the number that a text says in decimal digits, with or without sign, point and exponent; a number itself",
    ),
    "abs": Function("abs(number)", 1, 1, "the number without its sign"),
    "round": Function(
        "round(number[, digits])",
        1,
        2,
        "the nearest number with so many digits after the point, an integer without them; halves go away from zero",
    ),
    "greatest": Function("greatest(value, …)", 1, MOST_ARGUMENTS, "the greatest of numbers, or of texts"),
    "least": Function("least(value, …)", 1, MOST_ARGUMENTS, "the least of numbers, or of texts"),
    "date_part": Function(
        "date_part('part', time[, 'zone'])",
        2,
        3,
        "a part of a time in a zone, else in UTC. The time is a text in ISO 8601, or ticks of the stream. Its year is 1 to "
        "9999, in a zone with a name 1900 to 2099",
    ),
    "cidr_contains": Function(
        "cidr_contains('network', address)", 2, 2, "whether a network, such as 10.0.0.0/8, has an address of its family"
    ),
    "is_private_ip": Function(
        "is_private_ip(address)", 1, 1, "whether an address is private (RFC 1918, RFC 4193), of a link, or of the host itself"
    ),
    "host_of": Function("host_of(url)", 1, 1, "the host of a URL or of host:port, in small letters"),
    "hash": Function("hash(value)", 1, 1, "32 hexadecimal digits: BLAKE2b of 16 bytes over the value as a text in UTF-8"),
}
"""Every function by its name."""


def check_call(function: str, arguments: Sequence[object]) -> None:
    """Check a call: that there is the function, that it takes so many arguments, and its constants.

    Raises:
        InvalidPatternError: one of these is wrong.
    """
    known = FUNCTIONS.get(function)
    if known is None:
        message = f"there is no function {show(function)}"
        hint = did_you_mean(function, FUNCTIONS) or f"the functions are {', '.join(FUNCTIONS)}"
        raise InvalidPatternError(message, hint=hint)
    if not known.least <= len(arguments) <= known.most:
        message = f"{function} takes {_count(known)}, not {len(arguments)}"
        raise InvalidPatternError(message, hint=f"write {known.usage}")
    if function in _CHECKS:
        _CHECKS[function](arguments)


def _count(function: Function) -> str:
    if function.least == function.most:
        return f"{function.least} argument{'s' if function.least > 1 else ''}"
    return f"{function.least} to {function.most} arguments"


def _constant(argument: object, function: str, what: str, kind: type) -> object:
    """Return the value of an argument that must be a constant."""
    if isinstance(argument, Literal) and type(argument.value) is kind:
        return argument.value
    message = f"the {what} of {function} must be a constant {'text' if kind is str else 'integer'}"
    raise InvalidPatternError(message, hint=f"write {FUNCTIONS[function].usage}")


def _check_regexp_extract(arguments: Sequence[object]) -> None:
    pattern = str(_constant(arguments[1], "regexp_extract", "regular expression", str))
    check_regex(pattern)
    group = 0 if len(arguments) == 2 else _constant(arguments[2], "regexp_extract", "group", int)
    if not isinstance(group, int) or not 0 <= group <= count_groups(pattern):
        message = f"the regular expression has no group {group}"
        raise InvalidPatternError(message, hint="groups are counted from 1; group 0 is the whole match")


def _check_round(arguments: Sequence[object]) -> None:
    digits = 0 if len(arguments) == 1 else _constant(arguments[1], "round", "number of digits", int)
    if not isinstance(digits, int) or not 0 <= digits <= MOST_DIGITS:
        message = f"round keeps 0 to {MOST_DIGITS} digits, not {digits}"
        raise InvalidPatternError(message)


def _check_date_part(arguments: Sequence[object]) -> None:
    part = str(_constant(arguments[0], "date_part", "part", str))
    if part not in DATE_PARTS:
        message = f"a time has no part {show(part)}"
        hint = did_you_mean(part, DATE_PARTS) or f"the parts are {', '.join(DATE_PARTS)}"
        raise InvalidPatternError(message, hint=hint)
    if len(arguments) > 2:
        check_zone(str(_constant(arguments[2], "date_part", "zone", str)))


def _check_cidr_contains(arguments: Sequence[object]) -> None:
    network = str(_constant(arguments[0], "cidr_contains", "network", str))
    address, slash, length = network.partition("/")
    try:
        ipaddress.ip_network(network, strict=False)
    except ValueError:
        is_network = False
    else:
        # A mask in the place of a length, and the zone of an address, are not for every library.
        is_network = "%" not in address and (not slash or length.isdecimal())
    if not is_network:
        message = f"{show(network)} is not a network"
        raise InvalidPatternError(message, hint="write an address and the length of its prefix: '10.0.0.0/8', '2001:db8::/32'")


_CHECKS: Final[dict[str, Callable[[Sequence[object]], None]]] = {
    "regexp_extract": _check_regexp_extract,
    "round": _check_round,
    "date_part": _check_date_part,
    "cidr_contains": _check_cidr_contains,
}
