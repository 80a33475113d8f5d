"""Names of headers, and reading their values, from a mapping that `by_name` makes once for a record."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import PoisonRecordError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.ports.log import Headers

CONTENT_TYPE: Final = "content-type"
TRACEPARENT: Final = "traceparent"
"""W3C Trace Context of what brought the record about."""

EPOCH: Final = "graphtide-epoch"
"""An epoch of a stream: times begin anew with each. 0 is the first, and is meant where the header is missing."""

TRACEPARENT_FORM: Final = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")
"""What W3C Trace Context wants of such a value: trace, span and flags."""

_INTEGER = re.compile(r"-?[0-9]{1,19}")


def is_sampled(traceparent: str | None) -> bool:
    """Return whether the value names a trace that is recorded."""
    found = None if traceparent is None else TRACEPARENT_FORM.fullmatch(traceparent)
    return found is not None and bool(int(found[3], 16) & 1)


def by_name(headers: Headers) -> dict[str, bytes]:
    """Return the last value of each header."""
    return dict(headers)


def text(headers: Mapping[str, bytes], name: str) -> str | None:
    """Return the value of the header; None if it is not there.

    Raises:
        PoisonRecordError: it is not UTF-8.
    """
    found = headers.get(name)
    if found is None:
        return None
    try:
        return found.decode()
    except UnicodeDecodeError as error:
        reason = f"the header {name} is not UTF-8"
        raise PoisonRecordError(reason) from error


def readable(headers: Mapping[str, bytes], name: str) -> str | None:
    """Return the value of the header; None if it is not there, or not UTF-8."""
    with suppress(PoisonRecordError):
        return text(headers, name)
    return None


def require(headers: Mapping[str, bytes], name: str) -> str:
    """Return the value of the header.

    Raises:
        PoisonRecordError: it is not there, or not UTF-8.
    """
    found = text(headers, name)
    if found is None:
        raise _missing(name)
    return found


def integer(headers: Mapping[str, bytes], name: str) -> int | None:
    """Return the value of the header as a signed integer of 64 bits; None if it is not there.

    Raises:
        PoisonRecordError: it is none.
    """
    found = text(headers, name)
    if found is None:
        return None
    number = int(found) if _INTEGER.fullmatch(found) else None
    if number is None or not -(2**63) <= number < 2**63:
        reason = f"the header {name} is not an integer of 64 bits: {found[:40]!r}"
        raise PoisonRecordError(reason)
    return number


def required_integer(headers: Mapping[str, bytes], name: str) -> int:
    """Return the value of the header as a signed integer of 64 bits.

    Raises:
        PoisonRecordError: it is not there, or no such integer.
    """
    found = integer(headers, name)
    if found is None:
        raise _missing(name)
    return found


def drop_empty(*pairs: tuple[str, str | int | None]) -> Headers:
    """Return the headers that have a value."""
    return tuple((name, str(value).encode()) for name, value in pairs if value is not None)


def _missing(name: str) -> PoisonRecordError:
    reason = f"the header {name} is missing"
    return PoisonRecordError(reason)
