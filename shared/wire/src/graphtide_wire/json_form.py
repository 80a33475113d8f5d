"""JSON by types: one line of it to and from frozen structs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from threading import Lock
from typing import Annotated, Any, Final, TypeVar

import msgspec
from graphtide_core.errors import PoisonRecordError
from msgspec import Meta

Form = TypeVar("Form")

Hook = Callable[[type, object], object]
"""Makes a value of a type from what JSON has for it."""

Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Name = Annotated[str, Meta(min_length=1, max_length=1000)]
Instant = Annotated[datetime, Meta(tz=True)]
"""An instant of the wall clock, with its offset from UTC, as RFC 3339 writes it."""

_DECODERS: Final[dict[type, msgspec.json.Decoder[Any]]] = {}
_MAKING: Final = Lock()
"""Taken while a decoder is made: two threads that look at one struct for the first time end the process (msgspec 0.22)."""


def encode(value: object) -> bytes:
    """Return the struct as one line of JSON; fields are in the order of the struct."""
    return msgspec.json.encode(value)


def decode(value: bytes | None, form: type[Form], what: str, hook: Hook | None = None) -> Form:
    """Return the struct that the JSON holds; fields it does not know are left out, so that newer writers may add some.

    `hook` makes values of types that JSON does not have; it is always the same of a form.

    Raises:
        PoisonRecordError: the bytes are not JSON, or not of this form.
    """
    if value is None:
        reason = f"{what} without a value"
        raise PoisonRecordError(reason)
    try:
        found: Form = _decoder(form, hook).decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = f"no {what}: {error}"
        raise PoisonRecordError(reason, value) from error
    return found


def _decoder(form: type[Form], hook: Hook | None) -> msgspec.json.Decoder[Form]:
    decoder = _DECODERS.get(form)
    if decoder is None:
        with _MAKING:
            decoder = _DECODERS.setdefault(form, msgspec.json.Decoder(form, dec_hook=hook))
    return decoder
