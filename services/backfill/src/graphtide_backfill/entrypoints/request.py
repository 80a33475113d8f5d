"""What a user asks of a backfill, in words of the command line and the API."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidQueryError
from graphtide_core.part_key import BY_VERTEX, PartKey

from graphtide_backfill.domain.division import Division, SliceKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.time import TimeUnit

_SIZE: Final = re.compile(r"\s*(\d+)\s*([kmgt]?)b?\s*", re.IGNORECASE)
_FACTORS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass(frozen=True, slots=True)
class SparkRequest:
    """Where to work.

    Attributes:
        master: `local[2]`, `spark://…`, `k8s://…`.
        executor_bytes: memory of an executor, its JVM and its Python processes together.
        settings: more settings of Spark, by their names.
    """

    master: str = "local[*]"
    executor_bytes: int = 2 << 30
    settings: Mapping[str, str] = field(default_factory=dict)


def size(text: str) -> int:
    """Read a size in bytes: `2g`, `512m`, or a number.

    Raises:
        InvalidQueryError: it is not a size.
    """
    found = _SIZE.fullmatch(text)
    if found is None or not int(found[1]):
        message = f"{text!r} is not a size of memory; for example 2g or 512m"
        raise InvalidQueryError(message)
    return int(found[1]) * _FACTORS[found[2].lower()]


def instant(text: str, unit: TimeUnit) -> int:
    """Read an instant as ticks: a number of them, or a date with or without a time, UTC unless it says otherwise.

    Raises:
        InvalidQueryError: it is not an instant.
    """
    if re.fullmatch(r"[+-]?\d{1,19}", text.strip()):
        return int(text)
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        message = f"{text!r} is not an instant; for example 2024-01-31, 2024-01-31T12:00:00Z, or a number of {unit.value}"
        raise InvalidQueryError(message) from error
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return micros * 1_000 // unit.nanoseconds


def slice_key(text: str) -> SliceKey:
    """Read `KEY` or `KEY:N`, what history is divided by: a field or an attribute, or VERTEX, and into how many parts.

    Raises:
        InvalidPatternError: history is not divided by that, or not into so many parts.
    """
    name, separator, number = text.rpartition(":")
    has_number = separator and number.isdecimal() and number.isascii()
    key, parts = (name, int(number)) if has_number else (text, None)
    found = BY_VERTEX if key.upper() == "VERTEX" else PartKey(key)
    return SliceKey(Division(found, 1 if parts is None else parts).key, parts)


def pairs(given: Iterable[str]) -> dict[str, str]:
    """Read `NAME=VALUE` pairs.

    Raises:
        InvalidQueryError: one is not such a pair.
    """
    found: dict[str, str] = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not separator or not name:
            message = f"{text!r} is not NAME=VALUE, for example spark.executor.cores=2"
            raise InvalidQueryError(message)
        found[name] = value
    return found
