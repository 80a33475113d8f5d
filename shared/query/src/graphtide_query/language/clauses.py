"""Read the clauses of a pattern: each at most once, some required; and the times that they state."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from graphtide_core.errors import InvalidPatternError
from graphtide_core.suggestion import show
from graphtide_core.time import DURATION_UNITS, Duration

from graphtide_query.language import ast, event_ast
from graphtide_query.language.spelling import MAX_INTEGER, beyond_64_bits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from graphtide_core.errors import Location

_Clause = ast.Clause | event_ast.Clause
_C = TypeVar("_C", bound=_Clause)


def find_clause(clauses: Iterable[_Clause], kind: type[_C], keyword: str, hint: str = "keep one") -> _C | None:
    """Return the clause of a kind, if the pattern has it.

    Raises:
        InvalidPatternError: it has two; at the second.
    """
    found: _C | None = None
    for each in clauses:
        if isinstance(each, kind):
            if found is not None:
                message = f"the pattern has a second {keyword} clause"
                raise InvalidPatternError(message, each.location, hint=hint)
            found = each
    return found


def require_clause(found: _C | None, pattern: ast.Name, keyword: str, hint: str) -> _C:
    """Return a clause that a pattern must have.

    Raises:
        InvalidPatternError: the pattern does not have it; at the pattern's name.
    """
    if found is None:
        message = f"pattern {show(pattern.text)} has no {keyword} clause"
        raise InvalidPatternError(message, pattern.location, hint=hint)
    return found


def require_text(name: ast.Name) -> None:
    """Check that a name is not empty.

    Raises:
        InvalidPatternError: the name is empty.
    """
    if not name.text:
        message = "the name is empty"
        raise InvalidPatternError(message, name.location)


@contextmanager
def place_errors(place: Location) -> Iterator[None]:
    """Give a place to an error that has none."""
    try:
        yield
    except InvalidPatternError as error:
        if error.location is not None:
            raise
        raise InvalidPatternError(error.reason, place, hint=error.hint) from None


SPELLED_OUT: Final[Mapping[str, str]] = {
    "second": "s",
    "minute": "m",
    "hour": "h",
    "day": "d",
    "week": "w",
    "millisecond": "ms",
    "microsecond": "us",
    "nanosecond": "ns",
}
"""Units as streaming graph queries may spell them, with or without a final `s`."""


def bind_spelled_time(time: ast.Time, what: str) -> Duration:
    """Return a time whose unit may be spelled out: `24 hours`.

    Raises:
        InvalidPatternError: as `bind_time`.
    """
    unit = time.unit
    if unit is not None:
        word = unit.text.lower()
        short = SPELLED_OUT.get(word) or SPELLED_OUT.get(word.removesuffix("s"))
        unit = unit if short is None else ast.Name(short, unit.location)
    return bind_time(time.amount, unit, what, ", or spelled out, as hours")


def bind_time(amount: ast.Constant, unit: ast.Name | None, what: str, others: str = "") -> Duration:
    """Return a time. Errors quote `what` it is, and the `others` that are units beside those of time.

    Raises:
        InvalidPatternError: it is not a whole number, is not positive, or has an unknown unit.
    """
    number, location = amount.value, amount.location
    if not isinstance(number, int):
        message = f"{what} must be a whole number of units"
        raise InvalidPatternError(message, location, hint="use a smaller unit: 90s for 1.5m")
    if number < 0:
        message = f"{what} cannot be negative"
        raise InvalidPatternError(message, location)
    if number == 0:
        message = f"{what} must be longer than 0"
        raise InvalidPatternError(message, location, hint="for example 10m")
    if number > MAX_INTEGER:
        raise beyond_64_bits(location)
    if unit is None:
        return Duration(number)
    if unit.text not in DURATION_UNITS:
        message = f"unknown unit of time {show(unit.text)}"
        hint = "one of " + ", ".join(DURATION_UNITS) + f"{others}; without a unit, the stream's own"
        raise InvalidPatternError(message, unit.location, hint=hint)
    return Duration(number, unit.text)
