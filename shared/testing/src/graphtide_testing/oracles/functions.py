"""The functions of the language, computed the plain way: `graphtide_core.functions` word by word.

What that leaves open is decided here. `split` by an empty separator is unknown. `concat` of a missing value is missing; use
`coalesce`. `greatest` and `least` of values of two kinds, or of truth values, are unknown. An address with a zone (`%eth0`)
is none, and one of IPv6 is in no network of IPv4, also where it maps one. A text that is made and longer than `LONGEST_TEXT`
is unknown, and so are the letters of a longer text.
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING, Final, TypeGuard

from graphtide_core.functions import LONGEST_TEXT, WITHOUT_CASE
from graphtide_core.predicate import Comparison

from graphtide_testing.oracles.exact_ends import end_exactly
from graphtide_testing.oracles.record_texts import WHITE_SPACE, read_number, write_text
from graphtide_testing.oracles.record_times import local_time
from graphtide_testing.oracles.values import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphtide_core.edge import Value
    from graphtide_core.time import TimeUnit

_PRIVATE: Final = tuple(
    map(
        ipaddress.ip_network,
        ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "169.254.0.0/16", "fc00::/7", "fe80::/10", "::1/128"),
    )
)
_EXACT: Final = Context(prec=400)


def call(function: str, arguments: Sequence[Value], unit: TimeUnit) -> Value:
    """Return what a function returns; `unit` is that of the stream's ticks."""
    if function == "coalesce":
        return next((each for each in arguments if each is not None), None)
    if any(each is None for each in arguments):
        return None
    if function == "date_part":
        return _date_part(arguments, unit)
    return _FUNCTIONS[function](*arguments)


def _lower(text: Value) -> Value:
    return _convert(text, str.lower)


def _upper(text: Value) -> Value:
    return _convert(text, str.upper)


def _convert(text: Value, convert: Callable[[str], str]) -> Value:
    """Return a text with each character converted by itself, except those that were without case in Unicode 14."""
    if not isinstance(text, str) or _bound(text) is None:
        return None
    return _bound(
        "".join(each if any(low <= ord(each) <= high for low, high in WITHOUT_CASE) else convert(each) for each in text)
    )


def _bound(text: str) -> str | None:
    return text if len(text.encode()) <= LONGEST_TEXT else None


def _trim(text: Value) -> Value:
    return text.strip(WHITE_SPACE) if isinstance(text, str) else None


def _substring(text: Value, start: Value, length: Value = 2**63 - 1) -> Value:
    if not isinstance(text, str) or not _is_integer(start) or not _is_integer(length) or start < 0 or length < 0:
        return None
    return text[start : start + length]


def _split(text: Value, separator: Value, position: Value) -> Value:
    if not isinstance(text, str) or not isinstance(separator, str) or not separator or not _is_integer(position):
        return None
    parts = text.split(separator)
    return parts[position] if -len(parts) <= position < len(parts) else None


def _replace(text: Value, old: Value, new: Value) -> Value:
    if not isinstance(text, str) or not isinstance(old, str) or not isinstance(new, str):
        return None
    if not old or old not in text:
        return text
    added = text.count(old) * (len(new.encode()) - len(old.encode()))
    return text.replace(old, new) if len(text.encode()) + added <= LONGEST_TEXT else None


def _length(text: Value) -> Value:
    return len(text) if isinstance(text, str) else None


def _concat(*values: Value) -> Value:
    texts = list(map(write_text, values))
    return None if None in texts else _bound("".join(text for text in texts if text is not None))


def _regexp_extract(text: Value, pattern: Value, group: Value = None) -> Value:
    if not isinstance(text, str):
        return None
    expression = re.compile(end_exactly(str(pattern)), re.ASCII)
    found = expression.search(text)
    if found is None:
        return None
    return found.group(min(1, expression.groups) if group is None else int(group))


def _to_number(value: Value) -> Value:
    if isinstance(value, str):
        return read_number(value)
    return value if _is_number(value) else None


def _abs(number: Value) -> Value:
    if not _is_number(number):
        return None
    size = abs(number)
    return None if isinstance(size, int) and size >= 2**63 else size


def _round(number: Value, digits: Value = None) -> Value:
    if isinstance(number, float) and math.isfinite(number):
        places = 0 if digits is None else int(digits)
        rounded = Decimal(number).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _EXACT)
        if digits is not None:
            return float(rounded)
        return int(rounded) if -(2**63) <= rounded < 2**63 else None
    return number if _is_integer(number) else None


def _greatest(*values: Value) -> Value:
    return _extreme(Comparison.GREATER, values)


def _least(*values: Value) -> Value:
    return _extreme(Comparison.LESS, values)


def _extreme(comparison: Comparison, values: Sequence[Value]) -> Value:
    """Return the first value that no other beats; None where some cannot be compared."""
    if any(compare(comparison, one, other) is None for one in values for other in values):
        return None
    return next(one for one in values if not any(compare(comparison, other, one) for other in values))


def _date_part(arguments: Sequence[Value], unit: TimeUnit) -> Value:
    part, time, *zone = arguments
    moment = local_time(time, unit, str(zone[0]) if zone else "UTC")
    if moment is None:
        return None
    match part:
        case "weekday":
            return moment.isoweekday()
        case "day_of_year":
            return moment.timetuple().tm_yday
        case _:
            return int(getattr(moment, str(part)))


def _cidr_contains(network: Value, address: Value) -> Value:
    found = _address(address)
    if found is None:
        return None
    whole = ipaddress.ip_network(str(network), strict=False)
    return found.version == whole.version and found in whole


def _is_private_ip(address: Value) -> Value:
    found = _address(address)
    return None if found is None else any(found.version == each.version and found in each for each in _PRIVATE)


def _address(text: Value) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    if not isinstance(text, str) or "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _host_of(url: Value) -> Value:
    """Return what is left without scheme, path, user and port; None if nothing is."""
    if not isinstance(url, str):
        return None
    _, scheme, rest = url.partition("://")
    rest = re.split(r"[/?#\\]", rest if scheme else url, maxsplit=1)[0].rpartition("@")[2]
    if rest.startswith("["):
        return _lower(rest[1:].partition("]")[0]) or None
    # More than one colon is an address of IPv6 without brackets, which has no port.
    return _lower(rest if rest.count(":") > 1 else rest.partition(":")[0]) or None


def _hash(value: Value) -> Value:
    text = write_text(value)
    return None if text is None else hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _is_integer(value: Value) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Value) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


_FUNCTIONS: Final[dict[str, Callable[..., Value]]] = {
    "lower": _lower,
    "upper": _upper,
    "trim": _trim,
    "substring": _substring,
    "split": _split,
    "replace": _replace,
    "length": _length,
    "concat": _concat,
    "regexp_extract": _regexp_extract,
    "to_number": _to_number,
    "abs": _abs,
    "round": _round,
    "greatest": _greatest,
    "least": _least,
    "cidr_contains": _cidr_contains,
    "is_private_ip": _is_private_ip,
    "host_of": _host_of,
    "hash": _hash,
}
